# SPDX-License-Identifier: GPL-2.0-or-later
"""What isolab rtla makes of what both tools say."""

import importlib.util
import subprocess
import sys
from types import ModuleType
from typing import Any

import jsonschema
import pytest
from isolab.paths import LAB, SCHEMAS
from isolab.rivals import rtla
from isolator_report import schemafile

HIT = "rtla timerlat hit stop tracing\n## CPU 1 hit stop tracing, analyzing it ##\n"
DELAY = "  IRQ handler delay:                             9.10 us (0.02 %)\n"
HOG = f"""{HIT}{DELAY}  IRQ latency:                                          20.50 us
  Timerlat IRQ duration:                                30.00 us (0.05 %)
  Blocking thread:                                      12.00 us (0.02 %)
                        rcu_preempt:17                   12.00 us
  Thread interference                                59000.00 us (99.00 %)
                             inject:4711              59000.00 us
------------------------------------------------------------------------
  Thread latency:                                    59071.60 us (100%)
"""
IRQ = f"""{HIT}  IRQ handler delay:                         59000.00 us (99.00 %)
  IRQ latency:                                       59600.00 us
  Blocking thread:
                           hwlatd/1:815
------------------------------------------------------------------------
     IRQ latency:                                    59600.00 us (100%)
"""


@pytest.fixture(name="guest", scope="module")
def _guest() -> ModuleType:
    """What runs in the guest."""
    sys.path.insert(0, str(LAB / "distro"))
    try:
        spec = importlib.util.spec_from_file_location("guest_rtla", LAB / "distro" / "rtla.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(LAB / "distro"))
    return module


@pytest.mark.parametrize(
    ("cause", "text", "named"),
    [
        ("hog", HOG, True),
        ("kworker", HOG, False),
        ("irq-off", IRQ, True),
        ("hog", IRQ, False),
        ("hog", "Timer Latency\n", None),
        # What took little is not what took the time.
        ("hog", HOG.replace("59000.00 us\n-", "9000.00 us\n-"), False),
    ],
)
def test_what_rtla_names(guest: ModuleType, cause: str, text: str, named: bool | None) -> None:
    assert guest.analysed(cause, text) is named


def test_times_are_read_to_the_nanosecond(guest: ModuleType) -> None:
    assert guest.utc_ns("1970-01-02T00:00:01.000000002Z") == 86401 * 10**9 + 2


@pytest.mark.parametrize(
    ("at_ns", "happened", "good"),
    [(150, True, True), (99, True, False), (None, True, False), (150, False, False)],
)
def test_only_the_planted_one_counts(
    guest: ModuleType, at_ns: int | None, happened: bool, good: bool
) -> None:
    """rtla stops at whatever comes first: what the host did is not asked for."""
    stop = guest.Stop(subprocess.Popen("true", text=True))
    stop.thread.join()
    stop.at_ns = at_ns
    made = {"happened": happened, "from_ns": 100, "to_ns": 200}
    assert stop.within(made) is good


@pytest.mark.parametrize(
    ("due_ns", "value_ns", "met"),
    [(95, 60, True), (100, 10, True), (95, 4, False), (10**9, 60, False)],
)
def test_a_trigger_may_be_due_before_its_cause(
    guest: ModuleType, due_ns: int, value_ns: int, met: bool
) -> None:
    assert guest.meets({"from_ns": 100, "to_ns": 200}, due_ns, value_ns) is met


def _round(ours: bool | None, theirs: bool | None, code: int = 2) -> dict[str, Any]:
    made = {"happened": True}
    return {
        "isolator": {"named": ours, "exit": code, "made": made, "said": ""},
        "rtla": {"named": theirs, "exit": 0, "made": made, "said": "", "attempts": 1},
    }


def _report(*rounds: dict[str, Any]) -> dict[str, Any]:
    causes = [{"name": "hog", "about": "", "size": 60, "names": "inject", "rounds": list(rounds)}]
    return {"causes": causes, "table": rtla.counted(causes), "kernel_log": []}


def test_each_is_counted_where_it_saw_something() -> None:
    table = _report(_round(True, False), _round(None, True), _round(False, None))["table"]
    assert table == {"hog": {"isolator": {"seen": 2, "named": 1}, "rtla": {"seen": 2, "named": 1}}}


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        ([_round(True, True)], None),
        ([_round(True, False), _round(True, None)], None),
        ([_round(True, True), _round(False, True)], "isolator named 1 of 2"),
        ([_round(None, True)], "isolator named 0 of 0"),
        ([_round(True, True, code=0)], "ended with 0 above its limit"),
    ],
)
def test_what_does_not_hold(rounds: list[dict[str, Any]], words: str | None) -> None:
    found = rtla.broken(_report(*rounds))
    assert bool(found) == bool(words) and (not words or words in found[0])


def test_schema() -> None:
    schema = schemafile.read(SCHEMAS / "rtla.json")
    report = _report(_round(True, None))
    whole = {
        "schema": "isolab.rtla", "version": 1, "when": "", "host": "", "emulator": "",
        "kernel": "", "rtla": ["rtla version 6.12"], "threshold_us": 20000, **report,
        "attempts": [""], "broken": [],
    }  # fmt: skip
    jsonschema.validate(whole, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**whole, "more": 1}, schema)
