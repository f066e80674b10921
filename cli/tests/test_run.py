# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator run and restore, on machines that are directories."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from clitest import PATIENCE_S, schema

CPU = "/sys/devices/system/cpu"
CGROUP = "/sys/fs/cgroup"
FAIR = "/sys/kernel/debug/sched/fair_server/cpu{}/runtime"
WAKE = f"{CPU}/cpu{{}}/power/pm_qos_resume_latency_us"
GOVERNOR = f"{CPU}/cpu{{}}/cpufreq/scaling_governor"
IRQ = "/proc/irq/24/smp_affinity_list"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
NUMA = "/proc/sys/kernel/numa_balancing"
KTHREADD, BOUND, KSWAPD, SHELL = "/proc/2", "/proc/20", "/proc/40", "/proc/311"
ROOT = os.getuid() == 0
NOBODY: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []} if ROOT else {}
Lay = Callable[..., Path]
Changes = dict[str, str | bytes | None]


def _status(name: str, cpus: str) -> str:
    return f"Name:\t{name}\nState:\tS (sleeping)\nCpus_allowed:\tf\nCpus_allowed_list:\t{cpus}\n" \
        "Mems_allowed:\t1\n"


def _stat(pid: str, name: str, flags: int) -> str:
    return f"{pid[6:]} ({name}) S 0 0 0 0 -1 {flags} 0 0 0 0 0 1 0 0 20 0 1 0 20 0 0\n"


# A stock kernel as a distribution starts it: everything that a run changes is to be changed.
STOCK: Changes = {
    "/proc/isolator/status": None, "/proc/isolator/cpus": None,
    "/proc/interrupts": "            CPU0       CPU1       CPU2       CPU3\n"
    "  24:          9          0          0          5  IR-PCI-MSIX  nvme0q0\n"
    " LOC:        100        100        100        100   Local timer interrupts\n"
    " CAL:          1          2          3          4   Function call interrupts\n"
    " ERR:          0\n",
    "/proc/softirqs": "                    CPU0       CPU1       CPU2       CPU3\n"
                      "       TIMER:          1          2          3          4\n"
                      "         RCU:          1          2          3          4\n",
    "/proc/self/cgroup": "0::/user.slice/user-1000.slice/session-1.scope\n",
    f"{KTHREADD}/status": _status("kthreadd", "0-3"),
    f"{KTHREADD}/stat": _stat(KTHREADD, "kthreadd", 0x208040),
    f"{BOUND}/status": _status("ksoftirqd/3", "3"),
    f"{BOUND}/stat": _stat(BOUND, "ksoftirqd/3", 0x4208040),
    f"{KSWAPD}/status": _status("a) b (c", "3"),
    f"{KSWAPD}/stat": _stat(KSWAPD, "a) b (c", 0x208040),
    f"{SHELL}/status": _status("bash", "0-3"), f"{SHELL}/stat": _stat(SHELL, "bash", 0x400000),
    f"{CGROUP}/cgroup.controllers": "cpuset cpu io memory pids\n",
    f"{CGROUP}/cgroup.subtree_control": "cpu memory pids\n",
    f"{CGROUP}/cgroup.procs": "",
    IRQ: "0-3\n", "/proc/irq/9/smp_affinity_list": "0-3\n",
    "/proc/irq/default_smp_affinity": "f\n",
    "/sys/class/net/eth0/queues/rx-0/rps_cpus": "f\n",
    "/proc/sys/kernel/watchdog_cpumask": "0-3\n", RUNTIME: "950000\n", NUMA: "1\n",
    "/proc/sys/kernel/timer_migration": "0\n", "/proc/sys/vm/stat_interval": "1\n",
    "/proc/sys/vm/compaction_proactiveness": "20\n", "/sys/kernel/mm/ksm/run": "1\n",
    THP: "[always] madvise never\n",
    "/sys/kernel/mm/transparent_hugepage/defrag": "[always] defer defer+madvise madvise never\n",
    "/sys/devices/system/machinecheck/machinecheck0/check_interval": "300\n",
    "/sys/devices/virtual/workqueue/cpumask": "f\n",
    "/sys/module/kfence/parameters/sample_interval": "100\n",
    **{GOVERNOR.format(cpu): "powersave\n" for cpu in range(4)},
    **{f"{CPU}/cpu{cpu}/cpufreq/energy_performance_preference": "balance_power\n"
       for cpu in range(4)},
    **{FAIR.format(cpu): "50000000\n" for cpu in range(4)},
}
# What a run on CPU 3, of a real-time policy, makes of it.
QUIET = {
    IRQ: "0-2\n", "/proc/irq/9/smp_affinity_list": "0-2\n",
    "/proc/irq/default_smp_affinity": "7\n", "/sys/class/net/eth0/queues/rx-0/rps_cpus": "7\n",
    "/proc/sys/kernel/watchdog_cpumask": "0-2\n", RUNTIME: "-1\n", NUMA: "0\n",
    "/proc/sys/kernel/timer_migration": "1\n", "/proc/sys/vm/stat_interval": "3600\n",
    "/proc/sys/vm/compaction_proactiveness": "0\n", "/sys/kernel/mm/ksm/run": "0\n",
    THP: "madvise\n", "/sys/kernel/mm/transparent_hugepage/defrag": "madvise\n",
    "/sys/devices/system/machinecheck/machinecheck0/check_interval": "0\n",
    "/sys/devices/virtual/workqueue/cpumask": "7\n",
    "/sys/module/kfence/parameters/sample_interval": "0\n",
    GOVERNOR.format(3): "performance\n", FAIR.format(3): "0\n", WAKE.format(3): "n/a\n",
    f"{CPU}/cpu3/cpufreq/energy_performance_preference": "performance\n",
}
ELSEWHERE = {
    f"{CGROUP}/cgroup.subtree_control": "+cpuset\n",
    f"{KTHREADD}/status": _status("kthreadd", "0-2"), f"{KSWAPD}/status": _status("a) b (c", "0-2"),
}


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    """All files with their content and mode."""
    return {"/" + str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode)
            for path in root.rglob("*") if path.is_file()}


