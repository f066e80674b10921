# SPDX-License-Identifier: GPL-2.0-or-later
"""What is tried: which ways into the kernel, which requests, which orders, which instructions.

A way is written down first, by trials in which nobody is parked: its trace.  An instant is an
instruction of it; one that is executed several times is several.  The plan that a guest follows
has a line for each trial.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

# As lab/guest/instants/instants.c names them.
PATHS = {
    "syscall": "a system call, nothing waits",
    "leaves": "a system call that leaves a timer behind: the way out goes round",
    "muted": "a system call, a timer that was left behind is muted",
    "deferred": "a system call, a text sync and a flush were deferred",
    "queued": "a system call, a call is queued",
    "fault": "a page fault, nothing waits",
}
NOTHING = "none"
# What decides on a request, in the kernel; rounds.py knows where senders are held in it.
QUEUE, AVOID, WAKE, TIMER, STOP = "queue", "avoid", "wake", "timer", "stop"


@dataclass(frozen=True)
class Kind:
    """A request; @treated: what is counted where it finds the CPU in user mode.

    @by: what decides on it; @counts: the module or the program counts how often it has run;
    @sees: the task sees by itself whether it was done; @most: how many decisions of the kernel it
    takes at most; @waits: it never comes back before the CPU has answered; @thread: it wakes one
    up on a CPU that it finds in the kernel.
    """

    name: str
    treated: str
    by: str = QUEUE
    counts: bool = True
    sees: bool = False
    most: int = 1
    waits: bool = False
    thread: bool = False
    event: str = ""  # what the plugin sees the CPU do at its entry


KINDS = {
    k.name: k
    for k in (
        Kind("text", "deferred", AVOID, counts=False, event="S"),
        Kind("key", "deferred", AVOID, counts=False, sees=True, most=3, event="S"),
        Kind("tlb", "deferred", AVOID, counts=False, sees=True, event="F"),
        Kind("excluded", "excluded", AVOID, counts=False),
        Kind("stop", "excluded", STOP, thread=True, event="S"),
        Kind("call", "queued", waits=True),
        Kind("async", "queued"),
        Kind("irq-work", "queued"),
        Kind("thread", "queued", WAKE, most=2),
        Kind("resched", "queued", most=3),
        Kind("timer", "queued", TIMER),
        Kind("signal", "queued"),
    )
}
# The isolated CPU stands, then the request is made.  Or the sender has said what it wants and is
# held ahead of its look at that CPU's state; or it has looked and decided, and is held ahead of
# what it does then: until the CPU stands.
PARKED_FIRST, SENT_FIRST, DECIDED_FIRST = "parked-first", "sent-first", "decided-first"
ORDERS = (PARKED_FIRST, SENT_FIRST, DECIDED_FIRST)
ENTRY, EXIT = "entry", "exit"
SIDES = (ENTRY, EXIT)
# How often each way is written down.
TRACES = 3
# Where the isolated CPU waits for the sender on its way out: the state is about to change.
WAY_OUT = "__ct_user_enter"


@dataclass(frozen=True)
class Cell:
    """Of the same path for all kinds where the CPU is parked first: a kind then changes nothing."""

    path: str
    side: str
    kind: str
    order: str

    @property
    def traced_as(self) -> "Cell":
        if self.order != PARKED_FIRST:
            return self
        return Cell(self.path, ENTRY, NOTHING, PARKED_FIRST)


@dataclass(frozen=True)
class Instant:
    """@index: how many watched instructions have been executed since the vector; @nth: how often
    this one had been."""

    index: int
    pc: int
    nth: int


@dataclass(frozen=True)
class Trial:
    number: int
    cell: Cell
    instant: Instant | None  # None: a trace
    fault: str = NOTHING  # that is planted in the kernel


def cells(paths: Iterable[str] = PATHS, kinds: Iterable[str] = KINDS,
          orders: Iterable[str] = ORDERS) -> list[Cell]:
    kinds, orders = tuple(kinds), tuple(orders)
    return [
        Cell(p, s, k, o)
        for p in paths for s in SIDES for k in kinds for o in orders
        if can_be_held(KINDS[k].by, s, o)
    ]


def can_be_held(by: str, side: str, order: str) -> bool:
    """Is there a place where a sender can be held for this order?

    A timer is not decided on, it is put elsewhere.  A stop looks at the CPU with all others
    stopped, only if it was in user mode when the stop began.
    """
    if by == STOP:
        return order == PARKED_FIRST or side == ENTRY
    return by != TIMER or order != DECIDED_FIRST


@dataclass(frozen=True)
class Ranges:
    """Addresses, each from its begin to before its end."""

    of: tuple[tuple[int, int], ...]

    def __contains__(self, pc: int) -> bool:
        return any(begin <= pc < end for begin, end in self.of)


@dataclass(frozen=True)
class Layout:
    """Where in a kernel what lies that parts a trace.

    @takes: Isolator's part of what follows the entry; @way_out: where the way to user mode begins
    that is looked at; @caught_up: the functions in which what was deferred is looked for and done;
    @left: the function in which the state changes to user mode.
    """

    takes: Ranges
    way_out: int
    caught_up: Ranges
    left: Ranges


def instants(trace: Sequence[int], side: str, layout: Layout) -> list[Instant]:
    """Those of one side.  In @trace 0 stands for code of the kernel that is not watched.

    The entry ends where other code than Isolator's calls such code first: the kernel proper.
    """
    watched: list[Instant] = []
    times: Counter[int] = Counter()
    proper = -1
    for pc in trace:
        if pc:
            watched.append(Instant(len(watched), pc, times[pc]))
            times[pc] += 1
        elif proper < 0 and not (watched and watched[-1].pc in layout.takes):
            proper = len(watched)
    if proper < 0:
        proper = len(watched)
    if side == ENTRY:
        return watched[:proper]
    for instant in watched[proper:]:
        if instant.pc == layout.way_out:
            return watched[instant.index :]
    return []


def as_user(trace: Sequence[int], layout: Layout) -> list[int]:
    """What was executed while the state said user mode, or nothing deferred had been done yet.

    From the vector until that was looked for and done; from the change of the state to user mode
    until the return, or until the same on the way back.  0: code that is not watched.
    """
    found, waits, begun = [], True, False
    for pc in trace:
        if waits and begun and pc not in layout.caught_up:
            waits = False
        begun = pc in layout.caught_up
        if waits:
            found.append(pc)
        elif pc in layout.left:
            waits = True
    return found


def traces(wanted: Iterable[Cell], times: int = TRACES) -> list[Trial]:
    """Each way some times, before anything is tried on it."""
    ways = list(dict.fromkeys(c.traced_as for c in wanted)) * times
    return [Trial(n, cell, None) for n, cell in enumerate(ways)]


def usual(found: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The one that was seen most often, of those the last: what goes ahead may change the first."""
    count = Counter(found)
    return max(reversed(found), key=lambda one: count[one])


