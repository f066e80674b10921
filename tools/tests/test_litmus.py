# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/model/litmus/check: results that are stale, wrong or empty are noticed."""

from pathlib import Path
from types import ModuleType

import pytest
import script

HEAD = "X86_64 {name}\n\n(*\n * Result: {result}\n{more} *)\n\n{{ }}\n P0 ;\n nop ;\n"
MADE = {"date": "2026-01-02", "herd7": "7.57"}


@pytest.fixture
def tool() -> ModuleType:
    """The program as a module."""
    return script.load("../kernel/model/litmus/check")


@pytest.fixture
def two(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a test and a weakening, both recorded; herd7 is not installed."""
    (tmp_path / "x86").mkdir()
    write(tmp_path, "entry", "Never")
    write(tmp_path, "entry-weak", "Sometimes", " * Weakens: entry\n")
    monkeypatch.setattr(tool, "HERE", tmp_path)
    monkeypatch.setattr(tool, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("HERD7", str(tmp_path / "herd7"))
    monkeypatch.setattr("sys.argv", ["check"])
    found = {"x86/entry": tool.Found("Never", 0, 3),
             "x86/entry-weak": tool.Found("Sometimes", 1, 3)}
    tool.write_record(tool.read_tests(), found, MADE)
    return tmp_path


def write(folder: Path, name: str, result: str, more: str = "") -> None:
    """A test."""
    (folder / f"x86/{name}.litmus").write_text(HEAD.format(name=name, result=result, more=more))


def herd7(folder: Path, entry: str) -> None:
    """A herd7 that says @entry of the test `entry`, and finds each weakening."""
    program = folder / "herd7"
    program.write_text(f"""#!/bin/sh
case $* in
-version) echo 7.99, Rev: x ;;
*/entry.litmus) echo '{entry}' ;;
*) echo Observation entry-weak Sometimes 1 3 ;;
esac
""")
    program.chmod(0o755)


def test_the_recorded_results_are_of_the_tests(tool: ModuleType) -> None:
    """Exactly those, in the form they have now; each that holds has a weakening."""
    tests = tool.read_tests()
    assert len(tests) > 100 and {test.path.parent.name for test in tests} == \
        {"arm64", "c11", "linux", "x86"}
    assert not tool.problems(tests, tool.read_record())


def test_a_weakening_is_another_test(tool: ModuleType) -> None:
    """It is no copy of what it weakens, nor of another weakening."""
    bodies = [test.path.read_text().split("*)")[1] for test in tool.read_tests()]
    assert len(set(bodies)) == len(bodies)


def test_without_herd7(tool: ModuleType, two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is a skip and has the last result."""
    assert tool.main() == 0
    assert capsys.readouterr().out == """\
ok 1 - x86/entry-weak: Sometimes (1 of 4 executions), by herd7 7.57 on 2026-01-02 \
# SKIP herd7 is not installed
ok 2 - x86/entry: Never (0 of 3 executions), by herd7 7.57 on 2026-01-02 \
# SKIP herd7 is not installed
ok 3 - litmus/results: recorded of these 2 tests
1..3
"""


@pytest.mark.parametrize("name, result, more, problem", [
    ("entry", "Never", " * More\n", "x86/entry has changed since its result was recorded"),
    ("new", "Never", "", "x86/new has no weakening; x86/new has no recorded result"),
    ("entry-weak", "Sometimes", "", "a weakening, and nothing else, has the result Sometimes"),
    ("entry-weak", "Sometimes", " * Weakens: x\n", "weakens x86/x, where none has the result"),
    ("entry", "", "", "x86/entry names no result"),
])
def test_stale_and_malformed(tool: ModuleType, two: Path, capsys: pytest.CaptureFixture[str],
                             name: str, result: str, more: str, problem: str) -> None:
    """A test that changed, is new, or breaks the rules."""
    write(two, name, result, more)
    assert tool.main() == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if "results" in line)
    assert line.startswith("not ok") and problem in line


def test_a_test_that_is_gone(tool: ModuleType, two: Path) -> None:
    """Its result is left over, and the test that it weakened has none."""
    (two / "x86/entry-weak.litmus").unlink()
    assert tool.problems(tool.read_tests(), tool.read_record()) == [
        "x86/entry has no weakening", "x86/entry-weak was recorded, but there is no such test"]


@pytest.mark.parametrize("says, line", [
    ("Observation entry Never 0 7", "ok 2 - x86/entry: Never (0 of 7 executions)"),
    ("Observation entry Sometimes 1 7",
     "not ok 2 - x86/entry: Sometimes (1 of 8 executions), expected Never"),
    ("Observation entry Never 0 0", "not ok 2 - x86/entry: Never, expected Never"),
    ("Flag data-race\nObservation entry Never 0 7",
     "not ok 2 - x86/entry: herd7 says: Flag data-race, expected Never"),
    ("", "not ok 2 - x86/entry: herd7 found no result: no output, expected Never"),
])
def test_with_herd7(tool: ModuleType, two: Path, capsys: pytest.CaptureFixture[str], says: str,
                    line: str) -> None:
    """What it finds is compared; no execution, a flag and silence are no result."""
    herd7(two, says)
    assert tool.main() == int(line.startswith("not"))
    assert line in capsys.readouterr().out.splitlines()


def test_record(tool: ModuleType, two: Path, monkeypatch: pytest.MonkeyPatch,
                capsys: pytest.CaptureFixture[str]) -> None:
    """It writes what was found, and nothing if a result is wrong."""
    monkeypatch.setattr("sys.argv", ["check", "--record"])
    monkeypatch.setattr(tool, "package_version", lambda: "6.12")
    before = tool.RESULTS.read_text()
    herd7(two, "Observation entry Always 3 0")
    assert tool.main() == 1 and tool.RESULTS.read_text() == before
    assert "nothing was recorded" in capsys.readouterr().err
    herd7(two, "Observation entry Never 0 7")
    write(two, "entry", "Never", " * More\n")
    assert tool.main() == 0
    assert "\nherd7 7.99\n" in tool.RESULTS.read_text()
    assert not tool.problems(tool.read_tests(), tool.read_record())
