# SPDX-License-Identifier: GPL-2.0-or-later
"""Several runs of the same measurement, one after the other, as one document."""

from collections.abc import Sequence
from typing import Any

from . import build
from .document import NS, Result, Series
from .errors import InvalidResult, ReportError
from .histogram import Histogram

TOP = 1000  # largest values that are kept
INTERVALS = 1024  # of a timeline


def timeline(pieces: Sequence[dict[str, Any]]) -> tuple[int, list[int | None], list[int]]:
    """One after the other, in intervals of the longest of them.

    Intervals double as a run grows: the longest is a multiple of each.
    """
    pieces = [piece for piece in pieces if piece["counts"]]
    if not pieces:
        return 0, [], []
    interval = max(1, *(piece["interval_ns"] for piece in pieces))
    maxima: list[int | None] = []
    counts: list[int] = []

    def add(rows: list[int | None], numbers: list[int], each: int) -> None:
        for start in range(0, len(numbers), each):
            known = [value for value in rows[start:start + each] if value is not None]
            maxima.append(max(known, default=None))
            counts.append(sum(numbers[start:start + each]))

    for piece in pieces:
        each, rest = divmod(interval, max(piece["interval_ns"], 1))
        if rest:
            raise ReportError(f"merge: an interval of {interval} ns is not a multiple of "
                              f"{piece['interval_ns']} ns: these runs have different timelines")
        add(piece["maxima"], piece["counts"], each)
    while len(counts) > INTERVALS:
        rows, numbers = maxima, counts
        maxima, counts, interval = [], [], 2 * interval
        add(rows, numbers, 2)
    return interval, maxima, counts


def cause_order(row: dict[str, Any]) -> tuple[int, bytes, bool, bytes]:
    """By which causes are sorted, as isolator measure has them (cli/attribute/cause.c)."""
    who = row["who"]
    return (-row["total_ns"], row["kind"].encode(), who is not None, (who or "").encode())


def _outliers(results: Sequence[Result], before: dict[tuple[int, int | None], int]
              ) -> tuple[dict[str, Any] | None, dict[tuple[int, int | None], int]]:
    """The attribution of all, and where each outlier of each result has gone."""
    given = [one.data["attribution"] for one in results]
    if not all(given):
        return None, {}
    rows = []
    for number, one in enumerate(given):
        for place, outlier in enumerate(one["outliers"]):
            shift = before.get((number, outlier["cpu"]), 0)
            rows.append(((number, place), {**outlier, "trigger": outlier["trigger"] + shift}))
    rows.sort(key=lambda row: -row[1]["value_ns"])
    causes: dict[tuple[str, str | None], dict[str, Any]] = {}
    for one in given:
        for cause in one["causes"]:
            have = causes.setdefault((cause["kind"], cause["who"]), {
                **cause, "count": 0, "total_ns": 0, "worst_ns": -1})
            have["count"] += cause["count"]
            have["total_ns"] += cause["total_ns"]
            if cause["worst_ns"] > have["worst_ns"]:
                have["worst_ns"], have["worst_at"] = cause["worst_ns"], cause["worst_at"]
    same = {one["source"] for one in given}
    if len(same) > 1:
        raise ReportError("merge: causes came from different sources: " + ", ".join(sorted(same)))
    return {
        "source": given[0]["source"],
        "threshold_ns": max(one["threshold_ns"] for one in given),
        **{key: sum(one[key] for one in given) for key in ("seen", "looked", "lost")},
        "overhead": None,
        "causes": sorted(causes.values(), key=cause_order),
        "outliers": [row for _, row in rows],
    }, {source: place for place, (source, _) in enumerate(rows)}


def _series(pieces: Sequence[tuple[int, Series]], places: dict[tuple[int, int | None], int]
            ) -> dict[str, Any]:
    """One series out of those of several runs, in their order."""
    histogram: Histogram | None = None
    top: list[dict[str, Any]] = []
    total = dict.fromkeys(("triggers", "overflow", "missing"), 0)
    weight, summed = 0, 0.0
    for number, one in pieces:
        data = one.data
        try:
            histogram = one.histogram if histogram is None else histogram + one.histogram
        except InvalidResult as problem:
            raise InvalidResult(f"merge: {one.title}: {problem}") from problem
        top += [{**row, "trigger": row["trigger"] + total["triggers"],
                 "outlier": places.get((number, row["outlier"]))
                 if row["outlier"] is not None else None} for row in data["top"]]
        for key in total:
            total[key] += data[key]
        count = data["samples"] + data["overflow"]
        if data["mean"] is not None:
            weight, summed = weight + count, summed + count * data["mean"]
    assert histogram is not None
    # What one run did not keep may be larger than what another one did.
    full = [len(one.data["top"]) < one.data["samples"] + one.data["overflow"]
            for _, one in pieces]
    cut = max((one.top[-1] for (_, one), more in zip(pieces, full, strict=True)
               if more and one.top), default=0)
    if any(more and not one.top for (_, one), more in zip(pieces, full, strict=True)):
        top = []
    top = sorted((row for row in top if row["value_ns"] >= cut),
                 key=lambda row: -row["value_ns"])[:TOP]
    ends = [one.data for _, one in pieces if one.data["max"] is not None]
    first = pieces[0][1].data
    return build.series(
        first["name"], first["cpu"], histogram, **total,
        least=min((row["min"] for row in ends), default=None),
        most=max((row["max"] for row in ends), default=None),
        mean=summed / weight if weight else None,
        timeline=timeline([one.data["timeline"] for _, one in pieces]), top=top)


