# SPDX-License-Identifier: GPL-2.0-or-later
"""What isolab scope does with a guest and its generator, part by part."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isolator_scope.chain import Place
from isolator_scope.protocol import Start, Status

from .. import term
from . import claims
from .claims import Claim
from .host import MISSING, Host, Run
from .lines import Lines
from .target import ScopeGuest

DELAY_US = 5000
DELAY_NS = DELAY_US * 1000
# A rate is sustained if of no mechanism more is late or missing.
LACK = 0.02
GOES = 3
RATES = (50, 100, 141, 200, 283, 400, 566, 800, 1131, 1600, 2263, 3200, 4525, 6400)
SLOW_HZ = 50.0  # a delay has its end long before the next trigger
OVERLOAD = 10
QUIET_S = 0.3  # what an earlier run left comes within it


@dataclass(frozen=True)
class Size:
    """How much of each."""

    bar_hz: int  # sustained at least: what a host can do that has something else to do, or nothing
    ramp_s: float
    half: int  # triggers
    overload: int
    slow: int  # of each planted delay
    alone: int  # of each mechanism
    cut: int  # of the runs in whose middle something ends
    order: int  # times at least that one has to be seen after another


WHOLE = Size(200, 5, 60_000, 60_000, 200, 1000, 2000, 100)
SAMPLE = Size(RATES[0], 2, 6_000, 2_000, 40, 100, 300, 20)


@dataclass
class Bench:
    """A guest, a host and what follows the lines; and what was found."""

    guest: ScopeGuest
    host: Host
    table: Mapping[str, Place]
    seed: int
    size: Size
    base: int = 0  # the sequence before the session's first trigger
    names: dict[str, int] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)

    def offered(self) -> None:
        """Wait until the generator knows what the driver offers."""
        self.host.lines_are(self.guest.mechanisms())
        self.names = self.host.lines()

    def claim(self, part: str, claim: str, held: bool, said: str = "") -> None:
        self.claims.append(Claim(part, claim, held, said))

    def measured(self, part: str, triggers: int, hertz: float) -> Run:
        """A run that is accounted for, in its part."""
        assert self.guest.generator.keeper
        lines = Lines(self.guest.generator.keeper)
        time.sleep(QUIET_S)
        own, before = self.guest.counts("answered"), claims.counts(self.host.account)
        lines.begin()
        try:
            run = self.host.run(triggers, hertz, self.seed)
            lines.end()
        finally:
            lines.stop()
        after = claims.counts(self.host.account)
        self.claims += claims.accounted(part, run, self.names, before, after)
        self.claims += claims.attributed(part, run, self.names, lines, self.base)
        self.claims += claims.counted(part, run, self.names, own, self.guest.counts("answered"))
        return run

    def figures(self, run: Run) -> dict[str, dict[str, Any]]:
        return {name: claims.figures(run, line) for name, line in self.names.items()}


def ramp(bench: Bench) -> dict[str, Any]:
    """Up to the first rate that the guest does not sustain in any of some goes.

    A host that takes a CPU for 50 ms spoils a go of 400 triggers by 10 of them; every go is kept.
    """
    steps: list[dict[str, Any]] = []
    best = 0
    for hertz in RATES:
        for _ in range(GOES):
            run = bench.host.quick(max(100, round(hertz * bench.size.ramp_s)), hertz, bench.seed)
            lack = claims.lacking(bench.figures(run))
            steps.append({"hz": hertz, "triggers": len(run), "lacking": round(lack, 5)})
            term.say(f"{hertz} Hz: at most {100 * lack:.2f} % late or missing")
            if lack <= LACK:
                best = hertz
                break
        if best < hertz:
            break
    bar = bench.size.bar_hz
    bench.claim("ramp", f"at least {bar} Hz are sustained", best >= bar, f"{best} Hz")
    return {"share": LACK, "steps": steps, "sustained_hz": best}


def steady(bench: Bench, hertz: float) -> dict[str, Any]:
    """The long run, at half of what is sustained."""
    run = bench.measured("steady", bench.size.half, hertz)
    floor = bench.host.account.floor
    resolution = floor.resolution_ns if floor else 0
    rows = claims.order(run, bench.names, bench.table, resolution)
    bench.claims += [claims.ordered(row, bench.size.order) for row in rows]
    alone = len(claims.clear(run, bench.names))
    return {
        "hz": hertz, "triggers": len(run), "clear": alone, "mechanisms": bench.figures(run),
        "order": rows,
    }


def overload(bench: Bench, sustained: float) -> dict[str, Any]:
    hertz = OVERLOAD * sustained
    run = bench.measured("overload", bench.size.overload, hertz)
    rows = bench.figures(run)
    bench.claim("overload", "it is one: answers are late or missing", claims.lacking(rows) > LACK,
                f"{100 * claims.lacking(rows):.1f} %")
    return {
        "hz": hertz, "triggers": len(run), "mechanisms": rows,
        "overruns": bench.guest.counts("overruns"),
    }


def least_of(bench: Bench, run: Run, name: str) -> int:
    """A mechanism's least value; 0: there is none."""
    return min((ns for ns in run.ns[bench.names[name]] if ns != MISSING), default=0)


