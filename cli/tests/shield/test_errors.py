# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator shield: wrong words, missing rights, damaged journals, and its schema."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
from clitest import NOBODY, schema
from runtest import (
    Lay,
    restore,
    tree,
)
from shieldtest import (
    MACHINE,
    said,
    shield,
)


@pytest.mark.parametrize(("arguments", "words"), [
    (["set"], "which CPUs? --all 3"),
    (["set", "--all", "0-3"], "no CPU of 0-3 is left for everything else: shield fewer"),
    (["set", "--timers", "0-3"], "--timers: no CPU of 0-3 is left"),
    (["set", "--processes", "3,7"], "--processes: 7 not online; online are 0-3"),
    (["set", "--processes", "x"], "is not a list of CPUs"),
    (["set", "--processes", ""], "is not a list of CPUs"),
    (["set", "--all", "3", "--timers", "2"], "--all sets all three masks"),
    (["show", "--all", "3"], "--all is for set, clear, not for show"),
    (["unset"], 'unknown argument "unset", it must be set|show|clear'),
    ([], "missing argument set|show|clear"),
    (["set", "3"], 'unexpected argument "3"')])
def test_wrong_words(isolator: Path, lay: Lay, arguments: list[str], words: str) -> None:
    """Said, with what helps; nothing is left behind, and a shield stays as it is."""
    root = lay(MACHINE)
    before = tree(root)
    assert words in said(isolator, root, *arguments, code=1) and tree(root) == before
    assert not (root / "run/isolator").exists()
    shield(isolator, root, "set", "--all", "3")
    before = tree(root)
    if arguments != ["set"]:
        assert words in said(isolator, root, *arguments, code=1) and tree(root) == before


def test_without_the_right(isolator: Path, lay: Lay) -> None:
    """Who may not write a journal changes nothing."""
    root = lay(MACHINE)
    (root / "run").mkdir()
    before = tree(root)
    for path in before:
        (root / path[1:]).chmod(0o666)
    text = said(isolator, root, "set", "--all", "3", code=1, **NOBODY)
    assert "run it as root" in text and {p: v[0] for p, v in tree(root).items()} == {
        p: v[0] for p, v in before.items()}
    assert "No CPU is shielded" in said(isolator, root, "show", **NOBODY)


@pytest.mark.parametrize("text", ["", "isolator-journal 2\n", "bogus\n", "isolator-journal 1\n\0"])
def test_damaged_journal(isolator: Path, lay: Lay, text: str) -> None:
    """Nothing is changed as long as nobody has looked at it; an empty one is none."""
    root = lay(MACHINE)
    shield(isolator, root, "set", "--all", "3")
    (root / "run/isolator/shield").write_text(text)
    before = tree(root)
    for arguments in (["set", "--all", "2"], ["show"]):
        if text:
            assert "damaged" in said(isolator, root, *arguments, code=1) and tree(root) == before
    if not text:
        assert shield(isolator, root, "show")["processes"] == []


def test_damaged_lines(isolator: Path, lay: Lay) -> None:
    """The report names them, and they stay; the others are undone."""
    root = lay(MACHINE)
    before = tree(root)
    shield(isolator, root, "set", "--all", "3")
    journal = root / "run/isolator/shield"
    lines = journal.read_text().splitlines()
    bad = ["shield-task\t311\t20\t0-3", "shield-list\tnowhere\t1\t2", "shield\t1\tx\t-"]
    journal.write_text("\n".join([*lines, *bad]) + "\n")
    assert shield(isolator, root, "show")["processes"] == [3]
    document = restore(isolator, root, code=1)
    assert document["journals"][0]["failed"] == 2
    assert {p for p, v in tree(root).items() if v != before.get(p)} == {"/run/isolator/shield"}


def test_schema_is_closed(isolator: Path, lay: Lay) -> None:
    """A key that is missing or unknown is not valid."""
    document = shield(isolator, lay(MACHINE), "set", "--all", "3")
    for key in list(document):
        with pytest.raises(jsonschema.ValidationError):
            schema("shield").validate({k: v for k, v in document.items() if k != key})
    with pytest.raises(jsonschema.ValidationError):
        schema("shield").validate({**document, "more": 1})
