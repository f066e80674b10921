# SPDX-License-Identifier: GPL-2.0-or-later
"""The account: for each line, triggers = answered + late + missing, and what was lost.

It is fed the messages of a link or of a recording, in their order, and knows nothing of
either.  What contradicts the protocol is counted, never guessed at.
"""

from collections import deque
from dataclasses import dataclass

from .protocol import (
    ANSWER_LATE,
    ANSWER_UNSURE,
    Afterthought,
    Floor,
    Gap,
    Packet,
    State,
    Stray,
    Trigger,
    Welcome,
)
from .runs import RUNS, Line, Run, settings, told
from .trail import Trail

LINES = 64  # a mask has no more bits
RECENT = 4096  # triggers whose chain can be looked at
GAPS = 1024  # that are remembered one by one


@dataclass
class Lost:
    """A stretch without records, in the host's time; `what` says whose they are."""

    since: int
    until: int
    what: str
    count: int


@dataclass
class Chain:
    """One trigger, for the chain view."""

    trigger: int
    at: int  # generator's clock
    wall: int  # host's clock
    jitter: int
    mask: int
    answers: list[tuple[int, int, bool]]
    run: Run


class Account:
    """What was measured so far, in a bounded amount of memory."""

    def __init__(self) -> None:
        self.runs: deque[Run] = deque([Run()], maxlen=RUNS)
        self._names: list[str] = []
        self._dropped: list[list[int]] = []  # by line, the counts of runs that are not kept
        self.trail = Trail(0)
        self.welcome: Welcome | None = None
        self.floor: Floor | None = None
        self.state: State | None = None
        self.sessions = 0
        self.next_packet = 0
        self.packets = 0
        self.triggers = 0
        self.lost_triggers = 0  # of Gap records, and of numbers that were jumped over
        self.lost_packets = 0
        self.unreadable = 0  # messages with a right checksum and a wrong content
        self.contradictions = 0
        self.began: int | None = None  # the first trigger, host's time
        self.ended = 0  # the last one
        self.gaps: deque[Lost] = deque(maxlen=GAPS)
        self.recent: deque[Chain] = deque(maxlen=RECENT)
        self.worst: list[Chain | None] = []  # by line: the trigger of its maximum
        self._offset = 0  # from the generator's clock to the host's
        self._last_trigger: int | None = None  # None: which was the last is not known
        self._holes: deque[tuple[int, int]] = deque(maxlen=GAPS)
        self._by_number: dict[int, Chain] = {}
        self._before = 0  # sessions' unsent records that are over
        self._unsent = 0
        self._complete = True  # this session from its first packet on
        self._session_triggers = 0

    @property
    def run(self) -> Run:
        """The one that is under way, or the last."""
        return self.runs[-1]

    @property
    def lines(self) -> list[Line]:
        """Of that run."""
        return self.runs[-1].lines

    def totals(self) -> list[tuple[int, int, int, int]]:
        """By line, of all runs: answered, late, missing, strays."""
        found = [[0, 0, 0, 0] for _ in self._names]
        kept = [[list(line.counts) for line in run.lines] for run in self.runs]
        for rows in (self._dropped, *kept):
            for total, row in zip(found, rows, strict=False):
                for place, count in enumerate(row):
                    total[place] += count
        return [(one[0], one[1], one[2], one[3]) for one in found]

    def begin(self, at: int, name: str = "", why: str = "",
              expected: dict[str, int] | None = None, fresh: bool = True) -> None:
        """A run begins at the host's time `at`: the triggers from then on are its.

        `expected`: what was set for it, and a State will confirm; None: nothing was.
        Not `fresh`: if the last one has no trigger yet, it is that one, by other settings.
        """
        run = self.run
        if not fresh and not run.triggers:
            run.at, run.why = at, ", ".join(filter(None, (run.why, why)))
            run.name = name or run.name
            if expected is not None:
                run.expected, run.state = {**run.expected, **expected}, None
            return
        if len(self.runs) == RUNS:
            self._drop(self.runs[0])
        made = Run(run.number + 1, name, why, at, expected=expected or {},
                   state=run.state if expected is None else None)
        made.widen(self._names)
        self.runs.append(made)
        self.worst = [None] * len(self._names)

    def _drop(self, run: Run) -> None:
        """Only its counts are kept."""
        self._dropped += [[0, 0, 0, 0] for _ in run.lines[len(self._dropped):]]
        for total, line in zip(self._dropped, run.lines, strict=False):
            for place, count in enumerate(line.counts):
                total[place] += count

    @property
    def unsent(self) -> int:
        """Records that the generator could not keep for sending."""
        return self._before + self._unsent

    def wall(self, at: int) -> int:
        """The generator's time as the host's."""
        return at + self._offset

    def greet(self, welcome: Welcome, at: int) -> None:
        """A connection began at the host's time `at`, or names changed."""
        before = self.welcome
        same = before is not None and before.session == welcome.session
        if not same:
            self.sessions += 1
            self._offset = at - welcome.now_ns
            # Triggers are numbered from 1: with the first packet all of them are known.
            self._last_trigger = 0 if welcome.first_packet == 0 else None
            self._holes.clear()
            self._by_number.clear()
            self._before, self._unsent = self.unsent, 0
            self._complete = welcome.first_packet == 0
            self._session_triggers = 0
            self.next_packet = welcome.first_packet
            self.state = None
            if before is not None and welcome.first_packet:
                self._lose(at, "packets", welcome.first_packet)
        elif welcome.first_packet > self.next_packet:
            self._lose(at, "packets", welcome.first_packet - self.next_packet)
            self._complete = False
            self.next_packet = welcome.first_packet
        self.welcome = welcome
        if len(welcome.names) > len(self.lines):
            self._widen(len(welcome.names))
        for place, name in enumerate(welcome.names):
            if name:
                self._names[place] = self.lines[place].name = name

    def _widen(self, count: int) -> None:
        """Lines are added, never taken away."""
        count = min(count, LINES)
        self._names += [""] * (count - len(self._names))
        for run in self.runs:
            run.widen(self._names)
        self.worst += [None] * (count - len(self.worst))
        self.trail.widen(count)

    def _lose(self, at: int, what: str, count: int) -> None:
        if what == "packets":
            self.lost_packets += count
        else:
            self.lost_triggers += count
            self.run.lost += count
        self.gaps.append(Lost(self.ended or at, at, what, count))

    def unread(self, number: int | None, at: int) -> None:
        """A message, or the packet of this number, came and could not be read."""
        self.unreadable += 1
        self._complete = False
        if number != self.next_packet:
            return
        self._lose(at, "packets", 1)
        self.next_packet = number + 1

    def packet(self, packet: Packet, at: int) -> bool:
        """Its records; False: it was here before, and is not counted again."""
        if packet.number < self.next_packet:
            return False
        if packet.number > self.next_packet:
            self._complete = False
            self._lose(at, "packets", packet.number - self.next_packet)
        self.next_packet = packet.number + 1
        self.packets += 1
        self._unsent = max(self._unsent, packet.unsent)
        for record in packet.records:
            if isinstance(record, Trigger):
                self._trigger(record)
            elif isinstance(record, Afterthought):
                self._afterthought(record)
            elif isinstance(record, Stray):
                self._stray(record)
            else:
                self._gap(record, at)
        return True

    def _trigger(self, record: Trigger) -> None:
        number = record.trigger
        wall = record.at_ns + self._offset
        if not number or (self._last_trigger is not None and number <= self._last_trigger):
            self.contradictions += 1
            return
        if self._last_trigger is not None and number > self._last_trigger + 1:
            self._hole(self._last_trigger + 1, number - 1, wall)
        self._last_trigger = number
        run = self.run_at(wall)
        self._count(run, record, wall)
        if record.mask.bit_length() > len(self._names):
            self._widen(record.mask.bit_length())
        self.trail.advance(wall)
        chain = Chain(number, record.at_ns, wall, record.jitter_ns, record.mask, [], run)
        if len(self.recent) == RECENT:
            self._by_number.pop(self.recent[0].trigger, None)
        self.recent.append(chain)
        self._by_number[number] = chain
        self._answers(record, chain, max(wall - (run.began or wall), 0))

    def run_at(self, wall: int) -> Run:
        """The run of a trigger: what was under way when another began is still the old one's."""
        run = self.runs[-1]
        if wall < run.at and len(self.runs) > 1:
            return next((one for one in reversed(self.runs) if one.at <= wall), self.runs[0])
        return run

    def _count(self, run: Run, record: Trigger, wall: int) -> None:
        if self.began is None:
            self.began = wall
        if run.began is None:
            run.began, run.first = wall, record.trigger
        run.ended = max(run.ended, wall)
        self.ended = max(self.ended, wall)
        self.triggers += 1
        run.triggers += 1
        self._session_triggers += 1
        run.worst_jitter = max(run.worst_jitter, record.jitter_ns)

    def _answers(self, record: Trigger, chain: Chain, since: int) -> None:
        trail, run = self.trail, chain.run
        current = run is self.runs[-1]
        left, lines = record.mask, run.lines
        for answer in record.answers:
            place, ns, flags = answer.line, answer.ns, answer.flags
            bit = 1 << place
            if not left & bit:
                self.contradictions += 1  # twice, or of a line that was not to answer
                continue
            left ^= bit
            line = lines[place]
            late = bool(flags & ANSWER_LATE)
            if late:
                line.late += 1
            else:
                line.answered += 1
            if flags & ANSWER_UNSURE:
                line.unsure += 1
            values = line.values
            if ns > values.most and current:
                self.worst[place] = chain
            values.add(ns, record.trigger, record.at_ns, since)
            trail.value(place, ns, late)
            chain.answers.append((place, ns, late))
        while left:
            bit = left & -left
            left ^= bit
            place = bit.bit_length() - 1
            lines[place].missing += 1
            trail.missing(place)

    def _afterthought(self, record: Afterthought) -> None:
        """Missing becomes late, with its value; it can do so once for each missing one."""
        if self._in_hole(record.trigger):
            return  # whether that line was expected is not known
        chain = self._by_number.get(record.trigger)
        run = chain.run if chain is not None else next(
            (one for one in reversed(self.runs) if 0 < one.first <= record.trigger), self.run)
        if record.line >= len(run.lines) or not run.lines[record.line].missing:
            self.contradictions += 1
            return
        line = run.lines[record.line]
        if chain is not None:
            known = any(place == record.line for place, _, _ in chain.answers)
            if known or not chain.mask >> record.line & 1:
                self.contradictions += 1
                return
            chain.answers.append((record.line, record.ns, True))
        elif self._last_trigger is None or record.trigger > self._last_trigger:
            self.contradictions += 1
            return
        line.missing -= 1
        line.late += 1
        wall = chain.wall if chain is not None else self.ended
        at = chain.at if chain is not None else wall - self._offset
        if chain is not None and record.ns > line.values.most and run is self.run:
            self.worst[record.line] = chain
        line.values.add(record.ns, record.trigger, at, max(wall - (run.began or wall), 0))
        self.trail.found(record.line, wall, record.ns)

    def _stray(self, record: Stray) -> None:
        if record.line < len(self.lines):
            self.lines[record.line].strays += 1
        else:
            self.contradictions += 1

    def _hole(self, first: int, last: int, at: int) -> None:
        self._holes.append((first, last))
        self._lose(at, "triggers", last - first + 1)

    def _in_hole(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self._holes)

    def _gap(self, record: Gap, at: int) -> None:
        """It may come after newer triggers, whose numbers told of the hole already."""
        last = self._last_trigger
        if record.last < record.first or not record.first:
            self.contradictions += 1
            return
        if last is not None and record.first <= last and not (
                self._in_hole(record.first) and self._in_hole(min(record.last, last))):
            self.contradictions += 1
            return
        if last is None or record.last > last:
            self._hole(record.first if last is None else max(record.first, last + 1),
                       record.last, at)
            self._last_trigger = record.last

    def told(self, state: State) -> None:
        """The generator's own view."""
        self.state = state
        self._unsent = max(self._unsent, state.unsent)
        run, found = self.run, settings(state)
        if any(found[name] != value for name, value in run.expected.items()):
            return  # from before the command that it waits for
        before = found if run.state is None else settings(run.state)
        # A mask of 0 is all that there are: so it says until it begins with them.
        other = {name: value for name, value in found.items() if value != before[name]
                 and (name != "mask" or (value and before[name]))}
        if other:
            self.begin(self.wall(state.now_ns), "", told(other), other, fresh=False)
        self.run.state = state

    def settled(self) -> bool:
        """Nothing is under way: it does not run, and each trigger that it closed is here.

        Triggers are closed in their order: the number of the last one is their count.
        """
        state = self.state
        return state is not None and not state.running \
            and (self._last_trigger is None or state.triggers <= self._last_trigger)

    def agrees(self) -> bool | None:
        """Is it the generator's own account?  None: that cannot be known.

        It can when the whole session was received, it is the only one, and nothing is under way.
        """
        state = self.state
        if state is None or self.sessions != 1 or not self._complete or self.lost_triggers \
                or state.running or state.triggers != self._session_triggers:
            return None
        return all(one == (said.answered, said.late, said.missing, said.strays)
                   for one, said in zip(self.totals(), state.lines, strict=False))

    def doubts(self) -> list[str]:
        """Why nothing may be concluded from it; empty: something may."""
        found = []
        if self.sessions > 1:
            times = "once" if self.sessions == 2 else f"{self.sessions - 1} times"
            found.append(f"the generator restarted {times}: what it had not sent by then is lost")
        if self.lost_triggers:
            found.append(f"the records of {self.lost_triggers} triggers were lost")
        if self.lost_packets:
            found.append(f"{self.lost_packets} packets were lost")
        if self.unsent:
            found.append(f"the generator could not keep {self.unsent} records for sending")
        if self.unreadable:
            found.append(f"{self.unreadable} messages could not be read")
        if self.contradictions:
            found.append(f"{self.contradictions} records contradict what was said before")
        if self.state is not None and self.state.lost:
            found.append(f"{self.state.lost} answers were overwritten before the generator looked")
        if self.agrees() is False:
            found.append("the generator's own account is another one")
        return found
