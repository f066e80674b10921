# SPDX-License-Identifier: GPL-2.0-or-later
"""What --help says: short enough to be read, and of every command."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from clitest import CLI

ROWS, COLUMNS = 40, 80  # of a terminal, as it opens


def _help(isolator: Path, *arguments: str) -> str:
    done = subprocess.run([isolator, *arguments, "--help"], capture_output=True, text=True,
                          check=True)
    assert not done.stderr
    return done.stdout


def _fits(text: str) -> None:
    lines = text.splitlines()
    assert len(lines) <= ROWS
    assert max(map(len, lines)) <= COLUMNS


def test_program(isolator: Path) -> None:
    """Each subcommand in one line, below what it is for."""
    text = _help(isolator)
    _fits(text)
    groups = dict(re.findall(r"^(\w[^\n]*):\n((?:  .*\n)+)", text, re.MULTILINE))
    assert list(groups) == [
        "look at a machine", "make CPUs quiet", "while a CPU is isolated", "set up", "test",
        "options"]
    found = [line.split()[0] for name, lines in groups.items() if name != "options"
             for line in lines.splitlines()]
    pages = {page.stem.removeprefix("isolator-") for page in
             (CLI / "man").glob("isolator-*.1")}
    assert sorted(found) == sorted([*pages, "completion", "help"])


@pytest.mark.parametrize("arguments", [[], ["bogus"]])
def test_wrong(isolator: Path, arguments: list[str]) -> None:
    """Without a subcommand the same text goes to stderr."""
    done = subprocess.run([isolator, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stdout
    assert (done.stderr == _help(isolator)) == (not arguments)
