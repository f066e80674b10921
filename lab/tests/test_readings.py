# SPDX-License-Identifier: GPL-2.0-or-later
"""What a configuration's part of a run says, out of a guest's windows."""

import json
from pathlib import Path
from typing import Any

import pytest
from boots import of_job, ready
from isolab import header, term
from isolab.guests import kernel, observer
from isolab.guests.guest import Outcome
from isolab.judge import attempt, claims, instrument, jobs, readings
from isolab.judge.jobs import CONFIGS
from isolab.matrix import cells
from test_attempt import event, outcome, window

STOCK, TUNED, ISOLATOR = CONFIGS
TRIGGERS = [t for t in header.triggers() if "run" in t.used_in]


def _outcome(config: jobs.Config = ISOLATOR) -> Outcome:
    return of_job(jobs.job(config, TRIGGERS, 30.0), ours=config.isolates)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.name)
def test_the_sums_are_those_of_all_windows(config: jobs.Config) -> None:
    found = _outcome(config)
    numbers = [n for n in found.windows if n not in instrument.CONTROLS]
    assert {jobs.QUIET, jobs.LOAD} <= set(numbers)
    assert (jobs.NO_TICK in numbers) == config.isolates
    for i, n in enumerate(numbers):
        entries = {"sysvec_call_function": 1 << i}
        found.windows[n].update(kernel_entries=1 << i, entries_by_vector=entries)
    said = readings.result(config, TRIGGERS, found)
    assert said["kernel_entries"] == (1 << len(numbers)) - 1
    assert said["entries_by_vector"] == {"sysvec_call_function": (1 << len(numbers)) - 1}
    assert said["control"] == instrument.BREAKPOINTS
    if config.isolates:
        assert said["missed"] == 0 and said["deliveries"] == []


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("seen", [0, 4, 6, None])
def test_neither_task_lends_the_other_its_control(start: int, seen: int | None) -> None:
    """Of windows of one number the observer's last line would be all that is known."""
    found = _outcome()
    assert len(set(instrument.CONTROLS) & set(found.windows)) == 2
    number = instrument.CONTROLS[start]
    found.windows[number]["entries_by_vector"] = {instrument.BREAKPOINT[0]: seen}
    if seen is None:
        del found.windows[number]
    said = readings.result(ISOLATOR, TRIGGERS, found)
    assert said["control"] == seen and instrument.blind(said)
    # Stock has one.
    assert not instrument.blind(readings.result(STOCK, TRIGGERS, _outcome(STOCK)))


def test_breaches_of_each_window_are_summed() -> None:
    found = _outcome()
    for e in found.events:
        if e["name"] in ("end.quiet", "end.load", "end.no-tick", f"end.{TRIGGERS[0].name}"):
            e["answer"] = {**e["answer"], "missed": 1}
        if e["name"] == "deliveries-no-tick":
            e["text"] = "cpu 1 deadline_miss kind call\n"
    said = readings.result(ISOLATOR, TRIGGERS, found)
    assert said["missed"] == 4 and said["deliveries"] == ["cpu 1 deadline_miss kind call"]


@pytest.mark.parametrize(("name", "text", "said"), [
    ("deliveries", "cpu 1 immediate kind nmi\n", []),
    ("deliveries", "cpu 1 deadline_miss kind irq\n  f+0x1/0x2\n",
     ["cpu 1 deadline_miss kind irq; f+0x1/0x2"]),
    ("deliveries", None, [readings.UNREAD]),
    ("deliveries-no-tick", "cpu 1 immediate kind nmi\n", ["cpu 1 immediate kind nmi"]),
    ("deliveries-no-tick", None, [readings.UNREAD]),
])
def test_a_miss_between_the_windows_of_either_task_is_told(
    name: str, text: str | None, said: list[str]
) -> None:
    """Each start empties the kernel's list, so both are read."""
    found = _outcome()
    found.events = [
        {**e, "text": text} if e["name"] == name else e
        for e in found.events if e["name"] != name or text is not None
    ]
    assert readings.result(ISOLATOR, TRIGGERS, found)["deliveries"] == said


def test_the_worst_second_of_all_windows_counts() -> None:
    found = _outcome()
    found.windows[jobs.LOAD]["user_instructions_per_second_min"] = 7
    said = readings.result(ISOLATOR, TRIGGERS, found)
    assert said["user_instructions_per_second_min"] == 7
    assert said["load"]["user_per_s"] == 7


