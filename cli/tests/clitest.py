# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the isolator command have in common."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
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

# build(NAME, FILES, OPTION...), of conftest.py: the command with some files of these tests.
Build = Callable[..., Path]

CLI = Path(__file__).resolve().parent.parent
FIXTURES = ["busy", "busy-later", "ended", "forbidden", "manual", "none", "quiet"]
PATIENCE_S = 60.0  # a hang, on the slowest machine


def unpack(fixture: str, directory: Path) -> None:
    subprocess.run([CLI / "tests/fixtures/unpack", CLI / "tests/fixtures" / fixture, directory],
                   check=True)


def schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((CLI / "schema" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def valid(name: str, line: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(line)
    jsonschema.validate(document, schema(name))
    return document


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
