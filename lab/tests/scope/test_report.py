# SPDX-License-Identifier: GPL-2.0-or-later
"""What isolab scope-report makes of what its guests and its recordings say."""

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import scopeload
from faces import head, look_at
from isolab import record, term
from isolab.guests import guest
from isolab.paths import SCHEMAS
from isolab.scope import (
    cells as scopecells,
)
from isolab.scope import (
    figure as scopefigure,
)
from isolab.scope import (
    page as scopepage,
)
from isolab.scope import (
    report as scopereport,
)
from isolab.scope.cells import IDLE, LOADS, RUNS, WOKEN, Run
from isolator_report import schemafile
from isolator_scope import headless
from isolator_scope.account import Account
from scope_runs import record as simulate
from sim.model import Faults

ALL = Run("all", (*WOKEN.lines, "poll"))


def _account(path: Path, faults: Faults | None = None, triggers: int = 300) -> Account:
    asyncio.run(simulate(path, triggers, faults=faults))
    return asyncio.run(headless.load(path)).account


def _cell(load: str, **more: Any) -> dict[str, Any]:
    return {
        "load": load, "what": None, "did": None, "skipped": None, "doubts": [], "floors": [],
        "lines": [], **more,
    }  # fmt: skip


def _load(state: str = "ran", why: str | None = None, event: str = "killed") -> dict[str, Any]:
    cpus = [{"cpu": 0, "operations": 7}, {"cpu": 1, "operations": 5}]
    row = {"state": state, "why": why, "words": "cc on a tree", "operation": "files compiled",
           "cpus": cpus}  # fmt: skip
    return {"event": event, "out": json.dumps({"loads": [row]})}


