# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of isolator export have in common."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clitest import PATIENCE_S
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

Labels = tuple[tuple[str, str], ...]
# The samples of a text: each once, by its name and its labels.
Samples = dict[tuple[str, Labels], float]
OPEN_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def clean(said: str) -> None:
    """No sanitizer has found anything."""
    assert "Sanitizer" not in said and "runtime error" not in said, said


def _samples(families: list[Metric]) -> Samples:
    found: Samples = {}
    for family in families:
        assert family.documentation
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, key
            found[key] = sample.value
    return found


def families(text: str) -> list[Metric]:
    """Those of an OpenMetrics text."""
    return list(openmetrics(text))


def parse(text: str) -> Samples:
    """What an OpenMetrics text says."""
    return _samples(families(text))


def parse_plain(text: str) -> Samples:
    """What a text of Prometheus says."""
    found = list(prometheus(text))
    assert len({family.name for family in found}) == len(found)
    return _samples(found)


def of(samples: Samples, name: str, **labels: str) -> dict[Labels, float]:
    """Those of this name that have these labels."""
    return {key: value for (other, key), value in samples.items()
            if other == name and labels.items() <= dict(key).items()}


def one(samples: Samples, name: str, **labels: str) -> float:
    """The only one."""
    found = list(of(samples, name, **labels).values())
    assert len(found) == 1, (name, labels, found)
    return found[0]


def export(isolator: Path, *arguments: str | Path, code: int = 0,
           **how: Any) -> subprocess.CompletedProcess[str]:
    """It ends by itself."""
    done = subprocess.run([isolator, "export", *arguments], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S, **how)
    clean(done.stderr)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def full(directory: Path) -> None:
    """Of the fixture busy a kernel that says everything."""
    status, stats = directory / "status", directory / "stats"
    status.write_text(status.read_text().replace(
        "lend_ns 500000 user 1", "lend_ns 500000 beat_ns 0 auto_tick 1 owner 41 user 1"))
    stats.write_text(stats.read_text() + "cpu 1 own ticks 700 lends 20 planned 4 entries 600\n")


def machine(root: Path, name: str = "motor") -> Path:
    """Below @root the thread 41 of process 40."""
    thread = root / "proc/41"
    thread.mkdir(parents=True)
    (thread / "stat").write_text(f"41 ({name}) R{' 0' * 49}\n")
    (thread / "status").write_text(f"Name:\t{name}\nState:\tR (running)\nTgid:\t40\n"
                                   "Cpus_allowed:\t2\nCpus_allowed_list:\t1\n")
    return root


def stock(root: Path) -> Path:
    """A machine without Isolator."""
    (root / "proc").mkdir(parents=True)
    (root / "proc/version").write_text("Linux version 6.12.0\n")
    return root


class Server:
    """isolator export --socket, and its address."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address
        self.code: int | None = None
        self.said = ""

    def connect(self, seconds: float = PATIENCE_S) -> socket.socket:
        """A connection, which waits so long."""
        if "/" in self.address:
            made = socket.socket(socket.AF_UNIX)
        else:
            made = socket.socket(socket.AF_INET6 if self.address[0] == "[" else socket.AF_INET)
        made.settimeout(seconds)
        made.connect(self.address if "/" in self.address else self.pair())
        return made

    def pair(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.address.rpartition(":")
        return host.strip("[]"), int(port)

    def ask(self, request: bytes) -> bytes:
        """The whole answer, however it ends."""
        with self.connect() as made:
            with contextlib.suppress(ConnectionError):
                made.sendall(request)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while part := made.recv(65536):
                    answer += part
        return answer

    def scrape(self, accept: str = "application/openmetrics-text", path: str = "/metrics",
               method: str = "GET") -> tuple[int, dict[str, str], str]:
        """Status, headers, body."""
        answer = self.ask(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n"
                          .encode()).decode()
        head, _, body = answer.partition("\r\n\r\n")
        first, *lines = head.split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
        return int(first.split()[1]), headers, body

    def end(self, number: int) -> None:
        """By a signal."""
        self.process.send_signal(number)
        self.said += self.process.communicate(timeout=PATIENCE_S)[1]
        self.code = self.process.returncode
        clean(self.said)


@contextlib.contextmanager
def serving(isolator: Path, address: str | Path, *arguments: str | Path,
            **how: Any) -> Iterator[Server]:
    """One that listens; ended at the end unless a test has done that."""
    process = subprocess.Popen([isolator, "export", "--socket", address, *arguments],
                               stderr=subprocess.PIPE, text=True, **how)
    assert process.stderr
    said = ""
    try:
        while not (where := re.search(r"listening at (?:http://(.*)/metrics|(.*))\n", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        server = Server(process, where[1] or where[2])
        server.said = said
        yield server
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()


def descriptors(pid: int) -> int:
    """How many files it has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))
