# SPDX-License-Identifier: GPL-2.0-or-later
"""Replaying a recording: how fast, from where, and halted."""

import asyncio
import time
from typing import TYPE_CHECKING

from .recording import Reader, being_written

if TYPE_CHECKING:
    from .instrument import Instrument

SLICE = 0.02  # s of replaying, before others get their turn
LOOK = 0.05  # s between looks at a recording that is being written


class Player:
    """Feeds an instrument the entries of its recording, `speed` times as fast as they came."""

    def __init__(self, instrument: "Instrument", speed: float) -> None:
        self.instrument = instrument
        self.speed = speed  # 0: as fast as it goes
        self.paused = False
        self.ended = False
        self._goal: int | None = None  # bytes up to which it does not wait
        self._steps = 0
        self._back = False
        self._changed = asyncio.Event()
        self._turn = time.monotonic()

    def set(self, speed: float | None = None, paused: bool | None = None, steps: int = 0,
            place: float | None = None) -> None:
        """Another speed, halt, single steps, or another place, of 1."""
        self.speed = self.speed if speed is None else speed
        self.paused = self.paused if paused is None else paused
        self._steps += steps
        if place is not None:
            self._goal = int(place * self.instrument.path.stat().st_size)
            self._back = self._goal < self.instrument.replayed
        self._changed.set()

    async def run(self) -> None:
        """To its end, and again from any place until it is cancelled; without a page, once."""
        while True:
            self.ended = self._back = False
            await self._once()
            if not self._back:
                return
            self.instrument.forget()

    async def stay(self) -> None:
        """As `run`, but what has ended can be played again."""
        while True:
            await self.run()
            self.ended = True
            while not self._back:
                self._changed.clear()
                await self._changed.wait()
            self.instrument.forget()

    async def _once(self) -> None:
        instrument = self.instrument
        reader = Reader(instrument.path, instrument.replayed)
        first: tuple[int, float, float] | None = None  # time of an entry, ours then, the speed
        try:
            while not self._back:
                entry = reader.next()
                if entry is None:
                    if being_written(instrument.path):
                        await asyncio.sleep(LOOK)
                        continue
                    entry = reader.next()  # what came just before its writer ended
                    if entry is None:
                        break
                if await self._halted():
                    first = None
                if self._back:
                    return
                if self._goal is not None and entry.end > self._goal:
                    self._goal, first = None, None
                if self.speed and self._goal is None:
                    if first is None or first[2] != self.speed:
                        first = entry.at, time.monotonic(), self.speed
                    await self._until(first[1] + (entry.at - first[0]) / 1e9 / self.speed)
                if time.monotonic() - self._turn > SLICE:
                    await asyncio.sleep(0)
                    self._turn = time.monotonic()
                instrument.take(entry)
            self._goal = None
            instrument.rest(reader)
        finally:
            reader.close()

    async def _halted(self) -> bool:
        """Wait while it is; True: it was."""
        was = False
        while self.paused and self._goal is None and not self._back:
            was = True
            if self._steps:
                self._steps -= 1
                break
            self._changed.clear()
            await self._changed.wait()
        return was

    async def _until(self, due: float) -> None:
        """That time has come, or something was changed."""
        wait = due - time.monotonic()
        if wait > 0:
            self._changed.clear()
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._turn = time.monotonic()
