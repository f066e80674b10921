# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab instants: every instant, every order; out/instants.json."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import record, term
from ..guests import kernel
from ..judge import attempt
from . import judge, patchable, plan, rounds
from .judge import Seen
from .plan import Cell, Instant, Trial

# Of make check: one instant of so many in each cell.
SAMPLE_EVERY = 97
# Faults that can be planted in the kernel and concern these races, with the kinds that they meet.
FAULTS = {
    "skip_deferred": ("text", "tlb"),
    "queue_excluded": ("excluded",),
    "drop_queued": ("async",),
    "lose_wakeup": ("async", "irq-work"),
}
# Trials that do not agree with others' are made again so often.
MORE_LOOKS = 4
FAULT_PATH = "syscall"
FAULT_EVERY = 7
# So many trials, or one in so many, may have gone wrong once as a host would let them.
MAX_LATE, LATE_ONE_IN = 3, 1000


def _way(trial: Trial, seen: Seen) -> tuple[int, ...]:
    """A trace, without what of its end only repeats a loop that waits for the sender."""
    path = tuple(int(pc, 16) for pc in seen["trace"])
    return path[: len(path) - seen["rounds"]] if seen["loops"] else path


def _decided_once(kind: str, order: str) -> bool:
    """Do all kinds of such cells agree where the CPU is in user mode?"""
    of = plan.KINDS[kind]
    return order == plan.PARKED_FIRST and of.most == 1 and of.by != plan.TIMER


def _where(trial: Trial) -> tuple[Any, ...]:
    """At which instant, whoever asks."""
    return trial.cell.path, trial.cell.side, trial.instant


