# SPDX-License-Identifier: GPL-2.0-or-later
"""When a guest does not go on, and where it is then: nothing tells after its end."""

import contextlib
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import term
from . import qemu

LOOKS = 3
PLACE = re.compile(r"\b(?:RIP|PC)=([0-9a-f]+)")
HALTED = re.compile(r"\bHLT=1")
# So many times its limit the longest that is waited for a guest which gets no CPU of this host.
PATIENCE = 5


@dataclass(frozen=True)
class Moment:
    """A time, and how long until then each thread of the emulator has waited for a CPU of this
    host."""

    at: float
    delayed: Mapping[str, float]


def _delayed(pid: int) -> dict[str, float]:
    """Seconds, by thread; none where the host does not tell."""
    found = {}
    for told in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # a thread that has ended
            found[told.parent.name] = int(told.read_text().split()[1]) / 1e9
    return found


def moment(pid: int) -> Moment:
    return Moment(time.monotonic(), _delayed(pid))


def waited(since: Moment, now: Moment) -> float:
    """The most that one thread has waited for a CPU of this host in between."""
    grown = (all_s - since.delayed.get(name, 0.0) for name, all_s in now.delayed.items())
    return max(grown, default=0.0)


def had(since: Moment, now: Moment) -> float:
    """Seconds that the emulator had for its work, which its limits are meant for."""
    passed = now.at - since.at
    return max(passed - waited(since, now), passed / PATIENCE)


def over(since: Moment, limit_s: float, pid: int) -> bool:
    """Has the emulator had so long?  The host is asked only once that much time has passed."""
    return time.monotonic() - since.at > limit_s and had(since, moment(pid)) > limit_s


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