@pytest.mark.parametrize(
    ("returned", "out", "expected"),
    [
        (True, '{"worked":true}', (True, True)),
        (False, '{"worked":true}', (True, False)),
        (True, '{"worked":false}', (False, True)),
        (True, "no word", (False, True)),
        (True, None, (False, True)),
        (True, '{"worked":true', (False, True)),
    ],
)
def test_a_trigger_by_its_own_word(returned: bool, out: str | None, expected: Any) -> None:
    trigger = next(t for t in TRIGGERS if t.kind != "self")
    said = readings.fired(outcome(events=[event("run", trigger.name, returned=returned, out=out)]),
                          trigger)
    assert (said["worked"], said["returned"]) == expected
    own = next(t for t in TRIGGERS if t.kind == "self")
    error = event("ctl", own.name, answer={"error": "the spinning thread does not answer"})
    assert not readings.fired(outcome(events=[error]), own)["returned"]
    nothing = readings.fired(outcome(), trigger)
    assert not nothing["worked"] and not nothing["returned"]


def test_a_handlers_return_is_no_interruption_without_ticks_either() -> None:
    """In a tick of the isolated task it is the task's own, so it is on stock and tuned."""
    by_vector = {"entry_SYSCALL_64": 5, "sysvec_reschedule_ipi": 2}
    number = jobs.TRIGGER
    for config, entries, own in ((STOCK, 2, 5), (TUNED, 2, 5), (ISOLATOR, 7, 0)):
        found = _outcome(config)
        found.windows[number].update(kernel_entries=7, entries_by_vector=dict(by_vector))
        (item, *_) = readings.result(config, TRIGGERS, found)["triggers"]
        assert (item["kernel_entries"], item["tick_entries"]) == (entries, own), config.name
        of_cell = of_job(cells.job(config, TRIGGERS[:1]), ours=config.isolates)
        of_cell.windows[number].update(kernel_entries=7, entries_by_vector=dict(by_vector))
        cell = cells.cell(config, TRIGGERS[0], 0, of_cell)
        assert cell and cell["kernel_entries"] == entries, config.name


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        ('{"findings":[]}', []),
        ('{"findings":[{"severity":"info","id":"a.b","path":"/x","value":"1"}]}', []),
        (
            '{"findings":[{"severity":"warning","id":"a.b","path":"/x","value":"1"}]}',
            ["a.b: /x is 1"],
        ),
        (
            '{"findings":[{"severity":"warning","id":"kernel.isolator","path":"/x","value":"1"}]}',
            [],
        ),
        ("isolator: no such thing", ["isolator audit said nothing"]),
        (None, ["isolator audit said nothing"]),
    ],
)
def test_the_recipe_is_audited(out: str | None, expected: list[str]) -> None:
    found = _outcome(TUNED)
    (said,) = (e for e in found.events if e["name"] == "audit")
    said["out"] = out
    assert readings.result(TUNED, TRIGGERS, found)["audit"] == expected
    assert "audit" not in readings.result(STOCK, TRIGGERS, _outcome(STOCK))


def test_held_is_waited() -> None:
    items = readings.result(ISOLATOR, TRIGGERS, _outcome())["triggers"]
    assert {i["outcome"] for i in items} == {"waited"}
    assert all(i["queued"] == i["deferred"] == i["excluded"] == 1 for i in items)
    items = readings.result(STOCK, TRIGGERS, _outcome(STOCK))["triggers"]
    assert {i["outcome"] for i in items} == {"done"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cpu 1 kind call longest_ns 5000000\ncpu 1 kind task longest_ns 7000000\n", 0.007),
        ("cpu 1 kind call longest_ns 0\n", 0.0),
        # What could not be read is no 0.
        ("cpu 0 kind call longest_ns 5000000\n", None),
        ("", None),
        (None, None),
    ],
)
def test_the_longest_hold_of_the_isolated_cpu(text: str | None, expected: float | None) -> None:
    assert readings.longest(text) == expected
    assert readings.longest(text, "call") == (0.005 if expected else expected)
    assert readings.longest(text, "signal") is None


def test_a_cell_says_what_it_was_measured_with() -> None:
    found = of_job(cells.job(ISOLATOR, TRIGGERS[:2]))
    cell = cells.cell(ISOLATOR, TRIGGERS[0], 0, found)
    assert cell and cell["control"] == 5 and cell["probes"] == cell["probes_seen"] == 6
    assert cells.cell(ISOLATOR, TRIGGERS[0], 5, found) is None
    for e in found.events:
        if e["name"] == TRIGGERS[1].name:
            e["exit"] = cells.MISSING
    missing = cells.cell(ISOLATOR, TRIGGERS[1], 1, found)
    assert missing and missing["outcome"] == "missing"


