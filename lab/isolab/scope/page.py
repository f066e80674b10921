# SPDX-License-Identifier: GPL-2.0-or-later
"""out/scope-report.json as a table, and as one page that needs nothing else."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from isolator_report import parts
from isolator_report.shell import shell

from .. import record
from .figure import CONFIGS, FIGURES, cell_of, figure, line_of, loads, mechanisms, said, scale

HEAD = ("mechanism", "configuration", "load", "triggers", "late", "missing", "unsure", "min",
        "mean", "p50", "p99", "max")  # fmt: skip
WORDS = len(("mechanism", "configuration", "load"))
Row = dict[str, Any]


def rows(report: Row) -> Iterator[tuple[str, ...]]:
    """Of each mechanism all configurations and loads, beside each other."""
    for mechanism in mechanisms(report):
        for config in report["configs"]:
            for cell in config["cells"]:
                for line in cell["lines"]:
                    if line["mechanism"] == mechanism:
                        yield (
                            mechanism, config["name"], cell["load"],
                            *(str(line[key]) for key in ("triggers", "late", "missing", "unsure")),
                            *(said(line[f"{key}_ns"]) for key in HEAD[WORDS + 4 :]),
                        )


def skipped(report: Row) -> list[str]:
    """Loads that could not run, by name."""
    found = [
        f"{cell['load']}: {cell['skipped']}"
        for config in report["configs"]
        for cell in config["cells"]
        if cell["skipped"]
    ]
    return list(dict.fromkeys(found))


def doubts(report: Row) -> list[str]:
    """Why a cell is no result."""
    return [
        f"{config['name']}, {cell['load']}: {doubt}"
        for config in report["configs"]
        for cell in config["cells"]
        for doubt in cell["doubts"]
    ]


def text(report: Row) -> str:
    """For a terminal."""
    lines = [HEAD, *rows(report)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEAD))]
    table = [
        "  ".join(
            cell.ljust(width) if place < WORDS else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    table += [f"skipped: {one}" for one in skipped(report)]
    table += [f"no result: {one}" for one in doubts(report)]
    return "\n".join(table)


def _table(head: Sequence[str], body: Iterator[tuple[str, ...]], words: int) -> str:
    numbers = " " * words + "n" * (len(head) - words)
    return parts.table(head, [[escape(cell) for cell in row] for row in body], numbers)


def _verdict(report: Row) -> tuple[str, str]:
    """Its kind, and its words."""
    lost = doubts(report)
    kind = "bad" if lost or report["inconclusive"] or report["broken"] else "good"
    words = lost or ["Each trigger is accounted for: answered, late or missing."]
    if report["inconclusive"]:
        words = [report["inconclusive"], *words]
    words = [*(f"Does not hold: {one}" for one in report["broken"]), *words, *_headlines(report)]
    words = [*words, *(f"Skipped: {one}." for one in skipped(report))]
    return kind, "".join(f"<p>{escape(one)}</p>" for one in words)


def _pair(report: Row, load: str, mechanism: str, key: str) -> list[Any]:
    """A value of a mechanism in both configurations; None: there is none."""
    lines = [line_of(cell_of(report, config, load), mechanism) for config in CONFIGS]
    return [line[key] if line else None for line in lines]


def _headlines(report: Row) -> list[str]:
    """A sentence a load: of the mechanism that was worst, and what isolation made of it."""
    found = []
    for load in loads(report):
        pairs = [(one, *_pair(report, load, one, "max_ns")) for one in mechanisms(report)]
        both = [row for row in pairs if row[1] is not None and row[2] is not None]
        if both:
            name, stock, isolated = max(both, key=lambda row: row[1])
            p50 = _pair(report, load, name, "p50_ns")
            found.append(f"{load}: worst answer of {name} {said(stock)} stock, {said(isolated)} "
                         f"isolated; median {said(p50[0])} and {said(p50[1])}.")
    return found


def _overview(report: Row) -> str:
    """Of each mechanism the p99 of each load, stock and isolated."""
    head = ["p99 of", *(f"{load}, {config}" for load in loads(report) for config in CONFIGS)]
    body = [[escape(one), *(escape(said(value)) for load in loads(report)
                            for value in _pair(report, load, one, "p99_ns"))]
            for one in mechanisms(report)]
    return parts.table(head, body, " " + "n" * (len(head) - 1))


def _platform(report: Row) -> Iterator[tuple[str, ...]]:
    yield "host", report["host"]
    yield "emulator", report["emulator"]
    for config in report["configs"]:
        yield f"{config['name']}: kernel", config["kernel"]
        yield f"{config['name']}: what it is", config["about"]
        for cell in config["cells"]:
            what = cell["what"] or cell["skipped"]
            yield f"{config['name']}, {cell['load']}", f"{what}{': ' if cell['did'] else ''}" + (
                cell["did"] or ""
            )
    yield "triggers", f"{report['hertz']:g} a second, their phase random from seed {report['seed']}"


def _floors(report: Row) -> Iterator[tuple[str, ...]]:
    for config in report["configs"]:
        for cell in config["cells"]:
            for floor in cell["floors"]:
                yield (
                    config["name"],
                    cell["load"],
                    floor["lines"],
                    *(
                        said(floor[f"{key}_ns"])
                        for key in ("resolution", "p50", "p99", "max", "jitter_max")
                    ),
                )


def _drawn(report: Row) -> tuple[str, str]:
    """The thesis' figures, and those of the other mechanisms; all on one scale."""
    thesis = {mechanism for _, mechanism, _ in FIGURES}
    there = mechanisms(report)
    shared = scale(report, there)
    first = "".join(
        f'<section tabindex="-1"><h2>Figure {number} again: {escape(mechanism)}</h2><figure>'
        f"{figure(report, mechanism, f'{mechanism}: {what}', shared)}</figure></section>"
        for number, mechanism, what in FIGURES
        if mechanism in there
    )
    more = "".join(
        f'<section tabindex="-1"><figure>{figure(report, one, one, shared)}</figure></section>'
        for one in there
        if one not in thesis
    )
    return first, more


