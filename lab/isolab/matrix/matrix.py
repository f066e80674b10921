# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab matrix: every row of the catalogue against every configuration."""

import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
from isolator_report import schemafile

from .. import catalogue, header, record, term
from ..guests import kernel, machine, qemu
from ..guests.guest import Event, Outcome, back, boot
from ..guests.kernel import Kernel
from ..guests.machine import Machine
from ..header import Trigger
from ..judge import attempt, jobs, readings
from ..paths import LAB, OUT, SCHEMAS, TOP, digest
from . import cells, markdown
from . import claims as matrixclaims
from . import page as matrixpage
from .cells import Cell

FLAVOURS = ("rt", "nort")
AGAIN = 2
PAGE = TOP / "docs" / "catalogue.md"


@dataclass(frozen=True)
class Column:
    """A configuration on a preemption model, and the kernel that it boots."""

    config: jobs.Config
    flavour: str
    of: Machine = machine.X86_64

    @property
    def name(self) -> str:
        return f"{self.config.name}-{self.flavour}"

    @property
    def files(self) -> str:
        """What the directories of its boots begin with."""
        return f"{self.of.prefix}{self.name}"

    def kernel(self) -> Kernel:
        return kernel.build(self.flavour, self.config.stock, of=self.of)


def columns(configs: list[str] | None, flavours: list[str] | None,
            of: Machine = machine.X86_64) -> list[Column]:
    return [
        Column(config, flavour, of)
        for flavour in FLAVOURS
        if not flavours or flavour in flavours
        for config in jobs.CONFIGS
        if not configs or config.name in configs
    ]


READERS = ("judge/jobs.py", "judge/readings.py", "guests/observer.py", "matrix/cells.py")


def _source(trigger: Trigger) -> str:
    """What a cell was measured with: it is worth nothing once the trigger has changed."""
    files = (LAB / "triggers").glob(f"{trigger.name}.*")
    path = next(p for p in files if p.suffix in (".c", ".sh"))
    return digest(path.read_bytes())


@functools.cache
def instrument(of: Machine) -> str:
    """What measures a cell beside its trigger: the observer, the guest's programs, the machine.

    Also what orders the boots and reads what came of them.
    """
    parts = [path for part in ("observer", "guest") for path in (LAB / part).rglob("*")
             if path.suffix in (".c", ".h", ".sh") and path.parent.name != "tests"]
    parts += [LAB / "isolab" / name for name in READERS]
    return digest(*(path.read_bytes() for path in sorted(parts)), qemu.pick(of.target).version,
                  of.cpu, of.board)


