# SPDX-License-Identifier: GPL-2.0-or-later
"""Judging what was named against what was injected."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from injections import MS, OFFSET, made_window
from isolab import term
from isolab.guests import observer
from isolab.guests.guest import Outcome
from isolab.paths import LAB, SCHEMAS
from isolab.rivals import attribution, causes, naming, schedule
from isolator_report import schemafile


def _outlier(at_ns: int, *named: tuple[str, int]) -> dict[str, Any]:
    return {
        "at_ns": OFFSET + at_ns,
        "value_ns": sum(ns for _, ns in named),
        "causes": [{"kind": kind, "ns": ns} for kind, ns in named],
    }


def _judged(window: dict[str, Any], *found: dict[str, Any], rt: bool = False) -> dict[str, Any]:
    return {**window, "judged": naming.judge(window, list(found), rt)}


def test_times_are_read_to_the_nanosecond() -> None:
    assert naming.utc_ns("1970-01-01T00:00:01.000000001Z") == 1_000_000_001
    assert naming.utc_ns("1970-01-02T00:00:00Z") == 86400 * 10**9


@pytest.mark.parametrize(
    ("at", "counts"),
    [
        (999_999_999, False),  # nothing was injected yet
        (1_000_000_000, True),
        (1_099_999_999, True),  # ends after it
        (1_100_000_000, False),
    ],
)
def test_only_what_begins_in_the_window_counts(at: int, counts: bool) -> None:
    found = _judged(made_window("hog"), _outlier(at, ("preemption", 1_000_001)))
    assert found["judged"]["hits"] == [counts]
    assert found["judged"]["outliers"] == int(counts)


def test_a_cause_must_have_taken_the_most() -> None:
    window = made_window("hog")
    right = _outlier(1_050_000_000, ("preemption", 9), ("timer", 8))
    wrong = _outlier(1_050_000_000, ("preemption", 8), ("timer", 9))
    assert _judged(window, right)["judged"]["hits"] == [True]
    assert _judged(window, wrong)["judged"]["hits"] == [False]
    assert _judged(window)["judged"] == {
        "named": {}, "tops": ["nothing"], "hits": [False], "outliers": 0, "longest_ns": 0,
        "invented": False,
    }


def test_of_a_pair_each_has_its_own_time() -> None:
    """From 1.01 to 1.03 s and from 1.05 to 1.07 s."""
    window = made_window("hog", "pause")
    first = _outlier(1_020_000_000, ("preemption", MS))
    second = _outlier(1_060_000_000, ("hardware", 10 * MS))
    assert _judged(window, first, second)["judged"]["hits"] == [True, True]
    assert _judged(window, first)["judged"]["hits"] == [True, False]
    assert _judged(window, second)["judged"]["hits"] == [False, True]
    other = made_window("pause", "hog")
    assert _judged(other, first, second)["judged"]["tops"] == ["preemption", "hardware"]
    assert _judged(other, first, second)["judged"]["hits"] == [False, False]


def test_what_the_emulator_takes_itself_is_no_cause() -> None:
    small = _outlier(1_050_000_000, ("hardware", naming.FLOOR_NS - 1), ("text patch", 20_000))
    assert _judged(made_window("text"), small)["judged"]["hits"] == [True]
    assert _judged(made_window("text"), *[small] * 20)["judged"]["hits"] == [True]
    large = _outlier(1_050_000_000, ("hardware", naming.FLOOR_NS), ("text patch", 20_000))
    assert _judged(made_window("text"), large)["judged"]["hits"] == [False]


def test_what_the_host_took_is_no_cause() -> None:
    found = _outlier(1_050_000_000, ("hardware", 4 * MS), ("page fault", MS))
    assert _judged({**made_window("fault"), "taken_ns": 4 * MS}, found)["judged"]["hits"] == [True]
    assert _judged({**made_window("fault"), "taken_ns": 2 * MS}, found)["judged"]["hits"] == [False]


def test_what_an_injection_brings_along_is_left_out() -> None:
    found = _outlier(1_050_000_000, ("ipi", 300_000), ("page fault", 100_000))
    assert _judged(made_window("fault"), found)["judged"]["hits"] == [True]
    assert _judged(made_window("tlb"), found)["judged"]["hits"] == [True]
    assert _judged(made_window("irq"), found)["judged"]["tops"] == ["ipi"]


def test_a_thread_is_right_for_an_interrupt_on_preempt_rt_only() -> None:
    found = _outlier(1_050_000_000, ("thread", 5))
    assert _judged(made_window("irq"), found, rt=True)["judged"]["hits"] == [True]
    assert _judged(made_window("irq"), found)["judged"]["hits"] == [False]


def _report(windows: list[dict[str, Any]], sample: bool = False) -> list[str]:
    return naming.broken(naming.recall(windows), naming.controls(windows), sample)


def _all_named(times: int = 20, controls: int = 40) -> list[dict[str, Any]]:
    """Every cause named rightly, nothing in the controls."""
    windows = [
        _judged(made_window(c.name), _outlier(1_050_000_000, (c.kinds[0], MS)))
        for c in causes.CAUSES
        for _ in range(times)
    ]
    return windows + [_judged(made_window()) for _ in range(controls)]


def test_all_named_holds() -> None:
    assert _report(_all_named()) == []
    assert _report(_all_named(1, 4), sample=True) == []


@pytest.mark.parametrize("cause", [c.name for c in causes.CAUSES])
def test_each_cause_must_be_named_nine_times_in_ten(cause: str) -> None:
    windows = _all_named()
    for missed, holds in ((2, True), (1, False)):
        for window in [w for w in windows if w["injected"] and w["judged"]["hits"] == [True]]:
            if window["injected"][0]["cause"] == cause and missed:
                window["judged"] = _judged(made_window(cause))["judged"]
                missed -= 1
        assert (_report(windows) == []) is holds


def test_a_sample_may_miss_one() -> None:
    windows = _all_named(1, 4)
    windows[0] = _judged(made_window("irq"))
    assert _report(windows, sample=True) == []
    windows[1] = _judged(made_window("softirq"))
    assert _report(windows, sample=True) == ["9 of 11 injected causes were named, less than 90 %"]


def test_causes_invented_on_controls_fail() -> None:
    windows = _all_named()
    false = _judged(made_window(), _outlier(1_050_000_000, ("kworker", 5)))
    windows[-2:] = [false, false]
    assert _report(windows) == []
    windows[-3] = false
    assert _report(windows) == ["3 of 40 quiet windows were given a cause"]
    windows = _all_named(1, 4)
    windows[-1:] = [false]
    assert _report(windows, sample=True) == []
    windows[-2:] = [false, false]
    assert _report(windows, sample=True) == ["2 of 4 quiet windows were given a cause"]


def test_what_the_observer_saw_too_is_no_invention() -> None:
    found = _outlier(1_050_000_000, ("timer", 100_000), ("ipi", 50_000))
    entries = {"sysvec_apic_timer_interrupt": 2, "sysvec_call_function_single": 1}
    windows = _all_named()
    windows[-10:] = [_judged({**made_window(), "entries": entries}, found)] * 10
    assert _report(windows) == []
    assert naming.controls(windows)["true"] == 10
    for less in ({"sysvec_apic_timer_interrupt": 2}, {**entries, "sysvec_call_function_single": 0}):
        windows[-10:] = [_judged({**made_window(), "entries": less}, found)] * 10
        assert _report(windows) == ["10 of 40 quiet windows were given a cause"]
    thread = _outlier(1_050_000_000, ("thread", 100_000))
    windows[-10:] = [_judged({**made_window(), "entries": entries}, thread)] * 10
    assert _report(windows) == ["10 of 40 quiet windows were given a cause"]


def test_that_the_host_took_the_cpu_is_no_invention() -> None:
    stood = _outlier(1_050_000_000, ("hardware", 10 * MS))
    windows = _all_named()
    windows[-10:] = [_judged({**made_window(), "taken_ns": 10 * MS}, stood)] * 10
    assert _report(windows) == []
    less = {**made_window(), "taken_ns": 10 * MS - naming.FLOOR_NS}
    windows[-10:] = [_judged(less, stood)] * 10
    assert _report(windows) == ["10 of 40 quiet windows were given a cause"]


def test_confusion_counts_each_injection() -> None:
    table = naming.confusion(
        [
            _judged(made_window("irq"), _outlier(1_050_000_000, ("softirq", 5))),
            _judged(made_window("irq", "hog"), _outlier(1_020_000_000, ("softirq", 5))),
            _judged(made_window()),
        ]
    )
    assert table["irq"] == {"softirq": 2}
    assert table["hog"] == {"nothing": 1}
    assert table["control"] == {"nothing": 1}
    assert table["pause"] == {}


def _outcome(*lines: dict[str, Any]) -> Outcome:
    return Outcome(
        windows={
            i: {"taken_ns": -5, "entries_by_vector": {"x": 1}} for i in range(1, len(lines) + 1)
        },
        events=[
            {"event": "run", "name": f"window.{i}", "out": json.dumps(line) + "\n"}
            for i, line in enumerate(lines, 1)
        ],
    )


def _said(cause: str) -> dict[str, Any]:
    return {
        "injected": [
            {"cause": cause, "happened": True, "error": None, "evidence": {"asked_ms": 10}}
        ]
    }


def test_a_pause_happened_only_if_the_observer_says_so() -> None:
    windows = [schedule.Window(i, ("pause",)) for i in (1, 2, 3)]
    pauses = {1: {"asked_ns": 100, "ns": 120}, 2: {"asked_ns": 100, "ns": 99}}
    found = attribution.read_windows(windows, _outcome(*[_said("pause")] * 3), pauses)
    assert [w["injected"][0]["happened"] for w in found] == [True, False, False]
    assert set(attribution.failed(attribution.Part(found, {}, 1.0, []))) == {2, 3}


def test_a_window_that_was_not_made_is_an_error() -> None:
    for outcome in (_outcome(), _outcome(_said("irq"))):
        with pytest.raises(term.LabError, match="window 1"):
            attribution.read_windows([schedule.Window(1, ("hog",))], outcome, {})


def _packed(text: str, pieces: int = 1) -> Outcome:
    data = base64.encodebytes(gzip.compress(text.encode())).decode()
    size = -(-len(data) // pieces)
    return Outcome(
        events=[
            {"event": "part", "name": "measure", "text": data[i : i + size]}
            for i in range(0, len(data), size)
        ]
    )


def test_a_result_without_attribution_is_none() -> None:
    cut_off = _packed('{"attribution": {"outliers": []}}', 2)
    del cut_off.events[1]
    for outcome in (Outcome(), _packed("[]"), _packed('{"attribution": null}'), cut_off):
        with pytest.raises(term.LabError, match="isolator measure"):
            attribution.document(outcome)


def test_a_result_comes_in_parts() -> None:
    text = '{"attribution": {"outliers": []}}'
    assert attribution.document(_packed(text, 3)) == json.loads(text)


def test_pauses_are_read_by_window(tmp_path: Path) -> None:
    path = tmp_path / "observer.json"
    lines: list[dict[str, Any]] = [
        {"schema": "isolator.observer.window", "version": 1, "window": 1},
        {
            "schema": "isolator.observer.pause", "version": 1, "vcpu": 1, "window": 3,
            "asked_ns": 5, "ns": 7,
        },
        {
            "schema": "isolator.observer.pause", "version": 1, "vcpu": 1, "window": -1,
            "asked_ns": 6, "ns": 8,
        },
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + '\n{"cut of')
    assert observer.pauses(path) == {3: {"asked_ns": 5, "ns": 7}, -1: {"asked_ns": 6, "ns": 8}}
    assert observer.pauses(tmp_path / "none") == {}


def test_every_cause_has_its_injector() -> None:
    """Each file with a cause is in the table, and the other way round."""
    made = {
        path.stem
        for path in (LAB / "guest" / "causes").glob("*.c")
        if "\nCAUSE(" in path.read_text()
    }
    assert made == {c.name for c in causes.CAUSES}


def test_kinds_are_those_of_the_schema() -> None:
    schema = json.loads((LAB.parent / "cli" / "schema" / "measure.json").read_text())
    known = schema["$defs"]["kind"]["enum"]
    assert {k for c in causes.CAUSES for k in c.named_by(rt=True)} <= set(known)


def _whole(windows: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A report as main() writes it."""
    for number, window in enumerate(windows, 1):
        window |= {"number": number, "pid": 5, "tid": 6}
        for item in window["injected"]:
            item |= {"size": 1, "unit": "ms"}
    rates, quiet = naming.recall(windows), naming.controls(windows)
    guest = {
        "windows": len(windows), "seconds": 1.0, "verdict": "measured", "source": "tracefs",
        "threshold_ns": 1, "seen": 3, "looked": 3, "lost": 0, "kept": 3, "overhead": None,
        "kernel_log": [],
    }
    return {
        "schema": "isolab.attribution", "version": 1, "when": "now", "host": "here",
        "emulator": "QEMU", "kernel": {"name": "k", "release": "6.12", "build": "b"}, "seed": 1,
        "sample": False, "causes": [],
        "attempts": [{"windows": len(windows), "void": None, "incomplete": None, "taken": [3],
                      "failed": {}}],
        "errors": [], "unmade": [], "guests": [guest | changes], "windows": windows,
        "confusion": naming.confusion(windows), "recall": rates, "controls": quiet,
        "broken": naming.broken(rates, quiet, False),
    }


