# SPDX-License-Identifier: GPL-2.0-or-later
"""A host whose generator, recording or page says what makes no sense: it is counted, never an end.

Each value here is one that the protocol's fields hold.
"""

import asyncio
import contextlib
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from isolator_scope.cli import main
from isolator_scope.commands import Commands
from isolator_scope.errors import INCONCLUSIVE
from isolator_scope.instrument import Instrument
from isolator_scope.link import Target
from isolator_scope.protocol import (
    Afterthought,
    Answer,
    Floor,
    FrameReader,
    Gap,
    Hello,
    Message,
    Packet,
    Record,
    State,
    Stray,
    Trigger,
    Welcome,
    decode,
    encode,
)
from isolator_scope.questions import Questions
from isolator_scope.recording import Kind, Reader, Recording
from isolator_scope.trail import BASE
from isolator_scope.view import View
from scope_runs import generator, measuring, until, write
from scope_served import served, stand_in, told
from sim.generator import Link
from waiting import PATIENCE_S

LAST = (1 << 64) - 1
EXTREME = (0, 1, (1 << 53) - 1, (1 << 60) - 1, (1 << 62) - 1, 1 << 62, 1 << 63, LAST)
NAMES = ("irq", "tasklet", "user")
SECOND = 1_000_000_000


def welcome(session: int = 7, now: int = SECOND, names: tuple[str, ...] = NAMES,
            first: int = 0) -> Welcome:
    """Of a generator that is a second old."""
    return Welcome(1, session, first, first, 40, now, names)


def one(record: Record, number: int = 0) -> Packet:
    """A packet of it alone."""
    return Packet(number, 0, (record,))


# What the host cannot account for, and what came before is still right.
WRONG: dict[str, Message] = {
    "65 lines": welcome(names=("x",) * 65), "a name of half a line": welcome(names=("a\nb",)),
    "a clock of 500 years": welcome(now=1 << 63), "the first packet": welcome(8, first=LAST),
    "an answer of 292 years": one(Trigger(1, SECOND, 0, 7, (Answer(0, 1 << 63),))),
    "a trigger's number": one(Trigger(1 << 63, SECOND, 0, 7)),
    "a trigger's time": one(Trigger(1, 1 << 63, 0, 7)),
    "late by 292 years": one(Afterthought(1, 0, 1 << 63)),
    "a stray's time": one(Stray(0, 0, LAST)), "a gap without end": one(Gap(1, LAST)),
    "a packet's number": Packet(LAST, 0, (Trigger(1, SECOND, 0, 7),)),
}


def exported(path: Path) -> None:
    """All that is made of a recording can be; it says that it is no result."""
    for words in (["--format", "csv"], ["--format", "json"]):
        assert main(["export", str(path), *words, "-o", str(path.with_suffix(".out"))]) in (
            0, INCONCLUSIVE)
    assert main(["report", str(path), "-o", str(path.with_suffix(".html"))]) == INCONCLUSIVE


