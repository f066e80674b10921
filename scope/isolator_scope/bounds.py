# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host can account for: the protocol's fields hold more than any generator needs.

A message beyond these bounds is as one that cannot be read.  Within them no sum of the account
leaves the 64 bits of its columns, and no time is one that a document cannot say.
"""

from .frame import Frame, ProtocolError
from .protocol import Floor, Message, Packet, State, Welcome, decode
from .records import LINES_MAX, Afterthought, Gap, Record, Stray, Trigger

CLOCK = 1 << 60  # ns: 36 years that a generator runs
LENGTH = 1 << 53  # ns: 104 days that an answer takes
NUMBER = 1 << 62  # of triggers and packets


def whole(value: object) -> int | None:
    """A number out of JSON, if it is one that every field holds."""
    return value if isinstance(value, int) and not isinstance(value, bool) \
        and abs(value) < NUMBER else None


def _numbers(record: Record) -> tuple[int, int, int]:
    """The largest number of a trigger, time of a clock, and length of an answer."""
    if isinstance(record, Trigger):
        return record.trigger, record.at_ns, max((one.ns for one in record.answers), default=0)
    if isinstance(record, Afterthought):
        return record.trigger, 0, record.ns
    if isinstance(record, Stray):
        return 0, record.at_ns, 0
    assert isinstance(record, Gap)
    return record.last, 0, 0


def _wrong(message: Message) -> str:
    """What is beyond the bounds; empty: nothing."""
    numbers, clocks, lengths = [0], [0], [0]
    if isinstance(message, Packet):
        numbers.append(message.number)
        for number, clock, length in map(_numbers, message.records):
            numbers.append(number)
            clocks.append(clock)
            lengths.append(length)
    elif isinstance(message, Welcome):
        if len(message.names) > LINES_MAX:
            return f"{len(message.names)} lines"
        if not all(name.isascii() and name.isprintable() for name in message.names):
            return "a name with other characters"
        numbers += message.first_packet, message.next_packet
        clocks.append(message.now_ns)
        lengths.append(message.resolution_ns)
    elif isinstance(message, State):
        clocks.append(message.now_ns)
    elif isinstance(message, Floor):
        lengths += list(vars(message).values())
    for name, found, most in (("number", numbers, NUMBER), ("time", clocks, CLOCK),
                              ("length", lengths, LENGTH)):
        if max(found) >= most:
            return f"a {name} of {max(found)}"
    return ""


def read(frame: Frame) -> Message:
    """The message of a frame.  Raises ProtocolError: it is none, or nobody can account for it."""
    message = decode(frame)
    if wrong := _wrong(message):
        raise ProtocolError(f"{type(message).__name__}: {wrong}")
    return message
