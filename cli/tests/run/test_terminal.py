# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator run as root, of another user's program: it has no way into root's terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import termios
from pathlib import Path

import pytest
from clitest import ROOT, Terminal
from processes import state_of
from runtest import STOCK, Lay, tree
from waiting import until

pytestmark = pytest.mark.skipif(not ROOT, reason="only root can become another user")
ENVIRONMENT = {**os.environ, "TERM": "vt100", "PS1": "ready$ "}

# What it has, what it can open, and whether it can type there.
LOOKS = """
import fcntl, os, termios
names = [os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)]
own = os.open("/dev/tty", os.O_RDWR)
print("LOOKS", *names, "user", os.getuid(), "session", os.getsid(0) == os.getpid(),
      "front", os.tcgetpgrp(own) == os.getpgrp(), "size", *os.get_terminal_size(own))
for key in b"typed\\n":
    fcntl.ioctl(own, termios.TIOCSTI, bytes([key]))
"""


def command(isolator: Path, root: Path, *arguments: str, user: str = "nobody") -> list[str]:
    return [str(isolator), "run", "--root", str(root), "-c", "3", "--user", user, "--", *arguments]


@pytest.fixture
def root(lay: Lay) -> Path:
    """A machine to be changed."""
    return lay(STOCK)


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """A file that everybody may write."""
    path = tmp_path / "note"
    path.touch()
    path.chmod(0o666)
    return path


def test_terminal_of_its_own(isolator: Path, root: Path) -> None:
    """None of its files, nor /dev/tty, is root's terminal; its size and mode are."""
    before = tree(root)
    terminal = Terminal(33, 77, ENVIRONMENT, *command(isolator, root, "/usr/bin/python3", "-c",
                                                      LOOKS))
    terminal.until("run -v lists them")
    name = os.ttyname(terminal.slave)
    assert terminal.end(b"") == 0, terminal.text
    [looks] = re.findall(r"LOOKS (.*)\r\n", terminal.text)
    words = looks.split()
    assert name not in words[:3] and len(set(words[:3])) == 1
    assert " ".join(words[3:]) == "user 65534 session True front True size 77 33"
    assert terminal.after == terminal.before and tree(root) == before
    assert "typed" not in terminal.text.split("isolator run: CPU 3,")[-1]


def test_own_terminal_is_kept(isolator: Path, root: Path) -> None:
    """Who has the terminal anyway has it in the program, too."""
    terminal = Terminal(24, 80, ENVIRONMENT, "/bin/sh", "-c", "read x; exec \"$@\"", "sh",
                        *command(isolator, root, "tty"))
    name = os.ttyname(terminal.slave)
    os.chown(name, 65534, 65534)
    terminal.type(b"\n")
    terminal.until("run -v lists them")
    assert terminal.end(b"") == 0
    assert f"{name}\r\n" in terminal.text


def test_root_is_left_alone(isolator: Path, root: Path) -> None:
    """Nothing is to be kept from root."""
    terminal = Terminal(24, 80, ENVIRONMENT, *command(isolator, root, "tty", user="root"))
    terminal.until("run -v lists them")
    name = os.ttyname(terminal.slave)
    assert terminal.end(b"") == 0 and f"{name}\r\n" in terminal.text


@pytest.mark.parametrize(("keys", "code"), [(b"\x03", 130), (b"\x1c", 131), (b"bye\n", 7),
                                            (b"\x04", 9)])
def test_keys(isolator: Path, root: Path, keys: bytes, code: int) -> None:
    """Each does what it does elsewhere, and the exit status is the program's."""
    before = tree(root)
    terminal = Terminal(24, 80, ENVIRONMENT, *command(
        isolator, root, "sh", "-c",
        "ulimit -c 0; echo began; read x || exit 9; echo got $x; exit 7"))
    terminal.until("began")
    assert terminal.end(keys) == code, terminal.text
    assert terminal.after == terminal.before and tree(root) == before
    assert ("got bye\r\n" in terminal.text) == (code == 7)


def test_all_that_is_printed(isolator: Path, root: Path) -> None:
    """Also what comes last, before what the command itself says."""
    terminal = Terminal(24, 80, ENVIRONMENT, *command(
        isolator, root, "sh", "-c", "echo begin; read x; seq 200000; printf last"))
    terminal.until("begin")
    assert terminal.end(b"\n") == 0
    said, last, after = terminal.text.partition("begin\r\n")[2].partition("last")
    # The command may say beside the first line how much memory can be locked.
    said = re.sub(r"\A.*?\(ulimit -l unlimited\)\r?\n", "", said, flags=re.DOTALL)
    assert said.lstrip("\r\n").split("\r\n") == [*(str(n) for n in range(1, 200001)), ""]
    assert last and "run -v lists them" in after