@pytest.mark.parametrize("about", WRONG)
def test_values_that_no_account_holds(tmp_path: Path, about: str) -> None:
    """Over a live link: the host goes on, counts the message, and says so; read again, too."""
    path = tmp_path / "a.scope"

    async def run() -> None:
        async def say(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for number, message in enumerate((welcome(), WRONG[about])):
                writer.write(encode(message, number))
            with contextlib.suppress(ConnectionError):
                await writer.drain()

        server = await asyncio.start_server(say, "127.0.0.1", 0)
        host = Instrument(path, live=True, indexed=True)
        host.ready = True
        host.connect(Target("127.0.0.1", server.sockets[0].getsockname()[1]))
        task = asyncio.create_task(host.measure())
        await until(lambda: host.account.unreadable > 0 or task.done(), PATIENCE_S)
        assert not task.done() and View(host).slow()["status"]["doubts"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        server.close()
        host.close()

    asyncio.run(run())
    exported(path)
    again = Instrument(path, live=True, indexed=True)
    assert again.account.unreadable  # out of the checkpoint
    again.close()


def test_the_token_is_for_its_address(tmp_path: Path) -> None:
    """Another address, which a page may name, is not told it; the first one is, again."""
    async def run() -> None:
        came: asyncio.Queue[Message] = asyncio.Queue()

        async def hear(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
            for frame in FrameReader().feed(await reader.read(1 << 16)):
                came.put_nowait(decode(frame))

        other = await asyncio.start_server(hear, "127.0.0.1", 0)
        port = other.sockets[0].getsockname()[1]
        async with generator(link=Link(token="s3cret")) as made, \
                measuring(tmp_path / "a.scope", made.port, "s3cret") as host:
            assert host.link is not None
            await asyncio.wait_for(host.link.connected.wait(), PATIENCE_S)
            commands = Commands(host)
            assert (await commands.do({"name": "connect", "target": f"127.0.0.1:{port}"}))[0] == 200
            said = await asyncio.wait_for(came.get(), PATIENCE_S)
            assert isinstance(said, Hello) and said.token == ""
            where = f"127.0.0.1:{made.port}"
            assert (await commands.do({"name": "connect", "target": where}))[0] == 200
            await until(host.link.connected.is_set, PATIENCE_S)
        other.close()

    asyncio.run(run())


@pytest.mark.parametrize("seed", range(3))
def test_whatever_a_generator_says(tmp_path: Path, seed: int) -> None:
    """Extreme values at random, with the index: no error, and all of it can be told."""
    dice, path = random.Random(seed), tmp_path / "a.scope"

    def any_() -> int:
        return dice.choice((*EXTREME, dice.randrange(1 << 64), dice.randrange(100)))

    host = Instrument(path, live=True, indexed=True)
    host.ready = True
    recording = Recording(tmp_path / "b.scope")
    at = 1_800_000_000 * SECOND
    for number in range(300):
        at += dice.randrange(5 * SECOND)
        records: list[Record] = [
            Trigger(any_(), any_(), 0, dice.randrange(1 << 64),
                    tuple(Answer(dice.randrange(64), any_(), dice.randrange(4))
                          for _ in range(dice.randrange(3)))),
            Trigger(number + 1, number * SECOND, 0, 7, (Answer(0, (1 << 53) - 1),)),
            Afterthought(dice.choice((any_(), number)), dice.randrange(64), any_()),
            Stray(dice.randrange(64), 1, any_()), Gap(number, dice.choice((any_(), number)))]
        made: list[Message] = [
            Packet(host.account.next_packet, any_(), (dice.choice(records),)),
            one(dice.choice(records), any_()),
            welcome(dice.choice((7, any_())), any_(), NAMES[:dice.randrange(4)], any_()),
            State(any_(), any_(), 1, 1, 0, any_(), 0, 1, any_(), any_(), 0, any_(), any_()),
            Floor(any_() % (1 << 32), *(any_() for _ in range(7)))]
        recording.append(Kind.FRAME, encode(dice.choice(made), number), at)
    recording.close()
    for entry in Reader(tmp_path / "b.scope"):
        host.take(entry)
        if not entry.begin % 7:
            host.save()
    view = View(host)
    assert view.tick() and view.slow()
    host.close()
    exported(tmp_path / "b.scope")


def test_late_of_a_trigger_that_is_forgotten(tmp_path: Path) -> None:
    """No column counts fewer than none missing."""
    path = tmp_path / "a.scope"
    recording, at = Recording(path), 1_800_000_000 * SECOND
    recording.append(Kind.FRAME, encode(welcome(now=0), 0), at)
    for number in range(6):  # the first ones answer nothing, the last ones all
        answers = () if number == 0 else tuple(Answer(line, 1000) for line in range(3))
        recording.append(Kind.FRAME, encode(Packet(number, 0, tuple(
            Trigger(1000 * number + one + 1, (1000 * number + one) * 1_000_000, 0, 7, answers)
            for one in range(1000))), 0), at)
    recording.append(Kind.FRAME, encode(one(Afterthought(5, 1, 2000), 6), 0), at)
    recording.append(Kind.FRAME, encode(one(Trigger(6001, 100 * SECOND, 0, 7), 7), 0), at)
    recording.close()
    host = Instrument(path, live=True, indexed=True)
    asyncio.run(host.catch_up())
    assert host.account.lines[1].late == 1 and not host.account.doubts()
    host.close()


def test_a_note_of_no_time(tmp_path: Path) -> None:
    """Of a person's note what makes sense."""
    path = tmp_path / "a.scope"
    recording = Recording(path)
    for words in ('{"event": "mark", "text": "a", "of": "abc"}', '{"event": "mark", "of": null}',
                  '{"event": "mark", "of": Infinity}', '{"event": "mark", "of": 1e400}',
                  f'{{"event": "mark", "of": {LAST}}}', '{"event": "run", "name": "\\ud800"}',
                  '{"event": "mark", "text": "c", "of": 5}'):
        recording.append(Kind.NOTE, words.encode(), 3)
    recording.close()
    host = Instrument(path, live=True)
    assert [of for of, _ in host.marks] == [3, 3, 3, 3, 3, 5]
    host.close()
    exported(path)


def test_what_is_counted_by_half_is_not_kept(tmp_path: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """An error within a packet: no checkpoint goes past it."""
    host = Instrument(tmp_path / "a.scope", live=True, indexed=True)
    host.ready = True

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(host.account, "_trigger", fail)
    recording = Recording(tmp_path / "b.scope")
    recording.append(Kind.FRAME, encode(one(Trigger(1, 1, 0, 7)), 0), 1)
    recording.close()
    with pytest.raises(ZeroDivisionError):
        host.take(next(iter(Reader(tmp_path / "b.scope"))))
    host.close()
    assert not (tmp_path / "a.scope.index" / "checkpoint").exists()


def test_a_question_that_fails_is_one_question(tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    """With the recording gone: it is said why, once on standard error, and the next is answered."""
    path = tmp_path / "a.scope"
    write(path, 2000, millihertz=20_000)
    host = Instrument(path, live=True, indexed=True)
    asyncio.run(host.catch_up())
    path.rename(tmp_path / "b.scope")
    first = (host.account.began or 0) // BASE
    answers: list[dict[str, Any]] = []

    async def run() -> None:
        async def send(words: dict[str, Any]) -> None:
            answers.append(words)

        questions = Questions(View(host), send)
        with ThreadPoolExecutor(1) as threads:
            task = asyncio.create_task(questions.run(threads))
            for _ in range(2):
                questions.take(json.dumps({"window": {
                    "of": "live", "level": 0, "first": first, "last": first + 9, "kind": "no"}}))
                questions.take('{"worst": {}}')
                await until(lambda: not questions._asked or task.done(), PATIENCE_S)
            await until(lambda: len(answers) == 4 or task.done(), PATIENCE_S)
            task.cancel()

    asyncio.run(run())
    failed, right = answers[::2], answers[1::2]
    assert [one["type"] for one in answers] == ["window", "worst"] * 2 and right[0]["rows"]
    assert all(one["of"] == "live" and "No such file" in str(one["failed"]) for one in failed)
    assert capsys.readouterr().err.count("No such file") == 1
    host.close()


def test_a_page_whose_task_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                         caplog: pytest.LogCaptureFixture) -> None:
    """Its socket closes, so that it comes again."""
    write(tmp_path / "a.scope", 10)

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    async def run() -> None:
        host = Instrument(tmp_path / "a.scope", live=False)
        async with served(host, stand_in(tmp_path)) as (client, url), \
                client.ws_connect(url + "/ws") as socket:
            await told(socket, "whole")
            monkeypatch.setattr("isolator_scope.questions.worst", fail)
            await socket.send_str('{"worst": {}}')
            async with asyncio.timeout(PATIENCE_S):
                async for _ in socket:
                    pass
            assert socket.closed

    asyncio.run(run())
    assert "ZeroDivisionError" in caplog.text