def polled(bench: Bench, name: str) -> dict[str, Any]:
    """All mechanisms beside @name, which polls.

    Where it has no CPU of the host for itself its times, and the others', are the host's doing:
    then only what was planted in it is looked for.
    """
    before = bench.measured(name, bench.size.slow, SLOW_HZ)
    plant(bench, name, DELAY_US)
    run = bench.measured(name, bench.size.slow, SLOW_HZ)
    plant(bench, name, 0)
    least = least_of(bench, run, name)
    bench.claim(name, f"5 ms planted in {name} show in each of its answers",
                least >= DELAY_NS,
                f"{least_of(bench, before, name) / 1e3:.1f} us before, {least / 1e3:.1f} us after")
    return {"before": bench.figures(before), "planted": bench.figures(run)}


def plant(bench: Bench, name: str, us: int) -> None:
    """A delay in a mechanism; 0: none any more."""
    if name == "poll":
        bench.guest.stop_tasks()
        bench.guest.start_tasks(us)
        bench.offered()
    else:
        bench.guest.delay(name, us)


def alone(bench: Bench, hertz: float) -> list[dict[str, Any]]:
    """Each mechanism while no other answers, and what the others add to it."""
    every = dict(bench.names)
    size = bench.size.alone
    together = bench.host.quick(size, hertz, bench.seed)
    rows = []
    for name, line in every.items():
        bench.guest.map({other: -1 for other in every if other != name})
        bench.offered()
        run = bench.host.quick(size, hertz, bench.seed)
        bench.guest.map(every)
        bench.offered()
        one, all_of = claims.figures(run, line), claims.figures(together, line)
        bench.claim("alone", f"{name} answers without the others",
                    one["answered"] > 0 and not run.strays and len(run.ns) == 1,
                    f"{one['answered']} of {one['triggers']}")
        rows.append({"name": name, "alone": one, "together": all_of, "added": _added(one, all_of)})
    return rows


def _added(one: Mapping[str, Any], all_of: Mapping[str, Any]) -> dict[str, int | None]:
    """What @all_of has more; None: of one of them it is not known."""
    return {
        key: None if one[key] is None or all_of[key] is None else all_of[key] - one[key]
        for key in ("min_ns", "p50_ns", "p99_ns")
    }


def cut(bench: Bench, part: str, hertz: float) -> tuple[Lines, claims.Counts, float]:
    """Begins a run in whose middle something is to end, and waits for that middle."""
    assert bench.guest.generator.keeper
    lines = Lines(bench.guest.generator.keeper)
    before = claims.counts(bench.host.account)
    lines.begin()
    bench.host.settings(hertz, bench.seed)
    bench.host.start(0)
    middle = bench.size.cut / hertz / 3
    time.sleep(middle)
    term.say(f"{part}: in mid-run")
    return lines, before, middle