@dataclass
class Run:
    """What a run has tried, and what came of it."""

    lab: rounds.Lab
    every: int
    ways: dict[Cell, list[Instant]] = field(default_factory=dict)
    executed: set[int] = field(default_factory=set)
    unwatched: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    planted: list[tuple[Trial, Trial]] = field(default_factory=list)
    seen: dict[int, judge.Verdict] = field(default_factory=dict)
    voids: dict[int, str] = field(default_factory=dict)
    doubts: dict[int, str] = field(default_factory=dict)
    late: dict[int, list[str]] = field(default_factory=dict)

    @property
    def syscall(self) -> int:
        return self.lab.image.symbols["entry_SYSCALL_64"]

    @property
    def rt(self) -> bool:
        return self.lab.kernel.has("CONFIG_PREEMPT_RT")

    def trace(self, wanted: list[Cell]) -> None:
        """Writes down each way, and what is executed on it while the state says user mode."""
        needed = plan.traces(wanted)
        seen, voids = self.lab.until_tried(needed, self.shows_nothing, _way, lambda shown: all(
            any(t.number in shown for t in needed if t.cell == c) for c in {t.cell for t in needed}
        ))
        traces: dict[Cell, list[tuple[int, ...]]] = {}
        for trial in needed:
            if trial.number in seen:
                traces.setdefault(trial.cell, []).append(seen[trial.number])
        for cell, found in traces.items():
            for path in found:
                executed = plan.as_user(path, self.lab.layout)
                self.executed |= {pc for pc in executed if pc}
                if 0 in executed:
                    self.unwatched.append(f"{cell.path}, {cell.kind}, {cell.order}")
        for cell in wanted:
            if cell.traced_as in traces:
                path = plan.usual(traces[cell.traced_as])
                self.ways[cell] = plan.instants(path, cell.side, self.lab.layout)
            else:
                why = next(voids[t.number] for t in needed if t.cell == cell.traced_as)
                self.missing.append(f"{cell.path}, {cell.side}, {cell.kind}, {cell.order}: {why}")

    def possible(self) -> int:
        return sum(map(len, self.ways.values()))

    def run(self, faults_every: int) -> None:
        """Tries all, and with each fault planted some of it again, last."""
        self.trials = plan.trials(self.ways, self.every)
        if self.lab.kernel.has("CONFIG_ISOLATOR_FAULTS"):
            self.planted = planted(self.trials, faults_every)
        wanted = [*self.trials, *(again for _, again in self.planted)]
        self.seen, self.voids = self.lab.until_tried(wanted, self.shows_nothing, self.judged)
        for _ in range(MORE_LOOKS):
            odd = self.odd()
            if not odd:
                break
            self.once_more(odd)
        self.once_more(self.covered())

    def once_more(self, trials: list[Trial]) -> None:
        if trials:
            seen, voids = self.lab.until_tried(trials, self.shows_nothing, self.judged)
            self.seen |= seen
            self.voids |= voids

    def covered(self) -> list[Trial]:
        """Trials with a fault planted that show nothing of it.

        A call that somebody else sends to that CPU meanwhile does what the fault lost.
        """
        found = [
            t for sound, t in self.planted
            if t.number in self.seen and sound.number in self.seen
            and _place(self.seen[t.number], self.seen[sound.number]) == "missed"
        ]
        self.doubts |= {t.number: f"nothing of the planted fault {t.fault}" for t in found}
        return found

    def odd(self) -> list[Trial]:
        """Trials that were counted as queued where kinds that are avoided find the kernel.

        What is avoided is counted by nobody else; a thread of that CPU that wakes up counts as
        queued, too.
        """
        once = [t for t in self.trials
                if _decided_once(t.cell.kind, t.cell.order) and t.number in self.seen]
        users: dict[tuple[Any, ...], set[bool]] = {}
        for t in once:
            if plan.KINDS[t.cell.kind].treated != "queued":
                users.setdefault(_where(t), set()).add(self.seen[t.number].user)
        found = [
            t for t in once
            if plan.KINDS[t.cell.kind].treated == "queued" and self.seen[t.number].user
            and not self.seen[t.number].bad and users.get(_where(t)) == {False}
        ]
        self.doubts |= {t.number: "queued, where others find the kernel" for t in found}
        return found

    def judged(self, trial: Trial, seen: Seen) -> judge.Verdict:
        return judge.judge(trial, seen, self.syscall, self.rt)

    def shows_nothing(self, trial: Trial, seen: Seen) -> str | None:
        """Why it is made again: it is void, or doubtful for the first time."""
        why = judge.void(trial, seen, self.rt)
        if why:
            return None if self.wrong_though_void(trial, seen) else why
        if not trial.instant or trial.number in self.doubts:
            return None
        said = judge.doubt(trial, seen, self.syscall, self.rt)
        if said:
            self.doubts[trial.number] = said
        return said

    def wrong_though_void(self, trial: Trial, seen: Seen) -> bool:
        """Is it a violation?  What the host may have done is kept, and counts the second time."""
        bad = judge.though_void(trial, seen, self.syscall)
        if bad and judge.of_the_host(trial, seen) and trial.number not in self.late:
            self.late[trial.number] = bad
            return False
        return bool(bad)

    def violations(self) -> list[dict[str, Any]]:
        found = []
        for trial in self.trials:
            if trial.number in self.seen and self.seen[trial.number].bad:
                one = self.seen[trial.number]
                found.append({**self.place(trial), "what": list(one.bad), "ending": one.ending,
                              "events": one.events, "ms": one.ms, "ticks": one.ticks})
        return found

    def place(self, trial: Trial) -> dict[str, Any]:
        cell, instant = trial.cell, trial.instant
        assert instant
        return {
            "path": cell.path, "side": cell.side, "kind": cell.kind, "order": cell.order,
            "index": instant.index, "nth": instant.nth, "pc": hex(instant.pc),
            "name": self.lab.kernel.symbol_at(instant.pc),
        }

    def cells(self) -> list[dict[str, Any]]:
        """By cell: how many there are, were tried, and found the CPU in user mode."""
        tried: Counter[Cell] = Counter()
        user: dict[Cell, list[int]] = {}
        endings: dict[Cell, Counter[str]] = {}
        for trial in self.trials:
            if trial.number not in self.seen or not trial.instant:
                continue
            seen = self.seen[trial.number]
            tried[trial.cell] += 1
            endings.setdefault(trial.cell, Counter())[seen.ending] += 1
            if seen.user:
                user.setdefault(trial.cell, []).append(trial.instant.index)
        return [
            {
                "path": c.path, "side": c.side, "kind": c.kind, "order": c.order,
                "instructions": len(found), "tried": tried[c],
                "endings": dict(sorted(endings.get(c, Counter()).items())),
                "in_user_mode": len(user.get(c, [])),
            }
            for c, found in self.ways.items()
        ]


def planted(trials: Sequence[Trial], every: int) -> list[tuple[Trial, Trial]]:
    """Trials that are made again with a fault planted, each beside the one without."""
    pairs = []
    for fault, kinds in FAULTS.items():
        wanted = [
            t for t in trials
            if t.cell.kind in kinds and t.cell.path == FAULT_PATH
            and t.cell.order == plan.PARKED_FIRST
        ]
        pairs += [(t, Trial(0, t.cell, t.instant, fault)) for t in wanted[::every]]
    return [(t, replace(again, number=len(trials) + n)) for n, (t, again) in enumerate(pairs)]