def test_what_prints_on(isolator: Path, root: Path, note: Path) -> None:
    """What the program leaves running keeps nobody waiting, and is hung up."""
    terminal = Terminal(24, 80, ENVIRONMENT, *command(
        isolator, root, "sh", "-c", f"yes & echo $! > {note}; read x; exit 5"))
    terminal.until("y\r\n", 1000)
    terminal.type(b"\n")
    terminal.until("run -v lists them")
    assert terminal.end(b"") == 5 and terminal.after == terminal.before
    until(lambda: not Path(f"/proc/{note.read_text().strip()}/cwd").exists())


def test_size_changes(isolator: Path, root: Path) -> None:
    """The program hears of it as of that of any window."""
    terminal = Terminal(24, 80, ENVIRONMENT, *command(
        isolator, root, "bash", "-c", "trap 'stty size; exit 4' WINCH; echo began; "
        "while :; do sleep 0.1; done"))
    terminal.until("began")
    terminal.resize(50, 132)
    terminal.until("50 132")
    terminal.until("run -v lists them")
    assert terminal.end(b"") == 4


def test_pipe(isolator: Path, root: Path) -> None:
    """Standard files that are no terminal stay what they are."""
    words = quoted(command(isolator, root, "sh", "-c", "cat; tty; test -t 1"))
    terminal = Terminal(24, 80, ENVIRONMENT, "/bin/sh", "-c", f"echo piped | {words}")
    terminal.until("run -v lists them")
    assert terminal.end(b"") == 0 and "piped\r\nnot a tty\r\n" in terminal.text
    inner = subprocess.run(command(isolator, root, "sh", "-c", "cat; tty"), input="x\n", text=True,
                           capture_output=True, check=False, start_new_session=True)
    assert inner.stdout == "x\nnot a tty\n" and inner.returncode == 1


def quoted(words: list[str]) -> str:
    """For a shell."""
    return " ".join(f"'{word}'" for word in words)


@pytest.mark.parametrize("where", ["| cat", "</dev/null", "</dev/null >/dev/null 2>&1"])
def test_keys_of_others(isolator: Path, root: Path, tmp_path: Path, note: Path,
                        where: str) -> None:
    """Unless the program reads and writes the terminal, it is left to who does."""
    go, parent = tmp_path / "go", tmp_path / "parent"
    parent.touch()
    parent.chmod(0o666)
    words = quoted(command(isolator, root, "sh", "-c", f"echo $PPID >{parent}; echo began >{note}; "
                           f"until [ -e {go} ]; do sleep 0.05; done; cat >>{note}; "
                           f"echo ended >>{note}"))
    terminal = Terminal(24, 80, ENVIRONMENT, "/bin/sh", "-c",
                        f"{words} {where}; read x; echo shell=$x; read x")
    terminal.type(b"typed\n")
    until(lambda: note.read_text() == "began\n")
    # The command has done all that it does, and waits for the program.
    until(lambda: state_of(int(parent.read_text() or 0)) == "S")
    assert termios.tcgetattr(terminal.fd) == terminal.before
    go.touch()
    terminal.until("shell=typed")
    assert terminal.end(b"\n") == 0 and note.read_text() == "began\nended\n"
    assert terminal.after == terminal.before


def test_what_runs_on(isolator: Path, root: Path, tmp_path: Path, note: Path) -> None:
    """Without a terminal, what the program leaves running goes on."""
    go = tmp_path / "go"
    words = quoted(command(isolator, root, "sh", "-c",
                           f"(until [ -e {go} ]; do sleep 0.05; done; echo went on >{note}) &"))
    terminal = Terminal(24, 80, ENVIRONMENT, "/bin/sh", "-c",
                        f"{words} </dev/null >/dev/null 2>&1; echo code=$?; read x")
    terminal.until("code=0")
    go.touch()
    until(lambda: note.read_text() == "went on\n")
    assert terminal.end(b"\n") == 0


def test_files_that_are_closed(isolator: Path, root: Path, tmp_path: Path, note: Path) -> None:
    """The program may go on without its terminal."""
    go = tmp_path / "go"
    terminal = Terminal(24, 80, ENVIRONMENT, *command(
        isolator, root, "sh", "-c", f"exec </dev/null >/dev/null 2>&1; echo closed >{note}; "
        f"until [ -e {go} ]; do sleep 0.05; done; exit 7"))
    until(lambda: note.read_text() == "closed\n")
    go.touch()
    terminal.until("run -v lists them")
    assert terminal.end(b"") == 7 and terminal.after == terminal.before


