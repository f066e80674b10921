# SPDX-License-Identifier: GPL-2.0-or-later
"""A run without a page: set up, start, record, stop, and wait for what is under way."""

import asyncio
import contextlib
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from isolator_report import terminal

from .errors import ScopeError, Skipped, say
from .instrument import Instrument
from .link import Link, Target
from .protocol import Calibrate, Message, Start, Status, Stop

FIRST = 1.0  # s until it says that it still tries
DRAIN = 5.0  # s beyond the generator's patience
NS = 1_000_000_000


@dataclass
class Plan:
    """What a run is to be."""

    target: Target
    path: Path
    seconds: float | None = None
    triggers: int = 0
    settings: list[Message] = field(default_factory=list)
    lines: tuple[str, ...] = ()
    calibrate: int = 1000
    wait: float = 10.0  # s for the generator
    progress: bool = False


@dataclass
class Outcome:
    """How it went; `doubts` are beyond those of the account."""

    instrument: Instrument
    early: bool = False
    doubts: list[str] = field(default_factory=list)


def progress(instrument: Instrument, began: float, full: float | None) -> str:
    """One line."""
    account = instrument.account
    lines = [line for line in account.lines if line.triggers]
    worst = max(lines, key=lambda line: line.values.most, default=None)
    spent = time.monotonic() - began
    said = f"{spent:.0f} s" + (f" of {full:.0f} s" if full else "")
    said += f"  {account.triggers} triggers"
    said += f"  late {sum(line.late for line in lines)}"
    said += f"  missing {sum(line.missing for line in lines)}"
    if worst is not None and worst.values.count:
        said += f"  max {worst.values.most / 1000:.1f} us ({worst.name})"
    if instrument.link is not None and not instrument.link.connected.is_set():
        said += f"  no link: {instrument.link.why}"
    return said


def _no_link(plan: Plan, link: Link) -> str:
    if link.refused:
        return f"the generator at {plan.target} refused: {link.refused}"
    return (f"no generator at {plan.target} within {plan.wait:g} s: {link.why or 'no answer'}; "
            "start isolator-generator there, or name another place with --connect HOST:PORT")


async def _ask(instrument: Instrument, message: Message) -> int:
    """What the generator says; busy, as triggers run already, to a start or calibration only."""
    ack = await instrument.command(message)
    busy = ack.status == Status.BUSY and isinstance(message, Start | Calibrate)
    if ack.status != Status.OK and not busy:
        raise ScopeError(f"{type(message).__name__}: the generator refused: {ack.words}")
    return ack.status


async def _prepare(plan: Plan, instrument: Instrument) -> bool:
    """Settings, calibration, start; False: it ran already, and is not to be stopped."""
    from .protocol import SetLines

    welcome = instrument.account.welcome
    assert welcome is not None
    offered = {name: line for line, name in enumerate(welcome.names) if name}
    if not offered:
        raise Skipped("the generator has no line on which anybody answers: load the target's "
                      "driver, then try again")
    unknown = [name for name in plan.lines if name not in offered]
    if unknown:
        raise ScopeError(f"no line {', '.join(unknown)}; there are {', '.join(offered)}")
    if plan.lines:
        await _ask(instrument, SetLines(sum(1 << offered[name] for name in set(plan.lines))))
    for message in plan.settings:
        await _ask(instrument, message)
    if plan.calibrate and await _ask(instrument, Calibrate(plan.calibrate)) == Status.BUSY:
        say("the generator is already running: it was not calibrated, and goes on when this "
            "recording ends")
    return await _ask(instrument, Start(plan.triggers)) == Status.OK


async def _stop(link: Link) -> None:
    """Until the generator has answered.  Where the link is cut meanwhile, it is told again."""
    while True:
        # The link may be down just now: what was started must be stopped all the same.
        await link.connected.wait()
        with contextlib.suppress(ScopeError):
            await link.command(Stop())
            return
        await asyncio.sleep(0.1)


