# SPDX-License-Identifier: GPL-2.0-or-later
"""What a page is told: the whole at first, then only what changed since it was told last.

Nothing waits for a slow page: what it is told next is computed when it can take it.
"""

from array import array
from typing import Any

from isolator_report.buckets import bucket
from isolator_report.histogram import HIGHEST

from .account import Account, Chain
from .chain import PLAIN, RT, chain, culprit
from .document import titles
from .instrument import Instrument
from .statistics import COARSE_BITS
from .trail import BASE, COUNT, LEVELS, MISSING, RING, Cursor, Trail

PERCENTS = (50.0, 90.0, 99.0, 99.9, 99.99)
SEEN = 50  # gaps and events that a page is shown


def statistics(account: Account) -> list[dict[str, Any]]:
    """Of each line."""
    rows = []
    for name, line in zip(titles(account.lines), account.lines, strict=True):
        values = line.values
        rows.append({
            "name": name, "triggers": line.triggers, "answered": line.answered,
            "late": line.late, "missing": line.missing, "strays": line.strays,
            "unsure": line.unsure, "count": values.count,
            "min": values.least if values.count else None,
            "max": values.most if values.count else None, "mean": values.mean,
            "percentiles": values.said(PERCENTS, line.missing)})
    return rows


def status(instrument: Instrument) -> dict[str, Any]:
    """Of link, generator and recording."""
    account, link, recording = instrument.account, instrument.link, instrument.recording
    state, floor, welcome = account.state, account.floor, account.welcome
    return {
        "live": link is not None,
        "connected": link is not None and link.connected.is_set(),
        "target": str(link.target) if link is not None else "",
        "why": (link.refused or link.why) if link is not None else "",
        "recording": instrument.path.name,
        "synced": recording.synced if recording is not None else None,
        "written": recording.written if recording is not None else instrument.replayed,
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
        "gaps": [[gap.since, gap.until, gap.what, gap.count]
                 for gap in list(account.gaps)[-SEEN:]],
        "events": [[one.at, one.event, one.words] for one in list(instrument.events)[-SEEN:]],
    }


def hops(account: Account, one: Chain | None, rt: bool) -> dict[str, Any] | None:
    """The chain of one trigger; None: it is not remembered."""
    if one is None:
        return None
    names = titles(account.lines)
    found = chain(one.answers, names, RT if rt else PLAIN)
    worst = culprit(found)
    there = {line for line, _, _ in one.answers}
    return {
        "trigger": one.trigger, "wall": one.wall, "jitter": one.jitter,
        "hops": [vars(hop) for hop in found], "culprit": None if worst is None else worst.name,
        "missing": [name for line, name in enumerate(names)
                    if one.mask >> line & 1 and line not in there]}


def find(account: Account, wanted: dict[str, Any]) -> Chain | None:
    """The last one, the one of a line's maximum, or by number among the recent ones."""
    if isinstance(line := wanted.get("worst"), int):
        return account.worst[line] if 0 <= line < len(account.worst) else None
    if isinstance(number := wanted.get("number"), int):
        return next((one for one in account.recent if one.trigger == number), None)
    return account.recent[-1] if account.recent else None


class View:
    """What one page knows."""

    def __init__(self, instrument: Instrument) -> None:
        self.instrument = instrument
        self.cursors = {"live": Cursor(0), "long": Cursor(LEVELS - 1)}
        self._trail: Trail | None = None
        self._coarse: list[array[int]] = []

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
                self._trail.cursors.remove(cursor)

    def tick(self) -> dict[str, Any] | None:
        """What changed; None: nothing."""
        account = self.instrument.account
        renewed = self._trail is not account.trail
        if renewed:
            self._trail = account.trail
            account.trail.cursors += self.cursors.values()
            for cursor in self.cursors.values():
                cursor.low = 0
        found: dict[str, Any] = {"type": "tick"}
        if renewed:
            found["names"] = titles(account.lines)
        for which, cursor in self.cursors.items():
            rows = [[index, [[line, *column] for line, column in enumerate(row)
                             if column is not None and (column[COUNT] or column[MISSING])]]
                    for index, row in account.trail.since(cursor)]
            if rows:
                found[which] = {"level": cursor.level, "rows": rows}
        coarse = {}
        for place, line in enumerate(account.lines):
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
        if coarse:
            found["coarse"] = coarse
        return found if len(found) > 1 else None
