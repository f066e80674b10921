# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator-scope's own instrument as a host in the lab: runs of triggers, trigger by trigger."""

import asyncio
import concurrent.futures
import threading
import time
from array import array
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from isolator_scope.account import Account
from isolator_scope.errors import ScopeError
from isolator_scope.frame import Frame
from isolator_scope.instrument import Instrument
from isolator_scope.link import Target
from isolator_scope.protocol import (
    Ack,
    Afterthought,
    Message,
    Packet,
    Record,
    SetFrequency,
    SetPacket,
    SetPatience,
    SetPhase,
    Start,
    Status,
    Stop,
    Stray,
    Trigger,
)

from .. import term

T = TypeVar("T")
MISSING = -1
ASK_S = 15.0
SETTLES_S = 20.0
PACKET = 64
PATIENCE_NS = 200_000_000


class Run:
    """What came of the triggers of one START, each in the order of their numbers."""

    def __init__(self) -> None:
        self.first = 0  # its number
        self.at = array("Q")
        self.masks = array("Q")
        self.ns: dict[int, array[int]] = {}  # by line; MISSING: no answer
        self.flags: dict[int, bytearray] = {}
        self.afterthoughts = 0
        self.strays: list[Stray] = []
        self.others = 0  # records of gaps: triggers of which nothing is known

    def __len__(self) -> int:
        return len(self.at)

    def _line(self, line: int) -> "array[int]":
        if line not in self.ns:
            self.ns[line] = array("q")
            self.flags[line] = bytearray()
        lack = len(self.at) - len(self.ns[line])
        self.ns[line].extend([MISSING] * lack)
        self.flags[line].extend(bytes(lack))
        return self.ns[line]

    def add(self, record: Record) -> None:
        if isinstance(record, Trigger):
            self.first = self.first or record.trigger
            self.at.append(record.at_ns)
            self.masks.append(record.mask)
            for answer in record.answers:
                self._line(answer.line)[-1] = answer.ns
                self.flags[answer.line][-1] = answer.flags
        elif isinstance(record, Afterthought):
            place = record.trigger - self.first
            if 0 <= place < len(self.at):
                self._line(record.line)[place] = record.ns
                self.flags[record.line][place] = 1
                self.afterthoughts += 1
        elif isinstance(record, Stray):
            self.strays.append(record)
        else:
            self.others += 1

    def close(self) -> None:
        """All lines are as long as there are triggers."""
        for line in range(64):
            if any(mask >> line & 1 for mask in set(self.masks)):
                self._line(line)

    def numbers(self, line: int) -> set[int]:
        """The triggers that this line has answered, late or not."""
        return {self.first + i for i, ns in enumerate(self.ns.get(line, ())) if ns != MISSING}


class _Watched(Instrument):
    """It also hands out records as they are taken."""

    def __init__(self, path: Path) -> None:
        self.records: list[Record] = []
        self.triggers = 0  # of these records
        super().__init__(path, live=True)

    def received(self, frame: Frame, raw: bytes, message: Message | None, at: int) -> None:
        """A packet that was here before is none of them."""
        fresh = isinstance(message, Packet) and message.number >= self.account.next_packet
        super().received(frame, raw, message, at)
        if fresh:
            assert isinstance(message, Packet)
            self.records += message.records
            self.triggers += sum(isinstance(record, Trigger) for record in message.records)


