# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator-generator beside a guest: built, begun, killed, begun again, ended."""

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from .. import term
from ..guests import qemu
from ..paths import BUILD, TOP

DIRECTORY = BUILD / "host"
KEEPER = "isolator-keeper"
BEGINS_S = 90.0
ENDS_S = 10.0
ROUNDS = 2000
HOSTS = re.compile(r"^hosts connect to \S+:(\d+) with the token in (.+)$", re.MULTILINE)


def build() -> Path:
    """The program, as tools/unit-test has it."""
    command = [str(TOP / "tools/build"), "scope/generator/isolator-generator"]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise term.LabError(f"building isolator-generator failed:\n{done.stdout}")
    return DIRECTORY / "scope" / "generator" / "isolator-generator"


def _parent(process: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _keeper_of(process: int) -> int | None:
    """The server of the lines that @process has begun."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _parent(int(entry.name)) == process:
            with contextlib.suppress(OSError):
                if (entry / "comm").read_text().strip() == KEEPER:
                    return int(entry.name)
    return None


def _alive(process: int) -> bool:
    """Not a zombie, nor another that has its number now."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/comm").read_text().strip() == KEEPER
    return False


class Generator:
    """One socket for guests, one address for hosts, and the program behind them."""

    def __init__(
        self, program: Path, socket: Path, log: Path, cpu: int, listen: str, rounds: int = ROUNDS
    ) -> None:
        self.program, self.socket, self.log, self._rounds = program, socket, log, rounds
        self.cpu = cpu
        self.host, _, port = listen.rpartition(":")
        self.port = int(port)
        self.keeper: int | None = None
        self.token = Path()  # the file with what hosts have to know
        self.floor = ""  # its own words about its error
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Returns once guests and hosts can connect.  LabError: it ended instead."""
        offset = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [
                    self.program, *("--socket", self.socket),
                    *("--listen", f"{self.host}:{self.port}"), *("--cpu", str(self.cpu)),
                    *("--rounds", str(self._rounds)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        # What runs beside it on its CPU makes its times worse; where we may, it goes first.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, -10)
        until = time.monotonic() + BEGINS_S
        while True:
            said = self.log.read_bytes()[offset:].decode(errors="replace")
            found = HOSTS.search(said)
            if found:
                break
            if self._process.poll() is not None or time.monotonic() > until:
                raise term.LabError(f"isolator-generator did not begin: {said.strip()}")
            time.sleep(0.02)
        self.port = int(found[1])
        self.token = Path(found[2])
        self.keeper = _keeper_of(self._process.pid) or self.keeper
        floor = re.search(r"^resolution .*", said, re.MULTILINE)
        self.floor = floor[0] if floor else "not measured"

    @property
    def address(self) -> tuple[str, int, str]:
        """Where hosts connect, and what they have to know."""
        return self.host, self.port, self.token.read_text().partition("\n")[0]

    def go_first(self) -> bool:
        """Whatever else runs on its CPU waits for it; False: not allowed."""
        return self._process is not None and qemu.go_first(self._process.pid)

    def said(self) -> str:
        """All that it wrote, of every time that it was begun."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """With SIGKILL; the server of the lines lives on."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def kill_keeper(self) -> None:
        """The server of the lines, with SIGKILL."""
        if self.keeper and _alive(self.keeper):
            os.kill(self.keeper, signal.SIGKILL)

    def end(self) -> None:
        """In order, or else by force; after it neither process is there, nor socket and token."""
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(ENDS_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        until = time.monotonic() + ENDS_S
        while self.keeper and _alive(self.keeper):
            if time.monotonic() > until:
                self.kill_keeper()
            time.sleep(0.02)
        self.keeper = None
        self.socket.unlink(missing_ok=True)
        self.socket.with_name(f"{self.socket.name}.token").unlink(missing_ok=True)
