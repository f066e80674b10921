# SPDX-License-Identifier: GPL-2.0-or-later
"""The generator's account against what a simulated target wrote down."""

import signal
import time
from collections import Counter

from isolator_scope.protocol import (
    ANSWER_UNSURE,
    Answer,
    SetBurst,
    SetFrequency,
    SetLines,
    SetPacket,
    SetPatience,
    SetPhase,
    Start,
    State,
    Stop,
)
from processes import state_of
from rig import ANSWER, DROP, EARLY, TWICE, Account, Act, Host, Lines, Rig, account, sequence_of
from waiting import until

MS = 1_000_000


def same(found: Account, state: State) -> None:
    """The generator's own counts are what its records come to; both sum up."""
    assert state.triggers == found.triggers and state.unsent == 0
    for line, said in enumerate(state.lines):
        assert (said.answered, said.late, said.missing) == (
            found.answered[line], found.late[line], found.missing(line)), f"line {line}"
        assert said.answered + said.late + said.missing == found.expected[line]
        assert said.strays == sum(stray.line == line for stray in found.strays)


def attributed(found: Account, acts: list[Act], base: int = 0, lost: int = 0) -> None:
    """Each answer of the target is that trigger's, with a value that it can have; no others are.

    `lost` answers may have been written down and not given: of a target that was killed.
    """
    given = {(act.line, act.sequence): act.delay_ns for act in acts if act.act == ANSWER}
    seen = {(line, sequence_of(trigger, base)): value
            for (line, trigger), value in found.values.items()}
    assert set(seen) <= set(given)
    assert len(set(given) - set(seen)) <= lost
    for key, value in seen.items():
        assert value >= given[key], "an answer before it was given"


def slow_ones(host: Host) -> list[Answer]:
    """Answers after 20 ms of line 2 which the generator was there to see, but the last trigger's.

    One that it was away for may come before the next trigger was sent, and is not late.
    """
    return [answer for record in host.triggers()[:-1] for answer in record.answers
            if answer.line == 2 and answer.ns > 20 * MS and not answer.flags & ANSWER_UNSURE]


def test_every_answer(rig: Rig) -> None:
    """Dropped, late, false: all as the target did it."""
    rig.generator()
    rig.target("irq,20,10", "work,200,300,5", "user,300,600,5,5", "--false", "7")
    host = rig.host()
    assert host.until(lambda: host.welcomes[-1].names[:4] == ("irq", "work", "user", ""))
    host.order(SetFrequency(500_000), SetPhase(1, 9), SetPacket(7), SetPatience(200 * MS),
               Start(0))

    def enough() -> bool:
        did = Counter((act.act, act.line, act.delay_ns > 20 * MS) for act in rig.acts())
        return (did[DROP, 1, False] > 10 and did[ANSWER, 2, True] > 10
                and sum(did[TWICE, line, slow] for line in range(3) for slow in (False, True)) > 25
                and bool(host.states) and host.states[-1].lines[2].late > 10)

    # A target that is held up sees few triggers of many, and does with those what it should.
    assert host.until(enough, 60)
    host.order(Stop())
    state = host.finish()
    found, acts = account(host.records()), rig.acts()
    same(found, state)
    attributed(found, acts)
    did = Counter(act.act for act in acts)
    assert did[ANSWER] + did[DROP] == 3 * len({act.sequence for act in acts if act.act != EARLY})
    assert len(found.strays) == did[TWICE] + did[EARLY] > 50
    assert {stray.sequence for stray in found.strays} == {
        act.sequence for act in acts if act.act in (TWICE, EARLY)}
    assert found.missing(1) >= sum(act.act == DROP and act.line == 1 for act in acts) > 10
    # 20 ms late, at a period of 2 ms: each keeps its value.
    slow = [value for (line, _), value in found.values.items() if value > 20 * MS and line == 2]
    assert len(slow) >= sum(
        act.act == ANSWER and act.line == 2 and act.delay_ns > 20 * MS for act in acts) > 10
    assert all(answer.late for answer in slow_ones(host))
    assert max(len(packet.records) for packet in host.packets) == 7


def test_later_than_patience(rig: Rig) -> None:
    """Closed as missing, then late with its own value; one that never comes stays missing."""
    rig.generator()
    rig.target("user,30000", "never,1,0,100")
    host = rig.host()
    host.order(SetFrequency(100_000), SetPatience(2 * MS), SetPacket(5), Start(0))
    # A generator that is held up sees an answer before it looks at the clock again.
    assert host.until(lambda: sum(record.KIND == 2 for record in host.records()) > 10, 60)
    host.order(Stop())
    state = host.finish()
    found, acts = account(host.records()), rig.acts()
    same(found, state)
    attributed(found, acts)
    # Triggers that the target saw merged are answered once.
    given, sent = sum(act.act == ANSWER and act.line == 0 for act in acts), found.triggers
    assert (found.answered[0] + found.late[0], found.missing(0)) == (given, sent - given)
    assert found.late[0] > 10
    assert (found.answered[1], found.late[1], found.missing(1)) == (0, 0, sent)
    assert min(found.values.values()) >= 30 * MS


