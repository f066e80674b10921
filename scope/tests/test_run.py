# SPDX-License-Identifier: GPL-2.0-or-later
"""A run without a page, in real time, over a link that is cut again and again.

ISOLATOR_SCOPE_SECONDS: how long; it mostly waits, but for the generator, which goes behind all
else.  From 3 minutes on its memory counts: by a tenth of that, what the host remembers in full
is filled.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from isolator_scope.instrument import Instrument
from isolator_scope.protocol import Packet, Stop
from isolator_scope.recording import Kind, Reader
from scope_proxy import Proxy, proxy
from scope_runs import until
from scope_simulated import ENVIRONMENT
from scope_virtual import virtual

SECONDS = float(os.environ.get("ISOLATOR_SCOPE_SECONDS", "20"))
MEMORY_SECONDS = 180
FREQUENCY = 1000
LOOKS = 20  # at its memory, from then on: a busy machine is late to fill it
FILLED = 400_000  # bytes of a recording: then what the host remembers in full is filled
CUTS = 20
STORE = 1 << 20
SILENCE = 6.0  # s: by then a host knows that the link is dead
MIB = 1 << 20


def rss(process: int) -> int:
    """In bytes."""
    pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


class Run:
    """A recorder behind a proxy; `memory`: the time since it began, bytes recorded, its RSS."""

    def __init__(self, through: Proxy, token: str, path: Path, seconds: float, frequency: int
                 ) -> None:
        self.through, self.token, self.path = through, token, path
        self.seconds, self.frequency = seconds, frequency
        self.memory: list[tuple[float, int, int]] = []
        self.code: int | None = None
        self.data: dict[str, Any] = {}

    async def go(self, cuts: Callable[[float], Awaitable[None]], end: bool = False) -> None:
        """`cuts` is told when it began; with `end` the recorder is ended after them."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "isolator_scope", "record", "--connect",
            f"127.0.0.1:{self.through.port}", "--token-file", self.token,
            "-o", str(self.path), "--json", "--time",
            f"{self.seconds:g}s", "--frequency", str(self.frequency), "--calibrate", "0",
            "--patience", "30ms", "--wait", "60s",
            env=ENVIRONMENT, stdout=asyncio.subprocess.PIPE)
        said = asyncio.create_task(process.communicate())
        try:
            await asyncio.wait_for(self.through.live.wait(), 60)
            began = time.monotonic()
            watch = asyncio.create_task(self._watch(process, began))
            await cuts(began)
            if end:
                process.terminate()
            out, _ = await asyncio.wait_for(said, self.seconds + 120)
            await watch
        finally:
            if process.returncode is None:
                process.kill()
                await said
        self.code = process.returncode
        self.data = json.loads(out)

    async def _watch(self, process: asyncio.subprocess.Process, began: float) -> None:
        while (since := time.monotonic() - began) < self.seconds - 0.5:
            if process.returncode is not None:
                return
            self.memory.append((since, self.path.stat().st_size, rss(process.pid)))
            await asyncio.sleep(min(self.seconds / 200, 1))  # sleep: of all the run

    def packets(self) -> dict[int, bytes]:
        """That were recorded, in order, without their count of what was unsent."""
        found: dict[int, bytes] = {}
        for entry in Reader(self.path):
            if entry.kind == Kind.FRAME and entry.content[5] == Packet.TYPE:
                number = int.from_bytes(entry.content[20:28], "little")
                assert number not in found and number > max(found, default=-1), number
                found[number] = entry.content[36:]
        return found

    def replayed(self) -> Instrument:
        """The account out of the recording."""
        made = Instrument(self.path, live=False)
        asyncio.run(made.replay(0))
        return made


def test_cut_and_restored(tmp_path: Path) -> None:
    """20 cuts: no record twice, none lost that was sent; no more memory at the end."""
    dice = random.Random(7)
    slot = 0.9 * SECONDS / CUTS
    # What is only silent takes the host a while to see.
    holds = set(range(3, CUTS, 6)) if slot > SILENCE + 2 else set()
    cuts = [((number + dice.uniform(0.5, 1)) * slot,
             SILENCE if number in holds else dice.uniform(0, min(slot / 3, 3)), number in holds)
            for number in range(CUTS - 1)]

    async def go(where: str, token: str) -> Run:
        async with proxy(where) as through:
            made = Run(through, token, tmp_path / "a.scope", SECONDS, FREQUENCY)
            # The last cut takes the word that ends the run.
            through.trap = Stop.TYPE

            async def cut(began: float) -> None:
                for at, seconds, hold in cuts:
                    # sleep: links are cut at any moments, for any time
                    await asyncio.sleep(max(0.0, began + at - time.monotonic()))
                    await through.cut(asyncio.sleep(seconds), hold)  # sleep: so long

            await made.go(cut)
        return made

    with virtual(tmp_path, ["irq,50,20,1", "work,150,40,2,1", "user,300,90,5,1"]) as virtually:
        run = asyncio.run(go(*virtually))
    through, recorded, again = run.through, run.packets(), run.replayed()
    account = again.account
    print(f"{through.cuts} cuts, {account.triggers} triggers in {len(recorded)} packets")
    assert run.code == 0, run.data["words"]
    assert through.cuts == CUTS and not through.other
    events = Counter(event.event for event in again.events)
    assert events["cut"] >= CUTS and events["ended"] == 1
    # As sent, all of it, in order, once.
    assert list(recorded) == list(range(len(recorded))) == sorted(through.sent)
    assert account.triggers > CUTS and account.agrees() is True
    assert not account.gaps and not account.doubts()
    assert all(line.answered and line.late and line.missing
               for line in account.lines if line.name == "user")
    memory = [rss for since, size, rss in run.memory if since >= SECONDS / 10 and size > FILLED]
    print("RSS in KiB, from a tenth on:",
          *(rss // 1024 for rss in memory[::len(memory) // 10 or 1]))
    assert SECONDS < MEMORY_SECONDS or (
        len(memory) >= LOOKS and abs(memory[-1] - memory[0]) <= MIB)


def test_longer_than_the_generator_has_room(tmp_path: Path) -> None:
    """What it had to forget is a gap, as large as it was, in the account and in the result."""
    log = tmp_path / "target.log"

    def answers() -> int:
        with log.open("rb") as file:
            return int.from_bytes(file.read(8), "little")

    async def go(where: str, token: str) -> Run:
        async with proxy(where) as through:
            made = Run(through, token, tmp_path / "a.scope", 120, 1000)

            async def cut(_: float) -> None:
                # An answer takes 10 bytes of a record.
                enough = answers() + 1.1 * STORE / 10
                await through.cut(until(lambda: answers() > enough, 600))
                await asyncio.wait_for(through.live.wait(), 60)

            await made.go(cut, end=True)
        return made

    lines = [f"line-{number},{5 + number}" for number in range(16)]
    with virtual(tmp_path, lines, "--store", "1M", log=log) as virtually:
        run = asyncio.run(go(*virtually))
    recorded, account = run.packets(), run.replayed().account
    lost = set(range(max(recorded) + 1)) - set(recorded)
    assert run.code == 3 and f"{len(lost)} packets were lost" in run.data["words"]
    assert lost and max(lost) - min(lost) == len(lost) - 1 == account.lost_packets - 1
    assert set(run.through.sent) <= lost | set(recorded)
    assert account.state is not None and 0 < account.state.unsent <= account.lost_triggers
    assert account.triggers + account.lost_triggers == account.state.triggers
    assert {gap.what for gap in account.gaps} == {"packets", "triggers"}
