# SPDX-License-Identifier: GPL-2.0-or-later
"""out/matrix.json as a page that needs nothing else, and as text for a terminal."""

import html
from pathlib import Path
from typing import Any

from isolator_report import parts, svg
from isolator_report.shell import shell

from .. import record, table, term

HERE = Path(__file__).parent
COLOURS = {"stock": svg.BAD, "tuned": svg.MID, "isolator": svg.GOOD}
LEFT, WIDTH, RIGHT, STEP = 110, 560, 150, 30
# Of a row in a configuration, as page.js has it: class of its cell, colour, words.
KINDS = (("none", svg.GOOD, "not once"), ("few", svg.MID, "only as often as anyway"),
         ("many", svg.BAD, "more often than without the event"))


def interrupting(report: dict[str, Any], column: str) -> int:
    """How many rows interrupt in this configuration."""
    return sum(bool(r["interrupts"].get(column)) for r in report["rows"])


def _ran(report: dict[str, Any], column: str) -> int:
    return sum(column in r["cells"] for r in report["rows"])


def _entries(report: dict[str, Any], column: str) -> int:
    return sum(
        r["cells"][column]["kernel_entries"]
        for r in report["rows"]
        if column in r["cells"] and r["class"] != "immediate"
    )


def _hangs(report: dict[str, Any], column: str) -> int:
    return sum(not r["cells"][column]["returned"] for r in report["rows"] if column in r["cells"])


def _kind(row: dict[str, Any], column: str) -> str | None:
    """Which of KINDS; None: it did not run there."""
    cell = row["cells"].get(column)
    if cell is None or cell["outcome"] == "missing":
        return None
    if row["interrupts"].get(column):
        return "many"
    return "few" if cell["kernel_entries"] else "none"


def _picture(report: dict[str, Any]) -> str:
    """How many rows interrupt each configuration, on one scale."""
    columns = list(report["columns"])
    counts = {column: [sum(_kind(row, column) == kind for row in report["rows"])
                       for kind, _, _ in KINDS] for column in columns}
    most = max([1, *(sum(row) for row in counts.values())])
    height = 56 + STEP * len(columns)
    out = [svg.opened(LEFT + WIDTH + RIGHT, height, "Rows that interrupt, by configuration")]
    for number, column in enumerate(columns):
        x, y = float(LEFT), 12 + STEP * number
        out.append(svg.text(LEFT - 8, y + 14, column, "end", svg.INK))
        for (_, colour, words), n in zip(KINDS, counts[column], strict=True):
            out.append(svg.bar(x, y, WIDTH * n / most, 18, colour, title=f"{n} rows: {words}"))
            x += WIDTH * n / most
        out.append(svg.text(x + 6, y + 14, f"{counts[column][2]} of {sum(counts[column])}", "start",
                            svg.INK))
    x = float(LEFT)
    for _, colour, words in KINDS:
        out += [svg.bar(x, height - 34, 10, 10, colour),
                svg.text(x + 14, height - 25, words, "start", svg.INK, 11)]
        x += 34 + 6 * len(words)
    out += [svg.text(LEFT, height - 6, "rows, by how often the event interrupted; beside it: those "
                     "that do, of those that ran", "start", svg.DIM, 11), "</svg>"]
    return f"<figure>{''.join(out)}</figure>"


def _summary(report: dict[str, Any]) -> str:
    cards = []
    for column in report["columns"]:
        hangs = _hangs(report, column)
        colour = COLOURS[report["columns"][column]["config"]]
        cards.append(
            f'<div class="card" style="border-color:{colour}"><b class="big" '
            f'style="color:{colour}">{interrupting(report, column)}</b>'
            f"of {_ran(report, column)} rows interrupt "
            f"{html.escape(column)}{f'; {hangs} hang' if hangs else ''}"
            f'<br><span class="dim">{_entries(report, column):,} interruptions; rows of class '
            "immediate, which may interrupt, are not counted in it</span></div>"
        )
    return f'<div class="cards">{"".join(cards)}</div>'