@pytest.mark.parametrize("where", ["", "2>/dev/null"])
def test_signals_of_a_terminal_that_others_read(isolator: Path, root: Path, note: Path,
                                                where: str) -> None:
    """Ctrl-Z stops the program, fg continues it, Ctrl-C ends it and what it has started."""
    terminal = Terminal(24, 120, ENVIRONMENT, "/bin/bash", "--norc", "-i")
    terminal.until("ready$ ")
    words = quoted(command(isolator, root, "bash", "-c",
                           f"echo $$ >{note}; sleep 600; echo went on >>{note}"))
    terminal.type(f"{words} {where} | cat\n".encode())
    until(lambda: note.read_text().endswith("\n"))
    pid = note.read_text().strip()

    def state() -> str:
        return re.findall(r"State:\t(.)", Path(f"/proc/{pid}/status").read_text())[0]

    until(lambda: state() == "S")
    terminal.type(b"\x1a")
    terminal.until("Stopped")
    until(lambda: state() == "T")
    terminal.type(b"fg\n")
    until(lambda: state() == "S")
    terminal.type(b"\x03")
    until(lambda: not Path(f"/proc/{pid}").exists())
    terminal.type(b"echo code ${PIPESTATUS[0]}\n")
    terminal.until("code 130")
    terminal.type(b"exit 0\n")
    assert terminal.end(b"") == 0 and note.read_text() == f"{pid}\n"


def test_terminals_that_are_open_besides(isolator: Path, root: Path) -> None:
    """The program does not get them; it gets what is no terminal, as from any command."""
    words = quoted(command(isolator, root, "sh", "-c",
                           "for n in 3 4 5; do [ -e /proc/self/fd/$n ] && echo has=$n; done; :"))
    terminal = Terminal(24, 80, ENVIRONMENT, "/bin/sh", "-c",
                        f"exec 3<>/dev/tty 4</dev/null 5>&1; {words}")
    terminal.until("run -v lists them")
    assert terminal.end(b"") == 0
    assert re.findall(r"has=(\d)\r\n", terminal.text) == ["4"]


def test_job(isolator: Path, root: Path) -> None:
    """Ctrl-Z, fg, bg: a job as any other, and the shell has its own mode meanwhile."""
    terminal = Terminal(24, 120, ENVIRONMENT, "/bin/bash", "--norc", "-i")
    terminal.until("ready$ ")
    words = quoted(command(
        isolator, root, "sh", "-c", "echo be\"\"gan; while read x; do echo got=$x; done; exit 3"))
    terminal.type(f"{words}\n".encode())
    terminal.until("began")
    terminal.type(b"one\n")
    terminal.until("got=one")
    for number in (1, 2):
        terminal.type(b"\x1a")
        terminal.until("Stopped", 2 * number - 1)
        terminal.type(b"echo shell $((6 * 7)); jobs\n")
        terminal.until("shell 42", number)
        terminal.until("Stopped", 2 * number)
        if number == 2:
            terminal.type(b"bg\n")
            terminal.until("&\r\n")
            terminal.type(b"echo shell $((6 * 8))\n")
            terminal.until("shell 48")
        terminal.type(b"fg\n")
        terminal.type(f"again{number}\n".encode())
        terminal.until(f"got=again{number}")
    terminal.type(b"\x04")
    terminal.until("run -v lists them")
    terminal.type(b"echo code $?\n")
    terminal.until("code 3")
    terminal.type(b"exit 0\n")
    assert terminal.end(b"") == 0


def test_killed(isolator: Path, root: Path) -> None:
    """Without the command the program ends, and the terminal is as it was."""
    terminal = Terminal(24, 80, ENVIRONMENT, "/bin/sh", "-c",
                        '"$@"; echo the command ended with $?; read x', "sh",
                        *command(isolator, root, "sh", "-c", "echo began $$; cat"))
    terminal.until("began")
    [pid] = re.findall(r"began (\d+)", terminal.text)
    status = Path(f"/proc/{pid}/status").read_text()
    os.kill(int(re.findall(r"PPid:\t(\d+)", status)[0]), signal.SIGKILL)
    terminal.until("ended with 137")
    assert terminal.end(b"\n") == 0
    assert terminal.after == terminal.before


def test_hang_up(isolator: Path, root: Path, note: Path) -> None:
    """The terminal goes away: so does the program, and all is put back."""
    before = tree(root)
    terminal = Terminal(24, 80, ENVIRONMENT, *command(
        isolator, root, "sh", "-c", f"trap 'echo hung up > {note}; exit 1' HUP; echo began; "
        "while :; do sleep 0.1; done"))
    terminal.until("began")
    os.close(terminal.slave)
    os.close(terminal.fd)
    os.waitpid(terminal.pid, 0)
    assert note.read_text() == "hung up\n" and tree(root) == before
