# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts as SVG: a log-log histogram, how many are larger, and a timeline of maxima."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from . import svg
from .axis import STEPS, Axis, place
from .duration import time
from .histogram import Histogram

COLOURS = (svg.ONE, svg.TWO)
WIDTH, HEIGHT = 860, 330
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 20, 44
ROOM = 3  # rows of names above each other, for each curve
STRIP = 300  # how wide a strip is drawn


@dataclass(frozen=True)
class Curve:
    """Counts by bucket of equal ratio; `marks` are percentiles or limits, name and ns."""

    name: str
    bins: Mapping[int, int]
    most: int | None
    marks: Sequence[tuple[str, float]] = ()
    above: int = 0  # samples that are in no bucket, and larger than all that are


def rebin(histogram: Histogram) -> dict[int, int]:
    """Counts by bucket of equal ratio; a wide bucket of the histogram goes to its middle."""
    found: dict[int, int] = {}
    for low, count in histogram.counts.items():
        where = math.floor(place((low + histogram.end(low) + 1) / 2))
        found[where] = found.get(where, 0) + count
    return found


def _nothing(title: str, words: str) -> str:
    return svg.opened(WIDTH, HEIGHT, title) + svg.text(WIDTH / 2, HEIGHT / 2, words) + "</svg>"


def _upright(low: float, high: float) -> Axis:
    """Powers of 10 from bottom to top."""
    return Axis(low, high, HEIGHT - BOTTOM, TOP)


def _rows(axis: Axis, label: str, times: bool) -> list[str]:
    """Lines and numbers of the upright axis, one for each factor of 10."""
    found = []
    for power in range(math.ceil(axis.low), math.floor(axis.high) + 1):
        y = axis.at(power)
        words = time(10**power) if times else f"{10**power:,}"
        found += [svg.line(f"M{LEFT} {y:.1f}H{WIDTH - RIGHT}"),
                  svg.text(LEFT - 6, y + 4, words, "end")]
    return [*found, svg.text(4, 12, label, "start")]


def _labels(marks: Sequence[tuple[float, str, str]], row: int) -> list[str]:
    """Names at upright lines, none upon another and none outside; pixel, name, colour."""
    found, ends = [], [0.0] * ROOM
    for pixel, name, colour in sorted(marks):
        width = 7.0 * len(name) + 6
        begin = pixel + 3 if pixel + 3 + width < WIDTH - RIGHT else pixel - 3 - width
        level = next((one for one in range(ROOM) if ends[one] <= begin), ROOM - 1)
        ends[level] = begin + width
        found += [svg.line(f"M{pixel:.1f} {TOP + 12 * (row + level)}V{HEIGHT - BOTTOM}", colour,
                           ' stroke-dasharray="3 3"'),
                  svg.text(begin, TOP + 10 + 12 * (row + level), name, "start", colour, 11)]
    return found


def _across(curves: Sequence[Curve], limits: Sequence[tuple[str, float]]) -> Axis | None:
    """The values of all curves, and the limits, from left to right; None: there is no value."""
    places = [where for curve in curves for where in curve.bins]
    if not places:
        return None
    ends = [*(place(curve.most or 1) for curve in curves), *(place(ns) for _, ns in limits)]
    low = min([*places, *(math.floor(place(ns)) for _, ns in limits)]) - 2
    return Axis(low, max([max(places) + 3, *(end + 2 for end in ends)]), LEFT, WIDTH - RIGHT)


def _values(x: Axis) -> list[str]:
    """What that axis says."""
    found = []
    for pixel, digit, ns in x.times():
        if digit == 1:
            found.append(svg.line(f"M{pixel:.1f} {TOP}V{HEIGHT - BOTTOM}"))
        found.append(svg.text(pixel, HEIGHT - BOTTOM + 16, time(ns), size=12 if digit == 1 else 10))
    return found


def _named(curves: Sequence[Curve], number: int) -> str:
    """Of the legend, one curve."""
    return svg.text(WIDTH - RIGHT, HEIGHT - 8 - 14 * (len(curves) - 1 - number),
                    curves[number].name, "end", COLOURS[number % len(COLOURS)], 13)


