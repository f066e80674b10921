# SPDX-License-Identifier: GPL-2.0-or-later
"""What the interference matrix must show; each text returned is a claim that does not hold."""

import math
from typing import Any

from .. import catalogue
from ..guests import machine
from ..judge import attempt, claims, instrument

Claim = tuple[tuple[str, str], str]
# 126 to 128 and 116 to 117 of the triggers were run in each column.
MIN_ROWS = {machine.X86_64.name: 122, machine.ARM64.name: 112}
D_SPIN_S = 0.1
# Between a deadline and its delivery lies the host's scheduling of the emulator.
SLACK_S = 0.5
MAX_WAIT_S = claims.D_S + SLACK_S
MAX_SPIN_S = D_SPIN_S + SLACK_S
# What may not wait enters, and sends the CPU once more on its way out.
ENTRIES_OF_IMMEDIATE = 2


def _background(quiet: dict[str, Any], cell: dict[str, Any], vector: str) -> float:
    """How often a vector would have come in the cell's time with nothing going on."""
    rate = quiet["entries_by_vector"].get(vector, 0) / max(quiet["window_s"], 0.001)
    return float(rate * cell["window_s"])


def interrupts(row: dict[str, Any], columns: dict[str, Any]) -> dict[str, bool]:
    """Did this row interrupt, per configuration, beyond what comes anyway?

    Where the tick runs, the timer says nothing; else it counts like all others.  What did
    not come back has shown enough.
    """
    found = {}
    for name, cell in row["cells"].items():
        quiet = columns.get(name, {}).get("quiet")
        if quiet is None:
            continue
        timers = machine.count(quiet["entries_by_vector"], "timers")
        per_s = timers / max(quiet["window_s"], 0.001)
        ticking = attempt.TIMERS if per_s > attempt.STOPPED_TICK_PER_S else ()
        more = 0.0
        for vector, n in cell["entries_by_vector"].items():
            if vector in ticking:
                continue
            usual = _background(quiet, cell, vector)
            more += max(0.0, n - usual - 3 * math.sqrt(usual))
        found[name] = more >= 1 or not cell["returned"]
    return found


def bases(row: dict[str, Any], column: str) -> dict[str, dict[str, Any]]:
    """The cells whose time an isolator column's is held against: stock's, else tuned's."""
    names = (column.replace("isolator", other) for other in ("stock", "tuned"))
    return {name: row["cells"][name] for name in names if name in row["cells"]}


def limit_s(row: dict[str, Any], column: str) -> float | None:
    """The time within which a row of an isolator column must return; None: no base came back.

    Where no other kernel was asked, half of what it is given.
    """
    others = bases(row, column)
    if not others:
        return float(row["timeout_s"]) / 2
    base = next((cell for cell in others.values() if cell["returned"]), None)
    if base is None:
        return None
    # Grace periods take stock itself 0.8 s at one time and 2 s at another.
    longest = max(base.get("seconds_all", [base["seconds"]]))
    return claims.limit_s(float(longest), row["cells"][column]["queued"] or 0)


def late(row: dict[str, Any], column: str) -> float | None:
    """The time that a row of an isolator column exceeded; None: it did not."""
    limit = limit_s(row, column)
    cell = row["cells"][column]
    exceeded = cell["returned"] and limit is not None and cell["seconds"] > limit
    return limit if exceeded else None


def of_requests(cell: dict[str, Any]) -> list[str]:
    """What an isolating kernel did to requests that must not be, whatever came of its guest."""
    bad = [f"not accounted for: {text}" for text in cell["unaccounted"]]
    held_s = cell["longest_wait_s"]
    if held_s is None or held_s > MAX_WAIT_S:
        bad.append(f"held {held_s} s, not at most {MAX_WAIT_S} s")
    return bad


def lacks(row: dict[str, Any], column: str) -> str | None:
    """Why a kernel of ours must not lack the facility, if it does: its header, or stock."""
    cells, preemption = row["cells"], column.rpartition("-")[2]
    if cells[column]["outcome"] != "missing":
        return None
    stock = cells.get(f"stock-{preemption}")
    if stock and stock["outcome"] != "missing":
        return "missing, but not on stock"
    return None if preemption in row["absent"] else "missing, without an absent: in its header"


