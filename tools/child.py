# SPDX-License-Identifier: GPL-2.0-or-later
"""A child process with what it starts: ended together, and what they computed."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from processes import runs
from waiting import comes


@contextlib.contextmanager
def _held() -> Iterator[None]:
    """What this program does at a signal it does behind it.  Only the first thread gets any."""
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    first = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, lambda one, _: came.append(one))
              for number in numbers if first and callable(signal.getsignal(number))}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for one in came:
        signal.raise_signal(one)


class Child:
    """One command in a session of its own, its output in `sink`.

    `code` is None while it runs, then its exit code, negative for a signal; `cpu_s` is then the
    time that it and those of its children that it waited for computed, user and kernel.

    start() raises OSError where the command cannot be started.  A signal during it is handled
    once end() knows the process: call both below one `try`.
    """

    def __init__(self, command: list[str], cwd: Path, environment: Mapping[str, str],
                 sink: BinaryIO) -> None:
        self._how = command, cwd, environment, sink
        self._process: subprocess.Popen[bytes] | None = None
        self.code: int | None = None
        self.cpu_s = 0.0

    def start(self) -> None:
        """Begin."""
        command, cwd, environment, sink = self._how
        with _held():
            self._process = subprocess.Popen(
                command, cwd=cwd, env=environment, stdout=sink, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, start_new_session=True)

    def running(self) -> bool:
        """Does it run still?  Reaps it, once; subprocess's own wait does not tell the usage."""
        if self._process is not None and self.code is None:
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if pid:
                self.code = self._process.returncode = os.waitstatus_to_exitcode(status)
                self.cpu_s = round(usage.ru_utime + usage.ru_stime, 1)
        return self._process is not None and self.code is None

    def end(self, patience_s: float = 10) -> None:
        """End it and everything that it started, if it runs still: politely, then not."""
        if not self.running() or self._process is None:
            return
        group = self._process.pid
        # It is not waited for before all of its group has ended: till then the number is theirs.
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(group, number)
            if comes(lambda: not runs(group), patience_s):
                break
        self.running()
