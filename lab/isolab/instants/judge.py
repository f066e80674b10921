# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial shows: nothing, because of the host or the emulator; or what is right and wrong.

A request is done exactly once, and it is counted as what became of it. No sender returns before
its request is done. No code runs on what is stale. Only the task itself enters the kernel of the
isolated CPU.
"""

from dataclasses import dataclass
from typing import Any

from .plan import ENTRY, KINDS, NOTHING, PARKED_FIRST, STOP, TIMER, Kind, Trial

Seen = dict[str, Any]
# As enum result of lab/guest/instants/instants.c.
RESULTS = (
    "error", "deferred", "excluded", "queued", "immediate", "missed", "ran", "before_ran", "old",
    "new", "seen", "seen_later", "due", "task_error", "more_ticks",
)
# A trial that took longer met a pause of the host: deadlines of 1 s prove nothing in it.
LONGEST_MS = 900.0
TOO_LONG = "the host took too long"
# The task's own entries: the one that is tried, one that looks, a tick.
OWN = 3
DONE, WAITS, SPINS, STUCK, NONE = "done", "waits", "spins", "stuck", "none"
BITS = 64
# A thread that wakes up is counted by its sender, and it may be by the CPU on its way out.
WAKES = 2


@dataclass(frozen=True)
class Result:
    """What the guest's program has counted, by the names above."""

    values: dict[str, int]

    def __getattr__(self, name: str) -> int:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None


def result(seen: Seen) -> Result:
    return Result(
        {
            name: value - (1 << BITS) if value >> (BITS - 1) else value
            for name, value in zip(RESULTS, seen["results"], strict=False)
        }
    )


def most_queued(kind: Kind, seen: Seen, rt: bool) -> int:
    """How many of what is counted as queued may be the request's.

    A thread that wakes up is counted, though it is the next to run.  So is with PREEMPT_RT the one
    that runs timers.
    """
    most = kind.most if kind.treated == "queued" else 0
    thread = WAKES if kind.thread and seen["ending"] != DONE else 0
    return most + thread + int(rt and kind.by == TIMER)


def noisy(trial: Trial, seen: Seen, rt: bool) -> bool:
    """Was something else counted, which was requested meanwhile?

    So many avoided ones as no request of this kind makes; one though the sender waits, as nobody
    waits for what is avoided; or anything beside all that it does.  With PREEMPT_RT a tick may
    wake threads up, which do what softirqs do else.
    """
    kind, r = KINDS[trial.cell.kind], result(seen)
    if rt and r.queued > most_queued(kind, seen, rt):
        return True
    avoided = kind.treated in ("deferred", "excluded") and kind.most == 1
    if avoided and seen["ending"] == WAITS and treated(kind, r):
        return True
    for name in ("deferred", "excluded"):
        if r.values[name] > (kind.most if name == kind.treated else 0):
            return treated(kind, r) > 0 or not r.queued
    return r.queued > 0 and kind.treated != "queued" and treated(kind, r) == kind.most


def interrupts(trial: Trial, seen: Seen) -> int:
    """How often a stop may: it looks four times, and then interrupts whoever stands there."""
    stood = trial.instant and seen["ending"] != DONE
    return result(seen).immediate if stood and KINDS[trial.cell.kind].by == STOP else 0


def void(trial: Trial, seen: Seen, rt: bool = False) -> str | None:
    """Why a trial shows nothing and is made again, if so."""
    if seen["ms"] > LONGEST_MS and trial.fault == NOTHING:
        return TOO_LONG
    if seen["ending"] == STUCK:
        return "the sender began nothing while the other CPU was held: the emulator waits for it"
    if seen["entries_dropped"]:
        return "more entries than are kept"
    instant, order = trial.instant, trial.cell.order
    if instant is None:
        if not seen["past"] and not seen["loops"]:
            return "the way did not end"
    elif not seen["parked"]:
        return "it was not parked"
    elif seen["loops"]:
        return "it waited for the sender ahead of the instant"
    if order != PARKED_FIRST and not seen["held"]:
        return "the sender was not held"
    if interrupts(trial, seen):
        return "the stop found the CPU in the kernel each time, for it stood there"
    if instant and noisy(trial, seen, rt):
        return "something else was requested meanwhile"
    return None


def treated(kind: Kind, r: Result) -> int:
    """How many decisions found the CPU in user mode, as counted."""
    return int(r.values.get(kind.treated, 0))


def _once(kind: Kind, r: Result) -> list[str]:
    bad = []
    if kind.counts and r.ran != 1:
        bad.append(f"done {r.ran} times, not once")
    if kind.sees and r.new != 1 - r.old:
        bad.append("not done")
    return bad


def _accounted(kind: Kind, seen: Seen, r: Result, rt: bool) -> list[str]:
    """What is avoided comes back at once and is counted; what is not waits for the CPU's answer."""
    bad = []
    counted = {n: r.values[n] for n in ("deferred", "excluded", "queued", "immediate", "missed")}
    for name, value in counted.items():
        most = kind.most if name == kind.treated else 0
        if name == "queued":
            most = most_queued(kind, seen, rt)
        if not 0 <= value <= most:
            bad.append(f"{name} {value} times")
    if seen["ending"] == DONE and kind.waits:
        bad.append("the sender came back while the CPU had not answered")
    avoided = seen["ending"] == DONE and kind.treated in ("deferred", "excluded")
    if avoided and treated(kind, r) != kind.most:
        bad.append(f"the sender came back and {treated(kind, r)} are counted as {kind.treated}")
    return bad


