# SPDX-License-Identifier: GPL-2.0-or-later
"""What a generator or a recording says cannot steer the terminal, and never ends in a traceback."""

import asyncio
import contextlib
import json
import re
import socket
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from isolator_scope import checkpoint
from isolator_scope.cli import main
from isolator_scope.document import duration
from isolator_scope.errors import ERROR, INCONCLUSIVE, ScopeError
from isolator_scope.index import MOST, Index
from isolator_scope.instrument import TOLD, Instrument
from isolator_scope.protocol import (
    Ack,
    Calibrate,
    FrameReader,
    Hello,
    Message,
    Packet,
    Welcome,
    encode,
)
from isolator_scope.recording import Kind, Recording
from scope_runs import write

EVIL = "\x1b]0;owned\x07\x9b2J\x7f\u202etxt\u2066\r\nisolator-scope: done"


def steers(text: str) -> bool:
    """Anything but letters and line ends?"""
    return bool(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text))


@contextlib.contextmanager
def saying(*messages: Message) -> Iterator[int]:
    """A generator that says the first to everybody, and the others after a command; its port."""
    first, *others = (encode(one, number) for number, one in enumerate(messages))
    with socket.create_server(("127.0.0.1", 0)) as server:
        def talk(peer: socket.socket) -> None:
            with contextlib.suppress(OSError), peer:
                peer.sendall(first)
                came, reader = 0, FrameReader()
                while data := peer.recv(1 << 16):
                    came += len(list(reader.feed(data)))
                    if came > 1 and others:  # after its HELLO
                        peer.sendall(others.pop(0))

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    talk(server.accept()[0])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


WELCOME = Welcome(1, 7, 0, 0, 40, 1, ("irq",))


@pytest.mark.parametrize(("messages", "said"), [
    ((Ack(0, Hello.TYPE, 1, EVIL),), "owned"), ((Ack(0, Hello.TYPE, 9, ""),), "status 9"),
    ((WELCOME, Ack(1, Calibrate.TYPE, 1, EVIL)), "owned"),
    ((WELCOME, Ack(1, Calibrate.TYPE, 9, "")), "status 9"),
])
def test_a_generator_that_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                  messages: tuple[Message, ...], said: str) -> None:
    """In its own words, in one line; or by a status that the protocol does not have."""
    with saying(*messages) as port:
        code = main(["record", "--connect", f"127.0.0.1:{port}", "-o", str(tmp_path / "a.scope"),
                     "--time", "1s"])
    err = capsys.readouterr().err
    assert code == ERROR and said in err
    assert not steers(err) and all(line.startswith("isolator-scope: ")
                                   for line in err.splitlines())


def test_notes_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its events and its runs' names; and no more of them than is looked at."""
    path = tmp_path / "a.scope"
    recording = Recording(path)
    recording.note(event=EVIL, why=EVIL)
    recording.note(event="run", name=EVIL + "x" * 10_000, why="y" * 10_000)
    recording.note(event="mark", text="z" * 10_000, of=5)
    recording.close()
    assert main(["replay", str(path)]) == INCONCLUSIVE
    out, err = capsys.readouterr()
    assert err.count("owned") > 2 and err.count("\n") == 3 and not steers(out + err)
    assert main(["export", str(path)]) == INCONCLUSIVE
    out = capsys.readouterr().out
    assert "owned" in out and not steers(out) and json.loads(out)
    host = Instrument(path, live=True)
    assert max(len(one.words) for one in host.events) == TOLD == len(host.marks[0][1])
    assert len(host.account.run.name) == TOLD
    host.close()


@pytest.mark.parametrize("depth", [100, 300, *range(900, 1000, 7)])
def test_a_note_without_end(tmp_path: Path, depth: int) -> None:
    """Nested so deep that it can be read, and not be said."""
    recording = Recording(tmp_path / "a.scope")
    for inside in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        recording.append(Kind.NOTE, f'{{"event": "x", "a": {inside}}}'.encode(), 3)
    recording.close()
    Instrument(tmp_path / "a.scope", live=True).close()


