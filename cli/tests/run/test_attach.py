# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator attach and detach, on a kernel with Isolator that is a directory."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from clitest import NOBODY, PATIENCE_S, valid
from runtest import (
    OWN,
    STOCK,
    Changes,
    Done,
    Lay,
    asked,
    cleared,
    files,
    no_journal,
    restore,
    running,
    states,
    tree,
)
from waiting import until

TASK = "/proc/4711"
STAT = "4711 (control) S 1 4711 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0 " + "0 " * 14 + \
    "{cpu} {priority} {policy} 0 0\n"


def task(cpus: str = "0-2", priority: int = 0, policy: int = 0) -> Changes:
    """A task that runs."""
    return {f"{TASK}/comm": "control\n",
            f"{TASK}/stat": STAT.format(cpu=1, priority=priority, policy=policy),
            f"{TASK}/status": f"Name:\tcontrol\nCpus_allowed_list:\t{cpus}\nMems_allowed:\t1\n"}


def command(program: Path, root: Path, *words: str, code: int = 0, **how: Any) -> dict[str, Any]:
    """The document of attach or detach, with what it said beside."""
    done = subprocess.run([program, words[0], "--root", root, "--json", *words[1:]], text=True,
                          capture_output=True, check=False, timeout=PATIENCE_S, **how)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
    if code and not done.stdout:
        return {"said": " ".join(done.stderr.split())}
    return {**valid(words[0], done.stdout), "said": " ".join(done.stderr.split())}


def attach(program: Path, root: Path, *words: str, **how: Any) -> dict[str, Any]:
    """The same of that task on CPU 3."""
    return command(program, root, "attach", "4711", "-c", "3", *words, **how)


def shown(root: Path, name: str) -> str:
    """A file of the task."""
    return (root / TASK[1:] / name).read_text()


def test_attach_and_detach(kernel: Path, lay: Lay) -> None:
    """The task is pinned and isolated, the CPU quiet; then all is as before."""
    root = lay({**files(), **task()})
    before = cleared(root)
    document = attach(kernel, root, "--policy", "fifo", "--priority", "7", "--batch", "20")
    assert asked(root) == [
        "start 4711 2 mask 7 flags 1 deadline 0 spin 0 yield 50000 batch 20000000"]
    assert "Cpus_allowed_list:\t3\n" in shown(root, "status")
    assert shown(root, "stat") == STAT.format(cpu=1, priority=7, policy=1)
    assert (document["cpu"], document["name"], document["achieved"]) == (3, "control", 7)
    assert document["before"] == {"cpus": [0, 1, 2], "policy": 0, "priority": 0}
    assert "/proc/isolator/cpus" in document["settings"] and (root / "run/isolator/run.1").exists()
    changed = {p for p, v in cleared(root).items() if before.get(p) != v}
    assert set(document["settings"]) | {f"{TASK}/stat", f"{TASK}/status"} <= changed
    document = command(kernel, root, "detach", "4711")
    assert asked(root)[1:] == ["stop 4711"] and cleared(root) == before
    assert document["restored"] and document["name"] == "control" and not document["waiting"]
    assert (document["cpus"][0]["end"], document["cpus"][0]["planned"]) == ("admin", 4)
    assert not (root / "run/isolator").exists()


def test_attach_text(kernel: Path, lay: Lay) -> None:
    """What it says names how it is undone; a policy that is not asked for stays."""
    root = lay({**files(), **task(priority=30, policy=2)})
    done = subprocess.run([kernel, "attach", "--root", root, "4711", "-c", "3", "--lock",
                           "--quarantine"],
                          capture_output=True, text=True, check=True)
    assert "4711 (control) is isolated on CPU 3" in done.stdout
    assert "what other threads unmap waits in a quarantine" in " ".join(done.stdout.split())
    assert "isolator detach 4711 ends that, and restores its CPUs (0-2)" in done.stdout
    assert " flags 7 " in asked(root)[0] and shown(root, "stat").endswith(" 1 30 2 0 0\n")
    done = subprocess.run([kernel, "detach", "4711", "--root", root], capture_output=True,
                          text=True, check=True)
    assert "4711 (control) runs as before\n  isolation of CPU 3: " in done.stdout


