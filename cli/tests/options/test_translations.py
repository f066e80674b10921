# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/commands.md tells users of other programs what to type: the command knows all of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs/commands.md"
TABLE = PAGE.read_text().split("| you typed | type |")[1]
COMMANDS = [command for row in TABLE.splitlines() if row.startswith("| ")
            for command in re.findall(r"`isolator ([^`]+)`", row.split(" | ")[1])]


def test_it_has_each_program() -> None:
    """One that is missing here is one whose users have to search."""
    for program in ("cyclictest", "oslat", "rtla", "hwlatdetect", "cset", "tuna"):
        assert f"| `{program} " in TABLE
    assert len(COMMANDS) > 20


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_its_words_and_options(isolator: Path, command: str) -> None:
    """Nothing is run: what it would change belongs to the machine."""
    words = command.split(" -- ")[0].split()
    kind = words[1:2] if words[0] in ("measure", "shield") else []
    text = subprocess.run([isolator, words[0], *kind, "--help"], capture_output=True,
                          text=True, check=True).stdout
    if "--help-all" in text:
        text = subprocess.run([isolator, words[0], *kind, "--help-all"], capture_output=True,
                              text=True, check=True).stdout
    options = text.split("\noptions")[1]
    for word in words[1:]:
        if word.startswith("-"):
            assert re.search(rf"^  (-\w, )?{re.escape(word)}[ ,\n]", options, re.MULTILINE), word
