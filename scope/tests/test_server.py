# SPDX-License-Identifier: GPL-2.0-or-later
"""The server: who may see the page, what a page is told, commands."""

import asyncio
import contextlib
import csv
import io
import json
import os
import signal
import socket
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from isolator_report import terminal
from isolator_report.document import check
from isolator_scope.cli import main
from isolator_scope.errors import ERROR, PASS
from isolator_scope.instrument import Instrument
from isolator_scope.protocol import Start
from isolator_scope.server import DOWNLOADS
from isolator_scope.view import View
from scope_browser import serving
from scope_runs import generator, linked, measuring, record, until, whole
from scope_served import Fetch, served, stand_in, told
from sim.model import Faults
from waiting import PATIENCE_S


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Files that stand for uPlot."""
    return stand_in(tmp_path)


def test_token(tmp_path: Path, parts: Path) -> None:
    """Every address is refused without it, or with another one."""
    asyncio.run(record(tmp_path / "a.scope", 50))

    async def run() -> None:
        instrument = Instrument(tmp_path / "a.scope", live=False)
        async with served(instrument, parts, "0.0.0.0", "s3cret") as (client, url):
            for path in ("/", "/ws", "/page/scope.js", "/api/document", "/api/csv", "/none"):
                for extra in ({}, {"Authorization": "Bearer other"},
                              {"Cookie": f"isolator_scope_{urlsplit(url).port}=other"}):
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


def test_nobody_may_without_a_token(tmp_path: Path) -> None:
    """Other users of this machine reach its own addresses, too: a token is made, and said once."""
    asyncio.run(record(tmp_path / "a.scope", 50))
    with serving("--replay", str(tmp_path / "a.scope")) as first, \
            serving("--replay", str(tmp_path / "a.scope")) as second:
        found = [parse_qs(urlsplit(one).query)["token"][0] for one in (first, second)]
        assert len(set(found)) == 2 and all(len(one) >= 32 for one in found)
        base = first.partition("?")[0]
        for path in ("", "api/document"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(base + path)
            assert refused.value.code == 401
        with urllib.request.urlopen(urllib.request.Request(
                base + "api/document", headers={"Authorization": f"Bearer {found[0]}"})) as got:
            assert got.status == 200


@pytest.mark.parametrize(("head", "status"), [
    (b"Host: \xff\r\n", 403), (b"Host: [\r\n", 400), (b"Host: 127.0.0.1:99999999\r\n", 400),
    (b"Host: localhost\r\nCookie: isolator_scope_80=\xff\r\n", 401),
    (b"Host: localhost\r\nAuthorization: Bearer \xff\r\n", 401),
    (b"Host: localhost\r\nOrigin: http://\xff\r\n", 403),
    (b"Host: localhost\r\nOrigin: http://[\r\n", 400)])
def test_heads_that_are_no_text(tmp_path: Path, parts: Path, head: bytes, status: int) -> None:
    """They are refused as what they are."""
    asyncio.run(record(tmp_path / "a.scope", 50))

    async def run() -> None:
        instrument = Instrument(tmp_path / "a.scope", live=False)
        async with served(instrument, parts, token="s3cret") as (_, url):
            reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
            writer.write(b"GET / HTTP/1.1\r\n" + head + b"\r\n")
            assert (await reader.readline()).startswith(f"HTTP/1.1 {status}".encode())
            writer.close()

    asyncio.run(run())


def test_two_pages_in_one_browser(tmp_path: Path, parts: Path) -> None:
    """Cookies know no ports: each page has one of its own name."""
    asyncio.run(record(tmp_path / "a.scope", 50))

    async def run() -> None:
        instrument = Instrument(tmp_path / "a.scope", live=False)
        async with served(instrument, parts, token="one") as (_, first), \
                served(instrument, parts, token="two") as (_, second), \
                aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            for url, token in ((first, "one"), (second, "two")):
                async with client.get(f"{url}/?token={token}") as got:
                    assert got.status == 200
            for url in (first, second):
                async with client.get(f"{url}/api/document") as got:
                    assert got.status == 200

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
            for path in ("/api/document", "/api/csv", "/api/report", "/ws", "/page/scope.js"):
                for site in ("cross-site", "same-site"):  # the latter: of another port, too
                    async with client.get(url + path, headers={"Sec-Fetch-Site": site}) as got:
                        assert got.status == 403, path
            for site in ("same-origin", "none"):
                async with client.get(url + "/api/document",
                                      headers={"Sec-Fetch-Site": site}) as got:
                    assert got.status == 200
            link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
            async with client.get(url + "/", headers=link) as got:
                assert got.status == 200
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
            async with asyncio.timeout(PATIENCE_S):
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
                    async with asyncio.timeout(PATIENCE_S):
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

            await linked(host)
            assert await post("321000", name="frequency") == (200, True, "ok")
            assert made.target.settings.millihertz == 321_000
            assert await post(0, name="duty") == (200, False, "1 to 999999 ppm")
            assert await post(1, str(2**63), name="phase") == (200, True, "ok")
            assert made.target.settings.seed == 2**63
            assert await post("5", name="lines") == (200, True, "ok") and made.target.mask == 5
            assert await post(0, name="start") == (200, True, "ok") and made.target.running
            assert (await post(0, name="start"))[2] == "it runs"
            assert await post(name="stop") == (200, True, "ok") and not made.target.running
            assert (await post(-1, name="frequency"))[::2] == (
                400, "frequency: from 0 to 18446744073709551615")
            assert await post(5 * 10**9, name="calibrate") == (400, False, "rounds: out of range")
            for bad in (("x",), (1, 2), ()):
                assert (await post(*bad, name="frequency"))[0] == 400
            assert (await post(name="hello"))[0] == 400 and (await post(name=[1]))[0] == 400
            for body in ("{", "[" * 60_000, '{"name": "frequency", "values": [1e999]}',
                         '{"name": "frequency", "values": [NaN]}',
                         '{"name": "frequency", "values": [' + "9" * 5000 + "]}"):
                async with client.post(url + "/api/command", data=body) as got:
                    assert got.status == 400, body[:50]
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
            # No link that lies there is followed, and no file written over.
            now = time.time()
            for second in range(600):
                stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now + second))
                with contextlib.suppress(FileExistsError):
                    (tmp_path / f"a-{stamp}.json").symlink_to(tmp_path / "other")
            async with client.post(url + "/api/snapshot") as got:
                assert got.status == 507 and "File exists" in (await got.json())["text"]
            assert not (tmp_path / "other").exists()
            async with client.get(url + "/api/csv") as got:
                rows = list(csv.DictReader(io.StringIO(await got.text())))
                assert len(rows) == 1500 * 11
            async with client.get(url + "/api/report") as got:
                assert "work-unbound</h2>" in await got.text()
            async with client.post(url + "/api/command", json={"name": "stop"}) as got:
                assert got.status == 409

    asyncio.run(run())


def test_exports_are_of_what_is_shown(tmp_path: Path, parts: Path) -> None:
    """The run and the limit of the page: document, report and snapshot judge as it does."""
    asyncio.run(record(tmp_path / "a.scope", 200))

    async def run() -> None:
        instrument = Instrument(tmp_path / "a.scope", live=False)
        await instrument.replay(0)
        instrument.begin("second")
        async with served(instrument, parts) as (client, url):
            for asked, verdict in (("?run=1&limit=1", "exceeded"), ("?run=1", "measured"),
                                   ("?run=1&limit=100000000000", "passed"), ("", "inconclusive")):
                async with client.get(f"{url}/api/document{asked}") as got:
                    assert (await got.json())["verdict"] == verdict
            async with client.post(f"{url}/api/snapshot?run=1&limit=1") as got:
                found = json.loads((tmp_path / (await got.json())["text"]).read_text())
                assert found["verdict"] == "exceeded" and found["limits"][0]["limit_ns"] == 1
            async with client.get(f"{url}/api/report?run=1&limit=1") as got:
                assert "<b>exceeded</b>" in await got.text()
            for asked, status in (("run=9", 404), ("limit=x", 400), ("limit=" + "9" * 19, 400)):
                for path in ("document", "report"):
                    async with client.get(f"{url}/api/{path}?{asked}") as got:
                        assert got.status == status

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
            await socket.send_str("[" * 4000)
            await socket.send_json([1])
            await socket.send_json({"live": 99, "chain": {"worst": -1}})
            assert (await told(socket, "chain"))["chain"] is None

    asyncio.run(run())


def test_a_slow_page_costs_nothing(tmp_path: Path, parts: Path) -> None:
    """One that reads nothing holds neither the recording nor another page up."""
    async def run() -> None:
        async with generator() as made, measuring(tmp_path / "a.scope", made.port) as host, \
                served(host, parts) as (client, url), client.ws_connect(url + "/ws"):
            link = await linked(host)
            assert (await link.command(Start(8000))).status == 0
            await until(lambda: host.account.triggers == 8000)

    asyncio.run(run())


async def asks(url: str, path: str) -> socket.socket:
    """Asks for something, and reads no more than where its answer begins."""
    loop, where = asyncio.get_running_loop(), urlsplit(url)
    made = socket.socket()
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await loop.sock_connect(made, (where.hostname, where.port))
    await loop.sock_sendall(made, f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
    async with asyncio.timeout(PATIENCE_S):
        assert (await loop.sock_recv(made, 4)) == b"HTTP"
    return made


def test_a_download_that_is_not_read_holds_nothing_up(tmp_path: Path, parts: Path) -> None:
    """What comes meanwhile is synced, and the generator may forget it."""
    async def run() -> None:
        # One thread for all that has none of its own: one download shows it.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        async with generator() as made, measuring(tmp_path / "a.scope", made.port) as host, \
                served(host, parts, buffers=4096) as (_, url):
            await whole(host, made, 1000)
            with await asks(url, "/api/csv"):
                await whole(host, made, 1000)
                await until(lambda: made.kept == made.next_packet)
                file = host.recording
                assert file is not None
                await until(lambda: file.synced == file.written)

    asyncio.run(run())


@pytest.mark.parametrize("path", ["/api/csv", "/api/report", "/api/document"])
def test_downloads_have_a_limit(tmp_path: Path, parts: Path, path: str,
                                monkeypatch: pytest.MonkeyPatch) -> None:
    """So many at once; who reads nothing for a while has gone."""
    asyncio.run(record(tmp_path / "a.scope", 2000))

    async def run() -> None:
        instrument = Instrument(tmp_path / "a.scope", live=False)
        await instrument.replay(0)
        async with served(instrument, parts, buffers=4096) as (client, url):
            async def size() -> int:
                async with client.get(url + path) as got:
                    return len(await got.read()) if got.status == 200 else 0

            whole = await size()
            assert whole > 50_000
            monkeypatch.setattr("isolator_scope.server.STALLED", 600.0)
            held = [await asks(url, path) for _ in range(DOWNLOADS)]
            async with client.get(url + path) as got:
                assert got.status == 503 and "try again" in await got.text()
            held.pop().close()
            async with asyncio.timeout(PATIENCE_S):
                while await size() != whole:
                    await asyncio.sleep(0.05)  # sleep: between two looks
            monkeypatch.setattr("isolator_scope.server.STALLED", 0.5)
            with await asks(url, path) as late, contextlib.suppress(ConnectionError):
                # It is full again until the one that has less patience is given up.
                assert not await size()
                async with asyncio.timeout(PATIENCE_S):
                    while not await size():
                        await asyncio.sleep(0.05)  # sleep: between two looks
                late.setblocking(True)
                late.settimeout(PATIENCE_S)
                read = 0
                while data := late.recv(1 << 16):
                    read += len(data)
                assert read < whole
            for one in held:
                one.close()

    asyncio.run(run())


def test_uplot_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                          monkeypatch: pytest.MonkeyPatch) -> None:
    """It says where to get it."""
    asyncio.run(record(tmp_path / "a.scope", 10))
    monkeypatch.delenv("ISOLATOR_SCOPE_PARTS", raising=False)
    assert main(["serve", "--replay", str(tmp_path / "a.scope"), "--listen", "127.0.0.1:0",
                 "--parts", str(tmp_path)]) == ERROR
    assert "tools/isolator-scope" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_as_soon_as_it_is_known(tmp_path: Path, parts: Path,
                                         monkeypatch: pytest.MonkeyPatch,
                                         number: signal.Signals) -> None:
    """Who reads the address may end it at once: it ends in order."""
    asyncio.run(record(tmp_path / "a.scope", 10))
    shown: list[str] = []

    def show(lines: list[str]) -> None:
        shown.extend(lines)
        os.kill(os.getpid(), number)

    def out_of_order(*_: object) -> None:
        raise AssertionError("nobody waits for a signal yet")

    before = signal.signal(number, out_of_order)
    monkeypatch.setattr(terminal, "show", show)
    try:
        assert main(["serve", "--replay", str(tmp_path / "a.scope"), "--listen", "127.0.0.1:0",
                     "--parts", str(parts)]) == PASS
    finally:
        signal.signal(number, before)
    assert "http://" in shown[0]