@pytest.mark.parametrize("error", [errno.EALREADY, errno.EPERM, errno.EINTR, errno.EBUSY])
def test_attach_that_is_refused(kernel: Path, lay: Lay, error: int) -> None:
    """Said, and all is as before."""
    root = lay({**files(), **task()})
    before = cleared(root)
    document = attach(kernel, root, "--policy", "rr", code=1,
                      env={**os.environ, "START": str(error), "STOP": str(errno.ESRCH)})
    words = "--wait TIME" if error == errno.EINTR else os.strerror(error)
    assert words in document["said"] and cleared(root) == before


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_signal_to_attach(kernel: Path, lay: Lay, name: str) -> None:
    """One that comes before the task is isolated: all is as before."""
    root = lay({**files(), **task()})
    before = cleared(root)
    blocked = ["python3", "-c", "import os, signal, sys; s = signal.Signals['SIG' + sys.argv[1]]; "
               "signal.signal(s, signal.SIG_DFL); signal.pthread_sigmask(signal.SIG_BLOCK, [s]); "
               "os.kill(os.getpid(), s); os.execv(sys.argv[2], sys.argv[2:])", name]
    done = subprocess.run([*blocked, kernel, "attach", "--root", root, "4711", "-c", "3"],
                          text=True, capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 1 and "ended by a signal" in done.stderr
    assert asked(root) in ([], ["stop 4711"]) and cleared(root) == before


def test_attached_is_left_alone(kernel: Path, lay: Lay) -> None:
    """Other commands leave it its CPU and settings as long as it lives."""
    root = lay({**files(), **task()})
    before = cleared(root)
    attach(kernel, root)
    during = cleared(root)
    assert "is already attached" in attach(kernel, root, code=1)["said"]
    other = command(kernel, root, "attach", "4711", "-c", "2", code=1)
    assert "run isolator detach 4711 first" in other["said"]
    done = Done(kernel, root, "--", "true")
    assert done.code == OWN and 'CPU 3 is taken: PID 4711 runs "control" there' in done.said
    assert restore(kernel, root)["journals"][0]["state"] == "alive"
    assert cleared(root) == during
    assert Done(kernel, root, "--", "true", cpu="2").code == 0
    assert cleared(root) == during
    assert states(restore(kernel, root, "--force")) == [("run.1", "restored")]
    assert cleared(root) == before and asked(root)[-1] == "stop 4711"


def test_attach_while_another_does(kernel: Path, lay: Lay) -> None:
    """Of two commands that attach a task, for whatever CPUs, the first one alone does."""
    root = lay({**files(), **task()})
    before = cleared(root)
    journal = root / "run/isolator/run.1"
    journal.parent.mkdir(parents=True, mode=0o700)
    # As it is before the other has noted what the task has.
    journal.write_text("isolator-journal 1\nrun\t4711\t3\tcontrol\n")
    with journal.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        said = command(kernel, root, "attach", "4711", "-c", "2", code=1)["said"]
    assert "4711 is already attached, or is being attached now" in said
    assert asked(root) == [] and journal.exists()
    assert states(restore(kernel, root)) == [("run.1", "restored")] and cleared(root) == before


def test_refused_attach_ends_nothing_else(kernel: Path, lay: Lay) -> None:
    """What another program has begun with the task goes on."""
    root = lay({**files(), **task()})
    before = cleared(root)
    attach(kernel, root, code=1, env={**os.environ, "START": str(errno.EINVAL)})
    assert [words.split()[0] for words in asked(root)] == ["start"] and cleared(root) == before


def test_refused_attach_undoes_nothing_else(kernel: Path, lay: Lay, tmp_path: Path) -> None:
    """Nobody undoes its journal before it; if it was forced, who has its name now keeps its own."""
    other: Changes = {path.replace("4711", "4712"): text.replace("4711", "4712")
                      for path, text in task().items() if isinstance(text, str)}
    root = lay({**files(), **task(), **other})
    before = cleared(root)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    held = os.open(fifo, os.O_RDWR)
    with subprocess.Popen(
            [kernel, "attach", "--root", root, "4711", "-c", "3", "--wait", "600"],
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, "START": str(errno.EBUSY), "HOLD": str(fifo)}) as process:
        until(lambda: asked(root))
        assert states(restore(kernel, root)) == [("run.1", "alive")]
        assert states(restore(kernel, root, "--force")) == [("run.1", "restored")]
        command(kernel, root, "attach", "4712", "-c", "2")
        during = cleared(root)
        os.close(held)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1 and os.strerror(errno.EBUSY) in " ".join(said.split())
    assert states(restore(kernel, root)) == [("run.1", "alive")] and cleared(root) == during
    assert states(restore(kernel, root, "--force")) == [("run.1", "restored")]
    assert cleared(root) == before


