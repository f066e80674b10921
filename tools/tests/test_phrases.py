# SPDX-License-Identifier: GPL-2.0-or-later
"""The phrases that nobody should read: each is found where it is looked for, and only there."""

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
        ("docs/b.md", "# A\n\n```\na -b   # {}\n```\n", "# A\n\n```\na#{}\n```\n"),
        ("docs/c.md", "# A\n\n```c\na();  /* {} */\n```\n", "# A\n\n```c\na(\"{}\");\n```\n"),
        ("kernel/Documentation/a.rst", "A\n=\n\n{}.\n",
         ".. {}\n\nA\n=\n\n``{}``::\n\n\t{}\n\n  {}\n"),
        ("cli/man/a.1", ".SH OPTIONS\n.TP\n.B \\-a\n{}.\n.SH ERRORS\nnone\n", ".SH NAME\na\n"),
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
                    if "\n" in example and (kind in ("c", "python") or path == "docs/b.md"):
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


def test_left_out_is_what_the_list_says(phrases: ModuleType, tmp_path: Path) -> None:
    """Beginnings of names, as the list has them; a test is not read, wherever it is."""
    listed = phrases.left_out()
    assert listed.match("lab/tests/test_a.py") and listed.match("kernel/patches/6.12/cover")
    assert not listed.match("kernel/isolator/core.c") and not listed.match("docs/tests.md")
    place = tmp_path / "list.toml"
    place.write_text("leave_out = ['a/']\n")
    assert phrases.left_out(place).match("a/b") and not phrases.left_out(place).match("b/a/")


def test_what_is_allowed(phrases: ModuleType) -> None:
    """Good English that resembles what is banned."""
    text = ("It goes back to user mode. The user who calls it wants nothing. Who asks? "
            "The file has not changed. Go back into the kernel. It is written by nobody.\n")
    allowed = [hit for hit in phrases.found("docs/a.md", text, phrases.phrases())
               if "wants" not in hit]
    assert allowed == []
