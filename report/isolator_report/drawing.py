# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts as SVG: a log-log histogram, and a timeline of maxima.

Colours are CSS variables with a value to fall back on, so that a chart looks right alone
and follows the page's light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from .duration import time
from .histogram import Histogram

COLOURS = ("var(--one,#2563a8)", "var(--two,#c2571a)")
INK, DIM, LINE = "var(--fg,#1f2937)", "var(--dim,#6b7280)", "var(--line,#d1d5db)"
WIDTH, HEIGHT = 860, 330
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 20, 44
STEPS = 40  # buckets for each factor of 10


@dataclass(frozen=True)
class Curve:
    """Counts by bucket of equal ratio; `marks` are percentiles or limits, name and ns."""

    name: str
    bins: Mapping[int, int]
    most: int | None
    marks: Sequence[tuple[str, float]] = ()


def rebin(histogram: Histogram) -> dict[int, int]:
    """Counts by bucket of equal ratio; a wide bucket of the histogram goes to its middle."""
    found: dict[int, int] = {}
    for low, count in histogram.counts.items():
        middle = (low + histogram.end(low) + 1) / 2
        place = math.floor(math.log10(max(middle, 1)) * STEPS)
        found[place] = found.get(place, 0) + count
    return found


def _text(x: float, y: float, words: str, anchor: str = "middle", colour: str = DIM,
          size: int = 12) -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
            f'font-size="{size}">{escape(words)}</text>')


def _open(title: str, extra: str = "") -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'font-family="system-ui,sans-serif" aria-label="{escape(title)}"{extra}>'
            f"<title>{escape(title)}</title>")


class _Frame:
    """Both axes logarithmic, or time from left to right."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.low, self.high = x
        self.floor, self.ceiling = y

    def x(self, value: float) -> float:
        return LEFT + (value - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (value - self.floor) / (self.ceiling - self.floor) * (
            HEIGHT - TOP - BOTTOM)

    def rows(self, label: str, times: bool) -> list[str]:
        """Lines and numbers of the upright axis, one for each factor of 10."""
        found = []
        for power in range(math.ceil(self.floor), math.floor(self.ceiling) + 1):
            y = self.y(power)
            words = time(10**power) if times else f"{10**power:,}".replace(",", " ")
            found += [f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{LINE}"/>',
                      _text(LEFT - 6, y + 4, words, "end")]
        return [*found, _text(4, 12, label, "start")]


def histogram(curves: Sequence[Curve], title: str) -> str:
    """Counts (logarithmic) over values (logarithmic), the curves on top of each other."""
    binned = [curve.bins for curve in curves]
    places = [place for row in binned for place in row]
    if not places:
        return _open(title) + _text(WIDTH / 2, HEIGHT / 2, "no sample in it") + "</svg>"
    ends = [math.log10(max(curve.most or 1, 1)) * STEPS for curve in curves]
    low = min(places) - 2
    high = max([max(places) + 3, *(end + 2 for end in ends)])
    most = max(count for row in binned for count in row.values())
    frame = _Frame((low, high), (math.log10(0.7), max(math.log10(most) * 1.04, 1.0)))
    data = ";".join(f"{curve.name}|" + ",".join(f"{place}:{count}" for place, count in
                                                sorted(row.items()))
                    for curve, row in zip(curves, binned, strict=True))
    parts = [_open(title, f' class="chart" tabindex="0" data-steps="{STEPS}" '
                          f'data-low="{low}" data-high="{high}" data-left="{LEFT}" '
                          f'data-right="{WIDTH - RIGHT}" data-bins="{escape(data)}"')]
    parts += frame.rows("samples", times=False)
    for power in range(math.floor(low / STEPS), math.floor(high / STEPS) + 1):
        for digit in (1, 2, 5):
            x = frame.x((power + math.log10(digit)) * STEPS)
            if not LEFT <= x <= WIDTH - RIGHT:
                continue
            if digit == 1:
                parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{LINE}"/>')
            parts.append(_text(x, HEIGHT - BOTTOM + 16, time(digit * 10**power),
                               size=12 if digit == 1 else 10))
    for number, (curve, row) in enumerate(zip(curves, binned, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        path, before = [], None
        for place in sorted(row):
            if place - 1 != before:
                path.append(f"M{frame.x(place):.1f} {frame.y(frame.floor):.1f}")
            path.append(f"V{frame.y(math.log10(row[place])):.1f}H{frame.x(place + 1):.1f}")
            if place + 1 not in row:
                path.append(f"V{frame.y(frame.floor):.1f}")
            before = place
        parts.append(f'<path d="{"".join(path)}" fill="{colour}" fill-opacity="0.28" '
                     f'stroke="{colour}" stroke-width="1.4"/>')
        for mark, value in [*curve.marks, *([("max", curve.most)] if curve.most else [])]:
            x = frame.x(math.log10(max(value, 1)) * STEPS)
            parts += [f'<path d="M{x:.1f} {TOP + 14 * number}V{HEIGHT - BOTTOM}" '
                      f'stroke="{colour}" stroke-dasharray="3 3"/>',
                      _text(x + 3, TOP + 10 + 14 * number, mark, "start", colour, 11)]
        parts.append(_text(WIDTH - RIGHT, HEIGHT - 8 - 14 * (len(curves) - 1 - number),
                           curve.name, "end", colour, 13))
    parts += [f'<path class="cursor" d="M0 {TOP}V{HEIGHT - BOTTOM}" stroke="{INK}" '
              'visibility="hidden"/>', "</svg>"]
    return "".join(parts)


def timeline(interval_ns: int, maxima: Sequence[int | None], title: str, colour: int = 0) -> str:
    """The maximum of each interval (logarithmic) over time; a gap: no sample in it."""
    known = [value for value in maxima if value]
    if not known or not interval_ns:
        return _open(title) + _text(WIDTH / 2, HEIGHT / 2, "it has no timeline") + "</svg>"
    floor, ceiling = math.log10(min(known)), math.log10(max(known))
    room = max(0.5 - (ceiling - floor) / 2, 0.06)
    frame = _Frame((0, len(maxima)), (floor - room, ceiling + room))
    seconds = interval_ns * len(maxima) / 1e9
    parts = [_open(title), *frame.rows("maximum of each interval", times=True)]
    for share in range(5):
        x = LEFT + share / 4 * (WIDTH - LEFT - RIGHT)
        parts.append(_text(x, HEIGHT - BOTTOM + 16, f"{seconds * share / 4:.4g} s"))
    for place, value in enumerate(maxima):
        if value:
            x, y = frame.x(place), frame.y(math.log10(value))
            width = max(frame.x(place + 1) - x - 0.4, 0.6)
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                         f'height="{HEIGHT - BOTTOM - y:.1f}" fill="{COLOURS[colour]}" '
                         f'fill-opacity="0.75"/>')
    parts.append(_text(WIDTH - RIGHT, HEIGHT - 8, f"{len(maxima)} intervals of "
                       f"{time(interval_ns)}; a gap: no sample", "end"))
    return "".join([*parts, "</svg>"])
