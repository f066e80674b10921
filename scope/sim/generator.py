# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated generator: the protocol over TCP, packets kept until they may be forgotten."""

import asyncio
import contextlib
import random
import time
from collections import deque
from dataclasses import dataclass, field

from isolator_scope.protocol import (
    Ack,
    Calibrate,
    Floor,
    Frame,
    FrameReader,
    Hello,
    Kept,
    LineState,
    Message,
    Packet,
    Ping,
    ProtocolError,
    Record,
    SetBurst,
    SetDuty,
    SetFrequency,
    SetLines,
    SetPacket,
    SetPatience,
    SetPhase,
    Start,
    State,
    Status,
    Stop,
    Welcome,
    decode,
    encode,
)

from .model import Target

TICK = 0.005  # s
AHEAD = 64  # packets that wait to be sent, when it goes as fast as it can
BATCH = 2000  # triggers at once, then
NOBODY = 0xFFFFFFFF  # the sequence of an ACK that answers nothing
TAKEN = "another host took the generator"


@dataclass
class Link:
    """What goes wrong between generator and host."""

    cut_after: list[int] = field(default_factory=list)  # packets until each cut
    keep: int = 4096  # packets that there is room for
    token: str = ""
    hostile: bytes = b""  # sent in place of the first packet, once


def told(target: Target, now: int) -> State:
    """Settings and account of a target, as a generator tells them."""
    one = target.settings
    return State(now, one.millihertz, one.duty_ppm, one.packet, one.phase, one.seed,
                 target.mask, one.burst, one.gap_ns, one.patience_ns,
                 int(target.running), target.triggers, target.unsent, 0,
                 tuple(LineState(row.answered, row.late, row.missing, row.strays)
                       for row in target.truth))