def _command(program: Path, root: Path, *arguments: str | Path) -> list[str | Path]:
    return [program, "run", "--root", root, "-c", "3", *arguments]


class Done:
    """A run that has ended, with its document if it ran a program."""

    def __init__(self, program: Path, root: Path, *arguments: str | Path, cpu: str = "3",
                 **how: Any) -> None:
        document = root.parent / "run.json"
        document.unlink(missing_ok=True)
        done = subprocess.run(
            [program, "run", "--root", root, "-c", cpu, "--json", document, *arguments],
            capture_output=True, text=True, check=False, timeout=PATIENCE_S, **how)
        self.code, self.out, self.said = done.returncode, done.stdout, done.stderr
        assert "Sanitizer" not in self.said and "runtime error" not in self.said
        text = document.read_text() if document.exists() else ""
        self.document: dict[str, Any] = json.loads(text) if text else {}
        if text:
            jsonschema.validate(self.document, schema("run"))


@contextlib.contextmanager
def running(program: Path, root: Path, *arguments: str, cpu: str = "3",
            seconds: int = 60) -> Iterator[subprocess.Popen[str]]:
    """A run whose program sleeps, and says when it does."""
    process = subprocess.Popen(
        [program, "run", "--root", root, "-c", cpu, *arguments, "--", "sh", "-c",
         f"echo began; exec sleep {seconds}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    assert process.stdout
    try:
        assert process.stdout.readline() == "began\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def restore(program: Path, root: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    """What isolator restore says, with what it said beside."""
    done = subprocess.run([program, "restore", "--json", "--root", root, *arguments],
                          capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, schema("restore"))
    return {**document, "said": done.stderr}


def states(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Of each journal its name and what became of it."""
    return [(Path(j["path"]).name, j["state"]) for j in document["journals"]]


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


@pytest.mark.parametrize(("script", "code", "signalled"), [
    ("exit 0", 0, None), ("exit 1", 1, None), ("exit 77", 77, None), ("exit 255", 255, None),
    ("kill -TERM $$", 143, 15), ("kill -KILL $$", 137, 9), ("kill -SEGV $$", 139, 11)])
def test_exit_status(isolator: Path, lay: Lay, script: str, code: int,
                     signalled: int | None) -> None:
    """The program's own, or 128 and its signal; its output is its own."""
    root = lay(STOCK)
    before = tree(root)
    done = Done(isolator, root, "--", "sh", "-c", f"echo out; echo err >&2; {script}")
    assert (done.code, done.document["status"], done.document["signal"]) == (code, code, signalled)
    assert done.out == "out\n" and "\nerr\n" in done.said
    assert tree(root) == before


@pytest.mark.parametrize(("program", "code", "why"), [
    ("/nowhere/at/all", 127, "No such file"), ("/etc/passwd", 126, "Permission denied")])
def test_program_that_cannot_run(isolator: Path, lay: Lay, program: str, code: int,
                                 why: str) -> None:
    """As a shell says it; all goes back."""
    root = lay(STOCK)
    before = tree(root)
    done = Done(isolator, root, "--", program)
    assert done.code == code and f"cannot run {program}: {why}" in done.said
    assert tree(root) == before and not done.document


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1"])
def test_signal(isolator: Path, lay: Lay, name: str) -> None:
    """It is passed on, and then all goes back."""
    root = lay(STOCK)
    before = tree(root)
    number = signal.Signals[f"SIG{name}"]
    with running(isolator, root) as process:
        assert tree(root) != before
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 128 + number
        assert process.stderr and f"ended by signal {number:d}" in process.stderr.read()
    assert tree(root) == before and not (root / "run/isolator").exists()


def test_signal_that_the_program_minds(isolator: Path, lay: Lay) -> None:
    """It ends when it likes; what it makes of the signal is its own."""
    root = lay(STOCK)
    before = tree(root)
    process = subprocess.Popen(
        _command(isolator, root, "--", "sh", "-c",
                 "trap 'echo caught; exit 5' TERM; echo began; while :; do sleep 0.05; done"),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout and process.stdout.readline() == "began\n"
    process.terminate()
    assert process.wait(PATIENCE_S) == 5 and process.stdout.read() == "caught\n"
    assert tree(root) == before


def test_ignored_signals_stay_ignored(isolator: Path, lay: Lay) -> None:
    """As nohup(1) wants it: not passed on either, to a program that would mind."""
    program = ("import os, signal, time\n"
               "signal.signal(signal.SIGHUP, lambda *_: print('passed on'))\n"
               "os.kill(os.getppid(), signal.SIGHUP); time.sleep(0.3); print('alive')")
    done = subprocess.run(
        ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh",
         *_command(isolator, lay(STOCK), "--", "python3", "-c", program)],
        capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, "alive\n")


def test_kill_at_any_moment(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """After SIGKILL of the command, restore puts all back, and the program is gone."""
    chance = random.Random("kill")
    left = 0
    for number in range(20):
        root = lay(STOCK, f"root{number}")
        before = tree(root)
        began = tmp_path / f"began{number}"
        process = subprocess.Popen(
            _command(isolator, root, "--policy", "fifo", "--", "sh", "-c",
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


MISSING = {
    FAIR.format(3): "debugfs is not mounted", "/sys/kernel/mm/ksm/run": "does not have it",
    NUMA: "does not have it", GOVERNOR.format(3): "does not choose the frequency",
    f"{CGROUP}/cgroup.controllers": "no cgroup of version 2",
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


def test_cgroup_of_version_1(isolator: Path, lay: Lay) -> None:
    """A cpuset that is elsewhere is none."""
    done = Done(isolator, lay({**STOCK, f"{CGROUP}/cgroup.controllers": "cpu io\n"}), "--", "true")
    assert done.code == 0 and not done.document["partition"]["isolated"]
    assert "cpuset partition: none: other tasks stay on the CPU" in done.said


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
    words = "not set to" if outcome == "refused" else "did not stick at"
    assert f"{path}: {words} performance: " in done.said


@pytest.mark.parametrize(("variable", "path", "wanted", "why"), [
    ("REFUSED", IRQ, "0-2", "Input/output error: its driver manages it; boot with "
     "isolcpus=managed_irq and these CPUs"),
    ("BUSY", IRQ, "0-2", "Device or resource busy"),
    ("BUSY", FAIR.format(3), "0", "Device or resource busy: the kernel has lost count of real-time "
     "shares; it takes any with -1 in /proc/sys/kernel/sched_rt_runtime_us")])
def test_refusal_says_what_helps(stubborn: Path, lay: Lay, variable: str, path: str, wanted: str,
                                 why: str) -> None:
    """All of it."""
    done = Done(stubborn, lay(STOCK), "--", "true", env={**os.environ, variable: path})
    assert f"    {path}: not set to {wanted}: {why}\n" in done.said


def test_partition_that_is_refused(stubborn: Path, lay: Lay) -> None:
    """What the kernel says of it is told, and the cgroup goes again."""
    root = lay(STOCK)
    before = tree(root)
    done = Done(stubborn, root, "--", "true", env={**os.environ, "OTHER": "cpuset.cpus.partition"})
    assert done.code == 0 and tree(root) == before
    assert not done.document["partition"]["isolated"] and done.document["partition"]["state"] == "7"
    assert "cpuset partition: 7" in done.said


def test_undo_that_does_not_stick(stubborn: Path, isolator: Path, lay: Lay) -> None:
    """The run says so, and fails; what is left stays noted until it can be undone."""
    root = lay(STOCK)
    before = tree(root)
    variables = {**os.environ, "KEPT": NUMA}
    done = Done(stubborn, root, "--", "true", env=variables)
    assert done.code == 1 and not done.document["restored"]
    assert f'{NUMA} was set to "1" again, but shows "0' in done.said
    assert "not all could be put back" in done.said and "isolator restore" in done.said
    assert {p for p, v in tree(root).items() if before.get(p) != v} == {NUMA, "/run/isolator/run.1"}
    assert Done(stubborn, root, "--", "sh", "-c", "exit 4", cpu="2", env=variables).code == 4
    assert states(restore(isolator, root)) == [("run.1", "restored")]
    assert tree(root) == before


def test_report_of_interrupts(isolator: Path, lay: Lay) -> None:
    """What came to the CPU meanwhile, by class; nothing of other CPUs, or of before."""
    root = lay(STOCK)
    later = str(STOCK["/proc/interrupts"])
    for old, new in ((" 5  IR", "12  IR"), ("100   Local", "130   Local"),
                     (":          9 ", ":        999 ")):
        assert old in later
        later = later.replace(old, new)
    soft = str(STOCK["/proc/softirqs"]).replace(" 4\n         RCU", "10\n         RCU")
    done = Done(isolator, root, "--", "sh", "-c",
                f'printf %s "$1" > {root}/proc/interrupts; printf %s "$2" > {root}/proc/softirqs',
                "sh", later, soft)
    assert [(i["label"], i["class"], i["count"]) for i in done.document["interrupts"]] == [
        ("24", "device", 7), ("LOC", "timer", 30)]
    assert [(i["label"], i["count"]) for i in done.document["softirqs"]] == [("TIMER", 6)]
    assert "  interrupts: 37, " in done.said
    assert "          30  timer         LOC, Local timer interrupts\n" in done.said
    assert "           7  device        24, IR-PCI-MSIX nvme0q0\n" in done.said
    assert "           6  TIMER\n" in done.said and done.document["switches"]["voluntary"] >= 0


def test_what_remains(isolator: Path, lay: Lay) -> None:
    """What no setting changes is told with what would; what was changed is not."""
    root = lay({**STOCK, "/sys/class/dmi/id/sys_vendor": "QEMU\n", "/proc/self/limits":
                "Limit  Soft Limit  Hard Limit  Units\nMax realtime priority  0  0\n"})
    done = Done(isolator, root, "--", "true")
    remains = {f["id"] for f in done.document["remains"]}
    assert {"boot.nohz-full", "boot.isolcpus", "kernel.isolator", "boot.rcu-nocbs"} == remains
    assert "boot.nohz-full: the tick interrupts the CPU" in done.said
    assert "fix: boot with nohz_full=3" in done.said


def test_malloc(isolator: Path, lay: Lay) -> None:
    """It keeps its memory, unless the user has other plans."""
    root = lay(STOCK)
    echo = ["--", "sh", "-c", 'echo "$MALLOC_TRIM_THRESHOLD_ $MALLOC_MMAP_MAX_"']
    plain = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    assert Done(isolator, root, *echo, env=plain).out == "-1 0\n"
    assert Done(isolator, root, "--keep-malloc", *echo, env=plain).out == " \n"
    assert Done(isolator, root, *echo, env={**plain, "MALLOC_MMAP_MAX_": "7"}).out == "-1 7\n"


@pytest.mark.skipif(not ROOT, reason="only root can become another user")
def test_user(isolator: Path, lay: Lay) -> None:
    """The program runs as who called sudo, or as --user says, and cannot go back."""
    root = lay(STOCK)
    show = ["--", "sh", "-c", "id -u; id -g; id -G; echo $HOME $USER; "
            "grep ^CapEff /proc/self/status"]
    nobody = "65534\n65534\n65534\n/nonexistent nobody\nCapEff:\t0000000000000000\n"
    assert Done(isolator, root, "--user", "nobody", *show, extra_groups=[0, 4]).out == nobody
    assert Done(isolator, root, "--user", "65534", *show).out == nobody
    sudo = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"}
    done = Done(isolator, root, *show, env=sudo)
    assert done.out == nobody and done.document["user"] == "nobody"
    sudo["SUDO_UID"] = "54321"
    assert Done(isolator, root, *show, env=sudo).out.startswith("54321\n65534\n65534\n")
    del sudo["SUDO_GID"]
    assert "give --user" in Done(isolator, root, *show, env=sudo).said
    assert Done(isolator, root, "--user", "root", *show, env=sudo).out.startswith("0\n")
    done = Done(isolator, root, "--user", "no-such-user", "--", "true")
    assert done.code == 1 and 'no user "no-such-user"' in done.said


def test_rest(isolator: Path, lay: Lay) -> None:
    """More CPUs for the program: they are in its partition, but not made quiet."""
    root = lay(STOCK)
    done = Done(isolator, root, "--rest", "1-2", "--", "sh", "-c",
                f"cat {root}{CGROUP}/isolator.*/cpuset.cpus; cat {root}{GOVERNOR.format(2)}")
    assert done.out == "1-3\npowersave\n" and done.document["rest"] == [1, 2]


def test_no_settings(isolator: Path, lay: Lay) -> None:
    """Nothing is changed, and the report is there."""
    root = lay(STOCK)
    before = tree(root)
    done = Done(isolator, root, "--no-settings", "--", "find", root, "-name", "run.*")
    assert done.code == 0 and done.out == "" and tree(root) == before
    assert done.document["settings"] == [] and done.document["interrupts"] == []
    assert "settings: none is changed" in done.said


def test_isolator_is_found(isolator: Path, lay: Lay) -> None:
    """A kernel that has it does more, unless it shall not."""
    assert not Done(isolator, lay(STOCK), "--", "true").document["isolator"]
    done = Done(isolator, lay({**STOCK, "/dev/isolator": ""}, "other"), "--no-isolation", "--",
                "true")
    assert done.document["isolator"] and "these settings alone are applied" in done.said


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
    assert done.code == 1 and not done.document and tree(root) == before
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
    for path in root.rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    (root / "run").mkdir()
    (root / "run").chmod(0o555)
    root.parent.chmod(0o777)
    before = tree(root)
    done = Done(isolator, root, "--", "true", **NOBODY)
    assert done.code == 1 and "  /run: Permission denied\n" in done.said
    done = Done(isolator, root, "--best-effort", "--", "cat", root / THP[1:], **NOBODY)
    assert done.code == 0 and done.out == STOCK[THP] and tree(root) == before


@pytest.mark.parametrize(("arguments", "why"), [
    ([], "wants a word more"), (["--", "true"], "--cpu is missing"),
    (["-c", "x", "--", "true"], "--cpu wants a list"), (["-c", "9", "true"], "9 not online here"),
    (["-c", "3", "--rest", "3", "true"], "--rest names the CPU of --cpu"),
    (["-c", "3", "--rest", "7", "true"], "not all of them are online"),
    (["-c", "0-3", "true"], "one CPU must stay"),
    (["-c", "3", "--rest", "0-2", "true"], "one CPU must stay"),
    (["-c", "3", "--priority", "5", "true"], "--priority is for --policy fifo or rr"),
    (["-c", "3", "--policy", "fifo", "--priority", "100", "true"], "from 1 to 99"),
    (["-c", "3", "--policy", "fifo", "--priority", "0", "true"], "from 1 on"),
    (["-c", "3", "--policy", "idle", "true"], "wants one of other|fifo|rr"),
    (["-c", "3", "--json", "/nowhere/x", "true"], "--json /nowhere/x: No such file"),
    (["-c", "3", "--user", "no-such-user", "true"], "no user"),
])
def test_wrong_arguments(isolator: Path, lay: Lay, arguments: list[str], why: str) -> None:
    """Said, with what is right, and nothing is changed."""
    root = lay(STOCK)
    before = tree(root)
    done = subprocess.run([isolator, "run", "--root", root, *arguments], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and why in done.stderr
    assert tree(root) == before
