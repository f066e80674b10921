# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of isolab scope-report: of a mechanism, each load a row, stock above, isolated below."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from isolator_report import drawing, shape
from isolator_report.histogram import Histogram

# Of the thesis: its number, our name of the mechanism, what it is.
FIGURES = (
    ("5.9", "irq", "the interrupt's handler"),
    ("5.10", "tasklet", "a tasklet"),
    ("5.11", "work", "a workqueue"),
    ("5.12", "user", "a task in a blocking read"),
)
CONFIGS = ("stock", "isolated")
COLOURS = dict(zip(CONFIGS, reversed(drawing.COLOURS), strict=True))
WIDTH, LEFT, RIGHT, TOP, ROW, HALF, BOTTOM = 860, 84, 250, 30, 76, 32, 46
FONT = 'font-family="system-ui,sans-serif"'

Row = dict[str, Any]


def said(value: int | float | str | None) -> str:
    """A time for people; one that lies among the missing answers has none."""
    return "–" if value is None else value if isinstance(value, str) else shape.time(value)


def line_of(cell: Row | None, mechanism: str) -> Row | None:
    """What a cell has of one mechanism."""
    lines = cell["lines"] if cell else []
    return next((line for line in lines if line["mechanism"] == mechanism), None)


def cell_of(report: Row, config: str, load: str) -> Row | None:
    """One load in one configuration."""
    cells = [c for row in report["configs"] if row["name"] == config for c in row["cells"]]
    return next((cell for cell in cells if cell["load"] == load), None)


def loads(report: Row) -> list[str]:
    """In their order."""
    return list(dict.fromkeys(c["load"] for row in report["configs"] for c in row["cells"]))


def mechanisms(report: Row) -> list[str]:
    """In the order of the lines."""
    return list(
        dict.fromkeys(
            line["mechanism"]
            for row in report["configs"]
            for cell in row["cells"]
            for line in cell["lines"]
        )
    )


def _text(x: float, y: float, words: str, anchor: str, colour: str, size: int) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
        f'font-size="{size}">{escape(words)}</text>'
    )


class _Axis:
    """Times from left to right, logarithmic."""

    def __init__(self, places: list[int], most: list[int]) -> None:
        ends = [math.log10(max(ns, 1)) * drawing.STEPS for ns in most]
        self.low = min(places) - 2.0
        self.high = max([max(places) + 3.0, *(end + 2 for end in ends)])

    def x(self, place: float) -> float:
        return LEFT + (place - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)

    def at(self, ns: float) -> float:
        return self.x(math.log10(max(ns, 1)) * drawing.STEPS)

    def ticks(self, bottom: float) -> list[str]:
        found = []
        few = self.high - self.low > 3 * drawing.STEPS
        for power in range(
            math.floor(self.low / drawing.STEPS), math.floor(self.high / drawing.STEPS) + 1
        ):
            for digit in (1,) if few else (1, 2, 5):
                x = self.at(digit * 10.0**power)
                if LEFT <= x <= WIDTH - RIGHT:
                    found += [
                        f'<path d="M{x:.1f} {TOP}V{bottom:.1f}" stroke="{drawing.LINE}"/>',
                        _text(
                            x, bottom + 16, shape.time(digit * 10.0**power), "middle",
                            drawing.DIM, 11,
                        ),
                    ]  # fmt: skip
        return found


def _half(axis: _Axis, line: Row, base: float, sign: int, colour: str, most: int) -> list[str]:
    """The values of one configuration, away from the row's middle; heights are logarithmic."""
    counts = drawing.rebin(Histogram.decode(line["histogram"]))
    path, before = [], None
    for place in sorted(counts):
        height = HALF * math.log10(1 + counts[place]) / math.log10(1 + most)
        if place - 1 != before:
            path.append(f"M{axis.x(place):.1f} {base:.1f}")
        path.append(f"V{base + sign * height:.1f}H{axis.x(place + 1):.1f}")
        if place + 1 not in counts:
            path.append(f"V{base:.1f}")
        before = place
    found = [
        f'<path d="{"".join(path)}" fill="{colour}" fill-opacity="0.35" stroke="{colour}" '
        'stroke-width="1"/>'
    ]
    for key, dash in (("p50_ns", ""), ("p99_ns", ' stroke-dasharray="3 3"')):
        if isinstance(line[key], int):
            found.append(
                f'<path d="M{axis.at(line[key]):.1f} {base:.1f}v{sign * HALF}" '
                f'stroke="{colour}" stroke-width="1.6"{dash}/>'
            )
    if line["max_ns"] is not None:
        x, y = axis.at(line["max_ns"]), base + sign * 7
        found.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
    return found


