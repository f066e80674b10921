# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts that conclude something of runs which are made up."""

from typing import Any

import pytest
from isolab.scope import delays
from isolab.scope import parts as scopeparts
from isolab.scope.host import Run
from isolab.scope.parts import Bench
from isolator_scope.chain import RT
from isolator_scope.protocol import Answer, Trigger

NAMES = {name: line for line, name in enumerate(RT) if "poll" not in name}


def run_of(
    count: int, missing: int = 0, late_by: dict[str, int] | None = None, none_of: str = "",
    paused: int = 0,
) -> Run:
    """Answers 10 us apart in the table's order; the last @missing triggers have none.

    At the last @paused ones the host stands still for 3 ms.
    """
    run = Run()
    for n in range(1, count + 1):
        answers, ns = [], 3_000_000 if n > count - paused else 0
        for name, line in NAMES.items():
            ns += 10_000 + (late_by or {}).get(name, 0)
            if name != none_of and n <= count - missing:
                answers.append(Answer(line, ns))
        run.add(Trigger(n, n * 20_000_000, 0, (1 << 10) - 1, tuple(answers)))
    run.close()
    return run


class Host:
    """Gives what it was given, run by run."""

    def __init__(self, make: Any) -> None:
        self.make = make

    def quick(self, triggers: int, hertz: float, seed: int) -> Run:
        made = self.make(triggers, hertz)
        assert isinstance(made, Run)
        return made


class Guest:
    """Keeps its knobs and its lines."""

    def __init__(self) -> None:
        self.planted = ""
        self.on = dict(NAMES)

    def delay(self, name: str, us: int) -> None:
        self.planted = name if us else ""

    def map(self, lines: dict[str, int]) -> None:
        self.on.update(lines)


def bench_of(make: Any, guest: Guest | None = None) -> Bench:
    bench = Bench(guest or Guest(), Host(make), RT, 1, scopeparts.SAMPLE)  # type: ignore[arg-type]
    bench.names = dict(NAMES)
    bench.offered = lambda: None  # type: ignore[method-assign]
    return bench


def faults(bench: Bench) -> list[str]:
    return [claim.claim for claim in bench.claims if not claim.held]


@pytest.mark.parametrize(
    ("size", "limit", "best", "holds"), [
        (scopeparts.WHOLE, 400, 400, True), (scopeparts.WHOLE, 200, 200, True),
        (scopeparts.WHOLE, 150, 141, False), (scopeparts.SAMPLE, 60, 50, True),
        (scopeparts.SAMPLE, 40, 0, False),
    ]
)
def test_the_ramp_ends_at_a_rate_that_is_too_high(
    size: scopeparts.Size, limit: float, best: float, holds: bool
) -> None:
    def make(triggers: int, hertz: float) -> Run:
        return run_of(100, missing=0 if hertz <= limit else 5)

    bench = bench_of(make)
    bench.size = size
    found = scopeparts.ramp(bench)
    assert found["sustained_hz"] == best and bool(faults(bench)) != holds
    last = found["steps"][-scopeparts.GOES :]
    assert {step["lacking"] for step in last} == {0.05} and len({step["hz"] for step in last}) == 1


def test_a_go_that_the_host_disturbs_does_not_end_the_ramp() -> None:
    goes: list[float] = []

    def make(_: int, hertz: float) -> Run:
        goes.append(hertz)
        bad = hertz == 566 or hertz == 100 and goes.count(hertz) < scopeparts.GOES
        return run_of(100, missing=5 if bad else 0)

    found = scopeparts.ramp(bench_of(make))
    assert found["sustained_hz"] == 400
    assert [step["hz"] for step in found["steps"]] == goes and goes.count(100) == scopeparts.GOES


def test_a_ramp_of_nothing_sustains_nothing() -> None:
    bench = bench_of(lambda *_: run_of(100, missing=100))
    assert scopeparts.ramp(bench)["sustained_hz"] == 0 and faults(bench)


