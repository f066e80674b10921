# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab instants: what is tried, what is void, and what is a violation."""

from typing import Any

import pytest
from isolab.instants import judge, plan
from isolab.instants.plan import (
    DECIDED_FIRST,
    ENTRY,
    EXIT,
    PARKED_FIRST,
    SENT_FIRST,
    Cell,
    Holds,
    Instant,
    Layout,
    Ranges,
    Trial,
)

SYSCALL = 0xFF00
# vector, look, catch-up, Isolator's part, way out, state.
LAYOUT = Layout(
    takes=Ranges(((40, 50),)), way_out=60, caught_up=Ranges(((20, 30),)), left=Ranges(((70, 72),))
)
TRACE = [10, 11, 20, 21, 12, 40, 0, 41, 13, 0, 14, 60, 61, 70, 71, 15, 16]


def trial(kind: str = "call", order: str = PARKED_FIRST, path: str = "syscall", side: str = ENTRY,
          traced: bool = False, fault: str = "none") -> Trial:
    at = None if traced else Instant(3, 0x21, 0)
    return Trial(7, Cell(path, side, kind, order), at, fault)


def seen(**changes: Any) -> dict[str, Any]:
    """A queued call, as it should be."""
    results = {"queued": 1, "ran": 1}
    results.update(changes.pop("results", {}))
    entry = [f"{SYSCALL:x}", True]
    return {
        "trial": 7, "ms": 3.0, "parked": True, "loops": False, "held": False, "ending": "waits",
        "events": "|KUEK", "past": True, "entries": [entry] * 3, "entries_dropped": 0,
        "results": [results.get(name, 0) % 2**64 for name in judge.RESULTS] + [0],
        **changes,
    }


def test_a_trace_is_parted_into_the_way_in_and_the_way_out() -> None:
    way_in = plan.instants(TRACE, ENTRY, LAYOUT)
    assert [i.pc for i in way_in] == [10, 11, 20, 21, 12, 40, 41, 13]
    way_out = plan.instants(TRACE, EXIT, LAYOUT)
    assert [i.pc for i in way_out] == [60, 61, 70, 71, 15, 16]
    assert way_out[0].index == 9


def test_an_instruction_that_comes_again_is_another_instant() -> None:
    found = plan.instants([10, 11, 10, 0], ENTRY, LAYOUT)
    assert [(i.pc, i.nth) for i in found] == [(10, 0), (11, 0), (10, 1)]


def test_a_way_that_does_not_leave_has_no_way_out() -> None:
    assert plan.instants([10, 11], EXIT, LAYOUT) == []
    assert len(plan.instants([10, 11], ENTRY, LAYOUT)) == 2


def test_what_is_executed_as_user_mode_ends_as_it_has_caught_up_and_begins_with_the_state() -> None:
    assert plan.as_user(TRACE, LAYOUT) == [10, 11, 20, 21, 71, 15, 16]


def test_the_way_back_in_catches_up_again() -> None:
    assert plan.as_user([10, 20, 12, 0, 70, 71, 16, 20, 12, 0], LAYOUT) == [10, 20, 71, 16, 20]


def test_other_code_ahead_of_the_catch_up_is_told() -> None:
    assert 0 in plan.as_user([10, 0, 11, 20, 12], LAYOUT)


def test_cells_are_ways_times_sides_times_kinds_times_orders_where_senders_are_held() -> None:
    found = plan.cells()
    whole = len(plan.PATHS) * len(plan.SIDES) * len(plan.KINDS) * len(plan.ORDERS)
    timers, stops = len(plan.PATHS) * len(plan.SIDES), len(plan.PATHS) * 2
    assert len(found) == whole - timers - stops
    assert {(c.side, c.order) for c in found if c.kind == "stop"} == {
        (ENTRY, PARKED_FIRST), (EXIT, PARKED_FIRST), (ENTRY, SENT_FIRST), (ENTRY, DECIDED_FIRST),
    }
    assert not [c for c in found if c.kind == "timer" and c.order == DECIDED_FIRST]
    assert len(set(found)) == len(found)


