# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds of the parsers in Python, whatever they are given: python3 -m fuzzers.properties NAME
SECONDS SEED.  Anything but the error that is theirs is a finding."""

import asyncio
import contextlib
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import report_documents
from hypothesis import strategies
from isolator_report import advise, compare, foreign
from isolator_report.document import check, decode
from isolator_report.errors import ReportError
from isolator_report.page import page
from isolator_report.perfetto_trace import export
from isolator_scope import protocol
from isolator_scope.account import Account
from isolator_scope.document import document
from isolator_scope.errors import ScopeError
from isolator_scope.frame import PAYLOAD_MAX, FrameReader
from isolator_scope.instrument import Instrument, feed, parse
from isolator_scope.recording import MAGIC, Kind, pack
from isolator_scope.text import csv_text, table

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "report/tests/samples"
BATCH = 50  # examples of one seed
VALUES: list[Any] = [
    "", "<img src=x>", "\x1b]0;t\x07", "\ud800", 0, -1, 0.5, 1e308, -1e-308, 2**53, 2**63 - 1,
    2**63, 2**64 - 1, 10**30, 10**400, float("nan"), float("inf"), None, True, False, [], {}, "nan",
    "9999-99-99T99:99:99Z", "0001-01-01T00:00:00.000000000Z", "9999-12-31T23:59:59.999999999Z"]
numbers = strategies.integers(-(2**65), 2**65) | strategies.floats()
anything = strategies.sampled_from(VALUES) | numbers | strategies.text(max_size=20)
edits = strategies.lists(strategies.tuples(strategies.integers(0, 2**31), anything), min_size=1,
                         max_size=4)
# Where, how much is taken away, what comes there.
cuts = strategies.lists(strategies.tuples(
    strategies.integers(0, 2**31), strategies.integers(0, 8),
    strategies.binary(max_size=8) | strategies.sampled_from(
        [b"9" * 20, b"-1", b"nan", b"1e999", b"{", b"[[", b"\0", b"\xff\xff\xff\xff"])),
    min_size=1, max_size=6)


def places(data: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Of all that is below; of long lists the first ones and the last."""
    found = [here] if here else []
    keys = list(data) if isinstance(data, dict) else []
    if isinstance(data, list):
        keys = sorted({*range(min(len(data), 2)), *range(max(len(data) - 1, 0), len(data))})
    for key in keys:
        found += places(data[key], (*here, key))
    return found


def edited(data: Any, changes: list[tuple[int, Any]]) -> Any:
    """A copy with other values at some places, or without them."""
    made = json.loads(json.dumps(data))
    for which, value in changes:
        known = places(made)
        if not known:
            break
        place = known[which % len(known)]
        inside = made
        for key in place[:-1]:
            inside = inside[key]
        if which % 11 == 0 and isinstance(inside, dict):
            del inside[place[-1]]
        else:
            inside[place[-1]] = value
    return made


