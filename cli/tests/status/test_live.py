# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator status --live on a terminal: keys, sizes, and the terminal as it was afterwards."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from clitest import PATIENCE_S, Terminal, Tmux, swap
from waiting import until

TAKE, GIVE = "\033[?1049h\033[?25l", "\033[0m\033[?25h\033[?1049l"


def _open(isolator: Path, directory: Path, *more: str, rows: int = 30, columns: int = 100,
          interval: str = "0.05") -> Terminal:
    terminal = Terminal(rows, columns, {"TERM": "xterm", "NO_COLOR": "1"}, isolator, "status",
                        "--live", "--proc", directory, "--interval", interval, *more)
    terminal.until(TAKE)
    return terminal


def _left_alone(terminal: Terminal) -> None:
    """The page of before, the cursor, the settings."""
    assert terminal.text.rindex(GIVE) > terminal.text.rindex(TAKE)
    assert "\033[H" not in terminal.text[terminal.text.rindex(GIVE):]
    assert terminal.after == terminal.before


def test_shows(isolator: Path, laid_out: Path) -> None:
    """A line for each isolated CPU, and all of one of them."""
    terminal = _open(isolator, laid_out / "busy")
    terminal.until_line("^> +1 +user mode +0.0")  # not the first, which has no rates
    lines = terminal.screen()
    assert lines[0].startswith("isolator status  ") and lines[0].endswith("isolated 1,3")
    assert " ".join(lines[3].split()) == "> 1 user mode 0.0 0.0 0.0 2 1 100 ms"
    assert lines[4].split()[:3] == ["3", "the", "kernel"]
    assert any(line.startswith("CPU 1: isolated, in user mode; deadline 1 s") for line in lines)
    assert any("kworker/1:1: thread" in line for line in lines)
    assert max(map(len, lines)) <= 80
    assert terminal.end(b"q") == 0
    _left_alone(terminal)


def test_owner(isolator: Path, laid_out: Path) -> None:
    """Whose the chosen CPU is, and who ticks for it."""
    terminal = _open(isolator, laid_out / "manual", "--root", "nowhere")
    terminal.until_line("^  by thread 42; kernel entries do not tick; no batch period$")
    assert terminal.end(b"q") == 0
    _left_alone(terminal)


def test_keys(isolator: Path, laid_out: Path) -> None:
    """Arrows and digits choose, and stay within what is isolated."""
    terminal = _open(isolator, laid_out / "busy")
    for keys, cpu in ((b"\033[B", 3), (b"\033[B", 3), (b"\033OA", 1), (b"k", 1), (b"j", 3),
                      (b"0", 1), (b"2", 3), (b"1", 1), (b"9", 3), (b"\033[1;5A", 1), (b"x\t", 1)):
        terminal.type(keys)
        terminal.until_line(f"^> +{cpu} ")
        assert sum(line.startswith("> ") for line in terminal.screen()) == 1
    # A key's bytes that come apart.
    terminal.type(b"\033")
    # Of the screens that follow the second one was begun after that was read.
    terminal.until("\033[J", terminal.text.count("\033[J") + 3)
    terminal.type(b"[B")
    terminal.until_line("^> +3 ")
    assert terminal.end(b"q") == 0
    _left_alone(terminal)


def test_pause(isolator: Path, laid_out: Path) -> None:
    """Nothing is read while it pauses, and it goes on."""
    link = laid_out / "proc"
    swap(link, laid_out / "busy")
    terminal = _open(isolator, link)
    terminal.until_line("^> +1 ")
    terminal.type(b"p")
    terminal.until_line("PAUSED$")
    swap(link, laid_out / "none")
    terminal.until_line("^> +1 ")
    terminal.type(b"p")
    terminal.until_line("^No CPU is isolated")
    swap(link, laid_out / "busy-later")
    terminal.until_line("^> +1 ")
    assert terminal.end(b"q") == 0
    _left_alone(terminal)