def _isolator(row: dict[str, Any], column: str, about: dict[str, Any]) -> list[str]:
    """@about: the column, with its quiet window."""
    cell = row["cells"][column]
    bad = of_requests(cell)
    missing = cell["outcome"] == "missing"
    if why := lacks(row, column):
        bad.append(f"{why}: {cell['detail'][:200]}")
    if not cell["returned"]:
        bad.append(f"did not come back: {cell['detail'][:200]}")
    elif not cell["worked"] and not missing:
        bad.append(f"did not work: {cell['detail'][:200]}")
    # What ends isolation ends the task's time in user mode too.
    usual = float(about.get("quiet", {}).get("user_per_s", 0))
    bad += instrument.blind(cell) if row["class"] == "immediate" else instrument.faults(cell, usual)
    bad += claims.ticked(cell, claims.MAX_TICK_ALONE)
    if cell["kernel_entries"] and row["class"] != "immediate":
        bad.append(f"{cell['kernel_entries']} kernel entries: {cell['entries_by_vector']}")
    most = ENTRIES_OF_IMMEDIATE * (cell["immediate"] or 0)
    if row["class"] == "immediate" and cell["kernel_entries"] > most:
        bad.append(f"{cell['kernel_entries']} kernel entries, not at most {most}: "
                   f"{cell['entries_by_vector']}")
    if cell["misses"] != 0:
        bad.append(f"{cell['misses']} deadline misses")
    if cell["outcome"] == "refused" and row["class"] != "refuse":
        bad.append("was refused")
    bad += [
        f"unknown callback {cause['callback']} from {cause['sender']}"
        for cause in cell["causes"]
        if cause["callback"] not in ("-", *catalogue.callbacks())
    ]
    limit = late(row, column)
    if limit is not None:
        bad.append(f"took {cell['seconds']:.2f} s, at most {limit:.2f} s are allowed")
    others = bases(row, column)
    if others and limit_s(row, column) is None:
        bad.append(claims.no_limit(others))
    spun_s = cell["longest_call_s"]
    if row["user"] and (spun_s is None or spun_s > MAX_SPIN_S):
        bad.append(f"a user let a CPU spin {spun_s} s, not at most {MAX_SPIN_S} s")
    if row["class"] == "immediate" and cell["returned"] and not cell["immediate"] and not missing:
        bad.append("an immediate delivery that was not counted as one")
    return bad


def _other(cell: dict[str, Any]) -> list[str]:
    """What stock Linux is asked for: that the trigger does what it is for."""
    if cell["worked"] or not cell["returned"] or cell["outcome"] in ("refused", "missing"):
        return []
    return [f"did not work: {cell['detail'][:200]}"]


def _attempts(columns: dict[str, Any]) -> list[Claim]:
    """A kernel of ours that ends, enters or complains fails, also in a boot that is void."""
    return [
        ((name, text), f"{name}: {text}")
        for name, column in columns.items()
        if column["config"] == "isolator"
        for text in attempt.broken(column.get("attempts", []))
    ]


def excused(columns: dict[str, Any]) -> list[tuple[str, str]]:
    """Which columns conclude nothing, and why."""
    return [
        (name, why)
        for name, column in columns.items()
        if (why := attempt.excused_too_often(column.get("attempts", [])))
    ]


def _whole(report: dict[str, Any]) -> list[str]:
    bad = []
    least = MIN_ROWS[report.get("arch", machine.X86_64.name)]
    for column, about in report["columns"].items():
        ran = sum(
            column in row["cells"] and row["cells"][column]["outcome"] != "missing"
            for row in report["rows"]
        )
        if ran < least:
            bad.append(f"{column}: only {ran} rows were run, not {least}")
        if about["config"] == "stock" and not any(
            row["interrupts"].get(column) for row in report["rows"]
        ):
            bad.append(f"{column}: no row interrupts: the comparison shows nothing")
    bad += [
        f"row {n} of the catalogue has neither a trigger nor a reason"
        for n in catalogue.open_rows(report["rows"])
    ]
    return bad


def broken(report: dict[str, Any], measured: set[tuple[str, str]], whole: bool) -> list[Claim]:
    """The claims that do not hold for the cells @measured; for @whole, those of the whole too.

    Each with what it is about: a row and a configuration, or something else.
    """
    bad = _attempts(report["columns"])
    for row in report["rows"]:
        for column, cell in row["cells"].items():
            key = (row["name"], column)
            if key not in measured:
                continue
            about = report["columns"].get(column, {})
            texts = _isolator(row, column, about) if column.startswith("isolator") else _other(cell)
            bad += [(key, f"{column}: {row['name']}: {text}") for text in texts]
    if whole:
        bad += [((text, ""), text) for text in _whole(report)]
    return bad
