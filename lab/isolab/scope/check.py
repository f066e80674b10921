# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab scope: the scope's driver in guests, its generator beside them, its host around both."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from isolator_scope.chain import PLAIN, RT

from .. import record, term
from ..guests import dmesg, kernel
from ..guests.guest import Outcome
from ..guests.kernel import Kernel
from ..judge import attempt
from . import delays, parts
from .claims import Claim
from .host import Host
from .parts import Bench, Size
from .target import ScopeGuest, host_cpus

MAX_BOOTS = 3
DEBUG_HZ = 20.0
CONSOLE_LINES = 60  # of a stall in boot: the traces of its CPUs
Parts = dict[str, Any]


@dataclass(frozen=True)
class Session:
    """One guest, and what is done with it."""

    name: str
    about: str
    parts: Callable[[Bench, Parts], None]
    poll: bool = False  # beside the others on a CPU of the host that they need
    kernel_poll: bool = False  # so does the driver's thread; where the kernel can isolate
    debug: bool = False


def _half(bench: Bench, done: Parts) -> float:
    """Half of the rate that is sustained; of the bar where none is."""
    return (done.get("ramp", {}).get("sustained_hz") or bench.size.bar_hz) / 2


def _rates(bench: Bench, done: Parts) -> None:
    done["ramp"] = parts.ramp(bench)
    done["steady"] = parts.steady(bench, _half(bench, done))
    done["overload"] = parts.overload(bench, 2 * _half(bench, done))


def _mechanisms(bench: Bench, done: Parts) -> None:
    done["planted"] = delays.planted(bench)
    done["alone"] = parts.alone(bench, _half(bench, done))


def _ends(bench: Bench, done: Parts) -> None:
    hertz = _half(bench, done)
    done["unloaded"] = parts.unloaded(bench, hertz, unbind=False)
    done["unbound"] = parts.unloaded(bench, hertz, unbind=True)
    done["killed"] = parts.killed(bench, hertz)
    done["orphaned"] = parts.orphaned(bench, hertz)


def _all(bench: Bench, done: Parts) -> None:
    _rates(bench, done)
    _mechanisms(bench, done)
    _ends(bench, done)


def _poll(bench: Bench, done: Parts) -> None:
    done["poll"] = parts.polled(bench, "poll")


def _kernel_poll(bench: Bench, done: Parts) -> None:
    done["kernel_poll"] = parts.polled(bench, "kernel-poll")


def _debug(bench: Bench, done: Parts) -> None:
    done["debug"] = {
        "steady": bench.figures(bench.measured("debug", bench.size.slow, DEBUG_HZ)),
        "unloaded": parts.unloaded(bench, DEBUG_HZ, unbind=False),
        "unbound": parts.unloaded(bench, DEBUG_HZ, unbind=True),
    }


POLL = Session("poll", "a task that polls beside all others, its CPU isolated", _poll, poll=True)
KERNEL_POLL = Session("kernel-poll", "a thread of the driver that polls, its CPU isolated",
                      _kernel_poll, kernel_poll=True)
SAMPLE = (Session("all", "all parts, short", _all), POLL, KERNEL_POLL)
WHOLE = (
    Session("rates", "ramp, steady run, overload", _rates),
    Session("mechanisms", "planted delays; each mechanism alone", _mechanisms),
    Session("ends", "driver unloaded, generator killed, in mid-run", _ends),
    POLL,
    KERNEL_POLL,
    Session("debug", "the same under a kernel with all checks", _debug, debug=True),
)


@dataclass
class Report:
    """What came of all guests."""

    done: Parts
    claims: list[Claim]
    guests: list[dict[str, Any]]
    void: str | None = None  # why the last guest came to nothing
    excused: int = 0  # guests whose end was the emulator's fault


def came_to_end(name: str, outcome: Outcome, found: attempt.Attempt, failed: term.LabError | None,
                begun: bool) -> Claim:
    said = str(failed or found.ended or f"{outcome.seconds:.0f} s")
    lived = begun and not (failed or found.ended)
    return Claim(name, "the guest came to its end", lived, said)


def shown(name: str, found: attempt.Attempt, claims: list[Claim]) -> list[Claim]:
    """What a guest has shown ahead of the emulator's fault counts, whatever comes after."""
    if not found.excused:
        return []  # without its clocks, or with one thread, it shows nothing of times
    bad = [claim for claim in claims if not claim.held]
    if found.ended:
        bad.append(Claim(name, "the guest left nothing behind", False, found.ended))
    return bad