def _place(verdict: judge.Verdict, without: judge.Verdict) -> str | None:
    """What a trial with a fault is to that fault; None: it had no part in it, as it should."""
    if verdict.bad:
        return "found" if without.user else "elsewhere"
    return "missed" if without.user else None


def faults(run: Run) -> list[dict[str, Any]]:
    """Is each seen where the request finds the CPU in user mode, and only there?"""
    if not run.planted:
        return []
    found = []
    for fault, kinds in FAULTS.items():
        places: dict[str, list[dict[str, Any]]] = {
            "found": [], "missed": [], "elsewhere": [], "untried": [],
        }
        mine = [(sound, t) for sound, t in run.planted if t.fault == fault]
        for sound, trial in mine:
            verdict, without = run.seen.get(trial.number), run.seen.get(sound.number)
            name = _place(verdict, without) if verdict and without else "untried"
            if name:
                bad = list(verdict.bad) if verdict else []
                places[name].append({**run.place(trial), "what": bad})
        right = places.pop("found")
        found.append({
            "fault": fault, "kinds": list(kinds), "tried": len(mine) - len(places["untried"]),
            "possible": len(mine), "found": len(right), **places,
            "examples": right[:2] + right[-2:],
        })
    return found


def _tables(run: Run) -> dict[str, Any]:
    sites = patchable.sites(run.lab.image)
    bad, excepted = patchable.judge(sites, run.executed)
    for one in (*bad, *excepted):
        one["name"] = run.lab.kernel.symbol_at(int(one["pc"], 16))
    return {
        "executed": len(run.executed), "sites": sites.counts(), "violations": bad,
        "unwatched": sorted(set(run.unwatched)), "exceptions": excepted,
    }


def report_of(run: Run, sample: bool) -> dict[str, Any]:
    built = run.lab.kernel
    every = {i.pc for found in run.ways.values() for i in found}
    return {
        **record.head("instants"),
        **record.where(),
        "kernel": {"name": built.name, "release": built.version, "build": built.path.name},
        "sample": sample,
        "every": run.every,
        "seconds": round(term.elapsed(), 1),
        "paths": {p: plan.PATHS[p] for p in dict.fromkeys(c.path for c in run.ways)},
        "kinds": [k for k in plan.KINDS if any(c.kind == k for c in run.ways)],
        "orders": [o for o in plan.ORDERS if any(c.order == o for c in run.ways)],
        "instructions": len(every),
        "possible": run.possible(),
        "planned": len(run.trials),
        "tried": sum(t.number in run.seen for t in run.trials),
        "violations": run.violations(),
        "missing": run.missing,
        "void": [
            {**run.place(t), "why": run.voids[t.number]}
            for t in run.trials if t.number in run.voids
        ],
        "doubts": [
            {**run.place(t), "what": [run.doubts[t.number]]}
            for t in (*run.trials, *(again for _, again in run.planted)) if t.number in run.doubts
        ],
        "late": [
            {**run.place(t), "what": run.late[t.number]}
            for t in run.trials if t.number in run.late
        ],
        "cells": run.cells(),
        "patchable": _tables(run),
        "faults": faults(run),
        "attempts": run.lab.attempts,
        "problems": run.lab.problems,
    }


def _text(report: dict[str, Any]) -> Iterable[str]:
    yield (f"{'way':10} {'side':6} {'order':13} {'instructions':>12} {'kinds':>6} {'tried':>8} "
           f"{'of':>8}")
    rows: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for cell in report["cells"]:
        rows.setdefault((cell["path"], cell["side"], cell["order"]), []).append(cell)
    for (path, side, order), found in rows.items():
        most = [c["instructions"] for c in found]
        size = str(most[0]) if len(set(most)) == 1 else f"{min(most)} to {max(most)}"
        yield (f"{path:10} {side:6} {order:13} {size:>12} {len(found):6} "
               f"{sum(c['tried'] for c in found):8} {sum(most):8}")
    tables = report["patchable"]
    yield (f"executed while the state says user mode: {tables['executed']} instructions; of "
           f"{sum(tables['sites'].values())} patchable sites {len(tables['violations'])}, "
           f"and {len(tables['exceptions'])} excepted")
    for fault in report["faults"]:
        yield (f"planted {fault['fault']}: found at {fault['found']} instants, missed at "
               f"{len(fault['missed'])}, elsewhere {len(fault['elsewhere'])}")