def thinned(found: Sequence[Instant], every: int, offset: int) -> list[Instant]:
    return [i for i in found if i.index % every == offset % every]


def trials(ways: dict[Cell, list[Instant]], every: int = 1) -> list[Trial]:
    """All, or of each cell every so manieth, not the same in all of them."""
    chosen = [
        (cell, instant)
        for number, (cell, found) in enumerate(ways.items())
        for instant in thinned(found, every, number)
    ]
    return [Trial(number, cell, instant) for number, (cell, instant) in enumerate(chosen)]


@dataclass(frozen=True)
class Holds:
    """Where a sender is held, by what decides on it: ahead of its look, and behind it.

    Behind it the CPU was in user mode (@queues), or in the kernel (@sends).
    """

    looks: dict[str, int]
    queues: dict[str, int]
    sends: dict[str, int]

    def of(self, cell: Cell) -> int:
        if cell.order == PARKED_FIRST:
            return 0
        by = KINDS[cell.kind].by
        if cell.order == SENT_FIRST:
            return self.looks[by]
        return (self.queues if cell.side == ENTRY else self.sends)[by]

    def all(self) -> set[int]:
        return {a for each in (self.looks, self.queues, self.sends) for a in each.values()}


def lines(wanted: Iterable[Trial], holds: Holds, way_out: int) -> Iterator[str]:
    """The plan for a guest."""
    for trial in wanted:
        cell, at = trial.cell, trial.instant or Instant(0, 0, 0)
        gate = way_out if cell.order != PARKED_FIRST and cell.side == EXIT else 0
        yield (f"{trial.number} {cell.path} {cell.kind} {holds.of(cell):x} {gate:x} {at.pc:x} "
               f"{at.nth} {trial.fault}")