def _guest(built: Kernel, session: Session, name: str, seed: int, size: Size, report: Report,
           threads: str = "") -> str | None:
    """One guest; why it is void, and nothing of it stays then."""
    # A task that polls would leave nothing of a CPU that it shares.
    shared = len(host_cpus(True)[0]) < 2
    debug = attempt.SLOWER["debug"] if session.debug else 1.0
    done = dict(report.done)
    alone = session.poll or session.kernel_poll
    guest = ScopeGuest(built, name, poll=session.poll or not (shared or session.kernel_poll),
                       isolate=session.poll and built.ours, kernel_poll=session.kernel_poll,
                       undisturbed=not (alone and shared), slower=debug, threads=threads)
    bench: Bench | None = None
    failed: term.LabError | None = None
    try:
        with guest, Host(guest.address, guest.where / "host.scope") as host:
            table = RT if built.has("CONFIG_PREEMPT_RT") else PLAIN
            bench = Bench(guest, host, table, seed, size)
            bench.offered()
            session.parts(bench, done)
            guest.stop_tasks()
            guest.unload()
    except term.LabError as e:
        failed = e
    outcome = guest.outcome
    found = attempt.timed(attempt.judge(outcome), outcome)
    log = [finding.text for finding in dmesg.scan(found.log)]
    report.claims.append(
        Claim(session.name, "the kernel's log is clean", not log, "; ".join(log[:5]))
    )
    if found.void or (failed and failed.code == term.INCONCLUSIVE):
        report.excused += found.excused
        report.claims += shown(session.name, found, bench.claims if bench else [])
        return found.void or str(failed)
    report.claims.append(came_to_end(session.name, outcome, found, failed, bench is not None))
    if bench is None:
        # Nothing else of a boot that failed is kept where only this output is.
        print("\n".join(outcome.console.splitlines()[-CONSOLE_LINES:]))
        return None
    report.done = done
    report.claims += [
        replace(claim, part=f"debug, {claim.part}") if session.debug else claim
        for claim in bench.claims
    ]
    report.guests.append(
        {
            "session": session.name, "kernel": built.name, "release": built.version,
            "build": built.path.name, "seconds": round(outcome.seconds, 1), "accel": outcome.accel,
            "poll": guest.poll, "generator": guest.generator.floor, "kernel_log": log,
        }
    )
    return None


def _us(ns: int | None) -> str:
    return "-" if ns is None else f"{ns / 1000:.1f}"


def _text(report: Report) -> str:
    done, lines = report.done, []
    if "ramp" in done:
        lines.append(f"sustained: {done['ramp']['sustained_hz']} Hz")
    for part in ("steady", "overload"):
        if part not in done:
            continue
        lines.append(f"{part}: {done[part]['triggers']} triggers at {done[part]['hz']:g} Hz")
        lines.append(
            f"  {'':13}{'answered':>9}{'late':>7}{'missing':>9}{'p50 us':>10}{'p99 us':>10}"
            f"{'max us':>11}"
        )
        lines += [
            f"  {name:13}{row['answered']:9}{row['late']:7}{row['missing']:9}"
            f"{_us(row['p50_ns']):>10}{_us(row['p99_ns']):>10}{_us(row['max_ns']):>11}"
            for name, row in done[part]["mechanisms"].items()
        ]
    if "alone" in done:
        lines.append("alone, and what measuring the others adds, us:")
        lines.append(f"  {'':13}{'p50':>10}{'added':>10}{'p99':>10}{'added':>10}")
        lines += [
            f"  {row['name']:13}{_us(row['alone']['p50_ns']):>10}"
            f"{_us(row['added']['p50_ns']):>10}{_us(row['alone']['p99_ns']):>10}"
            f"{_us(row['added']['p99_ns']):>10}"
            for row in done["alone"]
        ]
    return "\n".join(lines)


def document(
    report: Report, built: Kernel, seed: int, sample: bool, attempts: list[dict[str, Any]]
) -> dict[str, Any]:
    ours, generator = host_cpus(False)
    return {
        **record.head("scope"),
        **record.where(),
        "kernel": {"name": built.name, "release": built.version, "build": built.path.name},
        "seed": seed,
        "sample": sample,
        "host_cpus": {"guest": list(ours), "generator": generator},
        "error_ns": delays.ERROR_NS,
        "guests": report.guests,
        "attempts": attempts,
        "parts": report.done,
        "claims": [claim.json() for claim in report.claims],
        "broken": [
            f"{claim.part}: {claim.claim}: {claim.said}"
            for claim in report.claims
            if not claim.held
        ],
    }


def verdict(report: Report, skipped: int) -> int:
    """Says it, and returns the exit status."""
    print(_text(report))
    broken = [claim for claim in report.claims if not claim.held]
    for claim in broken:
        print(term.colour(f"does not hold: {claim.part}: {claim.claim}: {claim.said}", "31"))
    if report.void:
        print(term.colour(f"inconclusive: no guest came to its end: {report.void}", "33"))
    failed = len(broken) + bool(report.void)
    print(f"{len(report.claims) - len(broken)} passed, {failed} failed, {skipped} skipped")
    if broken:
        return term.EXCEEDED
    return term.INCONCLUSIVE if report.void else term.PASS


def main(flavour: str, seed: int | None, sample: bool) -> int:
    seed = seed if seed is not None else int(time.time())
    built = kernel.build(flavour)
    term.say(f"triggers from outside, seed {seed} (--seed repeats their times)")
    report = Report({}, [], [])
    attempts: list[dict[str, Any]] = []
    sessions = [s for s in (SAMPLE if sample else WHOLE) if built.ours or not s.kernel_poll]
    size = parts.SAMPLE if sample else parts.WHOLE
    left = len(sessions)
    for session in sessions:
        term.say(f"{session.name}: {session.about}")
        its = kernel.build("debug") if session.debug else built
        threads = ""
        for number in range(1, MAX_BOOTS + 1):
            name = f"{flavour}-{session.name}-{number}"
            excused = report.excused
            report.void = _guest(its, session, name, seed, size, report, threads)
            threads = attempt.SINGLE if report.excused > excused else ""
            attempts.append({"session": session.name, "void": report.void})
            if not report.void:
                break
            term.say(f"void: {report.void}")
            if report.excused > attempt.MAX_EXCUSED:
                break
        left -= 1
        if report.void:
            break
    name = f"scope-{flavour}{'-sample' if sample else ''}"
    record.write(document(report, built, seed, sample, attempts), name)
    return verdict(report, left)