def histogram(curves: Sequence[Curve], title: str, limits: Sequence[tuple[str, float]] = ()
              ) -> str:
    """Counts (logarithmic) over values (logarithmic), the curves on top of each other."""
    binned = [curve.bins for curve in curves]
    x = _across(curves, limits)
    if x is None:
        return _nothing(title, "no sample in it")
    most = max(count for row in binned for count in row.values())
    y = _upright(math.log10(0.7), max(math.log10(most) * 1.04, 1.0))
    data = json.dumps([[curve.name, sorted(row.items())]
                       for curve, row in zip(curves, binned, strict=True)])
    parts = [svg.opened(WIDTH, HEIGHT, title,
                        f' class="chart" tabindex="0" data-steps="{STEPS}" data-low="{x.low}" '
                        f'data-high="{x.high}" data-left="{LEFT}" data-right="{WIDTH - RIGHT}" '
                        f'data-bins="{escape(data)}"')]
    parts += _rows(y, "samples", times=False)
    parts += _values(x)
    for number, (curve, row) in enumerate(zip(curves, binned, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        tops = {where: y.at(math.log10(count)) for where, count in row.items()}
        parts.append(svg.line(x.outline(tops, y.begin), colour,
                              f' fill="{colour}" fill-opacity="0.28" stroke-width="1.4"'))
        parts += _labels([(x.at(place(value)), mark, colour) for mark, value in
                          [*curve.marks, *([("max", curve.most)] if curve.most else [])]],
                         ROOM * number)
        parts.append(_named(curves, number))
    parts += _labels([(x.at(place(ns)), name, svg.BAD) for name, ns in limits],
                     ROOM * len(curves))
    parts += [svg.line(f"M0 {TOP}V{HEIGHT - BOTTOM}", svg.INK,
                       ' class="cursor" visibility="hidden"'), "</svg>"]
    return "".join(parts)


def larger(curves: Sequence[Curve], title: str, limits: Sequence[tuple[str, float]] = ()) -> str:
    """Which share of the samples is larger than a value; both axes logarithmic.

    A percentile is where a curve crosses its line: p99 at 1 of 100.
    """
    x = _across(curves, limits)
    if x is None:
        return _nothing(title, "no sample in it")
    totals = [sum(curve.bins.values()) + curve.above for curve in curves]
    y = _upright(-math.log10(max(*totals, 10)) - 0.15, 0.0)
    parts = [svg.opened(WIDTH, HEIGHT, title), *_values(x)]
    for power in range(math.floor(-y.low) + 1):
        row, words = y.at(-power), "all" if not power else f"1 of {10**power:,}"
        parts += [svg.line(f"M{LEFT} {row:.1f}H{WIDTH - RIGHT}"),
                  svg.text(LEFT - 6, row + 4, words, "end", size=10)]
    for number, (curve, total) in enumerate(zip(curves, totals, strict=True)):
        left, path = total, [f"M{LEFT} {y.at(0):.1f}"]
        for where in sorted(curve.bins):
            left -= curve.bins[where]
            row = y.at(math.log10(left / total)) if left else y.begin
            path.append(f"H{x.at(where + 1):.1f}V{row:.1f}")
        path += [f"H{x.end}"] if left else []
        parts += [svg.line("".join(path), COLOURS[number % len(COLOURS)],
                           ' fill="none" stroke-width="1.6"'), _named(curves, number)]
    parts += _labels([(x.at(place(ns)), name, svg.BAD) for name, ns in limits], 0)
    return "".join([*parts, svg.text(4, 12, "samples that are larger", "start"), "</svg>"])


def span(timelines: Sequence[Sequence[int | None]], limits: Sequence[tuple[str, float]] = ()
         ) -> tuple[float, float] | None:
    """One upright axis for all of them, so that they can be compared: powers of 10."""
    known = [math.log10(value) for maxima in timelines for value in maxima if value]
    if not known:
        return None
    known += [math.log10(ns) for _, ns in limits if ns]
    room = max(0.5 - (max(known) - min(known)) / 2, 0.06)
    return min(known) - room, max(known) + room


def timeline(interval_ns: int, maxima: Sequence[int | None], title: str, colour: int = 0,
             upright: tuple[float, float] | None = None,
             limits: Sequence[tuple[str, float]] = ()) -> str:
    """The maximum of each interval (logarithmic) over time; a gap: no sample in it."""
    upright = upright or span([maxima], limits)
    if upright is None or not any(maxima) or not interval_ns:
        return _nothing(title, "it has no timeline")
    x, y = Axis(0, len(maxima), LEFT, WIDTH - RIGHT), _upright(*upright)
    seconds = interval_ns * len(maxima) / 1e9
    parts = [svg.opened(WIDTH, HEIGHT, title), *_rows(y, "maximum of each interval", times=True)]
    for share in range(5):
        pixel = LEFT + share / 4 * (WIDTH - LEFT - RIGHT)
        parts.append(svg.text(pixel, HEIGHT - BOTTOM + 16, f"{seconds * share / 4:.4g} s"))
    for number, value in enumerate(maxima):
        if value:
            # A logarithmic axis has no zero for a bar to stand on: a stroke at the value.
            pixel, top = x.at(number), y.at(math.log10(value))
            parts.append(svg.bar(pixel, top - 1.5, max(x.at(number + 1) - pixel - 0.4, 1.5), 3,
                                 COLOURS[colour]))
    for name, ns in limits:
        if ns and upright[0] <= math.log10(ns) <= upright[1]:
            row = y.at(math.log10(ns))
            parts += [svg.line(f"M{LEFT} {row:.1f}H{WIDTH - RIGHT}", svg.BAD,
                               ' stroke-dasharray="6 4"'),
                      svg.text(WIDTH - RIGHT, row - 4, name, "end", svg.BAD, 11)]
    parts.append(svg.text(WIDTH - RIGHT, HEIGHT - 8, f"{len(maxima)} intervals of "
                          f"{time(interval_ns)}; a gap: no sample", "end"))
    return "".join([*parts, "</svg>"])


def strip(axis: Axis, values: Mapping[str, float | None], limits: Sequence[tuple[str, float]]
          ) -> str:
    """From min to max, dark from p50 to p99, the limits: a row of an overview, which says it."""
    parts = [svg.opened(STRIP, 14, "", ' aria-hidden="true" preserveAspectRatio="none"'),
             svg.bar(0, 1, STRIP, 12, svg.PANEL)]
    for low, high, opacity in (("min", "max", "0.28"), ("p50", "p99", "1")):
        a, b = values.get(low), values.get(high)
        if a is not None and b is not None:
            begin = axis.at(place(a))
            parts.append(svg.bar(begin, 1, max(axis.at(place(b)) - begin, 1.5), 12, svg.ONE,
                                 f' fill-opacity="{opacity}"'))
    if (most := values.get("max")) is not None:
        parts.append(svg.bar(axis.at(place(most)) - 1.5, 1, 3, 12, svg.ONE))
    parts += [svg.bar(axis.at(place(ns)) - 1, 0, 2, 14, svg.BAD) for _, ns in limits]
    return "".join([*parts, "</svg>"])
