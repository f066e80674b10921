# SPDX-License-Identifier: GPL-2.0-or-later
"""Both programs in turn: what is asked of a guest, and read from it."""

import base64
import gzip
import json
from typing import Any

import jsonschema
import pytest
from isolab import record, term
from isolab.guests.guest import Outcome
from isolab.paths import SCHEMAS
from isolab.rivals import live
from isolator_report import schemafile


def _outcome(runs: list[live.Run], **changes: Any) -> Outcome:
    """Each run wrote its own name, in two parts."""
    events = []
    for run in runs:
        text = base64.b64encode(gzip.compress(json.dumps({"of": run.name}).encode())).decode()
        events.append({"event": "run", "name": run.name, "exit": 0, "out": ""} | changes)
        events += [{"event": "part", "name": run.name, "text": t} for t in (text[:9], text[9:])]
    return Outcome(events=events)


def test_rounds_are_a_b_b_a() -> None:
    runs = live.plan(2)
    assert "".join(run.program[0] for run in runs) == "ciicciic"
    lines = live.job(runs).splitlines()
    for run in runs:
        at = next(i for i, line in enumerate(lines) if line.startswith(f"run {run.name} "))
        assert run.program in lines[at] and f"{live.SAMPLES}" in lines[at]
        assert lines[at + 2] == f"whole {run.name} {live.SAID}.packed"


def test_what_they_wrote_is_read() -> None:
    runs = live.plan(2)
    found = live.rounds_of(runs, _outcome(runs))
    assert [[r["program"] for r in one] for one in found] == [list(live.ORDER)] * 2
    assert found[1][2]["document"] == {"of": "1.2"}
    report = {
        **record.head("measure-live"), "emulator": "QEMU",
        "kernel": {"name": "k", "release": "6.12"}, "attempts": [None], "kernel_log": [],
        "samples": live.SAMPLES, "rounds": found,
    }
    schema = schemafile.read(SCHEMAS / "measure-live.json")
    jsonschema.validate(report, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report | {"more": 1}, schema)


def test_a_program_that_failed_or_wrote_nothing_is_an_error() -> None:
    runs = live.plan(1)
    with pytest.raises(term.LabError, match="cyclictest in round 1 failed: no clock"):
        live.rounds_of(runs, _outcome(runs, exit=1, out="no clock"))
    lost = _outcome(runs)
    lost.events = [e for e in lost.events if e["event"] == "run"]
    with pytest.raises(term.LabError, match="cyclictest in round 1"):
        live.rounds_of(runs, lost)
