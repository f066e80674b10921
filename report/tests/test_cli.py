# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line, its man page, its package."""

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from isolator_report import VERSION
from isolator_report.cli import main, parser
from isolator_report.errors import ERROR, PASS
from steps import ROOT

MAN = (ROOT / "report/man/isolator-report.1").read_text().replace("\\-", "-")
COMMANDS = {"html", "compare", "import", "perfetto", "merge", "advise"}


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    for action in parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError


def test_man_page_and_help_say_the_same() -> None:
    """Each command has its section, each option its line; none is there too many."""
    assert set(commands()) == COMMANDS
    assert set(re.findall(r"^\.SS (\w+)$", MAN, re.MULTILINE)) == COMMANDS
    have = {option for one in [parser(), *commands().values()] for action in one._actions
            for option in action.option_strings}
    lines = [line for line in MAN.splitlines() if line.startswith((".B ", ".BI ", ".BR "))]
    assert have == set(re.findall(r"(?<![\w-])--?[A-Za-z][a-z-]*", "\n".join(lines)))


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_has_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Which are commands that this program takes."""
    with pytest.raises(SystemExit) as done:
        main([name, "--help"])
    assert done.value.code == PASS
    out = capsys.readouterr().out
    assert f"examples:\n  isolator-report {name} " in out or "rtla" in out


@pytest.mark.parametrize("words", [
    [], ["show"], ["html"], ["html", "x"], ["compare"], ["compare", "a"],
    ["compare", "a", "b", "c"], ["compare", "--run", "true"],
    ["compare", "--rounds", "0", "a", "b"], ["compare", "--rounds", "1.5", "a", "b"],
    ["compare", "--margin", "-1", "a", "b"],
    ["compare", "--part", "noisy", "a", "b"], ["compare", "a", "b", "--run", "x", "y"],
    ["import", "x", "--format", "hackbench"], ["merge"],
])
def test_wrong_arguments(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, never argparse's own 2, which says that B is worse."""
    try:
        code: object = main(words)
    except SystemExit as done:
        code = done.code
    assert code == ERROR
    assert capsys.readouterr().err


def test_launcher_and_package(tmp_path: Path) -> None:
    """tools/isolator-report runs from anywhere; the package takes the one schema of each."""
    assert f"version: '{VERSION}'," in (ROOT / "meson.build").read_text()
    done = subprocess.run([ROOT / "tools/isolator-report", "-V"], cwd=tmp_path,
                          capture_output=True, text=True, check=True)
    settings = tomllib.loads((ROOT / "report/pyproject.toml").read_text())
    project, build = settings["project"], settings["tool"]["setuptools"]
    assert done.stdout == f"isolator-report {VERSION}\n"
    assert project["version"] == VERSION
    schemas = build["package-data"]["isolator_report.schema"]
    debian = (ROOT / "packaging/debian/rules").read_text()
    assert f"cp {' '.join(f'cli/schema/{name}' for name in schemas)} " in debian
    package = shutil.copytree(ROOT / "report/isolator_report", tmp_path / "isolator_report")
    (package / "schema").mkdir()
    for name in schemas:
        shutil.copy(ROOT / "report" / build["package-dir"]["isolator_report.schema"] / name,
                    package / "schema")
    program = ("from isolator_report.document import validator\n"
               "print(*(e.json_path for e in validator('measure').iter_errors({'time': 1})))")
    found = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True,
                           capture_output=True, text=True).stdout
    assert "$.time" in found.split()  # whose definition is one that is shared
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$",
                             (ROOT / "tools/requirements.txt").read_text(), re.MULTILINE))
    for wanted in project["dependencies"]:
        name, least = wanted.split(">=")
        assert [int(x) for x in pinned[name].split(".")[:2]] >= [int(x) for x in least.split(".")]


def test_picture_is_what_the_script_draws() -> None:
    """It is not edited by hand and stays small."""
    subprocess.run([sys.executable, ROOT / "docs/drawings/draw-report", "--check"], check=True)
    assert (ROOT / "docs/report.svg").stat().st_size < 200_000
