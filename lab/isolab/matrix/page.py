# SPDX-License-Identifier: GPL-2.0-or-later
"""out/matrix.json as a page that needs nothing else, and as text for a terminal."""

import html
from pathlib import Path
from typing import Any

from isolator_report.shell import shell

from .. import table, term

HERE = Path(__file__).parent


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


def _summary(report: dict[str, Any]) -> str:
    cards = []
    for column in report["columns"]:
        hangs = _hangs(report, column)
        cards.append(
            f'<div class="card"><b class="big">{interrupting(report, column)}</b>'
            f"of {_ran(report, column)} rows interrupt "
            f"{html.escape(column)}{f'; {hangs} hang' if hangs else ''}"
            f'<br><span class="dim">{_entries(report, column):,} entries without class immediate'
            "</span></div>"
        )
    return f'<div class="cards">{"".join(cards)}</div>'


def _verdict(report: dict[str, Any]) -> str:
    if not report["judged"]:
        return "<p>Part of the rows only: the claims of the whole were not judged.</p>"
    if not report["broken"]:
        return '<p class="good">Every claim holds.</p>'
    items = "".join(f"<li>{html.escape(b)}</li>" for b in report["broken"])
    return f'<p class="bad">What does not hold:</p><ul>{items}</ul>'


def page(report: dict[str, Any]) -> str:
    body = f"""<p class="lead">A task fills one CPU core. On the others, one thing after another
happens that is known to interrupt cores. A figure is how often the kernel took the core from the
task meanwhile, counted from outside the machine, by the emulator
({html.escape(report["emulator"])}): counts, not times. Green: not once. Red: more often than
without the event. Ochre: only as often as anyway.</p>
{_summary(report)}{_verdict(report)}
<form><input id="text" type="search" placeholder="filter" aria-label="filter by text">
<select id="class" aria-label="class"><option value="">all classes</option></select>
<select id="what" aria-label="which rows"><option value="run">rows that were run</option>
<option value="">all rows</option><option value="tuned">that interrupt tuned</option>
<option value="nothing">that interrupt nothing on stock</option>
<option value="not">that were not run</option></select><span id="count" class="dim"></span></form>
<table><thead><tr id="head"><th>row</th><th>what happens</th><th>class</th></tr></thead>
<tbody></tbody></table>
<p class="dim">{html.escape(report["when"])}, {html.escape(report["host"])}. The same as data:
matrix.json, also inside this page.</p>
"""
    style, script = ((HERE / name).read_text() for name in ("page.css", "page.js"))
    return shell("Isolator: the interference matrix", body, heading="What reaches a busy core?",
                 style=style, script=script, data=("matrix", report))


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
