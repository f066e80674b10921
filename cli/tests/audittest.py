# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of isolator audit change in a machine, and what it says of one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

CPU = "/sys/devices/system/cpu"
CLOCK = "/sys/devices/system/clocksource/clocksource0"
IRQ = "/proc/irq/24/smp_affinity_list"

Lay = Callable[..., Path]
Changes = dict[str, str | bytes | None]

CMDLINE = "/proc/cmdline"
LIMITS = "Limit  Soft Limit  Hard Limit  Units\n"
LOCKED, PRIORITY = "Max locked memory  {}  unlimited  bytes\n", "Max realtime priority  {}  99  \n"


def text(isolator: Path, root: Path, *arguments: str, **how: Any) -> str:
    """What it says to people."""
    return subprocess.run([isolator, "audit", "-c", "1-3", "--root", root, *arguments],
                          capture_output=True, text=True, check=False, **how).stdout
