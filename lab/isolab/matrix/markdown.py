# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/catalogue.md: what was read in Linux's source, and what was measured on each machine.

A report is of one machine, perhaps of one preemption model.  So a page keeps what the one before it
says of others.
"""

import re
from collections.abc import Iterable
from typing import Any

from .. import catalogue, table
from ..guests import machine
from ..header import Trigger
from ..judge import jobs

CONFIGS = tuple(config.name for config in jobs.CONFIGS)
FLAVOURS = ("rt", "nort")
# Beside a figure of stock: it proves nothing.
NOBODY = "†"
# What one machine has of a line, or a line of its own, by its key.
Figures = dict[tuple[str, ...], tuple[str, ...]]
_LINE = re.compile(r"^\| `([a-z0-9-]+)` (rt|nort) \|(.*)\|$")
_OF = re.compile(rf"^\| ({'|'.join(machine.NAMES)}) \| (.*) \|$")


def _measured(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    if cell["outcome"] == "missing":
        return "missing"
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


def _stock(row: dict[str, Any], column: str) -> str:
    text = _measured(row["cells"].get(column))
    return text if not text or row["interrupts"].get(column, True) else f"{text} {NOBODY}"


def figures(rows: Iterable[dict[str, Any]], of: str) -> Figures:
    """What a report has measured on @of, by trigger, preemption model and machine."""
    found: Figures = {}
    for row in rows:
        for flavour in FLAVOURS:
            stock, tuned, isolator = (row["cells"].get(f"{c}-{flavour}") for c in CONFIGS)
            cells = (stock, tuned, isolator)
            if any(cells):
                seconds = "/".join(f"{c['seconds']:.2f}" if c else "" for c in cells)
                found[row["name"], flavour, of] = (
                    _stock(row, f"stock-{flavour}"), _measured(tuned), _isolated(isolator), seconds,
                )
    return found


def kept(page: str) -> Figures:
    """What a page has measured, as figures() gives it."""
    found: Figures = {}
    for line in page.splitlines():
        if match := _LINE.match(line):
            words = [word.strip() for word in match[3].split(" | ")]
            for i, of in enumerate(machine.NAMES):
                mine = tuple(words[4 * i : 4 * i + 4])
                if any(mine):
                    found[match[1], match[2], of] = mine
    return found


def _kernel(column: str, name: str) -> str:
    """A kernel by its directory; one that was given (ISOLAB_KERNEL_...) may not be stock."""
    unused = not column.startswith("isolator-") and "-stock-" not in name
    return f"`{name}`{' (has Isolator, unused)' if unused else ''}"


def columns(rows: Iterable[dict[str, Any]], of: str) -> Figures:
    """When each column was measured and on which kernel, by what its cells say."""
    found: Figures = {}
    everything = list(rows)
    for column in sorted({c for row in everything for c in row["cells"]}):
        cells = [row["cells"][column] for row in everything if column in row["cells"]]
        days = sorted({cell["when"][:10] for cell in cells})
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        kernels = ", ".join(sorted({_kernel(column, cell["kernel"]) for cell in cells}))
        missing = sum(cell["outcome"] == "missing" for cell in cells)
        found[of, column] = (str(len(cells) - missing), when, kernels)
    return found


def kept_columns(page: str) -> Figures:
    """The same of a page."""
    found: Figures = {}
    for line in page.splitlines():
        if match := _OF.match(line):
            column, *words = match[2].split(" | ")
            found[match[1], column] = tuple(words)
    return found


def _line(words: Iterable[str]) -> str:
    return f"| {' | '.join(words)} |"


def _head(words: Iterable[str]) -> list[str]:
    named = list(words)
    return [_line(named), "|" + "---|" * len(named)]


def _table(names: list[str], measured: Figures) -> list[str]:
    of_machine = [f"{of}: stock | tuned | isolator | seconds" for of in machine.NAMES]
    lines = []
    for name in names:
        for flavour in FLAVOURS:
            of = [measured.get((name, flavour, m), ("",) * 4) for m in machine.NAMES]
            if any(map(any, of)):
                lines.append(_line((f"`{name}` {flavour}", *(word for one in of for word in one))))
    head = ["measured by", *(word for text in of_machine for word in text.split(" | "))]
    return [*_head(head), *lines] if lines else []


def _section(title: str, triggers: list[Trigger], measured: Figures) -> list[str]:
    lines = [f"## {title}", ""]
    for number, entry in sorted(catalogue.rows().items()):
        if entry.section != title:
            continue
        lines += [
            f"### {number}. {_escape(entry.source)}",
            "",
            f"{entry.what}",
            "",
            f"- Caused by: {entry.trigger}",
            f"- Stock, a busy `nohz_full` CPU: {catalogue.SPARED[entry.stock]}"
            + (f" ({', '.join(entry.arch)})" if entry.arch else ""),
            f"- Isolator: **{entry.policy}**. {entry.how}",
        ]
        if entry.note:
            lines.append(f"- Note: {entry.note}")
        own = [t for t in triggers if t.rows[0] == number]
        also = [t.name for t in triggers if number in t.rows[1:]]
        if own:
            lines += ["", *_table([t.name for t in own], measured)]
        elif also:
            lines += ["", f"Measured together with another row, by `{also[-1]}`."]
        else:
            lines += ["", f"Not run: {entry.untriggered}"]
        lines.append("")
    return lines


def _left_out(triggers: list[Trigger]) -> list[str]:
    lines = _head(("left out", "row", "runs on", "the other lacks"))
    for t in triggers:
        if t.needs:
            lines.append(_line((f"`{t.name}`", str(t.rows[0]), ", ".join(t.arch), t.needs)))
    return lines


def page(report: dict[str, Any], triggers: list[Trigger], before: str) -> str:
    """The page after @report; @before: the page that it replaces."""
    of = report["arch"]
    ran = [row for row in report["rows"] if row["runs"]]
    measured = kept(before) | figures(ran, of)
    dated = kept_columns(before) | columns(ran, of)
    rows = catalogue.rows()
    covered = [row for row in rows.values() if not row.untriggered]
    lines = [
        "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->", "# What interrupts a CPU", "",
        "This page lists every known source of interruptions of a CPU that runs one busy task,",
        "what Isolator does about it, and what was measured. `make matrix` writes the page;",
        "its texts are in `lab/catalogue/`, its measurements come from `out/matrix.json`.",
        "`make matrix ARCH=arm64` writes the columns of arm64, from `out/matrix-arm64.json`.", "",
        "A figure says how often the kernel took the CPU from the task while the trigger ran,",
        "counted from outside the guest, with the vectors of these entries: `call` is of a",
        "function for several CPUs, `call1` for one. Where the scheduler tick runs (stock), most",
        "of it is the timer. Counts are exact; the seconds, of stock, tuned and isolator, are an",
        "emulator's, and can be compared only within a line and a machine.",
        f"{NOBODY} beside a figure of stock: on that machine the trigger interrupts nobody who is",
        "not interrupted anyway, so that line shows nothing about Isolator.", "",
        f"{len(triggers)} triggers cover {len(covered)} of {len(rows)} rows;"
        f" the other {len(rows) - len(covered)} each say why not.",
        "A machine that lacks what a trigger needs leaves it out:", "", *_left_out(triggers), "",
        "Each column was measured on days of its own:", "",
        *_head(("machine", "column", "cells", "measured", "kernels")),
        *(_line((*key, *words)) for key, words in sorted(dated.items(), reverse=True)), "",
    ]
    for title in dict.fromkeys(r.section for r in rows.values()):
        lines += _section(title, triggers, measured)
    return "\n".join(lines).rstrip() + "\n"
