# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator shield, on machines that are directories."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from clitest import NOBODY, PATIENCE_S, ROOT
from runtest import (
    IRQ,
    Changes,
    Done,
    Lay,
    killed_at_each_change,
    restore,
    running,
    states,
    tree,
)
from shieldtest import (
    BEGAN,
    BOUND,
    DEFAULT,
    KERNEL,
    MACHINE,
    SHIELDED,
    STATISTICS,
    USER,
    WATCHDOG,
    WORK,
    choose,
    cpus,
    put,
    said,
    shield,
    task,
    value,
)
from waiting import until


def test_set_and_clear(isolator: Path, lay: Lay) -> None:
    """All that the masks are for is changed, and nothing else; then all is as it was."""
    root = lay({**MACHINE, **task(400, "0-3")})
    before = tree(root)
    document = shield(isolator, root, "set", "--all", "3")
    assert document["changed"] == {"tasks": 3, "files": 10, "refused": []}
    assert document["processes"] == document["interrupts"] == document["timers"] == [3]
    assert document["tasks"] == {"inside": 1, "bound": 1, "wrong": []} and not document["files"]
    during = tree(root)
    wanted = {p: v for part in SHIELDED.values() for p, v in part.items()}
    assert {p: during[p][0].decode() for p in wanted} == wanted
    assert {p for p in during if during[p] != before.get(p)} == {
        *wanted, "/proc/2/status", "/proc/311/status", "/proc/400/status", "/run/isolator/shield"}
    assert (cpus(root, 2), cpus(root, 311), cpus(root, 400)) == ("0-2", "0-2", "0-2")
    document = shield(isolator, root, "clear")
    assert document["cleared"] == {"restored": 13, "kept": 0, "failed": 0, "waiting": 0}
    assert document["processes"] == [] and document["changed"] is None
    assert tree(root) == before and not (root / "run/isolator").exists()
    assert "No CPU is shielded" in said(isolator, root, "clear")


@pytest.mark.skipif(not ROOT, reason="only root can be another user")
def test_who_may_not_look(isolator: Path, lay: Lay) -> None:
    """Looking changes nothing: what is refused is to read."""
    root = lay(MACHINE)
    said(isolator, root, "set", "--all", "3")
    text = said(isolator, root, "show", code=1, **NOBODY)
    assert "cannot read the journal" in text and "run it as root" in text and "changed" not in text


@pytest.mark.parametrize("name", SHIELDED)
def test_each_mask(isolator: Path, lay: Lay, name: str) -> None:
    """It changes what it is for alone."""
    root = lay(MACHINE)
    before = tree(root)
    shield(isolator, root, "set", f"--{name}", "3")
    changed = {p: v[0].decode() for p, v in tree(root).items() if v != before.get(p)}
    del changed["/run/isolator/shield"]
    tasks = {p for p in changed if p.endswith("/status")}
    assert {p: v for p, v in changed.items() if p not in tasks} == SHIELDED[name]
    assert bool(tasks) == (name == "processes")
    assert states(restore(isolator, root)) == [("shield", "restored")] and tree(root) == before


@pytest.mark.parametrize(("before", "after"), [
    ("0-3", "0-1"), ("1-2", "1"), ("2-3", "2-3"), ("3", "3"), ("2", "2"), ("0", "0"),
    ("0-1", "0-1"), ("2,9", "2,9"), ("0,2,9", "0,9")])
def test_rule(isolator: Path, lay: Lay, before: str, after: str) -> None:
    """Tasks, threads and interrupts: mixed ones leave, those that name shielded CPUs alone stay."""
    irq = "/proc/irq/24/smp_affinity_list"
    root = lay({**MACHINE, **task(400, before), **task(401, before, process=400),
                **task(402, before, KERNEL), **task(403, before, BOUND), irq: f"{before}\n"})
    shield(isolator, root, "set", "--all", "2-3")
    assert [cpus(root, tid) for tid in (400, 401, 402, 403)] == [after, after, after, before]
    assert value(root, irq) == f"{after}\n"


def test_watchdog_may_be_nowhere(isolator: Path, lay: Lay) -> None:
    """It is nothing that enters: its mask only shrinks."""
    root = lay({**MACHINE, WATCHDOG: "3\n"})
    before = tree(root)
    shield(isolator, root, "set", "--timers", "3")
    assert value(root, WATCHDOG) == "\n"
    shield(isolator, root, "clear")
    assert tree(root) == before


