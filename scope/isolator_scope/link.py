# SPDX-License-Identifier: GPL-2.0-or-later
"""The link to a generator: connects, and connects again for ever; commands and their answers."""

import asyncio
import contextlib
import random
import time
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from .bounds import read
from .errors import ScopeError, reason
from .protocol import (
    Ack,
    Frame,
    FrameReader,
    Hello,
    Kept,
    Message,
    Packet,
    Ping,
    ProtocolError,
    Status,
    Welcome,
    encode,
    encode_frame,
)

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0  # s between attempts
SILENCE = 5.0  # s without a frame (a State comes each second): the link is dead
PATIENCE = 5.0  # s for an answer to a command
CHUNK = 1 << 16
PORT = 2350  # of a generator
HELD = 1 << 20  # bytes that wait to be sent: more, and the generator does not read


class OutOfRange(ScopeError):
    """A number that the field of a command does not hold."""


class Sink(Protocol):
    """Where frames go, and what to go on with after a cut."""

    def resume(self) -> tuple[int, int]:
        """Session and next packet."""

    def received(self, frame: Frame, raw: bytes, message: Message | None, at: int) -> None:
        """A frame with a right checksum; None: its content is not what its type says."""

    def sent(self, raw: bytes) -> None:
        """A command went out."""

    def event(self, event: str, **words: str | int) -> None:
        """connected, refused, cut."""


@dataclass(frozen=True)
class Target:
    """Where the generator is."""

    host: str
    port: int
    token: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def address(words: str, port: int) -> tuple[str, int]:
    """HOST, HOST:PORT or [HOST]:PORT."""
    host, mark, rest = words.rpartition(":")
    if words.startswith("[") and words.endswith("]"):
        host, mark, rest = words[1:-1], "", ""
    elif not mark or (":" in host and not host.startswith("[")):
        host, mark, rest = words, "", ""
    if mark:
        if not rest.isdecimal() or not 0 <= int(rest) < 65536:
            raise ScopeError(f"{words}: {rest} is not a port")
        port = int(rest)
    host = host.removeprefix("[").removesuffix("]")
    if not host:
        raise ScopeError(f"{words}: no host")
    return host, port