def page(report: Row) -> str:
    drawn, more = _drawn(report)
    floors = _table(
        ("configuration", "load", "lines", "resolution", "loop-back p50", "p99", "max",
         "trigger late by at most"),
        _floors(report), 3,
    )  # fmt: skip
    body = (
        f"{_overview(report)}"
        "<p>A generator outside of the machine interrupts it, and notes on its own clock when "
        "each mechanism of the kernel answers: idle, and under the three loads of the thesis, "
        f"{' and '.join(CONFIGS)}. {report['seconds']:g} s for each.</p>"
        f"{drawn}"
        f'<section tabindex="-1"><h2>In figures</h2>{_table(HEAD, rows(report), WORDS)}'
        '<p class="dim">An answer after the next trigger is late and keeps its value; one that '
        "never came is missing, has no value, and counts as larger than all others in a "
        "percentile. Unsure: the generator was away just before it looked; the value is too "
        "large by up to that.</p></section>"
        f"<h2>The other mechanisms</h2>{more}"
        '<section tabindex="-1"><h2>Platform</h2>'
        f"{_table(('what', 'value'), _platform(report), 2)}</section>"
        '<section tabindex="-1"><h2>The instrument\'s floor</h2>'
        f'<p class="dim">What the generator measured of itself just before each run, beside '
        "the same load: no value of the machine can be less than the loop-back, and where its "
        f"maximum is large, so may be the machine's by it.</p>{floors}</section>"
        '<p class="dim">The same as data: <code>out/scope-report.json</code>, also inside this '
        "page.</p>"
    )
    kernels = [config["kernel"] for config in report["configs"]]
    return shell("isolator-scope: stock and isolated",
                 parts.result(*_verdict(report), record.facts(report, kernels), body),
                 heading="How long until each mechanism answers?", data=("report", report))