@pytest.fixture(name="report", scope="module")
def _report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of two configurations, one load each skipped, one with answers that never came."""
    where = tmp_path_factory.mktemp("recordings")
    quiet = _account(where / "quiet.scope")
    bad = _account(where / "bad.scope", Faults(missing=0.05, late=0.02))
    configs = []
    for config in scopecells.CONFIGS:
        idle, compiled = _cell("idle"), _cell("compile")
        scopereport.add(idle, ALL, quiet, ())
        scopereport.add(compiled, ALL, bad if config.stock else quiet, ())
        for cell in (idle, compiled):
            cell["doubts"] = []  # the simulated one was not calibrated
            cell["floors"] = [
                {"lines": "all", "resolution_ns": 60, "p50_ns": 400, "p99_ns": 900,
                 "max_ns": 5000, "jitter_max_ns": 70},
            ]  # fmt: skip
        scopecells.ended(_load(), compiled)
        media = _cell("media", skipped="there is neither <ffmpeg> nor gst-launch-1.0")
        configs.append(
            {"name": config.name, "about": config.about, "kernel": "6.12.117", "attempts": [""],
             "ended": None, "kernel_log": [], "cells": [idle, compiled, media]}
        )  # fmt: skip
    return {
        **record.head("scope-report"), "host": "a host", "emulator": "QEMU 10", "seconds": 20.0,
        "hertz": 100.0, "seed": 1, "took_s": 600.0, "configs": configs,
        "broken": [], "inconclusive": scopereport.inconclusive(configs),
    }  # fmt: skip


def test_schema(report: dict[str, Any]) -> None:
    schema = schemafile.read(SCHEMAS / "scope-report.json")
    jsonschema.validate(report, schema)
    line = report["configs"][0]["cells"][0]["lines"][0]
    for wrong in ({"more": 1}, {"version": 2}, {"seconds": 0}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**report, **wrong}, schema)
    line["p50_ns"], kept = "never", line["p50_ns"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, schema)
    line["p50_ns"] = kept


def test_rows_are_the_account(tmp_path: Path) -> None:
    account = _account(tmp_path / "a.scope", Faults(missing=0.6))
    for line in account.lines:
        row = scopereport.line_row(line)
        assert row["triggers"] == row["answered"] + row["late"] + row["missing"] == 300
        # More than half never came: a median of those that did would be another thing.
        assert row["p50_ns"] == row["p99_ns"] == "missing" and row["max_ns"] > 0
    few = scopereport.line_row(_account(tmp_path / "b.scope", triggers=50).lines[0])
    assert isinstance(few["p50_ns"], int) and few["p99_ns"] is None


def test_what_makes_a_cell_no_result(tmp_path: Path) -> None:
    account = _account(tmp_path / "a.scope")
    cell = _cell("idle")
    scopereport.add(cell, Run("woken", ("irq", "nobody")), account, ("the link was cut",))
    said = " ".join(cell["doubts"])
    assert "the link was cut" in said and "no answer at all from nobody" in said
    assert "floor was not measured" in said and "irq" not in said
    assert [line["mechanism"] for line in cell["lines"]] == ["irq"]


def test_triggers_of_another_run_are_told(tmp_path: Path) -> None:
    account = _account(tmp_path / "a.scope")
    assert scopereport.foreign(account, 0) is None
    assert scopereport.foreign(account, 20) == "280 triggers were sent, 300 are accounted for"
    account.state = None
    assert scopereport.foreign(account, 0)


@pytest.mark.parametrize(
    ("event", "skipped", "doubt"),
    [
        (_load(), None, None),
        (_load(event="died"), None, "the load ended before the measurement did"),
        (_load("idle"), None, "the load is idle"),
        (_load("failed", why="cc ended with 1"), None, "cc ended with 1"),
        (_load("absent", why="there is no C compiler"), "there is no C compiler", None),
        ({"event": "died", "out": "Segmentation fault"}, None, "what it did: Segmentation"),
        ({"event": "died", "out": None}, None, "did not say"),
    ],
)
def test_a_load_is_believed_only_as_far_as_it_ran(
    event: dict[str, Any], skipped: str | None, doubt: str | None
) -> None:
    cell = _cell("compile")
    scopecells.ended(event, cell)
    assert cell["skipped"] == skipped
    assert bool(cell["doubts"]) == bool(doubt) and (not doubt or doubt in cell["doubts"][0])
    assert (cell["did"] or "").startswith("12 files compiled") == ("words" in str(event["out"])
                                                                  and not skipped)


def test_what_is_inconclusive(report: dict[str, Any]) -> None:
    assert report["inconclusive"] is None
    none = {"name": "stock", "attempts": ["it died"], "cells": [], "kernel_log": []}
    assert scopereport.inconclusive([none]) == "stock: no guest came to its end: it died"
    doubted = {**none, "cells": [_cell("idle", doubts=["x"])], "kernel_log": ["WARNING: y"]}
    said = scopereport.inconclusive([doubted])
    assert said and "WARNING: y" in said and "1 cells have no result" in said


def test_table(report: dict[str, Any]) -> None:
    said = scopepage.text(report).splitlines()
    assert said[0].split()[:3] == ["mechanism", "configuration", "load"]
    # 11 mechanisms, 2 configurations, 2 loads; the third is named, not left out.
    assert len(said) == 1 + 11 * 2 * 2 + 1
    assert said[-1] == "skipped: media: there is neither <ffmpeg> nor gst-launch-1.0"
    rows = [line.split() for line in said if line.startswith("tasklet")]
    assert [row[1:3] for row in rows] == [
        ["stock", "idle"], ["stock", "compile"], ["isolated", "idle"], ["isolated", "compile"]
    ]  # fmt: skip
    missing = [int(row[5]) for row in rows]
    assert missing[1] > 0 and missing[0] == missing[2] == missing[3] == 0


def test_page(report: dict[str, Any]) -> None:
    page = scopepage.page(report)
    for number, mechanism, _ in scopefigure.FIGURES:
        assert f"Figure {number} again: {mechanism}" in page
    assert "Skipped: media: there is neither &lt;ffmpeg&gt;" in page and "<ffmpeg>" not in (
        page.partition('<script type="application/json"')[0]
    )
    for words in ("QEMU 10", "6.12.117", "loop-back p50", "12 files compiled on 2 of", "400 ns"):
        assert words in page
    # All of it is inside.
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    inside = re.search(r'<script type="application/json" id="report">(.*)</script>', page)
    assert inside and json.loads(inside[1].replace("<\\/", "</")) == report


def test_the_page_says_first_what_isolation_did(report: dict[str, Any], tmp_path: Path) -> None:
    """Verdict, a sentence a load, then where; all figures on one scale, and to take."""
    page = scopepage.page({**report, "command": "tools/isolab scope-report --seconds 20"})
    first = head(page)
    assert first.index("accounted for") < first.index("idle: worst answer of ") \
        < first.index("<dd>tools/isolab scope-report --seconds 20</dd>")
    assert re.search(r"compile: worst answer of [\w-]+ [\d.]+ [mun]?s stock, [\d.]+ [mun]?s "
                     r"isolated", first)
    pictures = re.findall(r"<svg.*?</svg>", page)
    tick = re.compile(r'<text x="([^"]*)" y="[^"]*"[^>]*font-size="11">(\d+ [mun]?s)<')
    ticks = {tuple(tick.findall(one)) for one in pictures}
    assert len(pictures) == 11 and len(ticks) == 1 and len(next(iter(ticks))) > 2
    look_at(page, tmp_path, "above: stock", "below: isolated", "QEMU 10 on a host", "6.12.117")


def test_page_says_what_is_no_result(report: dict[str, Any]) -> None:
    assert 'class="verdict good"' in scopepage.page(report)
    bad = json.loads(json.dumps(report))
    bad["configs"][0]["cells"][0]["doubts"] = ["woken: the generator restarted"]
    bad["inconclusive"] = scopereport.inconclusive(bad["configs"])
    page = scopepage.page(bad)
    assert 'class="verdict bad"' in page and "stock, idle: woken: the generator restarted" in page
    bad["broken"] = ["isolated: the guest ended: no report"]
    assert "<p>Does not hold: isolated: the guest ended: no report</p>" in scopepage.page(bad)


def test_figure_holds_what_was_measured(report: dict[str, Any]) -> None:
    drawn = scopefigure.figure(report, "tasklet", "a tasklet")
    root = ElementTree.fromstring(drawn)
    name = "{http://www.w3.org/2000/svg}"
    words = [one.text or "" for one in root.iter(f"{name}text")]
    assert [w for w in words if w in ("idle", "compile", "media")] == ["idle", "compile", "media"]
    # Four halves with values, each with its largest one as a dot; a load that was skipped says so.
    assert len(list(root.iter(f"{name}circle"))) == 4
    assert sum(word == "skipped" for word in words) == 2
    line = scopefigure.line_of(scopefigure.cell_of(report, "stock", "compile"), "tasklet")
    assert line and any(f"{line['missing']} missing" in word for word in words)
    edge = scopefigure.WIDTH - scopefigure.RIGHT
    assert all(scopefigure.LEFT <= float(c.attrib["cx"]) <= edge
               for c in root.iter(f"{name}circle"))  # fmt: skip


def test_figure_without_any_answer(report: dict[str, Any]) -> None:
    ElementTree.fromstring(scopefigure.figure(report, "nobody", "nobody"))


def test_picture_is_small_and_well_formed(report: dict[str, Any]) -> None:
    drawn = scopefigure.picture(report)
    ElementTree.fromstring(drawn)
    assert "SPDX-License-Identifier: GPL-2.0-or-later" in drawn and len(drawn) < 200_000
    assert all(f"Figure {number} again" in drawn for number, _, _ in scopefigure.FIGURES)


def test_picture_is_of_a_whole_run(
    report: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three loads were measured here, not all four."""
    monkeypatch.setattr(scopereport, "OUT", tmp_path)
    monkeypatch.setattr(scopereport, "PICTURE", tmp_path / "picture.svg")
    with pytest.raises(term.LabError, match="run make scope-report"):
        scopereport.draw()
    (tmp_path / "scope-report.json").write_text(json.dumps(report))
    with pytest.raises(term.LabError, match="part of a run"):
        scopereport.draw()
    assert not (tmp_path / "picture.svg").exists()


