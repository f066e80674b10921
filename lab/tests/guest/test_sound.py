# SPDX-License-Identifier: GPL-2.0-or-later
"""One boot that is not void, out of so many."""

from pathlib import Path
from typing import Any

import pytest
from boots import Boot, clockless, excused
from isolab import cost, term
from isolab.guests.guest import Guest, Outcome
from isolab.guests.kernel import Kernel
from isolab.judge import jobs, sound
from test_attempt import outcome

KERNEL = Kernel("isolator-rt", Path("/nowhere/rt-1"))


def fine(guest: Guest) -> Outcome:
    return outcome("[1] reboot: Power down\n")


@pytest.fixture(name="boots")
def _boots(monkeypatch: pytest.MonkeyPatch) -> Any:
    booted: list[tuple[str, str]] = []

    def plan(*those: Boot) -> list[tuple[str, str]]:
        left = list(those)
        booted.clear()

        def boot(guest: Guest, where: Path, on_event: Any) -> Outcome:
            booted.append((where.name, guest.threads))
            return left.pop(0)(guest)

        monkeypatch.setattr(sound, "boot", boot)
        return booted

    return plan


def _sound(attempts: list[Any], most: int = 3) -> Outcome:
    return sound.boot_sound("x", Guest(KERNEL, ""), Path("/nowhere/y"), attempts, most)


def test_the_first_that_is_not_void_is_taken(boots: Any) -> None:
    booted = boots(clockless, excused, fine)
    attempts: list[Any] = []
    assert _sound(attempts).console.endswith("Power down\n")
    # After an excused boot one thread is asked for.
    assert booted == [("y-1", ""), ("y-2", ""), ("y-3", "single")]
    assert [bool(a["void"]) for a in attempts] == [True, True, False]


@pytest.mark.parametrize(
    ("those", "code", "n"),
    [
        ([clockless] * 3, term.INCONCLUSIVE, 3),
        ([excused] * 3, term.INCONCLUSIVE, 2),
        ([lambda g: outcome(died="no report for 60 s"), fine], term.ERROR, 1),
    ],
)
def test_not_without_end(boots: Any, those: list[Boot], code: int, n: int) -> None:
    booted = boots(*those)
    with pytest.raises(term.LabError) as error:
        _sound([])
    assert error.value.code == code and len(booted) == n


def test_costs_tell_which_boot_it_was(boots: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "_costs", lambda *_: {})
    attempts: list[Any] = []
    for which in cost.BOOTS[:2]:
        assert jobs.FACTS in cost._job(which).splitlines()
        boots(clockless, fine)
        cost._measure(which, KERNEL, attempts)
    names = [which.name for which in cost.BOOTS[:2]]
    assert [(a["boot"], a["attempt"]) for a in attempts] == [
        (name, number) for name in names for number in (1, 2)]
    # An excuse of one boot counts for the next.
    boots(excused, fine)
    cost._measure(cost.BOOTS[0], KERNEL, attempts)
    boots(excused, fine)
    with pytest.raises(term.LabError):
        cost._measure(cost.BOOTS[1], KERNEL, attempts)
