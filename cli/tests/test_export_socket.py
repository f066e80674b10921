# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator export --socket: scrapes, whatever other clients do."""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import select
import signal
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from clitest import NOBODY, PATIENCE_S, copy_for_all, swap
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

ASK = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _has_answer(made: socket.socket) -> bool:
    """Is there something to read, or its end?"""
    return bool(select.select([made], [], [], 0)[0])


def _is_heard(server: Server, made: socket.socket) -> None:
    """From the answer on it has as much time again: what it still sends meets no reset."""
    for _ in range(3):
        made.sendall(ASK)
        assert server.scrape()[0] == 200


def _until_open(server: Server, count: int) -> None:
    """Until it has so many files open."""
    stop = time.monotonic() + PATIENCE_S
    while descriptors(server.process.pid) != count:
        assert time.monotonic() < stop
        time.sleep(0.01)


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
        _until_open(server, before)
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
    for header, content in ((b"ACCEPT: text/plain, application/openmetrics-text", OPEN_TYPE),
                            (b"X-Accept: application/openmetrics-text", PLAIN_TYPE)):
        answer = server.ask(b"GET /metrics HTTP/1.1\r\n" + header + b"\r\n\r\n")
        assert f"\r\nContent-Type: {content}\r\n".encode() in answer


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
    (b"GET /Metrics HTTP/1.1", 404), (b"GET ?/metrics HTTP/1.1", 404),
    (b"GET /../metrics HTTP/1.1", 404),
    (b"POST /metrics HTTP/1.1", 405), (b"get /metrics HTTP/1.1", 405),
    (b"GETX /metrics HTTP/1.1", 405), (b"GET /metrics HTTP/2.0", 505),
    (b"GET /metrics HTTP/1.11", 505), (b"GET /metrics SMTP/1.1", 400), (b"GET /metrics", 400),
    (b"GET  HTTP/1.1", 400), (b"", 400), (b" ", 400), (b"GET", 400), (b"GET /metrics HTTP/", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01", 400), (b"GET /metrics\0 HTTP/1.1", 400)])
def test_requests(server: Server, request_line: bytes, status: int) -> None:
    """Each has the answer that HTTP has for it, with a line that helps."""
    answer = server.ask(request_line + b"\r\nHost: 127.0.0.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    head, _, body = answer.partition(b"\r\n\r\n")
    for header in (b"Connection: close", b"Content-Length: %d" % len(body),
                   b"Cache-Control: no-store", b"X-Content-Type-Options: nosniff"):
        assert header in head.split(b"\r\n")
    assert body.endswith(b"\n")
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
    status, headers, body = server.scrape(method="HEAD", path="/")
    assert status == 404 and int(headers["content-length"]) and not body


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


def test_nothing_before_the_end(server: Server) -> None:
    """A request ends where its own empty line is, not where that of an earlier one was."""
    before = descriptors(server.process.pid)
    assert server.ask(b"GET /metrics HTTP/1.0\n\n").startswith(b"HTTP/1.1 200 ")
    _until_open(server, before)  # the next one has its place
    with server.connect() as begun:
        begun.sendall(b"GET /metrics HTTP/1.0\n")
        assert server.scrape()[0] == 200  # by then it has been looked at
        assert not _has_answer(begun)
        begun.sendall(b"\n")
        assert begun.recv(15) == b"HTTP/1.1 200 OK"


def test_huge(server: Server) -> None:
    """What has no end is not read for ever; a long one that ends within bounds is answered."""
    within = b"GET /metrics HTTP/1.1\r\nX: " + b"x" * (8192 - 30) + b"\r\n\r\n"
    assert len(within) == 8192
    assert server.ask(within).startswith(b"HTTP/1.1 200 ")
    with server.connect() as pieces:
        pieces.sendall(within[:-1])
        assert server.scrape()[0] == 200 and not _has_answer(pieces)
        pieces.sendall(within[-1:])
        assert pieces.recv(15) == b"HTTP/1.1 200 OK"
    for huge in (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 8192, b"A" * 8192, b"A" * 300_000):
        assert server.ask(huge).startswith(b"HTTP/1.1 431 "), huge[:30]
    with server.connect() as full_up:
        full_up.sendall(b"A" * 8192)
        while full_up.recv(1000):
            pass
        _is_heard(server, full_up)
    assert server.ask(ASK + b"x" * 100_000).startswith(b"HTTP/1.1 200 ")


def test_silence(server: Server) -> None:
    """Who asks for too long is told so; who says nothing is closed; others wait for neither."""
    with server.connect() as silent, server.connect() as slow, server.connect() as trickle:
        slow.sendall(ASK[:10])
        trickle.sendall(ASK[:-2])
        began = time.monotonic()
        assert server.scrape()[0] == 200
        assert time.monotonic() - began < 4
        # A little now and then gives nobody more time.
        while not _has_answer(trickle):
            assert time.monotonic() - began < 20
            trickle.sendall(b"x")
            time.sleep(0.2)
        assert trickle.recv(20).startswith(b"HTTP/1.1 408 ")
        assert silent.recv(1) == b""
        answer = b""
        while part := slow.recv(1000):
            answer += part
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 20
        _is_heard(server, slow)


@pytest.fixture
def large(isolator: Path, laid_out: Path, tmp_path: Path) -> Iterator[Server]:
    """One at a socket that takes no whole answer without its being read."""
    senders = laid_out / "quiet/senders"
    senders.write_text(senders.read_text() + "".join(
        f"cpu 1 sender callback {number}{'f' * 800} kind call deferred 1 excluded 0 held 0 "
        "breached 0 broken 0 refused 0 longest_ns 0 comm sender\n" for number in range(800)))
    with serving(isolator, tmp_path / "socket", "--proc", laid_out / "quiet", "--top",
                 "0") as server:
        yield server
        # Also with clients that wait for the rest of their answers.
        with server.connect() as half:
            half.sendall(ASK)
            assert half.recv(15) == b"HTTP/1.1 200 OK"
            server.end(signal.SIGTERM)
        assert server.code == 0 and not Path(server.address).exists()


def test_does_not_read(large: Server) -> None:
    """Who never takes its answer is closed in the end, and holds up nobody."""
    before = descriptors(large.process.pid)
    with large.connect() as silent, large.connect() as all_read:
        silent.sendall(ASK)
        all_read.sendall(b"HEAD" + ASK[3:])
        # In pieces, and whole: it waits for who reads.
        status, headers, body = large.scrape()
        assert status == 200 and int(headers["content-length"]) == len(body) > 500_000
        assert body.count("\nisolator_sender_deferred_total{") == 800
        while all_read.recv(1000):
            pass
        _until_open(large, before)


def test_goes_away(large: Server) -> None:
    """Who asks and does not wait for the answer, or for all of it, ends nobody but itself."""
    before = descriptors(large.process.pid)
    with large.connect() as silent:
        for take in (0, 0, 100):
            with large.connect() as gone:
                gone.sendall(ASK)
                if take:
                    gone.recv(take)
        _until_open(large, before + 1)
        assert not _has_answer(silent)  # not for want of patience, then


def test_the_oldest_goes(server: Server) -> None:
    """Where there is no place left, who has had one for longest makes room, and nobody else."""
    before = descriptors(server.process.pid)
    made = [server.connect() for _ in range(16)]
    _until_open(server, before + 16)
    made.pop(0).close()
    _until_open(server, before + 15)
    made.append(server.connect())  # in the first place, and the last that came
    made[-1].sendall(ASK[:10])
    _until_open(server, before + 16)
    assert server.scrape()[0] == 200
    assert made[0].recv(1) == b""
    made[-1].sendall(ASK[10:])
    assert made[-1].recv(15) == b"HTTP/1.1 200 OK"
    for one_of_them in made:
        one_of_them.close()


@pytest.mark.parametrize("kind", ["127.0.0.1:0", "path"])
def test_waits_for_none(isolator: Path, laid_out: Path, tmp_path: Path, kind: str) -> None:
    """No call waits for one client, which may be gone by then."""
    with serving(isolator, tmp_path / "socket" if kind == "path" else kind, "--proc",
                 laid_out / "quiet") as server:
        before = descriptors(server.process.pid)
        with server.connect():
            _until_open(server, before + 1)
            process = Path(f"/proc/{server.process.pid}")
            flags = [int(re.findall(r"^flags:\s+([0-7]+)$", (process / "fdinfo" / fd.name)
                                    .read_text(), re.MULTILINE)[0], 8)
                     for fd in (process / "fd").iterdir()
                     if os.readlink(fd).startswith("socket:") and int(fd.name) > 2]
        assert len(flags) == 2 and all(flag & os.O_NONBLOCK and flag & os.O_CLOEXEC
                                       for flag in flags)


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


@pytest.mark.parametrize("crowd", [0, 14])
def test_no_more_files(isolator: Path, laid_out: Path, crowd: int) -> None:
    """Without a descriptor for one more, or for poll(2), it neither ends nor spins."""
    with serving(isolator, "127.0.0.1:0", "--proc", laid_out / "quiet") as server, \
            contextlib.ExitStack() as silent:
        before = descriptors(server.process.pid)
        for _ in range(crowd):
            silent.enter_context(server.connect())
        _until_open(server, before + crowd)
        used = max(int(fd) for fd in os.listdir(f"/proc/{server.process.pid}/fd")) + 1
        limits = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used, limits[1]))
        with server.connect() as waiting:
            waiting.sendall(ASK)
            # However little it gets of a CPU: one that spins never sleeps.
            stop = time.monotonic() + 4
            asleep = 0
            while asleep < 3 and time.monotonic() < stop:
                time.sleep(0.1)
                state = Path(f"/proc/{server.process.pid}/stat").read_text()
                asleep += state.rpartition(")")[2].split()[0] == "S"
            assert asleep == 3
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