async def _drain(instrument: Instrument, outcome: Outcome) -> None:
    """Until all records of the run are here.

    When it does not run any more triggers may still be open: none is by a State that is later
    by the generator's patience.
    """
    account, stale = instrument.account, instrument.account.state
    began, patience = time.monotonic(), 0
    ended: int | None = None  # by the generator's clock, at the latest
    while time.monotonic() - began < patience / NS + DRAIN:
        state = account.state
        if state is not None and state is not stale:
            patience = state.patience_ns
            if not state.running:
                ended = state.now_ns if ended is None else ended
                if state.now_ns - ended >= patience and account.settled() \
                        and account.agrees() is not False:
                    return
        await asyncio.sleep(0.02)
    outcome.doubts.append("not all that the generator counted has come")


async def record(plan: Plan) -> Outcome:
    """The whole of it.  A signal ends it early, in order."""
    instrument = Instrument(plan.path, live=True)
    outcome = Outcome(instrument)
    link = instrument.connect(plan.target)
    measuring = asyncio.create_task(instrument.measure())
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in handlers:
        loop.add_signal_handler(number, ended.set)
    began, account, goal = time.monotonic(), instrument.account, 0

    async def until(done: asyncio.Event, seconds: float | None, full: float | None) -> bool:
        """Wait; False: the time is over.  Shows how it goes, and passes on errors of the disk."""
        end = None if seconds is None else time.monotonic() + seconds
        while not (done.is_set() or ended.is_set() or link.taken):
            if measuring.done():
                measuring.result()
            left = 1.0 if end is None else end - time.monotonic()
            if left <= 0:
                return False
            if plan.progress:
                terminal.progress(progress(instrument, began, full))
            waits = [asyncio.create_task(one.wait()) for one in (done, ended)]
            await asyncio.wait([*waits, measuring], timeout=min(left, 0.5),
                               return_when=asyncio.FIRST_COMPLETED)
            for one in waits:
                one.cancel()
            if goal and account.triggers + account.lost_triggers >= goal:
                return True
        return True

    try:
        first = min(FIRST, plan.wait)
        if not await until(link.connected, first, None):
            if plan.wait > first and not link.refused:
                say(f"no generator at {plan.target} yet: {link.why or 'no answer'}; trying for "
                    f"{plan.wait:g} s")
            if link.refused or not await until(link.connected, plan.wait - first, None):
                raise ScopeError(_no_link(plan, link))
        if ended.is_set():
            outcome.early = True
            return outcome
        ours = await _prepare(plan, instrument)
        began = time.monotonic()
        goal = plan.triggers and account.triggers + account.lost_triggers + plan.triggers
        await until(asyncio.Event(), plan.seconds, plan.seconds)
        outcome.early = ended.is_set()
        if link.taken:
            outcome.doubts.append(f"another host took the generator at {plan.target} before the "
                                  "run was over")
        elif ours:
            async with asyncio.timeout(plan.wait):
                await _stop(link)
            await _drain(instrument, outcome)
        await instrument.keep()
        if plan.progress:
            terminal.progress("")
        return outcome
    except TimeoutError:
        outcome.doubts.append(f"no link to {plan.target} at the end: {link.why}; the generator "
                              "was not stopped")
        return outcome
    finally:
        for number, handler in handlers.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)  # the loop leaves the system's own
        measuring.cancel()
        await asyncio.gather(measuring, return_exceptions=True)
        instrument.close()


async def load(path: Path, speed: float = 0.0, show: bool = False) -> Instrument:
    """A recording, replayed; one that is being written is followed to its end."""
    instrument = Instrument(path, live=False)
    task = asyncio.create_task(instrument.replay(speed))
    size = path.stat().st_size if path.exists() else 0
    while not task.done():
        await asyncio.wait({task}, timeout=0.5)
        if show and not task.done():
            terminal.progress(f"{100 * instrument.replayed / max(size, 1):.0f} %  "
                              f"{instrument.account.triggers} triggers")
    if show:
        terminal.progress("")
    task.result()
    return instrument