def test_the_observers_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel.Kernel, "symbol_at", lambda self, pc: f"at_{pc:x}")
    path = tmp_path / "observer.json"
    line = {"schema": "isolator.observer.window", "window": 3, "vectors_dropped": 2,
            "vectors": [{"pc": "0x1", "entries": 4}, {"pc": "0x1", "entries": 1}],
            "log": [{"pc": "0x2"}]}
    end = {"schema": "isolator.observer.end", "probes": 1}
    path.write_text(f"{json.dumps(line)}\n{json.dumps(end)}\n{{\"schema")
    windows, last = observer.read(kernel.Kernel("k", tmp_path), path)
    # What has no place in its table is interruptions all the same.
    assert windows[3]["entries_by_vector"] == {"at_1": 5, "other": 2}
    assert windows[3]["log"][0]["name"] == "at_2" and last == end
    assert observer.read(kernel.Kernel("k", tmp_path), tmp_path / "none") == ({}, None)


def test_only_the_last_line_of_a_plugin_may_be_cut_off(tmp_path: Path) -> None:
    good = '{"schema": "isolator.observer.pause", "window": 1, "asked_ns": 1, "ns": 2}\n'
    cut = good[:7]
    path = tmp_path / "observer.json"
    path.write_text(good + cut)
    assert observer.pauses(path) == {1: {"asked_ns": 1, "ns": 2}}
    path.write_text(f"{good}{cut}\n{good}")
    with pytest.raises(term.LabError, match=r"observer\.json, line 2: a plugin wrote no JSON"):
        observer.pauses(path)


def test_the_tick_of_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("CONFIG_HZ_250=y\nCONFIG_HZ=250\nCONFIG_ISOLATOR=y\n")
    assert kernel.Kernel("k", tmp_path).hz == 250 and kernel.Kernel("k", tmp_path).ours
    assert kernel.Kernel("k", tmp_path, arch="aarch64").ours
    (tmp_path / "config").write_text("CONFIG_HZ=250\n# CONFIG_ISOLATOR is not set\n")
    assert not kernel.Kernel("k", tmp_path).ours


@pytest.mark.parametrize(
    ("least", "user", "seconds", "taken", "expected"),
    [
        (None, 10**8, 2.0, 0, 5 * 10**7),
        # What the host took is not the kernel's doing.
        (None, 10**8, 2.0, 10**9, 10**8),
        (3, 10**8, 2.0, 0, 3),
        (10**9, 10**8, 2.0, 0, 5 * 10**7),
    ],
)
def test_user_instructions_a_second(
    least: int | None, user: int, seconds: float, taken: int, expected: int
) -> None:
    w = window(1, seconds=seconds, taken_ns=taken, user_instructions=user,
               user_instructions_per_second_min=least)
    assert instrument.user_per_s(w) == expected


def test_tick_per_s() -> None:
    w = window(1, entries_by_vector={attempt.TIMERS[0]: 500})
    assert attempt.tick_per_s(w) == 250


def test_a_load_that_died_is_none() -> None:
    died = event("died", "load-stress", returned=True, exit=127, out="sh: nice: not found\n")
    ended = event("killed", "load-stress", returned=True)
    quiet = {jobs.QUIET: window(jobs.QUIET, 0)}

    def judged(config: jobs.Config, load: dict[str, Any]) -> attempt.Attempt:
        of = outcome(events=[*ready(), load], windows=quiet, ours=config.isolates)
        return readings.judge(config, of)

    assert judged(STOCK, died).void == "load-stress died: sh: nice: not found"
    assert judged(ISOLATOR, died).ended == "load-stress died: sh: nice: not found"
    assert not judged(STOCK, ended).over and not judged(ISOLATOR, ended).over


def test_the_task_ticks_and_yields_as_its_limits_say() -> None:
    job = jobs.job(ISOLATOR, TRIGGERS, 30.0).splitlines()
    started = [line.split() for line in job if line.startswith("start spinner")]
    assert len(started) == 2
    for words in started:
        said = dict(zip(words, [*words[1:], ""], strict=True))
        assert float(said["--tick-ms"]) / 1000 == claims.TICK_S
        assert float(said["--yield-ms"]) / 1000 == claims.YIELD_S
