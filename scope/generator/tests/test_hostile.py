# SPDX-License-Identifier: GPL-2.0-or-later
"""A generator among peers that are broken or hostile: it refuses, survives, leaks nothing."""

import json
import os
import random
import signal
import socket
import subprocess
from pathlib import Path

from isolator_scope import protocol
from isolator_scope.protocol import (
    Ack,
    Calibrate,
    Frame,
    Hello,
    Kept,
    Message,
    Ping,
    SetFrequency,
    SetLines,
    SetPatience,
    Start,
    Status,
    Stop,
)
from rig import Lines, Rig, account
from waiting import PATIENCE_S, comes

MS = 1_000_000
VECTORS = json.loads((Path(__file__).parents[2] / "tests/vectors.json").read_text())


def files_of(process: subprocess.Popen[str]) -> int:
    """How many are open."""
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def rss_kib(process: subprocess.Popen[str]) -> int:
    """Resident memory."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("it has ended")


def hostile_bytes(dice: random.Random, token: str) -> bytes:
    """Noise, damaged frames, right frames of wrong payloads, right frames in wrong order."""
    kind = dice.randrange(5)
    if kind == 0:
        return dice.randbytes(dice.randrange(2000))
    frames = [bytes.fromhex(dice.choice(VECTORS["good"])["hex"]) for _ in range(4)]
    if kind == 1:
        data = bytearray(b"".join(frames))
        for _ in range(dice.randrange(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        return bytes(data)
    hello = protocol.encode(Hello(token=token), 0)
    if kind == 2:
        # Welcomed first; sequence right, type and payload anything.
        return hello + b"".join(protocol.encode_frame(Frame(
            dice.choice([*protocol.MESSAGES, dice.randrange(256)]), number,
            dice.randbytes(dice.choice([0, 1, 2, 4, 8, 9, 10, 300, 65536]))))
            for number in range(1, dice.randrange(2, 12)))
    if kind == 3:
        return hello + frames[0][:dice.randrange(len(frames[0]))]
    # Settings that are allowed or at the edge, as fast as they can be said.
    orders: list[Message] = [
        SetFrequency(dice.randrange(1, 2 * 10**9)), SetPatience(dice.randrange(10**10)),
        SetLines(dice.getrandbits(32)), Start(dice.randrange(1, 5)), Stop(), Calibrate(1),
        Kept(dice.randrange(3)), Ping()]
    return hello + b"".join(protocol.encode(dice.choice(orders), number)
                            for number in range(1, 120))


def test_fuzzed_hosts(rig: Rig) -> None:
    """Many connections with anything in them; then a good host finds all in order."""
    generator = rig.generator()
    files = files_of(generator) + 1  # with the target's doorbell
    rig.target("irq,5")
    assert comes(lambda: files_of(generator) == files)
    dice, memory = random.Random(1), 0
    for number in range(150):
        with socket.create_connection(("127.0.0.1", rig.port), 5) as connection:
            connection.settimeout(0.02)
            try:
                connection.sendall(hostile_bytes(dice, rig.token))
                while connection.recv(65536):
                    pass
            except (TimeoutError, ConnectionError):
                pass
        assert generator.poll() is None
        if number == 60:
            memory = rss_kib(generator)
    host = rig.host()
    host.order(Stop(), SetPatience(50 * MS))
    before = host.finish_from([]).triggers
    host.order(SetLines(1), SetFrequency(500_000), Start(100))
    state = host.finish_from([], before + 100)
    assert state.lines[0].answered + state.lines[0].late > 0
    host.close()
    assert comes(lambda: files_of(generator) == files)
    # Connections that were kept would be 330 KiB each.
    assert rss_kib(generator) - memory < 8_000


def test_who_does_not_read(rig: Rig) -> None:
    """Commands without end whose answers nobody takes: it stops to listen, and measures on."""
    generator = rig.generator()
    rig.target("irq,5")
    deaf = socket.create_connection(("127.0.0.1", rig.port), 5)
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.sendall(protocol.encode(Hello(token=rig.token), 0))
    deaf.settimeout(2)
    sequence = 1
    try:
        while sequence < 500_000:
            pings = b"".join(protocol.encode(Ping(), sequence + i) for i in range(500))
            deaf.sendall(pings)
            sequence += 500
    except TimeoutError:
        pass
    assert sequence < 500_000
    memory = rss_kib(generator)
    host = rig.host()
    host.order(SetFrequency(500_000), SetPatience(50 * MS), Start(200))
    host.finish(200)
    assert account(host.records()).triggers == 200
    assert rss_kib(generator) - memory < 8_000
    deaf.close()


def test_out_of_turn(rig: Rig) -> None:
    """A command before HELLO is refused; a frame whose sequence is not the next ends it all."""
    rig.generator()
    host = rig.host()
    early = socket.create_connection(("127.0.0.1", rig.port), 5)
    early.sendall(protocol.encode(SetFrequency(77_000), 0))
    frames = list(protocol.FrameReader().feed(early.recv(4096)))
    said = protocol.decode(frames[0])
    assert isinstance(said, Ack) and (said.status, said.text) == (Status.REFUSED, "HELLO first")
    early.close()
    assert host.finish_from([]).millihertz == 100_000
    host.order(Ping())
    host.sequence += 1
    host.send(SetFrequency(77_000))
    assert host.until(lambda: host.closed)
    assert rig.host().finish_from([]).millihertz == 100_000


def test_who_says_nothing(rig: Rig) -> None:
    """Connections without HELLO are closed after 5 s, and no more than some are held."""
    generator = rig.generator()
    files = files_of(generator)
    silent = [socket.create_connection(("127.0.0.1", rig.port), 5) for _ in range(20)]
    # They are taken in their order: whoever comes last is answered when all of them were.
    last = rig.host()
    assert last.said.status == Status.OK and files_of(generator) <= files + 9
    last.close()
    assert comes(lambda: files_of(generator) == files)
    for one in silent:
        one.close()
    assert rig.host().said.status == Status.OK


def test_who_says_nothing_keeps_nobody_out(rig: Rig) -> None:
    """All places are taken by peers that have not said who they are: the oldest of them goes."""
    rig.generator()
    host = rig.host()
    silent = [socket.create_connection(("127.0.0.1", rig.port), 5) for _ in range(20)]
    newer = rig.host()
    assert newer.said.status == Status.OK
    silent[0].settimeout(PATIENCE_S)
    assert not silent[0].recv(1)
    host.until(lambda: host.closed)  # as there is a newer one
    newer.order(Ping())
    # The host's own place is nobody else's.
    more = [socket.create_connection(("127.0.0.1", rig.port), 5) for _ in range(20)]
    newer.order(Ping(), Ping())
    for one in [*silent, *more]:
        one.close()


def test_scribbled_lines(rig: Rig) -> None:
    """A target that writes anything anywhere: the account holds, and it goes on."""
    generator = rig.generator()
    lines = Lines(rig.lines)
    host = rig.host()
    host.order(SetLines(0xFF), SetFrequency(500_000), SetPatience(5 * MS), Start(0))
    dice = random.Random(2)
    for number in range(8_000):
        line = dice.randrange(32)
        head = 8192 * (1 + line)
        where = dice.choice((head, head, head + 64 + 4 * dice.randrange(1024),
                             4 * dice.randrange(2048), dice.randrange(1 << 18) * 4))
        value = dice.choice((dice.getrandbits(32), lines.trigger, lines.word(head) + 1))
        lines.memory[where:where + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")
        if number % 200 == 0:
            host.pump(0.001)
    assert host.until(lambda: host.closed_triggers() > 100)
    host.order(Stop())
    state = host.finish()
    assert generator.poll() is None
    found = account(host.records())
    # A host that is not scheduled in time loses whole triggers; the generator reports how many.
    lost = host.closed_triggers() - found.triggers
    assert found.triggers > 10
    for line, said in enumerate(state.lines):
        assert 0 <= said.answered + said.late + said.missing - found.expected[line] <= lost
    assert state.lost > 0 and sum(said.strays for said in state.lines) > 0
    for place, value in found.values.items():
        assert 0 <= value < 10**10, place
    lines.close()


def test_overwritten_answers(rig: Rig) -> None:
    """More answers than a line holds, in one stroke, are counted as lost."""
    rig.generator()
    lines = Lines(rig.lines)
    host = rig.host()
    host.order(SetLines(1))
    head = 8192
    lines.memory[head:head + 4] = (5000).to_bytes(4, "little")
    assert host.until(lambda: bool(host.states) and host.states[-1].lost > 0)
    assert host.states[-1].lost == 5000 - 1023
    assert host.until(lambda: host.states[-1].lines[0].strays == 1023)
    lines.close()


def test_clients_of_the_lines(rig: Rig) -> None:
    """Clients that come, talk, and go, many of them: the server says each to the others."""
    rig.generator()
    watching = Lines(rig.lines)
    for _ in range(40):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(rig.lines))
            client.sendall(b"anything")
    rig.target("irq,5")
    host = rig.host()
    host.order(SetLines(1), SetFrequency(500_000), SetPatience(50 * MS), Start(0))
    # Only a target that is held up long enough answers to none in time: then to later ones.
    assert host.until(lambda: bool(host.states) and host.states[-1].lines[0].answered > 0, 30)
    host.order(Stop())
    host.finish()
    version, own, memory = watching.messages[:3]
    assert (version[0], memory[0]) == (0, -1) and own[0] > 0
    while watching.messages[-1][0] != own[0]:
        watching.receive()
    watching.close()


def test_an_id_comes_once(rig: Rig) -> None:
    """QEMU frees what it has of a peer that goes, and writes there when one of its id comes.

    It has room for one doorbell of each, with vectors=1.
    """
    generator = rig.generator()
    watching = Lines(rig.lines)
    watching.socket.settimeout(PATIENCE_S)
    rig.kill(generator)
    rig.generator()
    came: list[int] = []
    while len(came) < 3:  # the first generator, this one, the second generator
        number, files = watching.receive()
        came += [number] if files else []
    assert len(set(came)) == 3
    watching.close()


def test_keeper_killed(rig: Rig) -> None:
    """Who serves the lines is killed: said aloud; those who are connected go on."""
    generator = rig.generator()
    rig.target("irq,5")
    children = Path(f"/proc/{generator.pid}/task/{generator.pid}/children").read_text().split()
    assert len(children) == 1
    os.kill(int(children[0]), signal.SIGKILL)
    host = rig.host()
    host.order(SetFrequency(500_000), SetPatience(50 * MS), Start(50))
    host.finish(50)
    assert host.until(lambda: host.states[-1].lines[0].answered + host.states[-1].lines[0].late > 0)
    host.close()
    assert "the ivshmem server has gone" in rig.stop(generator)
    rig.lines.unlink()


def test_memory_that_may_shrink(rig: Rig) -> None:
    """Lines that another could take away below us are refused."""
    file = os.memfd_create("lines")
    os.ftruncate(file, 1 << 20)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(rig.lines))
        server.listen()
        process = subprocess.Popen(
            [rig.programs / "generator", "--socket", str(rig.lines), "--listen", "127.0.0.1:0"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        client, _ = server.accept()
        hello: list[tuple[int, list[int]]] = [(0, []), (0, []), (-1, [file])]
        for number, files in hello:
            socket.send_fds(client, [number.to_bytes(8, "little", signed=True)], files)
        _, errors = process.communicate(timeout=PATIENCE_S)
        client.close()
    os.close(file)
    rig.lines.unlink()
    assert process.returncode == 1 and "sealed" in errors