class Host:
    """Connected to a generator, with a recording; a context manager.

    Its link is served by a thread, whatever the one that uses it does.
    """

    def __init__(self, address: tuple[str, int, str], path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self._address, self._path = address, path
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.instrument: _Watched

    def __enter__(self) -> "Host":
        self._thread.start()
        self.instrument = self._ask(self._open())
        try:
            self.until(lambda: self.account.welcome is not None, "WELCOME")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ask(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self) -> _Watched:
        instrument = _Watched(self._path)
        instrument.connect(Target(*self._address))
        self._measuring = asyncio.create_task(instrument.measure())
        return instrument

    async def _close(self) -> None:
        self._measuring.cancel()
        await asyncio.gather(self._measuring, return_exceptions=True)
        self.instrument.close()

    def _ask(self, what: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(what, self._loop)
        try:
            return future.result(ASK_S)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise term.LabError("the host's end of the scope does not answer") from None
        except ScopeError as e:
            raise term.LabError(f"isolator-scope: {e}") from e

    @property
    def account(self) -> Account:
        return self.instrument.account

    def until(self, true: Callable[[], bool], what: str, seconds: float = SETTLES_S) -> None:
        """LabError: it did not come to that."""
        limit = time.monotonic() + seconds
        while not true():
            if time.monotonic() > limit:
                link = self.instrument.link
                why = link.why if link and not link.connected.is_set() else ""
                raise term.LabError(f"not within {seconds:.0f} s: {what} {why}".strip())
            time.sleep(0.01)

    def connected(self) -> bool:
        link = self.instrument.link
        return bool(link and link.connected.is_set())

    def command(self, message: Message) -> Ack:
        """One command's answer, whatever it is."""
        link = self.instrument.link
        assert link is not None
        return self._ask(link.command(message))

    def order(self, *messages: Message) -> None:
        """Commands that have to be accepted."""
        for message in messages:
            said = self.command(message)
            if said.status != Status.OK:
                raise term.LabError(f"the generator refused {message}: {said.text}")

    def lines(self) -> dict[str, int]:
        """Those that something answers on now, by name."""
        welcome = self.account.welcome
        return {name: n for n, name in enumerate(welcome.names if welcome else ()) if name}

    def lines_are(self, names: set[str]) -> None:
        """Wait until the generator has told that exactly these are offered."""
        self.until(lambda: set(self.lines()) == names, f"lines {', '.join(sorted(names))}")

    def settings(self, hertz: float, seed: int) -> None:
        """Random phase; packets that are full often enough."""
        self.order(
            SetFrequency(round(hertz * 1000)),
            SetPhase(1, seed),
            SetPacket(PACKET),
            SetPatience(PATIENCE_NS),
        )

    def start(self, triggers: int = 0) -> None:
        """Records from here on are the next finish()'s.  0: until then."""
        self.instrument.records, self.instrument.triggers = [], 0
        said = self.command(Start(triggers))
        limit = time.monotonic() + ASK_S
        # The last record of a run may be here before the generator has done with it.
        while said.status == Status.BUSY and time.monotonic() < limit:
            time.sleep(0.02)
            said = self.command(Start(triggers))
        if said.status != Status.OK:
            raise term.LabError(f"the generator does not start: {said.text}")

    def finish(self, triggers: int = 0, seconds: float = SETTLES_S) -> Run:
        """When so many are over, or at once; all that came since start()."""
        if triggers:
            self._await(triggers, seconds)
        self.order(Stop())
        before = self.account.state
        # The first state may be from before the order.
        states: list[object] = [before]

        def settled() -> bool:
            if self.account.state is not states[-1]:
                states.append(self.account.state)
            return len(states) > 2 and self.account.settled()

        self.until(settled, "all records", seconds if triggers else SETTLES_S)
        return self._collected()

    def _collected(self) -> Run:
        run = Run()
        for record in self.instrument.records:
            run.add(record)
        run.close()
        return run

    def quick(self, triggers: int, hertz: float, seed: int) -> Run:
        """As run(); an answer that comes after the generator's patience is missing in it."""
        self.settings(hertz, seed)
        self.start(triggers)
        self._await(triggers, 3 * triggers / hertz + SETTLES_S)
        return self._collected()

    def _await(self, triggers: int, seconds: float) -> None:
        self.until(lambda: self.instrument.triggers >= triggers, f"{triggers} triggers", seconds)

    def run(self, triggers: int, hertz: float, seed: int) -> Run:
        """So many triggers at that rate."""
        self.settings(hertz, seed)
        self.start(triggers)
        return self.finish(triggers, 3 * triggers / hertz + SETTLES_S)
