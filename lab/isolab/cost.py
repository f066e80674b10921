# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab cost kernel: what Isolator costs, in instructions counted from outside."""

import statistics
from dataclasses import dataclass
from typing import Any

from . import record, term
from .guests import kernel, machine
from .guests.guest import Guest, Outcome
from .guests.kernel import Kernel
from .judge import attempt, jobs
from .judge.sound import boot_sound
from .paths import OUT

SPINNER = "/lab/bin/spinner --cpu 1 --tick-ms 10"
# A quiet section's looks in the program cost, stay-looks; one is a load, a test and a branch.
LOOKS, LOOK_AT_MOST = 1000, 3.05
# What costs far more than a cycle.  On arm64 only what has a CPU see text as others changed it.
HEAVY = {"x86_64": ("locked", "serialising", "fence"), "arm64": ("sync",)}


@dataclass(frozen=True)
class Case:
    """One measurement: the program cost's arguments, and what must run beside it."""

    name: str
    what: str
    cpu: int
    rounds: int
    operations: int
    isolate: bool = False
    spinner: str | None = None


@dataclass(frozen=True)
class Boot:
    name: str
    stock: bool
    append: str
    cases: tuple[Case, ...]
    icount: bool = False


@dataclass(frozen=True)
class Goal:
    """A cost set against another: at most so much more, or only reported."""

    name: str
    cost: tuple[str, str]
    base: tuple[str, str]
    at_most: float | None


_COMMON = (Case("empty", "empty", 1, 20, 200), Case("getpid", "getpid", 1, 60, 100))
# Half a percent is seen only when nothing but the path itself varies: one CPU runs, its
# time follows its instructions, and most windows are shorter than a tick.
_PATHS = (Case("getpid", "getpid", 0, 100, 20), Case("switch", "switch", 0, 150, 4))
_ONE_CPU = "maxcpus=1 noreplace-smp"
BOOTS = (
    Boot("stock-path", True, _ONE_CPU, _PATHS, icount=True),
    Boot("isolator-path", False, _ONE_CPU, _PATHS, icount=True),
    Boot("stock", True, "", (*_COMMON, Case("flip", "flip", 0, 40, 1, spinner=""))),
    Boot("tuned", True, jobs.TUNED, (*_COMMON, Case("flip", "flip", 0, 40, 1, spinner=""))),
    Boot(
        "isolator",
        False,
        "",
        (
            *_COMMON,
            Case("getpid-isolated", "getpid", 1, 60, 100, isolate=True),
            Case("tick", "tick", 1, 20, 200, isolate=True),
            Case("due", "due", 1, 40, 1, isolate=True),
            Case("flip", "flip", 0, 40, 1, spinner=""),
            Case("flip-isolated", "flip", 0, 40, 1, spinner="--isolate"),
            Case("section-none", "stay-none", 1, 20, 20),
            Case("section", "stay", 1, 20, 20),
            Case("section-looks", "stay-looks", 1, 20, 20),
            Case("section-blanks", "stay-blanks", 1, 20, 20),
            Case("work-none", "work-none", 1, 20, 20),
            Case("work-pair", "work-pair", 1, 20, 20),
            Case("work-message", "work-message", 1, 20, 20),
            Case("work-look", "work-look", 1, 20, 20),
        ),
    ),
)
GOALS = (
    Goal(
        "system call, built in and unused",
        ("isolator-path", "getpid"),
        ("stock-path", "getpid"),
        0.005,
    ),
    Goal(
        "context switch, built in and unused",
        ("isolator-path", "switch"),
        ("stock-path", "switch"),
        0.005,
    ),
    Goal(
        "getpid isolated, against nohz_full",
        ("isolator", "getpid-isolated"),
        ("tuned", "getpid"),
        0.10,
    ),
    Goal(
        "getpid isolated, against an ordinary CPU",
        ("isolator", "getpid-isolated"),
        ("stock", "getpid"),
        None,
    ),
    Goal(
        "sender of a text sync: deferred, against delivered",
        ("isolator", "flip-isolated"),
        ("isolator", "flip"),
        0.0,
    ),
)


