# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/schema-form: how the tree's JSON schemas are written, and what they share."""

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import schemaform
from isolator_report import schemafile
from referencing import Registry, Resource
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
    """Each is as the program writes it, and what two define is defined once."""
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


LARGE = {"type": "object", "required": ["first", "second"], "additionalProperties": False,
         "properties": {"first": {"type": "integer"}, "second": {"enum": ["a", "b", "c"]}}}
OTHER = {"additionalProperties": False, "description": "Another one", "type": ["object", "null"],
         "required": ["second", "first"],
         "properties": {"first": {"type": "integer"}, "second": {"enum": ["c", "b", "a"]}}}
WORDY = {"description": "One of several words. " * 5, "type": "string"}


@pytest.mark.parametrize(("one", "other", "found"), [
    (LARGE, LARGE, True), (LARGE, OTHER, True), ({"items": LARGE}, {"not": OTHER}, True),
    ({"anyOf": [LARGE]}, {"properties": {"type": OTHER}}, True), (WORDY, WORDY, True),
    (LARGE, {**LARGE, "required": ["first"]}, False), (WORDY, {**WORDY, "type": "integer"}, False),
    (WORDY, {"type": "string"}, False), ({"type": "string"}, {"type": "string"}, False),
    ({"enum": LARGE}, {"const": LARGE}, False),  # they are values
])
def test_a_planted_definition_fails(tmp_path: Path, one: dict[str, Any], other: dict[str, Any],
                                    found: bool) -> None:
    """As make lint runs it: in one file, and in two of a folder; where both are is said."""
    def plant(name: str, **parts: dict[str, Any]) -> Path:
        file = tmp_path / name
        file.write_text(schemaform.written({"$schema": schemaform.DIALECT, "properties": parts}))
        return file

    code, said = form(plant("a.json", first=one, second=other))
    assert code == found and ("defined 2 times: a.json#/properties/first" in said) == found
    code, said = form(plant("a.json", first=one), plant("b.json", second=other))
    assert code == found and ("a.json#" in said and "b.json#/properties/second" in said) == found
    place = tmp_path / "elsewhere"
    place.mkdir()
    assert form(plant("a.json", first=one), plant("elsewhere/b.json", second=other))[0] == 0


def test_a_reference_of_two_files_is_not_the_same(tmp_path: Path) -> None:
    """It stands for what its file defines."""
    user = {"type": "object", "required": ["first", "second"], "additionalProperties": False,
            "properties": {"first": {"$ref": "#/$defs/a"}, "second": {"$ref": "#/$defs/a"}}}
    assert schemaform.twice({"a.json": user, "b.json": user}) == []
    assert schemaform.twice({"a.json": {"properties": {"a": user, "b": user}}}) != []


def references(file: Path) -> Iterator[str]:
    """Each of a schema."""
    yield from re.findall(r'"\$ref": "([^"]+)"', file.read_text())


@pytest.mark.parametrize("file", SCHEMAS, ids=lambda file: file.name)
def test_references_lead_to_the_same(file: Path) -> None:
    """Whether one resolves them as the standard says, by the file's place, or takes one whole."""
    def retrieve(uri: str) -> Resource[Any]:
        return Resource.from_contents(json.loads(Path(uri.removeprefix("file://")).read_text()))

    resolver: Any = Registry(retrieve=retrieve).resolver(file.as_uri())  # type: ignore[call-arg]
    whole = schemafile.read(file)
    for reference in references(file):
        target = resolver.lookup(reference).contents
        text = json.dumps(target).replace(schemafile.REFERENCE, '"#/')
        assert whole["$defs"][reference.rsplit("/", 1)[1]] == json.loads(text), reference
    assert schemafile.REFERENCE not in json.dumps(whole)


@pytest.mark.parametrize("folder", sorted({file.parent for file in SCHEMAS}),
                         ids=lambda folder: str(folder.relative_to(ROOT)))
def test_each_definition_is_used(folder: Path) -> None:
    """A shared one by two files, one that a file has by that file, whose names are others."""
    users = defaultdict(set)
    for file in folder.glob("*.json"):
        for reference in references(file):
            users[reference if reference[0] != "#" else file.name + reference].add(file.name)
    defined = {file.name: set(json.loads(file.read_text()).get("$defs", {}))
               for file in folder.glob("*.json")}
    shared = defined.pop(schemafile.SHARED, set())
    for name in shared:
        assert len(users[f"{schemafile.SHARED}#/$defs/{name}"]) > 1, name
    for file_name, names in defined.items():
        assert not names & shared, file_name
        for name in names:
            assert users[f"{file_name}#/$defs/{name}"], f"{file_name}: {name}"


EXAMPLES = re.findall(r"```python\n(import json.*?)```", (ROOT / "docs/commands.md").read_text(),
                      re.DOTALL)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer versions like the first better
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_page(example: str, tmp_path: Path,
                              monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find what a schema shares, wherever the schemas are."""
    assert len(EXAMPLES) == 2
    place = tmp_path / "installed"
    place.mkdir()
    for file in (ROOT / "cli/schema").glob("*.json"):
        (place / file.name).write_text(file.read_text())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "status.json").write_text('{"time": 1}')
    program = example.replace("/usr/share/isolator/schema", str(place))
    assert program != example
    with pytest.raises(jsonschema.ValidationError):
        exec(compile(program, "example", "exec"), {})
    (place / schemafile.SHARED).unlink()
    with pytest.raises(Exception, match=r"defs\.json"):
        exec(compile(program, "example", "exec"), {})
