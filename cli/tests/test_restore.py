# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator restore, and runs that meet another one, or the audit."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from clitest import PATIENCE_S
from runtest import (
    CGROUP,
    GOVERNOR,
    IRQ,
    NUMA,
    STOCK,
    THP,
    Done,
    Lay,
    command,
    restore,
    running,
    states,
    tree,
)


def test_kill_at_any_moment(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """After SIGKILL of the command, restore puts all back, and the program is gone."""
    chance = random.Random("kill")
    left = 0
    for number in range(20):
        root = lay(STOCK, f"root{number}")
        before = tree(root)
        began = tmp_path / f"began{number}"
        process = subprocess.Popen(
            command(isolator, root, "--policy", "fifo", "--", "sh", "-c",
                     f"echo $$ > {began}.new; mv {began}.new {began}; exec sleep 60"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # From the journal's beginning on: before, nothing can be left.
        stop = time.monotonic() + PATIENCE_S
        while not (root / "run/isolator/run.1").exists() and time.monotonic() < stop:
            time.sleep(0.0005)
        time.sleep(chance.choice([0, 0.002, 0.01, 0.05, 0.15]) * chance.random())
        process.kill()
        process.wait()
        left += tree(root) != before
        document = restore(isolator, root)
        assert [state for _, state in states(document)] in ([], ["restored"])
        assert tree(root) == before and not (root / "run/isolator").exists()
        assert restore(isolator, root)["journals"] == []
        if began.exists():
            stop = time.monotonic() + PATIENCE_S
            while Path(f"/proc/{began.read_text().strip()}/cwd").exists() and \
                    time.monotonic() < stop:
                time.sleep(0.01)
            assert not Path(f"/proc/{began.read_text().strip()}/cwd").exists()
    assert left >= 15


def test_kill_while_the_program_runs(isolator: Path, lay: Lay) -> None:
    """The text of restore names whose journal it was."""
    root = lay(STOCK)
    before = tree(root)
    with running(isolator, root) as process:
        process.kill()
        process.wait()
        assert tree(root) != before
        done = subprocess.run([isolator, "restore", "--root", root], capture_output=True,
                              text=True, check=True)
        assert f"run.1 (PID {process.pid}, CPU 3, sh): " in done.stdout
        assert "restored\n" in done.stdout and not done.stderr
    assert tree(root) == before


def test_the_living_are_left_alone(isolator: Path, lay: Lay) -> None:
    """Restore names a run that lives, and takes its changes only with --force."""
    root = lay(STOCK)
    before = tree(root)
    with running(isolator, root) as process:
        during = tree(root)
        document = restore(isolator, root)
        assert states(document) == [("run.1", "alive")] and tree(root) == during
        assert document["journals"][0]["pid"] == process.pid
        assert states(restore(isolator, root, "--force")) == [("run.1", "restored")]
        assert tree(root) == before
        process.terminate()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert tree(root) == before


def test_one_cpu_for_one_run(isolator: Path, lay: Lay) -> None:
    """A second one is refused before it changes anything; --rest counts too."""
    root = lay(STOCK)
    with running(isolator, root, "--rest", "2") as process:
        during = tree(root)
        for cpu, rest in (("3", []), ("2", []), ("1", ["--rest", "3"])):
            done = Done(isolator, root, *rest, "--", "true", cpu=cpu)
            assert done.code == 1 and not done.document
            assert f'CPU 2-3 is taken: PID {process.pid} runs "sh" there' in done.said
            assert tree(root) == during
        process.terminate()
        process.wait(PATIENCE_S)
    assert Done(isolator, root, "--", "true").code == 0


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("how", ["TERM", "KILL"])
def test_two_runs(isolator: Path, lay: Lay, first: int, how: str) -> None:
    """Whoever ends first leaves to the other what that needs; the last one ends it all."""
    root = lay(STOCK)
    before = tree(root)
    with running(isolator, root, cpu="3") as one, running(isolator, root, cpu="2") as two:
        runs = [one, two]
        during = tree(root)
        assert during[IRQ][0] == b"0-1\n" and during[NUMA][0] == b"0\n"
        runs[first].send_signal(signal.Signals[f"SIG{how}"])
        runs[first].wait(PATIENCE_S)
        restore(isolator, root)
        left = tree(root)
        # CPU 2 or CPU 3 alone may be had again, but what both need is as it was.
        assert left[NUMA][0] == b"0\n" and left[THP][0] == b"madvise\n"
        kept = "2" if first == 0 else "3"
        assert left[GOVERNOR.format(kept)][0] == b"performance\n"
        assert kept not in left[IRQ][0].decode().replace("0-2", "012").replace("0-1", "01")
        groups = sorted((root / CGROUP[1:]).glob("isolator.*"))
        assert [g.name for g in groups] == [f"isolator.{runs[1 - first].pid}"]
        runs[1 - first].send_signal(signal.Signals[f"SIG{how}"])
        runs[1 - first].wait(PATIENCE_S)
        restore(isolator, root)
    assert tree(root) == before and not (root / "run/isolator").exists()


@pytest.mark.parametrize("name", ["cpuset.cpus", "cpuset.mems"])
def test_controller_that_others_use(isolator: Path, lay: Lay, name: str) -> None:
    """It stays on if systemd has given a slice CPUs of its own meanwhile; that is no failure."""
    root = lay({**STOCK, f"{CGROUP}/system.slice/{name}": "\n"})
    before = tree(root)
    with running(isolator, root) as process:
        (root / CGROUP[1:] / "system.slice" / name).write_text("0\n")
        process.terminate()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
        assert process.stderr and "cpuset stays on: " in process.stderr.read()
    after = tree(root)
    assert {p for p in after if after[p] != before.get(p)} == {
        f"{CGROUP}/system.slice/{name}", f"{CGROUP}/cgroup.subtree_control"}
    assert after[f"{CGROUP}/cgroup.subtree_control"][0] == b"+cpuset\n"
    assert not (root / "run/isolator").exists()


def test_audit_fix_waits_for_a_run(isolator: Path, lay: Lay) -> None:
    """It would note what the run has set."""
    root = lay(STOCK)
    with running(isolator, root):
        during = tree(root)
        done = subprocess.run([isolator, "audit", "--fix", "--root", root, "-c", "1"], text=True,
                              capture_output=True, check=False)
        assert done.returncode == 1 and "wait until it has ended" in done.stderr
        assert tree(root) == during


def test_run_after_audit_fix(isolator: Path, lay: Lay) -> None:
    """A run leaves the audit's journal to restore."""
    root = lay(STOCK)
    before = tree(root)
    subprocess.run([isolator, "audit", "--fix", "--root", root, "-c", "2"], check=False,
                   stdout=subprocess.DEVNULL)
    fixed = tree(root)
    with running(isolator, root) as process:
        # The run relies on some of what the audit has set.
        assert states(restore(isolator, root)) == [("run.1", "alive"), ("journal", "waiting")]
        process.terminate()
        process.wait(PATIENCE_S)
    assert {p for p in fixed if tree(root).get(p) != fixed[p]} <= set(fixed)
    assert states(restore(isolator, root)) == [("journal", "restored")]
    assert tree(root) == before
