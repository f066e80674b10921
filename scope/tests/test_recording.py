# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings: whole up to the last entry, whenever the writer was killed."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from isolator_scope.errors import Inconclusive, ScopeError
from isolator_scope.instrument import Instrument
from isolator_scope.recording import HEAD, MAGIC, Kind, Reader, Recording, being_written, pack
from scope_runs import record, until
from sim.model import Faults
from waiting import PATIENCE_S


def filled(path: Path, count: int, seed: int = 1) -> list[bytes]:
    """A recording of random entries."""
    dice = random.Random(seed)
    contents = [dice.randbytes(dice.randrange(60)) for _ in range(count)]
    made = Recording(path)
    for number, content in enumerate(contents):
        made.append(Kind.FRAME, content, number)
    made.close()
    return contents


def read(path: Path) -> list[bytes]:
    """What is in it."""
    return [entry.content for entry in Reader(path) if entry.kind == Kind.FRAME]


def test_cut_anywhere(tmp_path: Path) -> None:
    """Each entry before the cut is there, no other; what is torn is cut off and said."""
    path = tmp_path / "a.scope"
    contents = filled(path, 4)
    whole = path.read_bytes()
    ends = [entry.end for entry in Reader(path)]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        made = Recording(path)
        kept = sum(end <= size for end in ends)
        good = max([len(MAGIC), *(end for end in ends if end <= size)])
        assert made.cut == (size - good if size >= len(MAGIC) else 0)
        made.append(Kind.FRAME, b"after", 99)
        made.close()
        assert read(path) == [*contents[:kept], b"after"]


def test_zeros_at_the_end(tmp_path: Path) -> None:
    """What the power took before it was written."""
    path = tmp_path / "a.scope"
    contents = filled(path, 3)
    with path.open("ab") as file:
        file.write(bytes(5000))
    made = Recording(path)
    assert made.cut == 5000
    made.close()
    assert read(path) == contents


