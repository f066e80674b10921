# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs: what was measured with other settings is another run; and what nobody knows is not told."""

import asyncio
from dataclasses import replace
from pathlib import Path

from isolator_report.page import page
from isolator_scope.account import Account
from isolator_scope.document import document
from isolator_scope.instrument import Instrument
from isolator_scope.protocol import Answer, Packet, SetFrequency, SetPacket, Start, Trigger, Welcome
from isolator_scope.runs import RUNS
from scope_runs import generator, linked, measuring, record, same, until
from sim.generator import Generator
from sim.model import Target

SECOND = 1_000_000_000


def test_other_settings_are_another_run(tmp_path: Path) -> None:
    """200 Hz, then 777 Hz while triggers come: two runs, also when it is read again."""
    path = tmp_path / "a.scope"

    async def run() -> tuple[int, int]:
        async with generator(speed=1.0) as made, measuring(path, made.port) as instrument:
            account = instrument.account
            await linked(instrument)
            await instrument.command(SetPacket(5))
            await instrument.command(Start(0))
            await until(lambda: account.run.triggers >= 40)
            assert len(account.runs) == 1
            await instrument.command(SetFrequency(777_000))
            assert len(account.runs) == 2 and not account.run.triggers
            await until(lambda: account.run.triggers >= 100 and account.run.state is not None)
            assert [one.why for one in account.runs] == ["", "frequency 777 Hz"]
            made.target.stop()
            await until(lambda: made.target.idle and account.agrees() is not None)
            assert account.agrees()
            rates = []
            for one in account.runs:
                found = document(account, run=one)
                rate = next(row["got"] for row in found.data["settings"]
                            if row["name"] == "frequency")
                rates.append((rate, found.series[0].data["triggers"]))
            assert [rate for rate, _ in rates] == ["200 Hz", "777 Hz"]
            assert sum(count for _, count in rates) == account.triggers
            return rates[0][1], rates[1][1]

    counts = asyncio.run(run())
    again = Instrument(path, live=False)
    asyncio.run(again.replay(0))
    assert tuple(one.triggers for one in again.account.runs) == counts
    assert [one.title for one in again.account.runs] == ["run 1", "run 2"]


def test_a_new_run_by_name(tmp_path: Path) -> None:
    """Statistics begin again, the counts of the session do not; the name is in the result."""
    path = tmp_path / "a.scope"

    async def one(instrument: Instrument, name: str, triggers: int) -> None:
        if name:
            instrument.begin(name)
        await linked(instrument)
        await instrument.command(Start(triggers))
        await until(lambda: instrument.account.run.triggers == triggers)

    async def run() -> None:
        async with generator() as made, measuring(path, made.port) as instrument:
            await one(instrument, "", 300)
            await one(instrument, "with load", 200)
            account = instrument.account
            assert [one.triggers for one in account.runs] == [300, 200]
            assert account.lines[0].values.count == 200 and account.totals()[0][0] == 500
            named = [row["got"] for row in document(account).data["settings"]
                     if row["name"] == "run"]
            assert named == ["with load"]

    asyncio.run(run())


def test_runs_are_bounded() -> None:
    """Of those that are not kept the counts are."""
    account = Account()
    account.greet(Welcome(1, 7, 0, 0, 10, SECOND, ("irq",)), 100 * SECOND)
    for number in range(1, 3 * RUNS):
        at = SECOND + number * 1_000_000
        account.begin(account.wall(at), f"run of {number}")
        assert account.packet(Packet(number - 1, 0, (Trigger(number, at, 0, 1, (
            Answer(0, 1000),)),)), 101 * SECOND)
    assert len(account.runs) == RUNS and account.totals() == [(3 * RUNS - 1, 0, 0, 0)]
    assert account.lines[0].values.count == 1


def test_what_is_under_way_is_the_old_runs() -> None:
    """A trigger from before a run began counts in the one before."""
    account = Account()
    account.greet(Welcome(1, 7, 0, 0, 10, SECOND, ("irq",)), 100 * SECOND)
    account.begin(account.wall(SECOND + 2_500_000), "second")
    records = tuple(Trigger(n, SECOND + n * 1_000_000, 0, 1, (Answer(0, 1000 * n),))
                    for n in range(1, 6))
    assert account.packet(Packet(0, 0, records), 101 * SECOND)
    assert [one.triggers for one in account.runs] == [2, 3]
    assert account.lines[0].values.least == 3000 and account.runs[0].lines[0].values.most == 2000


def test_all_mechanisms_are_the_same_ones() -> None:
    """The generator says 0, all that there are, until it begins with them: no other run."""
    made = Generator(Target(1))
    account = Account()
    account.greet(Welcome(1, 1, 0, 0, 40, 0, made.target.names), SECOND)
    account.told(replace(made.state(), mask=0))
    records = tuple(Trigger(n, n * SECOND, 0, 3, (Answer(0, 1000, 0),)) for n in (1, 2))
    assert account.packet(Packet(0, 0, records), 3 * SECOND)
    for mask, runs in ((3, 1), (0, 1), (3, 1), (1, 2)):
        account.told(replace(made.state(), mask=mask))
        assert len(account.runs) == runs


def test_what_nobody_knows_is_not_told(tmp_path: Path) -> None:
    """Of a target that was never asked: no CPU, no machine, no finding."""
    made = asyncio.run(record(tmp_path / "a.scope", 300))
    instrument = Instrument(tmp_path / "a.scope", live=False)
    asyncio.run(instrument.replay(0))
    same(instrument.account, made)
    found = document(instrument.account)
    machine = found.data["machine"]
    assert machine["virtual"] is None and machine["online"] is None
    assert machine["findings"] is None and {one.key[2] for one in found.series} == {None}
    text = page([found])
    assert "on CPU" not in text and "Nothing." not in text
    for row in ("virtual machine", "CPUs online"):
        assert f"<td>{row}</td><td>not known</td>" in text
