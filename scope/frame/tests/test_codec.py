# SPDX-License-Identifier: GPL-2.0-or-later
"""The C codec and the Python codec: the same bytes, and neither takes what is wrong."""

import json
import random
import subprocess
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from isolator_scope import protocol
from isolator_scope.protocol import (
    Ack,
    Frame,
    FrameReader,
    Hello,
    Message,
    Packet,
    ProtocolError,
    State,
    Welcome,
)

HERE = Path(__file__).parent
VECTORS = json.loads((HERE.parents[1] / "tests/vectors.json").read_text())
COMPILE = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g",
           "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{HERE.parent}"]


@pytest.fixture(scope="module")
def codec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """codec.c, with sanitizers."""
    program = tmp_path_factory.mktemp("codec") / "codec"
    subprocess.run([*COMPILE, "-o", program, HERE / "codec.c",
                    *sorted(HERE.parent.glob("*.c"))], check=True)
    return program


def run(codec: Path, verb: str, lines: list[str]) -> list[str]:
    """Its answer to each line."""
    text = subprocess.run([codec, verb], input="".join(f"{line}\n" for line in lines), check=True,
                          capture_output=True, text=True).stdout
    return text.splitlines()


def read(hexadecimal: str) -> tuple[int, Message]:
    """By the Python codec, one byte after another: sequence and message."""
    reader = FrameReader(resync=True)
    frames = [frame for byte in bytes.fromhex(hexadecimal) for frame in reader.feed(bytes([byte]))]
    assert len(frames) == 1 and not reader.skipped, "no frame"
    return frames[0].sequence, protocol.decode(frames[0])


def record_as_list(record: protocol.Record) -> list[Any]:
    """As codec.c prints it."""
    values: list[Any] = [record.KIND]
    for one in fields(record):
        value = getattr(record, one.name)
        if one.name == "answers":
            values += [[answer.line, answer.ns, answer.flags] for answer in value]
        else:
            values.append(value)
    return values


def as_c_prints(sequence: int, message: Message) -> dict[str, Any]:
    """What codec.c says of a message, made of Python's."""
    numbers = [value for value in (getattr(message, one.name) for one in fields(message))
               if isinstance(value, int)]
    said = {"type": message.TYPE, "sequence": sequence,
            "numbers": numbers + [0] * (14 - len(numbers)), "tail": ""}
    if isinstance(message, Packet):
        said["tail"] = b"".join(record.pack() for record in message.records).hex()
        said["records"] = [record_as_list(record) for record in message.records]
    elif isinstance(message, Hello | Ack):
        text = message.token if isinstance(message, Hello) else message.text
        said["tail"] = text.encode().hex()
    elif isinstance(message, Welcome):
        said["tail"] = b"".join(name.encode().ljust(16, b"\0") for name in message.names).hex()
    elif isinstance(message, State):
        said["tail"] = b"".join(value.to_bytes(8, "little") for line in message.lines
                                for value in asdict(line).values()).hex()
    return said


def plain(message: Message) -> dict[str, Any]:
    """The fields, as vectors.json has them."""
    values = asdict(message)
    if isinstance(message, Packet):
        values["records"] = [[type(one).__name__.lower(), asdict(one)] for one in message.records]
    return dict(json.loads(json.dumps(values)))


@pytest.mark.parametrize("vector", VECTORS["good"], ids=lambda vector: vector["about"])
def test_vector(vector: dict[str, Any]) -> None:
    """Python reads the fields, and makes the same bytes again."""
    sequence, message = read(vector["hex"])
    assert (type(message).__name__, sequence) == (vector["message"], vector["sequence"])
    assert plain(message) == vector["fields"]
    assert protocol.encode(message, sequence).hex() == vector["hex"]


def test_vectors_in_c(codec: Path) -> None:
    """C reads the same, and makes the same bytes again."""
    lines = [vector["hex"] for vector in VECTORS["good"]]
    assert {vector["message"] for vector in VECTORS["good"]} == {
        kind.__name__ for kind in protocol.MESSAGES.values()}
    assert run(codec, "again", lines) == lines
    for line, said in zip(lines, run(codec, "read", lines), strict=True):
        assert json.loads(said) == as_c_prints(*read(line))