def _verdict(report: dict[str, Any]) -> tuple[str, str]:
    """Its kind and its words."""
    if not report["judged"]:
        return "mid", "<b>Not judged</b>: part of the rows only."
    if not report["broken"]:
        return "good", "<b>Every claim holds.</b>"
    items = "".join(f"<li>{html.escape(b)}</li>" for b in report["broken"])
    return "bad", f"<b>What does not hold:</b><ul>{items}</ul>"


def _headline(report: dict[str, Any]) -> str:
    """A sentence: how many of what is known to interrupt does, by configuration."""
    said = ", ".join(f"{interrupting(report, column)} of {_ran(report, column)} interrupt "
                     f"{html.escape(column)}" for column in report["columns"])
    return f"<p>Of the events that ran {said}.</p>" if said else ""


FORM = """<form id="form">
<input id="text" type="search" placeholder="filter" aria-label="filter by text">
<select id="class" aria-label="class"><option value="">all classes</option></select>
<select id="what" aria-label="which rows"><option value="run">rows that were run</option>
<option value="">all rows</option><option value="tuned">that interrupt tuned</option>
<option value="nothing">that interrupt nothing on stock</option>
<option value="not">that were not run</option></select>
<span id="count" class="dim" role="status"></span></form>
<div class="scroll" tabindex="0" role="region" aria-label="all rows"><table><thead><tr id="head">
<th scope="col">what happens</th><th scope="col">row</th><th scope="col">class</th></tr></thead>
<tbody id="rows"></tbody></table></div>"""


def page(report: dict[str, Any]) -> str:
    body = f"""<p class="lead">A task fills one CPU core. On the others, one thing after another
happens that is known to interrupt cores. A figure is how often the kernel took the core from the
task meanwhile, counted from outside the machine, by the emulator: counts, not times. Green: not
once. Red: more often than without the event. Ochre: only as often as anyway.</p>
{_summary(report)}{_picture(report)}<h2>All rows</h2>{FORM}
<p class="dim">The same as data: matrix.json, also inside this page.</p>
"""
    kind, verdict = _verdict(report)
    kernels = [column["kernel"]["release"] for column in report["columns"].values()]
    style, script = ((HERE / name).read_text() for name in ("page.css", "page.js"))
    return shell("Isolator: the interference matrix",
                 parts.result(kind, verdict + _headline(report), record.facts(report, kernels),
                              body),
                 heading="What reaches a busy core?", style=style, script=script,
                 data=("matrix", report))


def _cell(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    if cell["outcome"] == "missing":
        return "missing"
    if not cell["returned"]:
        return "NOT BACK"
    text = f"{cell['kernel_entries']:>5} {table.vectors(cell, 2)}".rstrip()
    return text if cell["worked"] else f"{text} FAILED"


def text(report: dict[str, Any], names: set[str]) -> str:
    """The rows @names as a table, and the summary."""
    columns = list(report["columns"])
    rows = [("row", "name", "class", *columns, "seconds")]
    for row in report["rows"]:
        if row["name"] not in names:
            continue
        of = [row["cells"].get(c) for c in columns]
        rows.append(
            (
                row["row"], row["name"], row["class"], *(_cell(c) for c in of),
                "/".join(f"{c['seconds']:.2f}" if c else "" for c in of),
            )
        )
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(v.ljust(w) for v, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    lines.insert(1, "-" * max(map(len, lines)))
    lines.append("")
    for column in columns:
        hangs = _hangs(report, column)
        code = "32" if not interrupting(report, column) else "33"
        lines.append(
            term.colour(
                f"{column:14} {interrupting(report, column):>3} of {_ran(report, column)} rows "
                f"interrupt it{f', {hangs} hang' if hangs else ''}; "
                f"{_entries(report, column)} kernel entries without class immediate",
                code,
            )
        )
    silent = [
        r["name"]
        for r in report["rows"]
        if r["runs"] and not any(r["interrupts"].get(c) for c in columns if c.startswith("stock"))
    ]
    if silent and any(c.startswith("stock") for c in columns):
        lines.append(f"interrupt nothing on stock, so prove nothing: {', '.join(silent)}")
    return "\n".join(lines)