HOSTS = [
    ("evil.example", 421), ("evil.example:9971", 421), ("127.0.0.1.evil.example", 421), ("x", 421),
    ("localhost.evil.example", 421), ("[evil.example]", 421), ("[::1", 421), ("[::1]x", 421),
    ("::1", 421), ("9" * 100, 421), ("0x7f000001", 421), ("127.1", 421),
    ("localhost", 200), ("LocalHost:9971", 200), ("127.0.0.1", 200), ("127.9.8.7:1", 200),
    ("[::1]", 200), ("[::1]:9971", 200), ("192.0.2.1", 200), ("", 200)]


@pytest.mark.parametrize(("host", "status"), HOSTS)
def test_by_what_name(server: Server, host: str, status: int) -> None:
    """A page that a browser loaded by a name which then leads here asks by that name."""
    for head in (f"Host: {host}", f"HOST:{host} \t", f"Host: localhost\r\nhost:\t{host}"):
        answer = server.ask(f"GET /metrics HTTP/1.1\r\n{head}\r\n\r\n".encode())
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()), head
        assert (b"isolator_" in answer) == (status == 200)
        assert status == 200 or b"localhost" in answer


def test_by_any_name_where_others_may_ask(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """Which names lead there it cannot know; and no page asks a path."""
    for words in (("0.0.0.0:0", "--remote"), (tmp_path / "socket",)):
        with serving(isolator, *words, "--proc", laid_out / "quiet") as server:
            assert b"200 OK" in server.ask(b"GET /metrics HTTP/1.1\r\nHost: node7\r\n\r\n")
            server.end(signal.SIGTERM)


@pytest.mark.parametrize("words", [(), ("--no-names",)])
def test_names_for_every_user(isolator: Path, laid_out: Path, words: tuple[str, ...]) -> None:
    """Of what root sees, it is said who else sees it now."""
    with serving(isolator, "127.0.0.1:0", "--proc", laid_out / "busy", *words) as server:
        server.end(signal.SIGTERM)
    warns = "warning: every user of this machine sees the names" in server.said
    assert warns == (os.geteuid() == 0 and not words)


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "126.1.2.3:0", "[::ffff:127.0.0.1]:0",
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
    ("[]:1", "--socket wants"), ("[:1", "--socket wants"), ("[::1:1", "--socket wants"),
    ("1" * 300 + ":1", "--socket wants"), ("./" + "x" * 106, "too long"),
    ("./" + "x" * 200, "too long"), ("./no/socket", "make its directory"),
    ("./file", "is there and no socket"), ("./link", "is there and no socket"),
    (".//", "is there and no socket"), ("192.0.2.1:0 --remote", "none of this machine's")])
