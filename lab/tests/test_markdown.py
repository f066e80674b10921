# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/catalogue.md: a report writes what it has measured, and keeps the rest."""

from typing import Any

from isolab import catalogue, header
from isolab.guests import machine
from isolab.matrix import markdown, matrix

TRIGGERS = header.triggers()
X86, ARM64 = machine.NAMES


def _cell(entries: int = 0, **changes: Any) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "outcome": "done", "returned": True, "worked": True, "kernel_entries": entries,
        "entries_by_vector": {"sysvec_apic_timer_interrupt": entries} if entries else {},
        "seconds": 0.1, "when": "2026-11-21T00:00:00Z", "kernel": "k-stock-1", "deferred": 0,
        "excluded": 3, "queued": 0, "refused": 0, "immediate": 0,
    }
    return cell | changes


def _row(name: str, stock: int = 7, **changes: Any) -> dict[str, Any]:
    cells = {"stock-rt": _cell(stock), "tuned-rt": _cell(1), "isolator-rt": _cell()}
    return {
        "name": name, "class": "defer", "runs": 3, "cells": cells,
        "interrupts": {"stock-rt": True}, **changes,
    }


def _report(of: str, *rows: dict[str, Any]) -> dict[str, Any]:
    return {"arch": of, "rows": list(rows)}


def _lines(page: str, name: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith(f"| `{name}` rt |")]


def test_a_machine_keeps_the_columns_of_the_other() -> None:
    first = markdown.page(_report(X86, _row("static-keys"), _row("kprobe")), TRIGGERS, "")
    both = markdown.page(_report(ARM64, _row("static-keys", 5)), TRIGGERS, first)
    assert _lines(both, "static-keys") == [
        "| `static-keys` rt | 7 (timer 7) | 1 (timer 1) | 0: 3 excluded | 0.10/0.10/0.10 | "
        "5 (timer 5) | 1 (timer 1) | 0: 3 excluded | 0.10/0.10/0.10 |"
    ]
    (kprobe,) = _lines(both, "kprobe")
    assert kprobe.startswith("| `kprobe` rt | 7 (timer 7) |") and kprobe.endswith("|  |  |  |  |")
    assert f"| {X86} | stock-rt | 2 | 2026-11-21 | `k-stock-1` |" in both
    assert f"| {ARM64} | stock-rt | 1 | 2026-11-21 | `k-stock-1` |" in both
    # A newer report of a machine replaces its own columns only.
    again = markdown.page(_report(X86, _row("static-keys", 9)), TRIGGERS, both)
    assert _lines(again, "static-keys")[0].startswith("| `static-keys` rt | 9 (timer 9) |")
    assert "| 5 (timer 5) |" in _lines(again, "static-keys")[0]
    assert _lines(again, "kprobe") == [kprobe]


def test_what_interrupts_nobody_on_stock_is_marked() -> None:
    rows = [_row("static-keys"), _row("kprobe", interrupts={"stock-rt": False})]
    page = markdown.page(_report(ARM64, *rows), TRIGGERS, "")
    assert markdown.NOBODY not in _lines(page, "static-keys")[0]
    (line,) = _lines(page, "kprobe")
    assert f"| 7 (timer 7) {markdown.NOBODY} | 1 (timer 1) |" in line


def test_a_gone_trigger_leaves_the_page() -> None:
    before = markdown.page(_report(X86, _row("static-keys")), TRIGGERS, "")
    others = [t for t in TRIGGERS if t.name != "static-keys"]
    assert not _lines(markdown.page(_report(X86), others, before), "static-keys")


def test_what_was_left_out_is_named_with_what_is_missing() -> None:
    page = markdown.page(_report(X86), TRIGGERS, "")
    left_out = [t for t in TRIGGERS if len(t.arch) < len(machine.NAMES)]
    assert left_out and all(t.needs for t in left_out)
    for trigger in left_out:
        words = (f"`{trigger.name}`", str(trigger.rows[0]), *trigger.arch, trigger.needs)
        assert f"| {' | '.join(words)} |" in page


def test_a_column_is_dated_by_its_own_cells() -> None:
    """A page of today does not make measurements of yesterday new; a missing cell is none."""

    def cell(day: str, built: str, **changes: Any) -> dict[str, Any]:
        return _cell(when=f"2026-11-{day}T00:00:00Z", kernel=built, **changes)

    rows: list[dict[str, Any]] = [
        {"cells": {"stock-rt": cell("21", "a-stock-1"), "isolator-rt": cell("23", "c")}},
        {
            "cells": {
                "stock-rt": cell("22", "b-1"),
                "isolator-rt": cell("23", "c", outcome="missing"),
            }
        },
        {"cells": {}},
    ]
    assert markdown.columns(rows, X86) == {
        (X86, "isolator-rt"): ("1", "2026-11-23", "`c`"),
        (X86, "stock-rt"): (
            "2", "2026-11-21 to 2026-11-22", "`a-stock-1`, `b-1` (has Isolator, unused)",
        ),
    }


def test_the_page_is_as_a_report_writes_it() -> None:
    """With nothing measured anew it stays: what is edited belongs into lab/catalogue."""
    page = matrix.PAGE.read_text()
    assert markdown.kept(page)
    assert page == markdown.page(_report(X86), TRIGGERS, page)


def test_each_row_of_the_catalogue_is_on_the_page() -> None:
    page = matrix.PAGE.read_text()
    assert all(f"\n### {number}. " in page for number in catalogue.rows())
