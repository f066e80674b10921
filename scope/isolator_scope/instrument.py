# SPDX-License-Identifier: GPL-2.0-or-later
"""The instrument: what comes over the link is recorded, then accounted for, then kept."""

import asyncio
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .account import Account
from .errors import ScopeError
from .frame import HEAD
from .link import Link, Target
from .protocol import Ack, Floor, Frame, Message, Packet, ProtocolError, State, Welcome, decode
from .recording import Entry, Kind, Reader, Recording, being_written

EVENTS = 200  # of the link, the newest ones
SYNC = 1.0  # s
SLICE = 0.02  # s of replaying, before others get their turn


@dataclass(frozen=True)
class Event:
    """What happened to the link, at the host's time."""

    at: int
    event: str
    words: str


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
    elif message is None and frame.type == Packet.TYPE and len(frame.payload) >= 8:
        number = int.from_bytes(frame.payload[:8], "little")
        if number != account.next_packet:
            return False
        account.unread(number, at)
    return True


def parse(raw: bytes) -> tuple[Frame, Message | None]:
    """A frame of a recording, which has checked it."""
    if len(raw) < HEAD.size:
        raise ScopeError("the recording holds a frame without a head")
    _, _, kind, _, _, sequence, _ = HEAD.unpack_from(raw)
    frame = Frame(kind, sequence, raw[HEAD.size:])
    try:
        return frame, decode(frame)
    except ProtocolError:
        return frame, None


class Instrument:
    """Account and recording of one generator, live or replayed."""

    def __init__(self, path: Path, live: bool) -> None:
        self.path = path
        self.account = Account()
        self.events: deque[Event] = deque(maxlen=EVENTS)
        self.repeated = 0  # packets that came again and were refused
        self.recording: Recording | None = None
        self.link: Link | None = None
        self.replayed = 0  # bytes
        # A thread of its own: nothing else may hold the sync up.
        self._disk = ThreadPoolExecutor(1, "sync")
        if live:
            self.recording = Recording(path)
            for entry in Reader(path):
                self.take(entry)
            if self.recording.cut:
                self.event("cut off", bytes=self.recording.cut)

    def take(self, entry: Entry) -> None:
        """An entry of a recording."""
        self.replayed = entry.end
        if entry.kind == Kind.FRAME:
            frame, message = parse(entry.content)
            feed(self.account, frame, message, entry.at)
        elif entry.kind == Kind.NOTE:
            words = entry.note()
            name = str(words.pop("event", ""))
            said = ", ".join(f"{key} {value}" for key, value in words.items())
            self.events.append(Event(entry.at, name, said))

    # What a link wants of its sink.

    def resume(self) -> tuple[int, int]:
        """Session and next packet."""
        welcome = self.account.welcome
        return (0, 0) if welcome is None else (welcome.session, self.account.next_packet)

    def received(self, frame: Frame, raw: bytes, message: Message | None, at: int) -> None:
        """On the disk first, then counted; a packet that is there is neither."""
        if frame.type == Packet.TYPE and \
                int.from_bytes(frame.payload[:8], "little") < self.account.next_packet:
            self.repeated += 1
            return
        if self.recording is not None and not isinstance(message, Ack):
            self.recording.append(Kind.FRAME, raw, at)
        feed(self.account, frame, message, at)

    def sent(self, raw: bytes) -> None:
        """A command."""
        if self.recording is not None:
            self.recording.append(Kind.COMMAND, raw)

    def event(self, event: str, **words: str | int) -> None:
        """Of the link."""
        if self.recording is not None:
            self.recording.note(event=event, **words)
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
            self.recording.close()
            self.recording = None

    async def replay(self, speed: float) -> None:
        """The recording as it came, `speed` times as fast; 0: as fast as it goes.

        One that is being written is followed until its writer ends.
        """
        reader = Reader(self.path)
        first: int | None = None
        begun = turn = time.monotonic()
        try:
            while True:
                entry = reader.next()
                if entry is None:
                    if not being_written(self.path):
                        entry = reader.next()  # what came just before it ended
                        if entry is None:
                            break
                    else:
                        await asyncio.sleep(0.05)
                        continue
                if first is None:
                    first = entry.at
                if speed:
                    due = begun + (entry.at - first) / 1e9 / speed
                    wait = due - time.monotonic()
                    if wait > 0:
                        await asyncio.sleep(wait)
                        turn = time.monotonic()
                if time.monotonic() - turn > SLICE:
                    await asyncio.sleep(0)
                    turn = time.monotonic()
                self.take(entry)
            rest = reader.rest()
            if rest:
                words = "torn at its end" if reader.torn() else \
                    f"damaged at byte {reader.good}: the rest is not read"
                self.events.append(Event(time.time_ns(), words, f"{rest} bytes"))
                if not words.startswith("torn"):
                    self.account.contradictions += 1
        finally:
            reader.close()