def cut(data: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    """The same of bytes."""
    for where, length, what in changes:
        at = where % (len(data) + 1)
        data = data[:at] + what + data[at + length:]
    return data


@cache
def documents() -> list[Any]:
    """Good ones."""
    return [report_documents.attributed([50_000] * 40 + [300_000, 500_000]).data,
            report_documents.result([1000, 2000, 3000] * 30, loaded=[5000] * 40).data]


@hypothesis.given(strategies.integers(0, 2), edits)
def report(which: int, changes: list[tuple[int, Any]]) -> None:
    """A document is refused, or all that is made of one can be made of it."""
    good = documents()
    text = json.dumps(edited(good[which % len(good)], changes))
    with contextlib.suppress(ReportError):
        found = check(decode(text, "x"), "x")
        assert "<img src=x>" not in page([found])
        with contextlib.suppress(ReportError):
            export(found)
        with contextlib.suppress(ReportError):
            advise.advise(found, 99.9)
        with contextlib.suppress(ReportError):
            one = compare.run_of(found)
            compare.compare([one], [one], 0.05, None, None)


@cache
def files() -> list[str]:
    """Of other programs."""
    return [path.read_text() for path in sorted(SAMPLES.iterdir())
            if path.suffix in (".json", ".txt")]


@hypothesis.given(strategies.integers(0, 9), edits, cuts, strategies.booleans())
def imported(which: int, changes: list[tuple[int, Any]], bytewise: list[tuple[int, int, bytes]],
             whole: bool) -> None:
    """A file is refused, or becomes a document that is one."""
    text = files()[which % len(files())]
    if whole and text.startswith("{"):
        text = json.dumps(edited(json.loads(text), changes))
    else:
        text = cut(text.encode(), bytewise).decode(errors="replace")
    with contextlib.suppress(ReportError):
        result, _ = foreign.convert(text, "x")
        check(json.loads(json.dumps(result.data)), "x")
        page([result])


@cache
def frames() -> list[protocol.Frame]:
    """One of each, and packets."""
    vectors = json.loads((ROOT / "scope/tests/vectors.json").read_text())["good"]
    return [parse(bytes.fromhex(one["hex"]))[0] for one in vectors]


@hypothesis.given(strategies.lists(strategies.tuples(strategies.integers(0, 99), cuts), max_size=5),
                  strategies.integers(1, 64))
def messages(changes: list[tuple[int, list[tuple[int, int, bytes]]]], piece: int) -> None:
    """A frame comes out as it was put in; its payload is refused, or read for good."""
    account, sent = Account(), []
    for place, (which, bytewise) in enumerate(changes):
        good = frames()[which % len(frames())]
        payload = cut(good.payload, bytewise)[:PAYLOAD_MAX]
        sent.append(protocol.Frame(good.type, place, payload))
    stream = b"".join(protocol.encode_frame(frame) for frame in sent)
    reader, came = FrameReader(), list[protocol.Frame]()
    for at in range(0, len(stream), piece):
        came += reader.feed(stream[at:at + piece])
    assert came == sent
    for at, frame in enumerate([*frames(), *came]):
        message = None
        with contextlib.suppress(protocol.ProtocolError):
            message = protocol.decode(frame)
        feed(account, frame, message, at)
        if message is not None:
            # Once more, as texts that are none have become some; names that are not ASCII are
            # shown so, and no generator writes them.
            if isinstance(message, protocol.Welcome) and not "".join(message.names).isascii():
                continue
            again = protocol.Frame(frame.type, frame.sequence, message.payload())
            assert protocol.decode(again) == message
    table(account)
    with contextlib.suppress(protocol.ProtocolError):
        list(FrameReader().feed(cut(stream, changes[0][1]) if changes else b""))


@hypothesis.given(strategies.lists(strategies.tuples(
    strategies.integers(0, 99), strategies.sampled_from([*Kind, 3]), cuts), max_size=8), cuts,
    strategies.booleans())
def recordings(entries: list[tuple[int, int, list[tuple[int, int, bytes]]]],
               bytewise: list[tuple[int, int, bytes]], torn: bool) -> None:
    """A recording is refused, or replayed, shown and written as CSV as far as it is whole."""
    raw = MAGIC
    for at, (which, kind, changes) in enumerate(entries):
        frame = protocol.encode_frame(frames()[which % len(frames())])
        note = json.dumps({"event": "cut", "why": which}).encode()
        raw += pack(kind, cut(note if kind == Kind.NOTE else frame, changes), at)
    if torn:
        raw = cut(raw, bytewise)
    with tempfile.NamedTemporaryFile() as file, contextlib.suppress(ScopeError):
        file.write(raw)
        file.flush()
        instrument = Instrument(Path(file.name), live=False)
        asyncio.run(instrument.replay(0))
        if not len(raw) % 8:  # which takes long
            check(document(instrument.account).data, "x")
        table(instrument.account)
        for _ in csv_text(Path(file.name)):
            pass


PROPERTIES: dict[str, Callable[[], None]] = {
    "report": report, "foreign": imported, "protocol": messages, "recording": recordings}


def main(name: str, seconds: int, seed: int) -> None:
    """Seed after seed until the time is over; the last line says how many examples."""
    count = 0
    held = PROPERTIES[name]
    inner = held.hypothesis.inner_test  # type: ignore[attr-defined]

    def counting(*values: Any, **named: Any) -> None:
        nonlocal count
        count += 1
        inner(*values, **named)

    held.hypothesis.inner_test = counting  # type: ignore[attr-defined]
    held = hypothesis.settings(
        max_examples=BATCH, deadline=None, database=None, print_blob=True,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck))(held)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            hypothesis.seed(seed)(held)()
        except Exception as problem:
            own = [one for one in traceback.extract_tb(problem.__traceback__)
                   if Path(one.filename).is_relative_to(ROOT)]
            sys.exit("\n".join([*"".join(traceback.format_list(own)).splitlines(),
                                f"{type(problem).__name__}: {problem}"[:500],
                                *getattr(problem, "__notes__", [])]))
        seed += 1
    print(f"{count} inputs in {seconds} s")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
