# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs against the simulated generator, for the tests."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from isolator_scope import link as linking
from isolator_scope.account import Account
from isolator_scope.instrument import Instrument
from isolator_scope.link import Target as Address
from isolator_scope.protocol import Packet, Record, SetPacket, Start, State, Welcome, encode
from isolator_scope.recording import Kind, Recording
from sim.generator import Generator, Link, told
from sim.model import OFFERED, Faults, Target
from waiting import PATIENCE_S


async def until(true: Callable[[], bool], seconds: float = 300.0) -> None:
    """Wait for it; TimeoutError."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)  # sleep: between two looks


@contextlib.asynccontextmanager
async def generator(seed: int = 1, faults: Faults | None = None, link: Link | None = None,
                    speed: float = 0.0, port: int = 0) -> AsyncIterator[Generator]:
    """A listening one."""
    made = Generator(Target(seed, faults=faults), link, speed)
    await made.listen(port=port)
    try:
        yield made
    finally:
        await made.close()


@contextlib.asynccontextmanager
async def measuring(path: Path, port: int, token: str = "") -> AsyncIterator[Instrument]:
    """An instrument whose link runs; closed, with its recording, at the end."""
    instrument = Instrument(path, live=True)
    instrument.connect(Address("127.0.0.1", port, token))
    task = asyncio.create_task(instrument.measure())
    try:
        yield instrument
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        instrument.close()


async def linked(instrument: Instrument) -> linking.Link:
    """Its link, once it is connected."""
    link = instrument.link
    assert link is not None
    await asyncio.wait_for(link.connected.wait(), PATIENCE_S)
    return link


async def whole(instrument: Instrument, made: Generator, triggers: int, packet: int = 100,
                seconds: float = 300.0) -> None:
    """A run of so many triggers, until all of it is here."""
    link = await linked(instrument)
    for message in (SetPacket(packet), Start(triggers)):
        ack = await link.command(message)
        assert ack.status == 0, ack
    await until(lambda: made.target.idle and not made._records
                and instrument.account.next_packet == made.next_packet, seconds)


def same(account: Account, made: Generator) -> None:
    """The host's account is what is so."""
    for line, truth in zip(account.lines, made.target.truth, strict=True):
        assert (line.answered, line.late, line.missing, line.strays) == (
            truth.answered, truth.late, truth.missing, truth.strays), line.name
        assert line.values.count == line.answered + line.late
        assert line.values.sum == truth.sum and max(line.values.most, 0) == truth.most
        assert sum(line.values.counts) + line.values.overflow == line.values.count
        assert line.triggers == account.triggers


async def record(path: Path, triggers: int, seed: int = 1, faults: Faults | None = None,
                 packet: int = 100, millihertz: int = 200_000,
                 seconds: float = 300.0) -> Generator:
    """A recording of a run, which may take so long, and the generator that it is of."""
    made = Generator(Target(seed, faults=faults), speed=0.0)
    made.target.settings.millihertz = millihertz
    await made.listen()
    try:
        async with measuring(path, made.port) as instrument:
            await whole(instrument, made, triggers, packet, seconds)
            await until(lambda: instrument.account.agrees() is not None)
    finally:
        await made.close()
    return made


def write(path: Path, triggers: int, seed: int = 1, faults: Faults | None = None,
          packet: int = 100, millihertz: int = 200_000, began: int = 1_000_000_000_000_000_000,
          names: tuple[str, ...] = OFFERED, mask: int = 0) -> Target:
    """A recording as of a run, without a link between, and so sooner.

    Its times are the target's own, from `began` on, ns since 1970.
    """
    target = Target(seed, names, faults)
    target.settings.millihertz, target.settings.packet = millihertz, packet
    target.settings.mask = mask
    recording = Recording(path)
    sequence = number = now = 0

    def keep(message: Welcome | Packet | State) -> None:
        nonlocal sequence
        recording.append(Kind.FRAME, encode(message, sequence), began + now)
        sequence += 1

    try:
        keep(Welcome(1, 1, 0, 0, 40, 0, target.names))
        target.start(0, triggers)
        records: list[Record] = []
        while not target.idle:
            now += packet * 10**12 // millihertz
            records += target.run(now)
            while len(records) >= packet or (target.idle and records):
                keep(Packet(number, target.unsent, tuple(records[:packet])))
                number += 1
                del records[:packet]
        keep(told(target, now))
    finally:
        recording.close()
    return target
