# SPDX-License-Identifier: GPL-2.0-or-later
"""Each claim of isolab run must fail when what it claims does not hold."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from faces import head, look_at
from isolab import html, table
from isolab.judge import claims
from isolab.judge.attempt import Attempt, record
from isolab.paths import SCHEMAS
from isolator_report import schemafile, svg


def _window(entries: int = 0, isolated: bool = True) -> dict[str, Any]:
    return {
        "window_s": 4.0, "kernel_entries": entries, "tick_entries": 0,
        "kernel_instructions": entries * 1000, "user_instructions": 10**9,
        "entries_by_vector": {"sysvec_apic_timer_interrupt": entries} if entries else {},
        "tick_kernel_instructions_max": 0, "ticks": 0, "probes": 4, "probes_seen": 4,
        "user_per_s": 4 * 10**8, "missed": 0 if isolated else None,
    }


def _trigger(name: str, isolated: bool, entries: int) -> dict[str, Any]:
    return {
        **_window(entries, isolated), "name": name, "row": "1", "class": "defer",
        "about": "a <trigger>", "worked": True, "returned": True, "outcome": "done", "seconds": 0.1,
        "detail": "", "queued": 0 if isolated else None, "deferred": 3 if isolated else None,
        "excluded": 0 if isolated else None, "longest_wait_s": 0.0 if isolated else None,
    }


def _config(isolated: bool) -> dict[str, Any]:
    entries = 0 if isolated else 50
    config: dict[str, Any] = {
        "about": "x",
        "append": "",
        "accel": "tcg",
        "kernel": {"name": "k", "hz": 250},
        "window_s": 72.0,
        "kernel_entries": entries * 18,
        "tick_entries": 0,
        "kernel_instructions": 0,
        "user_instructions": 18 * 10**9,
        "user_instructions_per_second_min": 3 * 10**8,
        "entries_by_vector": {},
        "missed": 0 if isolated else None,
        "probes": 4,
        "probes_seen": 4,
        "control": 5,
        "quiet": _window(entries, isolated),
        "load": _window(entries, isolated),
        "triggers": [_trigger(f"t{i}", isolated, entries) for i in range(claims.MIN_TRIGGERS)],
        "kernel_log": [],
        "attempts": [
            {
                "attempt": 1, **RECORD, "accel": "tcg,thread=multi", "seconds": 1.0,
                "boot_seconds": 1.0, "files": "run/x-1",
            }
        ],
    }
    if isolated:
        fired = {k: _trigger("t0", True, 0)[k] for k in _FIRED}
        config["no_tick"] = {**_window(), "window_s": 30.0, "triggers": [fired]}
        config["deliveries"] = []
    return config


RECORD = record(Attempt())
_FIRED = ("name", "worked", "outcome", "returned", "seconds", "detail")


@pytest.fixture
def report() -> dict[str, Any]:
    return {
        "schema": "isolab.run", "version": 1, "when": "w", "host": "h", "emulator": "q",
        "judged": True, "broken": [], "inconclusive": None, "seconds": 1.0,
        "configs": {"stock": _config(False), "tuned": _config(False), "isolator": _config(True)},
    }


def test_a_good_report_holds_and_fits_the_schema(report: dict[str, Any]) -> None:
    assert claims.broken(report["configs"]) == []
    jsonschema.validate(report, schemafile.read(SCHEMAS / "run.json"))


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
        _set("isolator", "triggers", 7, "missed", to=1),
        _set("isolator", "triggers", 7, "missed", to=None),
        _set("isolator", "triggers", 7, "worked", to=False),
        _set("isolator", "triggers", 7, "returned", to=False),
        _set("isolator", "triggers", 7, "outcome", to="refused"),
        _set("isolator", "triggers", to=[]),
        _set("isolator", "no_tick", "triggers", 0, "worked", to=False),
        _set("isolator", "no_tick", "triggers", 0, "seconds", to=2.3),
        _set("isolator", "no_tick", "window_s", to=12.0),
        _set("isolator", "no_tick", "ticks", to=1),
        _set("isolator", "no_tick", "missed", to=1),
        _set("isolator", "quiet", "tick_entries", to=1),
        _set("isolator", "quiet", "ticks", to=1),
        _set("isolator", "triggers", 7, "tick_entries", to=10**6),
        _set("isolator", "no_tick", "tick_entries", to=1),
        _set("isolator", "quiet", "missed", to=1),
        _set("isolator", "load", "missed", to=None),
        _set("isolator", "triggers", 7, "outcome", to="lost"),
        _set("isolator", "triggers", 7, "longest_wait_s", to=1.01),
        _set("isolator", "triggers", 7, "longest_wait_s", to=None),
        _set("isolator", "triggers", 7, "seconds", to=1.2),
        _set("isolator", "triggers", 7, "tick_kernel_instructions_max", to=10**6 + 1),
        _set("isolator", "deliveries", to=["cpu 1 deadline_miss kind call"]),
        # The worst second: far from nothing, but half of the quiet window is gone.
        _set("isolator", "user_instructions_per_second_min", to=2 * 10**8 - 1),
        _set("isolator", "kernel_instructions", to=19 * 10**6),
        _set("isolator", "attempts", 0, "kernel_log", to=["WARNING: x"]),
        _set("isolator", "attempts", 0, "ended", to="no report for 75 s"),
        _set("isolator", "attempts", 0, "entered", to=["window 1: 7 kernel entries"]),
        _set("isolator", "probes_seen", to=3),
        _set("isolator", "control", to=4),
        _set("isolator", "control", to=None),
        _set("tuned", "control", to=0),
        _set("isolator", "probes", to=0),
        _set("stock", "kernel_entries", to=0),
        _set("tuned", "kernel_entries", to=0),
        _set("tuned", "probes_seen", to=3),
        _set("tuned", "audit", to=["irq.affinity: /proc/irq/4/smp_affinity is 3"]),
    ],
)
def test_each_claim_can_fail(
    report: dict[str, Any], change: Callable[[dict[str, Any]], None]
) -> None:
    configs = copy.deepcopy(report["configs"])
    change(configs)
    assert len(claims.broken(configs)) == 1


def test_what_did_not_come_back_says_nothing_of_time(report: dict[str, Any]) -> None:
    """The lab waited for it for 20 s; that is no time that it takes."""
    configs = report["configs"]
    stock, tuned, isolator = (configs[n]["triggers"][2] for n in ("stock", "tuned", "isolator"))
    stock.update(returned=False, seconds=20.0)
    isolator["seconds"] = 4.0
    assert claims.late(configs) == ["t2"]
    (text,) = claims.broken(configs)
    assert "t2: took 4.00 s, at most 1.12 s" in text
    tuned.update(returned=False, seconds=20.0)
    assert claims.late(configs) == []
    (text,) = claims.broken(configs)
    assert text.endswith("t2: no limit for its time, as it did not come back on stock or tuned")
    # Of Isolator alone no time is judged.
    assert claims.broken({"isolator": configs["isolator"]}) == []


def test_every_tick_of_a_window_may_enter_once_and_for_a_signal(report: dict[str, Any]) -> None:
    configs = report["configs"]
    window = configs["isolator"]["triggers"][5]
    window.update(ticks=402, tick_entries=804)  # in 4 s
    assert claims.broken(configs) == []
    window["ticks"] = 403
    assert len(claims.broken(configs)) == 1
    window.update(ticks=402, tick_entries=805)
    assert len(claims.broken(configs)) == 1


def test_load_alone_makes_little_due(report: dict[str, Any]) -> None:
    configs = report["configs"]
    configs["isolator"]["load"].update(ticks=2, tick_entries=2)
    assert claims.broken(configs) == []
    configs["isolator"]["load"].update(ticks=3, tick_entries=3)
    assert len(claims.broken(configs)) == 1


def test_a_task_that_hardly_runs_breaks_a_claim(report: dict[str, Any]) -> None:
    configs = report["configs"]
    isolator = configs["isolator"]
    isolator["quiet"]["user_per_s"] = isolator["user_instructions_per_second_min"] = 10**7
    assert claims.broken(configs) == []
    isolator["quiet"]["user_per_s"] = isolator["user_instructions_per_second_min"] = 10**7 - 1
    assert len(claims.broken(configs)) == 1


@pytest.mark.parametrize(
    ("arch", "cls", "count"),
    [
        ("x86_64", "defer", "deferred"), ("x86_64", "queue", "queued"),
        ("arm64", "defer", "excluded"), ("arm64", "queue", "queued"),
    ],
)
def test_a_class_is_treated_as_it_says(
    report: dict[str, Any], arch: str, cls: str, count: str
) -> None:
    configs = report["configs"]
    configs["isolator"]["arch"] = arch
    triggers = configs["isolator"]["triggers"]
    for t in triggers:
        t.update({"class": cls, "deferred": 0, "queued": 0, "excluded": 0})
    (text,) = claims.broken(configs)
    assert f"nothing was {count} by any trigger of class {cls}" in text
    triggers[3][count] = 1
    assert claims.broken(configs) == []


def test_the_limit_of_a_trigger_is_its_longest_time_elsewhere_and_what_was_held(
        report: dict[str, Any]) -> None:
    configs = report["configs"]
    slow = configs["isolator"]["triggers"][2]
    slow.update(seconds=1.3, queued=20)
    assert claims.broken(configs) == []
    slow.update(seconds=4.0)
    (text,) = claims.broken(configs)
    assert f"{slow['name']}: took 4.00 s" in text
    configs["tuned"]["triggers"][2].update(seconds=3.0)
    assert claims.broken(configs) == []
    # What computes for long varies by more than a deadline.
    configs["tuned"]["triggers"][2].update(seconds=28.0)
    slow.update(seconds=36.0, queued=0)
    assert claims.broken(configs) == []
    slow.update(seconds=36.1)
    assert claims.broken(configs) != []
    del configs["stock"], configs["tuned"]
    slow.update(seconds=60.0)
    assert claims.broken(configs) == []  # nothing to compare it with


def test_a_trigger_is_late_if_it_is_late_once_more(report: dict[str, Any]) -> None:
    """Another boot makes it again; what that shows beside its time is judged as well."""
    configs = report["configs"]
    isolator = configs["isolator"]
    isolator["triggers"][2].update(seconds=4.0)
    assert claims.late(configs) == ["t2"]
    more = isolator["again"] = _config(isolated=True)
    more["triggers"] = [_trigger("t2", True, 0)]
    jsonschema.validate(report, schemafile.read(SCHEMAS / "run.json"))
    assert claims.broken(configs) == []
    more["triggers"][0].update(seconds=3.0)
    (text,) = claims.broken(configs)
    assert "t2: took 4.00 s and 3.00 s, at most 1.12 s are allowed" in text
    more["triggers"] = [_trigger("t2", True, 7)]
    more.update(probes_seen=0, control=None)
    more["quiet"] = _window(3)
    more["attempts"] = [{"ended": None, "entered": ["window 9"], "kernel_log": ["WARNING: x"]}]
    said = "\n".join(claims.broken(configs))
    assert all(f"isolator: once more: {text}" in said for text in (
        "the observer saw 0 of 4 deliberate entries", "the observer counted None of 5",
        "quiet: 3 kernel entries", "t2: 7 kernel entries", "attempt 1: window 9",
        "attempt 1: kernel log: WARNING"))


def test_a_rate_is_said_of_the_tick_alone(report: dict[str, Any]) -> None:
    """How often triggers come is our doing; how many of them interrupt is the kernel's."""
    stock, tuned, isolator = (report["configs"][n] for n in ("stock", "tuned", "isolator"))
    stock["quiet"]["entries_by_vector"] = {"sysvec_apic_timer_interrupt": 1000}
    for t in stock["triggers"][1:]:
        t["entries_by_vector"] = {"sysvec_apic_timer_interrupt": 100}
    tuned["quiet"]["entries_by_vector"] = {"sysvec_apic_timer_interrupt": 200}
    for t in (*stock["triggers"][:1], *tuned["triggers"][:3]):
        t["entries_by_vector"] = {"sysvec_call_function": 4}
    lines = [line for line in table.text(report).splitlines() if "interruptions in" in line]
    assert "(the tick 250 a second (HZ 250), 1 of 30 triggers)" in lines[0]
    # The timer counts where the tick is stopped: up to 50 a second.
    assert "(30 of 30 triggers)" in lines[1] and "second (" not in lines[1]
    assert "(0 of 30 triggers)" in lines[2] and "second (" not in lines[2]
    page = html.page(report).split("<script")[0]
    assert "by 1 of 30 triggers and 250 ticks a second (HZ 250)" in page
    assert page.count("ticks a second") == 1


