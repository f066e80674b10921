# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the isolator command have in common."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from isolator_report import schemafile
from waiting import PATIENCE_S, until

# build(NAME, FILES, OPTION...), of conftest.py: the command with some files of these tests.
Build = Callable[..., Path]

CLI = Path(__file__).resolve().parent.parent
COMPILE = ["gcc", "-std=gnu11", "-D_GNU_SOURCE=", "-Wall", "-Wextra", "-Werror", "-O1", "-g",
           "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
           # A program that loads no sanitizer starts in half the time, and thousands start here.
           "-static-libasan", "-static-libubsan",
           f"-I{CLI.parent}/kernel/include/uapi", f"-I{CLI.parent}/lib/include", f"-I{CLI}"]
FIXTURES = ["busy", "busy-later", "ended", "forbidden", "manual", "none", "quiet"]
ROOT = os.getuid() == 0
# Somebody without rights, for subprocess.run(): who runs the tests, or nobody.
NOBODY: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []} if ROOT else {}
COUNTS = ["deferred", "excluded", "queued", "missed", "immediate", "refused", "planned"]


def unpack(fixture: str, directory: Path) -> None:
    subprocess.run([CLI / "tests/fixtures/unpack", CLI / "tests/fixtures" / fixture, directory],
                   check=True)


def open_to_all(directory: Path) -> None:
    """Somebody else may enter it, and what pytest has made above it."""
    for path in [directory, *directory.parents][:4]:
        path.chmod(path.stat().st_mode | 0o055)


def copy_for_all(program: Path, directory: Path) -> Path:
    """A copy of the program there, which somebody else may run."""
    copy = directory / program.name
    copy.write_bytes(program.read_bytes())
    copy.chmod(0o755)
    open_to_all(directory)
    return copy


def flat(text: str) -> str:
    """@text as one line: what a line was too short for is together again."""
    return " ".join(text.split())


def capture(name: str) -> dict[str, tuple[str, int]]:
    """A recorded machine: each file's text and mode, by its path."""
    files: dict[str, tuple[str, int]] = {}
    for part in (CLI / "tests/captures" / name).read_text().split("\n==> ")[1:]:
        head, _, text = part.partition("\n")
        path, _, mode = head.partition(" ")
        files[path] = (text.rstrip("\n") + "\n" if text else "", int(mode or "644", 8))
    return files


@functools.cache
def schema(name: str) -> jsonschema.Draft202012Validator:
    """What judges documents of this name; the schema itself is looked at once."""
    schema = schemafile.read(CLI / "schema" / f"{name}.json")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def valid(name: str, line: str) -> dict[str, Any]:
    """The document that @line is."""
    document: dict[str, Any] = json.loads(line)
    schema(name).validate(document)
    return document


def closed(name: str, document: dict[str, Any]) -> None:
    """A key that is missing, or at any depth unknown, is not valid."""
    def each(part: Any) -> list[dict[str, Any]]:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
        return ([part] if isinstance(part, dict) and part else []) + \
            [found for one in inner for found in each(one)]

    for part in each(document):
        part["more"] = "?"
        with pytest.raises(jsonschema.ValidationError):
            schema(name).validate(document)
        del part["more"]
    schema(name).validate(document)
    for wrong in [{**document, "version": 2}, *({k: v for k, v in document.items() if k != key}
                                                for key in document)]:
        with pytest.raises(jsonschema.ValidationError):
            schema(name).validate(wrong)


def full_tables(directory: Path, cpus: int, senders: int, frames: int) -> None:
    """Files of many isolated CPUs, each with so many senders and frames of their stacks."""
    zeros = " ".join(f"{count} 0" for count in COUNTS[1:])
    numbers = range(1, cpus + 1)
    (directory / "status").write_text(
        f"version 1\nallowed 1-{cpus}\nisolated 1-{cpus}\n" + "".join(
            f"cpu {cpu} isolated mask 0x7 got 0x7f depth 1 deadline_ns 1000000000 spin_ns 100000000"
            f" yield_ns 500000 batch_ns 0 auto_tick 1 owner 0 user 1 started_ns 1\n"
            for cpu in numbers))
    (directory / "stats").write_text("".join(
        f"cpu {cpu} total deferred {senders} {zeros} uncounted_callbacks 0\n" for cpu in numbers))
    (directory / "senders").write_text("".join(
        f"cpu {cpu} sender callback do_sync_core kind call deferred 1 {zeros} longest_ns 0 "
        f"comm sender {sender}\n" + "  a_function_with_a_name+0x1/0x2\n" * frames
        for cpu in numbers for sender in range(senders)))
    (directory / "deliveries").write_text("")