def test_attached_task_that_ends(kernel: Path, lay: Lay) -> None:
    """Then restore puts back what was changed for it, and asks the kernel for nothing."""
    root = lay({**files(), **task()})
    before = cleared(root)
    attach(kernel, root)
    stat = root / TASK[1:] / "stat"
    stat.write_text(stat.read_text().replace(" 77 ", " 78 "))  # another one with its number
    assert states(restore(kernel, root)) == [("run.1", "restored")]
    assert len(asked(root)) == 1
    after = cleared(root)
    assert {p for p in before if after[p] != before[p]} == {f"{TASK}/stat", f"{TASK}/status"}


def test_detach_while_a_run_lives(kernel: Path, lay: Lay) -> None:
    """The task gets back its own at once, shared settings stay until the run has ended."""
    root = lay({**files(), **task()})
    before = cleared(root)
    attach(kernel, root)
    with running(kernel, root, "--no-isolation", cpu="2") as process:
        document = command(kernel, root, "detach", "4711")
        assert document["waiting"] and document["restored"]
        assert shown(root, "status") == task()[f"{TASK}/status"]
        process.terminate()
        process.wait(60)
    restore(kernel, root)
    assert cleared(root) == before


def test_detach_what_was_not_attached(kernel: Path, lay: Lay) -> None:
    """Its isolation ends nevertheless; without one it is an error."""
    root = lay({**files(), **task()})
    done = subprocess.run([kernel, "detach", "4711", "--root", root], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0 and "there is nothing else to restore" in done.stderr
    assert asked(root) == ["stop 4711"]
    said = command(kernel, root, "detach", "4711", code=1,
                   env={**os.environ, "STOP": str(errno.ESRCH)})["said"]
    assert "is not isolated" in said


@pytest.mark.parametrize(("words", "why"), [
    (["attach", "4711"], "give one CPU"), (["attach", "4711", "-c", "2-3"], "give one CPU"),
    (["attach", "-c", "3"], "missing argument TID"), (["attach", "x", "-c", "3"], "is not a TID"),
    (["attach", "0", "-c", "3"], "is not a TID"), (["attach", "999", "-c", "3"], "no task 999"),
    (["attach", "2", "-c", "3"], "kernel thread"),
    (["attach", "4711", "-c", "3", "--priority", "5"], "--priority needs"),
    (["attach", "4711", "-c", "3", "--policy", "rr", "--priority", "100"], "from 1 to 99"),
    (["attach", "4711", "-c", "9"], "9 not online"), (["detach", "x"], "is not a TID"),
    (["detach", "4294972007"], "is not a TID")])  # whose last 32 bits are 4711
def test_wrong_words(kernel: Path, lay: Lay, words: list[str], why: str) -> None:
    """Said, and nothing is changed."""
    root = lay({**files(), **task()})
    before = tree(root)
    assert why in command(kernel, root, *words, code=1)["said"] and tree(root) == before


def test_attach_on_a_stock_kernel(kernel: Path, lay: Lay) -> None:
    """Nothing is changed."""
    root = lay({**STOCK, **task()})
    before = tree(root)
    assert "has no Isolator" in attach(kernel, root, code=1)["said"]
    assert tree(root) == before


def test_policy_that_cannot_be_given_back(kernel: Path, lay: Lay) -> None:
    """With SCHED_DEADLINE the task keeps it: detach would not know its times."""
    root = lay({**files(), **task(policy=6)})
    before = tree(root)
    said = attach(kernel, root, "--policy", "fifo", code=1)["said"]
    assert "SCHED_DEADLINE" in said and "run chrt --other --pid 0 4711 first" in said
    assert tree(root) == before
    # As it is nothing is lost of it.
    attach(kernel, root)
    assert command(kernel, root, "detach", "4711")["restored"]
    assert cleared(root) == {path: value for path, value in before.items()
                             if path not in ("/dev/isolator", "/proc/isolator/status")}


@pytest.mark.parametrize(("words", "since", "after", "said"), [
    ((), {"priority": 50, "policy": 1}, {"priority": 50, "policy": 1},
     "stat: somebody has set its policy to 1 with priority 50 since, and so it stays; before it"
     " was 0 with priority 0"),
    (("--policy", "fifo", "--priority", "7"), {"policy": 6}, {"policy": 6}, "set its policy to 6"),
    (("--policy", "fifo", "--priority", "7"), {"cpus": "0", "priority": 7, "policy": 1},
     {"cpus": "0"}, "status: somebody has set its affinity to 0 since"),
    (("--policy", "fifo", "--priority", "7"), {"cpus": "0-2"}, {}, ""),
])
def test_what_others_have_given_the_task_stays(
    kernel: Path, lay: Lay, words: tuple[str, ...], since: dict[str, Any], after: dict[str, Any],
    said: str
) -> None:
    """It is named; the rest is given back."""
    root = lay({**files(), **task()})
    attach(kernel, root, *words)
    for path, text in task(**{"cpus": "3", **since}).items():
        (root / path[1:]).write_text(str(text))
    document = command(kernel, root, "detach", "4711")
    assert said in document["said"] and ("somebody" in document["said"]) == bool(said)
    for path, text in task(**after).items():
        assert (root / path[1:]).read_text() == text
    assert not (root / "run/isolator").exists()


def test_attached_by_an_earlier_version(kernel: Path, lay: Lay) -> None:
    """Its note does not say what the task got: all is given back."""
    root = lay({**files(), **task("3", 50, 1), "/run/isolator/run.1":
                "isolator-journal 1\nattach\t4711\t77\t0-2 0 0\n"})
    assert states(restore(kernel, root, "--force")) == [("run.1", "restored")]
    for path, text in task().items():
        assert (root / path[1:]).read_text() == text


def test_affinity_comes_back_without_the_policy(stubborn: Path, lay: Lay) -> None:
    """Which the kernel refuses: that is said, and stays noted."""
    root = lay({**STOCK, **task("3", 7, 1), "/run/isolator/run.1":
                "isolator-journal 1\nrun\t4711\t3\tx\nattach\t4711\t77\t0-2 6 0\n"})
    said = command(stubborn, root, "detach", "4711", code=1,
                   env={**os.environ, "DENIED": f"{TASK}/stat"})["said"]
    assert "Invalid argument" in said and "policy 6 with priority 0" in said
    assert "Cpus_allowed_list:\t0-2\n" in shown(root, "status")
    assert (root / "run/isolator/run.1").exists()


def test_attach_without_a_journal(kernel: Path, lay: Lay) -> None:
    """Nothing is changed, with --best-effort neither."""
    root = lay({**files(), **task()})
    no_journal(root)
    before = tree(root)
    document = attach(kernel, root, "--best-effort", code=1, **NOBODY)
    assert "without a journal" in document["said"] and tree(root) == before
