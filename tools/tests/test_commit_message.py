# SPDX-License-Identifier: GPL-2.0-or-later
"""The form of a commit's message: what passes, and what each fault is called."""

import subprocess

import pytest
import script
from steps import ROOT

BODY = "\n\nIt was not there.\n"
RIGHT = [
    "cli: check that the program exists before any change" + BODY,
    "cli/run, lab: name the file\n\nWhy.\n\n    quoted " + "x" * 100 + "\n",
    "docs: link it\n\nhttps://example.org/" + "x" * 100 + "\n",
    "Merge branch 'topic'\n",
    'Revert "cli: x"\n\nThis reverts commit 1.\n',
    "\n# a template\ndocs: fix it" + BODY + "# " + "x" * 100 + "\n",
    "docs: fix it" + BODY + "# " + "-" * 24 + " >8 " + "-" * 24 + "\n" + "x y" * 100,
]
WRONG = [
    ("", "it is empty"),
    ("# a template\n", "it is empty"),
    ("docs: " + "x" * 67 + BODY, "the subject has 73 columns"),
    ("Fix it" + BODY, "not `area: what to do`"),
    ("docs: fix it." + BODY, "without a full stop"),
    ("docs: fix it\nat once\n", "line 2 must be blank"),
    ("docs: fix it\n", "there is no body"),
    ("docs: fix it\n\n" + "x " * 38 + "y\n", "line 3 has 77 columns"),
]


@pytest.mark.parametrize("text", RIGHT)
def test_right(text: str) -> None:
    """What git writes, quotations and long addresses pass."""
    assert script.load("commit-message").faults(text) == []


@pytest.mark.parametrize("text,fault", WRONG)
def test_wrong(text: str, fault: str) -> None:
    """One fault each."""
    (found,) = script.load("commit-message").faults(text)
    assert fault in found


def test_as_a_hook() -> None:
    """The exit code tells, and the faults are on standard error."""
    for text, code in ((RIGHT[0], 0), (WRONG[2][0], 1)):
        done = subprocess.run([ROOT / "tools/commit-message", "/dev/stdin"], input=text, text=True,
                              capture_output=True)
        assert done.returncode == code and bool(done.stderr) == bool(code)


def test_the_pages_name_the_same_numbers() -> None:
    """Both pages, and the template."""
    tool = script.load("commit-message")
    for page in ("docs/writing.md", "CONTRIBUTING.md", ".gitmessage"):
        text = " ".join((ROOT / page).read_text().replace("#", " ").split())
        assert f"at most {tool.SUBJECT} columns" in text.lower(), page
        assert f"at most {tool.BODY} columns" in text, page
