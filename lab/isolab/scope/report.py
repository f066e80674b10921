# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab scope-report: the thesis' experiment, idle and under three loads, stock and isolated."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
from isolator_report import schemafile
from isolator_scope import headless
from isolator_scope.account import Account
from isolator_scope.errors import ScopeError
from isolator_scope.link import Target
from isolator_scope.protocol import SetFrequency, SetPhase
from isolator_scope.runs import Line

from .. import record, term
from ..guests import dmesg
from ..judge import attempt
from ..paths import OUT, SCHEMAS, TOP
from . import figure, page
from .cells import CONFIGS, ENDS_S, IDLE, LOADS, RUNS, Config, Load, LoadGuest, Run, ended

SECONDS, HERTZ, SEED = 20.0, 100.0, 1
# Beside a load more would take longer than a host waits for an answer.
CALIBRATE = 200
MAX_BOOTS = 2
NAME = "scope-report"
PICTURE = TOP / "docs" / f"{NAME}.svg"


def line_row(line: Line) -> dict[str, Any]:
    """One mechanism's, out of the account."""
    values = line.values
    p50, p99 = (
        "missing" if ns is not None and ns < 0 else ns
        for ns in values.said((50.0, 99.0), line.missing)
    )
    return {
        "mechanism": line.name,
        **{
            key: getattr(line, key)
            for key in ("triggers", "answered", "late", "missing", "strays", "unsure")
        },
        "min_ns": values.least if values.count else None,
        "mean_ns": None if values.mean is None else round(values.mean, 1),
        "p50_ns": p50,
        "p99_ns": p99,
        "max_ns": values.most if values.count else None,
        "histogram": values.histogram().encode(),
    }


def floor_row(account: Account, run: Run) -> dict[str, Any] | None:
    """The generator's own error; None: it was not measured."""
    floor = account.floor
    if floor is None or not floor.rounds:
        return None
    return {
        "lines": run.name, "resolution_ns": floor.resolution_ns, "p50_ns": floor.loopback_p50_ns,
        "p99_ns": floor.loopback_p99_ns, "max_ns": floor.loopback_max_ns,
        "jitter_max_ns": floor.jitter_max_ns,
    }


def add(cell: dict[str, Any], run: Run, account: Account, doubts: Sequence[str]) -> None:
    """One recording's part of a cell."""
    floor = floor_row(account, run)
    cell["floors"] += [floor] if floor else []
    cell["lines"] += [line_row(line) for line in account.lines if line.name in run.lines]
    found = [*account.doubts(), *doubts]
    if not floor:
        found.append("the generator's floor was not measured")
    answered = [line.name for line in account.lines if line.values.count]
    silent = [name for name in run.lines if name not in answered]
    if silent:
        found.append(f"no answer at all from {', '.join(silent)}")
    cell["doubts"] += [f"{run.name}: {one}" for one in found]


def foreign(account: Account, before: int) -> str | None:
    """Is there another run's trigger in it, or one too few?  @before: the session's until then."""
    state = account.state
    if state is None:
        return "the generator did not say what it sent"
    sent, came = state.triggers - before, account.triggers + account.lost_triggers
    return None if sent == came else f"{sent} triggers were sent, {came} are accounted for"


def _record(guest: LoadGuest, path: Path, run: Run, seconds: float) -> headless.Outcome:
    path.unlink(missing_ok=True)
    plan = headless.Plan(Target(*guest.address), path, seconds,
                         settings=[SetFrequency(round(HERTZ * 1000)), SetPhase(1, SEED)],
                         lines=run.lines, calibrate=CALIBRATE)
    try:
        outcome = asyncio.run(headless.record(plan))
    except ScopeError as e:
        raise term.LabError(f"{run.name}: {e}; see {guest.where}") from e
    if outcome.early:
        raise KeyboardInterrupt
    account = outcome.instrument.account
    outcome.doubts += [one for one in (foreign(account, guest.sent),) if one]
    guest.sent = account.state.triggers if account.state else guest.sent
    return outcome


def _cell(guest: LoadGuest, load: Load, seconds: float) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "load": load.name, "what": None, "did": None, "skipped": None, "doubts": [],
        "floors": [], "lines": [],
    }  # fmt: skip
    there = load is IDLE or guest.begin_load(load)
    for run in RUNS if there else ():
        term.say(f"{guest.config.name}: {load.name}, {run.name}, {seconds:g} s")
        guest.begin_task(run)
        outcome = _record(guest, guest.where / f"{load.name}-{run.name}.scope", run, seconds)
        guest.kill("task")
        add(cell, run, outcome.instrument.account, outcome.doubts)
    if load is not IDLE:
        ended(guest.kill("load", ENDS_S), cell)
        if not there and not cell["skipped"]:
            cell["doubts"].append("the load ended before it began")
    if cell["skipped"]:
        term.say(f"{guest.config.name}: {load.name} skipped: {cell['skipped']}")
    return cell