def test_loads_and_runs_cover_all() -> None:
    assert [load.name for load in LOADS] == ["idle", "compile", "netcopy", "media"]
    assert {load.name for load in LOADS} == {"idle", *scopeload.LOADS}
    lines = [line for run in RUNS for line in run.lines]
    assert sorted(lines) == sorted(ALL.lines) and len(set(lines)) == 11
    for config in scopecells.CONFIGS:
        assert set(config.before) == set(config.tasks) == {run.name for run in RUNS}


class FakeGuest(scopecells.LoadGuest):
    """What a guest would say, without one."""

    def __init__(self, config: scopecells.Config, load: dict[str, Any], task: int = 0) -> None:
        self.config, self._load, self._task = config, load, task
        self.where, self.sent = Path("nowhere"), 0
        self.ordered: list[str] = []
        self.outcome = guest.Outcome(console="[1] BUG: x\n")

    def run(self, command: str, seconds: float = 30.0) -> dict[str, Any]:
        self.ordered.append(command)
        failed = self._task if "pgrep -x" in command else self._load["event"] == "died"
        return {"exit": int(failed), "returned": True, "out": ""}

    def start(self, name: str, command: str) -> None:
        self.ordered.append(command)

    def kill(self, name: str, seconds: float = 5.0) -> dict[str, Any]:
        self.ordered.append(f"kill {name}")
        return self._load if name == "load" else {"event": "died", "out": "no such device"}


