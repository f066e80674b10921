# SPDX-License-Identifier: GPL-2.0-or-later
"""Schemas: the identifier that a document begins with names one of them."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bench", "cli", "lab", "lib", "report", "tools")


def identifier(schema: dict[str, Any]) -> str | None:
    """What the member "schema" of a document has to be; None: it is no document's schema."""
    member = schema.get("properties", {}).get("schema", {})
    return member.get("const") if isinstance(member, dict) else None


def test_each_names_one_document() -> None:
    """isolator.run was the command's and the lab's."""
    files = defaultdict(list)
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.json"):
            document = json.loads(file.read_text())
            if isinstance(document, dict) and (name := identifier(document)):
                files[name].append(str(file.relative_to(ROOT)))
    assert len(files) > 25
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_the_owner_is_in_the_name() -> None:
    """The lab's begin with isolab, the command's with isolator."""
    for folder, owner in (("lab", "isolab."), ("cli", "isolator.")):
        for file in (ROOT / folder / "schema").glob("*.json"):
            name = identifier(json.loads(file.read_text()))
            assert name is None or name.startswith(owner), file
