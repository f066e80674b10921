# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON schemas as this tree writes them: how they are laid out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WIDTH, INDENT = 100, 2
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def layout(value: Any, indent: int = 0, begun: int = 0, ended: int = 0) -> str:
    """JSON text in which each line is as full as it may be.

    @begun: how far its first line is, @ended: what follows its last one.
    """
    line = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or begun + len(line) + ended <= WIDTH:
        return line
    if isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
        return filled([json.dumps(one, ensure_ascii=False) for one in value], begun, ended)
    inside = indent + INDENT
    rows = []
    for row in value.items() if isinstance(value, dict) else enumerate(value):
        name = f"{json.dumps(row[0])}: " if isinstance(value, dict) else ""
        rows.append(" " * inside + name + layout(row[1], inside, inside + len(name), 1))
    first, last = "{}" if isinstance(value, dict) else "[]"
    return first + "\n" + ",\n".join(rows) + "\n" + " " * indent + last


def filled(words: list[str], begun: int, ended: int) -> str:
    """A list of words, as many a line as there is room for, below one another."""
    text, column = "[", begun + 1
    for number, word in enumerate(words):
        after = ended + 1 if number == len(words) - 1 else 1
        if number and column + 1 + len(word) + after > WIDTH:
            text, column = text + "\n" + " " * (begun + 1), begun + 1
        elif number:
            text, column = text + " ", column + 1
        text += word + ("," if number < len(words) - 1 else "]")
        column += len(word) + 1
    return text


def written(schema: dict[str, Any]) -> str:
    """The file of a schema."""
    return layout(schema) + "\n"


def parsed(file: Path) -> dict[str, Any] | None:
    """The schema of a file; None: it has none."""
    document = json.loads(file.read_text())
    if isinstance(document, dict) and document.get("$schema") == DIALECT:
        return document
    return None