def _job(which: Boot) -> str:
    lines = ["run settings 5000 echo -1 >/proc/sys/kernel/sched_rt_runtime_us", jobs.FACTS]
    if not which.stock and not which.icount:
        lines.append("run allow 5000 echo 1 >/proc/isolator/cpus")
        for module in ("lab_caller", "lab_traffic"):
            lines.append(f"run {module} 5000 modprobe {module} cpu=-1 bound_us=100000")
    for i, case in enumerate(which.cases):
        if case.spinner is not None:
            lines += ["cpus 0", f"start spinner exec {SPINNER} {case.spinner}", "task 15000"]
        lines += [
            "cpus 0-1" if not which.icount else "cpus 0",
            f"run {case.name} 60000 exec /lab/bin/cost {case.what} {case.cpu} {(i + 1) * 200} "
            f"{case.rounds} {case.operations}{' isolate' if case.isolate else ''}",
        ]
        if case.spinner is not None:
            lines += ["ctl quit 5000 quit", "kill spinner 5000"]
    return "\n".join(lines) + "\n"


def _median(values: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 2), "least": round(min(values), 2)}


def _costs(which: Boot, outcome: Outcome, heavy: tuple[str, ...]) -> dict[str, Any]:
    """Instructions for one operation, by case: medians over its windows."""
    found: dict[str, Any] = {}
    for i, case in enumerate(which.cases):
        event = outcome.event("run", case.name)
        if not event or event["exit"] != 0:
            text = event["out"] if event else outcome.died
            raise term.LabError(f"cost: {which.name}: {case.name} failed: {text}")
        windows = [
            outcome.windows[(i + 1) * 200 + j]
            for j in range(case.rounds)
            if (i + 1) * 200 + j in outcome.windows
        ]
        if len(windows) != case.rounds:
            raise term.LabError(f"cost: {which.name}: {case.name}: windows are missing")
        n = case.operations
        found[case.name] = {
            "kernel": _median(
                [(w["kernel_instructions"] + w["tick_kernel_instructions"]) / n for w in windows]
            ),
            "user": _median([w["user_instructions"] / n for w in windows]),
            "entries": _median([(w["kernel_entries"] + w["tick_entries"]) / n for w in windows]),
            **{kind: _median([w["heavy"][kind] / n for w in windows]) for kind in heavy},
        }
    return found


def _measure(which: Boot, built: Kernel, attempts: list[attempt.Record]) -> dict[str, Any]:
    guest = Guest(built, _job(which), append=which.append, heavy=True, silence_s=90,
                  icount=which.icount)
    begin = len(attempts)
    outcome = boot_sound(f"cost: {which.name}", guest, OUT / "cost" / which.name, attempts)
    for number, one in enumerate(attempts[begin:], 1):
        one.update(boot=which.name, attempt=number)
    return _costs(which, outcome, HEAVY[built.machine.name])


def _compare(costs: dict[str, Any], heavy: tuple[str, ...]) -> list[dict[str, Any]]:
    results = []
    for goal in GOALS:
        cost, base = (costs[b][c] for b, c in (goal.cost, goal.base))
        ratio = cost["kernel"]["least"] / base["kernel"]["least"]
        results.append(
            {
                "name": goal.name, "cost": cost["kernel"]["least"], "base": base["kernel"]["least"],
                "ratio": round(ratio, 4),
                "at_most": None if goal.at_most is None else 1 + goal.at_most,
                "met": None if goal.at_most is None else ratio <= 1 + goal.at_most,
                "heavy": {k: [cost[k]["median"], base[k]["median"]] for k in heavy},
            }
        )
    return results


