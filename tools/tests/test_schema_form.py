# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/schema-form: how the tree's JSON schemas are written."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import schemaform
from steps import ROOT

PLACES = ("*/schema", "tools/schemas", "report/isolator_report")
SCHEMAS = sorted(file for place in PLACES for file in ROOT.glob(f"{place}/*.json"))
PLAIN = {"$schema": schemaform.DIALECT, "type": "object", "properties": {
    "first": {"description": "One of several words " * 3, "enum": ["a", "b"]}}}


def form(*words: str | Path) -> tuple[int, str]:
    """tools/schema-form: exit code, and what it says."""
    done = subprocess.run([ROOT / "tools/schema-form", *words], check=False, capture_output=True,
                          text=True)
    assert not done.stderr
    return done.returncode, done.stdout


def test_the_tree() -> None:
    """Each is as the program writes it."""
    assert len(SCHEMAS) >= 30
    code, said = form()
    assert code == 0, said
    assert int(said.split()[1]) == len(SCHEMAS)


def test_a_planted_one_fails(tmp_path: Path) -> None:
    """As make lint runs it; --write mends it, and nothing that is no schema."""
    file, other = tmp_path / "a.json", tmp_path / "b.json"
    file.write_text(json.dumps(PLAIN, indent=1) + "\n")
    other.write_text('{"a":\n1}')
    code, said = form(file, other)
    assert code == 1 and f"{file}: written otherwise" in said and str(other) not in said
    assert form("--write", file, other)[0] == 0
    assert json.loads(file.read_text()) == PLAIN and other.read_text() == '{"a":\n1}'
    assert form(file, other) == (0, "schemas: 1 files\n")


@pytest.mark.parametrize("file", SCHEMAS, ids=lambda file: file.name)
def test_only_a_string_is_wider(file: Path) -> None:
    """A line of more than 100 columns is a single value that has no smaller part."""
    for line in file.read_text().splitlines():
        if len(line) > schemaform.WIDTH:
            assert json.loads("{" + line.strip().rstrip(",") + "}"), line
            assert line.count('": "') == 1 and "{" not in line and "[" not in line, line


@pytest.mark.parametrize("length", range(60, 110))
@pytest.mark.parametrize("value", [
    lambda text: text,
    lambda text: [text, text],
    lambda text: {"a": text, "b": []},
    lambda text: {"a": {"b": [1, 2, text], "c": None}},
    lambda text: [{"a": text}, {}],
    lambda text: ["word"] * len(text),
])
def test_lines_are_full(value: Any, length: int) -> None:
    """What fits into 100 columns is on one line, and what is written reads back."""
    whole = value("x" * (length // 2))
    text = schemaform.layout(whole)
    assert json.loads(text) == whole
    assert all(len(line) <= schemaform.WIDTH for line in text.splitlines())
    assert ("\n" in text) == (len(json.dumps(whole)) > schemaform.WIDTH)
