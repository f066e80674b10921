# SPDX-License-Identifier: GPL-2.0-or-later
"""What a page is told: the whole at first, then only what changed since it was told last.

Nothing waits for a slow page: what it is told next is computed when it can take it.
"""

import copy
import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isolator_report.buckets import bucket
from isolator_report.histogram import HIGHEST

from .account import Account, Chain
from .chain import PLAIN, RT, Usual, chain, culprit, unusual, usual
from .document import titles
from .instrument import Instrument
from .past import Found
from .runs import Line, Run
from .statistics import COARSE_BITS, SUB_BITS, Statistics
from .trail import BASE, LEVELS, RING, Cursor, Row, Trail, heard

PERCENTS = (50.0, 90.0, 99.0, 99.9, 99.99)
SEEN = 50  # gaps and events that a page is shown
WORST = 50  # triggers
RENEW = 500  # triggers until it is computed again what is usual


def beyond(values: Statistics, limit: int) -> int:
    """How many values are larger; of the limit's own bucket none unless the maximum is."""
    if values.most <= limit:
        return 0
    place = bucket(min(limit, HIGHEST), SUB_BITS)
    above = sum(values.counts[place + 1:bucket(min(values.most, HIGHEST), SUB_BITS) + 1])
    inside = sum(1 for ns, *_ in values.top
                 if ns > limit and ns <= HIGHEST and bucket(ns, SUB_BITS) == place)
    return above + inside + values.overflow


def row_of(name: str, line: Line, limit: int | None) -> dict[str, Any]:
    """Of one line."""
    values = line.values
    return {
        "name": name, "triggers": line.triggers, "answered": line.answered,
        "late": line.late, "missing": line.missing, "strays": line.strays,
        "unsure": line.unsure, "count": values.count,
        "min": values.least if values.count else None,
        "max": values.most if values.count else None, "mean": values.mean,
        "percentiles": values.said(PERCENTS, line.missing),
        "beyond": None if limit is None else beyond(values, limit) + line.missing}


def statistics(run: Run, limit: int | None = None) -> list[dict[str, Any]]:
    """Of each line in a run."""
    return [row_of(name, line, limit)
            for name, line in zip(titles(run.lines), run.lines, strict=True)]


def runs(account: Account, held: Run | None = None) -> list[dict[str, Any]]:
    """Those whose distributions are kept; one of them as it was when it was held."""
    return [{"number": run.number, "title": run.title, "why": run.why, "at": run.at or run.began,
             "began": run.began, "ended": run.ended, "triggers": run.triggers,
             "millihertz": run.state.millihertz if run.state is not None else None}
            for run in (held if held is not None and held.number == one.number else one
                        for one in account.runs)]


