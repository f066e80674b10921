# SPDX-License-Identifier: GPL-2.0-or-later
"""What a page may ask for: settings, runs, notes, the link, a replay."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable
from typing import Any

from .errors import ScopeError
from .instrument import Instrument
from .link import PORT, OutOfRange, address
from .protocol import (
    Calibrate,
    Message,
    SetBurst,
    SetDuty,
    SetFrequency,
    SetLines,
    SetPacket,
    SetPatience,
    SetPhase,
    Start,
    Status,
    Stop,
)

Answer = tuple[int, str]  # an HTTP status, and what to tell

MESSAGES: dict[str, tuple[type[Any], int]] = {  # a message, and how many numbers it takes
    "frequency": (SetFrequency, 1), "duty": (SetDuty, 1), "packet": (SetPacket, 1),
    "phase": (SetPhase, 2), "lines": (SetLines, 1), "burst": (SetBurst, 2),
    "patience": (SetPatience, 1), "start": (Start, 1), "stop": (Stop, 0),
    "calibrate": (Calibrate, 1)}
WHAT = {"frequency": "frequency", "duty": "duty cycle", "packet": "packet", "phase": "seed",
        "lines": "mechanisms", "burst": "burst", "patience": "patience", "start": "triggers",
        "calibrate": "rounds"}
LONGEST = 200  # characters of a name or a note


class Wrong(Exception):
    """It is not a command."""


def _words(wanted: dict[str, Any], name: str) -> str:
    found = wanted.get(name, "")
    if not isinstance(found, str):
        raise Wrong
    return " ".join(found.split())[:LONGEST]


def _number(wanted: dict[str, Any], name: str, least: float, most: float) -> float | None:
    found = wanted.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found) \
            or not least <= found <= most:
        raise Wrong
    return float(found)


class Commands:
    """Of one instrument."""

    def __init__(self, instrument: Instrument) -> None:
        self.instrument = instrument
        self._ending: asyncio.Task[None] | None = None

    async def do(self, wanted: object) -> Answer:
        """What is asked for; Wrong: it makes no sense."""
        if not isinstance(wanted, dict):
            raise Wrong
        name = wanted.get("name")
        own: dict[str, Callable[[dict[str, Any]], Awaitable[Answer]]] = {
            "run": self._run, "mark": self._mark, "connect": self._connect,
            "disconnect": self._disconnect, "replay": self._replay}
        if isinstance(name, str) and name in own:
            return await own[name](wanted)
        return await self._message(wanted)

    async def _message(self, wanted: dict[str, Any]) -> Answer:
        try:
            kind, count = MESSAGES[wanted["name"]]
            values = [int(one) for one in wanted.get("values", [])]
        except (ValueError, LookupError, TypeError, OverflowError):
            raise Wrong from None
        if len(values) != count:
            raise Wrong
        seconds = _number(wanted, "seconds", 0, 1e7)
        if self.instrument.link is None:
            return 409, "a recording takes no commands"
        if any(not 0 <= value < 1 << 64 for value in values):
            return 400, f"{WHAT[wanted['name']]}: from 0 to {(1 << 64) - 1}"
        message: Message = kind(*values)
        try:
            ack = await self.instrument.command(message)
        except OutOfRange:
            return 400, f"{WHAT[wanted['name']]}: out of range"
        except ScopeError as problem:
            return 503, str(problem)
        if ack.status == Status.OK and kind in (Start, Stop):
            self._end_after(seconds if kind is Start else None)
        return (200 if ack.status == Status.OK else 422), ack.words

    def _end_after(self, seconds: float | None) -> None:
        """Stop then, also when the page has gone; None: nothing ends it any more."""
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        if seconds:
            self._ending = asyncio.create_task(self._end(seconds))

    async def _end(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        link = self.instrument.link
        while link is not None:
            await link.connected.wait()
            with contextlib.suppress(ScopeError):
                await self.instrument.command(Stop())
                return
            await asyncio.sleep(0.1)

    async def _run(self, wanted: dict[str, Any]) -> Answer:
        if self.instrument.link is None:
            return 409, "a recording takes no further run"
        self.instrument.begin(_words(wanted, "title"))
        return 200, f"{self.instrument.account.run.title} begins"

    async def _mark(self, wanted: dict[str, Any]) -> Answer:
        text, of = _words(wanted, "text"), _number(wanted, "at", 0, 2**63)
        if not text or of is None:
            raise Wrong
        self.instrument.mark(text, int(of))
        kept = "" if self.instrument.recording is not None else "; the recording is not changed"
        return 200, f"noted{kept}"

    async def _connect(self, wanted: dict[str, Any]) -> Answer:
        link, where = self.instrument.link, _words(wanted, "target")
        if link is None:
            return 409, "a recording has no link"
        try:
            target = link.at(*address(where, PORT)) if where else None
        except ScopeError as problem:
            return 400, str(problem)
        link.again(target)
        return 200, f"connecting to {link.target}"

    async def _disconnect(self, wanted: dict[str, Any]) -> Answer:
        if self.instrument.link is None:
            return 409, "a recording has no link"
        self.instrument.link.leave()
        return 200, "disconnected; the generator goes on"

    async def _replay(self, wanted: dict[str, Any]) -> Answer:
        player = self.instrument.playing
        if player is None:
            return 409, "it is not a replay"
        paused = wanted.get("paused")
        if not isinstance(paused, bool | None):
            raise Wrong
        player.set(_number(wanted, "speed", 0, 1e6), paused,
                   int(_number(wanted, "steps", 0, 1000) or 0), _number(wanted, "place", 0, 1))
        return 200, "set"

    async def close(self) -> None:
        """Nothing more is ended by it."""
        self._end_after(None)