def test_longer_interval(isolator: Path, lay: Lay) -> None:
    """It is quiet enough already."""
    root = lay({**MACHINE, STATISTICS: "7200\n"})
    assert shield(isolator, root, "set", "--timers", "3")["files"] == []
    assert value(root, STATISTICS) == "7200\n"


def test_fixed_interrupts(isolator: Path, lay: Lay) -> None:
    """One that its driver manages is named, and not tried."""
    changes: Changes = {**MACHINE, "/proc/irq/25/smp_affinity_list": "2-3\n",
                        "/proc/irq/25/effective_affinity_list": "0,3\n"}
    root = lay(changes)
    document = shield(isolator, root, "set", "--interrupts", "3")
    assert document["files"] == [{"path": "/proc/irq/25/smp_affinity_list", "what": "nvme0q1",
                                  "value": "0,3", "fixed": True}]
    assert document["changed"]["refused"] == [] and value(root, IRQ) == "0-2\n"
    assert value(root, "/proc/irq/25/smp_affinity_list") == "2-3\n"
    assert "(nvme0q1): 0,3, fixed by its driver" in said(isolator, root, "show")


def test_masks_that_change(isolator: Path, lay: Lay) -> None:
    """What was before the shield decides, not what it has made of it."""
    root = lay({**MACHINE, **task(400, "0-3"), **task(401, "2-3"), **task(402, "1,3")})
    before = tree(root)

    def look() -> tuple[str, ...]:
        return (*(cpus(root, tid) for tid in (400, 401, 402)), value(root, IRQ), value(root, WORK),
                value(root, WATCHDOG))

    shield(isolator, root, "set", "--all", "3")
    assert look() == ("0-2", "2", "1", "0-2\n", "7\n", "0-2\n")
    shield(isolator, root, "set", "--all", "2-3")
    assert look() == ("0-1", "2-3", "1", "0-1\n", "3\n", "0-1\n")
    shield(isolator, root, "set", "--all", "1")
    assert look() == ("0,2-3", "2-3", "3", "0,2-3\n", "d\n", "0,2-3\n")
    # Only the one that is named.
    document = shield(isolator, root, "set", "--processes", "0,2")
    assert (document["processes"], document["interrupts"]) == ([0, 2], [1])
    assert look() == ("1,3", "3", "1,3", "0,2-3\n", "a\n", "0,2-3\n")
    document = shield(isolator, root, "clear", "--processes", "0", "--timers", "0-3")
    assert (document["processes"], document["interrupts"], document["timers"]) == ([2], [1], [])
    assert look() == ("0-1,3", "3", "1,3", "0,2-3\n", "b\n", "0-3\n")
    assert value(root, STATISTICS) == "1\n" and document["cleared"] is None
    # The last CPU goes with the masks.
    assert shield(isolator, root, "clear", "--all", "0-3")["cleared"]["failed"] == 0
    assert tree(root) == before and not (root / "run/isolator").exists()


def test_choices_since(isolator: Path, lay: Lay) -> None:
    """What somebody has chosen since is left alone, and what is gone needs nothing."""
    root = lay({**MACHINE, **task(400, "0-3"), **task(401, "0-3"), **task(402, "0-3"),
                **task(403, "0-3")})
    before = tree(root)
    shield(isolator, root, "set", "--all", "3")
    choose(root, 400, "3")
    shutil.rmtree(root / "proc/401")
    put(root, task(402, "0-2", start=777))  # another that has its number
    (root / IRQ[1:]).write_text("3\n")
    shutil.rmtree(root / "proc/irq/9")
    (root / WATCHDOG[1:]).write_text("0\n")
    document = shield(isolator, root, "set", "--all", "2-3")
    assert document["tasks"]["inside"] == 2 and cpus(root, 400) == "3" and value(root, IRQ) == "3\n"
    assert cpus(root, 402) == "0-1" and value(root, WATCHDOG) == "0\n"
    text = " ".join(said(isolator, root, "clear").split())
    assert f'{IRQ}: somebody has set it to "3" since, and so it stays; before it was "0-3"' in text
    assert f'{WATCHDOG}: somebody has set it to "0" since' in text
    assert "2 left as somebody has set them since" in text
    assert cpus(root, 400) == "3" and value(root, IRQ) == "3\n" and value(root, WATCHDOG) == "0\n"
    assert cpus(root, 402) == "0-2"
    left = {p for p, v in tree(root).items() if v != before.get(p)}
    assert left == {"/proc/400/status", "/proc/402/status", "/proc/402/stat", IRQ, WATCHDOG}


