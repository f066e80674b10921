# SPDX-License-Identifier: GPL-2.0-or-later
"""Each claim of isolab run must fail when what it claims does not hold."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from isolab import claims, html, table
from isolab.paths import SCHEMAS


def _window(entries: int = 0) -> dict[str, Any]:
    return {
        "window_s": 4.0,
        "kernel_entries": entries,
        "tick_entries": 0,
        "kernel_instructions": entries * 1000,
        "user_instructions": 10**9,
        "entries_by_vector": {"sysvec_apic_timer_interrupt": entries} if entries else {},
        "tick_kernel_instructions_max": 0,
        "ticks": 400,
    }


def _trigger(name: str, isolated: bool, entries: int) -> dict[str, Any]:
    return {
        **_window(entries),
        "name": name,
        "row": "1",
        "class": "catch-up",
        "about": "a <trigger>",
        "worked": True,
        "returned": True,
        "outcome": "done",
        "seconds": 0.1,
        "detail": "",
        "breaches": 0 if isolated else None,
        "held": 0 if isolated else None,
        "longest_hold_s": 0.0 if isolated else None,
    }


def _config(isolated: bool) -> dict[str, Any]:
    entries = 0 if isolated else 50
    config: dict[str, Any] = {
        "about": "x",
        "append": "",
        "accel": "tcg",
        "kernel": {"name": "k"},
        "window_s": 72.0,
        "kernel_entries": entries * 18,
        "tick_entries": 0,
        "kernel_instructions": 0,
        "user_instructions": 18 * 10**9,
        "user_instructions_per_second_min": 10**8,
        "entries_by_vector": {},
        "breaches": 0 if isolated else None,
        "probes": 4,
        "probes_seen": 4,
        "quiet": _window(entries),
        "load": _window(entries),
        "triggers": [_trigger(f"t{i}", isolated, entries) for i in range(16)],
        "kernel_log": [],
        "attempts": [
            {
                "attempt": 1,
                "void": None,
                "seconds": 1.0,
                "boot_seconds": 1.0,
                "files": "run/x-1",
                "kernel_log": [],
            }
        ],
    }
    if isolated:
        fired = {k: _trigger("t0", True, 0)[k] for k in _FIRED}
        config["no_tick"] = {
            **_window(),
            "window_s": 30.0,
            "ticks": 0,
            "breaches": 0,
            "triggers": [fired],
        }
    return config


_FIRED = ("name", "worked", "outcome", "returned", "seconds", "detail")


@pytest.fixture
def report() -> dict[str, Any]:
    return {
        "schema": "isolator.run",
        "version": 1,
        "when": "w",
        "host": "h",
        "emulator": "q",
        "judged": True,
        "broken": [],
        "inconclusive": None,
        "seconds": 1.0,
        "configs": {
            "stock": _config(False),
            "tuned": _config(False),
            "isolator": _config(True),
        },
    }


def test_a_good_report_holds_and_fits_the_schema(report: dict[str, Any]) -> None:
    assert claims.broken(report["configs"]) == []
    jsonschema.validate(report, json.loads((SCHEMAS / "run.json").read_text()))


def _set(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def change(configs: dict[str, Any]) -> None:
        at: Any = configs
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = to

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set("isolator", "quiet", "kernel_entries", to=1),
        _set("isolator", "load", "kernel_entries", to=1),
        _set("isolator", "no_tick", "kernel_entries", to=1),
        _set("isolator", "triggers", 7, "kernel_entries", to=1),
        _set("isolator", "triggers", 7, "breaches", to=1),
        _set("isolator", "triggers", 7, "breaches", to=None),
        _set("isolator", "triggers", 7, "worked", to=False),
        _set("isolator", "triggers", 7, "returned", to=False),
        _set("isolator", "triggers", 7, "outcome", to="refused"),
        _set("isolator", "triggers", to=[]),
        _set("isolator", "no_tick", "triggers", 0, "worked", to=False),
        _set("isolator", "no_tick", "window_s", to=12.0),
        _set("isolator", "no_tick", "ticks", to=1),
        _set("isolator", "no_tick", "breaches", to=1),
        _set("isolator", "quiet", "tick_entries", to=1),
        _set("isolator", "user_instructions_per_second_min", to=10**6 - 1),
        _set("isolator", "kernel_instructions", to=10**9),
        _set("isolator", "kernel_log", to=["WARNING: x"]),
        _set("isolator", "probes_seen", to=3),
        _set("isolator", "probes", to=0),
        _set("stock", "kernel_entries", to=0),
        _set("tuned", "kernel_entries", to=0),
        _set("tuned", "probes_seen", to=3),
    ],
)
def test_each_claim_can_fail(
    report: dict[str, Any], change: Callable[[dict[str, Any]], None]
) -> None:
    configs = copy.deepcopy(report["configs"])
    change(configs)
    assert len(claims.broken(configs)) == 1


def test_table_and_page_show_every_trigger(report: dict[str, Any]) -> None:
    text, page = table.text(report), html.page(report)
    for trigger in report["configs"]["stock"]["triggers"]:
        assert trigger["name"] in text and trigger["name"] in page
    assert "a <trigger>" not in page.split("<script")[0]
    assert "http://" not in page and "https://" not in page