def test_a_kind_changes_the_way_only_where_its_sender_comes_first() -> None:
    one, other = (Cell("syscall", EXIT, k, PARKED_FIRST) for k in ("call", "tlb"))
    assert one.traced_as == other.traced_as
    held = Cell("syscall", EXIT, "call", SENT_FIRST)
    assert held.traced_as == held


def test_the_usual_way_is_the_one_seen_most_often() -> None:
    assert plan.usual([(1,), (2,), (2,)]) == (2,)
    assert plan.usual([(1,), (2,)]) == (2,)


def test_all_is_tried_and_a_sample_is_spread() -> None:
    found = [Instant(i, i, 0) for i in range(10)]
    ways = {Cell("syscall", ENTRY, k, PARKED_FIRST): found for k in ("call", "tlb")}
    assert len(plan.trials(ways)) == 20
    assert [t.instant.index for t in plan.trials(ways, 5) if t.instant] == [0, 5, 1, 6]
    assert [t.number for t in plan.trials(ways)] == list(range(20))


def test_the_plan_says_where_the_sender_is_held_and_where_the_cpu_waits_for_that() -> None:
    holds = Holds(looks={plan.QUEUE: 0xA}, queues={plan.QUEUE: 0xB}, sends={plan.QUEUE: 0xC})
    wanted = [
        trial(), trial(order=SENT_FIRST), trial(order=DECIDED_FIRST),
        trial(order=DECIDED_FIRST, side=EXIT), trial(traced=True), trial(fault="drop_queued"),
    ]
    assert list(plan.lines(wanted, holds, 0x60)) == [
        "7 syscall call 0 0 21 0 none",
        "7 syscall call a 0 21 0 none",
        "7 syscall call b 0 21 0 none",
        "7 syscall call c 60 21 0 none",
        "7 syscall call 0 0 0 0 none",
        "7 syscall call 0 0 21 0 drop_queued",
    ]


VOID = [
    ("the host took too long", trial(), seen(ms=judge.LONGEST_MS + 1)),
    ("the emulator waits", trial(), seen(ending="stuck")),
    ("more entries", trial(), seen(entries_dropped=1)),
    ("the way did not end", trial(traced=True), seen(past=False)),
    ("it was not parked", trial(), seen(parked=False)),
    ("ahead of the instant", trial(order=SENT_FIRST), seen(loops=True, held=True)),
    ("the sender was not held", trial(order=SENT_FIRST), seen()),
    ("the sender was not held", trial(order=DECIDED_FIRST, traced=True), seen()),
    ("something else", trial("text"), seen(results={"excluded": 1, "queued": 0})),
    ("something else", trial("text"), seen(results={"deferred": 1, "queued": 0})),
    ("something else", trial("excluded"), seen(results={"excluded": 2, "queued": 0})),
    ("something else", trial("excluded"), seen(results={"excluded": 1, "queued": 1})),
    ("something else", trial(), seen(results={"excluded": 1})),
    ("the stop found", trial("stop"), seen(ending="spins", results={"immediate": 1})),
]


@pytest.mark.parametrize(("why", "of", "shown"), VOID)
def test_what_shows_nothing(why: str, of: Trial, shown: dict[str, Any]) -> None:
    assert why in (judge.void(of, shown) or "")


SHOWS = [
    (trial(), seen()),
    (trial(order=SENT_FIRST), seen(held=True)),
    (trial(traced=True), seen(parked=False)),
    (trial(order=SENT_FIRST, traced=True), seen(held=True, past=False, loops=True)),
    # A planted fault may take the time of a deadline, which is what shows it.
    (trial(fault="lose_wakeup"), seen(ms=judge.LONGEST_MS + 1)),
    # Something else instead of what it should be counted as is a violation, not noise.
    (trial("excluded"), seen(results={"queued": 1, "excluded": 0})),
    (trial("text"), seen(results={"queued": 1, "excluded": 1})),
    (trial(), seen(results={"queued": 2})),
    # It came back: it left the CPU alone, or should have.
    (trial("stop"), seen(ending="done", results={"immediate": 1, "queued": 0})),
]