class Generator:
    """One generator, and one host at a time.  `speed` is of its clock; 0: as fast as it can."""

    def __init__(self, target: Target, link: Link | None = None, speed: float = 1.0,
                 session: int = 0, seed: int = 1) -> None:
        self.target = target
        self.link = link or Link()
        self.speed = speed
        self.session = session or random.Random().getrandbits(63) | 1
        self.packets: deque[bytes] = deque()
        self.first_packet = 0
        self.cuts = 0
        self.commands: list[Message] = []
        self.kept = 0
        self.port = 0
        self.floor: Floor | None = None
        self._dice = random.Random(seed)
        self._records: list[Record] = []
        self._since = 0  # the clock when the first record of the packet came
        self._next = 0  # packet that is sent next
        self._began = time.monotonic()
        self._clock = 0
        self._more = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._sequence = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def next_packet(self) -> int:
        """Its number."""
        return self.first_packet + len(self.packets)

    @property
    def now(self) -> int:
        """The generator's clock, ns."""
        if self.speed:
            return int((time.monotonic() - self._began) * self.speed * 1e9)
        return self._clock

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Serve; returns the port."""
        self._server = await asyncio.start_server(self._host, host, port)
        self.port = self._server.sockets[0].getsockname()[1]
        self._tasks.add(asyncio.create_task(self._beat()))
        return self.port

    async def close(self) -> None:
        """Gone, with all that it holds."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._writer is not None:
            self._writer.transport.abort()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _beat(self) -> None:
        """The target's life."""
        while True:
            if self.speed:
                await asyncio.sleep(TICK)
                self._add(self.target.run(self.now))
            elif self.target.idle or \
                    self.next_packet - max(self._next, self.first_packet) > AHEAD:
                await asyncio.sleep(TICK)
                self._flush()
            else:
                period = 10**12 // self.target.settings.millihertz
                self._clock += max(BATCH * period // 10, 1_000_000)
                self._add(self.target.run(self._clock))
                await asyncio.sleep(0)

    def _add(self, records: list[Record]) -> None:
        if records and not self._records:
            self._since = self.now
        self._records += records
        size = self.target.settings.packet
        while len(self._records) >= size:
            self._pack(self._records[:size])
            del self._records[:size]
        if self._records and (self.target.idle or self.now - self._since > 1_000_000_000):
            self._flush()

    def _flush(self) -> None:
        if self._records:
            self._pack(self._records)
            self._records = []

    def _pack(self, records: list[Record]) -> None:
        packet = Packet(self.next_packet, self.target.unsent, tuple(records))
        self.packets.append(packet.payload())
        while len(self.packets) > self.link.keep:
            self.packets.popleft()
            self.first_packet += 1
        self._more.set()

    def _send(self, writer: asyncio.StreamWriter, message: Message) -> None:
        writer.write(encode(message, self._sequence))
        self._sequence += 1

    async def _host(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = FrameReader()
        greeted = False
        sender: asyncio.Task[None] | None = None
        try:
            while data := await reader.read(65536):
                for frame in frames.feed(data):
                    message = decode(frame)
                    if not greeted:
                        if not self._greet(frame, message, writer):
                            return
                        greeted = True
                        sender = asyncio.create_task(self._stream(writer))
                        self._tasks.add(sender)
                        continue
                    status, text = self._do(message)
                    self._send(writer, Ack(frame.sequence, frame.type, status, text))
                    if isinstance(message, Calibrate) and status == Status.OK and self.floor:
                        self._send(writer, self.floor)
        except (ProtocolError, OSError):
            pass
        finally:
            if sender is not None:
                sender.cancel()
                self._tasks.discard(sender)
            if self._writer is writer:
                self._writer = None
            writer.close()

    def _greet(self, frame: Frame, message: Message, writer: asyncio.StreamWriter) -> bool:
        """HELLO; False: refused."""
        why = ""
        if not isinstance(message, Hello):
            why = "HELLO first"
        elif self.link.token and message.token != self.link.token:
            why = "the token is wrong"
        elif not message.least_version <= 1 <= message.most_version:
            why = "version 1 is spoken here"
        elif message.session == self.session and message.next_packet > self.next_packet:
            why = f"packet {message.next_packet} is not from here"
        if self._writer is not None and not why:
            self._send(self._writer, Ack(NOBODY, Hello.TYPE, Status.BUSY, TAKEN))
            self._writer.close()
        if why:
            writer.write(encode(Ack(frame.sequence, frame.type, Status.REFUSED, why), 0))
            return False
        assert isinstance(message, Hello)
        self._writer, self._sequence = writer, 0
        self._send(writer, Ack(frame.sequence, frame.type, Status.OK))
        same = message.session == self.session
        self._next = max(message.next_packet, self.first_packet) if same else self.first_packet
        self._send(writer, Welcome(1, self.session, self.first_packet, self.next_packet, 40,
                                   self.now, self.target.names))
        if self.floor:
            self._send(writer, self.floor)
        return True

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        """Packets as they come, a State each second, cuts where they are planned."""
        said = 0.0
        since = 0
        with contextlib.suppress(OSError):
            while True:
                if time.monotonic() - said >= 1:
                    self._send(writer, self.state())
                    said = time.monotonic()
                self._next = max(self._next, self.first_packet)
                if self._next >= self.next_packet:
                    self._more.clear()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.2):
                            await self._more.wait()
                    if self.target.idle and time.monotonic() - said > 0.2:
                        said = 0.0
                    continue
                raw = self.packets[self._next - self.first_packet]
                if self.link.hostile:
                    writer.write(self.link.hostile)
                    self.link.hostile = b""
                frame = encode_packet(raw, self._sequence)
                if self.link.cut_after and since >= self.link.cut_after[0]:
                    self.link.cut_after.pop(0)
                    self.cuts += 1
                    writer.write(frame[:self._dice.randrange(len(frame))])
                    with contextlib.suppress(OSError):
                        await writer.drain()
                    writer.transport.close() if self.cuts % 2 else writer.transport.abort()
                    return
                self._sequence += 1
                writer.write(frame)
                self._next += 1
                since += 1
                await writer.drain()

    def state(self) -> State:
        """As it is told each second."""
        return told(self.target, self.now)

    def _do(self, message: Message) -> tuple[int, str]:
        """A command; status and text."""
        self.commands.append(message)
        one, refused = self.target.settings, Status.REFUSED
        match message:
            case SetFrequency(millihertz=value):
                if not 1 <= value <= 10**9:
                    return refused, "1 to 1000000000 mHz"
                one.millihertz = value
            case SetDuty(ppm=value):
                if not 1 <= value <= 999_999:
                    return refused, "1 to 999999 ppm"
                one.duty_ppm = value
            case SetPacket(records=value):
                if not 1 <= value <= 1000:
                    return refused, "1 to 1000 records"
                one.packet = value
            case SetPhase(mode=mode, seed=seed):
                if mode > 1:
                    return refused, "mode 0 or 1"
                one.phase, one.seed = mode, seed
            case SetLines(mask=mask):
                if mask >> len(self.target.names):
                    return refused, f"there are {len(self.target.names)} lines"
                one.mask = mask
            case SetBurst(triggers=count, gap_ns=gap):
                if not 1 <= count <= 1000 or count * gap * one.millihertz * 2 >= 10**12 and gap:
                    return refused, "1 to 1000, shorter than half a period"
                one.burst, one.gap_ns = count, gap
            case SetPatience(ns=value):
                if not 1000 <= value <= 10**10:
                    return refused, "1000 to 10000000000 ns"
                one.patience_ns = value
            case Start(triggers=count):
                if self.target.running:
                    return Status.BUSY, "it runs"
                self.target.start(self.now, count)
            case Stop():
                self.target.stop()
            case Calibrate(rounds=rounds):
                if self.target.running:
                    return Status.BUSY, "not while triggers run"
                if not 1 <= rounds <= 100_000:
                    return refused, "1 to 100000 rounds"
                self.floor = Floor(rounds, 40, 90, 160, 420, 100, 250, 480)
            case Kept(packet=packet):
                if packet > self.next_packet:
                    return refused, "not beyond the next packet"
                self.kept = max(self.kept, packet)
                while self.first_packet < packet:
                    self.packets.popleft()
                    self.first_packet += 1
            case Ping():
                pass
            case _:
                return Status.UNKNOWN, "not a command"
        return Status.OK, ""


def encode_packet(payload: bytes, sequence: int) -> bytes:
    """The frame of a packet that was packed before."""
    from isolator_scope.frame import encode_frame

    return encode_frame(Frame(Packet.TYPE, sequence, payload))
