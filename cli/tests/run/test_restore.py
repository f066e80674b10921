# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator restore, and runs that meet another one, or the audit."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from clitest import CLI, NOBODY, PATIENCE_S, ROOT
from runtest import (
    CGROUP,
    GOVERNOR,
    IRQ,
    NUMA,
    OWN,
    SHELL,
    STOCK,
    THP,
    Done,
    Lay,
    command,
    killed_at_each_change,
    restore,
    running,
    states,
    tree,
)

GRUB = "/etc/default/grub.d/isolator.cfg"


def test_kill_before_each_change(isolator: Path, mortal: Path, lay: Lay) -> None:
    """No file of a recorded machine is half written when the command is killed."""
    root = lay(STOCK)
    before = tree(root)
    changes = 0
    words = command(mortal, root, "--policy", "fifo", "true")
    for changes, copy in enumerate(killed_at_each_change(root, *words), 1):
        restore(isolator, copy)
        assert tree(copy) == before and not (copy / "run/isolator").exists(), changes
    assert changes > 50


def test_kill_of_restore_before_each_change(isolator: Path, mortal: Path, lay: Lay) -> None:
    """Neither when that which puts all back is killed: another one does."""
    root = lay(STOCK)
    before = tree(root)
    with running(isolator, root) as process:
        process.kill()
        process.wait()
    changes = 0
    words = (mortal, "restore", "--root", root)
    for changes, copy in enumerate(killed_at_each_change(root, *words), 1):
        restore(isolator, copy)
        assert tree(copy) == before and not (copy / "run/isolator").exists(), changes
    assert changes > 50


def test_kill_while_the_program_runs(isolator: Path, lay: Lay) -> None:
    """The program ends; the text of restore names whose journal it was, which is gone then."""
    root = lay(STOCK)
    before = tree(root)
    with running(isolator, root, seconds=600) as process:
        process.kill()
        # The program has them, too.
        assert process.communicate(timeout=PATIENCE_S)[0] == ""
        assert tree(root) != before
        done = subprocess.run([isolator, "restore", "--root", root], capture_output=True,
                              text=True, check=True)
        assert f"run.1 (PID {process.pid}, CPU 3, sh): " in done.stdout
        assert "restored\n" in done.stdout and not done.stderr
    assert tree(root) == before and restore(isolator, root)["journals"] == []


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
            assert done.code == OWN and not done.document
            assert f'CPU 2-3 is taken: PID {process.pid} runs "sh" there' in done.said
            assert tree(root) == during
        process.terminate()
        process.wait(PATIENCE_S)
    assert Done(isolator, root, "--", "true").code == 0


def test_two_runs_leave_a_cpu(isolator: Path, lay: Lay) -> None:
    """What a second run moves away does not go to the CPU of the first."""
    root = lay({**STOCK, IRQ: "2\n"})
    before = tree(root)
    with running(isolator, root, cpu="3") as one:
        done = Done(isolator, root, "--", "true", cpu="0-2")
        assert done.code == OWN and not done.document
        assert "no CPU of 0-3 is left for everything else: other programs have CPU 3" in done.said
        with running(isolator, root, cpu="2") as two:
            assert tree(root)[IRQ][0] == b"0-1\n"
            two.terminate()
            two.wait(PATIENCE_S)
        assert tree(root)[IRQ][0] == b"2\n"
        one.terminate()
        one.wait(PATIENCE_S)
    assert tree(root) == before


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
        assert done.returncode == 1 and "wait until it ends" in " ".join(done.stderr.split())
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


def test_messages_are_for_people(isolator: Path, lay: Lay) -> None:
    """What a journal of another machine holds does not reach the terminal as it is."""
    root = lay({**STOCK, "/run/isolator/journal":
                "isolator-journal 1\nset\t/nowhere\\033]0;owned\\007\t\\033[2J\t\\302\\2332J\n"})
    done = subprocess.run([isolator, "restore", "--root", root], capture_output=True, check=False)
    assert done.returncode == 1 and b"/nowhere?]0;owned?" in done.stderr
    for text in (done.stdout, done.stderr):
        assert not {*text} & {*range(32), 0x7f, 0x9b} - {ord("\n")}