@pytest.mark.parametrize(("of", "shown"), SHOWS)
def test_what_counts(of: Trial, shown: dict[str, Any]) -> None:
    assert judge.void(of, shown) is None


def deferred(**changes: Any) -> dict[str, Any]:
    """A flush that was deferred while the CPU stood, as it should be."""
    results = {"queued": 0, "ran": 0, "deferred": 1, "old": 0, "new": 1, "seen": 1, "seen_later": 1}
    results.update(changes.pop("results", {}))
    return seen(**{"ending": "done", "events": "|FKUEK", "results": results, **changes})


RIGHT = [
    (trial(), seen()),
    (trial(), seen(results={"queued": 0})),
    (trial(path="queued"), seen(results={"before_ran": 1})),
    (trial("tlb"), deferred()),
    # The sender waits: the CPU was in the kernel, and has been sent an interrupt.
    (trial("tlb"), deferred(ending="waits", events="|KUEK", results={"deferred": 0})),
    # On the way out the task has looked already; it must see the new in its next entry.
    (trial("tlb", side=EXIT), deferred(events="|UEFK", results={"seen": 0})),
    # It has caught up between the sender's bit and the sender's look.
    (trial("tlb", order=SENT_FIRST), deferred(held=True, events="FK|KUEK")),
    (trial("tlb", path="fault"),
     deferred(results={"seen": 2**32 - 1}, entries=[["e", True], *[[f"{SYSCALL:x}", True]] * 2])),
    (trial("signal"), seen(ending="done", entries=[[f"{SYSCALL:x}", True]] * 4)),
    (trial("thread"), seen(ending="done", results={"queued": 2})),
    # The CPU was in the kernel: the thread that stops it wakes up.
    (trial("stop"), seen(ending="waits", results={"queued": 1})),
    # Counted by its sender and by the CPU.
    (trial("stop"), seen(ending="spins", results={"queued": 2})),
    (trial(), seen(results={"more_ticks": 2}, entries=[[f"{SYSCALL:x}", True]] * 5)),
]


@pytest.mark.parametrize(("of", "shown"), RIGHT)
def test_what_is_right(of: Trial, shown: dict[str, Any]) -> None:
    assert judge.violations(of, shown, SYSCALL) == []


WRONG = [
    ("errors: 16", trial(), seen(results={"error": 16})),
    ("errors: 0, 1", trial(), seen(results={"task_error": 1})),
    ("the call ahead was done 0 times", trial(path="queued"), seen()),
    ("the call ahead was done 1 times", trial(), seen(results={"before_ran": 1})),
    ("still due", trial(), seen(results={"due": 1})),
    ("done 0 times", trial(), seen(results={"ran": 0})),
    ("done 2 times", trial("async"), seen(ending="done", results={"ran": 2})),
    ("not done", trial("tlb"), deferred(results={"new": 0, "seen": 0, "seen_later": 0})),
    ("queued 2 times", trial(), seen(results={"queued": 2})),
    ("queued -1 times", trial(), seen(results={"queued": -1})),
    ("missed 1 times", trial(), seen(results={"missed": 1})),
    ("immediate 1 times", trial(), seen(results={"immediate": 1})),
    ("queued 1 times", trial("excluded"), seen(results={"queued": 1})),
    ("queued 1 times", trial("stop"), seen(ending="done", results={"excluded": 1})),
    ("queued 3 times", trial("stop"), seen(ending="waits", results={"queued": 3})),
    ("0 are counted as excluded", trial("stop"), seen(ending="done", results={"queued": 0})),
    ("had not answered", trial(), seen(ending="done")),
    ("0 are counted as deferred", trial("text"),
     seen(ending="done", events="|SK", results={"queued": 0})),
    ("1 are counted as deferred", trial("key"),
     deferred(events="|SK")),
    ("ahead of what was deferred", trial("tlb"), deferred(events="|KUEFK")),
    ("ahead of what was deferred", trial("tlb"), deferred(events="|SKUEK")),
    ("the old in the entry", trial("tlb"), deferred(results={"seen": 0})),
    ("the old in its next entry", trial("tlb", side=EXIT), deferred(results={"seen_later": 0})),
    ("foreign entries: ab", trial(), seen(entries=[["ab", False], *[[f"{SYSCALL:x}", True]] * 3])),
    ("2 entries of its own", trial(), seen(entries=[[f"{SYSCALL:x}", True]] * 2)),
    ("another vector", trial(), seen(entries=[["ab", True], *[[f"{SYSCALL:x}", True]] * 2])),
    ("another vector", trial(path="fault"), seen(entries=[["ab", True]] * 3)),
]