class Link:
    """One generator.  `run` never ends by itself; cancel it."""

    def __init__(self, target: Target, sink: Sink, seed: int | None = None) -> None:
        self.target = target
        self._given = target  # its token is for its address alone
        self.sink = sink
        self.connected = asyncio.Event()
        self.connects = 0
        self.cuts = 0
        self.why = ""  # the last failure
        self.refused: str | None = None  # the generator's words: trying again does not help
        self.taken = False  # another host has it: it is left to that one until `again`
        self.left = False  # nobody wishes for a link now
        self._dice = random.Random(seed)
        self._writer: asyncio.StreamWriter | None = None
        self._sequence = 0
        self._brought = False  # a packet came since it was connected
        self._waiting: deque[tuple[int, asyncio.Future[Ack]]] = deque()
        self._again = asyncio.Event()

    def at(self, host: str, port: int) -> Target:
        """A target by its address; with the token only where that was given for it."""
        given = self._given
        return Target(host, port, given.token if (host, port) == (given.host, given.port) else "")

    def again(self, target: Target | None = None) -> None:
        """Connect, where it was given up, taken or left; or to another generator."""
        self.taken = self.left = False
        self.refused = None
        moved = target is not None and target != self.target
        self.target = target or self.target
        self._again.set()
        if moved and self._writer is not None:
            self._writer.transport.abort()

    def leave(self) -> None:
        """No link until `again`."""
        self.left = True
        self._again.set()
        if self._writer is not None:
            self._writer.transport.abort()

    async def _wait(self, seconds: float) -> None:
        """That long; or, where another host has the generator or none is wished for, until told."""
        self._again.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if self.taken or self.left else seconds):
                await self._again.wait()

    async def run(self) -> None:
        """Connect; after a cut wait a little, then longer and longer, and connect again."""
        pause = FIRST_PAUSE
        while True:
            try:
                await self._connection()
            except (OSError, ProtocolError, asyncio.IncompleteReadError, TimeoutError) as problem:
                self.why = reason(problem)
            # Only what brought something shortens the pause: two hosts that take the
            # generator from each other must not do so ever faster.
            if self._brought:
                pause, self._brought = FIRST_PAUSE, False
            if self.connected.is_set():
                self.cuts += 1
                self.connected.clear()
                self.sink.event("cut", why=self.why)
            await self._wait(pause * self._dice.uniform(0.7, 1.0))
            while self.left:
                await self._wait(0)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _connection(self) -> None:
        # Not wait_for(): before Python 3.12 a cancellation can be lost in it.
        async with asyncio.timeout(SILENCE):
            reader, writer = await asyncio.open_connection(self.target.host, self.target.port)
        self._writer, self._sequence = writer, 0
        frames = FrameReader()
        ping = asyncio.create_task(self._ping())
        try:
            session, following = self.sink.resume()
            self._send(Hello(session=session, next_packet=following, token=self.target.token))
            while True:
                async with asyncio.timeout(SILENCE):
                    data = await reader.read(CHUNK)
                if not data:
                    self.why = "the generator closed it"
                    return
                for frame in frames.feed(data):
                    self._take(frame)
        finally:
            ping.cancel()
            self._writer = None
            writer.close()
            for _, future in self._waiting:
                if not future.done():
                    future.set_exception(ScopeError("the link was cut before the answer came; "
                                                    "see whether it took effect, then repeat it"))
            self._waiting.clear()
            # Last, as this may be cancelled itself meanwhile: that is not to be lost.
            await asyncio.gather(ping, return_exceptions=True)

    def _take(self, frame: Frame) -> None:
        at = time.time_ns()
        try:
            message: Message | None = read(frame)
        except ProtocolError as problem:
            self.why = str(problem)
            message = None
        if isinstance(message, Welcome):
            self.refused = None
        self.sink.received(frame, encode_frame(frame), message, at)
        if isinstance(message, Welcome) and not self.connected.is_set():
            self.connects += 1
            self.connected.set()
            self.sink.event("connected", to=str(self.target))
        elif isinstance(message, Ack):
            self._answered(message)
        elif frame.type == Packet.TYPE:
            self._brought = True

    def _answered(self, ack: Ack) -> None:
        if ack.command == Hello.TYPE and ack.status == Status.BUSY and self.connected.is_set():
            self.taken = True
            raise ProtocolError(ack.text or "another host took the generator")
        if ack.command == Hello.TYPE and ack.status != Status.OK:
            self.refused = ack.words
            self.sink.event("refused", why=self.refused)
            raise ProtocolError(f"the generator refused: {self.refused}")
        while self._waiting and self._waiting[0][0] <= ack.sequence:
            sequence, future = self._waiting.popleft()
            if sequence == ack.sequence and not future.done():
                future.set_result(ack)

    def _send(self, message: Message) -> tuple[int, bytes]:
        if self._writer is None:
            raise ScopeError(f"no link to {self.target}: {self.why or 'not yet connected'}")
        if self._writer.transport.get_write_buffer_size() > HELD:
            raise ScopeError(f"{self.target} does not read what it is sent")
        sequence = self._sequence
        raw = encode(message, sequence)
        self._sequence += 1
        self._writer.write(raw)
        return sequence, raw

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(SILENCE / 2)
            with contextlib.suppress(ScopeError):
                self._send(Ping())

    def kept(self, packet: int) -> None:
        """All packets below this are on the disk; without a link the next HELLO says so."""
        if self.connected.is_set():
            with contextlib.suppress(ScopeError):
                self._send(Kept(packet))

    async def command(self, message: Message) -> Ack:
        """Send it; its answer.  ScopeError: no link, no answer, or out of range."""
        if not self.connected.is_set():
            raise ScopeError(f"no link to {self.target}: {self.why or 'not yet connected'}")
        try:
            sequence, raw = self._send(message)
        except ValueError as problem:
            raise OutOfRange(f"out of range: {problem}") from problem
        future: asyncio.Future[Ack] = asyncio.get_running_loop().create_future()
        self._waiting.append((sequence, future))
        self.sink.sent(raw)
        try:
            async with asyncio.timeout(PATIENCE):
                return await future
        except TimeoutError as problem:
            raise ScopeError(f"{self.target} did not answer within {PATIENCE:g} s") from problem


