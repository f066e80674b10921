# SPDX-License-Identifier: GPL-2.0-or-later
"""Rounds of a benchmark: figures of many rounds, a verdict, a table, a picture."""

import math
import statistics
from dataclasses import dataclass

from isolator_report import svg

PASS, ERROR, EXCEEDED, INCONCLUSIVE = 0, 1, 2, 3
LIMIT = 1.05  # how much slower than the floor the channel may be
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


def moved(samples: dict[str, list[dict[str, float]]]) -> list[int]:
    """The rounds, from 1 on, in which something took less than half its own median."""
    strange = set()
    for rounds in samples.values():
        middle = statistics.median(sample["ns_p50"] for sample in rounds)
        strange |= {number for number, sample in enumerate(rounds, 1)
                    if min(sample["ns_p50"], sample["ns_min"]) < middle / 2}
    return sorted(strange)


def judge(floor: float, second: float, ours: float) -> tuple[int, str]:
    """Exit code and sentence for the medians of both floors and of the channel."""
    apart = abs(second / floor - 1)
    ratio = ours / floor
    said = (f"isolator {ours:.1f} ns, floor {floor:.1f} ns: {ratio:.3f} of it, at most {LIMIT} "
            f"allowed; floor against floor {apart:.1%}")
    if apart > LIMIT - 1:
        return INCONCLUSIVE, f"inconclusive: {said}; run it when the machine is quieter"
    if ratio > LIMIT:
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
        ours = str(row["name"]).startswith(("isolator", "floor"))
        parts += [
            svg.text(left - 10, y + 16, str(row["about"]), "end", svg.INK, 14),
            svg.bar(left, y, scale * value, 22, svg.GOOD if ours else svg.LINE),
            svg.line(f"M{low:.1f} {y + 11}H{high:.1f}M{low:.1f} {y + 5}v12M{high:.1f} {y + 5}v12",
                     svg.INK, ' stroke-width="1.5"'),
            svg.text(high + 8, y + 16, f"{value:.0f} ns", "start", svg.INK, 14),
        ]
    parts.append(svg.text(left, height - 14, note, "start"))
    return svg.LICENCE + "\n".join([*parts, "</svg>", ""])