def test_cpus_of_kernel_work_beside_a_partition(isolator: Path, lay: Lay) -> None:
    """The kernel takes out those of isolated partitions: what it was asked for counts."""
    asked = f"{WORK}_requested"
    root = lay({**MACHINE, WORK: "d\n", asked: "f\n"})
    shield(isolator, root, "set", "--processes", "3")
    assert value(root, asked) == "7\n"
    (root / WORK[1:]).write_text("5\n")
    shield(isolator, root, "set")
    assert value(root, asked) == "7\n"
    assert shield(isolator, root, "clear")["cleared"]["kept"] == 0
    assert value(root, asked) == "f\n"
    shield(isolator, root, "set", "--processes", "3")
    (root / asked[1:]).write_text("3\n")
    text = " ".join(said(isolator, root, "clear").split())
    assert f'{WORK}: somebody has set it to "3" since' in text and value(root, asked) == "3\n"


HEIRS = {
    # of: affinity, flags, parent, start; and what it has in the end
    "child": ("0-2", USER, 400, BEGAN + 9, "0-3"),
    "at the same moment": ("0-2", USER, 400, BEGAN, "0-3"),
    "before": ("0-2", USER, 400, BEGAN - 1, "0-2"),
    "chose": ("0-1", USER, 400, BEGAN + 9, "0-1"),
    "entered": ("3", USER, 400, BEGAN + 9, "3"),
    "of one that was so before": ("0-2", USER, 410, BEGAN + 9, "0-2"),
    "of one that began before with it": ("0-2", USER, 411, BEGAN + 9, "0-2"),
    "of an heir": ("0-2", USER, 412, BEGAN + 20, "0-3"),
    "of nobody": ("0-2", USER, 0, BEGAN + 9, "0-2"),
    "of one that is gone": ("0-2", USER, 499, BEGAN + 9, "0-2"),
    "of the kernel": ("0-2", KERNEL, 2, BEGAN + 9, "0-2"),
    "bound": ("0-2", BOUND, 400, BEGAN + 9, "0-2"),
}


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", HEIRS)
def test_heirs(isolator: Path, lay: Lay, name: str, again: bool) -> None:
    """Who began since gets back what it would have had, and who was so before does not."""
    have, flags, parent, start, wanted = HEIRS[name]
    root = lay({**MACHINE, **task(400, "0-3"), **task(410, "0-2"),
                **task(411, "0-2", parent=400, start=BEGAN - 5)})
    shield(isolator, root, "set", "--processes", "3")
    assert (cpus(root, 400), cpus(root, 410), cpus(root, 411)) == ("0-2", "0-2", "0-2")
    # It began as the others did.
    put(root, {**task(412, "0-2", parent=400, start=BEGAN + 10),
               **task(420, have, flags, parent, start)})
    if again:  # such that it has a line of its own
        shield(isolator, root, "set", "--processes", "2")
        expected = {"0-3": "0-1,3", "0-2": "0-1", "0-1": "0-1", "3": "3"}
        assert cpus(root, 420) == (have if name == "bound" else expected[wanted])
        assert cpus(root, 410) == cpus(root, 411) == "0-1"
    shield(isolator, root, "clear")
    assert cpus(root, 420) == wanted
    assert (cpus(root, 400), cpus(root, 410), cpus(root, 411), cpus(root, 412)) == (
        "0-3", "0-2", "0-2", "0-3")


def test_thread_of_a_moved_process(isolator: Path, lay: Lay) -> None:
    """Which thread began it nobody knows: the first one stands for it."""
    root = lay({**MACHINE, **task(400, "0-3", parent=1)})
    shield(isolator, root, "set", "--processes", "3")
    put(root, task(405, "0-2", parent=1, start=BEGAN + 1, process=400))
    restore(isolator, root)
    assert (cpus(root, 400), cpus(root, 405)) == ("0-3", "0-3")


def test_no_clock(isolator: Path, lay: Lay) -> None:
    """Without a time nobody is taken for an heir."""
    root = lay({**MACHINE, **task(400, "0-3"), "/proc/uptime": None})
    shield(isolator, root, "set", "--processes", "3")
    put(root, task(420, "0-2", parent=400, start=BEGAN + 9))
    shield(isolator, root, "clear")
    assert (cpus(root, 400), cpus(root, 420)) == ("0-3", "0-2")


