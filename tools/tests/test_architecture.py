# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/architecture.md: which part and room may use which, and how large a room may be."""

import ast
import os
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
FOLDER = re.compile(r"include_directories\('([^']+)'")
INCLUDE = re.compile(r'^#\s*include\s+"([^"]+)"', re.M)
PART = re.compile(r"^\| `([a-z]+)/` \| [^|]+ \| ([^|]*)\|", re.M)
TESTS = "tests"
SUPPORT = "lib/tests/support"  # of the tests of all parts
# Modules that are found by their names, and whose they are.
MODULES = {"isolab": "lab", "isolator_report": "report", "isolator_scope": "scope", "sim": "scope"}
SCHEMA_READER = "isolator_report"  # schemafile, which reads the schemas of all parts
SUFFIXES = {".c", ".h", ".py", ".sh"}
LARGEST_FILE, LARGEST_FOLDER = 500, 40


def rooms() -> dict[str, set[str]]:
    """Of each room of the command those that it may include."""
    table = PAGE.read_text().split("## Rooms of the command")[1].split("\n## ")[0]
    return {room: set(NAME.findall(may)) for room, may in ROW.findall(table)}


def known() -> list[Path]:
    """All files that git knows, from the top folder."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True,
                           text=True).stdout.split()
    return [Path(file) for file in files if (ROOT / file).exists()]


def sources() -> list[Path]:
    """Those of them that are sources."""
    return [file for file in known() if file.suffix in SUFFIXES]


def parts() -> dict[str, set[str]]:
    """Of each part those that it may use; `all` is meant of those above it in the table."""
    table = PAGE.read_text().split("\n## ")[0]
    found: dict[str, set[str]] = {}
    for part, may in PART.findall(table):
        found[part] = set(found) if may.strip() == "all" else set(NAME.findall(may))
    return found


def top_of(file: Path) -> str:
    """The part, or another folder at the top."""
    return file.parts[0]


def by_path(file: Path, paths: list[str], may: dict[str, set[str]]) -> list[str]:
    """Each path that leaves the part of @file for one that the table does not allow."""
    top, found = top_of(file), []
    for include in paths:
        if not include.startswith("../"):
            continue
        target = Path(os.path.normpath(file.parent / include))
        other = top_of(target)
        foreign_tests = TESTS in target.parts and SUPPORT not in str(target)
        # The kernel part lies in Linux's tree when it is built.
        if other in may and other != top and (other not in may[top] or foreign_tests):
            found.append(f"{file}: {include}")
    return found


def in_python(file: Path, text: str, may: dict[str, set[str]]) -> list[str]:
    """Each import of another part's module that the table does not allow."""
    top, found = top_of(file), []
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
            [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        for name in names:
            other = MODULES.get(name.split(".")[0], top)
            # Tests may use the lab, and the reader of schemas.
            tested = TESTS in file.parts and (other == "lab" or name == SCHEMA_READER)
            if other not in {top, *may[top]} and not tested:
                found.append(f"{file}: {name}")
    return found


def strays(root: Path, may: dict[str, set[str]]) -> list[str]:
    """What both find below @root."""
    found = []
    for file in known():
        if top_of(file) not in may or not (root / file).exists():
            continue
        if file.suffix in (".c", ".h"):
            found += by_path(file, INCLUDE.findall((root / file).read_text()), may)
        elif file.name == "meson.build":
            found += by_path(file, FOLDER.findall((root / file).read_text()), may)
        elif file.suffix == ".py":
            found += in_python(file, (root / file).read_text(), may)
    return found


def upward(cli: Path, may: dict[str, set[str]]) -> list[str]:
    """Each include below @cli that the table does not allow; what stands above may use all."""
    found = []
    for file in sorted([*cli.glob("*.[ch]"), *cli.glob("*/*.[ch]")]):
        room = file.parent.name
        if room == TESTS:
            continue
        allowed = set(may) if file.parent == cli else {room, *may.get(room, set())}
        for include in INCLUDE.findall(file.read_text()):
            target = include.split("/", 1)[0] if "/" in include else None
            if target not in allowed:
                found.append(f"{file.relative_to(cli)}: {include}")
    return found


def test_parts_use_what_is_below() -> None:
    """As the table has it, which has all of them, each above those that it uses."""
    may = parts()
    assert {"kernel", "lib", "cli", "report", "scope", "lab", "bench", "tools"} == set(may)
    before: set[str] = set()
    for part, below in may.items():
        assert below <= before, f"{part} may use what the table names later"
        before.add(part)
    assert strays(ROOT, may) == []


@pytest.mark.parametrize("file, line", [
    ("scope/frame/tests/fuzz.c", '#include "../../../cli/tests/clock.h"'),
    ("bench/tick/main.c", '#include "../../lib/tests/pools.h"'),
    ("bench/tick/main.c", '#include "../../scope/frame/frame.h"'),
    ("lib/src/error.c", '#include "../../cli/base/text.h"'),
    ("lib/tests/tick.c", '#include "../../cli/base/text.h"'),
    ("scope/frame/frame.c", '#include "../../cli/base/text.h"'),
    ("scope/frame/tests/meson.build", "x = include_directories('../../../cli/tests')"),
    ("report/isolator_report/page.py", "import isolator_scope.view"),
    ("report/tests/test_page.py", "from sim.model import Faults"),
    ("scope/isolator_scope/cli.py", "from isolab import catalogue"),
])
def test_a_stray_is_found(tmp_path: Path, file: str, line: str) -> None:
    """In sources and in tests, by a path and by a module's name."""
    copy = tmp_path / file
    copy.parent.mkdir(parents=True)
    copy.write_text((ROOT / file).read_text() + f"\n{line}\n")
    found = strays(tmp_path, parts())
    assert len(found) == 1 and found[0].startswith(f"{file}: ")


@pytest.mark.parametrize("file, line", [
    ("scope/frame/tests/fuzz.c", '#include "../../../lib/tests/support/check.h"'),
    ("lab/guest/tests/scope-map.c", '#include "../../../scope/include/scope_lines.h"'),
    ("cli/tests/status/test_owner.py", "from isolab import catalogue"),
])
def test_what_is_allowed(tmp_path: Path, file: str, line: str) -> None:
    """Helpers of tests, the lab's use of the parts below, and a test's use of the lab."""
    copy = tmp_path / file
    copy.parent.mkdir(parents=True)
    copy.write_text((ROOT / file).read_text() + f"\n{line}\n")
    assert strays(tmp_path, parts()) == []


@pytest.mark.parametrize("part", ["kernel", "lib", "scope", "report"])
def test_the_page_has_each_folder(part: str) -> None:
    """Of the parts whose folders are tables of their own."""
    listed = subprocess.run(["git", "ls-files", part], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.split()
    folders = {Path(file).parts[1] for file in listed if len(Path(file).parts) > 2}
    rows = re.findall(rf"^\| `{part}/([A-Za-z_]+)/` \|", PAGE.read_text(), re.M)
    assert sorted(rows) == sorted(folders)


def test_tests_are_in_their_rooms() -> None:
    """A folder for a room, and no test beside the folders."""
    folders = {path.parent.name for path in (ROOT / "cli/tests").glob("*/*")
               if path.name.startswith("test_") or path.suffix in (".c", ".sh")}
    assert folders - {"fakes"} <= set(rooms())
    assert list((ROOT / "cli/tests").glob("test_*")) == []


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
    ("run/preload.c", "../../lib/preload/preload.h"),
    ("main.c", "text.h"),
    ("undo_kinds.c", "../lib/src/internal.h"),
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
            if (lines := len((ROOT / file).read_text().splitlines())) > LARGEST_FILE}
    assert long == {}


def test_no_folder_is_too_full() -> None:
    """But the flat lists that the page names."""
    page = PAGE.read_text()
    flat = set(re.findall(r"`([a-z/]+)`", page.split("## Sizes")[1]))
    counts = Counter(str(file.parent) for file in sources())
    assert flat <= set(counts)
    assert {folder: n for folder, n in counts.items()
            if n > LARGEST_FOLDER and folder not in flat} == {}
