# SPDX-License-Identifier: GPL-2.0-or-later
"""A generator on the wires of an arm64 guest: the lines of its board's GPIO chip, a PL061.

Outside of the guest it raises the trigger and sees the edges of the others, by QEMU's qtest
protocol.  A guest test orders it about over a serial port, one line each, one line back:

    each N MASK   N triggers, the next once every line of MASK has answered, or after 5 s
    flood N US    N triggers, US microseconds apart or what this machine can
    begin US      the same until `end`
    end
    look MS       no trigger for so long

The answer, but to `begin`: `triggers N whole W strays S edges E0 ... E7`.  Whole: triggers that
every line of MASK, and no other line, answered by one edge.  Strays: edges while no trigger
waited, those since the last order included.
"""

import contextlib
import select
import socket
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType

from .. import term
from . import qemu

LINES = 8
TRIGGER = 0
TREE_LINES = (1, 2)  # of the device that the tree has
PATIENCE_S = 5.0
QUIET_S = 0.3  # without an edge: all answers have come
BETWEEN_S = 0.0005  # from an answer to the next trigger
CHIP = "/pl061@9030000"


def _beside(qmp: Path, what: str) -> Path:
    return qmp.with_suffix(f".{what}")


def arguments(command: list[str], kind: str, where: Path, qmp: Path) -> list[str]:
    """QEMU's, for a guest that is started by @command; "tree": the driver finds its lines there."""
    found = [
        *("-qtest", f"unix:{_beside(qmp, 'qtest')},server=on,wait=off", "-qtest-log", "none"),
        *("-chardev", f"socket,id=wires,path={_beside(qmp, 'wires')},server=on,wait=off"),
        *("-device", "pci-serial,chardev=wires"),
    ]
    if kind == "tree":
        found += ["-dtb", str(_tree(command, where / "tree.dtb"))]
    return found


def _tree(command: list[str], into: Path) -> Path:
    """The board's device tree, and in it a device for the driver."""
    at = command.index("-machine") + 1
    dump = [*command[:at], f"{command[at]},dumpdtb={into}", *command[at + 1 :]]
    node = "/isolator-scope"
    try:
        subprocess.run(dump, check=True, capture_output=True)
        chip = subprocess.run(
            ["fdtget", "-t", "u", into, CHIP, "phandle"], check=True, capture_output=True, text=True
        ).stdout.strip()
        wanted = {
            "compatible": ("s", "isolator,scope"),
            "trigger-gpios": ("u", chip, str(TRIGGER), "0"),
            "line-gpios": ("u", *(w for line in TREE_LINES for w in (chip, str(line), "0"))),
        }
        subprocess.run(["fdtput", "-c", into, node], check=True, capture_output=True)
        for name, (kind, *values) in wanted.items():
            subprocess.run(
                ["fdtput", "-t", kind, into, node, name, *values], check=True, capture_output=True
            )
    except FileNotFoundError as e:
        raise term.LabError(f"{e.filename}: tools/install-packages arm64") from e
    except subprocess.CalledProcessError as e:
        raise term.LabError(f"no device tree for the wires: {e}: {e.stderr!r}") from e
    return into


