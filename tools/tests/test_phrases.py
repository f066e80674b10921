# SPDX-License-Identifier: GPL-2.0-or-later
"""The phrases that nobody should read: each is found where it is looked for, and only there."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import script
from steps import ROOT

# Of each kind of file: its name, where a phrase is found, and where it is passed over.
PLANTED = {
    "pages": [
        ("docs/a.md", "# A\n\n{}.\n", "# A\n\n`{}`\n\n```\n{}\n```\n<!-- {} -->\n[a](<{}>)\n"),
        ("lib/man/a.3", ".SH NAME\n.B a\n{}.\n",
         ".SH NAME\n.EX\n{}\n.EE\n.nf\n{}\n.fi\n.\\\" {}\n"),
        ("lab/catalogue/a.toml", "[[row]]\nhow = \"{}.\"\n", "# {}\nhow = \"`{}`\"\n"),
    ],
    "c": [("cli/run/a.c", "\nsay(\"it is \"\n    \"{}\\n\");\n",
           "/* {}\n */\n// {}\nchar c = '\"'; /* {} */\n#include \"a.h\"\n")],
    "python": [("tools/a.py", "\nX = f\"{{x}} {}\"\n",
                "# {}\n\n\ndef f() -> None:\n    \"\"\"{}\"\"\"\n")],
    "shell": [("tools/a.sh", "\necho \"{}\"\n", "# {}\ntrue # {}\n")],
}


@pytest.fixture(scope="module")
def phrases() -> ModuleType:
    """tools/phrases as a module; it has no .py in its name."""
    return script.load("phrases")


def test_the_tree_has_none(phrases: ModuleType, capsys: pytest.CaptureFixture[str],
                           monkeypatch: pytest.MonkeyPatch) -> None:
    """And all the kinds are read."""
    monkeypatch.setattr("sys.argv", ["phrases"])
    assert phrases.main() == 0, capsys.readouterr().out


def test_each_is_found_where_it_is_looked_for(phrases: ModuleType) -> None:
    """With the file and the line, also over the end of a line; not in code, nor in comments."""
    listed = phrases.phrases()
    assert len(listed) > 15 and {kind for one in listed for kind in one.kinds} == set(PLANTED)
    for one in listed:
        for kind in PLANTED:
            for path, planted, passed in PLANTED[kind]:
                for example in (one.example, one.example.replace(" ", "\n")):
                    if "\n" in example and kind in ("c", "python"):
                        continue
                    hits = phrases.found(path, planted.format(example), [one])
                    assert bool(hits) == (kind in one.kinds), f"{path}: {one.example}: {hits}"
                    assert all(hit.startswith(f"{path}:") and one.say in hit for hit in hits)
                assert phrases.found(path, passed.replace("{}", one.example), [one]) == []


def test_strings_that_follow_each_other_are_one(phrases: ModuleType) -> None:
    """A phrase that is split is found, in C and Python; one that two arguments make is not."""
    for text, number in (('a("it has "\n  "to go");', 1), ('a("it has",\n  "to go");', 0)):
        assert len(phrases.found("cli/run/a.c", text, phrases.phrases())) == number
        assert len(phrases.found("tools/a.py", text[:-1] + "\n", phrases.phrases())) == number


def test_the_line_is_right(phrases: ModuleType) -> None:
    """Also after blocks that are passed over."""
    text = "# A\n\n```\ncode\n```\n\n`a\nb` c\n\nit has to go\n"
    assert phrases.found("a.md", text, phrases.phrases()) == ["a.md:10: `has to`: must"]


def test_a_planted_phrase_fails(tmp_path: Path) -> None:
    """As make lint runs it: exit code 1, and what to write instead."""
    place = tmp_path / "a.md"
    place.write_text("It has to go.\n")
    done = subprocess.run([ROOT / "tools/phrases", place], capture_output=True, text=True)
    assert done.returncode == 1 and f"{place}:1: `has to`: must" in done.stdout
    place.write_text("It must go.\n")
    assert subprocess.run([ROOT / "tools/phrases", place], capture_output=True).returncode == 0


def test_options_of_commands_are_read_in_their_source(phrases: ModuleType) -> None:
    """The text of a page's OPTIONS is a string of the command."""
    page = ".SH OPTIONS\nit has to go\n.SH ERRORS\nnone\n"
    assert phrases.found("cli/man/a.1", page, phrases.phrases()) == []
    assert len(phrases.found("scope/man/a.1", page, phrases.phrases())) == 1
