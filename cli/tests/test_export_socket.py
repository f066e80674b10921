# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator export --socket: scrapes, whatever other clients do."""

from __future__ import annotations

import os
import random
import resource
import signal
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from clitest import swap
from exporttest import (
    OPEN_TYPE,
    PLAIN_TYPE,
    Server,
    descriptors,
    export,
    full,
    one,
    parse,
    parse_plain,
    serving,
    stock,
)

ASK = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def server(isolator: Path, laid_out: Path) -> Iterator[Server]:
    """One at a port of 127.0.0.1; it shall still answer at the end of the test."""
    full(laid_out / "busy")
    with serving(isolator, "127.0.0.1:0", "--proc", laid_out / "busy") as server:
        yield server
        status, _, body = server.scrape()
        assert status == 200 and parse(body)
        server.end(signal.SIGTERM)
        assert server.code == 0


@pytest.mark.parametrize("kind", ["127.0.0.1:0", "127.9.8.7:0", "[::1]:0", "path"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_scrapes(isolator: Path, laid_out: Path, tmp_path: Path, kind: str, number: int) -> None:
    """Several, each of the moment; a signal ends it with 0, and nothing is left."""
    link, path = laid_out / "proc", tmp_path / "socket"
    swap(link, laid_out / "busy")
    with serving(isolator, path if kind == "path" else kind, "--proc", link) as server:
        if kind == "path":
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
        before = descriptors(server.process.pid)
        for want in (58, 71, 58):
            swap(link, laid_out / ("busy" if want == 58 else "busy-later"))
            status, headers, body = server.scrape()
            assert status == 200 and headers["content-type"] == OPEN_TYPE
            assert int(headers["content-length"]) == len(body.encode())
            assert one(parse(body), "isolator_held_total", cpu="1") == want
        assert descriptors(server.process.pid) <= before + 1
        server.end(number)
        assert server.code == 0 and not path.exists()


def test_format(server: Server) -> None:
    """What the request accepts; Prometheus' own line among it."""
    prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;" \
        "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    for accept in (prometheus, "Application/OpenMetrics-Text"):
        _, headers, body = server.scrape(accept)
        assert headers["content-type"] == OPEN_TYPE and parse(body)
    for accept in ("text/plain", "*/*", ""):
        _, headers, body = server.scrape(accept)
        assert headers["content-type"] == PLAIN_TYPE and parse_plain(body)


@pytest.mark.parametrize("format", ["openmetrics", "prometheus"])
def test_one_format(isolator: Path, laid_out: Path, format: str) -> None:
    """The one that was asked for, whatever is accepted."""
    with serving(isolator, "127.0.0.1:0", "--proc", laid_out / "quiet", "--format",
                 format) as server:
        for accept in ("application/openmetrics-text", "text/plain"):
            _, headers, _ = server.scrape(accept)
            assert headers["content-type"] == (
                OPEN_TYPE if format == "openmetrics" else PLAIN_TYPE)


@pytest.mark.parametrize(("request_line", "status"), [
    (b"GET /metrics HTTP/1.1", 200), (b"GET /metrics HTTP/1.0", 200),
    (b"GET /metrics?x=1&y HTTP/1.1", 200), (b"GET /metrics? HTTP/1.1", 200),
    (b"GET / HTTP/1.1", 404), (b"GET /metricsx HTTP/1.1", 404), (b"GET /metric HTTP/1.1", 404),
    (b"GET ?/metrics HTTP/1.1", 404), (b"GET /../metrics HTTP/1.1", 404),
    (b"POST /metrics HTTP/1.1", 405), (b"get /metrics HTTP/1.1", 405),
    (b"GETX /metrics HTTP/1.1", 405), (b"GET /metrics HTTP/2.0", 505),
    (b"GET /metrics HTTP/1.11", 505), (b"GET /metrics FTP/1.1", 400), (b"GET /metrics", 400),
    (b"GET  HTTP/1.1", 400), (b"", 400), (b" ", 400), (b"GET", 400), (b"GET /metrics HTTP/", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01", 400), (b"GET /metrics\0 HTTP/1.1", 400)])
def test_requests(server: Server, request_line: bytes, status: int) -> None:
    """Each has the answer that HTTP has for it, with a line that helps."""
    answer = server.ask(request_line + b"\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Connection: close" in head and body.endswith(b"\n")
    assert (b"Allow: GET, HEAD" in head) == (status == 405)


def test_bare_line_ends(server: Server) -> None:
    """As people type them."""
    assert server.ask(b"GET /metrics HTTP/1.0\n\n").startswith(b"HTTP/1.1 200 ")


def test_head(server: Server) -> None:
    """The head alone, as long as the body would be."""
    _, full_head, _ = server.scrape()
    status, headers, body = server.scrape(method="HEAD")
    assert status == 200 and not body
    assert abs(int(headers["content-length"]) - int(full_head["content-length"])) < 40


def test_cut_and_slow(server: Server) -> None:
    """In pieces, with pauses; and cut off before the end."""
    with server.connect() as slow:
        for at in range(0, len(ASK), 7):
            slow.sendall(ASK[at:at + 7])
            time.sleep(0.02)
        assert slow.recv(15) == b"HTTP/1.1 200 OK"
    for length in (0, 1, 20, len(ASK) - 1):
        with server.connect() as cut:
            cut.sendall(ASK[:length])
    with server.connect() as half:
        half.sendall(ASK[:20])
        half.shutdown(socket.SHUT_WR)
        assert half.recv(1) == b""


def test_huge(server: Server) -> None:
    """What has no end is not read for ever; a long one that ends within bounds is answered."""
    within = b"GET /metrics HTTP/1.1\r\nX: " + b"x" * (8192 - 35) + b"\r\n\r\n"
    assert server.ask(within).startswith(b"HTTP/1.1 200 ")
    for huge in (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 8192, b"A" * 8192, b"A" * 300_000):
        assert server.ask(huge).startswith(b"HTTP/1.1 431 "), huge[:30]
    assert server.ask(ASK + b"x" * 100_000).startswith(b"HTTP/1.1 200 ")


def test_silence(server: Server) -> None:
    """Who asks for too long is told so; who says nothing is closed; others wait for neither."""
    with server.connect() as silent, server.connect() as slow:
        slow.sendall(ASK[:10])
        began = time.monotonic()
        assert server.scrape()[0] == 200
        assert time.monotonic() - began < 4
        assert silent.recv(1) == b""
        assert slow.recv(20).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 20


def test_does_not_read(server: Server) -> None:
    """Who never takes its answer is closed in the end, and holds up nobody."""
    before = descriptors(server.process.pid)
    silent = server.connect()
    silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    silent.sendall(ASK)
    assert server.scrape()[0] == 200
    stop = time.monotonic() + 30
    while descriptors(server.process.pid) > before:
        assert time.monotonic() < stop
        time.sleep(0.1)
    silent.close()


def test_crowd(server: Server) -> None:
    """Many that say nothing do not take the places of those that ask."""
    crowd = [server.connect() for _ in range(60)]
    began = time.monotonic()
    for _ in range(5):
        assert server.scrape()[0] == 200
    assert time.monotonic() - began < 4
    assert descriptors(server.process.pid) < 40
    for one_of_them in crowd:
        one_of_them.close()


def test_noise(server: Server) -> None:
    """Random bytes in random pieces, closed with and without a reset."""
    chance = random.Random(5)
    for _ in range(150):
        with server.connect() as made:
            if chance.random() < 0.3:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            made.settimeout(0.2)  # who has not asked to the end is not answered for long
            try:
                for _ in range(chance.randint(0, 4)):
                    made.sendall(chance.choice([ASK, b"\r\n\r\n", chance.randbytes(40), b"\n" * 9]))
                if chance.random() < 0.5:
                    made.recv(100)
            except (ConnectionError, TimeoutError):
                pass


def test_no_more_files(isolator: Path, laid_out: Path) -> None:
    """Without a descriptor for one more it neither ends nor spins, and answers later."""
    with serving(isolator, "127.0.0.1:0", "--proc", laid_out / "quiet") as server:
        used = max(int(fd) for fd in os.listdir(f"/proc/{server.process.pid}/fd")) + 1
        limits = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used, limits[1]))
        with server.connect() as waiting:
            waiting.sendall(ASK)
            time.sleep(2.5)
            ticks = sum(map(int, Path(f"/proc/{server.process.pid}/stat").read_text()
                            .rpartition(")")[2].split()[11:13]))
            assert ticks < 100  # of some 250
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limits)
            assert waiting.recv(15) == b"HTTP/1.1 200 OK"
        server.end(signal.SIGTERM)
        assert server.code == 0


def test_unreadable(isolator: Path, laid_out: Path) -> None:
    """What cannot be read is an error of that scrape: no number is made up."""
    link = laid_out / "proc"
    swap(link, laid_out / "busy")
    with serving(isolator, "127.0.0.1:0", "--proc", link) as server:
        swap(link, laid_out / "nowhere")
        status, headers, body = server.scrape()
        assert status == 500 and headers["content-type"].startswith("text/plain")
        assert "isolator_" not in body
        swap(link, laid_out / "busy")
        assert server.scrape()[0] == 200
        server.end(signal.SIGTERM)
        assert server.code == 0 and "--proc wants" in server.said


def test_stock_kernel(isolator: Path, tmp_path: Path) -> None:
    """It is served, and said once."""
    with serving(isolator, "127.0.0.1:0", "--root", stock(tmp_path / "root")) as server:
        for _ in range(3):
            assert one(parse(server.scrape()[2]), "isolator_available") == 0
        server.end(signal.SIGTERM)
        assert server.code == 0 and server.said.count("has no Isolator") == 1


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "10.1.2.3:0", "[::ffff:127.0.0.1]:0",
                                     "128.0.0.1:0", "[fe80::1]:0"])
def test_not_for_others(isolator: Path, address: str) -> None:
    """What other machines reach is refused."""
    done = export(isolator, "--socket", address, code=1)
    assert "--remote" in done.stderr and "listening" not in done.stderr


def test_for_others_if_asked(isolator: Path, laid_out: Path) -> None:
    """Then it warns, and serves."""
    with serving(isolator, "0.0.0.0:0", "--remote", "--proc", laid_out / "quiet") as server:
        assert "warning: whoever reaches 0.0.0.0:0" in server.said
        assert server.scrape()[0] == 200
        server.end(signal.SIGTERM)
        assert server.code == 0


@pytest.mark.parametrize(("address", "says"), [
    ("", "--socket wants"), ("9971", "--socket wants"), (":9971", "--socket wants"),
    ("127.0.0.1", "--socket wants"), ("127.0.0.1:", "--socket wants"),
    ("127.0.0.1:x", "--socket wants"), ("127.0.0.1:65536", "--socket wants"),
    ("127.0.0.1:-1", "--socket wants"), ("127.0.0.1:99999999999999999999", "--socket wants"),
    ("localhost:1", "--socket wants"), ("::1:1", "--socket wants"), ("[::1]", "--socket wants"),
    ("[]:1", "--socket wants"), ("[:1", "--socket wants"), ("1" * 300 + ":1", "--socket wants"),
    ("./" + "x" * 200, "too long"), ("./no/socket", "make its directory"),
    ("./file", "is there and no socket"), (".//", "cannot listen")])
def test_bad_addresses(isolator: Path, tmp_path: Path, address: str, says: str) -> None:
    """An error that says which there are, and leaves all as it was."""
    (tmp_path / "file").write_text("x")
    done = export(isolator, "--socket", address, code=1, cwd=tmp_path)
    assert says in done.stderr or (address == ".//" and "no socket" in done.stderr)
    assert os.listdir(tmp_path) == ["file"]


def test_taken(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """A port or a path at which another one listens; the other one goes on."""
    for address in ("127.0.0.1:0", str(tmp_path / "socket")):
        with serving(isolator, address, "--proc", laid_out / "quiet") as server:
            done = export(isolator, "--socket", server.address, code=1)
            assert "choose another" in done.stderr
            assert server.scrape()[0] == 200
            server.end(signal.SIGTERM)
            assert server.code == 0


def test_left_behind(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """The socket of one that was killed is replaced; one that is another's by now stays."""
    path = tmp_path / "socket"
    with serving(isolator, path, "--proc", laid_out / "quiet") as server:
        server.process.kill()
        server.process.wait()
        assert path.is_socket()
    with serving(isolator, path, "--proc", laid_out / "quiet") as server:
        assert server.scrape()[0] == 200
        path.unlink()
        with serving(isolator, path, "--proc", laid_out / "quiet") as other:
            server.end(signal.SIGTERM)
            assert server.code == 0 and path.is_socket()
            assert other.scrape()[0] == 200
            other.end(signal.SIGTERM)
            assert other.code == 0 and not path.exists()
