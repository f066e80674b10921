# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of the scope protocol: dataclasses, their bytes, and back.

docs/scope-protocol.md specifies them; scope/frame/ is the same in C.  Times are ns of the
generator's clock, from its start.
"""

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import ClassVar, TypeAlias

from .frame import PAYLOAD_MAX, Frame, FrameReader, ProtocolError, encode_frame
from .records import (
    ANSWER_LATE,
    ANSWER_UNSURE,
    Afterthought,
    Answer,
    Gap,
    Record,
    Stray,
    Trigger,
    read_record,
)
from .wire import Input, pack

__all__ = [
    "ANSWER_LATE", "ANSWER_UNSURE", "COMMANDS", "MESSAGES", "PAYLOAD_MAX", "VERSION", "Ack",
    "Afterthought", "Answer", "Calibrate", "Floor", "Frame", "FrameReader", "Gap", "Hello", "Kept",
    "LineState", "Message", "Packet", "Ping", "ProtocolError", "Record", "SetBurst", "SetDuty",
    "SetFrequency", "SetLines", "SetPacket", "SetPatience", "SetPhase", "Start", "State", "Status",
    "Stop", "Stray", "Trigger", "Welcome", "decode", "encode", "encode_frame",
]

VERSION = 1
NAME_SIZE = 16
TEXT_MAX = 512  # bytes of an Ack's text


class Status(IntEnum):
    """What became of a command."""

    OK = 0
    REFUSED = 1
    UNKNOWN = 2
    BUSY = 3


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


@dataclass(frozen=True)
class _Plain:
    """A message that is its integers one after another, as `LAYOUT` has them."""

    TYPE: ClassVar[int]
    LAYOUT: ClassVar[str] = ""

    def payload(self) -> bytes:
        """Its bytes."""
        return pack(self.LAYOUT, *(getattr(self, one.name) for one in fields(self)))

    @classmethod
    def read(cls, data: Input) -> "_Plain":
        """Out of its bytes."""
        return cls(*data.take(cls.LAYOUT))


@dataclass(frozen=True)
class Hello:
    """Begins a connection; `session` 0: none that goes on."""

    TYPE: ClassVar[int] = 0x01
    least_version: int = VERSION
    most_version: int = VERSION
    session: int = 0
    next_packet: int = 0
    token: str = ""

    def payload(self) -> bytes:
        """Its bytes."""
        token = self.token.encode()
        return pack("HHQQB", self.least_version, self.most_version, self.session,
                     self.next_packet, len(token)) + token

    @classmethod
    def read(cls, data: Input) -> "Hello":
        """Out of its bytes."""
        least, most, session, following, length = data.take("HHQQB")
        return cls(least, most, session, following, _text(data.raw(length)))


@dataclass(frozen=True)
class SetFrequency(_Plain):
    """Triggers, or bursts, in 1000 s."""

    TYPE: ClassVar[int] = 0x02
    LAYOUT: ClassVar[str] = "Q"
    millihertz: int


@dataclass(frozen=True)
class SetDuty(_Plain):
    """How long the trigger line is high, in millionths of a period."""

    TYPE: ClassVar[int] = 0x03
    LAYOUT: ClassVar[str] = "I"
    ppm: int


@dataclass(frozen=True)
class SetPacket(_Plain):
    """How many records a packet has."""

    TYPE: ClassVar[int] = 0x04
    LAYOUT: ClassVar[str] = "H"
    records: int


@dataclass(frozen=True)
class SetPhase(_Plain):
    """`mode` 0: a fixed period, 1: random from half a period to one and a half."""

    TYPE: ClassVar[int] = 0x05
    LAYOUT: ClassVar[str] = "BQ"
    mode: int
    seed: int = 0


@dataclass(frozen=True)
class SetLines(_Plain):
    """Lines that are expected to answer; 0: those that are offered at START."""

    TYPE: ClassVar[int] = 0x06
    LAYOUT: ClassVar[str] = "Q"
    mask: int


@dataclass(frozen=True)
class SetBurst(_Plain):
    """Triggers in each period, and the time from one to the next."""

    TYPE: ClassVar[int] = 0x07
    LAYOUT: ClassVar[str] = "HQ"
    triggers: int = 1
    gap_ns: int = 0


@dataclass(frozen=True)
class SetPatience(_Plain):
    """How long a trigger's record is kept open for answers."""

    TYPE: ClassVar[int] = 0x08
    LAYOUT: ClassVar[str] = "Q"
    ns: int


