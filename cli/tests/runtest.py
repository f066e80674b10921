# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that are directories, stock ones and such with Isolator, and runs on them."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from clitest import PATIENCE_S, valid

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
OWN = 125  # the exit code of run where it has failed, and not the program
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


def command(program: Path, root: Path, *arguments: str | Path) -> list[str | Path]:
    """A run on CPU 3."""
    return [program, "run", "--root", root, "-c", "3", *arguments]


class Done:
    """A run that has ended, with its document if it ran a program."""

    def __init__(self, program: Path, root: Path, *arguments: str | Path, cpu: str = "3",
                 verbose: bool = True, **how: Any) -> None:
        document = root.parent / "run.json"
        document.unlink(missing_ok=True)
        done = subprocess.run(
            [program, "run", *(["-v"] if verbose else []), "--root", root, "-c", cpu, "--json",
             "-o", document, *arguments],
            capture_output=True, text=True, check=False, timeout=PATIENCE_S, **how)
        self.code, self.out, self.said = done.returncode, done.stdout, done.stderr
        self.words = " ".join(self.said.split())  # what a line was too short for is together
        assert "Sanitizer" not in self.said and "runtime error" not in self.said
        text = document.read_text() if document.exists() else ""
        self.document = valid("run", text) if text else {}


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


def killed_at_each_change(root: Path, *words: str | Path) -> Iterator[Path]:
    """Kills the command before its first change, then its second, until it is through.

    Each time on a copy of the machine @root, which is named instead of it.
    """
    copy = root.with_name(f"{root.name}-copy")
    for change in itertools.count(1):
        shutil.copytree(root, copy, symlinks=True)
        done = subprocess.run([copy if word == root else word for word in words],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "KILLED_AT": str(change)})
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        yield copy
        shutil.rmtree(copy)
        if not done.returncode:
            return


def restore(program: Path, root: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    """What isolator restore says, with what it said beside."""
    done = subprocess.run([program, "restore", "--json", "--root", root, *arguments],
                          capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return {**valid("restore", done.stdout), "said": done.stderr}


def states(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Of each journal its name and what became of it."""
    return [(Path(j["path"]).name, j["state"]) for j in document["journals"]]


def no_journal(root: Path) -> None:
    """All may be changed, but nothing be noted."""
    for path in root.rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    (root / "run").mkdir()
    (root / "run").chmod(0o555)
    root.parent.chmod(0o777)


DEVICE = "dev/isolator"
STATS = """\
cpu 3 total deferred 5 excluded 1 queued 9 missed {missed} immediate 0 refused 0 planned {planned} \
uncounted_callbacks 0
cpu 3 own ticks {ticks}{entries} yields 2 planned {planned}
cpu 3 kind call longest_ns 1200000
"""
SENDERS = """\
cpu 3 sender callback do_sync_core kind call deferred 5 excluded 1 queued 0 missed 0 immediate 0 \
refused 0 planned 0 longest_ns 0 comm insmod
cpu 3 sender callback flush_tlb_func kind call deferred 0 excluded 0 queued 9 missed {missed} \
immediate 0 refused 0 planned {planned} longest_ns 1200000 comm worker-1
"""

MISS = """\
cpu 3 deadline_miss kind call at_ns 81230514502 waited_ns 1000300000 callback flush_tlb_func \
caller on_each_cpu_cond_mask+0x1f/0x30 sender_cpu 0 pid 77 comm worker-1
  smp_call_function_many_cond+0x31a/0x4f0
"""


def files(missed: int = 0, ticks: int = 7, planned: int = 4,
          entries: int | None = None) -> Changes:
    """What a kernel with Isolator has besides, once something was isolated."""
    counts = {"missed": missed, "ticks": ticks, "planned": planned,
              "entries": "" if entries is None else f" entries {entries}"}
    return {**STOCK, "/dev/isolator": "", "/proc/isolator/cpus": "\n",
            "/proc/isolator/status": "version 1\nallowed \nisolated \n",
            "/proc/isolator/stats": STATS.format(**counts),
            "/proc/isolator/senders": SENDERS.format(**counts),
            "/proc/isolator/deliveries": MISS * missed}


def asked(root: Path) -> list[str]:
    """What the kernel was asked for."""
    return (root / DEVICE).read_text().splitlines()


def cleared(root: Path) -> dict[str, tuple[bytes, int]]:
    """All files but those of the kernel itself, which remember."""
    return {path: value for path, value in tree(root).items()
            if path not in ("/dev/isolator", "/proc/isolator/status")}