def _disagree(report: dict[str, Any]) -> list[str]:
    """At which instants the CPU is in user mode does not depend on who asks.

    So where all were tried, each kind that is decided on once found as many of them so.
    """
    found: dict[tuple[str, str], dict[str, int]] = {}
    for cell in report["cells"]:
        whole = cell["tried"] == cell["instructions"]
        if whole and _decided_once(cell["kind"], cell["order"]):
            place = found.setdefault((cell["path"], cell["side"]), {})
            place[cell["kind"]] = cell["in_user_mode"]
    return [
        f"{path}, {side}: the kinds do not agree where the CPU is in user mode: {counts}"
        for (path, side), counts in found.items() if len(set(counts.values())) > 1
    ]


def broken(report: dict[str, Any]) -> list[str]:
    """What does not hold."""
    bad = [
        f"{v['name']} ({v['path']}, {v['side']}, {v['kind']}, {v['order']}): {'; '.join(v['what'])}"
        for v in report["violations"]
    ]
    tables = report["patchable"]
    bad += [f"{v['name']} is executed ahead of what is deferred, and may be patched: "
            f"{v['kind']} {v['key']}".strip() for v in tables["violations"]]
    bad += [f"code that may be patched is executed ahead of what is deferred: {where}"
            for where in tables["unwatched"]]
    for fault in report["faults"]:
        if not fault["found"]:
            bad.append(f"the planted fault {fault['fault']} is not found")
        bad += [f"the planted fault {fault['fault']} is {how} at {v['name']} ({v['side']}, "
                f"{v['kind']}): {'; '.join(v['what'])}"
                for how in ("missed", "elsewhere") for v in fault[how]]
    bad += [f"a guest did not do its part: {why}" for why in report["problems"]]
    return bad + _disagree(report) + attempt.broken(report["attempts"])


def late_too_often(report: dict[str, Any]) -> str | None:
    """Why nothing is concluded, if so: a fault that comes and goes would look like the host's."""
    many = len(report["late"])
    if many <= max(MAX_LATE, report["tried"] // LATE_ONE_IN):
        return None
    return f"{many} of {report['tried']} trials, too many, went well only as they were made again"


def verdict(report: dict[str, Any], name: str) -> int:
    """Says it, and returns the exit status."""
    for line in _text(report):
        print(line)
    bad = broken(report)
    for text in bad[:40]:
        print(term.colour(f"does not hold: {text}", "31"))
    untried = report["planned"] - report["tried"]
    for why, count in Counter(v["why"] for v in report["void"]).most_common():
        print(term.colour(f"{count} not tried: {why}", "33"))
    for said, of in (("made once more", "doubts"), ("the host's, once", "late")):
        for one in report[of]:
            print(term.colour(f"{said}: {one['name']} ({one['path']}, {one['side']}, "
                              f"{one['kind']}, {one['order']}): {'; '.join(one['what'])}", "33"))
    for text in report["missing"]:
        print(term.colour(f"not written down: {text}", "33"))
    print(f"{report['instructions']} instructions, {len(report['kinds'])} kinds, "
          f"{len(report['orders'])} orders: {report['tried']} of {report['possible']} tried, "
          f"{len(report['violations'])} violations")
    print(f"out/{name}.json; {report['seconds']:.0f} s")
    unmade = untried + len(report["missing"]) + sum(len(f["untried"]) for f in report["faults"])
    print(f"{report['tried'] - min(report['tried'], len(bad))} passed, {len(bad)} failed, "
          f"{unmade} skipped")
    doubts = [doubt for doubt in (
        attempt.excused_too_often(report["attempts"], attempt.MAX_EXCUSED_OF_SUITE),
        late_too_often(report)) if doubt]
    for doubt in doubts:
        print(term.colour(f"inconclusive: {doubt}", "33"))
    if bad:
        return term.EXCEEDED
    return term.INCONCLUSIVE if unmade or doubts else term.PASS


def main(flavour: str, every: int, sample: bool, paths: list[str], kinds: list[str]) -> int:
    built = kernel.build(flavour)
    run = Run(rounds.Lab(built, flavour), SAMPLE_EVERY if sample else every)
    run.trace(plan.cells(paths or plan.PATHS, kinds or plan.KINDS))
    run.run(1 if sample else FAULT_EVERY)
    report = report_of(run, sample)
    name = "instants-sample" if sample else "instants"
    record.write(report, name)
    return verdict(report, name)