@dataclass(frozen=True)
class Start(_Plain):
    """`triggers` 0: until STOP."""

    TYPE: ClassVar[int] = 0x09
    LAYOUT: ClassVar[str] = "Q"
    triggers: int = 0


@dataclass(frozen=True)
class Stop(_Plain):
    """No further trigger."""

    TYPE: ClassVar[int] = 0x0A


@dataclass(frozen=True)
class Calibrate(_Plain):
    """Measure the generator itself; a FLOOR follows."""

    TYPE: ClassVar[int] = 0x0B
    LAYOUT: ClassVar[str] = "I"
    rounds: int


@dataclass(frozen=True)
class Kept(_Plain):
    """All packets below `packet` are on disk."""

    TYPE: ClassVar[int] = 0x0C
    LAYOUT: ClassVar[str] = "Q"
    packet: int


@dataclass(frozen=True)
class Ping(_Plain):
    """Is the generator there?"""

    TYPE: ClassVar[int] = 0x0D


@dataclass(frozen=True)
class Ack:
    """The answer to one command, named by its frame's sequence and its type."""

    TYPE: ClassVar[int] = 0x81
    sequence: int
    command: int
    status: int
    text: str = ""

    @property
    def words(self) -> str:
        """For people: its text, else what its status is called."""
        return self.text or (Status(self.status).name.lower() if self.status in list(Status)
                             else f"status {self.status}")

    def payload(self) -> bytes:
        """Its bytes; the text is cut at TEXT_MAX bytes."""
        text = self.text.encode()[:TEXT_MAX].decode(errors="ignore").encode()
        return pack("IBBH", self.sequence, self.command, self.status, len(text)) + text

    @classmethod
    def read(cls, data: Input) -> "Ack":
        """Out of its bytes."""
        sequence, command, status, length = data.take("IBBH")
        if length > TEXT_MAX:
            raise ProtocolError(f"a text of {length} bytes; {TEXT_MAX} is the most")
        return cls(sequence, command, status, _text(data.raw(length)))


@dataclass(frozen=True)
class Welcome:
    """Which generator this is, and which packets it still has; sent anew when names change."""

    TYPE: ClassVar[int] = 0x82
    version: int
    session: int
    first_packet: int
    next_packet: int
    resolution_ns: int
    now_ns: int
    names: tuple[str, ...] = ()  # by line; "": nobody answers on it

    def payload(self) -> bytes:
        """Its bytes."""
        data = pack("HHQQQQQ", self.version, len(self.names), self.session,
                     self.first_packet, self.next_packet, self.resolution_ns, self.now_ns)
        for name in self.names:
            raw = name.encode("ascii")
            if len(raw) > NAME_SIZE:
                raise ValueError(f"{name!r} is longer than {NAME_SIZE} bytes")
            data += raw.ljust(NAME_SIZE, b"\0")
        return data

    @classmethod
    def read(cls, data: Input) -> "Welcome":
        """Out of its bytes."""
        version, lines, session, first, following, resolution, now = data.take("HHQQQQQ")
        names = tuple(data.raw(NAME_SIZE).split(b"\0")[0].decode("ascii", "replace")
                      for _ in range(lines))
        return cls(version, session, first, following, resolution, now, names)