def test_sizes(isolator: Path, laid_out: Path) -> None:
    """A new size is drawn at once, and nothing is wider or higher than it."""
    terminal = _open(isolator, laid_out / "busy", interval="600")
    terminal.until("\033[J")
    for rows, columns in ((8, 40), (50, 200), (3, 10), (2, 1), (24, 80)):
        screens = terminal.text.count("\033[J")
        terminal.resize(rows, columns)
        terminal.until("\033[J", screens + 1)
        lines = terminal.text.split("\033[H")[-1].split("\r\n")
        assert len(lines) <= rows and lines[-1] == "\033[J"
        assert max(len(line.replace("\033[K", "")) for line in lines[:-1]) <= columns
    assert terminal.end(b"q") == 0
    _left_alone(terminal)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ends_by_signal(isolator: Path, laid_out: Path, number: signal.Signals) -> None:
    """What asks it to end ends it with 0, at once."""
    terminal = _open(isolator, laid_out / "quiet", interval="600")
    terminal.until("\033[J")
    os.kill(terminal.pid, number)
    assert terminal.end(b"") == 0
    _left_alone(terminal)


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGPIPE, signal.SIGUSR1,
                                    signal.SIGALRM])
def test_dies_by_signal(isolator: Path, laid_out: Path, number: signal.Signals) -> None:
    """What kills it kills it, and the terminal is as it was."""
    terminal = _open(isolator, laid_out / "quiet", interval="600")
    terminal.until("\033[J")
    os.kill(terminal.pid, number)
    assert terminal.end(b"") == -number
    _left_alone(terminal)


def test_crash(isolator: Path, laid_out: Path) -> None:
    """Also by a crash; the sanitizer's handler runs behind ours."""
    terminal = _open(isolator, laid_out / "quiet", interval="600")
    terminal.until("\033[J")
    os.kill(terminal.pid, signal.SIGSEGV)
    assert terminal.end(b"") != 0
    assert terminal.text.count(GIVE) == 1 and terminal.after == terminal.before


def test_error_on_the_way(isolator: Path, laid_out: Path) -> None:
    """Files that are gone end it with an error that is still to be read."""
    terminal = _open(isolator, laid_out / "quiet")
    terminal.until_line("^> +1 ")
    (laid_out / "quiet/status").unlink()
    assert terminal.end(b"") == 1
    assert "isolator status: there is no " in " ".join(terminal.text.split())
    assert terminal.after == terminal.before


def test_stop_and_go(isolator: Path, laid_out: Path) -> None:
    """Ctrl-Z gives the terminal back, and going on takes it again."""
    terminal = _open(isolator, laid_out / "quiet", interval="600")
    terminal.until("\033[J")
    os.kill(terminal.pid, signal.SIGTSTP)
    terminal.until(GIVE)
    until(lambda: "State:\tT" in Path(f"/proc/{terminal.pid}/status").read_text())
    assert termios.tcgetattr(terminal.fd) == terminal.before
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.until(TAKE, 2)
    terminal.until("\033[J", 2)
    assert terminal.end(b"q") == 0
    assert terminal.text.count(TAKE) == terminal.text.count(GIVE) == 2
    # Nothing was drawn on the page that is not its own.
    assert "\033[H" not in terminal.text.split(GIVE)[1].split(TAKE)[0]
    _left_alone(terminal)


def test_stopped_without_notice(isolator: Path, laid_out: Path) -> None:
    """After a SIGSTOP the settings are taken again, whoever had them meanwhile."""
    terminal = _open(isolator, laid_out / "quiet", interval="600")
    terminal.until("\033[J")
    ours = termios.tcgetattr(terminal.fd)
    os.kill(terminal.pid, signal.SIGSTOP)
    termios.tcsetattr(terminal.slave, termios.TCSANOW, terminal.before)
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.until("\033[J", 2)
    assert termios.tcgetattr(terminal.fd) == ours and ours != terminal.before
    assert terminal.end(b"q") == 0
    assert terminal.text.count(TAKE) == 1
    _left_alone(terminal)


