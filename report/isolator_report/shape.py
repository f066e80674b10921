# SPDX-License-Identifier: GPL-2.0-or-later
"""What a distribution looks like, in plain words, by stated rules.

body   peaks:   two or more (of 40 buckets for each factor of 10, smoothed) which each
                hold at least 5 % of all values, and between any two of them a valley
                less than half as high as the lower one
       tight:   p95 is at most 3 times p5
       wide:    anything else
tail   long:    p99.9 is at least 1.5 times the median, and as far above it as 5 times p90
                (3.9 times for an exponential distribution, 2.4 for a normal one); with less
                than 10 000 values p99 in its place, 3 times
       alone:   the largest value is more than 10 times the value that bounds all but 10
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .duration import time
from .histogram import Histogram

LEAST = 500  # values: below, there is no shape
STEPS = 40  # for each factor of 10
HOLDS = 0.05
VALLEY = 0.5
TIGHT = 3.0


@dataclass(frozen=True)
class Shape:
    """`body` and `tail` are words of the rules above; `peaks` in ns."""

    body: str  # tight, wide, peaks, unknown
    tail: str  # short, long
    alone: bool
    peaks: tuple[float, ...]
    words: str


def density(histogram: Histogram, step: int) -> tuple[int, list[float]]:
    """Shares by bucket of equal ratio: the first bucket's number, and their heights.

    A value which may have been anything within `step`, or within its bucket, is spread
    over all of that.
    """
    counts: dict[int, int] = {}
    for low, count in histogram.counts.items():
        # What was cut to less than a step was cut to 0: above, no span is wider than a factor of 2.
        known = low if histogram.end(low) >= step else 0
        counts[known] = counts.get(known, 0) + count
    spans = [(math.log10(max(low, 1)) * STEPS,
              math.log10(max(histogram.end(low) + 1, low + step, 2)) * STEPS, count)
             for low, count in counts.items()]
    first = math.floor(spans[0][0])
    heights = [0.0] * (math.ceil(max(end for _, end, _ in spans)) - first + 1)
    for begin, end, count in spans:
        width = max(end - begin, 1e-9)
        for place in range(math.floor(begin), math.ceil(end)):
            covered = min(end, place + 1) - max(begin, place)
            heights[place - first] += count * covered / width / histogram.total
    return first, heights


def smoothed(heights: list[float]) -> list[float]:
    """Twice a moving mean over three: noise of single buckets is no peak."""
    for _ in range(2):
        around = [0.0, *heights, 0.0]
        heights = [sum(around[i:i + 3]) / 3 for i in range(len(heights))]
    return heights


def peaks(histogram: Histogram, step: int = 1) -> list[float]:
    """Where the peaks are, in ns, that a valley parts and that hold enough."""
    first, raw = density(histogram, step)
    heights = smoothed(raw)
    tops = [i for i, height in enumerate(heights)
            if height > 0 and height >= max(heights[max(i - 1, 0):i] or [0.0])
            and height > max(heights[i + 1:i + 2] or [0.0])]
    while len(tops) > 1:
        cuts = [min(range(a, b), key=heights.__getitem__)
                for a, b in zip(tops, tops[1:], strict=False)]
        edges = [0, *cuts, len(raw)]
        held = [sum(raw[a:b]) for a, b in zip(edges, edges[1:], strict=False)]
        shallow = [(heights[cut] / min(heights[tops[i]], heights[tops[i + 1]]), i)
                   for i, cut in enumerate(cuts)]
        worst, place = max(shallow)
        if worst > VALLEY:
            lower = min((place, place + 1), key=lambda i: heights[tops[i]])
        elif min(held) < HOLDS:
            lower = held.index(min(held))
        else:
            break
        del tops[lower]
    return [10 ** ((first + top + 0.5) / STEPS) for top in tops]


def diagnose(histogram: Histogram, overflow: int = 0, most: int | None = None,
             step: int = 1, known: Mapping[str, float | None] | None = None) -> Shape:
    """By the rules above; `step` in ns is what values were cut to.

    `known`: percentiles by name, as they are said elsewhere: no words may differ from those.
    """
    if histogram.total < LEAST:
        return Shape("unknown", "short", False, (),
                     f"{histogram.total} values: too few to speak of a shape ({LEAST})")
    p5, p50, p90, p95, p99, p999 = (
        histogram.smooth(share) for share in (0.05, 0.5, 0.9, 0.95, 0.99, 0.999))
    found = peaks(histogram, step)
    body = "peaks" if len(found) > 1 else \
        "tight" if p95 <= TIGHT * max(p5, 1) else "wide"
    far, times, name = (p999, 5.0, "p99.9") if histogram.total >= 10_000 else (p99, 3.0, "p99")
    spread = max(p90 - p50, 1.0)
    long = far >= 1.5 * p50 and far - p50 > times * spread
    bound = histogram.at(max(histogram.total + overflow - 10, 1)) if overflow < 10 else math.inf
    alone = most is not None and most > 10 * bound
    words = {"peaks": f"{len(found)} peaks, at " + ", ".join(time(peak) for peak in found)
             + ": different paths, or states of the machine",
             "tight": f"nine of ten values lie between {time(p5)} and {time(p95)}",
             "wide": f"wide: p95 is {p95 / max(p5, 1):.1f} times p5 "
                     f"({time(p5)} to {time(p95)})"}[body]
    if long:
        said = time((known or {}).get(name) or far)
        words += (f"; a long tail: {name} ({said}) is {(far - p50) / spread:.0f} times as far "
                  "above the median as p90; look for the causes of the rare values")
    if alone:
        words += (f"; the largest ({time(most or 0)}) stands alone, all but 10 are below "
                  f"{time(bound)}: one event, not the distribution")
    return Shape(body, "long" if long else "short", alone, tuple(found), words)