def resident() -> int:
    """Memory that this process has, in MiB: it stays as it is, however long the recording."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") >> 20


def _link(instrument: Instrument) -> dict[str, Any]:
    link, recording = instrument.link, instrument.recording
    return {
        "live": link is not None,
        "connected": link is not None and link.connected.is_set(),
        "taken": link is not None and link.taken,
        "left": link is not None and link.left,
        "target": str(link.target) if link is not None else "",
        "why": (link.refused or link.why) if link is not None else "",
        "recording": instrument.path.name,
        "synced": recording.synced if recording is not None else None,
        "written": recording.written if recording is not None else instrument.replayed,
        "memory_mib": resident(),
        "reading": instrument.reading(), "replay": instrument.player()}


def status(instrument: Instrument) -> dict[str, Any]:
    """Of link, generator and recording."""
    account = instrument.account
    state, floor, welcome = account.state, account.floor, account.welcome
    return {
        **_link(instrument),
        "triggers": account.triggers, "packets": account.packets,
        "lost_triggers": account.lost_triggers, "lost_packets": account.lost_packets,
        "began": account.began, "ended": account.ended, "doubts": account.doubts(),
        "offered": list(welcome.names) if welcome is not None else [],
        "state": None if state is None else {
            "millihertz": state.millihertz, "duty_ppm": state.duty_ppm,
            "packet": state.packet_records, "phase": state.phase_mode, "seed": str(state.seed),
            "mask": str(state.mask), "patience_ns": state.patience_ns, "burst": state.burst,
            "gap_ns": state.gap_ns, "running": bool(state.running), "triggers": state.triggers},
        "floor": None if floor is None or not floor.rounds else {
            "rounds": floor.rounds, "resolution_ns": floor.resolution_ns,
            "p50": floor.loopback_p50_ns, "p99": floor.loopback_p99_ns,
            "max": floor.loopback_max_ns, "jitter_max": floor.jitter_max_ns},
        "runs": runs(account),
        "others": [] if instrument.other is None else [
            {"number": run.number, "title": f"{instrument.other.path.name}: {run.title}"}
            for run in instrument.other.account.runs],
        "marks": [list(one) for one in instrument.marks],
        "gaps": [[gap.since, gap.until, gap.what, gap.count]
                 for gap in list(account.gaps)[-SEEN:]],
        "events": [[one.at, one.event, one.words] for one in list(instrument.events)[-SEEN:]],
    }


class Chains:
    """Hops of triggers, and what is usual of them."""

    def __init__(self) -> None:
        self._of: tuple[Run | None, bool] = (None, False)
        self._at = 0
        self._usual: dict[str, Usual] = {}

    def usual(self, account: Account, run: Run, rt: bool) -> dict[str, Usual]:
        """Of the triggers of that run that are remembered; computed again now and then."""
        if self._of != (run, rt) or account.triggers - self._at >= RENEW:
            self._of, self._at = (run, rt), account.triggers
            names = titles(run.lines)
            self._usual = usual(chain(one.answers, names, RT if rt else PLAIN)
                                for one in account.recent if one.run is run)
        return self._usual

    def hops(self, account: Account, one: Chain | Found | None, rt: bool) -> dict[str, Any] | None:
        """The chain of one trigger; None: it is not known."""
        if one is None:
            return None
        run = one.run if isinstance(one, Chain) else account.run_at(one.wall)
        names, table = titles(run.lines), RT if rt else PLAIN
        found = chain(one.answers, names, table)
        known = self.usual(account, run, rt)
        worst = culprit(found, table, known)
        there = {line for line, _, _ in one.answers}
        return {
            "trigger": one.trigger, "wall": one.wall, "jitter": one.jitter, "run": run.title,
            "hops": [{**vars(hop), "usual": known[hop.name].median if hop.name in known else None,
                      "unusual": unusual(hop, known)} for hop in found],
            "known": bool(known), "culprit": None if worst is None else worst.name,
            "missing": [name for line, name in enumerate(names)
                        if one.mask >> line & 1 and line not in there]}


def find(account: Account, number: int | None, wall: int | None, around: int) -> Chain | None:
    """The last one, or by number among the recent ones and those of a maximum.

    Another session has the same numbers at other times.
    """
    if number is None:
        return account.recent[-1] if account.recent and wall is None else None
    known = [*account.recent, *(one for one in account.worst if one is not None)]
    return next((one for one in known if one.trigger == number
                 and (wall is None or wall <= one.wall <= wall + around)), None)


def worst(run: Run, limit: int = WORST) -> list[dict[str, Any]]:
    """The triggers with the longest answers, each once, by its longest."""
    names = titles(run.lines)
    rows = sorted(((ns, line, trigger, since) for line, one in enumerate(run.lines)
                   for ns, trigger, _, since in one.values.top), reverse=True)
    found: dict[int, dict[str, Any]] = {}
    for ns, line, trigger, since in rows:
        if trigger not in found:
            if len(found) == limit:
                continue
            found[trigger] = {"trigger": trigger, "ns": ns, "line": line, "name": names[line],
                              "wall": (run.began or 0) + since, "others": 0}
        else:
            found[trigger]["others"] += 1
    return list(found.values())


def shape(run: Run, name: str) -> dict[str, Any]:
    """A run to compare with: figures and distributions, once."""
    return {"title": name, "lines": statistics(run), "coarse": [
        [[index, count] for index, count in enumerate(line.values.coarse) if count]
        for line in run.lines]}


def told_rows(rows: Sequence[tuple[int, Row]]) -> list[Any]:
    """Columns for a page: of each its number, and the lines that have something in it."""
    return [[index, [[line, *column] for line, column in enumerate(row)
                     if column is not None and heard(column)]]
            for index, row in rows]


class View:
    """What one page knows."""

    def __init__(self, instrument: Instrument) -> None:
        self.instrument = instrument
        self.cursors = {"live": Cursor(0), "long": Cursor(LEVELS - 1)}
        self.chains = Chains()
        self.chosen: int | None = None  # the run that is looked at; None: the last
        self.limit: int | None = None  # ns
        self.due = False  # the figures are other ones than it was told
        self._held: Run | None = None  # the run as it was when time was halted
        self._trail: Trail | None = None
        self._lines = 0
        self._run = 0  # its number
        self._coarse: list[array[int]] = []

    @property
    def run(self) -> Run:
        """That it looks at."""
        if self._held is not None:
            return self._held
        account = self.instrument.account
        return next((run for run in account.runs if run.number == self.chosen), account.run)

    def look(self, held: bool | None = None, **chosen: int | None) -> None:
        """What a person chose: to halt time or go on, `run`, `limit`."""
        held = self._held is not None if held is None else held
        if "run" in chosen:
            self.chosen, self._held = chosen["run"], None
        if "limit" in chosen:
            self.limit = chosen["limit"]
        if not held:
            self._held = None
        elif self._held is None:
            self._held = copy.deepcopy(self.run)
        self.due = True

    def worst(self, line: int) -> tuple[int, int] | None:
        """Number and time of the trigger with the longest answer of a line in that run."""
        run = self.run
        top = run.lines[line].values.largest() if 0 <= line < len(run.lines) else []
        return (top[0][1], (run.began or 0) + top[0][3]) if top else None

    def whole(self) -> dict[str, Any]:
        """What does not change."""
        return {"type": "whole", "base": BASE, "levels": LEVELS, "ring": RING,
                "bits": COARSE_BITS, "percents": PERCENTS,
                "names": titles(self.instrument.account.lines)}

    def zoom(self, which: str, level: int) -> None:
        """All columns of another level come next."""
        if which in self.cursors and 0 <= level < LEVELS:
            self.cursors[which].level = level
            self.cursors[which].low = 0

    def leave(self) -> None:
        """The page is gone."""
        if self._trail is not None:
            for cursor in self.cursors.values():
                if cursor in self._trail.cursors:
                    self._trail.cursors.remove(cursor)

    def slow(self) -> dict[str, Any]:
        """Figures, a few times a second."""
        self.due = False
        told = status(self.instrument)
        told["runs"] = runs(self.instrument.account, self._held)
        return {"lines": statistics(self.run, self.limit), "limit": self.limit,
                "held": self._held is not None, "status": told}

    def tick(self) -> dict[str, Any] | None:
        """What changed; None: nothing."""
        account, run = self.instrument.account, self.run
        found: dict[str, Any] = {"type": "tick"}
        if self._trail is not account.trail:
            self._trail = account.trail
            account.trail.cursors += self.cursors.values()
            for cursor in self.cursors.values():
                cursor.low = 0
            self._lines, self._run = -1, 0
        if self._lines != len(run.lines):
            self._lines = len(run.lines)
            found["names"] = titles(run.lines)
        if self._run != run.number:
            self._run, self._coarse = run.number, []
            found["run"] = run.number
        for which, cursor in self.cursors.items():
            if rows := told_rows(list(account.trail.since(cursor))):
                found[which] = {"level": cursor.level, "rows": rows}
        if coarse := self._changes(run):
            found["coarse"] = coarse
        return found if len(found) > 1 else None

    def _changes(self, run: Run) -> dict[int, list[list[int]]]:
        """Of the distributions, since the last time."""
        coarse = {}
        for place, line in enumerate(run.lines):
            new = line.values.coarse
            if place == len(self._coarse):
                self._coarse.append(array("Q", [0]) * len(new))
            old = self._coarse[place]
            if old != new:
                first = bucket(line.values.least, COARSE_BITS)  # none lies outside of these
                end = bucket(min(line.values.most, HIGHEST), COARSE_BITS) + 1
                coarse[place] = [
                    [index, b - a] for index, (a, b)
                    in enumerate(zip(old[first:end], new[first:end], strict=True), first)
                    if a != b]
                self._coarse[place] = new[:]
        return coarse