@pytest.mark.parametrize("unit", ["isolator.isolator@.service", "examples/drop-in.conf"])
def test_runs_only(isolator: Path, lay: Lay, unit: str) -> None:
    """As the units call it: what was changed for good stays, what a run left goes."""
    lasting = {GRUB: "new", "/run/isolator/journal": f"set\t{THP}\tnever\tnever\n",
               "/run/isolator/shield": f"shield-list\t{IRQ}\t0-3\t0-2\n",
               "/var/lib/isolator/boot": f"grub\t{GRUB}\tnew\t-\n"}
    root = lay({**STOCK, **{path: text if path == GRUB else "isolator-journal 1\n" + text
                            for path, text in lasting.items()}})
    before = tree(root)
    run = root / "run/isolator/run.1"
    run.write_text(f"isolator-journal 1\nrun\t4711\t3\tx\nset\t{NUMA}\t1\t1\\012\n")
    (root / NUMA[1:]).write_text("0\n")
    text = (CLI.parent / "packaging/debian" / unit).read_text()
    [words] = [line.split()[1:] for line in text.splitlines() if line.startswith("ExecStopPost=")]
    done = subprocess.run([isolator, *words, "--root", root], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and not done.stderr and "1 restored" in done.stdout
    assert tree(root) == before
    done = subprocess.run([isolator, "restore", "--runs", "--force", "--root", root],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "give at most one of them" in done.stderr
    assert tree(root) == before


@pytest.mark.parametrize("whose", ["everybody", *(pytest.param(
    whose, marks=pytest.mark.skipif(not ROOT, reason="only root can give files away"))
    for whose in ("another", "group"))])
def test_nothing_is_changed_below_a_root_of_others(isolator: Path, lay: Lay, whose: str) -> None:
    """They could have prepared what is changed; what only reads still does."""
    root = lay({**STOCK, "/proc/isolator/cpus": "\n", "/etc/isolator.conf": "cpus = 1\n",
                "/proc/isolator/limits": "deadline_ns 1 spin_ns 1 perf queue msr queue\n",
                "/run/isolator/journal": f"isolator-journal 1\nset\t{THP}\tnever\tnever\n",
                "/var/lib/isolator/boot": f"isolator-journal 1\ngrub\t{GRUB}\tx\t-\n"})
    if whose == "another":
        os.chown(root, 65534, 65534)
    elif whose == "group":
        os.chown(root, 0, 65534)
        root.chmod(0o775)
    else:
        root.chmod(0o777)
    before = tree(root)
    for arguments in (["restore"], ["audit", "-c", "3", "--fix"],
                      ["audit", "-c", "3", "--fix", "--boot"], ["shield", "set", "--all", "3"],
                      ["shield", "clear"], ["run", "-c", "3"], ["detach", "311"],
                      ["configure"], ["configure", "--clear"]):
        program = ["--", "true"] if arguments[0] == "run" else []
        done = subprocess.run([isolator, *arguments, "--root", root, *program],
                              capture_output=True, text=True, check=False)
        assert done.returncode == (OWN if arguments[0] == "run" else 1), arguments
        assert "nothing is changed below a directory that belongs to another" in \
            " ".join(done.stderr.split())
        assert tree(root) == before, arguments
    done = subprocess.run([isolator, "audit", "-c", "3", "--root", root], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2 and not done.stderr and tree(root) == before


@pytest.mark.parametrize("line", [
    "task\t311;id\t20\t3", "attach\t311;id\t20\t3 0 0", "shield-task\t311;id\t20\t3 0-3",
    "run\t311;id\t3\tx"])
def test_tasks_that_only_begin_as_numbers(isolator: Path, lay: Lay, line: str) -> None:
    """A journal that names one is damaged: no message shows a command with that in it."""
    files = {path.replace("311", "311;id"): text for path, text in STOCK.items() if SHELL in path}
    root = lay({**STOCK, **files, "/run/isolator/run.1": f"isolator-journal 1\n{line}\n"})
    before = {path: text for path, (text, _) in tree(root).items()}
    done = subprocess.run([isolator, "restore", "--root", root], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and "1 failed and still noted" in done.stdout
    assert ";id" not in done.stdout + done.stderr
    assert {path: text for path, (text, _) in tree(root).items()} == before


def test_group_of_ones_own(isolator: Path, lay: Lay) -> None:
    """Root's group is root, and that of a user who has it alone is that user."""
    root = lay(STOCK)
    root.chmod(0o775)
    if ROOT:
        os.chown(root, 65534, 65534)
    assert "Nothing to restore" in subprocess.run(
        [isolator, "restore", "--root", root], capture_output=True, text=True, check=True,
        **NOBODY).stdout
    if ROOT:
        os.chown(root, 0, 0)
        assert restore(isolator, root)["journals"] == []
