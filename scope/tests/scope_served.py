# SPDX-License-Identifier: GPL-2.0-or-later
"""The server of an instrument, and a client, in one process."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from isolator_scope.instrument import Instrument
from isolator_scope.server import PARTS, Options, Server
from waiting import PATIENCE_S

Fetch = aiohttp.ClientSession


def stand_in(folder: Path) -> Path:
    """Files that stand for uPlot."""
    made = folder / "parts"
    made.mkdir()
    for name in PARTS:
        (made / name).write_text("/* */")
    return made


@contextlib.asynccontextmanager
async def served(instrument: Instrument, parts: Path, host: str = "127.0.0.1", token: str = "",
                 buffers: int = 0) -> AsyncIterator[tuple[Fetch, str]]:
    """A client that keeps no cookies, and the address; bytes that the kernel holds of answers."""
    runner = web.AppRunner(Server(instrument, Options(host, 0, token, parts)).app)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    if buffers:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffers)  # each one inherits it
    await web.SockSite(runner, listener).start()
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
        try:
            yield client, f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


async def told(socket: aiohttp.ClientWebSocketResponse, kind: str) -> dict[str, Any]:
    """The next message of a kind."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            words = await socket.receive_json()
            if words["type"] == kind:
                assert isinstance(words, dict)
                return words
