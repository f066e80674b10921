# SPDX-License-Identifier: GPL-2.0-or-later
"""A generator, simulated targets, and a host, for tests."""

import array
import mmap
import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from isolator_scope import protocol
from isolator_scope.protocol import (
    Ack,
    Afterthought,
    Floor,
    FrameReader,
    Gap,
    Hello,
    Message,
    Packet,
    Record,
    State,
    Status,
    Stray,
    Trigger,
    Welcome,
)
from waiting import PATIENCE_S, comes

LINES_SIZE = 1 << 20
ANSWER, DROP, TWICE, EARLY = range(4)  # target_log.h
_ENTRY = struct.Struct("<IIIIQ")


@dataclass(frozen=True)
class Act:
    """What a simulated target did, once."""

    act: int
    line: int
    sequence: int
    generation: int
    delay_ns: int


class Host:
    """A connection to a generator, and all that came over it."""

    def __init__(self, port: int, hello: Hello) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.reader = FrameReader()
        self.sequence = 0
        self.acks: list[Ack] = []
        self.welcomes: list[Welcome] = []
        self.floors: list[Floor] = []
        self.states: list[State] = []
        self.packets: list[Packet] = []
        self.closed = False
        self.said = self.ask(hello)
        # The WELCOME follows the answer, not always in the same read.
        if self.said.status == Status.OK:
            assert self.until(lambda: bool(self.welcomes)), "no WELCOME"

    @property
    def session(self) -> int:
        """Of the generator."""
        return self.welcomes[-1].session

    def pump(self, seconds: float) -> None:
        """Take what comes within that time."""
        self.until(lambda: False, seconds)

    def until(self, true: object, seconds: float = PATIENCE_S) -> bool:
        """Take what comes until `true()`; False: it did not come to that."""
        assert callable(true)
        limit = time.monotonic() + seconds
        while not true():
            left = limit - time.monotonic()
            if left <= 0 or self.closed:
                return bool(true())
            self.socket.settimeout(min(left, 0.05))
            try:
                data = self.socket.recv(1 << 16)
            except TimeoutError:
                continue
            except ConnectionError:
                data = b""
            if not data:
                self.closed = True
            for frame in self.reader.feed(data):
                self.take(protocol.decode(frame))
        return True

    def take(self, message: Message) -> None:
        for kind, kept in ((Ack, self.acks), (Welcome, self.welcomes), (Floor, self.floors),
                           (State, self.states), (Packet, self.packets)):
            if isinstance(message, kind):
                kept.append(message)  # type: ignore[arg-type]
                return
        raise AssertionError(f"a generator does not say {message}")

    def send(self, message: Message) -> None:
        """Without waiting for what it says."""
        self.socket.sendall(protocol.encode(message, self.sequence))
        self.sequence += 1

    def ask(self, message: Message) -> Ack:
        """A command's answer."""
        want = len(self.acks) + 1
        self.send(message)
        assert self.until(lambda: len(self.acks) >= want), f"no answer to {message}"
        assert self.acks[-1].sequence == self.sequence - 1
        return self.acks[-1]

    def order(self, *messages: Message) -> None:
        """Commands that must be accepted."""
        for message in messages:
            said = self.ask(message)
            assert said.status == Status.OK, f"{message}: {said.text}"

    def finish(self, triggers: int | None = None, seconds: float = 120.0) -> State:
        """Until no trigger is due and all records are there; the state then."""
        # The next state may be from before what was ordered last.
        count = len(self.states) + 2

        def over() -> bool:
            state = self.states[-1] if len(self.states) >= count else None
            return bool(state and not state.running and state.triggers == self.closed_triggers()
                        and (triggers is None or state.triggers == triggers))
        assert self.until(over, seconds), f"{self.states[-1:]} with {self.closed_triggers()}"
        return self.states[-1]

    def finish_from(self, earlier: list[Packet], triggers: int | None = None) -> State:
        """The same for a connection that went on from `earlier` packets, some of them lost."""
        count = len(self.states) + 2
        assert self.until(lambda: len(self.states) >= count and not self.states[-1].running
                          and (triggers is None or self.states[-1].triggers == triggers), 120)
        # What was sent before that state has come; what was under way comes before the next.
        count = len(self.states) + 1
        assert self.until(lambda: len(self.states) >= count)
        return self.states[-1]

    def more_triggers(self, count: int) -> None:
        """Wait for so many, however busy the machine is."""
        want = self.closed_triggers() + count
        assert self.until(lambda: self.closed_triggers() >= want)

    def triggers(self) -> list[Trigger]:
        """Those whose record is there."""
        return [record for record in self.records() if isinstance(record, Trigger)]

    def closed_triggers(self) -> int:
        """Whose record is there, or told to be lost."""
        return sum(1 if isinstance(record, Trigger) else record.last - record.first + 1
                   for record in self.records() if isinstance(record, Trigger | Gap))

    def records(self) -> list[Record]:
        """Of all packets."""
        return [record for packet in self.packets for record in packet.records]

    def close(self) -> None:
        """Without a word."""
        self.socket.close()


@dataclass
class Account:
    """What the records come to, and each answer's value."""

    triggers: int = 0
    expected: Counter[int] = field(default_factory=Counter)
    answered: Counter[int] = field(default_factory=Counter)
    late: Counter[int] = field(default_factory=Counter)
    values: dict[tuple[int, int], int] = field(default_factory=dict)  # line, trigger
    strays: list[Stray] = field(default_factory=list)

    def missing(self, line: int) -> int:
        """Expected and never seen."""
        return self.expected[line] - self.answered[line] - self.late[line]