def test_bad_addresses(isolator: Path, tmp_path: Path, address: str, says: str) -> None:
    """An error that says which there are, and leaves all as it was."""
    (tmp_path / "file").write_text("x")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead"))
    (tmp_path / "link").symlink_to("dead")
    done = export(isolator, "--socket", *address.split(" "), code=1, cwd=tmp_path)
    assert says in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["dead", "file", "link"]


def test_longest_path(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """As long as a socket's may be."""
    path = "./" + "x" * 105
    with serving(isolator, path, "--proc", laid_out / "quiet", cwd=tmp_path) as server:
        assert (tmp_path / path).is_socket()
        server.end(signal.SIGTERM)
        assert server.code == 0 and not (tmp_path / path).exists()


def test_only_version_6(isolator: Path, laid_out: Path) -> None:
    """An address of IPv6 lets nobody in by IPv4."""
    with serving(isolator, "[::]:0", "--remote", "--proc", laid_out / "quiet") as server, \
            pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.8.7.6", server.pair()[1]))


def test_again_at_once(isolator: Path, laid_out: Path) -> None:
    """A port can be taken again while its last connections are not forgotten yet."""
    address = "127.9.8.7:0"
    for _ in range(2):
        with serving(isolator, address, "--proc", laid_out / "quiet") as server:
            assert server.scrape()[0] == 200
            server.end(signal.SIGTERM)
            assert server.code == 0
        address = server.address


def test_signal_at_once(frail: Path, laid_out: Path, tmp_path: Path) -> None:
    """One that comes before it sleeps for the first time ends it, and leaves nothing."""
    for call in ("listen", "ppoll"):
        done = export(frail, "--socket", tmp_path / "socket", "--proc", laid_out / "quiet",
                      env={**os.environ, "ENDS": call})
        assert "listening at" in done.stderr and not (tmp_path / "socket").exists()


def test_cannot_listen(frail: Path, laid_out: Path, tmp_path: Path) -> None:
    """The path that it has made by then is removed."""
    done = export(frail, "--socket", tmp_path / "socket", "--proc", laid_out / "quiet", code=1,
                  env={**os.environ, "FAILS": "listen"})
    assert "cannot listen" in done.stderr and not (tmp_path / "socket").exists()


def test_taken(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """A port or a path at which another one listens; the other one goes on."""
    for address in ("127.0.0.1:0", str(tmp_path / "socket")):
        with serving(isolator, address, "--proc", laid_out / "quiet") as server:
            done = export(isolator, "--socket", server.address, code=1)
            assert "choose another" in done.stderr
            assert server.scrape()[0] == 200
            server.end(signal.SIGTERM)
            assert server.code == 0


def test_taken_and_busy(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """One that does not answer at the moment lives, too."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as busy, contextlib.ExitStack() as waiting:
        busy.bind(str(path))
        busy.listen(0)
        with pytest.raises(BlockingIOError):
            while True:
                made = waiting.enter_context(socket.socket(socket.AF_UNIX))
                made.setblocking(False)
                made.connect(str(path))
        done = export(isolator, "--socket", path, "--proc", laid_out / "quiet", code=1)
        assert "another program listens" in done.stderr and path.is_socket()


def test_no_permission(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """One that was left behind where this user may remove nothing, and make nothing."""
    program = copy_for_all(isolator, laid_out)
    directory = tmp_path / "directory"
    directory.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(directory / "dead"))
    (directory / "dead").chmod(0o777)
    directory.chmod(0o555)
    for name in ("dead", "new"):
        done = export(program, "--socket", directory / name, "--proc", laid_out / "quiet",
                      code=1, **NOBODY)
        assert "a directory that this user may write to" in done.stderr
    assert os.listdir(directory) == ["dead"]


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
