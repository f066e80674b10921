# SPDX-License-Identifier: GPL-2.0-or-later
"""What isolab run, matrix, hunt and test make of a guest that fails, from its boot to the exit."""

import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boots
import pytest
from boots import (
    HANG,
    KERNEL,
    OVER,
    WARNING,
    Boot,
    blind,
    changed,
    clockless,
    excused,
    good,
    hangs,
    of_job,
    other,
    panics,
    ready,
    silent,
    unready,
    unseen,
    with_console,
)
from isolab import header, hunt, run, suite, term
from isolab.guests.guest import ENDED, Guest, Outcome
from isolab.judge import attempt, instrument, jobs
from isolab.matrix import matrix
from test_attempt import NO_CLOCKS, oops, outcome, window
from test_suite import DONE, LOG
from test_suite import _test as guest_test


@pytest.fixture(name="boots")
def _boots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    return boots.planner(monkeypatch, tmp_path)


def ticking(monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    """A hunt's clock, that goes on as often as it is looked at."""
    times = iter(range(10**6))
    clock = SimpleNamespace(monotonic=lambda: step * next(times), time=time.time)
    monkeypatch.setattr(hunt, "time", clock)


# Each failed boot of ours, whatever the other boots are, fails each of the commands; what the
# host or the emulator did is repeated, and concludes nothing only where nothing else is left.
TABLE = [
    ([good], term.PASS),
    ([clockless, good], term.PASS),
    ([clockless], term.INCONCLUSIVE),
    ([excused, good], term.PASS),
    ([excused, clockless, excused], term.INCONCLUSIVE),
    ([excused, excused, good], term.INCONCLUSIVE),
    ([silent, good], term.EXCEEDED),
    ([panics, good], term.EXCEEDED),
    ([panics, panics, panics, panics, good], term.EXCEEDED),
    ([blind], term.EXCEEDED),
    ([unready], term.EXCEEDED),
    # It came to its end, but of its log there is nothing, or less than all.
    ([with_console("")], term.EXCEEDED),
    ([with_console("[1] fine\n"), good], term.EXCEEDED),
    # A void boot may have shown something before.
    ([lambda g: outcome(WARNING + oops(), events=ready(), died=ENDED), good], term.EXCEEDED),
    ([lambda g: outcome(oops(), windows={1: window(1, 7)}, died=ENDED), good], term.EXCEEDED),
    ([lambda g: outcome(WARNING, events=[NO_CLOCKS], died="x"), good], term.EXCEEDED),
]
EACH = pytest.mark.parametrize(("those", "code"), TABLE)


@EACH
def test_matrix(boots: Any, monkeypatch: pytest.MonkeyPatch, those: list[Boot], code: int) -> None:
    boots(those)
    name = next(t.name for t in header.triggers() if t.cls == "defer" and not t.append)
    assert matrix.main([name], ["isolator"], ["rt"], False, False) == code


@EACH
def test_hunt(boots: Any, monkeypatch: pytest.MonkeyPatch, those: list[Boot], code: int) -> None:
    ticking(monkeypatch, 10.0)
    monkeypatch.setattr(
        hunt, "slices", lambda *_: iter(hunt.Slice(f"s{i}", "true") for i in range(999))
    )
    boots(those)
    # Time for as many boots as it takes, even where each is a failure.
    assert hunt.main(2.5, "rt", 7) == code


@EACH
def test_run(boots: Any, those: list[Boot], code: int) -> None:
    """Of a part of a run nothing is claimed but what its boots showed by their ends."""
    booted = boots(those)
    assert run.main(["isolator"], ["static-keys"], 1.0) == (0 if those == [blind] else code)
    singles = [guest.threads for guest in booted]
    assert singles[0] == ""
    if those[0] is excused:
        assert singles[1] == "single" and booted[1].silence_s > booted[0].silence_s


def slow(guest: Guest) -> Outcome:
    """A trigger takes longer than it may."""
    found = good(guest)
    found.event("run", "bpf-load")["seconds"] = 9.0  # type: ignore[index]
    return found


@pytest.mark.parametrize(
    ("those", "code"),
    [
        ([other, other, good], term.PASS),
        # What takes too long is made once more, alone.
        ([other, other, slow, good], term.PASS),
        ([other, other, slow, slow], term.EXCEEDED),
        ([other, other, slow, panics], term.EXCEEDED),
        ([other, other, blind], term.EXCEEDED),
        ([blind, other, good], term.EXCEEDED),
        ([other, other, panics], term.EXCEEDED),
        # A dead stock guest is no base; the next one is.  One that hangs is not waited for.
        ([lambda g: hangs(other(g), "bpf-load"), other, other, good], term.PASS),
        ([lambda g: outcome(ours=False, died=ENDED), other, other, good], term.PASS),
        ([other, other, changed(died=HANG)], term.EXCEEDED),
    ],
)
def test_the_whole_run(boots: Any, tmp_path: Path, those: list[Boot], code: int) -> None:
    booted = boots(those)
    assert run.main(None, [], 30.0) == code
    if slow in those:
        fired = [line for line in booted[-1].job.splitlines() if line.startswith("ctl begin.")]
        assert len(booted) == 4 and [f for f in fired if "begin.bpf-load" in f]
        assert not [f for f in fired if "begin.static-keys" in f]
    said = json.loads((tmp_path / "run.json").read_text())
    assert bool(said["broken"]) == (code == term.EXCEEDED)


@pytest.mark.parametrize("name", ["quiet", "load", "no-tick", "static-keys"])
def test_run_wants_every_window(boots: Any, tmp_path: Path, name: str) -> None:
    boots([lambda g: unseen(good(g), name), good])
    assert run.main(["isolator"], ["static-keys"], 1.0) == term.EXCEEDED
    said = json.loads((tmp_path / "run.json").read_text())
    assert said["broken"] == [
        f"isolator: attempt 1: the guest ended: {name}: window not closed"]
    # Of stock that is no base.
    if name != "no-tick":
        boots([lambda g: unseen(other(g), name), other])
        assert run.main(["stock"], ["static-keys"], 1.0) == term.PASS


def hunted(monkeypatch: pytest.MonkeyPatch, minutes: float, step: float) -> int:
    ticking(monkeypatch, step)
    monkeypatch.setattr(
        hunt, "slices", lambda *_: iter(hunt.Slice(f"s{i}", "true") for i in range(999)))
    return hunt.main(minutes, "rt", 7)


@pytest.mark.parametrize(
    ("those", "step", "said"),
    [
        # One guest's slices are not what 20 minutes would have been.
        ([good, clockless], 100.0, "it ended 500 s early, as 5 boots were void or ended"),
        ([clockless] * 4 + [good], 200.0, "only 28 slices of 5 s in 1200 s"),
    ],
)
def test_a_hunt_that_hunted_too_little_concludes_nothing(
    boots: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    those: list[Boot], step: float, said: str
) -> None:
    boots(those)
    assert hunted(monkeypatch, 20.0, step) == term.INCONCLUSIVE
    assert f"inconclusive: {said}" in capsys.readouterr().out
    boots([good])
    assert hunted(monkeypatch, 20.0, step) == term.PASS


def miss(n: int) -> str:
    return f"cpu 1 deadline_miss kind call at_ns {n}\n  f+0x1/0x2\n"


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ({}, None),
        ({"deliveries": "cpu 1 immediate kind call at_ns 1\n"}, None),
        # The window counted it; the list keeps it.
        ({"end.1": 1, "deliveries.1": miss(1), "deliveries.2": miss(1), "deliveries": miss(1)},
         "s1: 1 deadline misses; the host ran"),
        ({"deliveries.2": miss(1), "deliveries": miss(1)},
         "s2: 1 deadline misses outside its window"),
        ({"end.1": 1, "deliveries.1": miss(1), "deliveries.2": miss(1) + miss(2),
          "deliveries": miss(1) + miss(2)}, "s2: 1 deadline misses outside its window"),
        ({"deliveries": miss(1)},
         "behind the last window: cpu 1 deadline_miss kind call at_ns 1; f+0x1/0x2"),
        ({"deliveries": None}, "/proc/isolator/deliveries was not read"),
        ({"deliveries.2": None}, "/proc/isolator/deliveries was not read"),
    ],
)
def test_hunt_wants_nothing_delivered_by_its_deadline_alone(
    boots: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lists: dict[str, Any],
    said: str | None
) -> None:
    def told(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        for e in found.events:
            if e["event"] == "file" and e["name"] in lists:
                e["text"] = lists[e["name"]]
            if e["name"].startswith("end.") and e["name"] in lists:
                e["answer"] = {**e["answer"], "missed": lists[e["name"]]}
        return found

    boots([told])
    assert hunted(monkeypatch, 2.5, 100.0) == (term.EXCEEDED if said else term.PASS)
    broken = json.loads((tmp_path / "hunt.json").read_text())["broken"]
    assert bool(broken) == bool(said) and (not said or any(said in text for text in broken))
    # Of a guest that has ended that is known.
    boots([lambda g: outcome(events=ready(), died=ENDED)])
    assert hunted(monkeypatch, 2.5, 100.0) == term.EXCEEDED
    broken = json.loads((tmp_path / "hunt.json").read_text())["broken"]
    assert not any("was not read" in text for text in broken)


def test_what_an_excused_slice_ran_is_run_again(
    boots: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted = boots([excused, good])
    ticking(monkeypatch, 100.0)
    assert hunt.main(2.5, "rt", 7) == term.PASS
    first, second = booted
    assert second.threads == "single"

    def ran(guest: Guest) -> list[str]:
        return [x.split(" ", 3)[3] for x in guest.job.splitlines() if x.startswith("run slice.")]

    assert ran(first) == ran(second)


def test_hunt_reads_the_log_between_its_slices(
    boots: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A kernel that prints from a thread is late by a line."""
    ticking(monkeypatch, 100.0)
    log = f"[1] isolab: begin slice.0\n{WARNING}[3] isolab: end slice.0\n"
    late = f"[1] isolab: begin slice.0\n[3] isolab: end slice.0\n{WARNING}"
    for console in (log, late):
        boots([with_console(console + OVER)])
        assert hunt.main(2.5, "rt", 7) == term.EXCEEDED
        said = json.loads((tmp_path / "hunt.json").read_text())
        assert len(said["broken"]) == 1 and "core.c:1" in said["broken"][0]


def test_hunt_wants_every_window(boots: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch, 100.0)

    def short(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        del found.windows[jobs.TRIGGER]
        return found

    boots([short])
    assert hunt.main(2.5, "rt", 7) == term.EXCEEDED


def _run_batch(boots: Any, those: list[Boot], tests: int = 1) -> tuple[list[Any], list[Any], Any]:
    attempts: list[Any] = []
    booted = boots(those)
    batch = [guest_test()] if tests == 1 else [guest_test(), guest_test(name="u")]
    results = suite._run_batch(KERNEL, batch, 1.0, Path("/nowhere"), attempts)
    return results, attempts, booted


def of_test(guest: Guest) -> Outcome:
    return outcome(LOG, events=[DONE])


@pytest.mark.parametrize(
    ("those", "status", "n"),
    [
        ([of_test], ["passed"], 1),
        ([clockless, of_test], ["passed"], 2),
        ([clockless], ["failed"], 5),
        ([excused, of_test], ["passed"], 2),
        # A death is the failure of the test that ran: it is not booted again.
        ([silent, of_test], ["failed"], 1),
        ([panics, of_test], ["failed", "failed"], 1),
        ([lambda g: outcome(died=ENDED), of_test], ["failed"], 1),
        # What a void boot complained of is nobody's, so a failure of its own.
        (
            [lambda g: outcome(WARNING, events=[NO_CLOCKS], died="x"), of_test],
            ["failed", "passed"],
            2,
        ),
    ],
)
def test_suite(boots: Any, those: list[Boot], status: list[str], n: int) -> None:
    results, attempts, booted = _run_batch(boots, those)
    assert sorted(r.status for r in results) == sorted(status)
    assert len(attempts) == len(booted) == n


@pytest.mark.parametrize("died", [ENDED, HANG, "QEMU ended with -11: ", "not done within 300 s"])
def test_a_guest_ends_well_behind_its_last_test_too(boots: Any, died: str) -> None:
    results, attempts, _ = _run_batch(boots, [lambda g: outcome(LOG, events=[DONE], died=died)])
    said = [(r.test.name, r.status, r.why) for r in results]
    assert said == [("t", "passed", []), ("guest-end", "failed", [died])]
    assert attempts[0]["ended"] == died


def test_a_log_that_does_not_reach_the_end_is_a_failure_of_its_own(boots: Any) -> None:
    cut = LOG.replace(attempt.POWER_DOWN, "")
    results, _, _ = _run_batch(boots, [lambda g: outcome(cut, events=[DONE])])
    assert [(r.test.name, r.status) for r in results] == [("t", "passed"), ("guest-end", "failed")]
    # Nobody claims that of another kernel than ours.
    results, _, _ = _run_batch(boots, [lambda g: outcome(cut, events=[DONE], ours=False)])
    assert [(r.test.name, r.status) for r in results] == [("t", "passed")]


def test_a_test_that_ends_its_guest_is_no_bad_end(boots: Any) -> None:
    log = "[1] isolab: begin t\n[2] Kernel panic - not syncing: sysrq\n"
    boots([lambda g: outcome(log, died=ENDED)])
    panics_itself = guest_test(ends="Kernel panic - not syncing: sysrq")
    results = suite._run_batch(KERNEL, [panics_itself], 1.0, Path("/nowhere"), [])
    assert [(r.test.name, r.status) for r in results] == [("t", "passed")]


def test_a_guest_that_reboots_is_emulated_and_tells_of_a_triple_fault(boots: Any) -> None:
    booted = boots([of_test])
    for ends, tells in (("reboot", True), ("Kernel panic", False)):
        suite._run_batch(KERNEL, [guest_test(ends=ends)], 1.0, Path("/nowhere"), [])
        assert booted[-1].resets is tells and booted[-1].want_kvm is not tells


def test_the_other_tests_get_a_new_guest(boots: Any) -> None:
    def second(guest: Guest) -> Outcome:
        log = LOG.replace(" t\n", " u\n")
        return outcome(log, events=[{**DONE, "name": "u"}])

    results, _, booted = _run_batch(boots, [silent, second], 2)
    assert [(r.test.name, r.status) for r in results] == [("t", "failed"), ("u", "passed")]
    assert "run t " not in booted[1].job and "run u " in booted[1].job


def _of_tests(names: str, died: str | None = None) -> Boot:
    """A guest that came as far as the last of @names, and whose report has a line for each."""
    log = "".join(LOG.replace(" t\n", f" {n}\n") for n in "tuv")
    return lambda guest: outcome(log, events=[{**DONE, "name": n} for n in names], died=died)


@pytest.mark.parametrize(
    ("names", "died", "why", "ended_in"),
    [
        # The line of one is lost: it may have failed, and those behind it have their verdicts.
        ("tv", None, {"u": suite.LOST}, None),
        ("uv", None, {"t": suite.LOST}, None),
        ("tu", None, {"v": suite.LOST}, "v"),
        ("v", None, {"t": suite.LOST, "u": suite.LOST}, None),
        ("u", HANG, {"t": suite.LOST, "v": HANG}, "v"),
        ("tu", HANG, {"v": HANG}, "v"),
        ("tuv", None, {}, None),
    ],
)
def test_a_test_is_judged_once_whatever_is_lost(
    boots: Any, names: str, died: str | None, why: dict[str, str], ended_in: str | None
) -> None:
    attempts: list[Any] = []
    booted = boots([_of_tests(names, died), _of_tests("tuv")])
    batch = [guest_test(name=n) for n in "tuv"]
    results = suite._run_batch(KERNEL, batch, 1.0, Path("/nowhere"), attempts)
    assert [(r.test.name, r.status, r.why) for r in results] == [
        (n, "failed", [f"no verdict: {why[n]}"]) if n in why else (n, "passed", []) for n in "tuv"
    ]
    assert len(booted) == 1 and attempts[0]["ended_in"] == ended_in


def test_only_the_test_that_ended_is_emulated_by_one_thread(boots: Any) -> None:
    def second(guest: Guest) -> Outcome:
        return outcome(LOG.replace(" t\n", " u\n"), events=[{**DONE, "name": "u"}])

    results, attempts, booted = _run_batch(boots, [excused, of_test, second], 2)
    assert [(r.test.name, r.status) for r in results] == [("t", "passed"), ("u", "passed")]
    assert [guest.threads for guest in booted] == ["", "single", ""]
    assert "run u " not in booted[1].job and "run t " not in booted[2].job
    assert [a["ended_in"] for a in attempts] == ["t", None, None]


@pytest.mark.parametrize(("seen", "status"), [
    ({}, ["passed"]), ({2: window(2, 0)}, ["passed"]), ({2: window(2, 40)}, ["failed", "passed"]),
])
def test_what_an_excused_boot_had_closed_counts(
    boots: Any, seen: dict[int, Any], status: list[str]
) -> None:
    """A window of the test that it ended in: its repetition may show nothing of that."""
    attempts: list[Any] = []
    expects = tuple(header.Expect(n, "any", 0) for n in (2, 3))
    last = {2: window(2, 0), 3: window(3, 0)}
    boots([lambda g: replace(excused(g), windows=seen),
           lambda g: replace(of_test(g), windows=last)])
    results = suite._run_batch(KERNEL, [guest_test(expects=expects)], 1.0, Path("/nowhere"),
                               attempts)
    assert [r.status for r in results] == status
    assert [len(a["entered"]) for a in attempts] == [len(status) - 1, 0]


def test_what_a_test_left_ahead_of_an_excused_end_counts(boots: Any) -> None:
    def first(guest: Guest) -> Outcome:
        return replace(excused(guest), console=LOG + oops(), events=[{**DONE, "left": True}])

    results, _, booted = _run_batch(boots, [first, _of_tests("u")], 2)
    assert [(r.test.name, r.status) for r in results] == [("t", "failed"), ("u", "passed")]
    assert "run t " not in booted[1].job


def test_suite_with_more_than_one_excuse_is_inconclusive(
    boots: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = [[guest_test()], [guest_test(name="u")]]
    monkeypatch.setattr(suite, "_choose", lambda *_: [("rt", [t for b in batches for t in b])])
    monkeypatch.setattr(suite, "_batches", lambda _: batches)
    monkeypatch.setattr(suite, "_kernel", lambda _: KERNEL)
    monkeypatch.setattr(suite, "_say_emulator", lambda _: None)

    def second(guest: Guest) -> Outcome:
        return outcome(LOG.replace(" t\n", " u\n"), events=[{**DONE, "name": "u"}])

    boots([excused, of_test, second])
    assert suite.main("check", [], [], False) == term.PASS
    # Another test's is another accident.
    boots([excused, of_test, excused, second])
    assert suite.main("check", [], [], False) == term.PASS
    boots([excused, excused, of_test, second])
    assert suite.main("check", [], [], False) == term.INCONCLUSIVE
    boots([silent, of_test, second])
    assert suite.main("check", [], [], False) == term.ERROR
    boots([lambda g: outcome(LOG, events=[DONE], died=HANG), second])
    assert suite.main("check", [], [], False) == term.ERROR


def test_a_guest_that_is_over_is_ended(boots: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch, 10.0)
    monkeypatch.setattr(hunt, "slices", lambda *_: iter([hunt.Slice("s", "true")] * 999))
    seen: list[Outcome] = []

    def spoilt(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        found.events[0] = NO_CLOCKS
        seen.append(found)
        return found

    for command in (
        lambda: matrix.main(["static-keys"], ["isolator"], ["rt"], False, False),
        lambda: run.main(["isolator"], ["static-keys"], 1.0),
        lambda: hunt.main(2.5, "rt", 7),
    ):
        boots([spoilt, good])
        assert command() == term.PASS
        found = seen.pop()
        assert found.events == [NO_CLOCKS] and set(found.windows) <= {*instrument.CONTROLS}


def test_excuses_are_bounded_for_the_whole_suite(
    boots: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "tuvw"
    batches = [[guest_test(name=n)] for n in names]
    monkeypatch.setattr(suite, "_choose", lambda *_: [("rt", [t for b in batches for t in b])])
    monkeypatch.setattr(suite, "_batches", lambda _: batches)
    monkeypatch.setattr(suite, "_kernel", lambda _: KERNEL)
    monkeypatch.setattr(suite, "_say_emulator", lambda _: None)

    def passed(name: str) -> Boot:
        log = LOG.replace(" t\n", f" {name}\n")
        return lambda guest: outcome(log, events=[{**DONE, "name": name}])

    for many, code in ((2, term.PASS), (3, term.INCONCLUSIVE)):
        boots([b for i, n in enumerate(names) for b in [excused] * (i < many) + [passed(n)]])
        assert suite.main("check", [], [], False) == code


def test_hunt_wants_its_slices_back_and_run(boots: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch, 100.0)
    for change in ({"returned": False, "exit": None}, {"exit": 127}, {"exit": 1}):

        def bad(guest: Guest, change: Any = change) -> Outcome:
            found = of_job(guest.job)
            for e in found.events:
                if e["name"].startswith("slice."):
                    e.update(change)
            return found

        boots([bad])
        assert hunt.main(2.5, "rt", 7) == term.EXCEEDED
