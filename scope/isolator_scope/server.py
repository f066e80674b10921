# SPDX-License-Identifier: GPL-2.0-or-later
"""The page and what it talks to, over HTTP and a websocket."""

import asyncio
import contextlib
import hmac
import ipaddress
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web
from aiohttp.typedefs import Middleware
from isolator_report import terminal
from isolator_report.shell import ASSETS

from .commands import Commands, Wrong
from .document import Limit, document
from .errors import ERROR, PASS, ScopeError
from .instrument import Instrument
from .link import Target
from .player import Player
from .questions import Questions
from .runs import Run
from .text import csv_text
from .view import View

TICK = 1 / 40  # s between what a page is told
SLOW = 0.25  # s between statistics
DOWNLOADS = 4  # at once
PIECE = 1 << 16  # bytes of one at a time
STALLED = 30.0  # s without that a piece was read: who asked has gone
COOKIE = "isolator_scope"
PAGE = Path(__file__).resolve().parent / "page"
SOURCES = Path(__file__).resolve().parent.parent / "page"
TYPES = {".js", ".css"}
PARTS = ("uPlot.iife.min.js", "uPlot.min.css")
SHARED = ("palette.css", "page.css", "common.js")  # by all pages of the project
SAFE = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store"}


@dataclass(frozen=True)
class Options:
    """Where the page is, and who may see it; without a token everybody who reaches it."""

    host: str
    port: int
    token: str = ""
    parts: Path | None = None
    secret: bool = True  # where the token comes from is known: it is not said

    @property
    def local(self) -> bool:
        """Only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def guard(options: Options) -> Middleware:
    """Nobody without the token; no page of another site, also by a name that leads here."""
    names = {"127.0.0.1", "localhost", "::1", options.host}

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            where = urlsplit(f"//{request.host}")
            host, port = where.hostname, where.port
            origin = request.headers.get("Origin")
            other = origin is not None and urlsplit(origin).netloc != request.host
        except ValueError:
            raise web.HTTPBadRequest(text="the address makes no sense\n") from None
        if options.local and host not in names:
            raise web.HTTPForbidden(text="this machine has another name\n")
        # Its pages may lead here; no more, also those at another port of this machine.
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and \
                request.path != "/":
            other = True
        if other:
            raise web.HTTPForbidden(text="not from another site's page\n")
        if options.token:
            told = request.query.get("token")
            # Cookies know no ports; by the port that the browser knows, pages have their own.
            cookie = f"{COOKIE}_{port or 80}"
            known = request.cookies.get(cookie) or \
                request.headers.get("Authorization", "").removeprefix("Bearer ")
            said = (told or known).encode(errors="surrogateescape")
            if not hmac.compare_digest(said, options.token.encode()):
                raise web.HTTPUnauthorized(
                    text="open the address with ?token=TOKEN once\n",
                    headers={"WWW-Authenticate": "Bearer"})
            if told is not None and request.method == "GET":
                answer = web.HTTPSeeOther(request.path)
                answer.set_cookie(cookie, options.token, httponly=True, samesite="Strict")
                raise answer
        response = await handler(request)
        if not response.prepared:
            response.headers.update(SAFE)
        return response

    return check


class Server:
    """Pages of one instrument."""

    def __init__(self, instrument: Instrument, options: Options) -> None:
        self.instrument = instrument
        given = options.parts or os.environ.get("ISOLATOR_SCOPE_PARTS")
        self.parts = Path(given) if given else PAGE
        self.page = PAGE if PAGE.is_dir() else SOURCES
        self.files = {path.name for path in self.page.iterdir() if path.suffix in TYPES}
        self.commands = Commands(instrument)
        for name in PARTS:
            if not (self.parts / name).is_file():
                raise ScopeError(f"{self.parts / name} is not there: start tools/isolator-scope, "
                                 "or say with --parts where uPlot 1.6 is")
        self._threads = ThreadPoolExecutor(2, "download")
        self._downloads = 0
        self.app = web.Application(middlewares=[guard(options)], client_max_size=1 << 16)
        self.app.add_routes([
            web.get("/", self.index), web.get("/page/{name}", self.file),
            web.get("/ws", self.socket), web.post("/api/command", self.command),
            web.post("/api/snapshot", self.snapshot), web.get("/api/document", self.document),
            web.get("/api/report", self.report), web.get("/api/csv", self.csv)])

    async def index(self, request: web.Request) -> web.StreamResponse:
        """The page."""
        return web.FileResponse(self.page / "index.html")

    async def file(self, request: web.Request) -> web.StreamResponse:
        """One of its files; no other."""
        name = request.match_info["name"]
        if name in self.files:
            return web.FileResponse(self.page / name)
        if name in PARTS:
            return web.FileResponse(self.parts / name)
        if name in SHARED:
            return web.FileResponse(ASSETS / name)
        raise web.HTTPNotFound

    async def socket(self, request: web.Request) -> web.StreamResponse:
        """Tells a page what happens; takes what it asks to look at."""
        # What compresses is a task of aiohttp's own, which complains when the page goes meanwhile.
        socket = web.WebSocketResponse(heartbeat=10, max_msg_size=4096, compress=False)
        await socket.prepare(request)
        view = View(self.instrument)
        questions = Questions(view, socket.send_json)
        tasks = [asyncio.create_task(self._tell(socket, view)),
                 asyncio.create_task(questions.run(self._threads))]
        loop = asyncio.get_running_loop()

        def ended(task: asyncio.Task[None]) -> None:
            """Never in silence: a page whose socket is closed says so, and comes again."""
            problem = None if task.cancelled() else task.exception()
            if problem is not None and not isinstance(problem, ConnectionError):
                loop.call_exception_handler({"message": "a page's task failed",
                                             "exception": problem, "task": task})
                if request.transport is not None:
                    request.transport.abort()

        for task in tasks:
            task.add_done_callback(ended)
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    questions.take(message.data)
        finally:
            for task in tasks:
                task.cancel()
            view.leave()
        return socket

    async def _tell(self, socket: web.WebSocketResponse, view: View) -> None:
        slow = 0.0
        with contextlib.suppress(ConnectionError):
            await socket.send_json(view.whole())
            while True:
                tick = view.tick()
                now = time.monotonic()
                if now - slow >= SLOW or view.due:
                    slow = now
                    tick = {**(tick or {"type": "tick"}), **view.slow()}
                if tick is not None:
                    await socket.send_json(tick)
                await asyncio.sleep(max(TICK - (time.monotonic() - now), 0.005))

    async def command(self, request: web.Request) -> web.StreamResponse:
        """{"name": ..., ...}; what the generator, or the program, answered to it."""
        try:
            code, text = await self.commands.do(await request.json())
        except (ValueError, RecursionError, Wrong):
            code, text = 400, "not a command"
        # What a generator refused is an answer as others are, and no failure of the server.
        return web.json_response({"ok": code == 200, "text": text},
                                 status=200 if code == 422 else code)

    def _asked(self, request: web.Request) -> tuple[Run | None, tuple[Limit, ...]]:
        """The run and the limit, in ns, of ?run=NUMBER&limit=NS, as a page shows them."""
        number, ns = request.query.get("run"), request.query.get("limit")
        run = next((run for run in self.instrument.account.runs if str(run.number) == number),
                   None)
        if number is not None and run is None:
            raise web.HTTPNotFound(text="there is no such run\n")
        if ns is None:
            return run, ()
        if not ns.isdecimal() or not ns.isascii() or len(ns) > 18:
            raise web.HTTPBadRequest(text="the limit must be a time in ns\n")
        return run, (Limit(None, None, int(ns)),)

    def _document(self, run: Run | None, limits: tuple[Limit, ...]) -> dict[str, Any]:
        account = self.instrument.account
        last = run is None or run is account.run
        running = self.instrument.link is not None and last and account.state is not None \
            and bool(account.state.running)
        return document(account, limits, running=running, run=run).data

    async def snapshot(self, request: web.Request) -> web.StreamResponse:
        """The document of a run as it is now, beside the recording."""
        run, limits = self._asked(request)
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = self.instrument.path.with_name(f"{self.instrument.path.stem}-{stamp}.json")
        text = json.dumps(self._document(run, limits), indent=1)
        try:
            with path.open("x") as file:  # follows no link, writes over nothing
                file.write(text)
        except OSError as problem:
            return web.json_response({"ok": False, "text": f"{path.name}: {problem.strerror}"},
                                     status=507)
        return web.json_response({"ok": True, "text": path.name})

    async def document(self, request: web.Request) -> web.StreamResponse:
        """As isolator-report reads it."""
        return await self._send(request, "application/json", "scope.json",
                                iter((json.dumps(self._document(*self._asked(request))),)))

    async def report(self, request: web.Request) -> web.StreamResponse:
        """One page that needs nothing else: of a run, or of all."""
        from isolator_report.document import check
        from isolator_report.page import page

        account, (one, limits) = self.instrument.account, self._asked(request)
        every = [one] if one is not None else \
            [run for run in account.runs if run.triggers] or [account.run]
        found = [check(self._document(run, limits), run.title) for run in every]
        return await self._send(request, "text/html", "scope.html",
                                (page(one) for one in (found,)))

    async def csv(self, request: web.Request) -> web.StreamResponse:
        """The recording, row by row."""
        return await self._send(request, "text/csv", "scope.csv",
                                csv_text(self.instrument.path))

    async def _send(self, request: web.Request, kind: str, name: str,
                    pieces: Iterator[str]) -> web.StreamResponse:
        """One piece at a time, made in a thread that never waits for who reads.

        A long recording is never in memory, and who reads nothing for a while has gone.
        """
        if self._downloads == DOWNLOADS:
            raise web.HTTPServiceUnavailable(
                text=f"{DOWNLOADS} downloads are under way: try again when one has ended\n",
                headers={"Retry-After": "5"})
        self._downloads += 1
        try:
            response = web.StreamResponse(headers={
                **SAFE, "Content-Type": f"{kind}; charset=utf-8",
                "Content-Disposition": f'attachment; filename="{name}"'})
            await response.prepare(request)
            loop = asyncio.get_running_loop()
            while text := await loop.run_in_executor(self._threads, next, pieces, ""):
                data = text.encode()
                for begin in range(0, len(data), PIECE):
                    async with asyncio.timeout(STALLED):
                        await response.write(data[begin:begin + PIECE])
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        except ConnectionError:
            pass
        finally:
            self._downloads -= 1
        return response


async def serve(options: Options, instrument: Instrument, task: asyncio.Task[None],
                ready: Callable[[int], None] | None = None) -> int:
    """Until a signal, or until the recording fails."""
    server = Server(instrument, options)
    runner = web.AppRunner(server.app, access_log=None)
    await runner.setup()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    try:
        site = web.TCPSite(runner, options.host, options.port, shutdown_timeout=1)
        try:
            await site.start()
        except OSError as problem:
            raise ScopeError(f"{options.host}:{options.port}: {problem.strerror}; take another "
                             "with --listen") from problem
        port = runner.addresses[0][1]
        host = f"[{options.host}]" if ":" in options.host else options.host
        # Before anybody can know that it is there to be ended.
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
        terminal.show([f"http://{host}:{port}/?token={'…' if options.secret else options.token}"])
        if ready is not None:
            ready(port)
        waiting = asyncio.create_task(ended.wait())
        await asyncio.wait({waiting, task}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()  # an error of the disk ends it; a recording that is over does not
            await waiting
        waiting.cancel()
        return PASS
    finally:
        await server.commands.close()
        await runner.cleanup()


def run(options: Options, path: Path, target: Target | None, speed: float,
        compare: Path | None = None) -> int:
    """isolator-scope serve: a generator, or with no target a recording; beside it another one."""
    if not options.local and not options.token:
        raise ScopeError(f"{options.host} can be reached from other machines: say with "
                         "--page-token-file who may see the page")

    async def work(instrument: Instrument) -> None:
        """All that was recorded first; the page is there meanwhile."""
        if target is not None:
            await instrument.catch_up()
            await instrument.measure()
        else:
            instrument.playing = Player(instrument, speed)
            await instrument.playing.stay()

    async def whole() -> int:
        instrument = Instrument(path, live=target is not None, indexed=True)
        if target is None and speed:
            instrument.forget()  # from its beginning
        if target is not None:
            instrument.connect(target)
        tasks = [asyncio.create_task(work(instrument))]
        if compare is not None:
            tasks.append(asyncio.create_task(instrument.compare(compare)))
        try:
            return await serve(options, instrument, tasks[0])
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            instrument.close()

    try:
        return asyncio.run(whole())
    except KeyboardInterrupt:
        return ERROR