def test_show_names_what_breaks_the_rule(isolator: Path, lay: Lay) -> None:
    """Tasks and interrupts choose as they like; set moves them again."""
    root = lay({**MACHINE, **task(400, "0-3"), "/proc/77/comm": "irqbalance\n"})
    shield(isolator, root, "set", "--all", "3")
    assert shield(isolator, root, "show")["balancer"] == "irqbalance"
    choose(root, 400, "2-3")
    assert shield(isolator, root, "show", code=2)["files"] == []
    (root / IRQ[1:]).write_text("0,3\n")
    (root / WATCHDOG[1:]).write_text("0-3\n")
    (root / STATISTICS[1:]).write_text("1\n")
    during = tree(root)
    document = shield(isolator, root, "show", code=2)
    assert document["tasks"]["wrong"] == [{"tid": 400, "name": "t400", "kernel": False,
                                           "cpus": "2-3"}]
    assert {f["path"]: f["value"] for f in document["files"]} == {
        IRQ: "0,3", WATCHDOG: "0-3", STATISTICS: "1"}
    assert document["ticking"] == [3]
    text = said(isolator, root, "show", code=2)
    assert "\n  400 (t400) may run on 2-3\n" in text and f"\n  {IRQ} (nvme0q0): 0,3\n" in text
    assert "shielded from processes: 3; interrupts: 3; timers: 3\n" in text
    assert "isolator shield set moves them away" in text and "irqbalance is running" in text
    assert "boot with nohz_full=" in text and tree(root) == during
    document = shield(isolator, root, "set")
    assert document["changed"] == {"tasks": 1, "files": 3, "refused": []}
    assert cpus(root, 400) == "2" and value(root, IRQ) == "0\n"
    # That was their last choice.
    assert f'{IRQ}: somebody has set it to "0,3" since' in \
        " ".join(said(isolator, root, "clear").split())
    assert (cpus(root, 400), value(root, IRQ), value(root, WATCHDOG)) == ("2-3", "0,3\n", "0-3\n")


def test_tick(isolator: Path, lay: Lay) -> None:
    """Which CPUs keep theirs is said, and what helps there."""
    root = lay({**MACHINE, "/sys/devices/system/cpu/nohz_full": "2-3\n"})
    assert shield(isolator, root, "set", "--timers", "1,3")["ticking"] == [1]
    assert "the tick still interrupts CPU 1: boot with nohz_full=" in said(isolator, root, "show")
    assert "the tick" not in said(isolator, root, "set", "--timers", "3")
    root = lay({**MACHINE, "/sys/devices/system/cpu/nohz_full": None}, "ticking")
    assert "the tick still interrupts CPU 3: boot a kernel with CONFIG_NO_HZ_FULL=y" in \
        said(isolator, root, "set", "--timers", "3")
    root = lay({**MACHINE, "/dev/isolator": ""}, "isolator")
    assert shield(isolator, root, "set", "--timers", "3")["isolator"]
    assert "except while a task is isolated there" in said(isolator, root, "show")


@pytest.mark.parametrize(("variable", "path", "why"), [
    ("REFUSED", IRQ, "Input/output error: its driver manages it"),
    ("BUSY", WORK, "Device or resource busy"), ("IGNORED", WATCHDOG, "0-3")])
def test_refused(stubborn: Path, lay: Lay, variable: str, path: str, why: str) -> None:
    """It is named, and the rest is done; clear knows what was not changed."""
    root = lay(MACHINE)
    before = tree(root)
    variables = {**os.environ, variable: path}
    document = shield(stubborn, root, "set", "--all", "3", code=2, env=variables)
    assert [(r["path"], r["why"].startswith(why)) for r in document["changed"]["refused"]] == [
        (path, True)]
    assert document["changed"]["files"] == 9 and value(root, DEFAULT) == "7\n"
    text = said(stubborn, root, "set", code=2, env=variables)
    assert f"  {path}: not set to " in text
    shield(stubborn, root, "clear", env=variables)
    assert tree(root) == before


def test_another_value_than_asked_for(stubborn: Path, lay: Lay) -> None:
    """It is what the kernel has made of it that is put back."""
    root = lay(MACHINE)
    before = tree(root)
    document = shield(stubborn, root, "set", "--interrupts", "3", code=2,
                      env={**os.environ, "OTHER": IRQ})
    assert document["changed"]["refused"][0]["why"] == "7" and value(root, IRQ) == "7\n"
    shield(stubborn, root, "clear")
    assert tree(root) == before


def test_undo_that_does_not_stick(stubborn: Path, lay: Lay) -> None:
    """It is said, and stays noted until it can be undone."""
    root = lay(MACHINE)
    before = tree(root)
    shield(stubborn, root, "set", "--all", "3")
    text = said(stubborn, root, "clear", code=1, env={**os.environ, "KEPT": IRQ})
    assert f'{IRQ} was set to "0-3" again, but shows "0-2' in text and "1 failed" in text
    assert {p for p, v in tree(root).items() if v != before.get(p)} == {IRQ, "/run/isolator/shield"}
    assert said(stubborn, root, "clear").startswith("restored: ")
    assert tree(root) == before


