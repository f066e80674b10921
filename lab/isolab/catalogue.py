# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue of interference: lab/catalogue as data, docs/catalogue.md as a page."""

import functools
import tomllib
from dataclasses import dataclass
from typing import Any

from . import table
from .header import Trigger
from .paths import LAB

ORDER = ("text", "mm", "percpu", "rendezvous", "sched", "time", "readers")
SPARED = {
    "interrupts": "interrupts", "state": "if it left something there",
    "self": "only its own process", "spared": "spared", "hardware": "hardware",
}


@dataclass(frozen=True)
class Row:
    number: int
    section: str
    source: str
    what: str
    trigger: str
    arch: tuple[str, ...]
    stock: str
    policy: str
    how: str
    untriggered: str
    note: str


@functools.cache
def rows() -> dict[int, Row]:
    """All rows by number."""
    found = {}
    for name in ORDER:
        data = tomllib.loads((LAB / "catalogue" / f"{name}.toml").read_text())
        for item in data["row"]:
            item["arch"] = tuple(item["arch"])
            row = Row(section=data["title"], **item)
            found[row.number] = row
    return found


@functools.cache
def callbacks() -> dict[str, int]:
    """Callbacks that an isolated CPU has been asked for, and their rows."""
    data = tomllib.loads((LAB / "catalogue" / "callbacks.toml").read_text())
    return {name: int(row) for name, row in data["callbacks"].items()}


def untriggered(triggers: list[Trigger]) -> dict[int, str]:
    """Rows that no trigger realises, and why."""
    realised = {n for t in triggers for n in t.rows}
    return {n: r.untriggered for n, r in sorted(rows().items()) if n not in realised}


def open_rows(matrix_rows: list[dict[str, Any]]) -> list[int]:
    """Rows of the catalogue with neither a trigger nor a reason for having none."""
    return [int(r["row"]) for r in matrix_rows if not r["runs"] and r["why_not"] == ""]


def _measured(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    if not cell["returned"]:
        return "**hangs**"
    if not cell["worked"]:
        return "failed"
    text = str(cell["kernel_entries"])
    vectors = table.vectors(cell, 2)
    return f"{text} ({vectors})" if vectors else text


def _isolated(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    parts = [
        f"{cell[c]} {c}"
        for c in ("deferred", "excluded", "queued", "refused", "immediate")
        if cell[c]
    ]
    text = _measured(cell)
    return f"{text}: {', '.join(parts)}" if parts else text


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _table(measured: list[dict[str, Any]]) -> list[str]:
    lines = ["| measured by | stock | tuned | isolator | seconds |", "|---|---|---|---|---|"]
    for row in measured:
        for flavour in ("rt", "nort"):
            of = [row["cells"].get(f"{c}-{flavour}") for c in ("stock", "tuned", "isolator")]
            if any(of):
                seconds = "/".join(f"{c['seconds']:.2f}" if c else "" for c in of)
                lines.append(
                    f"| `{row['name']}` {flavour} | {_measured(of[0])} | {_measured(of[1])} | "
                    f"{_isolated(of[2])} | {seconds} |"
                )
    return lines


def _section(title: str, matrix_rows: list[dict[str, Any]]) -> list[str]:
    lines = [f"## {title}", ""]
    by_number: dict[int, list[dict[str, Any]]] = {}
    for row in matrix_rows:
        if row["runs"]:
            by_number.setdefault(int(row["row"].split(",")[0]), []).append(row)
    also = {
        n: row["name"]
        for row in matrix_rows
        if row["runs"]
        for n in (int(w) for w in row["row"].split(",")[1:])
    }
    for number, entry in sorted(rows().items()):
        if entry.section != title:
            continue
        lines += [
            f"### {number}. {_escape(entry.source)}",
            "",
            f"{entry.what}",
            "",
            f"- Caused by: {entry.trigger}",
            f"- Stock, a busy `nohz_full` CPU: {SPARED[entry.stock]}"
            + (f" ({', '.join(entry.arch)})" if entry.arch else ""),
            f"- Isolator: **{entry.policy}**. {entry.how}",
        ]
        if entry.note:
            lines.append(f"- Note: {entry.note}")
        if number in by_number:
            lines += ["", *_table(by_number[number])]
        elif number in also:
            lines += ["", f"Measured together with another row, by `{also[number]}`."]
        else:
            lines += ["", f"Not run: {entry.untriggered}"]
        lines.append("")
    return lines


def columns(matrix_rows: list[dict[str, Any]]) -> list[str]:
    """When each column was measured and on which kernel, by what its cells say."""
    lines = ["| column | cells | measured | kernels |", "|---|---|---|---|"]
    for column in sorted({c for row in matrix_rows for c in row["cells"]}):
        of = [row["cells"][column] for row in matrix_rows if column in row["cells"]]
        days = sorted({cell["when"][:10] for cell in of})
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        kernels = ", ".join(sorted({f"`{cell['kernel']}`" for cell in of}))
        lines.append(f"| {column} | {len(of)} | {when} | {kernels} |")
    return lines


def page(report: dict[str, Any]) -> str:
    """docs/catalogue.md: what was read in the source, and what was measured."""
    ran = [r for r in report["rows"] if r["runs"]]
    still = [r for r in rows().values() if r.untriggered]
    lines = [
        "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->", "# What interrupts a CPU", "",
        "This page lists every known source of interruptions of a CPU that runs one busy task,",
        "what Isolator does about it, and what was measured. `make matrix` writes the page;",
        "its texts are in `lab/catalogue/`, its measurements come from `out/matrix.json`.", "",
        "A figure says how often the kernel took the CPU from the task while the trigger ran,",
        "counted from outside the guest, with the vectors of these entries. Where the scheduler",
        "tick runs (stock), most of it is the timer. Counts are exact; the seconds are an",
        "emulator's, and can be compared only within a line.",
        f"{len(ran)} triggers with {report['emulator']}, which cover {len(rows()) - len(still)}",
        f"of {len(rows())} rows; the other {len(still)} each say why not.",
        "Each column was measured on days of its own:", "", *columns(report["rows"]), "",
    ]
    for title in dict.fromkeys(r.section for r in rows().values()):
        lines += _section(title, report["rows"])
    return "\n".join(lines).rstrip() + "\n"