def run(isolator: Path, name: str, directory: Path, *arguments: str,
         codes: tuple[int, ...] = (0, 2, 3)) -> dict[str, Any]:
    done = subprocess.run([isolator, name, "--json", "--proc", directory, *arguments],
                          capture_output=True, text=True, check=False)
    assert done.returncode in codes, done.stderr
    assert done.stdout.count("\n") == 1
    return valid(name, done.stdout)


def swap(link: Path, target: Path) -> None:
    """Let @link lead to @target, at once."""
    new = link.with_name("new")
    new.symlink_to(target)
    new.rename(link)


def waits(pid: int) -> bool:
    """Does the process sleep, and catch SIGINT?"""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return "State:\tS" in status and bool(int(caught.split()[1], 16) & 1 << signal.SIGINT - 1)


class Tmux:
    """A server of tmux with one window."""

    def __init__(self, directory: Path, command: str) -> None:
        self.socket = str(directory / "tmux")
        self("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "sh")
        self("set-option", "-g", "window-size", "manual")
        self("send-keys", f"echo before; {command}; echo it was $?", "Enter")

    def __call__(self, *arguments: str) -> str:
        return subprocess.run(["tmux", "-S", self.socket, *arguments], check=True,
                              capture_output=True, text=True).stdout

    def until(self, pattern: str) -> list[str]:
        """The screen, when a line of it matches."""
        def shown() -> list[str]:
            lines = self("capture-pane", "-p").splitlines()
            return lines if any(re.search(pattern, line) for line in lines) else []

        return until(shown, lambda: self("capture-pane", "-p"))


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, rows: int, columns: int, environment: dict[str, str],
                 *command: str | Path) -> None:
        self.text = ""
        self.fd, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.fd)
        self.pid = os.fork()
        if not self.pid:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores
            os.login_tty(self.slave)
            os.execve(command[0], [str(c) for c in command], environment)

    def resize(self, rows: int, columns: int) -> None:
        """Another size; the program gets SIGWINCH."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        """Type @keys."""
        os.write(self.fd, keys)

    def until(self, text: str, times: int = 1) -> None:
        """Read until @text has come so often."""
        stop = time.monotonic() + PATIENCE_S
        while self.text.count(text) < times:
            assert time.monotonic() < stop, self.text
            if select.select([self.fd], [], [], 0.1)[0]:
                self.text += os.read(self.fd, 65536).decode(errors="replace")

    def screen(self) -> list[str]:
        """The last screen that came whole."""
        whole = self.text.split("\033[H")[-2]
        return [line.replace("\033[K", "").rstrip("\r") for line in whole.split("\n")]

    def until_line(self, pattern: str) -> None:
        """Until a line of a whole screen that is drawn from now on matches."""
        stop = time.monotonic() + PATIENCE_S
        while True:
            self.until("\033[H", self.text.count("\033[H") + 2)
            if any(re.search(pattern, line) for line in self.screen()):
                return
            assert time.monotonic() < stop, self.screen()

    def end(self, keys: bytes = b"\x03") -> int:
        """Type @keys; the exit code, negative for a signal."""
        os.write(self.fd, keys)
        stop = time.monotonic() + PATIENCE_S
        pid = 0
        while not pid and time.monotonic() < stop:
            if select.select([self.fd], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):  # closed on the other side
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        assert pid, "it does not end"
        self.after = termios.tcgetattr(self.fd)
        while select.select([self.fd], [], [], 0)[0]:
            self.text += os.read(self.fd, 65536).decode(errors="replace")
        os.close(self.slave)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)