def test_a_report_is_as_its_schema_says() -> None:
    schema = schemafile.read(SCHEMAS / "attribution.json")
    jsonschema.validate(_whole(_all_named()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(_whole(_all_named()) | {"more": 1}, schema)


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    def code(windows: list[dict[str, Any]], **changes: Any) -> int:
        return attribution.verdict(_whole(windows, **changes), "attribution.json")

    assert code(_all_named()) == term.PASS
    missed = [_judged(made_window("irq"))] * 3 + _all_named()[3:]
    assert code(missed) == term.EXCEEDED
    assert "irq: 17 of 20 were named" in capsys.readouterr().out
    assert code(_all_named(), verdict="invalid") == term.INCONCLUSIVE
    lossy = _whole(_all_named()) | {"sample": True, "unmade": [7]}
    for guests, exit_code in ((1, term.PASS), (2, term.INCONCLUSIVE)):
        lossy["attempts"] = [{**lossy["attempts"][0], "incomplete": "of 2, 1"}] * guests
        assert attribution.verdict(lossy, "attribution.json") == exit_code
        assert capsys.readouterr().out.count("does not count: of 2, 1") == guests
    for unmade, sample, exit_code, said in (
        ([7], False, term.INCONCLUSIVE, "1 failed, 1 skipped"),
        ([7], True, term.PASS, "0 failed, 1 skipped"),
        ([7, 8], True, term.INCONCLUSIVE, "1 failed, 2 skipped"),
    ):
        missing = _whole(_all_named()) | {"unmade": unmade, "sample": sample}
        assert attribution.verdict(missing, "attribution.json") == exit_code
        assert said in capsys.readouterr().out
    nothing = _whole(_all_named()) | {"unmade": [7], "errors": ["window 7: irq did not happen"]}
    assert attribution.verdict(nothing, "attribution.json") == term.ERROR


def test_a_lost_mark_says_that_the_vcpu_stood_still() -> None:
    outcome = _outcome({"injected": [], "open_ns": 5, "close_ns": 50})
    assert attribution.read_windows([schedule.Window(1, ())], outcome, {})[0]["taken_ns"] == 0
    outcome.windows.clear()
    assert attribution.read_windows([schedule.Window(1, ())], outcome, {})[0]["taken_ns"] == 45
