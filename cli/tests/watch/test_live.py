# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator watch as it runs: intervals, how it ends, and its screen."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from clitest import NOBODY, PATIENCE_S, Terminal, capture, swap, valid, waits
from waiting import until
from watchtest import Counts, Files, later, lay

GIVE = "\033[0m\033[?25h\033[?1049l"


class Machine:
    """A directory whose files are those of another moment whenever it is told so."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.root = directory, directory / "root"
        self.files: Files = capture("watch-x86")
        self.number = 0
        self.come({})

    def come(self, more: Counts) -> None:
        """All at once; a reader sees the one moment or the other."""
        self.number += 1
        self.files = later(self.files, more)
        swap(self.root, lay(self.files, self.directory / str(self.number)))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A recorded one."""
    return Machine(tmp_path)


def watch(isolator: Path, *arguments: str | Path, **how: Any) -> subprocess.CompletedProcess[str]:
    """To its end."""
    return subprocess.run([isolator, "watch", *arguments], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S, **how)


def _start(isolator: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    """Until it has looked once, and waits."""
    process = subprocess.Popen([isolator, "watch", *arguments], stdout=subprocess.PIPE, text=True)
    until(lambda: waits(process.pid))
    return process


def test_intervals(isolator: Path, machine: Machine) -> None:
    """Each has what came in it alone, a second of the time that it really took."""
    process = _start(isolator, "--root", machine.root, "-c", "1", "--json", "--interval", "0.2")
    lines = []

    def hits() -> int:
        """Those of the next interval."""
        assert process.stdout
        lines.append(process.stdout.readline())
        found: int = json.loads(lines[-1])["hits"]
        return found

    for more in (7, 30):
        machine.come({"LOC": {1: more}})
        # Whenever it looks, all of it came in one.
        assert next(found for _ in range(300) if (found := hits())) == more and not hits()
    process.send_signal(signal.SIGINT)
    lines += process.communicate(timeout=PATIENCE_S)[0].splitlines()
    assert process.returncode == 0
    documents = [valid("watch", line) for line in lines]
    assert sum(d["hits"] for d in documents) == 37
    for document in documents:
        # Looks have their times: after one that came late the interval is shorter.
        assert 0 < document["seconds"] < PATIENCE_S
        # Both are rounded, to thousandths.
        seconds, half = document["seconds"], .0005
        assert document["count"] / (seconds + half) - half <= document["rate"] \
            <= document["count"] / (seconds - half) + half
    stamps = [d["monotonic_ns"] for d in documents]
    assert stamps == sorted(stamps) and len(set(stamps)) == len(stamps)


def test_this_machine(isolator: Path) -> None:
    """One interval is what a pipe gets; its own clock has ticked meanwhile."""
    done = watch(isolator, "--json", "-c", "0")
    assert done.returncode == 0 and done.stdout.count("\n") == 1 and not done.stderr
    document = valid("watch", done.stdout)
    assert document["seconds"] > 0.9 and document["count"] > 0
    assert document["kernel"] == os.uname().release and document["root"] == "/"
    # What the kernel had counted before and after encloses it.
    before = Path("/proc/interrupts").read_text()
    done = watch(isolator, "--json", "-n", "1", "--interval", "0.2")
    after = Path("/proc/interrupts").read_text()

    def total(text: str) -> int:
        cpus = text.splitlines()[0].count("CPU")
        return sum(int(n) for line in text.splitlines()[1:]
                   for n in line.split(":", 1)[1].split()[:cpus] if n.isdigit())

    assert 0 < valid("watch", done.stdout)["count"] <= total(after) - total(before)


def test_for(isolator: Path, machine: Machine) -> None:
    """It ends when its time is over, and the last interval is as long as is left."""
    done = watch(isolator, "--root", machine.root, "--json", "-t", "0.5", "--interval", "0.3")
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and 1 <= len(documents) <= 2
    assert sum(d["seconds"] for d in documents) > 0.45
    done = watch(isolator, "--root", machine.root, "--json", "-t", "0.1", "--interval", "600")
    assert done.returncode == 0 and done.stdout.count("\n") == 1


def test_a_limit_that_was_exceeded_stays_so(isolator: Path, machine: Machine) -> None:
    """Quiet intervals afterwards do not make it 0, and neither does Ctrl-C."""
    process = _start(isolator, "--root", machine.root, "-c", "1", "--json", "--max-rate", "5",
                     "--interval", "0.5")
    assert process.stdout
    machine.come({"LOC": {1: 100000}})
    # Intervals may have ended before it came.
    verdicts = ["pass"]
    while "exceeded" not in verdicts[:-2]:
        verdicts.append(valid("watch", process.stdout.readline())["limit"]["verdict"])
        assert len(verdicts) < 100
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2 and verdicts[-3:] == ["exceeded", "pass", "pass"]
    assert verdicts.count("exceeded") == 1


def test_exit_codes(isolator: Path, machine: Machine) -> None:
    """0, 2 and 3 of a limit; the words say the same."""
    how: tuple[str | Path, ...] = ("--root", machine.root, "-n", "1", "--interval", "0.1")
    assert watch(isolator, *how).returncode == 0
    done = watch(isolator, *how, "--max-rate", "0", "-c", "1")
    assert done.returncode == 0 and "Limit of 0 hits a second: not exceeded" in done.stdout
    done = watch(isolator, *how, "--max-rate", "0")
    assert done.returncode == 3 and "inconclusive" in done.stdout
    done = watch(isolator, *how, "--max-rate", "0", "-c", "1,7")
    assert done.returncode == 1 and "-c: 7 not online; online are 0-1" in done.stderr


def test_a_limit_without_an_interval_is_inconclusive(isolator: Path, machine: Machine) -> None:
    """It was ended before it saw anything."""
    process = _start(isolator, "--root", machine.root, "-c", "1", "--max-rate", "5",
                     "--interval", "600")
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 3


@pytest.mark.parametrize(("arguments", "words"), [
    (("-c", "x"), "is not a list of CPUs"), (("--interval", "0"), "is not a time above 0"),
    (("-n", "0"), "is not a whole number of at least 1"), (("-t", "-1"), "is not a time"),
    (("--max-rate", "-1"), "is not a whole number of at least 0"),
    (("now",), "unexpected argument"),
    (("--root", "/nowhere"), "--root /nowhere: No such file"),
    (("--root", "/dev"), "cannot read /dev/proc/interrupts, so there is nothing to watch: "
     "No such file or directory: does --root name a recorded machine?"),
])
def test_errors(isolator: Path, arguments: tuple[str, ...], words: str) -> None:
    """They say what to do, and nothing is shown."""
    done = watch(isolator, *arguments)
    assert done.returncode == 1 and words in " ".join(done.stderr.split()) and not done.stdout


def test_a_file_that_goes_away(isolator: Path, machine: Machine) -> None:
    """What can no longer be read ends it with an error, after what was shown."""
    process = subprocess.Popen(
        [isolator, "watch", "--root", machine.root, "--json", "--interval", "0.5"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    valid("watch", process.stdout.readline())
    empty = machine.directory / "empty"
    empty.mkdir()
    swap(machine.root, empty)
    out, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1 and "there is nothing to watch" in " ".join(error.split())


def test_steps_aside(isolator: Path) -> None:
    """It does not run where nothing shall run, so what it shows is not its own."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one CPU: there is no other to go to")
    process = _start(isolator, "-c", str(cpus[0]), "-n", "2", "--json")
    assert process.stdout
    process.stdout.readline()
    assert os.sched_getaffinity(process.pid) == set(cpus[1:])
    assert process.wait(PATIENCE_S) == 0
    assert sorted(os.sched_getaffinity(0)) == cpus


def test_unprivileged(isolator: Path, tmp_path: Path) -> None:
    """Anybody may run it; what they cannot read is said."""
    done = watch(isolator, "--json", "-n", "1", "--interval", "1", "-c", "0",
                 **NOBODY)
    assert done.returncode == 0, done.stderr
    document = valid("watch", done.stdout)
    assert document["count"] > 0
    assert all(f["why"] == "Permission denied" for f in document["unread"])
    assert not any(r["route"] and r["route"]["unread"] for r in document["interrupts"])


def _open(isolator: Path, machine: Machine, interval: str = "0.2",
          **environment: str) -> Terminal:
    return Terminal(30, 100, {"TERM": "xterm", "NO_COLOR": "1", **environment}, isolator, "watch",
                    "--root", machine.root, "-c", "1", "--interval", interval)


def _press(terminal: Terminal, key: bytes, pattern: str) -> None:
    """@key, and a line that matches; as it may be paused, others that do nothing draw anew."""
    def shown() -> bool:
        terminal.until("\033[J", terminal.text.count("\033[J") + 1)
        if any(re.search(pattern, line) for line in terminal.screen()):
            return True
        terminal.type(b"x")
        return False

    terminal.type(key)
    until(shown, terminal.screen)


def test_keys(isolator: Path, machine: Machine) -> None:
    """Pages, a choice, a pause; the terminal is left as it was."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.1):
            machine.come({"LOC": {0: 5, 1: 90}, "42": {1: 30}})

    worker = threading.Thread(target=work)
    terminal = _open(isolator, machine, interval="0.5")
    terminal.until("The first interval has not ended yet.")
    worker.start()
    try:
        while True:
            terminal.until_line(r"^>! +\d+\.\d +\d+\.\d +LOC ")
            _press(terminal, b"p", "  interrupts  PAUSED$")
            if any(" LOC " in line for line in terminal.screen()):
                break
            # The work stood still: it paused behind an interval in which nothing came.
            _press(terminal, b"p", "  interrupts$")
    finally:
        over.set()
        worker.join()
    _press(terminal, b"\033[B", "^    echo 0 > /proc/irq/42/smp_affinity_list$")
    for key, head in ((b"s", "softirqs"), (b"l", "classes"), (b"c", "CPUs"), (b"i", "interrupts")):
        _press(terminal, key, f"  {head}  PAUSED$")
    # Nothing is read meanwhile: intervals in which nothing came would show nothing.
    woken = _switches(terminal.pid)
    until(lambda: _switches(terminal.pid) > woken + 1)
    _press(terminal, b"x", "PAUSED$")
    assert any(" LOC " in line for line in terminal.screen())
    assert terminal.end(b"q") == 0
    assert terminal.text.rindex(GIVE) > terminal.text.rindex("\033[H")
    assert terminal.after == terminal.before


def _switches(pid: int) -> int:
    """How often it slept, which it does once an interval where nobody types."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:", 1)[1].split()[0])


def _fits(terminal: Terminal, rows: int, columns: int) -> bool:
    """The last whole screen."""
    lines = terminal.text.split("\033[H")[-2].split("\r\n")
    return len(lines) <= rows and \
        max(len(line.replace("\033[K", "")) for line in lines[:-1]) <= columns


def test_sizes(isolator: Path, machine: Machine) -> None:
    """Nothing is wider or higher than the terminal."""
    terminal = _open(isolator, machine)
    terminal.until_line("^2|^0.|^1")
    machine.come({"LOC": {1: 90}, "42": {1: 30}, "36": {1: 4}})
    for rows, columns in ((8, 40), (50, 200), (3, 10), (2, 1), (24, 80)):
        terminal.resize(rows, columns)
        # Those that nobody had read by then are of the size before.
        stop = time.monotonic() + PATIENCE_S
        while not _fits(terminal, rows, columns):
            assert time.monotonic() < stop, terminal.screen()
            terminal.until("\033[J", terminal.text.count("\033[J") + 1)
        for _ in range(2):
            terminal.until("\033[J", terminal.text.count("\033[J") + 1)
            assert _fits(terminal, rows, columns), terminal.screen()
    assert terminal.end(b"q") == 0


def test_lines_where_there_is_no_screen(isolator: Path, machine: Machine) -> None:
    """On a terminal that cannot be written over, and with another standard input."""
    terminal = Terminal(30, 200, {"TERM": "dumb"}, isolator, "watch", "--root", machine.root,
                        "--interval", "0.1", "-n", "2")
    terminal.until("interrupts by class")
    assert terminal.end(b"") == 0 and "\033" not in terminal.text
    done = watch(isolator, "--root", machine.root, "-n", "2", "--interval", "0.05")
    assert done.returncode == 0 and len(re.findall(r"^\d+\.\d+ s: ", done.stdout, re.M)) == 2