def account(records: list[Record]) -> Account:
    """It also checks that triggers come once, in order, without holes."""
    found = Account()
    following: int | None = None
    for record in records:
        if isinstance(record, Trigger):
            assert following is None or record.trigger == following
            following = record.trigger + 1
            found.triggers += 1
            for line in range(64):
                found.expected[line] += record.mask >> line & 1
            for answer in record.answers:
                assert record.mask >> answer.line & 1
                (found.late if answer.late else found.answered)[answer.line] += 1
                assert (answer.line, record.trigger) not in found.values
                found.values[answer.line, record.trigger] = answer.ns
        elif isinstance(record, Afterthought):
            assert following is not None and record.trigger < following
            found.late[record.line] += 1
            assert (record.line, record.trigger) not in found.values
            found.values[record.line, record.trigger] = record.ns
        elif isinstance(record, Stray):
            found.strays.append(record)
        else:
            following = record.last + 1
    return found


def sequence_of(trigger: int, base: int) -> int:
    """As sequence.h has it."""
    return (trigger - 1 + base) % 0xFFFFFFFF + 1


class Lines:
    """The lines, of another client of the ivshmem server."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))
        self.messages: list[tuple[int, list[int]]] = []
        while not self.messages or self.messages[-1][0] != -1:
            self.receive()
        self.memory = mmap.mmap(self.messages[-1][1][0], LINES_SIZE)

    def receive(self) -> tuple[int, list[int]]:
        """One message: a number, and file descriptors."""
        data, control, _, _ = self.socket.recvmsg(8, socket.CMSG_SPACE(4))
        files: array.array[int] = array.array("i")
        for _, _, part in control:
            files.frombytes(part)
        self.messages.append((int.from_bytes(data, "little", signed=True), list(files)))
        return self.messages[-1]

    def word(self, at: int) -> int:
        """u32."""
        return int.from_bytes(self.memory[at:at + 4], "little")

    @property
    def trigger(self) -> int:
        """The last one's sequence."""
        return self.word(128)

    def close(self) -> None:
        """As a target that goes."""
        self.memory.close()
        for _, files in self.messages:
            for file in files:
                os.close(file)
        self.socket.close()


class Rig:
    """Where they run."""

    def __init__(self, programs: Path, directory: Path) -> None:
        self.programs, self.directory = programs, directory
        self.lines = directory / "lines.sock"
        self.log = directory / "target.log"
        self.started: list[subprocess.Popen[str]] = []
        self.hosts: list[Host] = []
        self.port = 0
        self.token = ""

    def _start(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([self.programs / program, *arguments], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"})
        self.started.append(process)
        return process

    def generator(self, *arguments: str) -> subprocess.Popen[str]:
        """Returns once hosts can connect."""
        process = self._start("generator", "--socket", str(self.lines), "--listen", "127.0.0.1:0",
                              "--rounds", "50", *arguments)
        assert process.stdout and process.stderr
        for line in process.stdout:
            match = re.match(r"hosts connect to 127\.0\.0\.1:(\d+) with the token in (.*)", line)
            if match:
                self.port = int(match[1])
                self.token = Path(match[2]).read_text().partition("\n")[0]
                return process
        raise AssertionError(process.stderr.read())

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A generator that ends by itself."""
        return subprocess.run([self.programs / "generator", *arguments], text=True,
                              timeout=PATIENCE_S, capture_output=True, check=False)

    def target(self, *arguments: str) -> subprocess.Popen[str]:
        """Returns once it answers; arguments with a comma are lines."""
        words = [word for one in arguments
                 for word in (["--line", one] if "," in one else [one])]
        process = self._start("target", "--socket", str(self.lines), "--log", str(self.log), *words)
        assert process.stdout and process.stderr
        assert process.stdout.readline() == "answers\n", process.stderr.read()
        return process

    def host(self, hello: Hello | None = None) -> Host:
        """Connected and welcomed."""
        host = Host(self.port, hello or Hello(token=self.token))
        self.hosts.append(host)
        return host

    def acts(self) -> list[Act]:
        """What the targets wrote down."""
        with self.log.open("rb") as file:
            count = int.from_bytes(file.read(8), "little")
            return [Act(*values) for values in _ENTRY.iter_unpack(file.read(count * _ENTRY.size))]

    def kill(self, process: subprocess.Popen[str]) -> None:
        """With SIGKILL."""
        process.kill()
        process.communicate()

    def stop(self, process: subprocess.Popen[str]) -> str:
        """Orderly; what it said on standard error."""
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors
        return errors

    def keeper_gone(self) -> bool:
        """Has the server of the lines ended, and its socket with it?"""
        return comes(lambda: not self.lines.exists())

    def end(self) -> None:
        """What still runs, and what a sanitizer found meanwhile."""
        for host in self.hosts:
            host.close()
        found = ""
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                found += process.communicate(timeout=PATIENCE_S)[1]
            assert process.returncode in (0, -signal.SIGKILL), found
        assert "Sanitizer" not in found and "runtime error" not in found, found
        assert self.keeper_gone(), "the server of the lines is still there"
