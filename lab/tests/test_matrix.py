# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading a cell, judging the matrix."""

import copy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from faces import axe_of, browser, head, look_at
from isolab import header
from isolab.guests import machine
from isolab.judge.attempt import Attempt, record
from isolab.matrix import cells, matrix
from isolab.matrix import claims as matrixclaims
from isolab.matrix import page as matrixpage
from isolab.paths import SCHEMAS
from isolator_report import schemafile

TOTAL = "cpu 1 total deferred {} excluded 0 queued {} missed 0 immediate 0 refused 0 planned 0"
SAID = """begin {begin}
begun {begin}
end {end}
ended {end}
cause kind call callback do_sync_core deferred 3 excluded 0 queued 0 longest_ns 0 comm insmod
  text_poke_bp_batch+0x94/0x270
  __static_key_slow_inc+0x10/0x20
cause kind thread callback - deferred 0 excluded 0 queued 2 longest_ns 1500000 comm kworker/1:1
cpu 1 kind call longest_ns 0
""".format(begin=TOTAL.format(7, 1), end=TOTAL.format(10, 3))


def test_causes_are_read_with_their_stacks() -> None:
    first, second = cells.causes(SAID)
    assert first["callback"] == "do_sync_core" and first["sender"] == "insmod"
    assert first["counts"] == {"deferred": 3}
    assert first["stack"] == ["text_poke_bp_batch+0x94/0x270", "__static_key_slow_inc+0x10/0x20"]
    assert second["kind"] == "thread" and second["longest_ns"] == 1500000


def test_a_senders_name_may_hold_blanks() -> None:
    line = "cause kind call callback f[m] queued 1 longest_ns 5 comm a b comm c"
    assert cells.causes(line)[0]["sender"] == "a b comm c"


def test_sums_that_agree_are_accounted_for() -> None:
    assert cells.accounted(SAID) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("deferred 3", "deferred 2"), ("queued 2", "queued 3"), ("kind thread", "kind others")],
)
def test_what_has_no_sender_is_said(old: str, new: str) -> None:
    assert cells.accounted(SAID.replace(old, new, 1))


def test_without_totals_nothing_is_accounted_for() -> None:
    assert cells.accounted("") and cells.accounted(None)


def _cell(**changes: Any) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "name": "x", "worked": True, "outcome": "done", "returned": True, "seconds": 0.2,
        "detail": "", "window_s": 0.3, "kernel_entries": 0, "tick_entries": 0,
        "kernel_instructions": 0, "user_instructions": 10, "entries_by_vector": {},
        "tick_kernel_instructions_max": 0, "ticks": 3, "probes": 2, "probes_seen": 2,
        "user_per_s": 4 * 10**8, "control": 5, "misses": 0, "queued": 2, "longest_wait_s": 0.01,
        "longest_call_s": 0.01, "causes": cells.causes(SAID), "unaccounted": [], "kernel": "rt-1",
        "when": "2026-11-22T00:19:40Z", "trigger": "t", "instrument": "i",
        "files": "matrix/x", "deferred": 3,
        "excluded": 0, "missed": 0, "immediate": 0, "refused": 0, "planned": 0,
    }
    return cell | changes


def _column(config: str) -> dict[str, Any]:
    return {
        "config": config,
        "preemption": "rt",
        "about": "",
        "append": "",
        "kernel": {"name": "rt", "release": "6", "build": "rt-1"},
        "quiet": {
            "window_s": 1.0, "user_per_s": 45 * 10**7,
            "entries_by_vector": {"sysvec_apic_timer_interrupt": 1000 if config == "stock" else 1},
        },
        "attempts": [],
    }


def _report() -> dict[str, Any]:
    stock = _cell(
        kernel_entries=320,
        entries_by_vector={"sysvec_apic_timer_interrupt": 300, "sysvec_call_function": 20},
        misses=None, queued=None, longest_wait_s=None, longest_call_s=None,
    )
    row = {
        "row": "1, 10", "name": "x", "class": "queue", "about": "", "user": False, "append": "",
        "cpus": 2, "timeout_s": 20.0, "absent": ["rt"], "runs": 2, "why_not": None,
        "cells": {"stock-rt": stock, "isolator-rt": _cell()}, "interrupts": {},
    }
    columns = {f"{c}-rt": _column(c) for c in ("stock", "isolator")}
    row["interrupts"] = matrixclaims.interrupts(row, columns)
    return {
        "schema": "isolab.matrix", "version": 1, "when": "", "host": "", "emulator": "",
        "columns": columns, "rows": [row], "judged": False, "broken": [],
    }


