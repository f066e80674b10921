# SPDX-License-Identifier: GPL-2.0-or-later
"""The instrument: a 0 proves nothing until the observer was seen to count, and the task to run.

The task makes deliberate entries: one before each window and one after, which the observer has to
see as probes, and each time that it is started breakpoints in a window of their own, the control,
which it has to count as it counts all others.
"""

from typing import Any

from ..guests import machine, observer
from ..guests.guest import Outcome
from ..guests.kernel import SYSCALL_ENTRIES

# The window of the control, by start of the task; breakpoints in it, as the spinner makes them.
CONTROLS, BREAKPOINTS = (4, 5), 5
BREAKPOINT = machine.KINDS["breakpoints"]
# A task that fills its CPU was seen to execute 2 to 5 * 10^8 a second, emulated; on arm64 1.3.
MIN_USER_PER_S = 10**7
# Its worst second against what is usual in that guest.  Recorded are 0.38 at least, where a third
# CPU shared the host's two; what else the host runs takes its part, but stood still it does not.
MIN_OF_USUAL = 0.2


def user_per_s(window: observer.Window) -> int:
    """User instructions a second of the CPU's own time: in the worst one, else in the window."""
    least = window["user_instructions_per_second_min"]
    own_s = window["seconds"] - window["taken_ns"] / 1e9
    mean = int(window["user_instructions"] / max(own_s, 0.001))
    return mean if least is None else min(mean, least)


def of_window(window: observer.Window) -> dict[str, int]:
    """What a report keeps of a window beside its counts."""
    return {
        "probes": window["probes"],
        "probes_seen": window["probes_seen"],
        "user_per_s": user_per_s(window),
    }


def job(start: int) -> str:
    """What makes the control of the task's @start, from 0."""
    return f"ctl control 5000 control {CONTROLS[start]} {BREAKPOINTS}"


def control(outcome: Outcome, starts: int = 1) -> int | None:
    """The breakpoints that were counted in the controls of a guest; None: one was not made.

    Those of one that is wrong, if any is: no start vouches for another.
    """
    for number in CONTROLS[:starts]:
        window = outcome.windows.get(number)
        counted = machine.count(window["entries_by_vector"], "breakpoints") if window else None
        if counted != BREAKPOINTS:
            return counted
    return BREAKPOINTS


def disturbed(outcome: Outcome) -> list[str]:
    """What came to an isolated task in a control beside its breakpoints and their handlers."""
    bad = []
    for number in CONTROLS:
        seen = outcome.windows.get(number, {}).get("entries_by_vector", {})
        others = {v: n for v, n in seen.items() if v not in (*BREAKPOINT, *SYSCALL_ENTRIES)}
        bad += [f"window {number}, of the control: {others}"] if others else []
    return bad


def blind(found: dict[str, Any]) -> list[str]:
    """What says that the observer does not count; @found has @control beside the probes."""
    bad = []
    if not found["probes"] or found["probes"] != found["probes_seen"]:
        bad.append(
            f"the observer saw {found['probes_seen']} of {found['probes']} deliberate entries"
        )
    if found["control"] != BREAKPOINTS:
        bad.append(f"the observer counted {found['control']} of {BREAKPOINTS} breakpoints")
    return bad


def faults(found: dict[str, Any], usual: float = 0.0) -> list[str]:
    """What says that 0 entries of this window are no result; @usual: user instructions a second."""
    bad = blind(found)
    least = max(MIN_USER_PER_S, MIN_OF_USUAL * usual)
    if found["user_per_s"] < least:
        bad.append(f"the task did not run: a second with {found['user_per_s']} user instructions, "
                   f"not {least:.0f}")
    return bad
