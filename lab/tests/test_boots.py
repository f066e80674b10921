# SPDX-License-Identifier: GPL-2.0-or-later
"""What isolab run, matrix, hunt and test make of a guest that fails, from its boot to the exit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from isolab import attempt, campaign, header, hunt, instrument, matrix, run, suite, term
from isolab.campaign import CONFIGS
from isolab.guest import ENDED, Guest, Outcome
from isolab.kernel import Kernel
from test_attempt import NO_CLOCKS, NOT_READY, event, oops, outcome, window
from test_suite import DONE, LOG
from test_suite import _test as guest_test

ISOLATOR = CONFIGS[2]
KERNEL = Kernel("isolator-rt", Path("/nowhere/rt-1"))
PAGE = {"breaches": 0, "held": 1, "deferred": 1, "excluded": 1}
STATS = "\n".join(f"{when} cpu 1 total deferred 0 held 0" for when in ("begin", "begun", "end"))
CAUSES = "\n".join(
    f"{when} cpu 1 total deferred 0 excluded 0 held 0 breached 0 broken 0 refused 0"
    for when in ("begin", "begun", "end", "ended")
)
WARNING = "[   30.0] WARNING: CPU: 0 PID: 7 at kernel/isolator/core.c:1\n"
HANG = "no report for 75 s"


def ready() -> list[dict[str, Any]]:
    return [
        event("run", "facts", out=".hres_active : 1"),
        event("task", "spinner", last="ready"),
    ]


def control() -> dict[int, dict[str, Any]]:
    counted = {instrument.BREAKPOINT: 5, "entry_SYSCALL_64": 5}
    return {4: window(4, 10, entries_by_vector=counted)}


def of_job(job: str, **more: Any) -> Outcome:
    """A guest in which all that a job of triggers or slices orders was done, and nothing else."""
    events, windows = ready(), {**control()}
    for line in job.splitlines():
        word, _, rest = line.partition(" ")
        name = rest.split(" ")[0]
        if word == "ctl" and name.startswith("begin."):
            number = int(rest.split(" window ")[1].split(" ")[0])
            ms = 31.0 if number == campaign.NO_TICK else 0.3
            windows[number] = window(number, seconds=ms)
        elif word == "ctl":
            answer = PAGE if name.startswith("end.") else {"worked": True}
            events.append(event("ctl", name, answer=answer))
        elif word == "run" and name.startswith("causes."):
            events.append(event("run", name, out=CAUSES))
        elif word == "run" and name not in ("facts",):
            events.append(event("run", name, out='{"worked":true,"findings":[]}'))
        elif word == "file":
            events.append(event("file", name, text="" if "breaches" in name else STATS))
    return outcome("[1] fine\n", events=events, windows=windows, **more)


Boot = Callable[[Guest], Outcome]


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[list[Boot]], list[Guest]]:
    """Replaces every boot of a guest: one after another as given, the last one again and again."""
    booted: list[Guest] = []

    def plan(those: list[Boot]) -> list[Guest]:
        left = list(those)

        def boot(guest: Guest, where: Path, on_event: Any = None) -> Outcome:
            booted.append(guest)
            return (left.pop(0) if len(left) > 1 else left[0])(guest)

        for module in (run, matrix, hunt, suite):
            monkeypatch.setattr(module, "boot", boot)
        return booted

    for module in (run, matrix, hunt, suite):
        monkeypatch.setattr(module, "OUT", tmp_path)
    monkeypatch.setattr(run.kernel, "build", lambda *_: KERNEL)
    monkeypatch.setattr(type(KERNEL), "version", "6.12", raising=False)
    monkeypatch.setattr(type(KERNEL), "hz", 250)
    for name in ("where", "emulator"):
        monkeypatch.setattr(run.record, name, lambda: {"host": "h", "emulator": "q"})
    monkeypatch.setattr(run.record, "OUT", tmp_path)
    monkeypatch.setattr(run.qemu, "pick", lambda *_: run.qemu.Emulator("t", ("q",), "10", "multi"))
    monkeypatch.setattr(hunt.selftests, "directory", lambda: None)
    return plan


def good(guest: Guest) -> Outcome:
    return of_job(guest.job)


def excused(guest: Guest) -> Outcome:
    return outcome(oops(), events=ready(), died=ENDED)


def changed(**more: Any) -> Boot:
    return lambda guest: of_job(guest.job, **more)


def silent(guest: Guest) -> Outcome:
    """The windows that were closed before it fell silent have entries."""
    return outcome(events=ready(), windows={1: window(1, 7)}, died=HANG)


def panics(guest: Guest) -> Outcome:
    """The CPU that is isolated executes an int3 that is gone: Isolator deferred a sync wrongly."""
    return outcome(
        WARNING + oops(cpu=1, comm="spinner", rip="isolator_enter_from_user"),
        events=ready(),
        died=ENDED,
    )


def unready(guest: Guest) -> Outcome:
    return outcome(events=NOT_READY, died="the spinner did not become ready")


def clockless(guest: Guest) -> Outcome:
    return outcome(events=[NO_CLOCKS], died="no high-resolution mode")


def blind(guest: Guest) -> Outcome:
    """An observer that sees no entry at all, and a task that does not run."""
    found = of_job(guest.job)
    for w in found.windows.values():
        w.update(kernel_entries=0, entries_by_vector={}, probes_seen=0, user_instructions=0)
    return found


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
    # A void boot may have shown something before.
    ([lambda g: outcome(WARNING + oops(), events=ready(), died=ENDED), good], term.EXCEEDED),
    ([lambda g: outcome(oops(), windows={1: window(1, 7)}, died=ENDED), good], term.EXCEEDED),
    ([lambda g: outcome(WARNING, events=[NO_CLOCKS], died="x"), good], term.EXCEEDED),
]
EACH = pytest.mark.parametrize(("those", "code"), TABLE)


@EACH
def test_matrix(boots: Any, monkeypatch: pytest.MonkeyPatch, those: list[Boot], code: int) -> None:
    boots(those)
    name = next(t.name for t in header.triggers() if t.cls == "catch-up" and not t.append)
    assert matrix.main([name], ["isolator"], ["rt"], False, False) == code


@EACH
def test_hunt(boots: Any, monkeypatch: pytest.MonkeyPatch, those: list[Boot], code: int) -> None:
    times = iter(range(10**6))
    monkeypatch.setattr(hunt.time, "monotonic", lambda: 10.0 * next(times))
    monkeypatch.setattr(
        hunt, "slices", lambda seed: iter(hunt.Slice(f"s{i}", "true") for i in range(999))
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


def other(guest: Guest) -> Outcome:
    """Stock and tuned, which are interrupted."""
    found = of_job(guest.job, ours=False)
    for number, w in found.windows.items():
        if number != 4:
            w.update(kernel_entries=9, entries_by_vector={"sysvec_call_function": 9})
    return found


@pytest.mark.parametrize(
    ("those", "code"),
    [
        ([other, other, good], term.PASS),
        ([other, other, blind], term.EXCEEDED),
        ([blind, other, good], term.EXCEEDED),
        ([other, other, panics], term.EXCEEDED),
        # A dead stock guest is no base; the next one is.
        ([lambda g: outcome(ours=False, died=ENDED), other, other, good], term.PASS),
        ([other, other, changed(died=HANG)], term.EXCEEDED),
    ],
)
def test_the_whole_run(boots: Any, tmp_path: Path, those: list[Boot], code: int) -> None:
    boots(those)
    assert run.main(None, [], 30.0) == code
    said = json.loads((tmp_path / "run.json").read_text())
    assert bool(said["broken"]) == (code == term.EXCEEDED)


def test_what_an_excused_slice_ran_is_run_again(
    boots: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted = boots([excused, good])
    times = iter(range(10**6))
    monkeypatch.setattr(hunt.time, "monotonic", lambda: 100.0 * next(times))
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
    times = iter(range(10**6))
    monkeypatch.setattr(hunt.time, "monotonic", lambda: 100.0 * next(times))
    log = f"[1] isolab: begin slice.0\n{WARNING}[3] isolab: end slice.0\n"
    late = f"[1] isolab: begin slice.0\n[3] isolab: end slice.0\n{WARNING}"
    for console in (log, late):
        boots([_with_console(console)])
        assert hunt.main(2.5, "rt", 7) == term.EXCEEDED
        said = json.loads((tmp_path / "hunt.json").read_text())
        assert len(said["broken"]) == 1 and "core.c:1" in said["broken"][0]


def _with_console(console: str) -> Boot:
    def boot(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        found.console = console
        return found

    return boot


def test_hunt_wants_every_window(boots: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(10**6))
    monkeypatch.setattr(hunt.time, "monotonic", lambda: 100.0 * next(times))

    def short(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        del found.windows[campaign.TRIGGER]
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


def test_the_other_tests_get_a_new_guest(boots: Any) -> None:
    def second(guest: Guest) -> Outcome:
        log = LOG.replace(" t\n", " u\n")
        return outcome(log, events=[{**DONE, "name": "u"}])

    results, _, booted = _run_batch(boots, [silent, second], 2)
    assert [(r.test.name, r.status) for r in results] == [("t", "failed"), ("u", "passed")]
    assert "run t " not in booted[1].job and "run u " in booted[1].job


def test_only_the_test_that_ended_is_emulated_by_one_thread(boots: Any) -> None:
    def second(guest: Guest) -> Outcome:
        return outcome(LOG.replace(" t\n", " u\n"), events=[{**DONE, "name": "u"}])

    results, attempts, booted = _run_batch(boots, [excused, of_test, second], 2)
    assert [(r.test.name, r.status) for r in results] == [("t", "passed"), ("u", "passed")]
    assert [guest.threads for guest in booted] == ["", "single", ""]
    assert "run u " not in booted[1].job and "run t " not in booted[2].job
    assert [a["ended_in"] for a in attempts] == ["t", None, None]


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


def test_matrix_goes_on_after_what_did_not_come_back(boots: Any) -> None:
    """Its cell says so, and nothing else is claimed of that guest."""

    def lost(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        for e in found.events:
            if e["name"] == "static-keys":
                e["returned"] = False
        return found

    boots([lost])
    assert matrix.main(["static-keys"], ["isolator"], ["rt"], False, False) == term.EXCEEDED
    assert attempt.MAX_BOOTS == 5