def _stale(trial: Trial, kind: Kind, seen: Seen, r: Result) -> list[str]:
    bad = []
    if kind.event and seen["ending"] == DONE and treated(kind, r):
        held, _, back = seen["events"].partition("|")
        if kind.event not in held + back.partition("K")[0]:
            bad.append("the kernel proper was executed ahead of what was deferred")
    if kind.sees:
        looks = trial.cell.side == ENTRY and trial.cell.path != "fault"  # behind the instant
        if seen["ending"] == DONE and looks and r.seen != r.new:
            bad.append("the task saw the old in the entry that was tried")
        if r.seen_later != r.new:
            bad.append("the task saw the old in its next entry")
    return bad


def _foreign(trial: Trial, seen: Seen, r: Result, syscall: int, most: int = 0) -> list[str]:
    """@most: so many may be.  Of those that were not kept the number is known."""
    bad = []
    foreign = [pc for pc, own in seen["entries"] if not own]
    own = [int(pc, 16) for pc, mine in seen["entries"] if mine]
    made = len(own) + seen["entries_dropped"]
    wanted = OWN + r.more_ticks + (trial.cell.kind == "signal")
    if len(foreign) > most:
        bad.append(f"foreign entries: {', '.join(foreign)}")
    if made != wanted:
        bad.append(f"{made} entries of its own, not {wanted}")
    first = 1 if trial.cell.path == "fault" else 0
    if any(pc != syscall for pc in own[first:]):
        bad.append("an entry of its own came by another vector")
    return bad


def _undone(trial: Trial, kind: Kind, r: Result) -> list[str]:
    bad = []
    if r.error or r.task_error:
        bad.append(f"errors: {r.error}, {r.task_error}")
    if r.before_ran != (1 if trial.cell.path == "queued" else 0):
        bad.append(f"the call ahead was done {r.before_ran} times")
    if r.due:
        bad.append(f"still due after a tick: {r.due:#x}")
    return bad + _once(kind, r)


def violations(trial: Trial, seen: Seen, syscall: int, rt: bool = False) -> list[str]:
    """What must not be, of a trial that is not void; @syscall: the vector of system calls."""
    kind, r = KINDS[trial.cell.kind], result(seen)
    return (
        _undone(trial, kind, r) + _accounted(kind, seen, r, rt) + _stale(trial, kind, seen, r)
        + _foreign(trial, seen, r, syscall)
    )


def though_void(trial: Trial, seen: Seen, syscall: int) -> list[str]:
    """What must not be wherever the CPU and the sender stood, and whoever else requested something.

    Not how a request was counted, which depends on both, and adds up over all.  Nothing of a trace
    or with a fault planted, which is there to be seen.
    """
    if not trial.instant or trial.fault != NOTHING:
        return []
    kind, r, may = KINDS[trial.cell.kind], result(seen), interrupts(trial, seen)
    bad = [f"{name} {r.values[name]} times" for name, most in (("immediate", may), ("missed", 0))
           if not 0 <= r.values[name] <= most]
    return _undone(trial, kind, r) + bad + _foreign(trial, seen, r, syscall, may)


def of_the_host(trial: Trial, seen: Seen) -> bool:
    """May the host have done what is wrong with a void trial?  Not twice to the same.

    It took the time of a deadline; or one passed, which then began ahead of the trial.
    """
    return void(trial, seen) == TOO_LONG or result(seen).missed > 0


def doubt(trial: Trial, seen: Seen, syscall: int, rt: bool = False) -> str | None:
    """What is counted as queued beside the request, if that is all that is wrong.

    A thread of that CPU may have woken up meanwhile, or the kernel does wrong.  CPU and sender
    stand at the same place each time, so a wrong decision is there the second time, too.
    """
    said = f"queued {result(seen).queued} times"
    return said if violations(trial, seen, syscall, rt) == [said] else None


@dataclass(frozen=True)
class Verdict:
    """@ending: how the sender ended meanwhile; @user: it found the CPU in user mode, as counted.

    @ms: how long it took; @ticks: how many the task made beside the first.
    """

    ending: str
    user: bool
    bad: tuple[str, ...]
    events: str = ""
    ms: float = 0.0
    ticks: int = 0


def judge(trial: Trial, seen: Seen, syscall: int, rt: bool = False) -> Verdict:
    """Of a trial that shows something, be it void."""
    r, why = result(seen), void(trial, seen, rt)
    user = treated(KINDS[trial.cell.kind], r) > 0
    bad = tuple([*though_void(trial, seen, syscall), f"though {why}"] if why
                else violations(trial, seen, syscall, rt))
    return Verdict(seen["ending"], user, bad, seen["events"] if bad else "", seen["ms"],
                   r.more_ticks)
