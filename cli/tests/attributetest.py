# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of a CPU on which a thread measures."""

from __future__ import annotations

import random
from typing import Any

from tracegen import Recording

MS, US = 1_000_000, 1000
AT = 5_000 * MS  # when an outlier begins
SPIN = ("spin", 100, 98)
IDLE = ("swapper/1", 0, 120)


def spinning() -> Recording:
    """The measuring thread has CPU 1."""
    recording = Recording()
    recording.switch(1, AT - 10 * MS, IDLE, SPIN)
    return recording


def waiting() -> Recording:
    """It sleeps until its timer, and CPU 1 is idle in state 2."""
    recording = Recording()
    recording.switch(1, AT - 10 * MS, SPIN, IDLE, state=1)
    recording.event(1, AT - 9 * MS, 0, "cpu_idle", state=2, cpu_id=1)
    return recording


def inside(recording: Recording, begin: int, end: int, pid: int, name: str, /,
           **values: Any) -> None:
    """Something with an entry and an exit."""
    for ns, which in ((begin, "entry"), (end, "exit")):
        fields = {k: v for k, v in values.items()
                  if which == "entry" or k not in ("name", "function")}
        recording.event(1, ns, pid, f"{name}_{which}", **fields)


def storm(seed: int) -> Recording:
    """Much of everything, well nested."""
    dice = random.Random(seed)
    trace = Recording(room=600)
    ns, tasks = AT - 5 * MS, [SPIN, ("hog", 30, 49), ("kworker/1:0", 77, 120), IDLE]
    now = tasks[0]
    trace.switch(1, ns, IDLE, now)
    for _ in range(400):
        ns += dice.randrange(1, 40 * US)
        what = dice.randrange(6)
        if what == 0:
            after = dice.choice([t for t in tasks if t != now])
            trace.switch(1, ns, now, after, state=dice.choice([0, 1, 256]))
            now = after
            continue
        if what == 5:
            trace.event(1, ns, now[1], "page_fault_user")
            continue
        end = ns + dice.randrange(4, 30 * US)
        kinds: list[tuple[str, dict[str, Any]]] = [
            ("irq_handler", {"irq": 24, "name": "eth0"}), ("softirq", {"vec": 3}),
            ("local_timer", {"vector": 236}), ("call_function", {"vector": 252})]
        name, values = kinds[what - 1]
        inside(trace, ns, end, now[1], name, **values)
        if end - ns > 20:
            inside(trace, ns + 5, end - 5, now[1], "irq_handler", irq=9, name="inner")
        ns = end
    return trace