RT_VOID = [
    (trial("tlb", side=EXIT), seen(ending="waits", results={"queued": 1})),
    (trial("stop"), seen(ending="waits", results={"queued": 3})),
    (trial("async"), seen(ending="done", results={"queued": 2})),
    (trial("timer"), seen(ending="done", results={"queued": 3})),
]


@pytest.mark.parametrize(("of", "shown"), RT_VOID)
def test_threads_that_wake_up_are_noise_with_preempt_rt(of: Trial, shown: dict[str, Any]) -> None:
    assert "something else" in (judge.void(of, shown, rt=True) or "")
    assert judge.void(of, shown) is None


def test_the_thread_that_runs_timers_is_counted_with_preempt_rt() -> None:
    shown = seen(ending="done", results={"queued": 2})
    assert judge.void(trial("timer"), shown, rt=True) is None
    assert judge.violations(trial("timer"), shown, SYSCALL, rt=True) == []
    assert judge.violations(trial("timer"), shown, SYSCALL)


def test_one_queued_beside_the_request_is_doubtful() -> None:
    """A thread of that CPU may have woken up; nothing else may be wrong."""
    crowded = seen(ending="spins", results={"queued": 3})
    assert judge.doubt(trial("stop"), crowded, SYSCALL) == "queued 3 times"
    assert judge.doubt(trial("call"), seen(), SYSCALL) is None
    late = seen(ending="spins", results={"queued": 3, "missed": 1})
    assert judge.doubt(trial("stop"), late, SYSCALL) is None
    assert len(judge.violations(trial("stop"), late, SYSCALL)) == 2


@pytest.mark.parametrize(("what", "of", "shown"), WRONG)
def test_what_is_wrong(what: str, of: Trial, shown: dict[str, Any]) -> None:
    assert any(what in text for text in judge.violations(of, shown, SYSCALL))


X = ["ab", False]
OWN = [f"{SYSCALL:x}", True]
# A void trial is made again, up to six times: what no host and no other request excuses counts.
THOUGH_VOID = [
    ("the host took too long", trial(),
     seen(ms=1015, entries=[X, *[OWN] * 3], results={"missed": 1}), ["missed 1", "foreign"]),
    ("the host took too long", trial(), seen(ms=1200, results={"ran": 0, "due": 1}),
     ["done 0 times", "still due"]),
    ("something else", trial("excluded"),
     seen(ending="done", entries=[X, *[OWN] * 3], results={"excluded": 1, "ran": 0}), ["foreign"]),
    ("something else", trial("async"),
     seen(ending="done", entries=[X, *[OWN] * 3], results={"queued": 2, "ran": 2}),
     ["done 2 times", "foreign"]),
    ("the stop found", trial("stop"),
     seen(ending="spins", entries=[X, X, *[OWN] * 3], results={"immediate": 1, "ran": 2}),
     ["done 2 times", "foreign"]),
    ("the emulator waits", trial(), seen(ending="stuck", results={"task_error": 1}), ["errors"]),
    ("more entries", trial(), seen(entries_dropped=1), ["4 entries of its own, not 3"]),
    ("it was not parked", trial(path="queued"), seen(parked=False), ["call ahead was done 0"]),
    ("ahead of the instant", trial("tlb"), seen(loops=True, results={"old": 1, "new": 1}),
     ["not done"]),
    ("the sender was not held", trial(order=SENT_FIRST), seen(results={"error": 16}), ["errors"]),
]