def planted(elsewhere: str = "", least: int = 5_000_000, paused: int = 0) -> Bench:
    """A machine in which a delay shows, in @elsewhere if that is given.

    At so many of the 40 triggers of a run the host stands still.
    """
    guest = Guest()

    def make(triggers: int, hertz: float) -> Run:
        name = elsewhere if guest.planted and elsewhere else guest.planted
        return run_of(40, late_by={name: least} if name else {}, paused=paused)

    bench = bench_of(make, guest)
    bench.names = {"irq": 0, "user": 1, "kthread": 2}
    delays.planted(bench)
    return bench


def test_planted_delays_are_found_and_named() -> None:
    assert not faults(planted())


def test_pauses_of_the_host_are_no_delays(capsys: pytest.CaptureFixture[str]) -> None:
    """By medians of all triggers every mechanism would be late, and the delay a usual one.

    Of 40 triggers 3 are left: the first has none before it whose end is known.
    """
    assert not faults(planted(paused=36))
    assert "irq: as the chain has it (21 of 280 triggers before, 21 of 280 with it met no pause" \
        in "".join(capsys.readouterr())


def test_a_host_that_never_rests_shows_nothing() -> None:
    bench = planted(paused=40)
    assert len(faults(bench)) == 6
    assert "without it no more than 0 of 400 triggers" in bench.claims[0].said


def test_a_delay_that_shows_elsewhere_is_seen() -> None:
    bench = planted(elsewhere="kthread")
    wrong = faults(bench)
    assert "irq should be late by 5 ms, is by 0.00; " in bench.claims[0].said
    assert "5 ms in irq show there and in what follows, and nowhere else" in wrong
    assert "the chain view names irq most often" in wrong
    assert not [claim for claim in wrong if "names kthread" in claim]


@pytest.mark.parametrize(("name", "hops", "held"), [
    ("work-high", {"work-high": 29, "softirq": 5, "bh-work": 1, "work": 4}, True),
    ("work-high", {"work-high": 9, "softirq": 15, "work": 15}, True),  # seen on a slow host
    ("work-high", {"softirq": 20, "work": 19}, False),  # never itself
    ("work-high", {"work-high": 9, "softirq": 5, "user": 25}, False),
    ("work-high", {"work-high": 9, "user": 8, "kthread": 2, "irq": 3}, False),
    ("irq", {"irq": 39}, True),
    ("irq", {"irq": 9, "softirq": 15, "work": 15}, False),  # nothing runs in a handler's middle
    ("irq", {}, False),
])
def test_an_ordinary_thread_shares_the_blame(name: str, hops: dict[str, int], held: bool) -> None:
    assert delays.judge_named(name, hops, RT)[0] == held


def test_a_delay_that_is_too_short_is_seen() -> None:
    """Within the error of medians, but no answer may come before its time."""
    wrong = faults(planted(least=4_900_000))
    assert len(wrong) == 3 and all("show there" in claim for claim in wrong)


def test_alone_the_others_have_no_line() -> None:
    guest = Guest()
    seen = []

    def make(triggers: int, hertz: float) -> Run:
        on = [name for name, line in guest.on.items() if line >= 0]
        seen.append(on)
        if len(on) > 1:
            return run_of(40)
        run = Run()
        for n in range(1, 41):
            answer = Answer(NAMES[on[0]], 5000)
            run.add(Trigger(n, n * 10**7, 0, 1 << answer.line, (answer,)))
        run.close()
        return run

    bench = bench_of(make, guest)
    rows = scopeparts.alone(bench, 100.0)
    assert not faults(bench) and seen == [list(NAMES), *([name] for name in NAMES)]
    assert guest.on == NAMES
    assert rows[1]["added"]["p50_ns"] == 15_000
    assert len(faults(_deaf())) == 10


def _deaf() -> Bench:
    """A driver that does not take a line away."""
    bench = bench_of(lambda *_: run_of(40))
    scopeparts.alone(bench, 100.0)
    return bench
