# SPDX-License-Identifier: GPL-2.0-or-later
"""The instrument: what comes over the link is recorded, then accounted for, then kept."""

import asyncio
import time
import zlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import checkpoint
from .account import Account
from .bounds import read, whole
from .errors import ScopeError, reason
from .frame import HEAD
from .index import Index
from .link import Link, Target
from .player import SLICE, Player
from .protocol import (
    Ack,
    Floor,
    Frame,
    Message,
    Packet,
    ProtocolError,
    Start,
    State,
    Status,
    Stop,
    Trigger,
    Welcome,
)
from .recording import Entry, Kind, Reader, Recording, seal
from .runs import SETTINGS, changes, told

EVENTS = 200  # of the link, the newest ones
TOLD = 1000  # characters of a note that are kept; a page has at most a fifth
SYNC = 1.0  # s
CHECKPOINT = 30.0  # s


@dataclass(frozen=True)
class Event:
    """What happened to the link, at the host's time."""

    at: int
    event: str
    words: str


def packet_number(frame: Frame) -> int | None:
    """Of a frame that is a packet, also one that cannot be read; None: it has none."""
    return int.from_bytes(frame.payload[:8], "little") \
        if frame.type == Packet.TYPE and len(frame.payload) >= 8 else None


def feed(account: Account, frame: Frame, message: Message | None, at: int) -> bool:
    """One frame into the account; False: a packet that it has."""
    if isinstance(message, Packet):
        return account.packet(message, at)
    if isinstance(message, Welcome):
        account.greet(message, at)
    elif isinstance(message, State):
        account.told(message)
    elif isinstance(message, Floor):
        account.floor = message
    elif message is None and frame.type in (Packet.TYPE, Welcome.TYPE):
        number = packet_number(frame)
        if number is not None and number < account.next_packet:
            return False
        account.unread(number, at)
    return True


def parse(raw: bytes, source: object = "the recording") -> tuple[Frame, Message | None]:
    """A frame of a recording, which has checked it."""
    if len(raw) < HEAD.size:
        raise ScopeError(f"{source}: it holds a frame without a head")
    _, _, kind, _, _, sequence, _ = HEAD.unpack_from(raw)
    frame = Frame(kind, sequence, raw[HEAD.size:])
    try:
        return frame, read(frame)
    except ProtocolError:
        return frame, None


