# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of isolator audit change in a machine, and what it says of one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clitest import schema

SCHEMA = schema("audit")
CPU = "/sys/devices/system/cpu"
CLOCK = "/sys/devices/system/clocksource/clocksource0"
IRQ = "/proc/irq/24/smp_affinity_list"
THP = "/sys/kernel/mm/transparent_hugepage/defrag"
EVENTS = "/sys/kernel/tracing/set_event"
GOVERNOR = f"{CPU}/cpu1/cpufreq/scaling_governor"

Lay = Callable[..., Path]
Changes = dict[str, str | bytes | None]

CMDLINE = "/proc/cmdline"
LIMITS = "Limit  Soft Limit  Hard Limit  Units\n"
LOCKED, PRIORITY = "Max locked memory  {}  unlimited  bytes\n", "Max realtime priority  {}  99  \n"

# Of each kind of setting one, and one that no write mends.
WRONG: Changes = {
    GOVERNOR: "powersave\n", THP: "[always] defer madvise never\n", IRQ: "2\n",
    EVENTS: "sched:sched_switch\nirq:irq_handler_entry\n", "/proc/isolator/cpus": "1-2\n",
    "/sys/kernel/tracing/kprobe_events": "p:kprobes/a\\b do_exit x=\t$stack0\n",
}
LEFT: Changes = {"/proc/self/limits": "Max realtime priority  0  0\n"}


def text(isolator: Path, root: Path, *arguments: str, **how: Any) -> str:
    """What it says to people."""
    return subprocess.run([isolator, "audit", "-c", "1-3", "--root", root, *arguments],
                          capture_output=True, text=True, check=False, **how).stdout


def audit(isolator: Path, root: Path, *arguments: str,
          codes: tuple[int, ...] = (0, 2, 3), **how: Any) -> dict[str, Any]:
    """The document, with the exit code and what was said beside it."""
    done = subprocess.run(
        [isolator, "audit", "--json", "-c", "1-3", "--root", root, *arguments],
        capture_output=True, text=True, check=False, **how)
    assert done.returncode in codes, done.stderr
    document: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"findings": []}
    if done.stdout:
        SCHEMA.validate(document)
    return {**document, "code": done.returncode, "said": " ".join(done.stderr.split())}


def outcomes(document: dict[str, Any]) -> dict[str, Any]:
    """What became of each finding, by its path."""
    return {f["path"]: f["outcome"] for f in document["findings"]}
