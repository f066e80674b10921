# SPDX-License-Identifier: GPL-2.0-or-later
"""The chain of one trigger: in which order the mechanisms answer, and which hop cost what.

The table is the published one, docs/scope.md shows it.  A mechanism can only be delayed by
what it comes after: a delay in one shows in it and in all that follow from it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

TRIGGER = "trigger"


@dataclass(frozen=True)
class Place:
    """What a mechanism comes directly after, and why.

    `instead`: at times it comes before that one, and so before all from there to `after`;
    `why` says when.  `beside`: ordinary threads that may run
    on its CPU before it or in its middle, so that a delay in one of them may show in it too, or
    in a part of it.
    """

    after: str
    why: str
    beside: frozenset[str] = frozenset()
    instead: str = ""


_SOFTIRQS = frozenset({"softirq", "bh-work", "tasklet"})
_THREADS = frozenset({"user", "kthread", "irq-thread"})
_WORKERS = frozenset({"work-high", "work", "work-unbound"})
_ALL = _SOFTIRQS | _THREADS | _WORKERS

_USER = "a task of priority 80 in a blocking read, before all other threads"
_KTHREAD = "a thread of priority 50, woken before the interrupt's own"
_IRQ_THREAD = "priority 50 too: woken by what the handler returns, after all else"
_HIGH = "a worker of the CPU, nice -20: after threads with a real-time priority"
_WORK = "a worker of the CPU: after threads with a real-time priority"
_UNBOUND = "a worker of any CPU, woken by the handler"
_POLL = "looks at memory all the time, on a CPU of its own: no interrupt takes part"
_KERNEL_POLL = "a thread of the driver that looks at memory all the time, its CPU isolated"
_BH_WORK = "in the softirq of tasklets, before them"
_TASKLET = "in the softirq of tasklets, after the BH workqueues"

# Without PREEMPT_RT softirqs run where the interrupt ends, before any thread does.
PLAIN: dict[str, Place] = {
    "irq": Place(TRIGGER, "the handler itself"),
    "softirq": Place("irq", "runs where the interrupt ends; its number is below the tasklets'"),
    "bh-work": Place("softirq", _BH_WORK),
    "tasklet": Place("bh-work", _TASKLET),
    "user": Place("tasklet", f"{_USER}; or before `softirq`, after an interrupt during softirqs: "
                  "those that it raised are left to ksoftirqd, as a thread waits",
                  instead="softirq"),
    "kthread": Place("user", _KTHREAD),
    "irq-thread": Place("kthread", _IRQ_THREAD),
    "work-high": Place("irq-thread", _HIGH, _WORKERS - {"work-high"}),
    "work": Place("irq-thread", _WORK, _WORKERS - {"work"}),
    "work-unbound": Place("irq", _UNBOUND, _ALL - {"work-unbound"}),
    "poll": Place(TRIGGER, _POLL),
    "kernel-poll": Place(TRIGGER, _KERNEL_POLL),
}

# With it they run in ksoftirqd, an ordinary thread, after every thread with a priority.
RT: dict[str, Place] = {
    "irq": Place(TRIGGER, "the handler itself: it is not made a thread"),
    "user": Place("irq", _USER),
    "kthread": Place("user", _KTHREAD),
    "irq-thread": Place("kthread", _IRQ_THREAD),
    "work-high": Place("irq-thread", _HIGH, (_SOFTIRQS | _WORKERS) - {"work-high"}),
    "softirq": Place("irq-thread", "in ksoftirqd, an ordinary thread", _WORKERS),
    "bh-work": Place("softirq", _BH_WORK, _WORKERS),
    "tasklet": Place("bh-work", _TASKLET, _WORKERS),
    "work": Place("irq-thread", _WORK, (_SOFTIRQS | _WORKERS) - {"work"}),
    "work-unbound": Place("irq", _UNBOUND, _ALL - {"work-unbound"}),
    "poll": Place(TRIGGER, _POLL),
    "kernel-poll": Place(TRIGGER, _KERNEL_POLL),
}


@dataclass(frozen=True)
class Hop:
    """One answer of a trigger: its place by time, and what it cost since others."""

    name: str
    line: int
    ns: int  # since the trigger
    step_ns: int  # since the answer before it, by time
    after: str | None  # what it comes after by the table, if that answered
    after_ns: int | None  # since that one's answer
    late: bool
    against: bool  # it came before what it should come after


def downstream(name: str, table: Mapping[str, Place]) -> set[str]:
    """All that a delay in `name` delays too."""
    found = {name}
    while more := {one for one, place in table.items() if place.after in found} - found:
        found |= more
    return found - {name}


def aside(name: str, table: Mapping[str, Place]) -> set[str]:
    """All that a delay in `name` may delay, and need not."""
    touched = {one for one, place in table.items() if name in place.beside}
    for one in set(touched):
        touched |= downstream(one, table)
    return touched - downstream(name, table) - {name}


def _before(name: str, table: Mapping[str, Place], here: Mapping[str, int]) -> str | None:
    """The nearest one upstream that answered; None: none, or the name is not in the table."""
    place = table.get(name)
    while place is not None and place.after != TRIGGER:
        if place.after in here:
            return place.after
        place = table.get(place.after)
    return TRIGGER if place is not None else None


def chain(answers: Sequence[tuple[int, int, bool]], names: Sequence[str],
          table: Mapping[str, Place]) -> list[Hop]:
    """The hops of one trigger in the order of time; an answer is line, ns, late."""
    order = sorted(answers, key=lambda one: (one[1], one[0]))
    here = {names[line]: ns for line, ns, _ in order if line < len(names)}
    hops, last = [], 0
    for line, ns, late in order:
        name = names[line] if line < len(names) and names[line] else f"line {line}"
        after = _before(name, table, here)
        since = None if after is None else ns - (0 if after == TRIGGER else here[after])
        instead = here.get(table[name].instead) if name in table else None
        hops.append(Hop(name, line, ns, ns - last, after, since, late,
                        since is not None and since < 0 and (instead is None or ns > instead)))
        last = ns
    return hops


@dataclass(frozen=True)
class Usual:
    """What a hop takes, of many triggers."""

    median: int = 0
    high: int = 0  # the 99th percentile

    @classmethod
    def of(cls, values: Sequence[int]) -> "Usual":
        """There is at least one."""
        ordered = sorted(values)
        return cls(ordered[len(ordered) // 2], ordered[min(len(ordered) * 99 // 100,
                                                           len(ordered) - 1)])


UNKNOWN = Usual()
FEW = 100  # triggers: of fewer nothing is usual
SHARE = 20  # what is left of a delay is explained when it is that much smaller


def usual(chains: Iterable[Sequence[Hop]], few: int = FEW) -> dict[str, Usual]:
    """Of each mechanism with that many values, the time since what it comes after."""
    found: dict[str, list[int]] = {}
    for hops in chains:
        for hop in hops:
            if hop.after_ns is not None:
                found.setdefault(hop.name, []).append(hop.after_ns)
    return {name: Usual.of(values) for name, values in found.items() if len(values) >= few}


def _excess(hop: Hop, known: Mapping[str, Usual]) -> int:
    """How much longer than usual, since what it comes after."""
    took = hop.after_ns if hop.after_ns is not None else hop.step_ns
    return took - known.get(hop.name, UNKNOWN).median


def unusual(hop: Hop, known: Mapping[str, Usual]) -> bool:
    """Longer than 99 of 100, and than twice the median; of what is not known nothing is."""
    one = known.get(hop.name)
    return one is not None and hop.after_ns is not None \
        and hop.after_ns > max(one.high, 2 * one.median)


def _explains(other: Hop, hop: Hop, table: Mapping[str, Place], known: Mapping[str, Usual]) -> bool:
    """Did `hop` only wait for `other`, an ordinary thread that shares its CPU?

    That is so when nothing unusual is left of it without the time that `other` took.  A thread
    that the scheduler let answer in the middle of a delay does not explain the delay.
    """
    place = table.get(hop.name)
    if place is None or other.name not in place.beside or other.ns > hop.ns \
            or hop.after_ns is None or other.after_ns is None:
        return False
    both = min(hop.ns, other.ns) - max(hop.ns - hop.after_ns, other.ns - other.after_ns)
    excess = _excess(hop, known)
    spare = known.get(hop.name, UNKNOWN)
    return excess - both <= max(spare.high - spare.median, excess // SHARE)


def culprit(hops: Sequence[Hop], table: Mapping[str, Place],
            known: Mapping[str, Usual] | None = None) -> Hop | None:
    """The hop that was delayed most, each measured from what it comes after by the table.

    With what is usual, only one that is unusual, and None if none is.
    """
    left = [hop for hop in hops if known is None or unusual(hop, known)]
    known = known or {}
    worst = max(left, key=lambda hop: _excess(hop, known), default=None)
    seen = set()
    while worst is not None and worst.name not in seen:
        seen.add(worst.name)
        before = [hop for hop in left if hop is not worst
                  and _explains(hop, worst, table, known)]
        if not before:
            break
        worst = max(before, key=lambda hop: _excess(hop, known))
    return worst
