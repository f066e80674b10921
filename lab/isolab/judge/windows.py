# SPDX-License-Identifier: GPL-2.0-or-later
"""Windows around programs that know nothing of them: what a test in the guest expects there.

The test prints one line for each, `# window {...}`:

    window          its number
    name, ticked_by, seconds, and what else is for people to read
    least, most     interruptions that the observer must have counted; null: any number
    by              the vector that planned ones come by: none may come by another, nor by this one
                    unless Isolator sent it; null or not said: any
    least_others    calls of other CPUs that Isolator did not send, if that is said: a control
    most_faults     page faults, if that is said
    least_user      user instructions in the worst second: the program did run

An interruption is an entry from user mode by another vector than those of system calls and page
faults: these two are the program's own, and shown beside.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from ..guests import machine, observer
from . import counted

Claim = dict[str, Any]
_LINE = re.compile(r"^# window (\{.*\})$", re.MULTILINE)
# What a program asks for itself.
OWN = ("syscalls", "page_faults")
# The columns: what a claim or a window calls it, and its title.
COLUMNS = {
    "name": "program", "ticked_by": "ticked by", "seconds": "s", "interruptions": "interrupted",
    "planned": "planned", "most_planned": "at most", "missed": "missed", "immediate": "immediate",
    "ticks": "ticks", "system_calls": "system calls", "page_faults": "faults",
    "irqs": "in /proc/interrupts", "requests": "requests", "user": "Minsn/s, least",
    "vectors": "by",
}


def claims(out: str) -> list[Claim]:
    return [json.loads(text) for text in _LINE.findall(out)]


def interruptions(window: observer.Window) -> dict[str, int]:
    """By vector, without what the program asks for itself."""
    own = [vector for kind in OWN for vector in machine.KINDS[kind]]
    return {v: n for v, n in window["entries_by_vector"].items() if v not in own}


def _row(claim: Claim, window: observer.Window) -> dict[str, Any]:
    vectors = interruptions(window)
    by_vector = window["entries_by_vector"]
    least = window["user_instructions_per_second_min"]
    return {
        **claim, "seconds": round(window["seconds"], 1), "interruptions": sum(vectors.values()),
        "vectors": " ".join(f"{v.removeprefix('sysvec_')} {n}" for v, n in vectors.items()),
        "system_calls": machine.count(by_vector, "syscalls"),
        "page_faults": machine.count(by_vector, "page_faults"),
        "user": None if least is None else round(least / 1e6, 1),
    }


def judge(
    expected: int, out: str, seen: dict[int, observer.Window], end: observer.Window | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of the table, and what of it must not be."""
    rows, bad = [], []
    said = claims(out)
    if len(said) != expected:
        bad.append(f"the test spoke of {len(said)} windows, not {expected}")
    if end and end["asked_in_vain"]:
        bad.append(f"the observer did not take {end['asked_in_vain']} marks of another CPU")
    for claim in said:
        name = claim["name"]
        window = seen.get(claim["window"])
        if not window:
            bad.append(f"{name}: the observer saw no window {claim['window']}")
            continue
        if not window["probes"] or window["probes"] != window["probes_seen"]:
            bad.append(
                f"{name}: the observer missed probes: {window['probes_seen']} of {window['probes']}"
            )
        bad += [f"{name}: {why}" for why in counted.misplaced(window)]
        row = _row(claim, window)
        rows.append(row)
        count, least, most = row["interruptions"], claim["least"], claim["most"]
        if least is not None and count < least:
            bad.append(f"{name}: {count} interruptions, not at least {least}: {row['vectors']}")
        if most is not None and count > most:
            bad.append(f"{name}: {count} interruptions, not at most {most}: {row['vectors']}")
        by = claim.get("by")
        other = {v: n for v, n in interruptions(window).items() if v != by}
        if by is not None and other:
            bad.append(f"{name}: interrupted by other than {by}: {other}")
        # As many as were planned is not enough: one that finds a system call interrupts nothing.
        others = window["kicks_of_others"]
        if by is not None and others != 0:
            bad.append(f"{name}: {others} calls of other CPUs that Isolator did not send, not 0")
        wanted = claim.get("least_others", 0)
        if (others or 0) < wanted:
            bad.append(f"{name}: {others} calls of other senders, not at least {wanted}")
        faults = claim.get("most_faults")
        if faults is not None and row["page_faults"] > faults:
            bad.append(f"{name}: {row['page_faults']} page faults, not at most {faults}")
        if (window["user_instructions_per_second_min"] or 0) < claim["least_user"]:
            bad.append(f"{name}: a second with {window['user_instructions_per_second_min']} "
                       f"user instructions, not {claim['least_user']}")
    return rows, bad


def table(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Lines for people, columns aligned."""
    cells = [list(COLUMNS.values())]
    for row in rows:
        values = (row.get(key) for key in COLUMNS)
        cells.append(["-" if value is None else str(value) for value in values])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
            for line in cells]
