# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/test: which tests a part, a room and a name stand for."""

import re
from pathlib import Path
from types import ModuleType

import pytest
import script
from steps import ROOT

ROOMS = sorted(folder.name for folder in (ROOT / "cli/tests").iterdir()
               if folder.is_dir() and any(folder.glob("test_*.py")))
PYTEST = ["tools/venv", "pytest", "-q"]
MESON = ["meson", "test", "-C", "build/host", "--print-errorlogs", "--suite"]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program as a module, with few tests that Meson builds."""
    module = script.load("test")
    built = {"cli": ["gap", "text"], "cli/measure": ["gap"], "cli/base": ["text"],
             "scope": ["codec"], "scope/frame": ["codec"]}
    monkeypatch.setattr(module, "meson_tests", lambda suite: built.get(suite, []))
    monkeypatch.chdir(ROOT)
    return module


@pytest.mark.parametrize("part, rest, run", [
    ("cli", "", [["tools/unit-test", "cli"], [*PYTEST, "cli/tests"]]),
    ("cli", "measure", [["tools/unit-test", "cli/measure"], [*PYTEST, "cli/tests/measure"]]),
    ("cli", "base", [["tools/unit-test", "cli/base"]]),
    ("cli", "gap", [[*MESON, "cli", "gap"]]),
    ("cli", "measure/gap", [[*MESON, "cli/measure", "gap"]]),
    ("cli", "latency", [[*PYTEST, "cli/tests/measure/test_latency.py"]]),
    ("cli", "status/live", [[*PYTEST, "cli/tests/status/test_live.py"]]),
    ("cli", "live", [[*PYTEST, "cli/tests/status/test_live.py", "cli/tests/watch/test_live.py"]]),
    ("scope", "frame", [["tools/unit-test", "scope/frame"], [*PYTEST, "scope/frame/tests"]]),
    ("scope", "codec", [[*MESON, "scope", "codec"],
                        [*PYTEST, "scope/frame/tests/test_codec.py"]]),
    ("lab", "scope", [[*PYTEST, "lab/tests/scope"]]),
    ("docs", "", [[*PYTEST, "docs/tests"]]),
    ("lib", "", []),
    ("guest", "mmap-lock", [["tools/isolab", "test", "--kernel", "rt", "--only", "mmap-lock"]]),
    ("model", "", [["kernel/model/check"]]),
])
def test_what_is_run(tool: ModuleType, part: str, rest: str, run: list[list[str]]) -> None:
    """Of a part, of one of its rooms, and by a test's name."""
    assert tool.commands(part, rest, "rt") == run


@pytest.mark.parametrize("part, rest", [
    ("cli", "nothing"), ("cli", "fakes"), ("cli", "measure/text"), ("cli", "status/latency"),
    ("cli", "measure/gap/more"), ("model", "x"), ("report", "../lab"),
])
def test_what_is_not_there(tool: ModuleType, part: str, rest: str) -> None:
    """A name in another room is none."""
    assert tool.commands(part, rest, "rt") == []


@pytest.mark.parametrize("room", ROOMS)
def test_each_room_is_found(tool: ModuleType, room: str) -> None:
    """With the folder of its tests in Python."""
    assert tool.commands("cli", room, "rt")[-1] == [*PYTEST, f"cli/tests/{room}"]


def test_meson_names_the_rooms() -> None:
    """Each source of a test of cli is in a table that names its folder, or stands alone."""
    text = (ROOT / "cli/tests/meson.build").read_text()
    programs = {"encode", "interval"}  # a test in Python builds them
    for file in sorted((ROOT / "cli/tests").glob("*/*.c")):
        room, name = file.parent.name, file.stem
        if room != "fakes" and name not in programs:
            assert f"'{room}/{name}.c'" in text or re.search(
                rf"'{room}': (\[[^\]]*|{{[^}}]*)'{name}'", text), file


def test_there_is_no_such_test(tool: ModuleType, monkeypatch: pytest.MonkeyPatch,
                               capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the folders."""
    for word, said in (("cli/nothing", "has no test 'nothing': see cli/tests"),
                       ("nothing", "there is no part 'nothing'")):
        monkeypatch.setattr("sys.argv", ["test", word])
        with pytest.raises(SystemExit):
            tool.main()
        assert said in capsys.readouterr().err


def test_the_folders_are_those_of_pytest(tool: ModuleType) -> None:
    """None of testpaths is without a part."""
    places = re.findall(r'"([^"]+)"', next(
        line for line in (ROOT / "pyproject.toml").read_text().splitlines()
        if line.startswith("testpaths")))
    folders = [Path(folder) for part in tool.FOLDERS.values() for folder in part]
    for place in map(Path, places):
        assert any(place in (folder, *folder.parents) for folder in folders), place
