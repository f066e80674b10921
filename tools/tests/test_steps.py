# SPDX-License-Identifier: GPL-2.0-or-later
"""The step runner counts what steps say, and never takes silence for success."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
import steps
from steps import Step, run_steps, tally

SCHEMA = json.loads((steps.ROOT / "tools/schemas/isolator-steps.json").read_text())


def step(count: str = "exit", command: str = "true", **more: object) -> Step:
    """A step that runs a shell command."""
    return Step("example", "an example", ["sh", "-c", command], "test", count=count,
                **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "code", "lines", "expected"),
    [
        ("exit", 0, [], (1, 0, 0)),
        ("exit", 1, [], (0, 1, 0)),
        ("exit", 77, [], (0, 0, 1)),
        ("line", 0, ["3 passed, 0 failed"], (3, 0, 0)),
        ("line", 2, ["3 passed, 1 failed, 2 skipped"], (3, 1, 2)),
        ("line", 0, ["3 passed, 0 failed, and more"], (0, 1, 0)),
        ("line", 0, [], (0, 1, 0)),
        ("line", 77, ["skipped: no QEMU"], (0, 0, 1)),
        ("line", 1, ["3 passed, 0 failed"], (3, 1, 0)),
        ("tap", 0, ["ok 1 - a", "ok 2 - b # SKIP no spin", "1..2"], (1, 0, 1)),
        ("tap", 1, ["not ok 1 - a", "ok 2 - b", "1..2"], (1, 1, 0)),
        ("tap", 0, ["1..3", "ok 1 - a"], (1, 2, 0)),
        ("tap", 0, ["okay, nothing ran"], (0, 1, 0)),
    ],
)
def test_tally(count: str, code: int, lines: list[str], expected: tuple[int, int, int]) -> None:
    """Each way of counting, and each way of lying to it."""
    result = tally(step(count), code, lines)
    assert (result.passed, result.failed, result.skipped) == expected


def test_junit(tmp_path: Path) -> None:
    """JUnit: failures, errors and skips are told apart; no file is a failure."""
    report = tmp_path / "report.xml"
    report.write_text("<testsuites><testsuite><testcase name='a'/>"
                      "<testcase name='b'><failure/></testcase>"
                      "<testcase name='c'><error/></testcase>"
                      "<testcase name='d'><skipped/></testcase></testsuite></testsuites>")
    result = tally(step("junit", junit=str(report)), 1, [])
    assert (result.passed, result.failed, result.skipped) == (1, 2, 1)
    report.unlink()
    assert tally(step("junit", junit=str(report)), 0, []).failed == 1


def run(todo: list[Step], path: Path, **more: object) -> tuple[int, str]:
    """Run steps with results below `path`, inside the tree that logs are named from."""
    out = io.StringIO()
    code = run_steps(todo, path, 1.0, out=out, **more)  # type: ignore[arg-type]
    return code, out.getvalue()


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A results directory in a tree of its own."""
    monkeypatch.setattr(steps, "ROOT", tmp_path)
    return tmp_path / "out"


