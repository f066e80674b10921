# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator run: the settings of the machine that it changes, and what it may not change."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from clitest import NOBODY, ROOT
from runtest import (
    CGROUP,
    ELSEWHERE,
    FAIR,
    GOVERNOR,
    IRQ,
    NUMA,
    OWN,
    QUIET,
    RUNTIME,
    STOCK,
    THP,
    WAKE,
    Done,
    Lay,
    command,
    no_journal,
    restore,
    states,
    tree,
)
from waiting import comes


def confined(*words: str | Path, without: str = "sys_resource") -> list[str | Path]:
    """As root of a container: few rights, and a limit on locked memory."""
    return ["prlimit", "--memlock=65536:65536", "setpriv", f"--bounding-set=-{without}",
            f"--inh-caps=-{without}", *words]


@pytest.mark.skipif(not ROOT, reason="only root has rights to be taken away")
@pytest.mark.parametrize("words, says", [
    # It is root's program: what it may lock has no limit.
    ([], ""),
    (["--user", "65534"], "the program may lock 64 kB of memory and no more: give isolator"),
    (["--user", "65534", "--no-settings"], ""),
])
def test_limit_of_locked_memory(isolator: Path, lay: Lay, words: list[str], says: str) -> None:
    """Said where the program has it, and never a reason to run nothing."""
    done = subprocess.run(confined(*command(isolator, lay(STOCK), *words, "--", "true")),
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("may lock" in done.stderr) == bool(says) and says in done.stderr


@pytest.mark.skipif(not ROOT, reason="only root has rights to be taken away")
def test_rights_that_nothing_needs(isolator: Path) -> None:
    """Of the rights of a container's root CAP_SYS_RESOURCE is not missed, CAP_SYS_NICE is."""
    done = subprocess.run(
        confined(isolator, "run", "-c", str(max(os.sched_getaffinity(0))), "--", "true",
                 without="sys_resource,-sys_nice"), capture_output=True, text=True, check=False)
    assert done.returncode == OWN and "nothing was changed" in done.stderr
    assert "CAP_SYS_NICE: missing" in done.stderr and "CAP_SYS_RESOURCE" not in done.stderr


def test_each_setting_and_back(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """Each is written and read back, is in force while the program runs, and goes back."""
    root = lay(STOCK)
    before = tree(root)
    seen = tmp_path / "seen"
    done = Done(isolator, root, "--policy", "fifo", "--", "sh", "-c",
                f"cp -a {root} {seen}; echo $$; exit 0")
    assert done.code == 0, done.said
    assert tree(root) == before and not (root / "run/isolator").exists()
    during = tree(seen)
    group = next(path for path in (seen / CGROUP[1:]).glob("isolator.*") if path.is_dir())
    assert {p: during[p][0].decode() for p in QUIET | ELSEWHERE} == QUIET | ELSEWHERE
    changed = {p for p in before if during[p] != before[p]}
    assert changed == set(QUIET) | set(ELSEWHERE)
    assert {p.name: p.read_text() for p in group.iterdir()} == {
        "cgroup.procs": done.out, "cgroup.subtree_control": "+cpuset\n", "cpuset.cpus": "3\n",
        "cpuset.cpus.partition": "isolated\n"}
    document = done.document
    assert {s["path"]: s["now"] for s in document["settings"]} == QUIET
    assert {s["outcome"] for s in document["settings"]} == {"set"}
    assert {s["path"]: s["before"] for s in document["settings"]} == {p: before[p][0].decode()
                                                                    for p in QUIET}
    assert document["partition"]["isolated"] and document["restored"]
    assert document["threads"] == {"moved": 2, "refused": 0} and not document["missing"]
    assert "settings: 20 of 20 changed" in done.said


@pytest.mark.parametrize("verbose", [False, True])
def test_limits_that_do_not_hold(isolator: Path, lay: Lay, verbose: bool) -> None:
    """Of its cgroup and of those above: the program is in none of them any more."""
    user = f"{CGROUP}/user.slice"
    own = f"{user}/user-1000.slice/session-1.scope"
    root = lay({**STOCK, f"{CGROUP}/pids.max": "7\n", f"{user}/memory.max": "max\n",
                f"{user}/cpu.max": "max 100000\n", f"{user}/io.max": "\n"})
    done = Done(isolator, root, "--", "true", verbose=verbose)
    assert done.code == 0 and "warning" not in done.words
    for path, limit in ((f"{user}/cpu.max", "50000 100000\n"), (f"{user}/pids.max", "max\n"),
                        (f"{own}/memory.max", "1048576\n"), (f"{own}/memory.high", "0\n"),
                        (f"{own}/pids.max", "99\n"), (f"{own}/io.max", "8:0 rbps=9 wbps=max\n")):
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (root / path[1:]).write_text(limit)
    done = Done(isolator, root, "--", "true", verbose=verbose)
    scope = "/user.slice/user-1000.slice/session-1.scope"
    assert re.search(
        rf"warning: in {CGROUP}/isolator\.\d+ the program is not held by memory\.max of {scope}, "
        rf"memory\.high of {scope}, pids\.max of {scope}, io\.max of {scope}, "
        r"cpu\.max of /user\.slice; ", done.words), done.words
    assert done.words.count("warning") == 1
    done = Done(isolator, root, "--no-settings", "--", "true", verbose=verbose)
    assert done.code == 0 and "warning" not in done.words


def test_without_a_policy_throttling_stays(isolator: Path, lay: Lay) -> None:
    """It only stops tasks of a real-time policy."""
    done = Done(isolator, lay(STOCK), "--", "true")
    assert {s["path"] for s in done.document["settings"]} == set(QUIET) - {RUNTIME}


def test_what_is_quiet_is_not_written(isolator: Path, lay: Lay) -> None:
    """A machine that is set up already keeps its settings, and their times."""
    root = lay({**STOCK, **QUIET, **ELSEWHERE, f"{CGROUP}/cgroup.subtree_control": "cpu cpuset\n"})
    times = {p: (root / p[1:]).stat().st_mtime_ns for p in QUIET}
    done = Done(isolator, root, "--policy", "rr", "--", "true")
    assert done.code == 0 and done.document["settings"] == []
    assert {p: (root / p[1:]).stat().st_mtime_ns for p in QUIET} == times


MISSING = {
    FAIR.format(3): "debugfs is not mounted", "/sys/kernel/mm/ksm/run": "does not have it",
    NUMA: "does not have it", GOVERNOR.format(3): "does not choose the frequency",
    f"{CGROUP}/cgroup.controllers": "cgroup version 2 is not mounted",
    "/proc/irq/default_smp_affinity": "where their drivers say",
}


@pytest.mark.parametrize("path", MISSING)
def test_missing_file(isolator: Path, lay: Lay, path: str) -> None:
    """It is named, with what that means, and the rest is done."""
    root = lay({**STOCK, path: None})
    before = tree(root)
    done = Done(isolator, root, "--policy", "fifo", "--", "true")
    assert done.code == 0 and tree(root) == before
    assert [(m["path"], MISSING[path] in m["why"]) for m in done.document["missing"]] == [
        (path, True)]
    assert f"{path}: not there: " in done.said
    assert {s["path"] for s in done.document["settings"]} == set(QUIET) - {path}
    assert done.document["partition"]["isolated"] == (path != f"{CGROUP}/cgroup.controllers")


def test_locked_down_kernel(isolator: Path, lay: Lay) -> None:
    """What nobody can open on a locked-down kernel keeps no program from running."""
    path = FAIR.format(3)
    root = lay({**STOCK, path: None,
                "/isolator-audit": f"isolator-audit 1\nunreadable EPERM {path}\n"})
    done = Done(isolator, root, "--", "true")
    assert done.code == 0 and not done.document["denied"], done.said
    assert [m["path"] for m in done.document["missing"]] == [path]
    assert f"{path}: not changed: the kernel is locked down" in done.words


def test_cgroup_of_version_1(isolator: Path, lay: Lay) -> None:
    """A cpuset that is elsewhere is none."""
    done = Done(isolator, lay({**STOCK, f"{CGROUP}/cgroup.controllers": "cpu io\n"}), "--", "true")
    assert done.code == 0 and not done.document["partition"]["isolated"]
    assert "cpuset partition: none: other tasks stay on the CPU" in done.said


@pytest.mark.parametrize(("mounts", "systemd", "why"), [
    ("", True, "boot with systemd.unified_cgroup_hierarchy=1"),
    ("", False, "isolator shield set --processes helps"),
    ("cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n", True, "is mounted, but not there"),
    ("cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n", False, "is mounted, but not there"),
    (f"cgroup2 {CGROUP} cgroup2 rw 0 0\n", True, "has no controller cpuset here"),
])
def test_what_helps_without_a_cpuset(isolator: Path, lay: Lay, mounts: str, systemd: bool,
                                     why: str) -> None:
    """What this machine has decides: systemd's parameter is for systemd without version 2."""
    root = lay({**STOCK, f"{CGROUP}/cgroup.controllers": None, "/proc/self/mounts": mounts})
    if systemd:
        (root / "run/systemd/system").mkdir(parents=True)
    told = Done(isolator, root, "--", "true").document["missing"]
    words = next(one["why"] for one in told if one["path"].endswith("cgroup.controllers"))
    assert why in words and ("systemd" in words) == why.startswith("boot")


def test_the_limit_of_real_time_tasks(isolator: Path, lay: Lay) -> None:
    """A run that turns it off says for whom, in few words too; another one leaves it."""
    told = "real-time limit off for all CPUs and users"
    for verbose in (True, False):
        assert told in Done(isolator, lay(STOCK), "--policy", "fifo", "--", "true",
                            verbose=verbose).said
        assert told not in Done(isolator, lay(STOCK), "--", "true", verbose=verbose).said


def test_all_idle_states(isolator: Path, lay: Lay) -> None:
    """Without a limit for one CPU, that for all is held open."""
    root = lay({**STOCK, WAKE.format(3): None, "/dev/cpu_dma_latency": b"\xff\xff\xff\x7f"})
    done = Done(isolator, root, "--", "true")
    assert done.code == 0 and done.document["latency_held"]
    assert (root / "dev/cpu_dma_latency").read_bytes() == bytes(4)
    assert "/dev/cpu_dma_latency is held open" in done.said


@pytest.mark.parametrize(("variable", "outcome"), [
    ("IGNORED", "ignored"), ("OTHER", "ignored"), ("REFUSED", "refused")])
def test_setting_that_does_not_stick(stubborn: Path, lay: Lay, variable: str,
                                     outcome: str) -> None:
    """It is reported, with what it is instead, and the rest is done."""
    root = lay(STOCK)
    before = tree(root)
    path = GOVERNOR.format(3)
    done = Done(stubborn, root, "--", "true", env={**os.environ, variable: path})
    assert done.code == 0 and tree(root) == before
    assert [s["path"] for s in done.document["settings"] if s["outcome"] != "set"] == [path]
    setting = next(s for s in done.document["settings"] if s["path"] == path)
    assert setting["outcome"] == outcome
    now = {"IGNORED": "powersave", "OTHER": "7", "REFUSED": "Input/output error"}[variable]
    assert setting["now"].strip() == now
    words = "not set to"
    brief = Done(stubborn, root, "--", "true", env={**os.environ, variable: path}, verbose=False)
    assert f"{path}: {words} performance: " in done.said and done.said.count("\n") > 15
    assert f"{path}: {words} performance: " in brief.said and brief.said.count("\n") < 8


@pytest.mark.parametrize(("variable", "path", "wanted", "why"), [
    ("REFUSED", IRQ, "0-2", "Input/output error: its driver manages it; boot with "
     "isolcpus=managed_irq and these CPUs"),
    ("BUSY", IRQ, "0-2", "Device or resource busy"),
    ("BUSY", FAIR.format(3), "0", "Device or resource busy: the kernel miscounts real-time "
     "shares after a cpuset partition; with -1 in /proc/sys/kernel/sched_rt_runtime_us it accepts "
     "any")])
def test_refusal_says_what_helps(stubborn: Path, lay: Lay, variable: str, path: str, wanted: str,
                                 why: str) -> None:
    """All of it."""
    done = Done(stubborn, lay(STOCK), "--", "true", env={**os.environ, variable: path})
    assert f" {path}: not set to {wanted}: {why} " in done.words


def test_partition_that_is_refused(stubborn: Path, lay: Lay) -> None:
    """The report has the kernel's reason, in a few words too, and the cgroup is removed."""
    root = lay(STOCK)
    before = tree(root)
    other = {**os.environ, "OTHER": "cpuset.cpus.partition"}
    for verbose in (True, False):
        done = Done(stubborn, root, "--", "true", env=other, verbose=verbose)
        assert done.code == 0 and tree(root) == before
        assert not done.document["partition"]["isolated"]
        assert done.document["partition"]["state"] == "7"
        assert "cpuset partition: 7" in done.said


@pytest.mark.parametrize("verbose", [True, False])
def test_where_no_partition_is(isolator: Path, lay: Lay, verbose: bool) -> None:
    """What helps instead is named, to the end of its line."""
    done = Done(isolator, lay({**STOCK, f"{CGROUP}/cgroup.controllers": "cpu io\n"}), "--", "true",
                verbose=verbose)
    line = next(x for x in done.said.splitlines() if "cpuset partition" in x)
    assert line.endswith("isolator shield set --processes helps") and len(line) <= 100


def test_undo_that_does_not_stick(stubborn: Path, isolator: Path, lay: Lay) -> None:
    """The run says so, and fails; what is left stays noted until it can be undone."""
    root = lay(STOCK)
    before = tree(root)
    variables = {**os.environ, "KEPT": NUMA}
    done = Done(stubborn, root, "--", "true", env=variables)
    assert done.code == OWN and not done.document["restored"]
    assert f'{NUMA} was set to "1" again, but shows "0' in done.said
    assert "something was not restored" in done.said and "isolator restore" in done.said
    assert {p for p, v in tree(root).items() if before.get(p) != v} == {NUMA, "/run/isolator/run.1"}
    assert Done(stubborn, root, "--", "sh", "-c", "exit 4", cpu="2", env=variables).code == 4
    assert states(restore(isolator, root)) == [("run.1", "restored")]
    assert tree(root) == before


def test_no_settings(isolator: Path, lay: Lay) -> None:
    """Nothing is changed, and the report is there."""
    root = lay(STOCK)
    before = tree(root)
    done = Done(isolator, root, "--no-settings", "--", "find", root, "-name", "run.*")
    assert done.code == 0 and done.out == "" and tree(root) == before
    assert done.document["settings"] == [] and done.document["interrupts"] == []
    assert "settings: none is changed" in done.said


def test_rates_of_a_short_run(isolator: Path) -> None:
    """A run of a millisecond has counts; a rate is for one that is long enough."""
    words: list[str | Path] = [isolator, "run", "-c", str(max(os.sched_getaffinity(0))),
                               "--no-settings", "--"]

    def said(program: str) -> str:
        return subprocess.run([*words, *program.split()], capture_output=True, text=True,
                              check=False).stderr

    # A busy machine makes it long enough now and then.
    assert comes(lambda: "/s)" not in said("true"))
    assert re.search(r" \(\d+\.\d/s\)", said("timeout 0.5 sha256sum /dev/zero"))


def test_without_the_right(isolator: Path, lay: Lay) -> None:
    """All that may not be changed is named before anything is; --best-effort does the rest."""
    root = lay(STOCK)
    for path in QUIET:
        (root / path[1:]).chmod(0o644)
    (root / "run").mkdir()
    (root / "run").chmod(0o777)
    (root / CGROUP[1:]).chmod(0o555)
    for path in [*STOCK, WAKE.format(3)]:
        if path not in QUIET and (root / path[1:]).exists():
            (root / path[1:]).chmod(0o666)
    (root / THP[1:]).chmod(0o666)
    root.parent.chmod(0o777)
    before = tree(root)
    done = Done(isolator, root, "--policy", "fifo", "--", "true", **NOBODY)
    assert done.code == OWN and not done.document and tree(root) == before
    assert "run it as root: sudo isolator run" in done.said and "nothing was changed" in done.said
    for path in [*set(QUIET) - {THP}, CGROUP]:
        assert f"  {path}: Permission denied\n" in done.said
    assert f"  {THP}:" not in done.said
    done = Done(isolator, root, "--policy", "fifo", "--best-effort", "--", "cat",
                root / THP[1:], **NOBODY)
    assert done.code == 0 and done.out == "madvise\n" and tree(root) == before
    assert {d["what"] for d in done.document["denied"]} == {*set(QUIET) - {THP}, CGROUP}


def test_without_a_journal(isolator: Path, lay: Lay) -> None:
    """Nothing is changed, with --best-effort neither."""
    root = lay(STOCK)
    no_journal(root)
    before = tree(root)
    done = Done(isolator, root, "--", "true", **NOBODY)
    assert done.code == OWN and "  /run: Permission denied\n" in done.said
    done = Done(isolator, root, "--best-effort", "--", "cat", root / THP[1:], **NOBODY)
    assert done.code == 0 and done.out == STOCK[THP] and tree(root) == before
