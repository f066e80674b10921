# SPDX-License-Identifier: GPL-2.0-or-later
"""The index of a recording: any time of it at once, and a start that does not read all of it."""

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from isolator_scope import checkpoint, past
from isolator_scope.index import COARSE, Index
from isolator_scope.instrument import Instrument
from isolator_scope.link import Target
from isolator_scope.protocol import Packet
from isolator_scope.questions import Questions
from isolator_scope.recording import Entry, Reader
from isolator_scope.trail import BASE, COUNT, LEVELS, MISSING, MOST, Row
from isolator_scope.view import View
from scope_runs import generator, measuring, record, whole
from sim.model import Faults

TRIGGERS = 30_000


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty minutes of 10 Hz, some answers missing, one of 5 ms."""
    path = tmp_path_factory.mktemp("long") / "long.scope"
    asyncio.run(record(path, TRIGGERS, millihertz=10_000, faults=Faults(
        missing=0.001, planted={(2000, "tasklet"): 5_000_000})))
    return path


def indexed(path: Path) -> Instrument:
    """Opened, and read as far as its index does not know it."""
    made = Instrument(path, live=False, indexed=True)
    made.ready = False
    asyncio.run(made.catch_up())
    return made


def test_each_level_holds_the_same(long: Path) -> None:
    """Columns of the beginning, which the trail has no more, out of index and recording."""
    made = indexed(long)
    index, account = made.index, made.account
    assert index is not None and account.began is not None
    fine: dict[int, list[int]] = {}
    for level in range(5):
        each = BASE << 2 * level
        first, last = account.began // each, (account.began + 300 * 10**9) // each
        assert first < account.trail.span(level).start or level == 4
        if level >= COARSE:
            rows = dict(index.columns(level, first, last))
        else:
            place = past.at(index, long, first * each)
            assert place is not None
            rows, _ = past.columns(place, level, first, last, 11)
        line = 3  # the tasklet
        column = [row[line] for row in rows.values() if row[line] is not None]
        assert max(one[MOST] for one in column if one) == 5_000_000, level
        counted = sum(one[COUNT] + one[MISSING] for one in column if one)
        assert 2950 <= counted <= 3100, level
        fine[level] = [counted]
    made.close()


def test_a_trigger_of_long_ago(long: Path) -> None:
    """By its number, or the worst of a stretch of time; it is far from remembered."""
    made = indexed(long)
    index = made.index
    assert index is not None
    wall = index.triggered(2000)
    assert wall is not None
    place = past.at(index, long, wall)
    assert place is not None
    found = past.trigger(place, wall, wall + 2 * 10**9, number=2000)
    assert found is not None and (3, 5_000_000, False) in found.answers
    assert not any(one.trigger == 2000 for one in made.account.recent)
    at = found.wall
    worst = past.trigger(place, at - 10**9, at + 10**9, line=3)
    assert worst is not None and worst.trigger == 2000
    made.close()


def test_the_worst_of_more_than_is_read(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a coarse column not all is read, but where the index has its largest answer."""
    made = indexed(long)
    monkeypatch.setattr(past, "MOST_TRIGGERS", 100)
    each = BASE << 2 * 7
    began = made.account.began
    assert began is not None
    at = (began + 200 * 10**9) // each * each  # trigger 2000 is 200 s after the first

    found = asyncio.run(chain(made, at, each, 3))["chain"]
    assert found is not None and found["trigger"] == 2000
    made.close()


async def chain(made: Instrument, wall: int, around: int, line: int | None) -> dict[str, Any]:
    """What a click on a column shows."""
    with ThreadPoolExecutor(1) as threads:
        return await Questions(View(made), no_one)._chain(
            {"wall": wall, "around": around, "line": line}, threads)


async def no_one(_: dict[str, Any]) -> None:
    """Whom a question is answered to."""


def test_the_worst_may_be_late(tmp_path: Path) -> None:
    """An answer that came after the next trigger is the longest of its column, too."""
    path = tmp_path / "late.scope"
    asyncio.run(record(path, 2000, millihertz=10_000, faults=Faults(late=0.002)))
    made = indexed(path)
    assert made.index is not None and made.account.began is not None
    first, last = made.account.began // BASE, (made.account.began + 150 * 10**9) // BASE
    place = past.at(made.index, path, first * BASE)
    assert place is not None
    rows, _ = past.columns(place, 0, first, last, 11)
    for line in (0, 3):
        most = max(row[line][MOST] for row in rows.values() if row[line])  # type: ignore[index]
        found = past.trigger(place, first * BASE, (last + 1) * BASE - 1, line=line)
        assert found is not None
        assert most == max(ns for of, ns, _ in found.answers if of == line)
        assert any(late for of, _, late in found.answers if of == line)
    made.close()


