# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON schemas as this tree writes them: how they are laid out, and what they define twice."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WIDTH, INDENT = 100, 2
DIALECT = "https://json-schema.org/draft/2020-12/schema"
# A reference to a shorter definition would be no shorter than the definition itself.
# One with the same description is longer from the start.
SHORTEST, SHORTEST_SAID = 64, 120
REFERENCE = re.compile(r'"\$ref":"[^"]*"')
# Keywords by what they hold: one schema, a list of them, or some by name.
ONE = ("additionalProperties", "items", "contains", "propertyNames", "not", "if", "then", "else")
LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties", "$defs")
UNORDERED = ("enum", "required", "type")


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


def subschemas(schema: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A schema and all that are part of it, each with where it stands."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for key, value in schema.items():
        if key in ONE:
            yield from subschemas(value, f"{place}/{key}")
        elif key in LISTS:
            for number, one in enumerate(value):
                yield from subschemas(one, f"{place}/{key}/{number}")
        elif key in NAMED:
            for name, one in value.items():
                yield from subschemas(one, f"{place}/{key}/{name}")


def meaning(schema: dict[str, Any], file: str) -> str:
    """What a schema of @file allows, whatever the order of its words.

    One that also allows null is taken for the one that does not.
    """
    def plain(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: plain(one, name) for name, one in value.items()}
        if isinstance(value, list):
            found = [plain(one) for one in value]
            return sorted(found, key=repr) if key in UNORDERED else found
        return f"{file}{value}" if key == "$ref" and value.startswith("#") else value

    said = dict(schema)
    if isinstance(said.get("type"), list):
        types = [one for one in said["type"] if one != "null"]
        said["type"] = types[0] if len(types) == 1 else types
    return json.dumps(plain(said), sort_keys=True, separators=(",", ":"))


def twice(schemas: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Where schemas, by their files' names, define the same; the largest definitions first."""
    places = defaultdict(set)
    for name, schema in schemas.items():
        for place, one in subschemas(schema, f"{name}#"):
            said = meaning({key: value for key, value in one.items() if key != "description"}, name)
            if len(REFERENCE.sub("", said)) >= SHORTEST:
                places[said].add(place)
            said = meaning(one, name)
            if "$ref" not in said and len(said) >= SHORTEST_SAID:
                places[said].add(place)
    found: list[list[str]] = []
    for text in sorted(places, key=len, reverse=True):
        above = tuple(f"{place}/" for group in found for place in group)
        if len(places[text]) > 1 and not all(
                f"{place}/".startswith(above) for place in places[text]):
            found.append(sorted(places[text]))
    return found


def parsed(file: Path) -> dict[str, Any] | None:
    """The schema of a file; None: it has none."""
    document = json.loads(file.read_text())
    if isinstance(document, dict) and document.get("$schema") == DIALECT:
        return document
    return None
