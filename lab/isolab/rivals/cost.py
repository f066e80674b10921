# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab cost sample: what a sample costs isolator measure and cyclictest, counted from outside."""

import re
import statistics
from dataclasses import dataclass
from typing import Any

from .. import record, term
from ..guests import kernel, qemu
from ..guests.guest import Guest, Outcome
from ..judge import attempt, jobs
from ..judge.sound import boot_sound
from ..paths import OUT

ROUNDS = 6
# A run has a beginning and an end too: what counts is how much more the longer one takes.
SHORT, LONG = 500, 2500
MAX_BOOTS = 3
RUN_MS = 60000
# One CPU, whose time follows its instructions: no host makes a wake-up late, and all that a
# program does is counted, its main thread's part too.
APPEND = "maxcpus=1 noreplace-smp"
CYCLICTEST = (
    "cyclictest --default-system -q -m -t1 -a0 --policy=fifo -p90 -i1000 "
    "--mainaffinity=0 -l{samples}"
)
ISOLATOR = (
    "/lab/bin/isolator measure latency -c 0 --policy fifo --priority 90 --period 1ms "
    "--count {samples}"
)


@dataclass(frozen=True)
class Case:
    """One way to measure; @base is what it must not cost more than."""

    name: str
    command: str
    about: str
    base: str | None = None


CASES = (
    Case("cyclictest", f"{CYCLICTEST} -h 1000", "cyclictest with its histogram"),
    Case("cyclictest-plain", CYCLICTEST, "cyclictest without a histogram"),
    Case("isolator", ISOLATOR, "isolator measure latency", "cyclictest"),
    Case("isolator-fixed", f"{ISOLATOR} --phase fixed", "isolator measure latency --phase fixed",
         "cyclictest"),
)


@dataclass(frozen=True)
class Run:
    """One window of the observer."""

    window: int
    round: int
    case: Case
    samples: int

    @property
    def name(self) -> str:
        return f"{self.case.name}.{self.round}.{self.samples}"


def plan(rounds: int = ROUNDS) -> list[Run]:
    """All windows, each round in the order opposite to the one before."""
    runs: list[Run] = []
    for number in range(rounds):
        order = [(c, n) for c in CASES for n in (SHORT, LONG)]
        for case, samples in order if number % 2 == 0 else reversed(order):
            runs.append(Run(len(runs) + 1, number, case, samples))
    return runs


def job(runs: list[Run]) -> str:
    lines = [
        jobs.FACTS,
        "run target 5000 /lab/bin/mark target",
    ]
    for run in runs:
        command = run.case.command.format(samples=run.samples)
        # Its text is long, and the port of reports would interrupt: not within the window.
        lines.append(
            f"run {run.name} {RUN_MS} /lab/bin/mark begin {run.window}; {command} >/run/said; "
            f"status=$?; /lab/bin/mark end {run.window}; grep -v ^0 /run/said; exit $status"
        )
    return "\n".join(lines) + "\n"


def samples_of(text: str) -> int:
    """How many the program says that it took."""
    if found := re.search(r"^T: *\d+ .* C: *(\d+) ", text, re.M):
        return int(found[1])
    counted = re.search(r"^# Total: (\d+)", text, re.M)
    beyond = re.search(r"^# Histogram Overflows: (\d+)", text, re.M)
    if counted and beyond:
        return int(counted[1]) + int(beyond[1])
    if found := re.search(r"^ *0 +(\d+) +0 +\d", text, re.M):
        return int(found[1])
    raise term.LabError(f"no count of samples in what was said:\n{text[-1500:]}")


def windows(runs: list[Run], outcome: Outcome) -> list[dict[str, Any]]:
    """What each run took."""
    found = []
    for run in runs:
        event = outcome.event("run", run.name)
        seen = outcome.windows.get(run.window)
        if not event or event["exit"] != 0:
            said = event["out"] if event else outcome.died
            raise term.LabError(f"cost: {run.name} failed: {said}")
        if not seen:
            raise term.LabError(f"cost: {run.name}: its window is missing")
        found.append(
            {
                "case": run.case.name, "round": run.round,
                "samples": samples_of(event["out"] or ""), "user": seen["user_instructions"],
                "kernel": seen["kernel_instructions"], "entries": seen["kernel_entries"],
            }
        )
    return found


def costs(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Instructions a sample, by case: medians over the rounds of the longer less the shorter."""
    rows: list[dict[str, Any]] = []
    for case in CASES:
        mine = [w for w in found if w["case"] == case.name]
        slopes: dict[str, list[float]] = {"user": [], "kernel": [], "entries": [], "total": []}
        for number in sorted({w["round"] for w in mine}):
            short, long = sorted(
                (w for w in mine if w["round"] == number), key=lambda w: int(w["samples"])
            )
            more = long["samples"] - short["samples"]
            if more <= 0:
                raise term.LabError(f"cost: {case.name}: both runs took {long['samples']} samples")
            for key in ("user", "kernel", "entries"):
                slopes[key].append((long[key] - short[key]) / more)
            slopes["total"].append(slopes["user"][-1] + slopes["kernel"][-1])
        rows.append(
            {
                "name": case.name, "about": case.about, "base": case.base,
                **{key: round(statistics.median(values), 2) for key, values in slopes.items()},
                "rounds": [round(value, 2) for value in slopes["total"]],
            }
        )
    by_name = {row["name"]: row for row in rows}
    for row in rows:
        base = by_name.get(row["base"])
        row["ratio"] = round(row["total"] / base["total"], 4) if base else None
        row["met"] = row["total"] <= base["total"] if base else None
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "instructions a sample (medians of rounds), counted from outside",
        f"{'':42}{'user':>9}{'kernel':>10}{'total':>10}{'entries':>9}",
    ]
    for row in rows:
        lines.append(
            f"{row['about']:42}{row['user']:>9.1f}{row['kernel']:>10.1f}{row['total']:>10.1f}"
            f"{row['entries']:>9.3f}"
        )
    for row in rows:
        if row["met"] is not None:
            verdict = "passed" if row["met"] else "exceeded"
            lines.append(
                f"{verdict}: {row['about']} takes {row['ratio']:.3f} of {row['base']}, "
                "at most 1 allowed"
            )
    return "\n".join(lines)


def main() -> int:
    built = kernel.build("rt", stock=True)
    runs = plan()
    attempts: list[attempt.Record] = []
    guest = Guest(built, job(runs), append=APPEND, icount=True, silence_s=120, total_s=600)
    found = windows(runs, boot_sound("cost", guest, OUT / "cost" / "boot", attempts, MAX_BOOTS))
    rows = costs(found)
    report = {
        **record.head("measure-cost"),
        "emulator": f"QEMU {qemu.pick().version}, time follows instructions",
        "kernel": {"name": built.name, "release": built.version},
        "attempts": [a["void"] for a in attempts], "costs": rows, "windows": found,
    }
    record.write(report)
    print(table(rows))
    return term.EXCEEDED if any(row["met"] is False for row in rows) else term.PASS