def test_the_page_says_first_what_interrupts(tmp_path: Path) -> None:
    """Verdict, a sentence, then where; a figure on one scale; a row opens by keys."""
    report = {**_report(), "host": "a host", "command": "tools/isolab matrix"}
    page = matrixpage.page(report)
    said = head(page)
    assert said.index("Not judged") < said.index("1 of 1 interrupt stock-rt, 0 of 1 interrupt") \
        < said.index("<dd>tools/isolab matrix</dd>")
    look_at(page, tmp_path, "Rows that interrupt", "stock-rt", "not once", "on a host")
    with browser(home="file://") as view:
        view.goto(f"file://{tmp_path / 'page.html'}")
        view.set_viewport_size({"width": 390, "height": 800})
        view.locator("tbody button").focus()
        view.keyboard.press("Enter")
        assert view.get_attribute("tbody button", "aria-expanded") == "true"
        assert "text_poke_bp_batch" in view.inner_text("tr.more")
        assert axe_of(view) == []
        assert view.evaluate("document.documentElement.scrollWidth") <= 390
        view.keyboard.press("Enter")
        assert view.get_attribute("tbody button", "aria-expanded") == "false"
        assert view.locator("tr.more").count() == 0


ALL = {("x", "stock-rt"), ("x", "isolator-rt")}


def test_a_good_matrix_holds_and_fits_its_schema() -> None:
    report = _report()
    assert matrixclaims.broken(report, ALL, False) == []
    jsonschema.validate(report, schemafile.read(SCHEMAS / "matrix.json"))
    assert report["rows"][0]["interrupts"] == {"stock-rt": True, "isolator-rt": False}
    assert "<script" in matrixpage.page(report) and "x" in matrixpage.text(report, {"x"})


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel_entries": 1},
        {"misses": 1},
        {"worked": False},
        {"returned": False},
        {"unaccounted": ["queued"]},
        {"outcome": "refused"},
        {"seconds": 9.0},
        {"misses": None},
        {"probes_seen": 1},
        {"probes": 0, "probes_seen": 0},
        {"user_per_s": 10**7 - 1},
        # The task's worst second against its quiet window: a fifth.
        {"user_per_s": 9 * 10**7 - 1},
        {"ticks": 33},
        {"tick_kernel_instructions_max": 10**7 + 1},
        {"control": 0},
        {"control": None},
        {"longest_wait_s": 1.6},
        {"longest_wait_s": None},
        {"causes": [{**cells.causes(SAID)[0], "callback": "unheard_of"}]},
        # That the kernel has no such facility excuses nothing that was seen.
        {"outcome": "missing", "worked": False, "kernel_entries": 1},
        {"outcome": "missing", "worked": False, "misses": 1},
        {"outcome": "missing", "worked": False, "unaccounted": ["queued"]},
        {"outcome": "missing", "worked": False, "returned": False},
        {"outcome": "missing", "worked": False, "seconds": 9.0},
    ],
)
def test_each_fault_breaks_a_claim(changes: dict[str, Any]) -> None:
    report = _report()
    report["rows"][0]["cells"]["isolator-rt"].update(changes)
    assert matrixclaims.broken(report, ALL, False)
    report["rows"][0]["cells"]["isolator-rt"].update(
        _cell(user_per_s=9 * 10**7, ticks=32, tick_kernel_instructions_max=10**7))
    assert not matrixclaims.broken(report, ALL, False)


def test_a_facility_that_is_missing_is_no_fault() -> None:
    report = _report()
    row = report["rows"][0]
    for cell in row["cells"].values():
        cell.update(outcome="missing", worked=False)
    assert not matrixclaims.broken(report, ALL, False)
    row["class"] = "immediate"
    assert not matrixclaims.broken(report, ALL, False)


@pytest.mark.parametrize(
    ("stock", "absent", "said"),
    [
        ({"stock-rt": "done"}, ["rt"], ["but not on stock"]),
        ({"stock-rt": "missing"}, ["rt"], []),
        ({"stock-rt": "missing"}, ["nort"], ["without an absent: in its header"]),
        # Another preemption model may have another kernel's facilities.
        ({"stock-nort": "done", "tuned-rt": "done"}, ["rt"], []),
        # With nothing beside it the header is all that says so.
        ({}, ["rt", "nort"], []),
        ({}, [], ["without an absent: in its header"]),
    ],
)
def test_a_facility_must_not_be_missing_where_it_should_be_there(
    stock: dict[str, str], absent: list[str], said: list[str]
) -> None:
    report = _report()
    row = report["rows"][0]
    row["absent"] = absent
    of_stock = row["cells"].pop("stock-rt")
    row["cells"] |= {c: {**of_stock, "outcome": outcome} for c, outcome in stock.items()}
    row["cells"]["isolator-rt"].update(outcome="missing", worked=False)
    claims = matrixclaims.broken(report, {("x", "isolator-rt")}, False)
    assert [text for _, text in claims] == [f"isolator-rt: x: missing, {why}: " for why in said]