def test_damaged_in_the_middle(tmp_path: Path) -> None:
    """It is replayed up to there, and never cut off: what follows may be whole."""
    path = tmp_path / "a.scope"
    contents = filled(path, 12)
    entry = list(Reader(path))[4]
    raw = bytearray(path.read_bytes())
    raw[entry.begin + HEAD.size + 1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(Inconclusive, match=f"damaged at byte {entry.begin}"):
        Recording(path)
    assert path.read_bytes() == raw and read(path) == contents[:4]


def test_every_damaged_byte_is_seen(tmp_path: Path) -> None:
    """None of an entry's bytes can change unseen."""
    path = tmp_path / "a.scope"
    contents = filled(path, 3)
    whole = path.read_bytes()
    for place in range(len(MAGIC), len(whole)):
        raw = bytearray(whole)
        raw[place] ^= 0x10
        path.write_bytes(raw)
        assert len(read(path)) < len(contents)


def test_not_a_recording(tmp_path: Path) -> None:
    """It is left as it is."""
    path = tmp_path / "a.txt"
    path.write_text("a text that is longer than the magic")
    with pytest.raises(ScopeError, match="not a recording"):
        Recording(path)
    path.write_text("short")
    with pytest.raises(ScopeError, match="not a recording"):
        Recording(path)
    assert path.read_text() == "short"
    with pytest.raises(ScopeError, match="No such file"):
        Reader(tmp_path / "none")
    with pytest.raises(ScopeError, match="No such file"):
        Recording(tmp_path / "none" / "a.scope")


def test_one_writer(tmp_path: Path) -> None:
    """A second one is refused; readers are not."""
    path = tmp_path / "a.scope"
    made = Recording(path)
    assert being_written(path)
    with pytest.raises(ScopeError, match="another program writes it"):
        Recording(path)
    made.append(Kind.FRAME, b"x")
    assert read(path) == [b"x"]
    made.close()
    assert not being_written(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_disk_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that says so; the entry is not half there."""
    path = tmp_path / "a.scope"
    made = Recording(path)
    made.append(Kind.FRAME, b"whole")
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, data: real(file, data[:10]))
        with pytest.raises(ScopeError, match="no space left"):
            made.append(Kind.FRAME, b"half of it")
    made.append(Kind.FRAME, b"next")
    made.close()
    assert read(path) == [b"whole", b"next"]


WRITER = """
import sys
from pathlib import Path
from isolator_scope.recording import Kind, Recording
made = Recording(Path(sys.argv[1]))
for number in range(10**9):
    made.append(Kind.FRAME, b"%d" % number * 50, number)
    if number == 200:
        made.sync()
        print("synced", flush=True)
"""


@pytest.mark.parametrize("seed", range(3))
def test_killed(tmp_path: Path, seed: int) -> None:
    """kill -9 at any moment: all that was written is there, in order."""
    path = tmp_path / "a.scope"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == b"synced\n"
        time.sleep(random.Random(seed).uniform(0, 0.05))  # sleep: to any moment
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    contents = read(path)
    assert len(contents) > 200
    assert contents == [b"%d" % number * 50 for number in range(len(contents))]
    Recording(path).close()
    assert read(path) == contents


def test_replay_is_the_run(tmp_path: Path) -> None:
    """The account out of a recording is the account of the run, at any speed."""
    path = tmp_path / "a.scope"
    faults = Faults(missing=0.02, late=0.01, stray=0.01)
    made = asyncio.run(record(path, 2000, faults=faults))

    async def replay(speed: float) -> Instrument:
        instrument = Instrument(path, live=False)
        await instrument.replay(speed)
        return instrument

    for speed in (0.0, 50.0):
        again = asyncio.run(replay(speed))
        assert again.account.triggers == 2000 and again.account.agrees()
        assert again.account.lines[0].missing == made.target.truth[0].missing
        assert again.events[-1].event == "ended"


def test_replay_while_it_is_written(tmp_path: Path) -> None:
    """It follows, and ends when the writer does."""
    source, path = tmp_path / "a.scope", tmp_path / "b.scope"
    asyncio.run(record(source, 500, packet=10))

    async def follow() -> None:
        writer = Recording(path)
        instrument = Instrument(path, live=False)
        task = asyncio.create_task(instrument.replay(0))
        entries = list(Reader(source))
        for number, entry in enumerate(entries):
            writer.append(entry.kind, entry.content, entry.at)
            if number == len(entries) // 2:
                await until(lambda: instrument.replayed == writer.written)
                assert 0 < instrument.account.triggers < 500 and not task.done()
        writer.close()
        await asyncio.wait_for(task, PATIENCE_S)
        assert instrument.account.triggers == 500

    asyncio.run(follow())


def test_replay_of_a_torn_one(tmp_path: Path) -> None:
    """It says so; a damaged one is no result."""
    path = tmp_path / "a.scope"
    asyncio.run(record(path, 300, packet=10))
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    torn = Instrument(path, live=False)
    asyncio.run(torn.replay(0))
    assert torn.events[-1].event == "torn at its end" and not torn.account.doubts()
    raw = bytearray(whole)
    raw[len(raw) // 3] ^= 1
    path.write_bytes(raw)
    damaged = Instrument(path, live=False)
    asyncio.run(damaged.replay(0))
    assert damaged.events[-1].event.startswith("damaged at byte") and damaged.account.doubts()


@pytest.mark.parametrize("content", [b"", b"\0{}", b"\xff", b"{", b"[" * 20_000, b"9" * 9000])
def test_notes_that_are_no_json(tmp_path: Path, content: bytes) -> None:
    """The checksum says that it was written so: what it is of is replayed all the same."""
    path = tmp_path / "a.scope"
    path.write_bytes(MAGIC + pack(Kind.NOTE, content, 7) + pack(Kind.NOTE, b'{"event": "cut"}', 9))
    instrument = Instrument(path, live=False)
    asyncio.run(instrument.replay(0))
    assert [one.event for one in instrument.events] == ["", "cut"]
