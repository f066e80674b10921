# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of isolab scope-report: of a mechanism, each load a row, stock above, isolated below."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from isolator_report import drawing, duration, svg
from isolator_report.axis import STEPS, Axis, place
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

Row = dict[str, Any]


def said(value: int | float | str | None) -> str:
    """A time for people; one that lies among the missing answers has none."""
    return "–" if value is None else value if isinstance(value, str) else duration.time(value)


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


@dataclass(frozen=True)
class Scale:
    """One for figures beside each other, so that they can be compared."""

    axis: Axis  # times from left to right
    most: int  # in one place


def scale(report: Row, names: Iterable[str]) -> Scale | None:
    """Of all values of these mechanisms; None: there is no value."""
    lines = [line for row in report["configs"] for cell in row["cells"] for line in cell["lines"]
             if line["mechanism"] in names and line["max_ns"] is not None]
    binned = [drawing.rebin(Histogram.decode(line["histogram"])) for line in lines]
    places = [where for row in binned for where in row]
    if not places:
        return None
    return Scale(_axis(places, [line["max_ns"] for line in lines]),
                 max(count for row in binned for count in row.values()))


def _axis(places: list[int], most: list[int]) -> Axis:
    """Times from left to right, logarithmic."""
    high = max([max(places) + 3.0, *(place(ns) + 2 for ns in most)])
    return Axis(min(places) - 2.0, high, LEFT, WIDTH - RIGHT)


def _ticks(axis: Axis, bottom: float) -> list[str]:
    found = []
    for x, _, ns in axis.times((1,) if axis.high - axis.low > 3 * STEPS else (1, 2, 5)):
        found += [
            svg.line(f"M{x:.1f} {TOP}V{bottom:.1f}"),
            svg.text(x, bottom + 16, duration.time(ns), size=11),
        ]
    return found


def _half(axis: Axis, line: Row, base: float, sign: int, colour: str, most: int) -> list[str]:
    """The values of one configuration, away from the row's middle; heights are logarithmic."""
    counts = drawing.rebin(Histogram.decode(line["histogram"]))
    share = sign * HALF / math.log10(1 + most)
    tops = {where: base + share * math.log10(1 + count) for where, count in counts.items()}
    filled = f' fill="{colour}" fill-opacity="0.35" stroke-width="1"'
    found = [svg.line(axis.outline(tops, base), colour, filled)]
    for key, dash in (("p50_ns", ""), ("p99_ns", ' stroke-dasharray="3 3"')):
        if isinstance(line[key], int):
            x = axis.at(place(line[key]))
            path = f"M{x:.1f} {base:.1f}v{sign * HALF}"
            found.append(svg.line(path, colour, f' stroke-width="1.6"{dash}'))
    if line["max_ns"] is not None:
        x, y = axis.at(place(line["max_ns"])), base + sign * 7
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


def figure(report: Row, mechanism: str, title: str, shared: Scale | None = None) -> str:
    """Of one mechanism: all loads, both configurations; by a shared scale, or one of its own."""
    rows = loads(report)
    cells = {(c, load): cell_of(report, c, load) for c in CONFIGS for load in rows}
    lines = {key: line_of(cell, mechanism) for key, cell in cells.items()}
    shared = shared or scale(report, {mechanism})
    height = TOP + ROW * len(rows) + BOTTOM
    parts = [svg.opened(WIDTH, height, title), svg.text(LEFT, 16, title, "start", svg.INK, 15)]
    if shared:
        parts += _ticks(shared.axis, TOP + ROW * len(rows))
    for number, load in enumerate(rows):
        base = TOP + ROW * number + ROW / 2
        parts += [
            svg.line(f"M{LEFT} {base:.1f}H{WIDTH - RIGHT}", svg.DIM),
            svg.text(LEFT - 8, base + 4, load, "end", svg.INK, 13),
        ]
        for config, sign in zip(CONFIGS, (-1, 1), strict=True):
            line, colour = lines[config, load], COLOURS[config]
            if shared and line and line["max_ns"] is not None:
                parts += _half(shared.axis, line, base, sign, colour, shared.most)
            values, lacks = _words(line, cells[config, load])
            x, y = WIDTH - RIGHT + 10, base - 19 if sign < 0 else base + 15
            parts += [
                svg.text(x, y, values, "start", colour, 11),
                svg.text(x, y + 12, lacks[:46], "start", svg.DIM, 10),
            ]
    parts += [
        svg.text(LEFT, height - 8, "above: stock", "start", COLOURS["stock"], 12),
        svg.text(LEFT + 90, height - 8, "below: isolated", "start", COLOURS["isolated"], 12),
        svg.text(LEFT + 190, height - 8,
                 "line p50, dashes p99, dot max; heights are logarithmic", "start", svg.DIM, 11),
        "</svg>",
    ]  # fmt: skip
    return "".join(parts)


def picture(report: Row) -> str:
    """The thesis' figures in one drawing, for a document."""
    shared = scale(report, {mechanism for _, mechanism, _ in FIGURES})
    drawn = [
        figure(report, mechanism, f"Figure {number} again: {mechanism}, {what}", shared)
        for number, mechanism, what in FIGURES
    ]
    each = TOP + ROW * len(loads(report)) + BOTTOM + 12
    inside = "".join(
        f'<svg y="{number * each}" width="{WIDTH}" height="{each - 12}"' + one.removeprefix("<svg")
        for number, one in enumerate(drawn)
    )
    height = each * len(drawn)
    title = "How long until a mechanism answers, stock and isolated"
    return (
        f"{svg.LICENCE}{svg.opened(WIDTH, height, title)}{svg.paper(WIDTH, height)}{inside}</svg>\n"
    )
