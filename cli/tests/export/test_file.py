# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator export -o FILE: whole or not at all, and nothing beside it."""

from __future__ import annotations

import fcntl
import os
import random
import re
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from clitest import NOBODY, PATIENCE_S, ROOT, copy_for_all, flat, swap
from exporttest import clean, export, one, parse, stock
from waiting import until


@pytest.fixture
def collector(tmp_path: Path) -> Path:
    """The directory that a collector reads."""
    directory = tmp_path / "collector"
    directory.mkdir()
    return directory


def test_once(isolator: Path, laid_out: Path, collector: Path) -> None:
    """In the format of the collector, for everybody, with nothing beside it."""
    path = collector / "isolator.prom"
    path.write_text("old\n")
    path.chmod(0o600)
    done = export(isolator, "--proc", laid_out / "busy", "-o", path, umask=0o077)
    assert not done.stdout and not done.stderr
    assert os.listdir(collector) == ["isolator.prom"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert one(parse(path.read_text()), "isolator_queued_total", cpu="1") == 58


def test_standard_output(isolator: Path, laid_out: Path, collector: Path) -> None:
    """- is no file, and what is meant where none is given."""
    for words in ((), ("-o", "-")):
        text = export(isolator, "--proc", laid_out / "busy", *words, cwd=collector).stdout
        assert one(parse(text), "isolator_queued_total", cpu="1") == 58
    assert not os.listdir(collector)


def test_in_this_directory(isolator: Path, laid_out: Path, collector: Path) -> None:
    """A name without a slash."""
    export(isolator, "--proc", laid_out / "busy", "-o", "i.prom", cwd=collector)
    assert os.listdir(collector) == ["i.prom"]


def test_stock_kernel(isolator: Path, collector: Path, tmp_path: Path) -> None:
    """A machine without Isolator has a file that says so."""
    done = export(isolator, "--root", stock(tmp_path / "root"), "-o", collector / "i.prom")
    assert "has no Isolator" in flat(done.stderr)
    assert one(parse((collector / "i.prom").read_text()), "isolator_available") == 0


def _writing(isolator: Path, proc: Path, path: Path, interval: str) -> subprocess.Popen[str]:
    return subprocess.Popen([isolator, "export", "--proc", proc, "-o", path,
                             "-i", interval], stderr=subprocess.PIPE, text=True)


def _until(path: Path, pattern: str) -> None:
    until(lambda: path.exists() and re.search(pattern, path.read_text(), re.MULTILINE))


def test_left_longer(isolator: Path, laid_out: Path, collector: Path) -> None:
    """Of what a killed one left beside it nothing stays, also where that was longer."""
    (collector / "i.prom.new").write_text("left behind\n" * 100_000)
    export(isolator, "--proc", laid_out / "busy", "-o", collector / "i.prom")
    assert "left behind" not in (collector / "i.prom").read_text()
    assert os.listdir(collector) == ["i.prom"]


def _frail(frail: Path, proc: Path, path: Path, code: int, *arguments: str, **how: str) -> str:
    """Where calls fail, or a signal comes (syscall_fails.c): what it says."""
    done = export(frail, "--proc", proc, "-o", path, *arguments, code=code,
                  env={**os.environ, **how})
    assert os.listdir(path.parent) == [path.name]
    return done.stderr


def test_on_the_disk(frail: Path, laid_out: Path, collector: Path, tmp_path: Path) -> None:
    """Its content is there before its name, and the name before it says that it is written."""
    calls = tmp_path / "calls"
    _frail(frail, laid_out / "busy", collector / "i.prom", 0, CALLS=str(calls))
    assert calls.read_text().splitlines() == [
        "fsync i.prom.new", "rename i.prom.new", "fsync collector", "close i.prom"]


@pytest.mark.parametrize(("call", "stays"), [
    ("fsync i.prom.new", True), ("rename i.prom.new", True),
    ("fsync collector", False), ("close i.prom", False)])
def test_disk_fails(frail: Path, laid_out: Path, collector: Path, call: str, stays: bool) -> None:
    """It is said; until the file has its name the old one stays."""
    path = collector / "i.prom"
    path.write_text("old 1\n")
    said = _frail(frail, laid_out / "busy", path, 1, FAILS=call)
    assert f"cannot write {path}: Input/output error" in flat(said)
    assert (path.read_text() == "old 1\n") == stays
    if not stays:
        parse(path.read_text())


@pytest.mark.parametrize("call", ["fsync i.prom.new", "rename", "fsync collector", "ppoll"])
def test_signal_waits(frail: Path, laid_out: Path, collector: Path, call: str) -> None:
    """One that comes while it writes, or just before it sleeps, ends it when all is whole."""
    path = collector / "i.prom"
    assert not _frail(frail, laid_out / "busy", path, 0, "-i", "1000", ENDS=call)
    assert one(parse(path.read_text()), "isolator_queued_total", cpu="1") == 58


def test_signal_at_the_first(isolator: Path, laid_out: Path, collector: Path) -> None:
    """While it reads for the first time, too."""
    senders = laid_out / "busy/senders"
    text = senders.read_bytes()
    senders.unlink()
    os.mkfifo(senders)
    process = _writing(isolator, laid_out / "busy", collector / "i.prom", "1000")
    with senders.open("wb") as out:  # which waits until it reads
        process.send_signal(signal.SIGTERM)
        out.write(text)
    said = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 0 and not said
    assert one(parse((collector / "i.prom").read_text()),
               "isolator_queued_total", cpu="1") == 58


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_again(isolator: Path, laid_out: Path, collector: Path, number: int) -> None:
    """It follows the kernel until a signal ends it, which is no error."""
    link, path = laid_out / "proc", collector / "i.prom"
    swap(link, laid_out / "busy")
    process = _writing(isolator, link, path, "0.05")
    _until(path, r'^isolator_queued_total{cpu="1"} 58$')
    swap(link, laid_out / "busy-later")
    _until(path, r'^isolator_queued_total{cpu="1"} 71$')
    process.send_signal(number)
    said = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 0 and not said
    assert os.listdir(collector) == ["i.prom"]


def test_again_until_it_cannot(isolator: Path, laid_out: Path, collector: Path) -> None:
    """What cannot be read any more is an error, and what was read before stays, with its time."""
    link, path = laid_out / "proc", collector / "i.prom"
    swap(link, laid_out / "busy")
    process = _writing(isolator, link, path, "0.05")
    _until(path, "isolator_queued_total")
    swap(link, laid_out / "nowhere")
    said = process.communicate(timeout=PATIENCE_S)[1]
    clean(said)
    assert process.returncode == 1 and "--proc must name" in said
    assert one(parse(path.read_text()), "isolator_sample_timestamp_seconds") > 0
    assert os.listdir(collector) == ["i.prom"]


def _written(path: Path) -> int:
    """When it was, in ns; 0: not yet."""
    return path.stat().st_mtime_ns if path.exists() else 0


def _until_written(path: Path, before: int) -> None:
    until(lambda: _written(path) != before)


def test_killed(plain: Path, laid_out: Path, collector: Path) -> None:
    """At whatever moment: who reads sees a whole text, and the next one takes over."""
    chance = random.Random(11)
    path = collector / "i.prom"
    left_behind = 0
    for number in range(120):
        before = _written(path)
        process = _writing(plain, laid_out / "busy", path, "0.0001")
        # Every other one has written already: a busy machine takes longer than that to begin.
        if number % 2:
            _until_written(path, before)
        stop = time.monotonic() + 0.004 + chance.random() * 0.02
        while time.monotonic() < stop:
            if path.exists():
                text = path.read_text()
                # The last line that it has.
                assert re.search(r'^isolator_sender_others{cpu="3",outcome="planned"} 0\n\Z', text,
                                 re.MULTILINE), text[-200:]
        process.kill()
        process.communicate()
        assert set(os.listdir(collector)) <= {"i.prom", "i.prom.new"}
        left_behind += (collector / "i.prom.new").exists()
    parse(path.read_text())
    # It has been killed while it wrote, too: else nothing is shown.
    assert left_behind
    export(plain, "--proc", laid_out / "busy", "-o", path)
    assert os.listdir(collector) == ["i.prom"]


def test_locked(isolator: Path, laid_out: Path, collector: Path) -> None:
    """One that another one writes at the moment is neither waited for nor touched."""
    with (collector / "i.prom.new").open("w") as beside:
        beside.write("half of")
        beside.flush()
        fcntl.flock(beside, fcntl.LOCK_EX)
        done = export(isolator, "--proc", laid_out / "busy", "-o", collector / "i.prom",
                      code=1)
    assert "another one writes" in flat(done.stderr)
    assert (collector / "i.prom.new").read_text() == "half of"


def _refused(isolator: Path, proc: Path, path: Path, says: str, **how: object) -> None:
    before = sorted(os.listdir(path.parent)) if path.parent.is_dir() else []
    done = export(isolator, "--proc", proc, "-o", path, code=1, **how)
    assert says in flat(done.stderr) and str(path) in done.stderr and not done.stdout
    assert (sorted(os.listdir(path.parent)) if path.parent.is_dir() else []) == before


def test_refused(isolator: Path, laid_out: Path, collector: Path) -> None:
    """An error that names the file, and leaves nothing."""
    (collector / "directory").mkdir()
    _refused(isolator, laid_out / "busy", collector / "directory", "Is a directory")
    _refused(isolator, laid_out / "busy", collector / "no/i.prom", "make its directory")
    _refused(isolator, laid_out / "busy", Path("/proc/self/i.prom"), "cannot make")
    _refused(isolator, laid_out / "busy", collector / ("n" * 255), "too long")


def test_not_overwritten(isolator: Path, laid_out: Path, collector: Path, tmp_path: Path) -> None:
    """What another one has put in its way is left alone: a link, a second name, a FIFO."""
    victim, beside = tmp_path / "victim", collector / "i.prom.new"
    victim.write_text("precious\n")
    beside.symlink_to(victim)
    _refused(isolator, laid_out / "busy", collector / "i.prom", "cannot make")
    beside.unlink()
    beside.hardlink_to(victim)
    _refused(isolator, laid_out / "busy", collector / "i.prom", "was not made by this command")
    beside.unlink()
    os.mkfifo(beside)
    _refused(isolator, laid_out / "busy", collector / "i.prom", "cannot make")
    reader = os.open(beside, os.O_RDONLY | os.O_NONBLOCK)
    _refused(isolator, laid_out / "busy", collector / "i.prom", "was not made by this command")
    os.close(reader)
    if ROOT:
        beside.unlink()
        beside.write_text("of somebody who still has it open\n")
        os.chown(beside, NOBODY["user"], NOBODY["group"])
        _refused(isolator, laid_out / "busy", collector / "i.prom",
                 "was not made by this command")
        assert beside.read_text() == "of somebody who still has it open\n"
    assert victim.read_text() == "precious\n"


def test_taken_away(frail: Path, laid_out: Path, collector: Path) -> None:
    """What another one gives its name to meanwhile is not emptied below who reads it."""
    path, beside = collector / "i.prom", collector / "i.prom.new"
    beside.write_text("of the other one\n")
    done = export(frail, "--proc", laid_out / "busy", "-o", path, code=1,
                  env={**os.environ, "MOVES": str(path)})
    assert "another command is replacing it" in done.stderr
    assert path.read_text() == "of the other one\n" and not beside.read_text()


def test_no_permission(isolator: Path, laid_out: Path, collector: Path) -> None:
    """A directory that this user may not write to."""
    program = copy_for_all(isolator, laid_out)
    collector.chmod(0o555)
    _refused(program, laid_out / "quiet", collector / "i.prom", "may write there", **NOBODY)
    assert not os.listdir(collector)


def test_no_room(isolator: Path, laid_out: Path, collector: Path) -> None:
    """A file that grows too large is an error, and the old one stays."""
    path = collector / "i.prom"
    path.write_text("old 1\n")
    done = subprocess.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"', "sh", isolator,
                           "export", "--proc", laid_out / "busy", "-o", path],
                          capture_output=True, text=True, check=False)
    clean(done.stderr)
    assert done.returncode == 1 and "cannot write" in flat(done.stderr)
    assert os.listdir(collector) == ["i.prom"] and path.read_text() == "old 1\n"
