# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/architecture.md: which room may include which, and how large a room may be."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/architecture.md"
NAME = re.compile(r"`([a-z]+)`")
ROW = re.compile(r"\| `([a-z]+)` \| [^|]+ \| ([^|]*)\|")
INCLUDE = re.compile(r'^#\s*include\s+"([^"]+)"', re.M)
TESTS = "tests"
SUFFIXES = {".c", ".h", ".py", ".sh"}
LARGEST_FILE, LARGEST_TEST, LARGEST_FOLDER = 500, 600, 40


def rooms() -> dict[str, set[str]]:
    """Of each room of the command those that it may include."""
    table = PAGE.read_text().split("## Rooms of the command")[1].split("\n## ")[0]
    return {room: set(NAME.findall(may)) for room, may in ROW.findall(table)}


def sources() -> list[Path]:
    """All sources that git knows, from the top folder."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True,
                           text=True).stdout.split()
    return [Path(file) for file in files if Path(file).suffix in SUFFIXES
            and (ROOT / file).exists()]


def upward(cli: Path, may: dict[str, set[str]]) -> list[str]:
    """Each include below @cli that the table does not allow."""
    found = []
    for file in sorted(cli.glob("*/*.[ch]")):
        room = file.parent.name
        if room == TESTS:
            continue
        for include in INCLUDE.findall(file.read_text()):
            target = include.split("/", 1)[0] if "/" in include else None
            outside = include.startswith("../../lib/")  # the library is below all rooms
            if not outside and target not in {room, *may.get(room, set())}:
                found.append(f"{room}/{file.name}: {include}")
    return found


def test_includes_point_down() -> None:
    """As the table has it."""
    assert upward(ROOT / "cli", rooms()) == []


def test_the_table_has_each_room() -> None:
    """And no other; a room is allowed nothing that includes it in turn."""
    may = rooms()
    assert set(may) == {file.parent.name for file in (ROOT / "cli").glob("*/*.[ch]")} - {TESTS}
    above: dict[str, set[str]] = {}
    for room in may:  # a room stands below those that follow it
        assert may[room] <= set(above), f"{room} may use what the table names later"
        above[room] = may[room]


def kinds_named(cli: Path) -> list[str]:
    """What the journal has by name of the kinds that rooms note in it."""
    words = {name: word for file in cli.glob("*/*.h") if file.parent.name != "journal"
             for name, word in re.findall(r'^#define (\w+) ("[a-z-]+")$', file.read_text(), re.M)}
    kinds = set(re.findall(r"\.what = (\w+)", (cli / "undo_kinds.c").read_text())) & set(words)
    assert len(kinds) > 5, "the rooms' kinds are not found any more"
    return [f"{file.name}: {name}" for file in sorted((cli / "journal").glob("*.[ch]"))
            for name in sorted(kinds) for text in [file.read_text()]
            # A file of the store has a name that is a kind's, too.
            if re.search(rf"\b{name}\b", text)
            or (words[name] in text and file.stem != "store")]


def test_the_journal_knows_no_kind_of_a_room(tmp_path: Path) -> None:
    """It has the table of all; one that is planted is found."""
    assert kinds_named(ROOT / "cli") == []
    cli = tmp_path / "cli"
    shutil.copytree(ROOT / "cli", cli, ignore=shutil.ignore_patterns(TESTS))
    with (cli / "journal/line.c").open("a") as source:
        source.write('static const char *const word = "attach";\n')
    with (cli / "journal/undo.c").open("a") as source:
        source.write("static const char *const word = SHIELD_TASK;\n")
    assert kinds_named(cli) == ["line.c: RUN_ATTACH", "undo.c: SHIELD_TASK"]


@pytest.mark.parametrize("file, include", [
    ("base/text.c", "run/run.h"),
    ("journal/journal.c", "shield/notes.h"),
    ("machine/task.c", "journal/journal.h"),
    ("base/json.c", "text.h"),
    ("run/run.c", "../base/text.h"),
])
def test_an_upward_include_is_found(tmp_path: Path, file: str, include: str) -> None:
    """Also one that does not name its room."""
    cli = tmp_path / "cli"
    shutil.copytree(ROOT / "cli", cli, ignore=shutil.ignore_patterns(TESTS))
    with (cli / file).open("a") as source:
        source.write(f'#include "{include}"\n')
    assert upward(cli, rooms()) == [f"{file}: {include}"]


PACKAGE = re.compile(r"\| `isolab\.([a-z]+)` \| [^|]+ \| ([^|]*)\|")
HELPERS = re.compile(r"`isolab`'s helpers \(([^)]*)\)")


def foreign(lab: Path, may: dict[str, set[str]], helpers: set[str]) -> list[str]:
    """Each import of a package of the lab that the table does not allow."""
    found = []
    for file in sorted(lab.glob("*/*.py")):
        package = file.parent.name
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.level != 2:
                continue
            first = node.module.split(".")[0] if node.module else ""
            for name in [first] if first else [alias.name for alias in node.names]:
                if name not in helpers | may[package]:
                    found.append(f"{package}/{file.name}: {name}")
    return found


def packages() -> tuple[dict[str, set[str]], set[str]]:
    """Of each package those that it may import, and the modules that all may."""
    page = PAGE.read_text()
    helpers = HELPERS.search(page)
    assert helpers
    may = {package: set(NAME.findall(may)) for package, may in PACKAGE.findall(page)}
    return may, set(NAME.findall(helpers.group(1)))


def test_imports_of_the_lab_point_down(tmp_path: Path) -> None:
    """As the table has it, and another one is found."""
    may, helpers = packages()
    lab = ROOT / "lab/isolab"
    assert set(may) == {file.parent.name for file in lab.glob("*/__init__.py")}
    assert foreign(lab, may, helpers) == []
    copy = Path(shutil.copytree(lab, tmp_path / "isolab"))
    with (copy / "guests/qemu.py").open("a") as source:
        source.write("from ..judge.attempt import Attempt\nfrom .. import suite\n")
    assert foreign(copy, may, helpers) == ["guests/qemu.py: judge", "guests/qemu.py: suite"]


def test_no_source_is_too_long() -> None:
    """One noun a file."""
    long = {str(file): lines for file in sources()
            if (lines := len((ROOT / file).read_text().splitlines())) >
            (LARGEST_TEST if TESTS in file.parts else LARGEST_FILE)}
    assert long == {}


def test_no_folder_is_too_full() -> None:
    """But the flat lists that the page names."""
    page = PAGE.read_text()
    flat = set(re.findall(r"`([a-z/]+)`", page.split("## Sizes")[1]))
    counts = Counter(str(file.parent) for file in sources())
    assert flat <= set(counts)
    assert {folder: n for folder, n in counts.items()
            if n > LARGEST_FOLDER and folder not in flat} == {}
