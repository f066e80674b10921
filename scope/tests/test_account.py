# SPDX-License-Identifier: GPL-2.0-or-later
"""The account: triggers = answered + late + missing, whatever comes."""

import random

import pytest
from isolator_scope.account import RECENT, Account
from isolator_scope.protocol import (
    Afterthought,
    Answer,
    Gap,
    Packet,
    Record,
    Stray,
    Trigger,
    Welcome,
)
from scope_runs import same
from sim.generator import Generator
from sim.model import Faults, Target

NAMES = ("irq", "tasklet", "user")
SECOND = 1_000_000_000


def fresh(first: int = 0, session: int = 7) -> Account:
    """That has greeted a generator whose clock is 1 s old."""
    account = Account()
    account.greet(Welcome(1, session, first, first, 10, SECOND, NAMES), 100 * SECOND)
    return account


def trigger(number: int, *answers: Answer, mask: int = 7) -> Trigger:
    """One every ms."""
    return Trigger(number, SECOND + number * 1_000_000, 50, mask, answers)


def give(account: Account, *records: Record) -> None:
    """The next packet."""
    assert account.packet(Packet(account.next_packet, 0, records), 101 * SECOND)


def counts(account: Account, line: int) -> tuple[int, int, int, int]:
    """Answered, late, missing, strays."""
    one = account.lines[line]
    return one.answered, one.late, one.missing, one.strays


def test_answered_late_missing() -> None:
    """An answer after the next trigger keeps its value; a missing one has none, never 0."""
    account = fresh()
    give(account, trigger(1, Answer(0, 3000), Answer(1, 1_500_000, 1)))
    assert [counts(account, line) for line in range(3)] == [
        (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)]
    assert account.lines[1].values.most == account.lines[1].values.least == 1_500_000
    assert account.lines[2].values.least == -1 and account.lines[2].values.mean is None
    assert account.doubts() == []


def test_afterthought() -> None:
    """Missing becomes late, once; its value is its own."""
    account = fresh()
    give(account, trigger(1, Answer(0, 3000)), trigger(2, Answer(0, 3000)),
         Afterthought(1, 2, 70_000_000))
    assert counts(account, 2) == (0, 1, 1, 0)
    assert account.lines[2].values.most == 70_000_000
    give(account, Afterthought(1, 2, 70_000_000))
    give(account, Afterthought(2, 0, 5000), Afterthought(9, 2, 5000))
    assert counts(account, 0) == (2, 0, 0, 0) and counts(account, 2) == (0, 1, 1, 0)
    assert account.doubts() == ["3 records contradict what was said before"]


def test_afterthought_of_long_ago() -> None:
    """Its trigger is not remembered any more; it still counts."""
    account = fresh()
    give(account, trigger(1, Answer(0, 1), Answer(1, 1)))
    for number in range(2, RECENT + 3):
        give(account, trigger(number, mask=1))
    give(account, Afterthought(1, 2, 9_000_000_000))
    assert counts(account, 2) == (0, 1, 0, 0) and not account.contradictions
    assert len(account._by_number) == RECENT


def test_stray_is_counted_only() -> None:
    """It is attributed to no trigger."""
    account = fresh()
    give(account, trigger(1, *(Answer(line, 5) for line in range(3))), Stray(1, 77, SECOND))
    assert counts(account, 1) == (1, 0, 0, 1)
    give(account, Stray(9, 77, SECOND))
    assert account.contradictions == 1


@pytest.mark.parametrize("late_gap", [False, True])
def test_gap(late_gap: bool) -> None:
    """Counted once, whether the record comes before newer triggers, after them or never."""
    account = fresh()
    give(account, trigger(1, mask=0))
    if not late_gap:
        give(account, Gap(2, 5))
    give(account, trigger(6, mask=0))
    if late_gap:
        give(account, Gap(2, 5))
    assert account.lost_triggers == 4 and not account.contradictions
    give(account, Afterthought(3, 0, 10))  # says nothing
    assert not account.contradictions and account.lines[0].late == 0
    give(account, Gap(5, 6))
    assert account.doubts() == ["the records of 4 triggers were lost",
                                "1 records contradict what was said before"]