def _settings(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Those of the first; where a later one differs, the note says so."""
    rows = {row["name"]: dict(row) for row in results[0].data["settings"]}
    later: dict[str, dict[str, None]] = {name: {} for name in rows}
    for one in results[1:]:
        for row in one.data["settings"]:
            have = rows.setdefault(row["name"], dict(row))
            have["held"] = have["held"] and row["held"]
            if row["got"] != have["got"] and row["name"] != "duration":
                later.setdefault(row["name"], {})[f"a later run had {row['got']}"] = None
    for name, have in rows.items():
        have["note"] = "; ".join(filter(None, (have["note"], *later.get(name, ())))) or None
    return list(rows.values())


def _judged_limits(results: Sequence[Result], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The limits that all runs had, on the whole."""
    def limits(one: Result) -> set[tuple[str, int, bool]]:
        return {(row["name"], row["limit_ns"], row["hard"]) for row in one.data["limits"]}

    found = []
    for name, limit, hard in sorted(set.intersection(*(limits(one) for one in results))):
        values = []
        for row in rows:
            if name == "max":
                values.append(row["max"])
            else:
                values += [line["value_ns"] for line in row["percentiles"]
                           if name == f"p{line['percent']:g}"]
        known = [value for value in values if value is not None]
        unknown = not known or len(known) < len(rows)
        worst = max(known, default=None)
        result = "exceeded" if known and max(known) > limit else \
            "cannot say" if unknown else "held"
        found.append({"name": name, "limit_ns": limit, "hard": hard, "value_ns": worst,
                      "result": result})
    return found


def _machine(results: Sequence[Result]) -> dict[str, Any]:
    """That of the first; words that are not the same of all are all there."""
    found: dict[str, Any] = dict(results[0].data["machine"])
    for key in ("host", "cmdline", "clocksource", "cpu"):
        words = dict.fromkeys(one.data["machine"].get(key) or "not known" for one in results)
        if len(words) > 1:
            found[key] = ", ".join(words)
    return found


def merge(results: Sequence[Result]) -> Result:
    """In the order of their time.  The sums are checked as those of each run are."""
    results = sorted(results, key=lambda one: one.data["began"])
    first = results[0].data
    if len({one.data["id"] for one in results}) != len(results):
        raise ReportError("merge: the same run is given twice")
    for one in results:
        if one.data["verdict"] in ("running", "skipped"):
            raise ReportError(f"{one.source}: its verdict is {one.data['verdict']}: "
                              "only what has ended can be merged")
        for key in ("measure", "method"):
            if one.data[key] != first[key]:
                raise ReportError(f"{one.source}: its {key} is {one.data[key]}, that of "
                                  f"{results[0].source} {first[key]}: not the same quantity")
        if one.data["instrument"]["clock"] != first["instrument"]["clock"]:
            raise ReportError(f"{one.source}: measured with another clock")
    pieces: dict[str, dict[tuple[str, int | None], list[tuple[int, Series]]]] = {}
    before: dict[tuple[int, int | None], int] = {}
    ended: dict[tuple[str, str, int | None], int] = {}
    for number, one in enumerate(results):
        for row in one.series:
            have = pieces.setdefault(row.key[0], {}).setdefault(row.key[1:], [])
            before.setdefault((number, row.key[2]), sum(
                earlier.data["triggers"] for _, earlier in have))
            have.append((number, row))
            began = one.nanoseconds(row.part["began"])
            if began < ended.get(row.key, 0):
                raise ReportError(f"{one.source}: {row.title} began before the run before it "
                                  "ended: they disturbed each other")
            ended[row.key] = began + int(row.part["seconds"] * NS)
    attribution, places = _outliers(results, before)
    parts = []
    for name, rows in pieces.items():
        same = [part for one in results for part in one.data["parts"] if part["name"] == name]
        loads = {part["load"] for part in same}
        if len(loads) > 1:
            raise ReportError(f"merge: part {name} had different loads: "
                              + ", ".join(sorted(str(load) for load in loads)))
        parts.append(build.part(name, same[0]["began"], sum(part["seconds"] for part in same),
                                [_series(have, places) for have in rows.values()], same[0]["load"]))
    flat = [row for part in parts for row in part["series"]]
    judged = _judged_limits(results, flat)
    bad = next((one for one in results if one.invalid), None)
    hard = [row["result"] for row in judged if row["hard"]]
    verdict = "invalid" if bad else "exceeded" if "exceeded" in hard else \
        "inconclusive" if "cannot say" in hard else "passed" if judged else "measured"
    words = f"{verdict}: {len(results)} runs from {first['began']} on, merged"
    if bad:
        words += f"; {bad.source}: {bad.invalid}"
    floors = [one.data["instrument"]["floor_ns"] for one in results]
    kernels = sorted({one.data["kernel"] for one in results})
    settings = [*_settings(results), build.setting(
        "merged", f"{len(results)} runs", "; ".join(one.data["id"] for one in results))]
    return build.document(
        measure=first["measure"], method=first["method"], verdict=verdict, words=words,
        identifier=build.identity(*(one.data["id"] for one in results)),
        kernel=", ".join(kernels), began=first["began"],
        seconds=sum(one.data["seconds"] for one in results),
        early=any(one.data["early"] for one in results), settings=settings,
        phase=(first["phase"]["kind"], None), machine=_machine(results), parts=parts, limits=judged,
        clock=first["instrument"]["clock"], note=first["instrument"]["note"],
        resolution=max(one.data["instrument"]["resolution_ns"] for one in results),
        floor=(min(row["min"] for row in floors), max(row["p50"] for row in floors),
               max(row["max"] for row in floors)),
        threshold=first["instrument"]["threshold_ns"], attribution=attribution)