def test_failure_does_not_stop_the_others(results: Path) -> None:
    """The step after a failing one runs; the closing line and the file say both."""
    todo = [Step("bad", "", ["false"], "t"), Step("good", "", ["true"], "t")]
    code, text = run(todo, results)
    assert code == 1
    assert text.splitlines()[-1] == "1 passed, 1 failed"
    document = json.loads((results / "result.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert [entry["failed"] for entry in document["steps"]] == [1, 0]


def shown(results: Path, script: str) -> list[str]:
    """What is printed of the log of a step that failed."""
    _, text = run([Step("bad", "", ["sh", "-c", f"{script}; exit 1"], "t")], results)
    return [line[10:] for line in text.splitlines() if line.startswith("        | ")]


def test_recap_comes_first(results: Path) -> None:
    """Who sees only the beginning sees what failed; without a recap it is the log's end."""
    noise = f"seq {2 * steps.FAILED_LINES}"
    assert shown(results, f"{noise}; echo 'not failed: 0'; echo; echo 'failed: a on b'; "
                 "echo '  why'; echo; echo 'failed: c on b'; echo 1 passed, 2 failed") == [
        "failed: a on b", "  why", "", "failed: c on b", "1 passed, 2 failed"]
    long = shown(results, f"{noise}; echo failed: a on b; {noise}")
    assert long == ["failed: a on b", *(str(n) for n in range(1, steps.FAILED_LINES))]
    assert shown(results, noise) == [str(n + 1) for n in range(2 * steps.FAILED_LINES)][
        -steps.FAILED_LINES:]


def test_command_that_does_not_exist(results: Path) -> None:
    """A missing command is a failure of that step, not of the runner."""
    code, text = run([Step("lost", "", ["./no-such-command"], "t")], results)
    assert code == 1
    assert text.splitlines()[-1] == "0 passed, 1 failed"


def _lives(stat: Path) -> bool:
    """By what the kernel says; one that nobody has waited for yet does not."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_time_limit_ends_the_whole_group(results: Path) -> None:
    """A step beyond its time is ended with its children, and failed."""
    child = results.parent / "child"
    slow = Step("slow", "", ["sh", "-c", f"sleep 300 & echo $! >{child}; wait"], "t", minutes=0.03)
    code, text = run([slow], results)
    assert code == 1
    assert "stopped after" in text
    stat = Path(f"/proc/{int(child.read_text())}/stat")
    limit = time.monotonic() + 10
    while _lives(stat):
        assert time.monotonic() < limit, "the child survived"
        time.sleep(0.01)


def test_campaign_goes_on_where_it_ended(results: Path) -> None:
    """Passed steps are not run twice; failed ones are."""
    state = results / "state.json"
    log = results.parent / "ran"
    todo = [Step("one", "", ["sh", "-c", f"echo one >> {log}"], "t"),
            Step("two", "", ["sh", "-c", f"echo two >> {log}; test -e {log}.fixed"], "t")]
    assert run_steps(todo, results, 5.0, state=state, out=io.StringIO()) == 1
    log.with_name("ran.fixed").touch()
    assert run_steps(todo, results, 5.0, state=state, out=io.StringIO()) == 0
    assert log.read_text().split() == ["one", "two", "two"]
    jsonschema.validate(json.loads(state.read_text()), SCHEMA)


def test_campaign_begins_nothing_without_time(results: Path) -> None:
    """With no time left a step waits for the next run; it does not fail."""
    out = io.StringIO()
    code = run_steps([Step("later", "", ["true"], "t")], results, 0.0,
                     state=results / "state.json", out=out)
    assert code == 0
    assert "run the same command again" in out.getvalue()


@pytest.mark.parametrize(("tool", "column"), [("check", 1), ("campaign", 0)])
def test_each_step_has_a_name_of_its_own(tool: str, column: int) -> None:
    """Logs are kept, and steps that passed remembered, by it."""
    listed = subprocess.run([steps.ROOT / "tools" / tool, "--list"], capture_output=True,
                            text=True, check=True).stdout.splitlines()
    names = [line.split()[column] for line in listed]
    assert len(names) > 10 and len(set(names)) == len(names)


def test_sigterm_takes_the_step_along(tmp_path: Path) -> None:
    """A runner that is told to end leaves nothing running."""
    mark = tmp_path / "survivor"
    program = (f"import sys; sys.path.insert(0, {str(steps.ROOT / 'tools')!r})\n"
               "import steps; from pathlib import Path\n"
               f"steps.ROOT = Path({str(tmp_path)!r}); steps.end_on_sigterm()\n"
               "step = steps.Step('s', '', ['sh', '-c', 'echo up; sleep 3; touch "
               f"{mark}'], 't')\n"
               f"steps.run_steps([step], Path({str(tmp_path)!r}) / 'out', 1.0)\n")
    runner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    log = tmp_path / "out/s.log"
    while not (log.is_file() and "up\n" in log.read_text()):
        assert runner.poll() is None
        time.sleep(0.05)
    runner.terminate()
    assert runner.wait(timeout=30) == 128 + signal.SIGTERM
    time.sleep(3.5)
    assert not mark.exists()