def test_repeated_and_lost_packets() -> None:
    """None twice; those that are gone are said to be."""
    account = fresh()
    first = Packet(0, 0, (trigger(1, mask=1),))
    assert account.packet(first, 0) and not account.packet(first, 0)
    assert account.triggers == 1
    assert account.packet(Packet(3, 0, (trigger(9, mask=1),)), 0)
    assert (account.lost_packets, account.lost_triggers) == (2, 7)
    account.greet(Welcome(1, 7, 10, 12, 10, 2 * SECOND, NAMES), 102 * SECOND)
    assert account.next_packet == 10 and account.lost_packets == 8
    assert len(account.doubts()) == 2


def test_contradictions() -> None:
    """An answer twice, of a line that was not to answer, triggers backwards."""
    account = fresh()
    give(account, trigger(1, Answer(0, 5), Answer(0, 6), Answer(2, 9), mask=3))
    assert counts(account, 0) == (1, 0, 0, 0) and counts(account, 2) == (0, 0, 0, 0)
    give(account, trigger(1, mask=3))
    give(account, trigger(0, mask=3))
    give(account, trigger(2, Answer(200, 7), mask=1))
    assert account.contradictions == 5 and account.triggers == 2


def test_generator_restarted() -> None:
    """Numbers and its clock begin anew; the account goes on, and says so."""
    account = fresh()
    give(account, trigger(1, Answer(0, 5), mask=1), trigger(2, Answer(0, 5), mask=1))
    account.greet(Welcome(1, 8, 0, 0, 10, 0, NAMES), 200 * SECOND)
    assert account.next_packet == 0
    give(account, Trigger(1, 1_000_000, 0, 1, (Answer(0, 9),)))
    assert account.triggers == 3 and account.lines[0].values.most == 9
    assert account.ended == 200 * SECOND + 1_000_000
    assert "generator restarted once" in account.doubts()[0]


def test_names_change_in_mid_run() -> None:
    """The driver is unloaded and loaded: the account keeps its lines."""
    account = fresh()
    give(account, trigger(1, Answer(0, 5), mask=1))
    account.greet(Welcome(1, 7, 0, 1, 10, 2 * SECOND, ("", "", "")), 101 * SECOND)
    account.greet(Welcome(1, 7, 0, 1, 10, 3 * SECOND, NAMES + ("poll",)), 102 * SECOND)
    give(account, trigger(2, Answer(3, 5), mask=8))
    assert [line.name for line in account.lines] == ["irq", "tasklet", "user", "poll"]
    assert account.lines[0].answered == 1 and account.lines[3].answered == 1


@pytest.mark.parametrize("seed", range(8))
def test_random_runs(seed: int) -> None:
    """Late, missing, strays, merged interrupts: always what the target says."""
    dice = random.Random(seed)
    faults = Faults(missing=dice.random() * 0.1, late=dice.random() * 0.05,
                    stray=dice.random() * 0.05, spike=0.01, sustained=dice.choice([150, 1e9]))
    made = Generator(Target(seed, faults=faults))
    made.target.settings.patience_ns = dice.choice([2_000_000, 20_000_000])
    account = Account()
    account.greet(Welcome(1, 1, 0, 0, 40, 0, made.target.names), SECOND)
    made.target.start(0, 1500)
    now = 0
    while not made.target.idle:
        now += dice.randrange(100_000_000)
        size = dice.randrange(1, 50)
        records = made.target.run(now)
        for at in range(0, len(records), size):
            give(account, *records[at:at + size])
    same(account, made)
    account.told(made.state())
    assert account.agrees() and account.doubts() == []
    total = account.lines[0]
    assert total.answered and total.missing and (total.late or not faults.late)


@pytest.mark.parametrize("seed", range(4))
def test_hostile_records(seed: int) -> None:
    """Whatever the records say, the sums hold and the memory does not grow with them."""
    dice = random.Random(seed)
    account = fresh()
    for _ in range(400):
        number = dice.choice([dice.randrange(50), dice.randrange(1 << 64)])
        ns = dice.choice([0, dice.randrange(1 << 20), dice.randrange(1 << 63)])
        line = dice.choice([dice.randrange(4), dice.randrange(256)])
        records: list[Record] = [
            Trigger(number, dice.randrange(1 << 62), 0, dice.randrange(1 << 64),
                    tuple(Answer(dice.randrange(256), ns, dice.randrange(256))
                          for _ in range(dice.randrange(20)))),
            Afterthought(number, line, ns), Stray(line, 1, ns),
            Gap(number, dice.randrange(1 << 64))]
        give(account, dice.choice(records))
        for one in account.lines:
            assert one.missing >= 0
            assert one.values.count == one.answered + one.late
    assert len(account.lines) <= 64 and len(account._by_number) <= RECENT