def test_a_trigger_names_the_kernels_that_lack_what_it_needs() -> None:
    (trigger,) = (t for t in header.triggers() if t.name == "clocksource-switch")
    assert trigger.absent_on(machine.X86_64) == []
    assert trigger.absent_on(machine.ARM64) == ["rt", "nort"]


@pytest.mark.parametrize(
    "attempt",
    [
        {"ended": "no report for 75 s"},
        {"entered": ["window 1: 7 kernel entries"]},
        {"kernel_log": ["WARNING: x"]},
        {"void": "no clocks", "kernel_log": ["WARNING: x"]},
        {"void": "emulator fault: x", "excused": True, "kernel_log": ["WARNING: x"]},
    ],
)
def test_what_a_boot_showed_breaks_a_claim(attempt: dict[str, Any]) -> None:
    report = _report()
    good = record(Attempt())
    report["columns"]["isolator-rt"]["attempts"] = [good, good | attempt]
    assert len(matrixclaims.broken(report, ALL, False)) == 1
    # Of stock it is no claim.
    report["columns"]["stock-rt"]["attempts"] = report["columns"]["isolator-rt"].pop("attempts")
    assert not matrixclaims.broken(report, ALL, False)


def test_more_than_one_excused_boot_concludes_nothing() -> None:
    columns = _report()["columns"]
    excused = {"void": "emulator fault: x", "excused": True}
    columns["isolator-rt"]["attempts"] = [excused]
    assert matrixclaims.excused(columns) == []
    columns["isolator-rt"]["attempts"] = [excused, excused]
    assert [name for name, _ in matrixclaims.excused(columns)] == ["isolator-rt"]


def test_only_what_was_measured_is_judged() -> None:
    report = _report()
    report["rows"][0]["cells"]["isolator-rt"]["misses"] = 1
    assert not matrixclaims.broken(report, {("x", "stock-rt")}, False)


def test_an_immediate_delivery_may_interrupt_but_must_be_counted() -> None:
    report = _report()
    row = report["rows"][0]
    row["class"] = "immediate"
    row["cells"]["isolator-rt"].update(kernel_entries=2, immediate=1)
    assert not matrixclaims.broken(report, ALL, False)
    row["cells"]["isolator-rt"].update(kernel_entries=3)
    ((_, text),) = matrixclaims.broken(report, ALL, False)
    assert "3 kernel entries, not at most 2" in text
    row["cells"]["isolator-rt"].update(kernel_entries=0, immediate=0)
    ((_, text),) = matrixclaims.broken(report, ALL, False)
    assert text.endswith("an immediate delivery that was not counted as one")


def test_a_user_may_not_let_a_cpu_spin() -> None:
    report = _report()
    report["rows"][0]["user"] = True
    cell = report["rows"][0]["cells"]["isolator-rt"]
    for spun_s in (0.61, 0.9, None):
        cell["longest_call_s"] = spun_s
        ((_, text),) = matrixclaims.broken(report, ALL, False)
        assert text.endswith(f"a user let a CPU spin {spun_s} s, not at most 0.6 s")
    cell["longest_call_s"] = 0.6
    assert not matrixclaims.broken(report, ALL, False)


def test_a_request_may_be_held_for_d_and_what_the_host_takes() -> None:
    report = _report()
    cell = report["rows"][0]["cells"]["isolator-rt"]
    cell["longest_wait_s"] = 1.5
    assert not matrixclaims.broken(report, ALL, False)
    cell["longest_wait_s"] = 1.51
    ((_, text),) = matrixclaims.broken(report, ALL, False)
    assert text.endswith("held 1.51 s, not at most 1.5 s")


def test_held_requests_lengthen_the_limit() -> None:
    row = _report()["rows"][0]
    short = matrixclaims.limit_s(row, "isolator-rt")
    row["cells"]["isolator-rt"]["queued"] = 100
    longer = matrixclaims.limit_s(row, "isolator-rt")
    assert short is not None and longer is not None and longer > short + 1