def _config(config: Config, loads: Sequence[Load], seconds: float) -> dict[str, Any]:
    """One configuration's part.  What the isolating kernel shows by its end is not tried again."""
    row: dict[str, Any] = {
        "name": config.name, "about": config.about, "kernel": "", "attempts": [], "ended": None,
        "kernel_log": [], "cells": [],
    }  # fmt: skip
    threads = ""
    while not (row["cells"] or row["ended"]) and len(row["attempts"]) < MAX_BOOTS:
        term.say(f"{config.name}: booting")
        guest = LoadGuest(config, threads)  # that its kernel cannot be built is no boot
        cells: list[dict[str, Any]] = []
        failed: term.LabError | None = None
        try:
            with guest:
                row["kernel"] = guest.release
                cells = [_cell(guest, load, seconds) for load in loads]
        except term.LabError as e:
            failed = e
        found = attempt.timed(attempt.judge(guest.outcome), guest.outcome)
        threads = attempt.SINGLE if found.excused else ""
        void = found.void or (failed and failed.code == term.INCONCLUSIVE)
        why = str(found.void or failed or found.ended or "")
        row["attempts"].append(why)
        row["kernel_log"] += [finding.text for finding in dmesg.scan(found.log)]
        if not why:
            row["cells"] = cells
        elif void or config.stock:
            term.say(f"{config.name}: void: {why}")
        else:
            row["ended"] = why
    return row


def broken(configs: Sequence[dict[str, Any]]) -> list[str]:
    """The claims that do not hold: of the isolating kernel each boot comes to its end."""
    return [f"{row['name']}: the guest ended: {row['ended']}" for row in configs if row["ended"]]


def inconclusive(configs: Sequence[dict[str, Any]]) -> str | None:
    """Why nothing may be concluded; None: something may."""
    found = [
        f"{row['name']}: no guest came to its end: {row['attempts'][-1]}"
        for row in configs
        if not row["cells"]
    ]
    found += [f"{row['name']}: kernel log: {text}" for row in configs for text in row["kernel_log"]]
    doubted = sum(1 for row in configs for cell in row["cells"] if cell["doubts"])
    if doubted:
        found.append(f"{doubted} cells have no result")
    return "; ".join(found) or None


def read() -> dict[str, Any]:
    """out/scope-report.json, which has to fit its schema."""
    path = OUT / f"{NAME}.json"
    try:
        report: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as e:
        raise term.LabError(f"{path}: {e}: run make {NAME} first") from e
    jsonschema.validate(report, schemafile.read(SCHEMAS / f"{NAME}.json"))
    return report


def draw() -> int:
    """The picture of docs/, from the last whole run."""
    report = read()
    whole = [c for row in report["configs"] for c in row["cells"]]
    if report["inconclusive"] or len(whole) != len(CONFIGS) * len(LOADS):
        raise term.LabError(
            f"out/{NAME}.json is part of a run, or no result: run make {NAME}", term.INCONCLUSIVE
        )
    PICTURE.write_text(figure.picture(report))
    print(PICTURE.relative_to(TOP))
    return term.PASS


def main(configs: list[str] | None, loads: list[str] | None, seconds: float) -> int:
    if not 1 <= seconds <= 3600:
        raise term.LabError("--seconds must be 1 to 3600")
    chosen = [load for load in LOADS if not loads or load.name in loads]
    rows = [_config(c, chosen, seconds) for c in CONFIGS if not configs or c.name in configs]
    report: dict[str, Any] = {
        **record.head(NAME), **record.where(), "seconds": seconds, "hertz": HERTZ, "seed": SEED,
        "took_s": round(term.elapsed(), 1), "configs": rows, "broken": broken(rows),
        "inconclusive": inconclusive(rows),
    }
    record.write(report)
    (OUT / f"{NAME}.html").write_text(page.page(report))
    print(page.text(report))
    for claim in report["broken"]:
        print(term.colour(f"does not hold: {claim}", "31"))
    if report["inconclusive"]:
        print(f"inconclusive: {report['inconclusive']}")
    print(f"out/{NAME}.json, out/{NAME}.html; {report['took_s']:.0f} s")
    if report["broken"]:
        return term.EXCEEDED
    return term.INCONCLUSIVE if report["inconclusive"] else term.PASS
