# SPDX-License-Identifier: GPL-2.0-or-later
"""What a page asks to look at: a stretch of time, a trigger, the worst, another run.

Only the newest question of a kind counts: who moves on does not wait for what was asked before.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import past
from .bounds import whole
from .errors import ScopeError, reason, say
from .index import COARSE
from .trail import BASE, LEVELS, MISSING, MOST, RING, Row
from .view import View, find, shape, told_rows, worst

WIDEST = 4 * RING  # columns of an answer
NEAR = 1_000_000  # ns around a trigger whose time is known
LONGEST = BASE << 2 * (LEVELS - 1)  # ns in which a trigger is looked for: the longest column
AROUND = 2_000_000_000  # ns around a trigger whose time is known by its mark only

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Questions:
    """Of one page."""

    def __init__(self, view: View, send: Send) -> None:
        self.view, self.send = view, send
        self._asked: dict[str, dict[str, Any]] = {}
        self._more = asyncio.Event()
        self._failed = ""  # what was last said of one that failed

    def take(self, text: str) -> None:
        """One; what makes no sense is left alone."""
        try:
            wanted = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(wanted, dict):
            return
        view = self.view
        for which in ("live", "long"):
            if (level := whole(wanted.get(which))) is not None:
                view.zoom(which, level)
        chosen = {name: whole(wanted[name]) for name in ("run", "limit") if name in wanted}
        held = wanted.get("hold")
        if chosen or isinstance(held, bool):
            view.look(held if isinstance(held, bool) else None, **chosen)
        for kind in ("chain", "window", "worst", "baseline", "map"):
            if kind in wanted:
                one = wanted[kind] if isinstance(wanted[kind], dict) else {}
                self._asked[f"{kind} {one.get('of', '')}"[:40]] = {**one, "kind": kind}
                self._more.set()

    async def run(self, threads: ThreadPoolExecutor) -> None:
        """Answer until cancelled."""
        with contextlib.suppress(ConnectionError):
            while True:
                await self._more.wait()
                self._more.clear()
                while self._asked:
                    one = self._asked.pop(next(iter(self._asked)))
                    await self.send(await self._answer(one, threads))

    async def _answer(self, one: dict[str, Any], threads: ThreadPoolExecutor) -> dict[str, Any]:
        """Or why there is none: the recording may have gone.  Others are answered all the same."""
        try:
            found: dict[str, Any] = await getattr(self, f"_{one['kind']}")(one, threads)
        except (ScopeError, OSError) as problem:
            words = reason(problem)
            if words != self._failed:
                say(f"{one['kind']}: {words}")
            self._failed = words
            return {"type": one["kind"], "of": str(one.get("of", ""))[:20], "failed": words}
        return found

    async def _worst(self, one: dict[str, Any], _: ThreadPoolExecutor) -> dict[str, Any]:
        return {"type": "worst", "rows": worst(self.view.run)}

    async def _baseline(self, one: dict[str, Any], _: ThreadPoolExecutor) -> dict[str, Any]:
        instrument, number = self.view.instrument, whole(one.get("run"))
        other = instrument.other if one.get("other") is True else None
        runs = (instrument if other is None else other).account.runs
        found = next((run for run in runs if run.number == number), None)
        if found is None:
            return {"type": "baseline", "title": "", "lines": [], "coarse": []}
        return {"type": "baseline", **shape(
            found, found.title if other is None else f"{other.path.name}: {found.title}")}

    async def _window(self, one: dict[str, Any], threads: ThreadPoolExecutor
                      ) -> dict[str, Any]:
        """Columns of a level; those that the trail has no more come from index and recording.

        `last` of the answer is how far it was read: a page asks on.
        """
        level, first, last = (whole(one.get(name)) for name in ("level", "first", "last"))
        if level is None or first is None or last is None or not 0 <= level < LEVELS \
                or not 0 <= first <= last:
            raise ScopeError("there are no such columns")
        last = min(last, first + WIDEST - 1)
        trail = self.view.instrument.account.trail
        kept = trail.span(level)
        rows: dict[int, Row] = {}
        if first < kept.start:
            old = min(last, kept.start - 1)
            rows, read = await self._old(level, first, old, threads)
            if read < old or trail.span(level).start > kept.start:
                last = min(last, read)  # what is newer may have left the trail meanwhile
        for index in range(max(first, kept.start), min(last + 1, kept.stop)):
            rows[index] = trail.row(level, index)
        return {"type": "window", "of": str(one.get("of", ""))[:20], "level": level,
                "first": first, "last": last, "rows": told_rows(sorted(rows.items()))}

    async def _old(self, level: int, first: int, last: int, threads: ThreadPoolExecutor
                   ) -> tuple[dict[int, Row], int]:
        index, instrument = self.view.instrument.index, self.view.instrument
        if index is None:
            raise ScopeError("there is no index of the recording")
        if level >= COARSE:
            return dict(index.columns(level, first, last)), last
        place = past.at(index, instrument.path, first * (BASE << 2 * level))
        if place is None:
            return {}, last
        return await asyncio.get_running_loop().run_in_executor(
            threads, past.columns, place, level, first, last, instrument.account.trail.lines)

    async def _map(self, one: dict[str, Any], _: ThreadPoolExecutor) -> dict[str, Any]:
        """All of the recording in a few hundred columns: the maximum of all lines in each."""
        instrument = self.view.instrument
        trail, index = instrument.account.trail, instrument.index
        begin = instrument.account.began or 0
        level = next((one for one in range(LEVELS)
                      if ((trail.now * BASE - begin) // (BASE << 2 * one)) < RING), LEVELS - 1)
        first, kept = begin // (BASE << 2 * level), trail.span(level)
        rows: dict[int, Row] = {}
        if first < kept.start and index is not None and level >= COARSE:
            rows.update(index.columns(level, first, kept.start - 1))
        for number in range(max(first, kept.start), kept.stop):
            rows[number] = trail.row(level, number)
        cells: dict[int, list[int]] = {}
        step = max(-(-len(range(first, kept.stop)) // RING), 1)
        for number, row in rows.items():
            cell = cells.setdefault((number - first) // step, [-1, 0])
            for column in row:
                if column is not None:
                    cell[0] = max(cell[0], column[MOST])
                    cell[1] += column[MISSING]
        return {"type": "map", "begin": first * (BASE << 2 * level), "each": step * (
            BASE << 2 * level), "cells": [[number, *cell] for number, cell in sorted(cells.items())
                                          if cell[0] >= 0 or cell[1]]}

    async def _chain(self, one: dict[str, Any], threads: ThreadPoolExecutor) -> dict[str, Any]:
        account, rt = self.view.instrument.account, bool(one.get("rt"))
        if (line := whole(one.get("worst"))) is not None:
            if (most := self.view.worst(line)) is None:
                return {"type": "chain", "chain": None}
            one = {"number": most[0], "wall": most[1] - NEAR, "around": 2 * NEAR}
        wall, number = whole(one.get("wall")), whole(one.get("number"))
        found: Any = find(account, number, wall, whole(one.get("around")) or 0)
        if found is None and (wall is not None or number is not None):
            found = await self._old_trigger(one, wall, threads)
        return {"type": "chain", "chain": self.view.chains.hops(account, found, rt)}

    async def _old_trigger(self, one: dict[str, Any], wall: int | None,
                           threads: ThreadPoolExecutor) -> past.Found | None:
        """Out of the recording, by its time or its number."""
        instrument, number = self.view.instrument, whole(one.get("number"))
        if instrument.index is None:
            return None
        around = whole(one.get("around")) or 0
        if wall is None:
            wall, around = instrument.index.triggered(number or 0), AROUND
        if wall is None:
            return None
        line, until = whole(one.get("line")), wall + min(around, LONGEST)
        if number is None:
            wall, until = past.narrowed(instrument.index, instrument.account.trail, wall, until,
                                        line)
        place = past.at(instrument.index, instrument.path, wall)
        if place is None:
            return None
        return await asyncio.get_running_loop().run_in_executor(
            threads, past.trigger, place, wall, until, number, line)