@dataclass(frozen=True)
class Packet:
    """Records, in the order in which they were closed."""

    TYPE: ClassVar[int] = 0x83
    number: int
    unsent: int
    records: tuple[Record, ...] = ()

    def payload(self) -> bytes:
        """Its bytes."""
        return pack("QQH", self.number, self.unsent, len(self.records)) + b"".join(
            record.pack() for record in self.records)

    @classmethod
    def read(cls, data: Input) -> "Packet":
        """Out of its bytes."""
        number, unsent, count = data.take("QQH")
        return cls(number, unsent, tuple(read_record(data) for _ in range(count)))


@dataclass(frozen=True)
class Floor(_Plain):
    """What the generator's own error is; `rounds` 0: it could not be measured."""

    TYPE: ClassVar[int] = 0x84
    LAYOUT: ClassVar[str] = "IQQQQQQQ"
    rounds: int
    resolution_ns: int
    loopback_p50_ns: int
    loopback_p99_ns: int
    loopback_max_ns: int
    jitter_p50_ns: int
    jitter_p99_ns: int
    jitter_max_ns: int


@dataclass(frozen=True)
class LineState:
    """One line's account so far."""

    answered: int = 0
    late: int = 0
    missing: int = 0
    strays: int = 0


_STATE = "QQIHBQQHQQBQQQ"


@dataclass(frozen=True)
class State:
    """The settings as the generator has them, and its account."""

    TYPE: ClassVar[int] = 0x85
    now_ns: int
    millihertz: int
    duty_ppm: int
    packet_records: int
    phase_mode: int
    seed: int
    mask: int
    burst: int
    gap_ns: int
    patience_ns: int
    running: int
    triggers: int = 0  # whose record is closed
    unsent: int = 0
    lost: int = 0  # answers that were overwritten before the generator looked
    lines: tuple[LineState, ...] = ()

    def payload(self) -> bytes:
        """Its bytes."""
        own = [getattr(self, one.name) for one in fields(self) if one.name != "lines"]
        return pack(_STATE, *own) + pack("H", len(self.lines)) + b"".join(
            pack("QQQQ", one.answered, one.late, one.missing, one.strays)
            for one in self.lines)

    @classmethod
    def read(cls, data: Input) -> "State":
        """Out of its bytes."""
        (now, millihertz, ppm, records, phase, seed, mask, burst, gap, patience, running,
         triggers, unsent, lost) = data.take(_STATE)
        lines = tuple(LineState(*data.take("QQQQ")) for _ in range(data.one("H")))
        return cls(now, millihertz, ppm, records, phase, seed, mask, burst, gap, patience,
                   running, triggers, unsent, lost, lines)


Message: TypeAlias = (
    Hello | SetFrequency | SetDuty | SetPacket | SetPhase | SetLines | SetBurst | SetPatience
    | Start | Stop | Calibrate | Kept | Ping | Ack | Welcome | Packet | Floor | State)

COMMANDS: tuple[type[Message], ...] = (
    Hello, SetFrequency, SetDuty, SetPacket, SetPhase, SetLines, SetBurst, SetPatience, Start,
    Stop, Calibrate, Kept, Ping)
MESSAGES: dict[int, type[Message]] = {
    one.TYPE: one for one in (*COMMANDS, Ack, Welcome, Packet, Floor, State)}


def encode(message: Message, sequence: int) -> bytes:
    """The frame of a message.  Raises ValueError for a value that its field cannot hold."""
    return encode_frame(Frame(message.TYPE, sequence, message.payload()))


def decode(frame: Frame) -> Message:
    """The message of a frame.  Raises ProtocolError for a type or a payload that is none."""
    kind = MESSAGES.get(frame.type)
    if kind is None:
        raise ProtocolError(f"no type of message is {frame.type:#04x}")
    data = Input(frame.payload)
    try:
        message = kind.read(data)
        data.end()
    except ProtocolError as error:
        raise ProtocolError(f"{kind.__name__}: {error}") from None
    return message  # type: ignore[return-value]
