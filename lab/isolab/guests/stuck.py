# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a guest is that does not go on: seen before it is ended, as nothing tells afterwards."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import term
from . import qemu

LOOKS = 3
PLACE = re.compile(r"\b(?:RIP|PC)=([0-9a-f]+)")
HALTED = re.compile(r"\bHLT=1")


def places(registers: Sequence[str]) -> str:
    """By CPU, where each look at the registers of all CPUs has found it."""
    found: dict[int, list[str]] = {}
    for look in registers:
        for cpu, text in enumerate(look.split("CPU#")[1:]):
            at = PLACE.search(text)
            words = (at[1].lstrip("0") or "0") if at else "?"
            found.setdefault(cpu, []).append(words + (" halted" if HALTED.search(text) else ""))
    return "; ".join(f"CPU {cpu} at {', '.join(dict.fromkeys(each))}"
                     for cpu, each in found.items())


def threads(pid: int) -> str:
    """Of the emulator: name, state, seconds that it has computed."""
    said = []
    for task in sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda one: int(one.name)):
        name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(") ")
        words = rest.split()
        spent = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        said.append(f"{name} {words[0]} {spent:.1f} s")
    return ", ".join(said)


def tell(pid: int, monitor: Path, timeout: float = 5) -> str:
    """One line.  An emulator that does not answer says something, too."""
    try:
        ask: Any = qemu.Qmp(monitor, timeout)
        try:
            looks = [str(ask.ask("human-monitor-command", **{"command-line": "info registers -a"}))
                     for _ in range(LOOKS)]
        finally:
            ask.close()
        said = places(looks)
    except (OSError, ValueError, term.LabError) as e:
        said = f"the emulator does not say where its CPUs are: {e}"
    try:
        return f"{said}; its threads: {threads(pid)}"
    except OSError:
        return said
