# SPDX-License-Identifier: GPL-2.0-or-later
"""The server: who may see the page, what a page is told, commands."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from isolator_report.document import check
from isolator_scope.cli import main
from isolator_scope.errors import ERROR
from isolator_scope.instrument import Instrument
from isolator_scope.protocol import Start
from isolator_scope.server import PARTS, Options, Server
from isolator_scope.view import View
from scope_runs import generator, measuring, record, until, whole
from sim.model import Faults

Fetch = aiohttp.ClientSession


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Files that stand for uPlot."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in PARTS:
        (folder / name).write_text("/* */")
    return folder


@contextlib.asynccontextmanager
async def served(instrument: Instrument, parts: Path, host: str = "127.0.0.1", token: str = ""
                 ) -> AsyncIterator[tuple[Fetch, str]]:
    """A client that keeps no cookies, and the address."""
    from aiohttp import web

    runner = web.AppRunner(Server(instrument, Options(host, 0, token, parts)).app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
        try:
            yield client, f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


async def told(socket: aiohttp.ClientWebSocketResponse, kind: str) -> dict[str, Any]:
    """The next message of a kind."""
    async with asyncio.timeout(10):
        while True:
            words = await socket.receive_json()
            if words["type"] == kind:
                assert isinstance(words, dict)
                return words


def test_token(tmp_path: Path, parts: Path) -> None:
    """Every address is refused without it, or with another one."""
    asyncio.run(record(tmp_path / "a.scope", 50))

    async def run() -> None:
        instrument = Instrument(tmp_path / "a.scope", live=False)
        async with served(instrument, parts, "0.0.0.0", "s3cret") as (client, url):
            for path in ("/", "/ws", "/page/scope.js", "/api/document", "/api/csv", "/none"):
                for extra in ({}, {"Authorization": "Bearer other"},
                              {"Cookie": "isolator_scope=other"}):
                    async with client.get(url + path, headers=extra) as got:
                        assert got.status == 401, path
                async with client.get(f"{url}{path}?token=wrong") as got:
                    assert got.status == 401
            async with client.post(url + "/api/command", json={"name": "stop"}) as got:
                assert got.status == 401
            async with client.get(f"{url}/?token=s3cret", allow_redirects=False) as got:
                assert got.status == 303 and got.headers["Location"] == "/"
                cookie = got.headers["Set-Cookie"]
                assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
            good = {"Authorization": "Bearer s3cret"}
            for extra in (good, {"Cookie": cookie.split(";")[0]}):
                async with client.get(url + "/", headers=extra) as got:
                    assert got.status == 200 and "isolator-scope" in await got.text()
            async with client.ws_connect(url + "/ws", headers=good) as socket:
                assert (await told(socket, "whole"))["levels"] == 8

    asyncio.run(run())


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_other_machines_take_a_token(tmp_path: Path, host: str,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    """It does not listen there without one."""
    words = ["serve", "--connect", "127.0.0.1:1", "--listen", host, "-o", str(tmp_path / "a.scope")]
    assert main(words) == ERROR
    assert "--page-token-file" in capsys.readouterr().err
    assert not (tmp_path / "a.scope").exists()


def test_other_sites_are_refused(tmp_path: Path, parts: Path) -> None:
    """A page from elsewhere, or a name that leads to this machine, gets nothing."""
    asyncio.run(record(tmp_path / "a.scope", 50))

    async def run() -> None:
        instrument = Instrument(tmp_path / "a.scope", live=False)
        async with served(instrument, parts) as (client, url):
            for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
                for path in ("/", "/ws", "/api/document"):
                    async with client.get(url + path, headers=headers) as got:
                        assert got.status == 403
                async with client.post(url + "/api/command", json={}, headers=headers) as got:
                    assert got.status == 403
            async with client.get(url + "/", headers={"Origin": url}) as got:
                assert got.status == 200
                assert "default-src 'self'" in got.headers["Content-Security-Policy"]
            for path in ("/page/../isolator_scope/server.py", "/page/%2e%2e/%2e%2e/README.md",
                         "/page/package.json"):
                async with client.get(url + path) as got:
                    assert got.status == 404

    asyncio.run(run())


def test_a_page_is_told_all(tmp_path: Path, parts: Path) -> None:
    """What it was told in pieces is the whole; a page that comes later gets all of it."""
    faults = Faults(missing=0.01, late=0.01, planted={(700, "irq"): 7_000_000})

    async def counts(client: Fetch, url: str, triggers: int) -> tuple[int, int, dict[str, Any]]:
        """Answers in the persistence view, the largest in the columns, statistics."""
        sums, most = 0, 0
        async with client.ws_connect(url + "/ws") as socket:
            await told(socket, "whole")
            await socket.send_json({"live": 3})
            async with asyncio.timeout(10):
                while True:
                    tick = await told(socket, "tick")
                    for line, changes in tick.get("coarse", {}).items():
                        sums += sum(n for _, n in changes) if line == "0" else 0
                    for which in ("live", "long"):
                        for _, row in tick.get(which, {}).get("rows", []):
                            most = max([most, *(one[1] for one in row if one[0] == 0)])
                    if "lines" in tick and tick["status"]["triggers"] == triggers:
                        return sums, most, tick["lines"][0]

    async def run() -> None:
        async with generator(faults=faults) as made, \
                measuring(tmp_path / "a.scope", made.port) as host, \
                served(host, parts) as (client, url):
            page = asyncio.create_task(counts(client, url, 2000))
            await whole(host, made, 2000, packet=20)
            await until(lambda: host.account.agrees() is True)
            during, later = await page, await counts(client, url, 2000)
            line = host.account.lines[0]
            for sums, most, row in (during, later):
                assert most == row["max"] == line.values.most >= 7_000_000
                assert row["missing"] == line.missing and row["late"] == line.late
                assert sums <= line.values.count
            assert later[0] == line.values.count
            # Another zoom level: all its columns come, although nothing new happens.
            async with client.ws_connect(url + "/ws") as socket:
                for level in (5, 2):
                    await socket.send_json({"live": level})
                    async with asyncio.timeout(10):
                        while (await told(socket, "tick")).get("live", {}).get("level") != level:
                            pass
            await until(lambda: not host.account.trail.cursors)

    asyncio.run(run())


def test_a_page_that_leaves_takes_nothing_with_it(tmp_path: Path) -> None:
    """Another that has seen the same keeps its own cursors."""
    asyncio.run(record(tmp_path / "a.scope", 50))
    instrument = Instrument(tmp_path / "a.scope", live=False)
    asyncio.run(instrument.replay(0))
    first, second = View(instrument), View(instrument)
    first.tick()
    second.tick()
    second.leave()
    left = instrument.account.trail.cursors
    assert {id(one) for one in left} == {id(one) for one in first.cursors.values()}


def test_commands(tmp_path: Path, parts: Path) -> None:
    """They reach the generator; a refusal has its words; nonsense is refused."""
    async def run() -> None:
        async with generator(speed=1.0) as made, \
                measuring(tmp_path / "a.scope", made.port) as host, \
                served(host, parts) as (client, url):
            async def post(*arguments: Any, name: Any = "") -> tuple[int, bool, str]:
                async with client.post(url + "/api/command", json={
                        "name": name, "values": list(arguments)}) as got:
                    said = await got.json()
                    return got.status, said["ok"], said["text"]

            assert host.link is not None
            await host.link.connected.wait()
            assert await post("321000", name="frequency") == (200, True, "ok")
            assert made.target.settings.millihertz == 321_000
            assert await post(0, name="duty") == (200, False, "1 to 999999 ppm")
            assert await post(1, str(2**63), name="phase") == (200, True, "ok")
            assert made.target.settings.seed == 2**63
            assert await post("5", name="lines") == (200, True, "ok") and made.target.mask == 5
            assert await post(0, name="start") == (200, True, "ok") and made.target.running
            assert (await post(0, name="start"))[2] == "it runs"
            assert await post(name="stop") == (200, True, "ok") and not made.target.running
            assert (await post(-1, name="frequency"))[0] == 503
            for bad in (("x",), (1, 2), ()):
                assert (await post(*bad, name="frequency"))[0] == 400
            assert (await post(name="hello"))[0] == 400 and (await post(name=[1]))[0] == 400
            async with client.post(url + "/api/command", data="{") as got:
                assert got.status == 400
            await made.close()
            await until(lambda: not host.link.connected.is_set())
            status, ok, text = await post(name="stop")
            assert status == 503 and not ok and "no link" in text

    asyncio.run(run())


def test_exports(tmp_path: Path, parts: Path) -> None:
    """Document, snapshot, CSV and report of what there is; a recording takes no commands."""
    asyncio.run(record(tmp_path / "a.scope", 1500, faults=Faults(missing=0.01)))

    async def run() -> None:
        instrument = Instrument(tmp_path / "a.scope", live=False)
        await instrument.replay(0)
        async with served(instrument, parts) as (client, url):
            async with client.get(url + "/api/document") as got:
                found = check(await got.json(), "it")
                assert found.data["verdict"] == "measured" and len(found.series) == 11
            async with client.post(url + "/api/snapshot") as got:
                said = await got.json()
                assert said["ok"] and (tmp_path / said["text"]).exists()
            async with client.get(url + "/api/csv") as got:
                rows = list(csv.DictReader(io.StringIO(await got.text())))
                assert len(rows) == 1500 * 11
            async with client.get(url + "/api/report") as got:
                assert "work-unbound on CPU 0" in await got.text()
            async with client.post(url + "/api/command", json={"name": "stop"}) as got:
                assert got.status == 409

    asyncio.run(run())


def test_chain(tmp_path: Path, parts: Path) -> None:
    """The hop that a planted delay was in, by the page's question."""
    faults = Faults(planted={(300, "softirq"): 5_000_000})
    asyncio.run(record(tmp_path / "a.scope", 600, faults=faults))

    async def run() -> None:
        instrument = Instrument(tmp_path / "a.scope", live=False)
        await instrument.replay(0)
        async with served(instrument, parts) as (client, url), \
                client.ws_connect(url + "/ws") as socket:
            names = (await told(socket, "whole"))["names"]
            for wanted in ({"number": 300}, {"worst": names.index("tasklet")}):
                await socket.send_json({"chain": wanted})
                chain = (await told(socket, "chain"))["chain"]
                assert chain["trigger"] == 300 and chain["culprit"] == "softirq"
                above = {hop["name"] for hop in chain["hops"] if hop["ns"] >= 5_000_000}
                assert above == set(names) - {"irq", "poll", "work-unbound"}
            await socket.send_json({"chain": {"number": 10**9}})
            assert (await told(socket, "chain"))["chain"] is None
            await socket.send_str("nonsense")
            await socket.send_json([1])
            await socket.send_json({"live": 99, "chain": {"worst": -1}})
            assert (await told(socket, "chain"))["chain"] is None

    asyncio.run(run())


def test_a_slow_page_costs_nothing(tmp_path: Path, parts: Path) -> None:
    """One that reads nothing holds neither the recording nor another page up."""
    async def run() -> None:
        async with generator() as made, measuring(tmp_path / "a.scope", made.port) as host, \
                served(host, parts) as (client, url), client.ws_connect(url + "/ws"):
            assert host.link is not None
            await host.link.connected.wait()
            assert (await host.link.command(Start(8000))).status == 0
            await until(lambda: host.account.triggers == 8000)

    asyncio.run(run())


def test_uplot_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                          monkeypatch: pytest.MonkeyPatch) -> None:
    """It says where to get it."""
    asyncio.run(record(tmp_path / "a.scope", 10))
    monkeypatch.delenv("ISOLATOR_SCOPE_PARTS", raising=False)
    assert main(["serve", "--replay", str(tmp_path / "a.scope"), "--listen", "127.0.0.1:0",
                 "--parts", str(tmp_path)]) == ERROR
    assert "tools/isolator-scope" in capsys.readouterr().err
