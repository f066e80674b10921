# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a document: for what other programs measured, and of several documents."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from .document import SCHEMA, VERSION, Result, check
from .histogram import Histogram, percentiles

EXIT = {"measured": 0, "passed": 0, "running": 0, "exceeded": 2, "invalid": 3,
        "inconclusive": 3, "skipped": 77}


def identity(*words: str) -> str:
    """The id of a run that is made out of others: the same from the same."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]


def series(name: str, cpu: int | None, histogram: Histogram, *, triggers: int | None = None,
           overflow: int = 0, missing: int = 0, least: int | None = None,
           most: int | None = None, mean: float | None = None,
           timeline: tuple[int, list[int | None], list[int]] = (0, [], []),
           top: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """One series; without `least` and `most` they are the ends of the histogram's buckets.

    `timeline` is the interval in ns, the maxima and the counts.
    """
    lows = list(histogram.counts)
    if lows:
        least = lows[0] if least is None else least
        most = histogram.end(lows[-1]) if most is None else most
        if mean is None:
            mean = sum((low + histogram.end(low)) / 2 * count
                       for low, count in histogram.counts.items()) / histogram.total
    counted = histogram.total + overflow + missing
    interval, maxima, counts = timeline
    return {
        "name": name, "cpu": cpu, "unit": "ns",
        "triggers": counted if triggers is None else triggers,
        "samples": histogram.total, "overflow": overflow, "missing": missing,
        "complete": triggers in (None, counted),
        "min": least, "max": most, "mean": None if mean is None else round(mean, 3),
        "percentiles": percentiles(histogram, overflow, missing,
                                   [row["value_ns"] for row in top], most),
        "histogram": histogram.encode(),
        "timeline": {"interval_ns": interval, "maxima": maxima, "counts": counts},
        "top": [dict(row) for row in top],
    }


def setting(name: str, got: str | None, note: str | None = None, asked: str | None = None
            ) -> dict[str, Any]:
    """A row of `settings`; what nobody asked for has held."""
    return {"name": name, "asked": asked, "got": got,
            "held": asked is None or asked == got, "note": note}


def document(*, measure: str, method: str, identifier: str, kernel: str, began: str,
             seconds: float, parts: list[dict[str, Any]], words: str, clock: str,
             verdict: str = "measured", note: str | None = None,
             settings: Sequence[dict[str, Any]] = (), early: bool = False,
             phase: tuple[str, int | None] = ("none", None), resolution: float = 1.0,
             floor: tuple[int, int, int] = (0, 0, 0), threshold: int | None = None,
             machine: Mapping[str, Any] | None = None, limits: Sequence[dict[str, Any]] = (),
             attribution: Mapping[str, Any] | None = None, time: str | None = None) -> Result:
    """A checked document; a series that is not complete makes it invalid."""
    incomplete = [row for part in parts for row in part["series"] if not row["complete"]]
    if incomplete and verdict != "invalid":
        verdict, words = "invalid", f"invalid: samples were lost uncounted; {words}"
    bare = {"cmdline": None, "clocksource": None, "cpu": None, "virtual": None, "online": None,
            "findings": None}
    data = {
        "schema": SCHEMA, "version": VERSION, "kernel": kernel,
        "time": time or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "id": identifier,
        "measure": measure, "method": method, "verdict": verdict, "exit": EXIT[verdict],
        "words": words, "began": began, "seconds": seconds, "early": early,
        "settings": list(settings), "phase": {"kind": phase[0], "seed": phase[1]},
        "machine": {**bare, **(machine or {})},
        "instrument": {"clock": clock, "note": note, "resolution_ns": resolution,
                       "floor_ns": dict(zip(("min", "p50", "max"), floor, strict=True)),
                       "threshold_ns": threshold},
        "parts": parts, "limits": list(limits),
        "attribution": None if attribution is None else dict(attribution),
    }
    return check(data, "what was made")


def part(name: str, began: str, seconds: float, rows: list[dict[str, Any]],
         load: str | None = None) -> dict[str, Any]:
    """A stretch of a run."""
    return {"name": name, "load": load, "began": began, "seconds": seconds, "series": rows}
