# SPDX-License-Identifier: GPL-2.0-or-later
"""A link that can be cut: between a host and a generator, it sees what the generator sent."""

import asyncio
import contextlib
import random
import zlib
from collections.abc import AsyncIterator, Awaitable

from isolator_scope.protocol import FrameReader, Packet
from scope_runs import until
from waiting import PATIENCE_S


class Proxy:
    """One connection at a time is what a generator has."""

    def __init__(self, port: int, seed: int) -> None:
        self.sent: dict[int, int] = {}  # packets that the generator sent: number, checksum
        self.other = 0  # packets that it sent again, as others
        self.cuts = 0
        self.live = asyncio.Event()  # packets go through
        self.port = 0
        self.trap: int | None = None  # the first command of this type is cut off, not passed on
        self._to = port
        self._dice = random.Random(seed)
        self._cut = self._held = False
        self._open: set[asyncio.StreamWriter] = set()

    async def cut(self, over: Awaitable[None], hold: bool = False) -> None:
        """In the middle of what is sent next; restored when `over` is done.

        With `hold` neither side is told: nothing comes any more.
        """
        await asyncio.wait_for(self.live.wait(), 60)
        self.live.clear()
        self.cuts += 1
        if hold:
            self._held = True
            await over
            self._held = False
            self._abort()
            return
        self._cut = True
        await until(lambda: not self._open, PATIENCE_S)
        await over
        self._cut = False

    def _abort(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()
        self._open.clear()

    def _see(self, frames: FrameReader, data: bytes) -> bool:
        """Was a packet among it?"""
        seen = False
        for frame in frames.feed(data):
            if frame.type == Packet.TYPE:
                seen = True
                number = int.from_bytes(frame.payload[:8], "little")
                # Not what it says to be unsent, which may have grown.
                crc = zlib.crc32(frame.payload[16:])
                self.other += self.sent.setdefault(number, crc) != crc
        return seen

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut or self._held:
            writer.transport.abort()
            return
        there, onward = await asyncio.open_connection("127.0.0.1", self._to)
        self._open |= {writer, onward}
        up = asyncio.create_task(self._up(reader, onward))
        frames = FrameReader()
        try:
            while data := await there.read(1 << 16):
                packets = self._see(frames, data)
                if self._cut:
                    writer.write(data[:self._dice.randrange(len(data) + 1)])
                    self._abort()
                    return
                if not self._held:
                    writer.write(data)
                    await writer.drain()
                    if packets:
                        self.live.set()
        except ConnectionError:
            pass
        finally:
            up.cancel()
            for one in (writer, onward):
                self._open.discard(one)
                one.close()

    async def _up(self, reader: asyncio.StreamReader, onward: asyncio.StreamWriter) -> None:
        frames = FrameReader()
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                if self.trap in [frame.type for frame in frames.feed(data)]:
                    self.trap = None
                    self.cuts += 1
                    self._abort()
                    return
                if not self._held:
                    onward.write(data)
                    await onward.drain()
        onward.close()


@contextlib.asynccontextmanager
async def proxy(where: str, seed: int = 1) -> AsyncIterator[Proxy]:
    """To that generator."""
    made = Proxy(int(where.rsplit(":", 1)[1]), seed)
    server = await asyncio.start_server(made._serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        made._abort()