def test_errors_name_the_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a frame that is none, and of counts that no document holds."""
    path = tmp_path / "a.scope"
    recording = Recording(path)
    recording.append(Kind.FRAME, b"short", 3)
    recording.close()
    for words in (["replay"], ["export", "--format", "csv"]):
        assert main([*words, str(path)]) == ERROR
        assert "a.scope: it holds a frame without a head" in capsys.readouterr().err
    path.unlink()
    recording = Recording(path)
    for session in range(1, 8):
        recording.append(Kind.FRAME, encode(Welcome(1, session, (1 << 62) - 2, 0, 40, 1), 0), 3)
    recording.append(Kind.FRAME, encode(Packet((1 << 62) - 2, 0), 0), 3)
    recording.close()
    assert main(["replay", str(path)]) in (ERROR, INCONCLUSIVE)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [
    ["--time", "9" * 400 + "s"], ["--burst", "9" * 5000], ["--limit", f"max={'9' * 400}s"]])
def test_numbers_without_end(words: list[str], tmp_path: Path,
                             capsys: pytest.CaptureFixture[str]) -> None:
    """An error, also where a float ends."""
    assert main(["record", "--connect", "127.0.0.1:1", "-o", str(tmp_path / "a.scope"),
                 *words]) == ERROR
    assert capsys.readouterr().err.startswith("isolator-scope: 9")
    assert duration("24h") == 86_400 * 10**9
    with pytest.raises(ScopeError, match="than a clock can count"):
        duration(f"{1 << 62}ns")


def test_what_the_system_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path / ("a" * 300))]) == ERROR
    assert "File name too long" in capsys.readouterr().err


def opened(path: Path) -> Instrument:
    """With its index."""
    return Instrument(path, live=False, indexed=True)


def read(path: Path) -> Instrument:
    """All of it, so that the index has a checkpoint."""
    made = opened(path)
    made.ready = False
    asyncio.run(made.catch_up())
    return made


@pytest.mark.parametrize("name", ["marks", "lock", "checkpoint.new", "columns-3-1", ""])
def test_an_index_that_leads_away(tmp_path: Path, name: str) -> None:
    """It may have come with the recording: nothing is written, or cut off, elsewhere."""
    path, folder = tmp_path / "a.scope", tmp_path / "a.scope.index"
    write(path, 10)
    other = tmp_path / "other"
    if name:
        folder.mkdir()
        other.write_text("mine")
        (folder / name).symlink_to(other)
    else:
        other.mkdir()
        folder.symlink_to(other)
    read(path).close()
    assert other.read_text() == "mine" if name else not list(other.iterdir())


@pytest.mark.parametrize("name", ["columns-a-b", "columns-3-1-2", "columns-3-99999", "columns-9-1"])
def test_an_index_with_other_files(tmp_path: Path, name: str) -> None:
    """They are left alone."""
    path = tmp_path / "a.scope"
    write(path, 10)
    (tmp_path / "a.scope.index").mkdir()
    (tmp_path / "a.scope.index" / name).write_text("mine")
    opened(path).close()
    assert (tmp_path / "a.scope.index" / name).read_text() == "mine"


@pytest.mark.parametrize("text", [
    "[]", '{"version": 1}', "[" * 50_000, '{"version": 1, "rows": [], "done": []}',
    '{"version": 1, "rows": {"marks": Infinity}, "done": []}',
    '{"version": 1, "rows": {}, "done": [1], "place": 0, "seal": 0}'])
def test_checkpoints_that_are_none(tmp_path: Path, text: str) -> None:
    """It begins anew."""
    index = Index(tmp_path / "a.scope")
    (index.folder / "checkpoint").write_bytes(zlib.compress(text.encode()))
    assert index.restore() is None
    index.close()


def test_a_checkpoint_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    """No more of it is read than one can have; and of an array, as it has elements."""
    index = Index(tmp_path / "a.scope")
    packer, zeros = zlib.compressobj(9), b" " * (1 << 20)
    packed = b"".join(packer.compress(zeros) for _ in range((MOST >> 20) + 1))
    (index.folder / "checkpoint").write_bytes(packed + packer.compress(b"{}") + packer.flush())
    assert index.restore() is None
    index.close()
    told = checkpoint._pack(checkpoint.array("q", [0]) * 4096)
    assert len(checkpoint._unpack(told, 4096)) == 4096
    with pytest.raises(ValueError, match=r"multiple|size"):
        checkpoint._unpack(told, 10)


@pytest.mark.parametrize("change", [
    {"state": "AAAA"}, {"welcome": ""}, {"runs": [[]]}, {"trail": {"levels": []}}, {"recent": 1}])
def test_accounts_that_are_none(tmp_path: Path, change: dict[str, object]) -> None:
    """A checkpoint of the right recording with another content: it is read anew."""
    path = tmp_path / "a.scope"
    write(path, 10)
    made = read(path)
    triggers = made.account.triggers
    made.close()
    place = tmp_path / "a.scope.index" / "checkpoint"
    told = json.loads(zlib.decompress(place.read_bytes()))
    told["account"].update(change)
    place.write_bytes(zlib.compress(json.dumps(told).encode()))
    again = opened(path)
    assert again.replayed == 0 and again.account.triggers == 0 < triggers
    again.close()