def test_the_tables_own_ticks(report: dict[str, Any]) -> None:
    isolator = report["configs"]["isolator"]
    isolator["triggers"][3].update(tick_entries=7, tick_kernel_instructions_max=261858)
    lines = table.text(report).splitlines()
    (line,) = [line for line in lines if line.startswith("t3 ")]
    assert " own ticks " in lines[0] and " 7 (262k insn) " in line
    (line,) = [line for line in lines if line.startswith("t4 ")]
    at = lines[0].index("own ticks")
    assert line[at : at + 9].strip() == "0"
    report["configs"] = {"stock": report["configs"]["stock"]}
    (line,) = [line for line in table.text(report).splitlines() if line.startswith("t3 ")]
    assert "insn" not in line


def test_what_is_broken_is_shown_before_what_is_inconclusive(report: dict[str, Any]) -> None:
    report |= {"inconclusive": "isolator: the guest ended", "broken": ["a < b"], "judged": False}
    assert "<li>a &lt; b</li>" in html.page(report)
    report["broken"] = []
    assert "Inconclusive: isolator: the guest ended" in html.page(report)


def test_table_and_page_show_every_trigger(report: dict[str, Any]) -> None:
    text, page = table.text(report), html.page(report)
    for trigger in report["configs"]["stock"]["triggers"]:
        assert trigger["name"] in text and trigger["name"] in page
    assert "a <trigger>" not in page.split("<script")[0]
    # The name of the picture's language, which nothing is fetched from.
    assert set(re.findall(r"https?://[^\"' ]*", page)) == {"http://www.w3.org/2000/svg"}


def test_the_page_says_first_what_holds(report: dict[str, Any], tmp_path: Path) -> None:
    """Verdict, a sentence of each configuration, then where; limits drawn; figures to take."""
    report["command"] = "tools/isolab run --preemption rt"
    report["configs"]["isolator"]["triggers"][4]["longest_wait_s"] = 0.42
    page = html.page(report)
    said = head(page)
    assert said.index("Every claim") < said.index("Isolator: never interrupted in 72 s, by 0 of 30")
    assert "<dd>tools/isolab run --preemption rt</dd>" in said and "<dd>q on h</dd>" in said
    pictures = re.findall(r"<svg.*?</svg>", page)
    assert "limit of Isolator: none" in pictures[0] and "limit: 1 s, the deadline" in pictures[1]
    look_at(page, tmp_path, "Interruptions by event", "Linux as it comes", "q on h",
            "tools/isolab run")
    report["configs"]["isolator"]["triggers"][4]["longest_wait_s"] = 1.5
    assert re.findall(r"<svg.*?</svg>", html.page(report))[1].count("fill=\"" + svg.BAD) == 2