def test_bad_vectors(codec: Path) -> None:
    """Both refuse them, at the same place."""
    lines = [vector["hex"] + "00" * vector.get("zeros", 0) for vector in VECTORS["bad"]]
    for vector, line, said in zip(VECTORS["bad"], lines, run(codec, "read", lines), strict=True):
        assert said == f"no {vector['why']}", vector["about"]
        with pytest.raises(ProtocolError):
            for frame in FrameReader().feed(bytes.fromhex(line)):
                assert vector["why"] == "message", vector["about"]
                protocol.decode(frame)


def test_what_c_makes_python_reads(codec: Path) -> None:
    """Random messages out of made.h."""
    made = subprocess.run([codec, "made", "7", "1500"], check=True, capture_output=True, text=True)
    for line in made.stdout.splitlines():
        hexadecimal, said = line.split(" ", 1)
        sequence, message = read(hexadecimal)
        assert as_c_prints(sequence, message) == json.loads(said)
        assert protocol.encode(message, sequence).hex() == hexadecimal


def test_damaged_alike(codec: Path) -> None:
    """Payloads that were changed below a right checksum: both take them, or neither does."""
    dice = random.Random(3)
    lines, verdicts = [], []
    for _ in range(1500):
        kind, payload = _payload_of(dice)
        frame = Frame(kind, 0, payload)
        lines.append(protocol.encode_frame(frame).hex())
        try:
            protocol.decode(frame)
            verdicts.append("taken")
        except ProtocolError:
            verdicts.append("no message")
    said = ["no message" if one == "no message" else "taken" for one in run(codec, "read", lines)]
    assert verdicts == said
    assert 100 < said.count("taken") < 1400


def _payload_of(dice: random.Random) -> tuple[int, bytes]:
    vector = dice.choice(VECTORS["good"])
    frame = next(FrameReader(resync=True).feed(bytes.fromhex(vector["hex"])))
    payload = bytearray(frame.payload)
    for _ in range(dice.randrange(3)):
        if payload:
            payload[dice.randrange(len(payload))] = dice.choice((0, 1, 255, dice.randrange(256)))
    if not dice.randrange(4):
        payload = payload[:dice.randrange(len(payload) + 1)]
    return frame.type, bytes(payload)


def test_sequence() -> None:
    """TCP: the next one or none.  A serial line: what is missing is counted."""
    first, third = (protocol.encode(protocol.Ping(), number) for number in (0, 2))
    with pytest.raises(ProtocolError, match="frame 2 came where 1 was due"):
        list(FrameReader().feed(first + third))
    reader = FrameReader(resync=True)
    assert len(list(reader.feed(first + third))) == 2
    assert reader.missed == 1
    reader.restart()
    assert len(list(reader.feed(first))) == 1
    assert reader.missed == 1


def test_whole_before_what_is_wrong() -> None:
    """Frames that came with what is none, in one piece, count: an answer is not lost."""
    came = FrameReader().feed(protocol.encode(protocol.Ping(), 0) + b"GET / HTTP/1.1\r\n")
    assert next(came).sequence == 0
    with pytest.raises(ProtocolError):
        next(came)


def test_serial_line() -> None:
    """Noise is skipped; a frame that does not go on is given up, and hides nothing."""
    ping = protocol.encode(protocol.Ping(), 0)
    reader = FrameReader(resync=True)
    assert len(list(reader.feed(b"noise ISC" + ping))) == 1
    assert reader.skipped == 9
    begun = bytearray(protocol.encode(protocol.Hello(token="x" * 200), 1))[:40]
    assert not list(reader.feed(bytes(begun) + ping))
    reader.abandon()
    assert len(list(reader.feed(b""))) == 1
    assert reader.skipped == 9 + len(begun)


def test_out_of_range() -> None:
    """What a field cannot hold is an error of the caller's."""
    with pytest.raises(ValueError):
        protocol.encode(protocol.SetDuty(1 << 32), 0)
    with pytest.raises(ValueError):
        protocol.encode(Welcome(1, 1, 0, 0, 0, 0, ("a-name-that-is-too-long",)), 0)