@pytest.fixture(name="recordings")
def _recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which were made: all of them are of a simulated run."""
    account = _account(tmp_path / "a.scope")
    made: list[str] = []

    def recorded(_guest: object, path: Path, *_: object) -> SimpleNamespace:
        made.append(path.name)
        return SimpleNamespace(instrument=SimpleNamespace(account=account), doubts=[])

    monkeypatch.setattr(scopereport, "_record", recorded)
    return made


STOCK, ISOLATED = scopecells.CONFIGS
COMPILE = LOADS[1]


def test_a_cell(recordings: list[str]) -> None:
    guest = FakeGuest(ISOLATED, _load())
    cell = scopereport._cell(guest, COMPILE, 20)
    assert recordings == ["compile-woken.scope", "compile-poll.scope"]
    assert sorted(line["mechanism"] for line in cell["lines"]) == sorted(ALL.lines)
    assert cell["what"] == "cc on a tree" and not cell["skipped"]
    # The load before the runs, and gone after them; the interrupt follows the shield.
    words = "\n".join(guest.ordered)
    assert re.search(
        r"scopeload compile 0 /run/\S+\n.*until .*begun.*echo 1 >/proc/irq.*scope-task --cpu 1\n"
        r".*kill task\n.*echo 0 >/proc/irq.*--poll --isolate --cpu 1\n.*kill task\nkill load$",
        words,
        re.DOTALL,
    )
    stock = FakeGuest(STOCK, _load())
    scopereport._cell(stock, COMPILE, 20)
    words = "\n".join(stock.ordered)
    assert "scopeload compile 0,1 /run/" in words
    assert "irq/" not in words and "--isolate" not in words


def test_idle_has_no_load(recordings: list[str]) -> None:
    guest = FakeGuest(STOCK, _load())
    assert scopereport._cell(guest, IDLE, 20)["what"] is None
    assert len(recordings) == 2 and "scopeload" not in " ".join(guest.ordered)


@pytest.mark.parametrize(
    ("load", "skipped", "doubt"),
    [
        (_load("absent", why="no ffmpeg", event="died"), "no ffmpeg", None),
        ({"event": "died", "out": "out of memory"}, None, "the load ended before it began"),
    ],
)
def test_without_its_load_nothing_is_measured(
    recordings: list[str], load: dict[str, Any], skipped: str | None, doubt: str | None
) -> None:
    """Else an idle machine would stand for a loaded one."""
    cell = scopereport._cell(FakeGuest(STOCK, load), COMPILE, 20)
    assert recordings == [] and cell["lines"] == [] and cell["skipped"] == skipped
    assert doubt in cell["doubts"] if doubt else cell["doubts"] == []


def test_a_task_that_does_not_begin_is_no_silence(recordings: list[str]) -> None:
    with pytest.raises(term.LabError, match="scope-task did not begin: no such device"):
        scopereport._cell(FakeGuest(STOCK, _load(), task=1), IDLE, 20)
    assert recordings == []


def test_each_boot_stands_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(guest: scopecells.LoadGuest) -> None:
        raise term.LabError(f"{guest.config.name}: no agent")

    monkeypatch.setattr(FakeGuest, "__enter__", refuses)
    monkeypatch.setattr(scopereport, "LoadGuest", lambda config, _: FakeGuest(config, _load()))
    row = scopereport._config(STOCK, [IDLE], 20)
    assert row["attempts"] == ["stock: no agent"] * scopereport.MAX_BOOTS
    assert row["kernel_log"] == ["[1] BUG: x"] * scopereport.MAX_BOOTS
    said = scopereport.inconclusive([row])
    assert said and "no guest came to its end: stock: no agent" in said


SILENT = "the guest does not answer (order-7)"
OF_QEMU = "qemu-system-x86_64: a.c:1: f: Assertion `a' failed."


@pytest.mark.parametrize(
    ("outcome", "error", "ended", "stock", "emulated"),
    [
        # (how the guest ended, what was said of it, is that the isolating kernel's, and stock's)
        ({}, None, None, None, [""]),
        ({"died": guest.STOPPED}, term.LabError(SILENT), SILENT, None, [""]),
        ({}, term.LabError("scope-task did not begin"), "scope-task did not begin", None, [""]),
        ({"died": guest.ENDED}, None, guest.ENDED, None, [""]),
        # The host's clocks are tried again, and so is what QEMU says of itself, with one thread.
        ({}, term.LabError("clocks", term.INCONCLUSIVE), None, None, ["", ""]),
        ({"qemu_log": OF_QEMU}, term.LabError(SILENT), None, None, ["", "single"]),
    ],
)
def test_only_what_is_not_the_kernels_is_tried_again(monkeypatch: pytest.MonkeyPatch,
                                                     outcome: dict[str, Any],
                                                     error: term.LabError | None, ended: str | None,
                                                     stock: str | None,
                                                     emulated: list[str]) -> None:
    for config, expected in ((ISOLATED, ended), (STOCK, stock)):
        booted: list[str] = []

        def load_guest(config: scopecells.Config, threads: str, booted: Any = booted) -> FakeGuest:
            booted.append(threads)
            found = FakeGuest(config, _load())
            found.release = "6.12"
            found.outcome = guest.Outcome(ours=not config.stock, **outcome)
            return found

        def cell(*_: object) -> dict[str, Any]:
            if error:
                raise error
            return _cell("idle")

        monkeypatch.setattr(scopereport, "LoadGuest", load_guest)
        monkeypatch.setattr(FakeGuest, "__enter__", lambda guest: guest)
        monkeypatch.setattr(FakeGuest, "__exit__", lambda *_: None)
        monkeypatch.setattr(scopereport, "_cell", cell)
        row = scopereport._config(config, [IDLE], 20)
        assert row["ended"] == expected and bool(row["cells"]) == (not error and not outcome)
        assert scopereport.broken([row]) == [f"isolated: the guest ended: {ended}"] * bool(expected)
        assert bool(scopereport.inconclusive([row])) == (not row["cells"])
        if not config.stock:
            assert booted == emulated
        elif not row["cells"]:
            assert len(booted) == scopereport.MAX_BOOTS


@pytest.mark.parametrize(("ended", "code"), [("x", term.EXCEEDED), (None, term.INCONCLUSIVE)])
def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ended: str | None, code: int
) -> None:
    def row(config: scopecells.Config, *_: object) -> dict[str, Any]:
        return {"name": config.name, "about": "", "kernel": "", "attempts": ["x"],
                "kernel_log": [], "cells": [], "ended": None if config.stock else ended}

    monkeypatch.setattr(scopereport, "_config", row)
    monkeypatch.setattr(scopereport.record, "where", lambda: {"host": "x", "emulator": "y"})
    for module in (scopereport, scopereport.record):
        monkeypatch.setattr(module, "OUT", tmp_path)
    assert scopereport.main(None, ["idle"], 20) == code
