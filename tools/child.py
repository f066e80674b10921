# SPDX-License-Identifier: GPL-2.0-or-later
"""A child process with what it starts: ended together, and what they computed."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO


class Child:
    """One command in a session of its own, its output in `sink`.

    `code` is None while it runs, then its exit code, negative for a signal; `cpu_s` is then the
    time that it and those of its children that it waited for computed, user and kernel.

    Raises OSError where the command cannot be started.
    """

    def __init__(self, command: list[str], cwd: Path, environment: Mapping[str, str],
                 sink: BinaryIO) -> None:
        self._process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdout=sink, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, start_new_session=True)
        self.code: int | None = None
        self.cpu_s = 0.0

    def running(self) -> bool:
        """Does it run still?  Reaps it, once; subprocess's own wait does not tell the usage."""
        if self.code is None:
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if pid:
                self.code = self._process.returncode = os.waitstatus_to_exitcode(status)
                self.cpu_s = round(usage.ru_utime + usage.ru_stime, 1)
        return self.code is None

    def end(self, patience_s: float = 10) -> None:
        """End it and everything that it started: politely, then not."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.running():
                return
            os.killpg(self._process.pid, number)
            limit = time.monotonic() + patience_s
            while self.running() and time.monotonic() < limit:
                time.sleep(0.05)