def _goes_on(bench: Bench, run: Run) -> bool:
    """Do all mechanisms answer in the last tenth of it?"""
    last = max(1, len(run) // 10)
    return all(any(ns != MISSING for ns in run.ns[line][-last:]) for line in bench.names.values())


def unloaded(bench: Bench, hertz: float, unbind: bool) -> dict[str, Any]:
    """The driver goes in mid-run, and comes again."""
    part = "unbound" if unbind else "unloaded"
    every = dict(bench.names)
    lines, before, middle = cut(bench, part, hertz)
    try:
        if unbind:
            # Under the tasks: one is told, one loses its memory.
            bench.guest.do(
                "cd /sys/bus/pci/drivers/isolator_scope && "
                "for d in 0000:*; do echo $d >unbind; done"
            )
            ends = bench.guest.stop_tasks()
            bench.claim(
                part, "tasks that have the device open end by themselves",
                all(end["event"] == "died" for end in ends),
                "; ".join(str(end["out"]).strip() or f"signal {end['signal']}" for end in ends),
            )
        else:
            bench.guest.stop_tasks()
        bench.guest.unload()
        bench.host.lines_are(set())
        time.sleep(middle)
        bench.guest.load()
        bench.guest.start_tasks()
        bench.offered()
        time.sleep(middle)
        run = bench.host.finish()
        lines.end()
    finally:
        lines.stop()
    after = claims.counts(bench.host.account)
    bench.claims += claims.accounted(part, run, every, before, after)
    bench.claims += claims.attributed(part, run, every, lines, bench.base)
    rows = bench.figures(run)
    lost = {name for name, row in rows.items() if row["missing"]}
    bench.claim(part, "triggers of that time are missing, and answers come again",
                bench.names == every and lost == set(every) and _goes_on(bench, run),
                f"{len(run)} triggers, {min(r['missing'] for r in rows.values())} missing")
    return {"triggers": len(run), "mechanisms": rows}


def killed(bench: Bench, hertz: float) -> dict[str, Any]:
    """The generator is killed in mid-run, and another one goes on with the same lines."""
    generator = bench.guest.generator
    lines, _, _ = cut(bench, "killed", hertz)
    lines.stop()
    generator.kill()
    assert generator.keeper
    base = Lines(generator.keeper).trigger
    sessions = bench.host.account.sessions
    bench.guest.begin_generator()
    bench.host.until(lambda: bench.host.account.sessions > sessions, "the new generator")
    bench.base = base
    bench.offered()
    run = bench.measured("killed", bench.size.cut, hertz)
    doubts = bench.host.account.doubts()
    bench.claim(
        "killed", "the host says that the generator restarted, so that nothing is concluded",
        any("generator restarted" in doubt for doubt in doubts), "; ".join(doubts),
    )
    return {"triggers": len(run), "mechanisms": bench.figures(run), "doubts": doubts}


def orphaned(bench: Bench, hertz: float) -> dict[str, Any]:
    """The server of the lines is killed in mid-run, and at last the generator too."""
    generator = bench.guest.generator
    lines, before, middle = cut(bench, "orphaned", hertz)
    try:
        generator.kill_keeper()
        time.sleep(middle)
        run = bench.host.finish()
        lines.end()
    finally:
        lines.stop()
    after = claims.counts(bench.host.account)
    bench.claims += claims.accounted("orphaned", run, bench.names, before, after)
    bench.claims += claims.attributed("orphaned", run, bench.names, lines, bench.base)
    rows = bench.figures(run)
    bench.claim(
        "orphaned", "without the server of the lines the run goes on",
        generator.alive() and "server has gone" in generator.said() and _goes_on(bench, run),
        f"{len(run)} triggers, at most {100 * claims.lacking(rows):.2f} % late or missing",
    )
    sessions = bench.host.account.sessions
    generator.kill()
    bench.guest.begin_generator()
    bench.host.until(lambda: bench.host.account.sessions > sessions, "the new generator")
    bench.host.until(lambda: not bench.host.lines(), "no lines")
    said = bench.host.command(Start(1))
    bench.claim("orphaned",
                "new lines have no target until the guest starts again, and it reports so",
                said.status == Status.REFUSED and "offers no line" in said.text, said.text)
    return {"triggers": len(run), "mechanisms": rows}