def test_overload(rig: Rig) -> None:
    """More triggers than the target sees: merged ones are missing, and all are counted."""
    rig.generator()
    rig.target("irq,400,200", "user,900,900,2")
    host = rig.host()
    host.order(SetFrequency(20_000_000), SetBurst(3, 5_000), SetPatience(50 * MS))
    # A target that is held up for half a second sees the last trigger only: then once more.
    for runs in range(1, 4):
        host.order(Start(30_000))
        state = host.finish(30_000 * runs, 60)
        if state.lines[0].late > 300:
            break
    state = host.finish(30_000 * runs)  # with what came to the last ones after that
    found, acts = account(host.records()), rig.acts()
    same(found, state)
    attributed(found, acts)
    assert found.missing(0) > 300
    assert found.late[0] > 300
    assert found.expected[0] == found.expected[1] == 30_000 * runs


def test_lines_change(rig: Rig) -> None:
    """What is expected changes in mid-run; a line that nobody answers on is missing."""
    rig.generator()
    rig.target("irq,10", "work,10")
    host = rig.host()

    def expecting(mask: int) -> bool:
        return sum(record.mask == mask for record in host.triggers()) >= 40

    # Records that come after a change may be of triggers before it.
    host.order(SetFrequency(200_000), SetPatience(20 * MS), Start(0))
    assert host.until(lambda: expecting(0b11), 30)
    host.order(SetLines(1))
    assert host.until(lambda: expecting(1), 30)
    host.order(SetLines(0b111))
    assert host.until(lambda: expecting(0b111), 30)
    host.order(Stop())
    state = host.finish()
    found = account(host.records())
    same(found, state)
    assert found.expected[0] == found.triggers
    assert 0 < found.expected[1] < found.triggers
    assert 0 < found.missing(2) == found.expected[2] < found.expected[1]


def test_target_killed(rig: Rig) -> None:
    """In mid-run, and started again: what it owed is missing, nothing is mixed up."""
    rig.generator()
    target = rig.target("irq,50,20", "user,4000,2000")
    host = rig.host()
    host.order(SetFrequency(500_000), SetPatience(50 * MS), Start(0))
    for _ in range(3):
        host.more_triggers(80)
        rig.kill(target)
        host.more_triggers(80)
        target = rig.target("irq,50,20", "user,4000,2000")
    host.more_triggers(80)
    host.order(Stop())
    state = host.finish()
    found = account(host.records())
    same(found, state)
    attributed(found, rig.acts(), lost=3)
    assert found.missing(0) > 50
    assert found.answered[0] + found.late[0] > 50


def test_generator_killed(rig: Rig) -> None:
    """The one after it finds target and lines; answers to the first one's triggers are strays."""
    generator = rig.generator()
    rig.target("irq,50,20", "user,100000")
    lines = Lines(rig.lines)
    host = rig.host()
    host.order(SetFrequency(500_000), SetPatience(500 * MS), Start(0))
    host.more_triggers(150)
    rig.kill(generator)
    host.until(lambda: host.closed)
    first, base = account(host.records()), lines.trigger
    assert base >= first.triggers
    rig.generator()
    again = rig.host()
    assert again.session != host.session
    assert again.welcomes[-1].names[:2] == ("irq", "user") or again.until(
        lambda: again.welcomes[-1].names[:2] == ("irq", "user"))
    again.order(SetFrequency(500_000), SetPatience(500 * MS), Start(0))
    assert again.until(lambda: sum(len(one.answers) for one in again.triggers()) > 200, 60)
    again.order(Stop())
    state = again.finish()
    found, acts = account(again.records()), rig.acts()
    lines.close()
    same(found, state)
    # A target that was held up sees the first one's last trigger when the second one is there.
    seconds = [act for act in acts if act.sequence > base]
    assert {act.generation for act in seconds} == {2}
    attributed(found, seconds, base)
    attributed(first, [act for act in acts if act.sequence <= base], lost=10_000)
    assert found.answered[0] + found.late[0] > 50
    # Answers of the line that takes 100 ms came to the second one if it was there in time.
    for stray in found.strays:
        assert stray.sequence <= base


def test_held_up(rig: Rig) -> None:
    """A generator that was stopped sees answers too late, and says that it is unsure of them."""
    generator = rig.generator()
    rig.target("irq,8000")
    host = rig.host()
    host.order(SetFrequency(100_000), SetPatience(500 * MS), Start(0))

    def given() -> list[Answer]:
        return [answer for record in host.triggers() for answer in record.answers]

    def held() -> tuple[int, int]:
        """Answers that came too late to be sure of, and triggers that were late themselves."""
        return (sum(one.flags & ANSWER_UNSURE and one.ns > 40 * MS for one in given()),
                sum(record.jitter_ns > 40 * MS for record in host.triggers()))

    def hold() -> bool:
        """Stop it, mostly between a trigger and its answer; was that often enough?"""
        host.more_triggers(5)
        generator.send_signal(signal.SIGSTOP)
        until(lambda: state_of(generator.pid) == "T")
        time.sleep(0.08)  # sleep: for so long it is held up, which its records tell
        generator.send_signal(signal.SIGCONT)
        host.more_triggers(1)
        return min(held()) >= 3

    until(hold, held)
    # On a busy machine it is away for a little time and again: not always, as an answer comes.
    assert host.until(lambda: any(not one.flags & ANSWER_UNSURE for one in given()), 60)
    host.order(Stop())
    state = host.finish()
    found = account(host.records())
    same(found, state)
    attributed(found, rig.acts())
    # Triggers that were due meanwhile are left out, and the first one after says how late it is.
    assert min(held()) >= 3
