# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps beside others: what waits for what, and what a signal or a failure leaves."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import steps
from lanes import run_lanes, stretches
from processes import gone
from steps import Step
from waiting import PATIENCE_S, until


def shell(name: str, script: str, group: str = "unit", **more: object) -> Step:
    """A step that runs a shell command."""
    return Step(name, "", ["sh", "-c", script], group, **more)  # type: ignore[arg-type]


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A tree of its own, which logs are named from."""
    monkeypatch.setattr(steps, "ROOT", tmp_path)
    return tmp_path


def test_stretches() -> None:
    groups = ["prepare", "prepare", "lint", "unit", "guest", "guest", "unit"]
    todo = [shell(str(i), "true", group) for i, group in enumerate(groups)]
    assert [[s.name for s in one] for one in stretches(todo)] == [
        ["0", "1"], ["2", "3"], ["4", "5"], ["6"]]


def test_company_and_the_end_of_it(tree: Path) -> None:
    """Two wait for each other, which only lanes let them; a guest finds both at their end."""
    def meet(mine: str, other: str) -> str:
        return (f"echo $$ >{tree}/{mine}; for i in $(seq 1200); do sleep 0.05; "
                f"test -e {tree}/{other} && break; done; test -e {tree}/{other}")
    todo = [
        shell("a", meet("a", "b")),
        shell("b", f"{meet('b', 'a')} && while [ -e /proc/$(cat {tree}/a) ]; do sleep 0.05; done "
              # sleep: a has ended, and a guest that does not wait for b would begin now
              f"&& sleep 0.5 && touch {tree}/late", beside=True),
        shell("guest", f"test -e {tree}/late", "guest"),
    ]
    out = io.StringIO()
    assert run_lanes(todo, tree / "out", 1.0, out) == 0
    assert out.getvalue().splitlines()[-1] == "3 passed, 0 failed"
    document = json.loads((tree / "out/result.json").read_text())
    assert [entry["name"] for entry in document["steps"]] == ["a", "b", "guest"]
    transcript = (tree / "out/transcript.txt").read_text().splitlines()
    assert [line.split()[1] for line in transcript[:-1]] == ["a", "b", "guest"]


def test_one_that_waits_holds_nobody_up(tree: Path) -> None:
    """Both other lanes end before it does; a guest comes after it."""
    todo = [
        shell("waits", f"for i in $(seq 1200); do sleep 0.05; test -e {tree}/a -a -e {tree}/b && "
              f"break; done; test -e {tree}/a && test -e {tree}/b && touch {tree}/late",
              waits=True),
        shell("a", f"touch {tree}/a"),
        shell("b", f"touch {tree}/b", beside=True),
        shell("guest", f"test -e {tree}/late", "guest"),
    ]
    out = io.StringIO()
    assert run_lanes(todo, tree / "out", 1.0, out) == 0
    assert out.getvalue().splitlines()[-1] == "4 passed, 0 failed"


def test_one_that_goes_through_holds_up_no_stretch(tree: Path) -> None:
    """They end behind the guest, one behind the other, and yet a failure counts."""
    todo = [
        shell("through", f"for i in $(seq 1200); do sleep 0.05; test -e {tree}/guest && break; "
              f"done; test -e {tree}/guest && touch {tree}/late", through=True),
        shell("next", f"test -e {tree}/late && echo why && exit 1", through=True),
        shell("a", "true"),
        shell("guest", f"touch {tree}/guest", "guest"),
    ]
    out = io.StringIO()
    assert run_lanes(todo, tree / "out", 1.0, out) == 1
    assert "        | why\n" in out.getvalue()
    assert out.getvalue().splitlines()[-1] == "3 passed, 1 failed"


@pytest.mark.parametrize("beside", [False, True])
def test_a_failure_in_either_lane_counts(tree: Path, beside: bool) -> None:
    todo = [shell("bad", "echo why; exit 1", beside=beside), shell("good", "true", beside=beside)]
    out = io.StringIO()
    assert run_lanes(todo, tree / "out", 1.0, out) == 1
    assert "        | why\n" in out.getvalue()
    assert out.getvalue().splitlines()[-1] == "1 passed, 1 failed"


def test_time_ends_both_lanes(tree: Path) -> None:
    todo = [shell("a", "sleep 30"), shell("b", "sleep 30", beside=True)]
    assert run_lanes(todo, tree / "out", 0.01, io.StringIO()) == 1


def test_without_a_limit_a_step_may_take_longer_than_its_time(tree: Path) -> None:
    todo = [shell("slow", "sleep 1", minutes=0.001)]  # sleep: longer than its time
    assert run_lanes(todo, tree / "out", None, io.StringIO()) == 0
    assert run_lanes(todo, tree / "out", 1.0, io.StringIO()) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_lane_that_broke_is_a_failure(tree: Path) -> None:
    """A step whose way of counting nobody knows ends its lane."""
    todo = [shell("lost", "true", beside=True, count="fingers"), shell("good", "true"),
            shell("after", "true", beside=True)]
    out = io.StringIO()
    assert run_lanes(todo, tree / "out", 1.0, out) == 1
    assert out.getvalue().splitlines()[-1] == "1 passed, 2 failed"


def test_sigterm_takes_all_lanes_along(tmp_path: Path) -> None:
    program = (f"import sys; sys.path.insert(0, {str(steps.ROOT / 'tools')!r})\n"
               "import lanes, steps; from pathlib import Path\n"
               f"steps.ROOT = Path({str(tmp_path)!r}); steps.end_on_sigterm()\n"
               "todo = [steps.Step(n, '', ['sh', '-c', 'echo $$ up; sleep 600'], "
               "'unit', beside=n == 'b', through=n == 'c') for n in 'abc']\n"
               f"lanes.run_lanes(todo, Path({str(tmp_path)!r}) / 'out', 1.0)\n")
    runner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    logs = [tmp_path / f"out/{name}.log" for name in "abc"]
    until(lambda: all(log.is_file() and " up\n" in log.read_text() for log in logs), runner.poll)
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
    assert all(gone(int(log.read_text().split(" up\n")[0].split()[-1]), PATIENCE_S) for log in logs)


@pytest.mark.parametrize("session", [True, False])
def test_what_steps_aside(session: bool) -> None:
    """By its policy and, where the kernel shares out by session first, with its own session."""
    group = Path("/proc/self/autogroup")
    before = group.read_text() if group.exists() else ""
    done = subprocess.run(
        [steps.ROOT / "tools/aside", sys.executable, "-c",
         "import os, pathlib; group = pathlib.Path('/proc/self/autogroup')\n"
         "print(os.sched_getscheduler(0)); print(group.read_text() if group.exists() else '')"],
        capture_output=True, text=True, check=True, start_new_session=session)
    policy, _, at = done.stdout.partition("\n")
    assert int(policy) == os.SCHED_IDLE
    if before:
        assert at.split()[-2:] == ["nice", "19"] if session else at.split() == before.split()
