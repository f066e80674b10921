# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine with a shield, and what is looked at and changed in it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from clitest import PATIENCE_S, schema
from runtest import (
    IRQ,
    QUIET,
    STOCK,
    Changes,
)

DEFAULT = "/proc/irq/default_smp_affinity"
WORK = "/sys/devices/virtual/workqueue/cpumask"
QUEUE = "/sys/devices/virtual/workqueue/writeback/cpumask"
PACKETS = "/sys/class/net/eth0/queues/rx-0/rps_cpus"
WATCHDOG = "/proc/sys/kernel/watchdog_cpumask"
STATISTICS = "/proc/sys/vm/stat_interval"
USER, KERNEL, BOUND = 0x400000, 0x208040, 0x4208040
BEGAN = 500  # the shield, by /proc/uptime


def task(tid: int, cpus: str, flags: int = USER, parent: int = 0, start: int = 20,
         process: int = 0) -> Changes:
    """Files of a task, maybe of another process."""
    status = f"Name:\tt{tid}\nState:\tS (sleeping)\nCpus_allowed:\tf\nCpus_allowed_list:\t{cpus}\n"
    stat = f"{tid} (t{tid}) S {parent} 0 0 0 -1 {flags} 0 0 0 0 0 1 0 0 20 0 1 0 {start} 0 0\n"
    files: Changes = {f"/proc/{tid}/status": status, f"/proc/{tid}/stat": stat}
    if process:
        # Which is below /proc, but not shown there.
        files |= {f"/proc/{process}/task/{tid}/comm": f"t{tid}\n",
                  f"/proc/{process}/task/{process}/comm": f"t{process}\n"}
    return files


# The time is in seconds there.
MACHINE: Changes = {**STOCK, "/proc/uptime": f"{BEGAN / 100:.2f} 1.00\n"}
# What each mask makes of it for CPU 3.
SHIELDED = {
    "processes": {WORK: "7\n", QUEUE: "7\n"},
    "interrupts": {p: QUIET[p] for p in (IRQ, "/proc/irq/9/smp_affinity_list", DEFAULT, PACKETS)},
    "timers": {p: QUIET[p] for p in (
        WATCHDOG, STATISTICS, "/proc/sys/kernel/timer_migration",
        "/sys/devices/system/machinecheck/machinecheck0/check_interval")},
}


def said(program: Path, root: Path, *arguments: str, code: int = 0, **how: Any) -> str:
    """Its text, and what it said beside."""
    done = subprocess.run([program, "shield", *arguments, "--root", root], capture_output=True,
                          text=True, check=False, timeout=PATIENCE_S, **how)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
    return done.stdout + done.stderr


def shield(program: Path, root: Path, *arguments: str, code: int = 0, **how: Any) -> dict[str, Any]:
    """Its document."""
    document: dict[str, Any] = json.loads(said(program, root, *arguments, "--json", code=code,
                                               **how))
    schema("shield").validate(document)
    return document


def cpus(root: Path, tid: int) -> str:
    """The task's affinity."""
    return (root / f"proc/{tid}/status").read_text().split("_list:\t")[1].split("\n")[0]


def choose(root: Path, tid: int, new: str) -> None:
    """As taskset does."""
    path = root / f"proc/{tid}/status"
    path.write_text(path.read_text().replace(f"_list:\t{cpus(root, tid)}\n", f"_list:\t{new}\n"))


def value(root: Path, path: str) -> str:
    """What a file holds."""
    return (root / path[1:]).read_text()


def put(root: Path, files: Changes) -> None:
    """More files, or other ones."""
    for path, text in files.items():
        assert isinstance(text, str)
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (root / path[1:]).write_text(text)