class Matrix:
    """The cells measured so far, out/matrix.json on disk after every boot."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[tuple[str, str], Cell] = {}
        self.columns: dict[str, dict[str, Any]] = {}
        self.load()

    def load(self) -> None:
        if not self.path.exists():
            return
        try:
            old = json.loads(self.path.read_text())
        except json.JSONDecodeError:
            return
        schema = schemafile.read(SCHEMAS / "matrix.json")
        if not jsonschema.Draft202012Validator(schema).is_valid(old):
            return
        self.columns = old["columns"]
        for row in old["rows"]:
            for column, cell in row["cells"].items():
                self.cells[row["name"], column] = cell

    def has(self, trigger: Trigger, column: Column, built: Kernel) -> bool:
        cell = self.cells.get((trigger.name, column.name))
        return bool(
            cell
            and cell["kernel"] == built.key
            and cell["trigger"] == _source(trigger)
            and cell["instrument"] == instrument(column.of)
            and cell["returned"]
            and cell["worked"]
        )

    def drop_stale(self, triggers: list[Trigger]) -> None:
        """Cells of triggers that are gone or were changed since."""
        sources = {t.name: _source(t) for t in triggers}
        self.cells = {
            key: cell for key, cell in self.cells.items() if sources.get(key[0]) == cell["trigger"]
        }


def _progress(column: Column, event: Event) -> None:
    text = readings.progress(column.config, event)
    if text and not event["name"].startswith(("arm", "begin-causes", "causes")):
        term.say(text.replace(column.config.name, column.name, 1))


def _boot(
    column: Column, built: Kernel, batch: list[Trigger], where: Path, threads: str
) -> tuple[Outcome, attempt.Attempt]:
    """One guest; it ends after the first trigger that does not come back."""
    early = Outcome(ours=column.config.isolates)
    lost: list[str] = []

    def on_event(event: Event) -> str | None:
        _progress(column, event)
        early.events.append(event)
        if event["event"] in ("run", "ctl") and not back(event):
            lost.append(event["name"])
        if event["name"].startswith("causes.") and lost:
            return _not_back(lost[0])
        return attempt.judge(early).over

    outcome = boot(cells.guest(column.config, built, batch, threads), where, on_event)
    return outcome, _judge(column.config, batch, outcome, next(iter(lost), None))


def _not_back(name: str) -> str:
    return f"{name} did not come back"


def _judge(
    config: jobs.Config, batch: list[Trigger], outcome: Outcome, lost: str | None
) -> attempt.Attempt:
    """What a boot is good for; @lost: what did not come back first.

    Its cell says so itself, and the guest was ended for it alone.  But where an isolated core
    hangs, its window is never closed: that leaves no cell, and has to be said of the guest.
    """
    found = readings.judge(config, outcome)
    made = {t.name for i, t in enumerate(batch) if cells.cell(config, t, i, outcome)}
    due = [t.name for t in batch]
    if lost and found.over == _not_back(lost) and (lost in made or not config.isolates):
        found = attempt.Attempt(log=found.log)
        due = due[: due.index(lost)] if lost in due else []
    missing = next((name for name in due if name not in made), None)
    if config.isolates and not found.void and missing:
        found = replace(found, ended=f"{missing}: {found.ended or 'window not closed'}")
    return found


def _measure_batch(matrix: Matrix, column: Column, built: Kernel, batch: list[Trigger],
                   attempts: list[attempt.Record], save: Callable[[], None] = lambda: None) -> None:
    """Boots until each trigger of @batch has its cell, or five guests gave none."""
    left, void_boots = list(batch), 0
    mine: list[attempt.Record] = []
    while left:
        where = OUT / "matrix" / f"{column.files}-{len(attempts) + 1}"
        outcome, found = _boot(column, built, left, where, attempt.threads(mine))
        got: list[Trigger] = []
        shown: list[str] = []
        for i, trigger in enumerate(left):
            cell = cells.cell(column.config, trigger, i, outcome)
            if cell is None:
                continue
            if found.void:
                shown += [f"{trigger.name}: {text}" for text in matrixclaims.of_requests(cell)]
                continue
            cell["kernel"], cell["trigger"] = built.key, _source(trigger)
            cell["instrument"] = instrument(column.of)
            cell["when"] = record.head("matrix")["when"]
            cell["files"] = str(where.relative_to(OUT))
            matrix.cells[trigger.name, column.name] = cell
            got.append(trigger)
        # A cell of class immediate is not judged by its own.
        inside = sum(matrix.cells[t.name, column.name].get("misses") or 0
                     for t in got if t.cls != "immediate")
        mine.append(
            {
                "files": str(where.relative_to(OUT)),
                "triggers": [t.name for t in left],
                "measured": len(got),
                "seconds": round(outcome.seconds, 1),
                "accel": outcome.accel,
                **attempt.record(
                    found,
                    [*cells.entered(left, got, outcome), *shown,
                     *cells.delivered(left, outcome, bool(found.over), inside)]
                    if column.config.isolates else (),
                ),
            }
        )
        attempts.append(mine[-1])
        quiet = outcome.windows.get(jobs.QUIET)
        if quiet and got:
            matrix.columns.setdefault(column.name, {})["quiet"] = readings.counts(quiet)
        left = [t for t in left if t not in got]
        # A run that is ended early is not lost, nor what it has shown.
        save()
        if not got:
            void_boots += 1
            term.say(f"{column.name}: no cell: {found.over}")
            if void_boots == attempt.MAX_BOOTS or attempt.excused_too_often(mine):
                return


def _measure(matrix: Matrix, column: Column, triggers: list[Trigger], resume: bool,
             save: Callable[[], None]) -> None:
    built = column.kernel()
    todo = [t for t in triggers if not (resume and matrix.has(t, column, built))]
    for trigger in todo:
        matrix.cells.pop((trigger.name, column.name), None)
    about = matrix.columns.setdefault(column.name, {})
    by = instrument(column.of)
    same = about.get("kernel", {}).get("build") == built.key and about.get("instrument") == by
    kept = any(name == column.name for _, name in matrix.cells)
    # What this kernel's boots have shown, by this instrument, is not forgotten while any of its
    # cells stays.
    if not (same and (kept or resume)):
        about["attempts"] = []
    about.update(
        {
            "config": column.config.name, "preemption": column.flavour,
            "about": column.config.about, "append": column.config.append, "instrument": by,
            "kernel": {"name": built.name, "release": built.version, "build": built.key},
        }
    )
    attempts = about.setdefault("attempts", [])
    for batch in cells.batches(todo):
        _measure_batch(matrix, column, built, batch, attempts, save)


def _late(matrix: Matrix, trigger: Trigger, stock: Column) -> bool:
    """Did an isolated core make this trigger take longer than it may, as far as is known?"""
    isolator = stock.name.replace("stock", "isolator")
    of_row = {c: matrix.cells.get((trigger.name, c)) for c in (stock.name, isolator)}
    return all(of_row.values()) and matrixclaims.late({"cells": of_row}, isolator) is not None


def _stock_again(matrix: Matrix, stock: Column, triggers: list[Trigger]) -> None:
    """The limit is stock's time, which varies: where it is exceeded, stock is timed again.

    The isolated core's one time stays, and so does what stock's first run counted.
    """
    for _ in range(AGAIN):
        late = [t for t in triggers if _late(matrix, t, stock)]
        attempts = matrix.columns[stock.name].setdefault("attempts", [])
        for batch in cells.batches(late):
            first = {t.name: matrix.cells[t.name, stock.name] for t in batch}
            _measure_batch(matrix, stock, stock.kernel(), batch, attempts)
            for name, cell in first.items():
                again = matrix.cells[name, stock.name]
                if again is not cell:
                    times = cell.setdefault("seconds_all", [cell["seconds"]])
                    times.append(again["seconds"])
                    matrix.cells[name, stock.name] = cell
                    term.say(f"{stock.name}: {name}: " + ", ".join(f"{s:.2f} s" for s in times))


def _rows(matrix: Matrix, triggers: list[Trigger], of: Machine) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for trigger in triggers:
        lacking = of.name not in trigger.arch
        of_row = {c: cell for (name, c), cell in matrix.cells.items() if name == trigger.name}
        row: dict[str, Any] = {
            "row": trigger.row, "name": trigger.name, "class": trigger.cls, "about": trigger.about,
            "user": trigger.user, "append": trigger.append, "cpus": trigger.cpus,
            "timeout_s": trigger.timeout_s, "absent": trigger.absent_on(of),
            "runs": len(of_row), "why_not": f"{of.name} lacks {trigger.needs}" if lacking else None,
            "cells": dict(sorted(of_row.items())),
        }
        row["interrupts"] = matrixclaims.interrupts(row, matrix.columns)
        found.append(row)
    for number, why in catalogue.untriggered(triggers).items():
        found.append(
            {
                "row": str(number), "name": catalogue.rows()[number].source,
                "class": catalogue.rows()[number].policy, "about": catalogue.rows()[number].what,
                "user": False, "append": "", "cpus": 0, "timeout_s": 0, "absent": [], "runs": 0,
                "why_not": why, "cells": {},
                "interrupts": {},
            }
        )
    found.sort(key=lambda r: (int(r["row"].split(",")[0]), r["name"]))
    return found


def _pick(names: list[str], sample: bool, of: Machine) -> list[Trigger]:
    """Those that were asked for and that @of has what it takes for; the others are named."""
    found = header.triggers()
    if sample:
        found = [t for t in found if "check" in t.used_in]
    elif names:
        found = [t for t in found if t.name in names or {str(r) for r in t.rows} & set(names)]
    if not found:
        raise term.LabError(
            f"no row {', '.join(names)}: give a trigger's name (a file of lab/triggers) "
            "or a number of docs/catalogue.md"
        )
    for trigger in found:
        if of.name not in trigger.arch:
            term.say(f"left out: {trigger.name}: {of.name} lacks {trigger.needs}")
    able = [t for t in found if of.name in t.arch]
    if not able:
        raise term.LabError(f"nothing is left to run on {of.name}", code=term.SKIPPED)
    return able


def _report(
    matrix: Matrix, everything: list[Trigger], judged: bool, of: Machine = machine.X86_64
) -> dict[str, Any]:
    report: dict[str, Any] = {
        **record.head("matrix"), **record.where(of.target), "arch": of.name,
        "columns": matrix.columns, "rows": _rows(matrix, everything, of), "judged": judged,
        "broken": [],
    }
    return report


def main(names: list[str], configs: list[str] | None, flavours: list[str] | None, sample: bool,
         resume: bool, arch: str = machine.X86_64.name) -> int:
    of = machine.named(arch)
    everything = header.triggers()
    triggers = _pick(names, sample, of)
    chosen = columns(configs, flavours, of)
    name = ("matrix-sample" if sample else "matrix") + of.suffix
    path = OUT / f"{name}.json"
    OUT.mkdir(exist_ok=True)
    if sample:
        path.unlink(missing_ok=True)
    matrix = Matrix(path)
    matrix.drop_stale(everything)
    term.say(f"{len(triggers)} rows; configurations: {', '.join(c.name for c in chosen)}")

    def save() -> None:
        _write(path, _report(matrix, triggers if sample else everything, False, of))

    for column in chosen:
        _measure(matrix, column, triggers, resume, save)
    for column in chosen:
        if column.config.name == "stock":
            _stock_again(matrix, column, triggers)
    everywhere = {c.name for c in columns(None, flavours)} <= set(matrix.columns)
    whole = not names and not sample and everywhere
    report = _report(matrix, triggers if sample else everything, whole or sample, of)
    measured = {(t.name, c.name) for t in triggers for c in chosen}
    claims = matrixclaims.broken(report, measured, whole)
    report["broken"] = [text for _, text in claims]
    jsonschema.validate(report, schemafile.read(SCHEMAS / "matrix.json"))
    _write(path, report)
    (OUT / f"{name}.html").write_text(matrixpage.page(report))
    if whole:
        PAGE.write_text(markdown.page(report, everything, PAGE.read_text()))
    print(matrixpage.text(report, {t.name for t in triggers}))
    for claim in report["broken"]:
        print(term.colour(f"does not hold: {claim}", "31"))
    missing = sorted(measured - {(r["name"], c) for r in report["rows"] for c in r["cells"]})
    doubts = [f"no cell for {', '.join('/'.join(m) for m in missing[:10])}"] if missing else []
    doubts += [f"{c}: {why}" for c, why in matrixclaims.excused(report["columns"])]
    for doubt in doubts:
        print(f"inconclusive: {doubt}")
    if doubts and not claims:
        return term.INCONCLUSIVE
    failed = {key for key, _ in claims}
    missed = set(missing)
    skipped = {key for key in measured - missed - failed if _outcome(report, key) == "missing"}
    written = f"out/{name}.json, out/{name}.html{', docs/catalogue.md' if whole else ''}"
    print(f"{written}; {term.elapsed():.0f} s")
    passed = len(measured - failed - skipped - missed)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return term.EXCEEDED if report["broken"] else term.PASS


def _outcome(report: dict[str, Any], key: tuple[str, str]) -> str:
    row = next(r for r in report["rows"] if r["name"] == key[0])
    return str(row["cells"].get(key[1], {}).get("outcome", ""))


def _write(path: Path, report: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(report, indent=1) + "\n")
    os.replace(partial, path)