def section(costs: dict[str, Any]) -> dict[str, Any]:
    """A quiet section of the kernel: what its begin and end cost, and a look whether one is due."""
    least = {case: c["kernel"]["least"] for case, c in costs["isolator"].items()}
    look = (least["section-looks"] - least["section-blanks"]) / LOOKS
    return {
        "enter_leave": round(least["section"] - least["section-none"], 2),
        "look": round(look, 3), "at_most": LOOK_AT_MOST, "met": look <= LOOK_AT_MOST,
    }


def work(costs: dict[str, Any]) -> dict[str, float]:
    """What a section can do with its pool and its messages, by what: instructions each."""
    least = {case: c["kernel"]["least"] for case, c in costs["isolator"].items()}
    return {
        what: round((least[f"work-{what}"] - least["work-none"]) / LOOKS, 2)
        for what in ("pair", "message", "look")
    }


def _text(report: dict[str, Any], heavy: tuple[str, ...]) -> str:
    lines = [
        "instructions for one operation (medians of windows), counted from outside",
        f"{'boot':15}{'operation':18}{'kernel':>10}{'user':>10}{'entries':>9}"
        + "".join(f"{kind:>13}" for kind in heavy),
    ]
    for name, cases in report["costs"].items():
        for case, c in cases.items():
            figures = [c[k]["median"] for k in ("kernel", "user", "entries", *heavy)]
            widths = (10, 10, 9, *(13 for _ in heavy))
            lines.append(
                f"{name:15}{case:18}"
                + "".join(f"{f:>{w}.2f}" for f, w in zip(figures, widths, strict=True))
            )
    lines.append("")
    for r in report["goals"]:
        verdict = "reported" if r["met"] is None else "met" if r["met"] else "NOT MET"
        goal = "" if r["at_most"] is None else f" (goal: at most {100 * (r['at_most'] - 1):+.1f} %)"
        beside = ", ".join(f"{k} {a:g} against {b:g}" for k, (a, b) in r["heavy"].items())
        lines.append(
            f"{verdict:9}{r['name']}: {r['cost']:g} against {r['base']:g}, "
            f"{100 * (r['ratio'] - 1):+.2f} %{goal}; {beside}"
        )
    quiet = report["section"]
    lines.append(
        f"{'met' if quiet['met'] else 'NOT MET':9}quiet section of the kernel: enter and leave "
        f"{quiet['enter_leave']:g}; a look whether a tick is due {quiet['look']:g} (goal: at most "
        f"{quiet['at_most']:g}: load, test, branch)"
    )
    lines.append(
        f"reported a section's pool, an object taken and given back {report['work']['pair']:g}; "
        f"a message of a slot posted and received {report['work']['message']:g}; a look at a "
        f"channel with nothing in it {report['work']['look']:g}"
    )
    lines.append("Goals compare the least of the windows: the path without a tick in it.")
    lines.append(f"Counts hide what an instruction costs: see those that are {', '.join(heavy)}.")
    return "\n".join(lines)


def main(arch: str = machine.X86_64.name, preemption: str = "rt") -> int:
    of = machine.named(arch)
    heavy = HEAVY[of.name]
    kernels = {stock: kernel.build(preemption, stock, of=of) for stock in (True, False)}
    costs: dict[str, Any] = {}
    attempts: list[attempt.Record] = []
    for which in BOOTS:
        term.say(f"cost: {which.name}: {len(which.cases)} measurements")
        costs[which.name] = _measure(which, kernels[which.stock], attempts)
    report: dict[str, Any] = {
        **record.head("bench"), "emulator": record.emulator(of.target),
        "attempts": [{key: a[key] for key in ("boot", "attempt", "void")} for a in attempts],
        "costs": costs, "goals": _compare(costs, heavy), "section": section(costs),
        "work": work(costs),
    }
    record.write(report, f"bench{of.suffix}")
    print(_text(report, heavy))
    missed = [r for r in (*report["goals"], report["section"]) if r["met"] is False]
    return term.EXCEEDED if missed else term.PASS