def _connect(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.connect(str(path))
    return made


class _Gone(OSError):
    """The guest has ended, as it may at any time."""


class Count:
    """What one order came to."""

    def __init__(self) -> None:
        self.triggers = self.whole = self.strays = 0
        self.edges = [0] * LINES

    def __str__(self) -> str:
        edges = " ".join(map(str, self.edges))
        return f"triggers {self.triggers} whole {self.whole} strays {self.strays} edges {edges}"


class Generator:
    """Serves one guest's orders; a context manager."""

    def __init__(self, monitor: qemu.Qmp, qmp: Path) -> None:
        base = "/machine/unattached"
        self.chip = next(
            f"{base}/{found['name']}"
            for found in monitor.ask("qom-list", path=base)
            if found["type"] == "child<pl061>"
        )
        self.qtest = _connect(_beside(qmp, "qtest"))
        self.port = _connect(_beside(qmp, "wires"))
        for name in ("qtest", "wires"):
            _beside(qmp, name).unlink(missing_ok=True)
        self.count = Count()
        self.rest = b""
        self.seen: list[int] = []  # edges, by line, that are not counted yet
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "Generator":
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop.set()
        for one in (self.qtest, self.port):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self.thread.join(5)
        self.qtest.close()
        self.port.close()

    # The wires.

    def _listen(self, seconds: float, answer: bool = False) -> bool:
        """Take edges for so long, or until the next line that is an answer to an order."""
        until = time.monotonic() + seconds
        while True:
            line, found, rest = self.rest.partition(b"\n")
            if found:
                self.rest = rest
                words = line.split()
                if words[:1] == [b"IRQ"]:
                    self.seen.append(int(words[2]))
                elif words[:1] != [b"OK"]:
                    raise OSError(f"qtest says {line!r}")
                elif answer:
                    return True
                continue
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.qtest], [], [], left)[0]:
                return False
            data = self.qtest.recv(1 << 16)
            if not data:
                raise _Gone
            self.rest += data

    def _order(self, words: str) -> None:
        self.qtest.sendall(words.encode() + b"\n")
        if not self._listen(10, answer=True):
            raise OSError(f"no answer to {words}")

    def _level(self, high: bool) -> None:
        self._order(f"set_irq_in {self.chip} unnamed-gpio-in {TRIGGER} {int(high)}")

    def _trigger(self) -> None:
        self._level(True)
        self.count.triggers += 1

    def _take(self) -> list[int]:
        """The edges since; counted."""
        seen, self.seen = self.seen, []
        for line in seen:
            self.count.edges[line] += 1
        return seen

    def _strays(self, seconds: float) -> None:
        self._listen(seconds)
        self.count.strays += len(self.seen)
        self.seen.clear()

    # The orders.

    def _each(self, number: int, mask: int) -> None:
        lines = [line for line in range(LINES) if mask >> line & 1]
        for _ in range(number):
            self._strays(BETWEEN_S)
            self._trigger()
            until = time.monotonic() + PATIENCE_S
            while not set(lines) <= set(self.seen) and time.monotonic() < until:
                self._listen(min(0.001, until - time.monotonic()))
            self._level(False)
            self.count.whole += sorted(self._take()) == lines

    def _free(self, number: int, us: int, poll: bool) -> None:
        """@number of them, or with @poll until the next order comes."""
        due = time.monotonic()
        while self.count.triggers < number or (
            poll and not select.select([self.port], [], [], 0)[0] and not self.stop.is_set()
        ):
            self._trigger()
            self._level(False)
            due += us / 1e6
            self._listen(max(due - time.monotonic(), 0))
            self._take()
        self._listen(QUIET_S)
        while self._take():
            self._listen(QUIET_S)

    def _obey(self, words: list[str]) -> None:
        numbers = [int(word) for word in words[1:]]
        if words[0] == "each":
            self._each(numbers[0], numbers[1])
        elif words[0] == "flood":
            self._free(numbers[0], numbers[1], poll=False)
        elif words[0] == "begin":
            self._free(0, numbers[0], poll=True)
        elif words[0] == "look":
            self._strays(numbers[0] / 1e3)

    def _next(self) -> list[str]:
        """The next order; it may come byte by byte."""
        text = b""
        while not text.endswith(b"\n"):
            self._listen(0.001)
            if not select.select([self.port], [], [], 0.02)[0]:
                continue
            data = self.port.recv(64)
            if not data:
                raise _Gone
            text += data
        return text.decode().split()

    def _serve(self) -> None:
        try:
            self._order(f"irq_intercept_out {self.chip}")
            while not self.stop.is_set():
                words = self._next()
                if words != ["end"]:
                    self.count = Count()
                    self._strays(0)
                    self._obey(words)
                if words[0] != "begin":
                    self.port.sendall(f"{self.count}\n".encode())
        except (OSError, ValueError, IndexError) as e:
            if not isinstance(e, _Gone) and not self.stop.is_set():
                term.say(f"wires: {e!r}")
