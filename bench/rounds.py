# SPDX-License-Identifier: GPL-2.0-or-later
"""Rounds of a benchmark: figures of many rounds, a verdict, a table, a picture."""

import math
import statistics
from dataclasses import dataclass

from isolator_report import svg

PASS, ERROR, EXCEEDED, INCONCLUSIVE = 0, 1, 2, 3
# How much slower than the floor the channel may be, by the vendor of the processor: where a line
# takes half the time from core to core, the work of a hop shows twice as much.
LIMIT = 1.05
LIMITS = {"AuthenticAMD": 1.15}
SELF_LIMIT = 0.05  # how far the floor may be from itself
PLACE = 1.25  # floors farther apart than this are of CPUs in other places
COVERAGE = 0.95  # of an interval


@dataclass(frozen=True)
class Peer:
    """What is measured: its name for channel-trip, the Debian package, what it is."""

    name: str
    package: str
    about: str


def interval(values: list[float]) -> tuple[float, float]:
    """Where the median lies with at least 95 % confidence, whatever the distribution.

    Between two of the sorted values: how many of n values are below the true median is
    binomial.  With fewer than six values it is all of them.
    """
    ordered = sorted(values)
    count = len(ordered)
    rank = 0
    outside = 0.0
    while rank < count // 2:
        outside += 2 * math.comb(count, rank) / 2**count
        if outside > 1 - COVERAGE:
            break
        rank += 1
    rank = max(rank - 1, 0)
    return ordered[rank], ordered[count - 1 - rank]


def summary(samples: list[dict[str, float]]) -> dict[str, object]:
    """The figures of one peer over all rounds."""
    medians = [sample["ns_p50"] for sample in samples]
    middle = statistics.median(medians)
    return {
        "ns_min": min(sample["ns_min"] for sample in samples),
        "ns_p50": round(middle, 1),
        "interval": list(interval(medians)),
        "ns_p99": round(statistics.median(sample["ns_p99"] for sample in samples), 1),
        "ns_message": round(statistics.median(sample["ns_message"] for sample in samples), 1),
        "spread": round((max(medians) - min(medians)) / middle, 4),
        "rounds": medians,
    }


def elsewhere(first: list[float], second: list[float]) -> list[int]:
    """The rounds, from 1 on, in which the CPUs were not where they were in most.

    @first and @second are the floor's p50, once early and once late in each round.  A host may
    move virtual CPUs to other cores, and between other cores a line takes another time.
    """
    middle = statistics.median([*first, *second])
    return [number for number, both in enumerate(zip(first, second, strict=True), 1)
            if min(both) < middle / PLACE or max(both) > middle * PLACE]


def judge(floor: list[float], second: list[float], ours: list[float],
          limit: float = LIMIT) -> tuple[int, str]:
    """Exit code and sentence for the p50 of both floors and of the channel, round by round."""
    apart = abs(statistics.median(second) / statistics.median(floor) - 1)
    ratio = statistics.median(o / ((f + s) / 2)
                              for f, s, o in zip(floor, second, ours, strict=True))
    said = (f"isolator {statistics.median(ours):.1f} ns, floor {statistics.median(floor):.1f} ns: "
            f"{ratio:.3f} of it, at most {limit} allowed; floor against floor {apart:.1%}")
    if apart > SELF_LIMIT:
        return INCONCLUSIVE, f"inconclusive: {said}; run it when the machine is quieter"
    if ratio > limit:
        return EXCEEDED, f"exceeded: {said}"
    return PASS, f"passed: {said}"


def table(rows: list[dict[str, object]]) -> str:
    """The rows as a table in Markdown."""
    lines = ["| | package | min | p50 | p50 of the rounds, 95 % | p99 | spread | ns a message |",
             "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        ends: list[float] = row["interval"]  # type: ignore[assignment]
        stream = row["ns_message"]
        lines.append(
            f"| {row['about']} | {row['package'] or '–'} | {row['ns_min']:.0f} | "
            f"{row['ns_p50']:.0f} | {ends[0]:.0f} … {ends[1]:.0f} | {row['ns_p99']:.0f} | "
            f"{row['spread']:.0%} | {f'{stream:.0f}' if stream else '–'} |")
    return "\n".join(lines)


def picture(rows: list[dict[str, object]], title: str,
            note: str = "median of the rounds and its 95 % interval") -> str:
    """A bar for each row's p50, with its interval, as SVG; @note says what they are."""
    width, left, top, step = 860, 250, 64, 34
    height = top + step * len(rows) + 40
    most = max(float(row["interval"][1]) for row in rows)  # type: ignore[index]
    scale = (width - left - 90) / most
    parts = [svg.opened(width, height, title, f' width="{width}" height="{height}"'),
             svg.paper(width, height),
             svg.text(20, 30, title, "start", svg.INK, 16, bold=True)]
    for number, row in enumerate(rows):
        y = top + step * number
        ends: list[float] = row["interval"]  # type: ignore[assignment]
        low, high = left + scale * ends[0], left + scale * ends[1]
        value = float(row["ns_p50"])  # type: ignore[arg-type]
        ours = str(row["name"]).startswith(("isolator", "floor", "inbox"))
        parts += [
            svg.text(left - 10, y + 16, str(row["about"]), "end", svg.INK, 14),
            svg.bar(left, y, scale * value, 22, svg.GOOD if ours else svg.LINE),
            svg.line(f"M{low:.1f} {y + 11}H{high:.1f}M{low:.1f} {y + 5}v12M{high:.1f} {y + 5}v12",
                     svg.INK, ' stroke-width="1.5"'),
            svg.text(high + 8, y + 16, f"{value:.0f} ns", "start", svg.INK, 14),
        ]
    parts.append(svg.text(left, height - 14, note, "start"))
    return svg.LICENCE + "\n".join([*parts, "</svg>", ""])
