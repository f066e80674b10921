# SPDX-License-Identifier: GPL-2.0-or-later
"""Schemas: the identifier that a document begins with names one of them."""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import schemaform
from steps import ROOT

# Whose documents begin how; a room that is not here has no schema.
OWNERS = {"bench": "isolator.bench.", "cli": "isolator.", "lab": "isolab.", "report": "isolator.",
          "tools": "isolator-"}
SPELLING = re.compile(r"(?:isolab|isolator)(?:[.-][a-z]+)+")
# A document as it is written: by the command's own writer, as text in C, or as a dict in Python.
WRITTEN = re.compile(r'json_document\(&?\w+, "([^"]+)"|\\?"schema\\?": \\?"(iso[^"\\]+)')
# Lines of the lab's observer, which are read by one version of the lab alone, have no schema.
LINES = "isolator.observer."


def identifiers(schema: dict[str, Any]) -> list[str]:
    """What the members "schema" of a document, and of those that are part of it, have to be."""
    members = [one.get("properties", {}).get("schema")
               for _, one in schemaform.subschemas(schema, "")]
    return [member["const"] for member in members if isinstance(member, dict) and "const" in member]


def named(root: Path) -> dict[str, list[str]]:
    """Of each identifier the schemas that have it, of all folders that git knows."""
    files = defaultdict(list)
    said = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard",
                           "*.json"], cwd=root, check=True, capture_output=True, text=True).stdout
    for name in said.split():
        schema = schemaform.parsed(root / name) if (root / name).is_file() else None
        for one in identifiers(schema) if schema else []:
            files[one].append(name)
    return files


def wrong(files: dict[str, list[str]]) -> list[str]:
    """Identifiers of two schemas, spelt otherwise, or of another room or file than its own."""
    found = []
    for name, places in files.items():
        place = Path(places[0])
        if len(places) > 1:
            found.append(f"{name}: {', '.join(places)}")
        if not SPELLING.fullmatch(name) or not name.startswith(OWNERS[place.parts[0]]):
            found.append(f"{name}: not of {place.parts[0]}")
        if place.stem not in (name, name.rsplit(".", 1)[-1]):
            found.append(f"{name}: its file is {place}")
    return found


def test_each_names_one_document() -> None:
    """isolator.run was the command's and the lab's."""
    files = named(ROOT)
    assert len(files) > 28 and {Path(place[0]).parts[0] for place in files.values()} == set(OWNERS)
    assert wrong(files) == []


@pytest.mark.parametrize("folder, name, expected", [
    ("bench/schema", "isolator.bench.more", None),
    ("bench/schema", "isolator.bench-more", "not of bench"),
    ("bench/schema", "isolator.more-bench", "not of bench"),
    ("cli/schema", "isolab.more", "not of cli"),
    ("cli/schema", "isolator.More", "not of cli"),
    ("cli/schema", "isolator.other", "its file is"),
    ("report", "isolator.more", None),
])
@pytest.mark.parametrize("nested", [False, True])
def test_a_planted_one_is_found(tmp_path: Path, folder: str, name: str, expected: str | None,
                                nested: bool) -> None:
    """Also that of a document that is part of another."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    schema: dict[str, Any] = {"properties": {"schema": {"const": name}}}
    if nested:
        schema = {"properties": {"parts": {"items": {"anyOf": [schema]}}}}
    for count, file in enumerate(("more.json", "again/more.json")):
        place = tmp_path / folder / file
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps({"$schema": schemaform.DIALECT, **schema}))
        found = wrong(named(tmp_path))
        assert any(": " + expected in one for one in found) if expected else len(found) == count
        assert (f"{name}: {folder}/again/more.json, {folder}/more.json" in found) == bool(count)


def test_what_is_written_has_a_schema() -> None:
    """In every room, also those that write a document of another one, as the scope does."""
    files = subprocess.run(["git", "ls-files", "*.c", "*.h", "*.py", "tools/*"], cwd=ROOT,
                           check=True, capture_output=True, text=True).stdout.split()
    found = {name for file in files if (ROOT / file).is_file() and "tests" not in Path(file).parts
             for match in WRITTEN.finditer((ROOT / file).read_text(errors="replace"))
             for name in match.groups() if name}
    known = set(named(ROOT))
    assert {name for name in found if not name.startswith(LINES)} <= known
    assert {"isolator.bench.tick", "isolator.bench.measure", "isolator.watch", "isolab.test",
            "isolator-steps"} <= found
