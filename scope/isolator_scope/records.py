# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of the scope protocol: what became of triggers.

Times are ns of the generator's clock, or after the trigger.
"""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from .frame import ProtocolError
from .wire import Input, form, pack

LINES_MAX = 64  # bits of a mask
ANSWER_LATE = 1  # it came after the next trigger
ANSWER_UNSURE = 2  # the generator was away before it looked: too large by up to that pause
ANSWER = "BBQ"


@dataclass(frozen=True)
class Answer:
    """Of one line, `ns` after the trigger."""

    line: int
    ns: int
    flags: int = 0

    @property
    def late(self) -> bool:
        """Did it come after the next trigger?"""
        return bool(self.flags & ANSWER_LATE)


@dataclass(frozen=True)
class Trigger:
    """A trigger and its answers; lines of `mask` without one are missing as of now."""

    KIND: ClassVar[int] = 1
    trigger: int
    at_ns: int
    jitter_ns: int
    mask: int
    answers: tuple[Answer, ...] = ()

    def pack(self) -> bytes:
        """Its bytes in a packet."""
        return pack("BQQIQB", self.KIND, self.trigger, self.at_ns, self.jitter_ns, self.mask,
                     len(self.answers)) + b"".join(
            pack(ANSWER, one.line, one.flags, one.ns) for one in self.answers)


@dataclass(frozen=True)
class Afterthought:
    """An answer to a trigger whose record was closed: that line was missing, and is late."""

    KIND: ClassVar[int] = 2
    trigger: int
    line: int
    ns: int

    def pack(self) -> bytes:
        """Its bytes in a packet."""
        return pack("BQBQ", self.KIND, self.trigger, self.line, self.ns)


@dataclass(frozen=True)
class Stray:
    """An answer that belongs to no trigger."""

    KIND: ClassVar[int] = 3
    line: int
    sequence: int
    at_ns: int

    def pack(self) -> bytes:
        """Its bytes in a packet."""
        return pack("BBIQ", self.KIND, self.line, self.sequence, self.at_ns)


@dataclass(frozen=True)
class Gap:
    """Triggers whose records were lost before they could be sent, the last one included."""

    KIND: ClassVar[int] = 4
    first: int
    last: int

    def pack(self) -> bytes:
        """Its bytes in a packet."""
        return pack("BQQ", self.KIND, self.first, self.last)


Record: TypeAlias = Trigger | Afterthought | Stray | Gap


def _line(line: int) -> int:
    if line >= LINES_MAX:
        raise ProtocolError(f"line {line}; {LINES_MAX - 1} is the last that a mask has")
    return line


def read_record(data: Input) -> Record:
    kind = data.one("B")
    if kind == Trigger.KIND:
        trigger, at_ns, jitter_ns, mask, count = data.take("QQIQB")
        answers = []
        left = mask  # each line once, and only lines of the mask
        for line, flags, ns in form(ANSWER).iter_unpack(data.raw(count * form(ANSWER).size)):
            if not left >> line & 1:
                raise ProtocolError(f"an answer of line {line}, which the trigger has no more")
            left &= ~(1 << line)
            answers.append(Answer(line, ns, flags))
        return Trigger(trigger, at_ns, jitter_ns, mask, tuple(answers))
    if kind == Afterthought.KIND:
        trigger, line, ns = data.take("QBQ")
        return Afterthought(trigger, _line(line), ns)
    if kind == Stray.KIND:
        line, sequence, at_ns = data.take("BIQ")
        return Stray(_line(line), sequence, at_ns)
    if kind == Gap.KIND:
        first, last = data.take("QQ")
        if last < first:
            raise ProtocolError(f"a gap from trigger {first} to {last}")
        return Gap(first, last)
    raise ProtocolError(f"no kind of record is {kind}")