def test_count(isolator: Path, laid_out: Path) -> None:
    """It ends by itself, and of CPUs that are left out nothing is shown."""
    terminal = _open(isolator, laid_out / "busy", "--count", "3", "--cpu", "3")
    terminal.until(GIVE)
    assert "isolated, in the kernel" in terminal.text and "user mode" not in terminal.text
    assert terminal.end(b"") == 0
    _left_alone(terminal)


def test_colours(isolator: Path, laid_out: Path) -> None:
    """Lines are cut to the terminal's size, and colours take no room."""
    terminal = Terminal(8, 40, {"TERM": "xterm", "NO_COLOR": ""}, isolator, "status", "--live",
                        "--proc", laid_out / "busy", "--interval", "0.05")
    terminal.until("\033[H", 6)
    assert terminal.end(b"q") == 0
    lines = terminal.text.split("\033[H")[4].split("\r\n")
    assert len(lines) == 8 and lines[-1] == "\033[J"
    assert all(line.endswith("\033[K") for line in lines[:-1])
    plain = [re.sub(r"\033\[[0-9;]*[mK]", "", line) for line in lines[:-1]]
    assert max(map(len, plain)) == 40 and "\033[1m" in lines[0]
    assert any("\033[1;31m" in line for line in lines)


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {}])
def test_no_screen(isolator: Path, laid_out: Path, environment: dict[str, str]) -> None:
    """On a terminal that cannot be written over one state follows another."""
    terminal = Terminal(24, 80, environment, isolator, "status", "--live", "--interval", "0.05",
                        "--proc", laid_out / "busy")
    terminal.until("CPU 3: isolated, in the kernel", 2)
    assert "per second" in terminal.text
    assert terminal.end() == 0
    assert "\033" not in terminal.text and terminal.after == terminal.before


def test_no_terminal(isolator: Path, laid_out: Path) -> None:
    """In a pipe too, with CPUs that become isolated meanwhile, in 80 columns."""
    link = laid_out / "proc"
    swap(link, laid_out / "none")
    process = subprocess.Popen([isolator, "status", "--live", "--interval", "0.05", "--proc",
                                link], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "No CPU is isolated.\n"
    swap(link, laid_out / "busy")
    lines = iter(process.stdout.readline, "")
    seen = [next(line for line in lines if line.startswith("CPU 1: isolated, in user mode"))]
    seen += itertools.takewhile(lambda line: "per second" not in line, lines)
    process.send_signal(signal.SIGINT)
    seen += list(lines)
    assert process.wait(PATIENCE_S) == 0
    assert max(len(line.rstrip("\n")) for line in seen) <= 80


def test_interval_wants_live(isolator: Path, laid_out: Path) -> None:
    """An option that asks for more than one state needs --live."""
    for option in ("--interval", "--count"):
        done = subprocess.run([isolator, "status", option, "1", "--proc", laid_out / "busy"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "--live" in done.stderr and not done.stdout


@pytest.fixture
def tmux(isolator: Path, laid_out: Path, tmp_path: Path) -> Iterator[Tmux]:
    """isolator status --live in it."""
    assert shutil.which("tmux"), "tools/install-packages cli"
    server = Tmux(tmp_path, f"{isolator} status --live --proc {laid_out / 'busy'} --interval 0.1")
    yield server
    server("kill-server")


def test_in_tmux(tmux: Tmux) -> None:
    """On a real terminal's screen: shown, resized, steered; the shell's page comes back."""
    lines = tmux.until("^> +1 +user mode")
    assert lines[0].startswith("isolator status  ")
    tmux("send-keys", "Down")
    tmux.until("^> +3 +the kernel")
    tmux("send-keys", "p")
    tmux.until("PAUSED")
    tmux("resize-window", "-x", "40", "-y", "10")
    until(lambda: len(lines := tmux.until("^> +3 +the kernel")) <= 10 and
          lines[0].startswith("isolator status"))
    tmux("resize-window", "-x", "100", "-y", "30")
    tmux("send-keys", "q")
    lines = tmux.until("^it was 0$")
    # What was typed before the shell looked is echoed before its prompt, which then is here.
    assert any(line in ("before", "# before") for line in lines), lines
    assert not any(line.startswith("isolator status  ") for line in lines)