class Instrument:
    """Account and recording of one generator, live or replayed."""

    def __init__(self, path: Path, live: bool, indexed: bool = False) -> None:
        self.path = path
        self.account = Account()
        self.events: deque[Event] = deque(maxlen=EVENTS)
        self.marks: deque[tuple[int, str]] = deque(maxlen=EVENTS)  # what a person noted, and when
        self.repeated = 0  # packets that came again and were refused
        self.recording: Recording | None = None
        self.link: Link | None = None
        self.replayed = 0  # bytes of the recording that are accounted for
        self.ready = not (live and indexed)  # all of the recording is accounted for
        self.playing: Player | None = None
        self.other: Instrument | None = None  # a recording that it can be compared with
        self.saved = 0.0  # when the last checkpoint was
        self._half = False  # a frame is accounted for in part: an error ended it
        self._started = False  # as far as is known triggers come
        # A thread of its own: nothing else may hold the sync up.
        self._disk = ThreadPoolExecutor(1, "sync")
        self.index = self._find_index() if indexed else None
        if live:
            self.recording = Recording(path, self.replayed)
            if not indexed:
                for entry in Reader(path):
                    self.take(entry)
                self._opened()

    def reading(self) -> float | None:
        """What share of the recording has been read while it is not yet ready; None: all."""
        if self.ready:
            return None
        return self.replayed / max(self.path.stat().st_size, 1) if self.path.exists() else 0.0

    def player(self) -> dict[str, Any] | None:
        """Of a replay: how fast it goes, and where it is, of 1; None: it is none."""
        one = self.playing
        return None if one is None else {
            "speed": one.speed, "paused": one.paused, "ended": one.ended,
            "place": self.replayed / max(self.path.stat().st_size, 1)}

    def _find_index(self) -> Index | None:
        """Beside the recording, as far as it is of this one; None: there cannot be one."""
        try:
            index = Index(self.path)
        except OSError as problem:
            self._no_index(problem)
            return None
        found = index.restore()
        try:
            if found is not None and seal(self.path, found["place"]) == found["seal"]:
                self.account = checkpoint.load(found["account"])
                self.marks += [(one[0], one[1]) for one in found["account"]["marks"]]
                self.events += [Event(*one) for one in found["account"]["events"]]
                self.replayed = found["place"]
            else:
                index.clear()
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, ProtocolError,
                zlib.error):
            self.account = Account()
            index.clear()
        return index

    def _no_index(self, problem: OSError) -> None:
        """It goes on without."""
        self.events.append(Event(time.time_ns(), "no index", str(problem.strerror)))
        self.index = None

    def _opened(self) -> None:
        assert self.recording is not None
        if self.recording.cut:
            self.event("cut off", bytes=self.recording.cut)

    async def catch_up(self) -> None:
        """Read what the index does not know of the recording, while others get their turn."""
        turn = time.monotonic()
        for entry in Reader(self.path, self.replayed):
            self.take(entry)
            if time.monotonic() - turn > SLICE:
                await asyncio.sleep(0)
                turn = time.monotonic()
        if self.recording is not None:
            self._opened()
        self.ready = True
        self.save()

    async def compare(self, path: Path) -> None:
        """With the runs of that recording, once it is read; why not is an event."""
        other = Instrument(path, live=False, indexed=True)
        other.ready = False
        try:
            await other.catch_up()
            self.other = other
        except (ScopeError, OSError) as problem:
            self.events.append(Event(time.time_ns(), "not compared", reason(problem)))
        finally:
            other.close()

    def forget(self) -> None:
        """From the beginning of the recording again."""
        self.account, self.replayed = Account(), 0
        self.events.clear()
        self.marks.clear()
        if self.index is not None:
            self.index.clear()

    def save(self) -> None:
        """A checkpoint: what is accounted for need not be read again."""
        self.saved = time.monotonic()
        if self.index is None or not self.replayed or not self.ready or self._half:
            return
        if (mark := seal(self.path, self.replayed)) is not None:
            told = {**checkpoint.dump(self.account), "marks": list(self.marks),
                    "events": [[one.at, one.event, one.words] for one in self.events]}
            try:
                self.index.save(self.replayed, mark, told)
            except OSError as problem:
                self._no_index(problem)

    def _indexed(self, begin: int, trigger: int, wall: int) -> None:
        """After an entry whose first trigger was that."""
        if self.index is None:
            return
        try:
            self.index.mark(wall, begin, trigger, self.account.wall(0))
            self.index.follow(self.account.trail)
        except OSError as problem:
            self._no_index(problem)

    def _fed(self, frame: Frame, message: Message | None, at: int, begin: int) -> None:
        """Into the account, and into the index."""
        self._half = True
        feed(self.account, frame, message, at)
        if isinstance(message, Packet) and self.index is not None:
            first = next((one for one in message.records if isinstance(one, Trigger)), None)
            if first is not None:
                self._indexed(begin, first.trigger, self.account.wall(first.at_ns))
        self._half = False

    def take(self, entry: Entry) -> None:
        """An entry of a recording."""
        self.replayed = entry.end
        if entry.kind == Kind.FRAME:
            frame, message = parse(entry.content, self.path)
            self._fed(frame, message, entry.at, entry.begin)
        elif entry.kind == Kind.NOTE:
            words = entry.note()
            name = str(words.pop("event", ""))
            if name == "run":
                self._begin(words, entry.at)
            elif name == "mark":
                text = str(words.get("text", ""))[:TOLD]
                self.marks.append((whole(words.get("of")) or entry.at, text))
            said = ", ".join(f"{key} {value}" for key, value in words.items())
            self.events.append(Event(entry.at, name[:TOLD], said[:TOLD]))

    def _begin(self, words: dict[str, Any], at: int) -> None:
        """A run, as its note has it; of the note what makes sense."""
        given = words.get("expected")
        expected = {name: value for name, value in given.items()
                    if name in SETTINGS and isinstance(value, int)} \
            if isinstance(given, dict) else None
        name, why = (str(words.get(key, ""))[:TOLD] for key in ("name", "why"))
        self.account.begin(at, name, why, expected,
                           bool(words.get("fresh", True)))

    def begin(self, name: str = "", why: str = "", expected: dict[str, int] | None = None,
              fresh: bool = True, at: int | None = None) -> None:
        """Another run begins: in the recording, and in the account."""
        at = time.time_ns() if at is None else at
        words: dict[str, Any] = {"name": name, "why": why, "expected": expected, "fresh": fresh}
        self._note(at, event="run", **words)
        self._begin(words, at)
        said = ", ".join(filter(None, (self.account.run.title, why)))
        self.events.append(Event(at, "run", said))

    def mark(self, text: str, of: int) -> None:
        """A note of a person, of that time."""
        self.marks.append((of, text))
        self._note(event="mark", text=text, of=of)

    async def command(self, message: Message) -> Ack:
        """To the generator.  What it takes of settings begins another run where it was sent."""
        if self.link is None:
            raise ScopeError("a recording takes no commands")
        at = time.time_ns()
        ack = await self.link.command(message)
        if ack.status != Status.OK:
            return ack
        state = self.account.state
        if isinstance(message, Start):
            self._started = True
        elif isinstance(message, Stop):
            self._started = False
        elif found := changes(message):
            runs = self._started or (state is not None and bool(state.running))
            mask = found.get("mask", 1)
            self.begin("", told(found), found if mask else {}, fresh=runs, at=at)
        return ack

    # What a link needs of its sink.

    def resume(self) -> tuple[int, int]:
        """Session and next packet."""
        welcome = self.account.welcome
        return (0, 0) if welcome is None else (welcome.session, self.account.next_packet)

    def received(self, frame: Frame, raw: bytes, message: Message | None, at: int) -> None:
        """On the disk first, then counted; a packet that is there is neither."""
        number = packet_number(frame)
        if number is not None and number < self.account.next_packet:
            self.repeated += 1
            return
        begin = 0
        if self.recording is not None and not isinstance(message, Ack):
            begin = self.recording.written
            self.recording.append(Kind.FRAME, raw, at)
        self._fed(frame, message, at, begin)
        self._accounted()
        if isinstance(message, State):
            self._started = bool(message.running)

    def sent(self, raw: bytes) -> None:
        """A command."""
        if self.recording is not None:
            self.recording.append(Kind.COMMAND, raw)
            self._accounted()

    def _note(self, at: int | None = None, /, **words: Any) -> None:
        """Into the recording, if there is one: now, or at the host's time `at`."""
        if self.recording is not None:
            self.recording.note(at, **words)
            self._accounted()

    def _accounted(self) -> None:
        """All that is in the recording is in the account, too."""
        if self.recording is not None:
            self.replayed = self.recording.written

    def event(self, event: str, **words: str | int) -> None:
        """Of the link."""
        self._note(event=event, **words)
        said = ", ".join(f"{key} {value}" for key, value in words.items())
        self.events.append(Event(time.time_ns(), event, said))

    def connect(self, target: Target) -> Link:
        """To this generator; `measure` runs the link."""
        self.link = Link(target, self)
        return self.link

    async def measure(self) -> None:
        """Run the link and keep what it brings, until cancelled; an error of the disk ends it."""
        assert self.link is not None and self.recording is not None
        link = asyncio.create_task(self.link.run())
        try:
            while True:
                done, _ = await asyncio.wait({link}, timeout=SYNC)
                if done:
                    link.result()
                await self.keep()
                if time.monotonic() - self.saved > CHECKPOINT:
                    self.save()
        finally:
            link.cancel()
            await asyncio.gather(link, return_exceptions=True)

    async def keep(self) -> None:
        """Sync, and only then tell the generator what it may forget."""
        assert self.recording is not None
        if self.recording.synced == self.recording.written:
            return
        upto = self.account.next_packet
        session = self.resume()[0]
        await asyncio.get_running_loop().run_in_executor(self._disk, self.recording.sync)
        if self.link is not None and upto and session == self.resume()[0]:
            self.link.kept(upto)

    def close(self) -> None:
        """The recording is whole and synced."""
        self._disk.shutdown()
        if self.recording is not None:
            self.recording.note(event="ended")
            self._accounted()
            self.recording.close()
            self.recording = None
        self.save()
        if self.index is not None:
            self.index.close()
            self.index = None

    async def replay(self, speed: float) -> None:
        """The recording as it came, `speed` times as fast; 0: as fast as it goes."""
        self.playing = Player(self, speed)
        await self.playing.run()

    def rest(self, reader: Reader) -> None:
        """What is behind the last entry of a recording that was read to its end."""
        if rest := reader.rest():
            words = "torn at its end" if reader.torn() else \
                f"damaged at byte {reader.good}: the rest is not read"
            self.events.append(Event(time.time_ns(), words, f"{rest} bytes"))
            if not words.startswith("torn"):
                self.account.contradictions += 1
