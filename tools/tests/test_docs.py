# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents: pictures are fresh, links lead somewhere, commands exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from isolab import header
from steps import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_drawings_are_what_the_script_draws() -> None:
    """The SVG files are not edited by hand and stay small."""
    subprocess.run([ROOT / "docs/drawings/draw", "--check"], check=True)
    assert sum(path.stat().st_size for path in (ROOT / "docs/drawings").glob("*.svg")) < 200_000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    """Relative links lead to a file of this tree."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets(page: Path) -> None:
    """Every `make TARGET` that a page names is one."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)|^make ([a-z-]+)", page.read_text(), re.MULTILINE))
    assert {first or second for first, second in named} <= targets


def test_model_faults_are_named() -> None:
    """The faults that the text speaks of are cases of the model."""
    listed = subprocess.run([ROOT / "kernel/model/check", "--list"], check=True,
                            capture_output=True, text=True).stdout
    text = (ROOT / "docs/how-it-works.md").read_text()
    for case in re.findall(r"`((?:fault|limit|kick)-[a-z_-]+)`", text):
        assert re.search(rf"^{re.escape(case)}\s", listed, re.MULTILINE), case


def test_readme_has_its_transcript() -> None:
    """tools/readme-transcript finds exactly one place, and has filled it."""
    readme = (ROOT / "README.md").read_text()
    assert len(re.findall(r"<!-- transcript: (?:begin|end)", readme)) == 2
    assert "$ make run\n" in readme


def test_the_transcript_is_of_this_state() -> None:
    """Its steps are those of tools/check, its triggers and their classes those of the lab."""
    readme = (ROOT / "README.md").read_text()
    shown = dict(re.findall(r"```\n\$ make (run|check)\n(.*?)```", readme, re.DOTALL))
    if "check" in shown:
        listed = subprocess.run([ROOT / "tools/check", "--list"], check=True,
                                capture_output=True, text=True).stdout
        steps = [line.split()[1] for line in listed.splitlines() if line.strip()]
        ok = re.findall(r"^ok      (\S+)", shown["check"], re.MULTILINE)
        assert sorted(ok) == sorted(steps)
    triggers = {t.name: t.cls for t in header.triggers() if "run" in t.used_in}
    assert {name: cls for name, cls in re.findall(r"^(\S+) +(\S+) ", shown["run"], re.MULTILINE)
            if cls in header.CLASSES} == triggers


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_placeholder(page: Path) -> None:
    """Nothing is left to be filled in."""
    assert not re.findall(r"@[A-Z]+@", page.read_text())