def test_the_limit_is_the_longest_time_that_stock_took() -> None:
    report = _report()
    row = report["rows"][0]
    row["cells"]["stock-rt"]["seconds"] = 0.8
    row["cells"]["isolator-rt"]["seconds"] = 2.2
    assert matrixclaims.late(row, "isolator-rt")
    assert any("took 2.20 s" in b for _, b in matrixclaims.broken(report, ALL, False))
    row["cells"]["stock-rt"]["seconds_all"] = [0.8, 0.9, 2.0]
    assert not matrixclaims.late(row, "isolator-rt")
    jsonschema.validate(report, schemafile.read(SCHEMAS / "matrix.json"))


@pytest.mark.parametrize(
    ("stock", "tuned", "said"),
    [
        ((True, 0.2), None, ["took 2.20 s, at most 1.27 s are allowed"]),
        ((False, 20.0), (True, 0.2), ["took 2.20 s, at most 1.27 s are allowed"]),
        ((True, 2.0), (True, 0.2), []),
        ((False, 20.0), None, ["no limit for its time, as it did not come back on stock-rt"]),
        ((False, 20.0), (False, 20.0), ["did not come back on stock-rt or tuned-rt"]),
        # Nobody else was asked: half of the 20 s that it is given.
        (None, None, []),
        (None, None, ["took 10.20 s, at most 10.00 s are allowed"]),
    ],
)
def test_what_did_not_come_back_lends_no_time(
    stock: tuple[bool, float] | None, tuned: tuple[bool, float] | None, said: list[str]
) -> None:
    report = _report()
    of_row = report["rows"][0]["cells"]
    first = of_row.pop("stock-rt")
    for name, base in (("stock-rt", stock), ("tuned-rt", tuned)):
        if base:
            of_row[name] = {**first, "returned": base[0], "seconds": base[1]}
    of_row["isolator-rt"]["seconds"] = 10.2 if said and "10.20" in said[0] else 2.2
    claims = matrixclaims.broken(report, {("x", "isolator-rt")}, False)
    assert all(text.endswith(s) for s, (_, text) in zip(said, claims, strict=True))


def test_stock_is_timed_again_where_its_time_was_exceeded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Twice at most, in the column of stock alone; its first cell and the isolated one stay."""
    trigger = header.triggers()[0]
    stock = matrix.columns(["stock"], ["rt"])[0]
    measured = matrix.Matrix(tmp_path / "matrix.json")
    measured.columns["stock-rt"] = {}
    first, isolated = _cell(seconds=0.5, kernel_entries=7), _cell(seconds=2.0)
    measured.cells = {(trigger.name, "stock-rt"): first, (trigger.name, "isolator-rt"): isolated}
    times = iter([0.6, 1.7, 9.9])

    def again(m: Any, column: Any, built: Any, batch: list[Any], attempts: Any) -> None:
        for t in batch:
            m.cells[t.name, column.name] = _cell(seconds=next(times))

    monkeypatch.setattr(matrix, "_measure_batch", again)
    monkeypatch.setattr(matrix.Column, "kernel", lambda self: None)
    matrix._stock_again(measured, stock, [trigger])
    assert measured.cells[trigger.name, "stock-rt"] is first
    assert first["seconds_all"] == [0.5, 0.6, 1.7] and first["kernel_entries"] == 7
    assert measured.cells[trigger.name, "isolator-rt"] is isolated and next(times) == 9.9


def test_the_tick_itself_does_not_count_as_interference() -> None:
    report = _report()
    row = copy.deepcopy(report["rows"][0])
    row["cells"]["stock-rt"]["entries_by_vector"] = {"sysvec_apic_timer_interrupt": 400}
    assert matrixclaims.interrupts(row, report["columns"])["stock-rt"] is False


def test_the_whole_wants_its_rows() -> None:
    assert any("only 1 rows" in b for _, b in matrixclaims.broken(_report(), ALL, True))


def test_triggers_that_share_a_guest_want_the_same_machine() -> None:
    for batch in cells.batches(header.triggers()):
        assert len({(t.cpus, t.append) for t in batch}) == 1


@pytest.mark.parametrize("arch", machine.NAMES)
def test_each_machine_runs_its_share_of_the_triggers(arch: str) -> None:
    """What the headers let run there is enough, and no more than a few may be missing."""
    able = sum(arch in t.arch for t in header.triggers())
    least = matrixclaims.MIN_ROWS[arch]
    assert least <= able <= least + 6

    def short(ran: int) -> bool:
        report = {**_report(), "arch": arch}
        (row,) = report["rows"]
        report["rows"] = [{**row, "name": str(i)} for i in range(ran)]
        return any("rows were run" in text for _, text in matrixclaims.broken(report, set(), True))

    assert short(least - 1) and not short(least)