@pytest.mark.parametrize("begun, then", [
    ([], ["set", "--all", "2-3"]),
    (["set", "--all", "3"], ["set", "--all", "1-2"]),
    (["set", "--all", "3"], ["clear"]),
])
def test_kill_before_each_change(isolator: Path, mortal: Path, lay: Lay, begun: list[str],
                                 then: list[str]) -> None:
    """After SIGKILL of set, of set with other masks, or of clear: restore puts all back."""
    many = {p: t for tid in range(500, 504) for p, t in task(tid, "0-3").items()}
    root = lay({**MACHINE, **many})
    before = tree(root)
    if begun:
        shield(isolator, root, *begun)
    changes = 0
    words: list[str | Path] = [mortal, "shield", *then, "--root", root]
    for changes, copy in enumerate(killed_at_each_change(root, *words), 1):
        shown = subprocess.run([isolator, "shield", "show", "--root", copy], check=False,
                               capture_output=True, text=True)
        assert shown.returncode in (0, 2), shown.stderr
        assert [s for _, s in states(restore(isolator, copy))] in ([], ["restored"])
        assert tree(copy) == before and not (copy / "run/isolator").exists(), changes
    assert changes > 20


def test_signals_wait(isolator: Path, lay: Lay) -> None:
    """A set that has begun is done to the end."""
    many = {p: t for tid in range(500, 600) for p, t in task(tid, "0-3").items()}
    root = lay({**MACHINE, **many})
    process = subprocess.Popen([isolator, "shield", "set", "--all", "3", "--root", root],
                               stdout=subprocess.PIPE, text=True)
    until((root / "run/isolator/shield").exists)  # it stays, also if the set is done by now
    process.send_signal(signal.SIGTERM)
    assert "shielded from" in process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == 0 and cpus(root, 599) == "0-2"


def test_run_on_a_shielded_cpu(isolator: Path, lay: Lay) -> None:
    """It leaves the shield as it found it, which cannot be changed meanwhile."""
    root = lay(MACHINE)
    before = tree(root)
    shield(isolator, root, "set", "--all", "3")
    during = tree(root)
    assert Done(isolator, root, "--", "true").code == 0 and tree(root) == during
    with running(isolator, root) as process:
        for arguments in (["set", "--all", "2"], ["clear"], ["clear", "--timers", "3"]):
            assert "a run has changed settings" in said(isolator, root, *arguments, code=1)
        assert shield(isolator, root, "show")["processes"] == [3]
        # What the run relies on, it puts back first.
        assert states(restore(isolator, root)) == [("run.1", "alive"), ("shield", "waiting")]
        assert (cpus(root, 2), cpus(root, 311)) == ("0-2", "0-3")
        process.terminate()
        process.wait(PATIENCE_S)
    assert states(restore(isolator, root)) == [("shield", "restored")]
    assert tree(root) == before


def test_beside_audit_fix(isolator: Path, lay: Lay) -> None:
    """One before the shield is undone after it; one under it is refused."""
    root = lay(MACHINE)
    before = tree(root)
    fix: list[str | Path] = [isolator, "audit", "--fix", "--root", root, "-c", "2"]
    subprocess.run(fix, check=False, stdout=subprocess.DEVNULL)
    fixed = tree(root)
    assert fixed != before
    shield(isolator, root, "set", "--all", "3")
    during = tree(root)
    done = subprocess.run([*fix[:-1], "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "isolator shield clear" in " ".join(done.stderr.split())
    assert tree(root) == during
    shield(isolator, root, "clear")
    assert tree(root) == fixed
    shield(isolator, root, "set", "--all", "3")
    assert states(restore(isolator, root)) == [("shield", "restored"), ("journal", "restored")]
    assert tree(root) == before


def test_restore_says_whose(isolator: Path, lay: Lay) -> None:
    """In its text and in JSON."""
    root = lay(MACHINE)
    shield(isolator, root, "set", "--processes", "2", "--timers", "3")
    done = subprocess.run([isolator, "restore", "--root", root], capture_output=True, text=True,
                          check=True)
    assert "/run/isolator/shield (isolator shield, CPU 2-3): " in done.stdout
    shield(isolator, root, "set", "--processes", "2", "--timers", "3")
    journal = restore(isolator, root)["journals"][0]
    assert (journal["pid"], journal["cpus"], journal["program"]) == (None, "2-3",
                                                                     "isolator shield")