@pytest.mark.parametrize(("why", "of", "shown", "wrong"), THOUGH_VOID)
def test_what_is_wrong_though_the_trial_is_void(
    why: str, of: Trial, shown: dict[str, Any], wrong: list[str]
) -> None:
    assert why in (judge.void(of, shown, rt=True) or "")
    bad = judge.though_void(of, shown, SYSCALL)
    assert len(bad) == len(wrong) and all(any(w in text for text in bad) for w in wrong)
    said = judge.judge(of, shown, SYSCALL, rt=True).bad
    assert said[:-1] == tuple(bad) and why in said[-1]
    # A planted fault is there to be seen, and elsewhere the CPU is not where it is known to be.
    assert judge.though_void(Trial(7, of.cell, of.instant, "drop_queued"), shown, SYSCALL) == []
    assert judge.though_void(Trial(7, of.cell, None), shown, SYSCALL) == []


# As recorded, of 67 417 trials on PREEMPT.
VOID_BUT_RIGHT = [
    # The host stood still for 3 s.
    (trial("signal"), seen(ms=3033.8, ending="done", entries=[OWN] * 4)),
    # The task looked after itself 122 times.
    (trial(), seen(entries=[OWN] * 64, entries_dropped=61, results={"more_ticks": 122})),
    (trial(), seen(ending="stuck", ms=470.0, entries=[OWN] * 4, results={"more_ticks": 1})),
    (trial("excluded", SENT_FIRST, "queued"),
     seen(loops=True, held=True, ending="done", results={
         "queued": 0, "ran": 0, "excluded": 2, "before_ran": 1})),
    (trial("key", SENT_FIRST, side=EXIT), seen(
        loops=True, held=True, ending="done", results={
            "queued": 0, "ran": 0, "deferred": 3, "excluded": 1, "new": 1, "seen_later": 1})),
    # The one interrupt of a stop that found the CPU in the kernel each time.
    (trial("stop", path="queued"), seen(
        ending="spins", entries=[OWN, X, *[OWN] * 3],
        results={"queued": 2, "immediate": 1, "before_ran": 1, "more_ticks": 1})),
    # Other threads have woken up.
    *((of, shown) for of, shown in RT_VOID if of.cell.kind != "tlb"),
]


@pytest.mark.parametrize(("of", "shown"), VOID_BUT_RIGHT)
def test_what_a_host_and_others_may_do(of: Trial, shown: dict[str, Any]) -> None:
    assert judge.void(of, shown, rt=True)
    assert judge.though_void(of, shown, SYSCALL) == []


def test_what_the_host_may_have_done() -> None:
    """The time of a deadline; or one passed that then began ahead of the trial."""
    assert judge.of_the_host(trial(), seen(ms=1015))
    assert judge.of_the_host(trial("excluded"), seen(results={"excluded": 2, "missed": 1}))
    assert not judge.of_the_host(trial(), seen(ending="stuck", results={"due": 1}))


def test_a_verdict_says_whether_the_request_found_user_mode() -> None:
    assert judge.judge(trial(), seen(), SYSCALL) == judge.Verdict("waits", True, (), "", 3.0, 0)
    assert not judge.judge(trial(), seen(results={"queued": 0}), SYSCALL).user