def _words(line: Row | None, cell: Row | None) -> tuple[str, str]:
    """What stands beside a half: its values; what it lacks."""
    if cell is None:
        return "not measured", ""
    if cell["skipped"]:
        return "skipped", cell["skipped"]
    if line is None:
        return "no answers asked for", ""
    lacks = [f"{line[key]} {key}" for key in ("missing", "late") if line[key]]
    return (
        f"p50 {said(line['p50_ns'])}, p99 {said(line['p99_ns'])}, max {said(line['max_ns'])}",
        ", ".join([f"{line['triggers']} triggers", *lacks]),
    )


def figure(report: Row, mechanism: str, title: str) -> str:
    """Of one mechanism: all loads, both configurations."""
    rows = loads(report)
    cells = {(c, load): cell_of(report, c, load) for c in CONFIGS for load in rows}
    lines = {key: line_of(cell, mechanism) for key, cell in cells.items()}
    known = [line for line in lines.values() if line and line["max_ns"] is not None]
    height = TOP + ROW * len(rows) + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'{FONT} aria-label="{escape(title)}"><title>{escape(title)}</title>',
        _text(LEFT, 16, title, "start", drawing.INK, 15),
    ]
    binned = [drawing.rebin(Histogram.decode(line["histogram"])) for line in known]
    places = [place for row in binned for place in row]
    axis = _Axis(places, [line["max_ns"] for line in known]) if places else None
    most = max((count for row in binned for count in row.values()), default=1)
    if axis:
        parts += axis.ticks(TOP + ROW * len(rows))
    for number, load in enumerate(rows):
        base = TOP + ROW * number + ROW / 2
        parts += [
            f'<path d="M{LEFT} {base:.1f}H{WIDTH - RIGHT}" stroke="{drawing.DIM}"/>',
            _text(LEFT - 8, base + 4, load, "end", drawing.INK, 13),
        ]
        for config, sign in zip(CONFIGS, (-1, 1), strict=True):
            line, colour = lines[config, load], COLOURS[config]
            if axis and line and line["max_ns"] is not None:
                parts += _half(axis, line, base, sign, colour, most)
            values, lacks = _words(line, cells[config, load])
            x, y = WIDTH - RIGHT + 10, base - 19 if sign < 0 else base + 15
            parts += [
                _text(x, y, values, "start", colour, 11),
                _text(x, y + 12, lacks[:46], "start", drawing.DIM, 10),
            ]
    parts += [
        _text(LEFT, height - 8, "above: stock", "start", COLOURS["stock"], 12),
        _text(LEFT + 90, height - 8, "below: isolated", "start", COLOURS["isolated"], 12),
        _text(
            LEFT + 190, height - 8,
            "line p50, dashes p99, dot max; heights are logarithmic", "start", drawing.DIM, 11,
        ),
        "</svg>",
    ]  # fmt: skip
    return "".join(parts)


def picture(report: Row) -> str:
    """The thesis' figures in one drawing, for a document."""
    drawn = [
        figure(report, mechanism, f"Figure {number} again: {mechanism}, {what}")
        for number, mechanism, what in FIGURES
    ]
    each = TOP + ROW * len(loads(report)) + BOTTOM + 12
    inside = "".join(
        f'<svg y="{place * each}" width="{WIDTH}" height="{each - 12}"'
        + one.removeprefix('<svg xmlns="http://www.w3.org/2000/svg"')
        for place, one in enumerate(drawn)
    )
    return (
        "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {each * len(drawn)}">'
        f'<rect width="100%" height="100%" fill="var(--bg,#fff)"/>{inside}</svg>\n'
    )