def test_a_click_reads_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the column only if it may have answers of it, and not more than asked."""
    path = tmp_path / "a.scope"
    late = Faults(planted={(1500, "user"): 2 * 10**9})
    asyncio.run(record(path, 2000, faults=late))  # 10 s
    made = indexed(path)
    read, asked = [0], [0]
    plain, columns = past.packet, Index.columns

    def counting(entry: Entry) -> Packet | None:
        read[0] += 1
        return plain(entry)

    def looking(self: Index, level: int, first: int, last: int) -> Iterator[tuple[int, Row]]:
        asked[0] = max(asked[0], last - first)
        return columns(self, level, first, last)

    monkeypatch.setattr(past, "packet", counting)
    monkeypatch.setattr(Index, "columns", looking)
    each, began = BASE << 2 * COARSE, made.account.began
    assert made.index is not None and began is not None
    place = past.at(made.index, path, began)
    assert place is not None
    assert past.trigger(place, began, began + each) is not None
    assert 0 < read[0] < 10  # of 20 packets
    found = past.trigger(place, began, began + 10**10, number=1500)
    assert found is not None
    found = past.trigger(place, found.wall - BASE, found.wall + BASE)
    assert found is not None and found.trigger == 1500
    assert min(ns for _, ns, after in found.answers if after) == 2 * 10**9
    asyncio.run(chain(made, began, 10**18, None))
    assert 0 < asked[0] <= 1 << 2 * (LEVELS - 1 - COARSE)
    # The generator's highest rate is 1 MHz.
    assert each // 1000 < 2 * past.MOST_TRIGGERS
    made.close()


def test_a_second_start_reads_only_the_rest(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The account is the same; hardly anything of the recording is read."""
    first = indexed(long)
    told = checkpoint.dump(first.account)
    first.close()
    read = [0]
    plain = Reader.next

    def counting(self: Reader) -> object:
        entry = plain(self)
        read[0] += entry is not None
        return entry

    monkeypatch.setattr(Reader, "next", counting)
    again = indexed(long)
    assert read[0] == 0 and checkpoint.dump(again.account) == told
    again.close()


@pytest.mark.parametrize("broken", ["gone", "cut", "another", "junk"])
def test_an_index_that_is_not_of_it(tmp_path: Path, broken: str) -> None:
    """It is made again, and says nothing false meanwhile."""
    path = tmp_path / "a.scope"
    asyncio.run(record(path, 2000))
    made = indexed(path)
    told = checkpoint.dump(made.account)
    made.close()
    folder = path.with_name("a.scope.index")
    if broken == "gone":
        (folder / "checkpoint").unlink()
    elif broken == "cut":
        os.truncate(path, path.stat().st_size - 10_000)
    elif broken == "another":
        path.unlink()
        asyncio.run(record(path, 2000, seed=2))
    else:
        (folder / "checkpoint").write_bytes(b"junk")
    again = indexed(path)
    fresh = Instrument(path, live=False)
    asyncio.run(fresh.replay(0))
    assert checkpoint.dump(again.account) == checkpoint.dump(fresh.account)
    assert (checkpoint.dump(again.account) == told) == (broken in ("gone", "junk"))
    again.close()


def test_two_at_once_do_not_share_it(tmp_path: Path) -> None:
    """The second one has an index of its own, which is gone when it ends."""
    path = tmp_path / "a.scope"
    asyncio.run(record(path, 500))
    first = Index(path)
    second = Index(path)
    assert first.folder != second.folder
    second.close()
    assert not second.folder.exists()
    first.close()


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """A server that starts again continues the recording, by its checkpoint."""
    path = tmp_path / "a.scope"

    async def run() -> int:
        async with generator() as made:
            async with measuring(path, made.port) as instrument:
                await whole(instrument, made, 1000)
            instrument = Instrument(path, live=True, indexed=True)
            instrument.connect(Target("127.0.0.1", made.port))
            await instrument.catch_up()
            task = asyncio.create_task(instrument.measure())
            await whole(instrument, made, 1000)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            count = instrument.account.triggers
            assert instrument.account.doubts() == []
            instrument.close()
            return count

    assert asyncio.run(run()) == 2000
    assert indexed(path).account.triggers == 2000


