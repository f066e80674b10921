# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab test: boots guests and runs the tests of lab/guest/tests in them."""

import contextlib
import dataclasses
import fnmatch
import functools
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import header, term
from .guests import arm64, distro, kernel, machine, packaged, qemu
from .guests.guest import Event, Guest, Outcome, boot
from .header import GuestTest
from .instants import ways
from .judge import attempt, counted, coverage, jobs, verdict, windows
from .judge.verdict import Result
from .paths import OUT
from .scope import generator as scopegenerator
from .sittings import BATCH, Sittings

RECAP_LINES = 30
# Of a test that others came behind, or the end of the job.
LOST = "what the guest reported of it is lost"
SANITIZERS = ("kasan", "kcsan")


@dataclass(frozen=True)
class Suite:
    """Which tests on which kernels: (flavour, which kernels' tests)."""

    runs: tuple[tuple[str, tuple[str, ...]], ...]
    long: bool = False
    only: tuple[str, ...] = ()
    window_s: int = 0  # how long a test's windows are; 0: as short as it likes
    again: bool = False  # on another kernel: without tests that one kernel is enough for


_NORMAL = ("isolator", "any")
_FAULTS = ("isolator", "isolator-faults", "any")
_DEBUG = ("isolator", "isolator-faults", "isolator-debug", "any")
_DISTRO = ("distro", "distro-stock")
_DISTRO_OURS = ("distro", "distro-isolator")
_DISTRO_DEB = (header.PACKAGED,)
_ARM64 = ("arm64",)
# What --kernel takes before the name of one of our kernels for that machine.
_FOREIGN = f"{machine.ARM64.name}-"
SUITES = {
    # Two kernels are built in the time that make check has: both models and both machines.
    "check": Suite((("nort", _FAULTS),)),
    "check-arm64": Suite(((f"{_FOREIGN}rt", _NORMAL),), again=True),
    "full-rt": Suite((("rt", _NORMAL),), long=True, window_s=60),
    "full-nort": Suite((("nort", _FAULTS),), long=True, window_s=60),
    "full-debug": Suite((("debug", _DEBUG),), long=True, window_s=60),
    "kasan": Suite((("debug+kasan", _DEBUG),), long=True, window_s=60),
    "kcsan": Suite((("debug+kcsan", _DEBUG),), long=True, window_s=60),
    "distro": Suite((("distro-plain", _DISTRO),)),
    "arm64": Suite(((arm64.NAME, _ARM64),)),
    "full-arm64": Suite((("arm64-rt", _NORMAL), ("arm64-nort", _FAULTS)), long=True, window_s=60),
    "arm64-debug": Suite((("arm64-debug", _DEBUG),), long=True, window_s=60),
    "arm64-kasan": Suite((("arm64-debug+kasan", _DEBUG),), long=True, window_s=60),
    "arm64-kcsan": Suite((("arm64-debug+kcsan", _DEBUG),), long=True, window_s=60),
    "distro-check": Suite((("distro-isolator-nort", _DISTRO_OURS),), only=("programs",)),
    "full-distro": Suite(
        (
            ("distro-plain", _DISTRO),
            ("distro-rt", _DISTRO),
            ("distro-isolator-rt", _DISTRO_OURS),
            ("distro-isolator-nort", _DISTRO_OURS),
        ),
        long=True,
    ),
    # One a kernel: where its packages are missing, nothing of the suite was run.
    **{
        f"deb{rt}": Suite(((f"{distro.PREFIX}{packaged.NAME}{rt}", _DISTRO_DEB),))
        for rt in packaged.MODELS
    },
    **{
        f"arm64-deb{rt}": Suite(
            ((f"{distro.PREFIX}{packaged.ARM64_NAME}{rt}", _DISTRO_DEB),), window_s=60
        )
        for rt in packaged.MODELS
    },
    "programs": Suite(
        (("distro-isolator-rt", _DISTRO_OURS), ("distro-isolator-nort", _DISTRO_OURS)),
        only=("programs",),
        window_s=60,
    ),
}


def _show(result: Result) -> None:
    code = {"passed": "32", "failed": "31", "skipped": "33"}[result.status]
    print(
        f"{term.colour(result.status.ljust(7), code)} {result.kernel:14} {result.test.name:32} "
        f"{result.seconds:7.2f} s",
        flush=True,
    )
    for why in result.why:
        print(f"        {why}", flush=True)
    told = windows.table(result.windows) if result.windows else []
    for line in (*told, *(coverage.lines(result.covered) if result.covered else ())):
        print(f"        {line}", flush=True)


def _recap(results: list[Result]) -> None:
    """The failures once more, with what they printed: a log is read from its end."""
    for result in results:
        if result.status != "failed":
            continue
        print(f"\nfailed: {result.test.name} on {result.kernel}: {result.test.about}")
        for why in result.why:
            print(f"  {why}")
        for line in result.out.splitlines()[-RECAP_LINES:]:
            print(f"  | {line}")
        for line in result.log:
            print(f"  log | {line}")
    print()


def _timeout(test: GuestTest, slower: float, window_s: int) -> float:
    return (test.timeout_s + test.windows * window_s) * slower


def _job(
    batch: list[GuestTest], slower: float, sanitizer: str, settle: bool = False, window_s: int = 0
) -> str:
    lines = ["env ISO_CPU 1", "env HK_CPU 0"]
    if window_s:
        lines.append(f"env WINDOW_S {window_s}")
    if sanitizer:
        lines.append(f"env SANITIZER {sanitizer}")
    if slower > 1:
        lines.append(f"env SLOWER {slower:.0f}")
    # Isolation starts only in high-resolution mode.
    lines.append(jobs.FACTS)
    if settle:
        lines.append("run settled 120000 udevadm settle; systemctl is-system-running --wait")
    lines += [
        f"run {t.name} {int(_timeout(t, slower, window_s) * 1000)} exec /lab/tests/{t.name}"
        for t in batch
    ]
    return "\n".join(lines) + "\n"


def _batches(tests: list[GuestTest]) -> list[list[GuestTest]]:
    """Tests that share a guest: same CPUs, clock, parameters, lines, same need of the observer.

    Planted faults keep to themselves: what one leaves behind is no other test's.
    """
    batches: dict[tuple[object, ...], list[GuestTest]] = {}
    alone = []
    for test in tests:
        if test.alone:
            alone.append([test])
        else:
            lines = (test.doorbell, test.wires, test.section, test.coverage,
                     test.ways)
            faults = test.kernel == "isolator-faults"
            cpus = (test.cpus, test.smt)
            key = (cpus, test.memory, test.observed, bool(test.mores), test.icount, test.append,
                   faults, *lines)
            batches.setdefault(key, []).append(test)
    return [*batches.values(), *alone]


@contextlib.contextmanager
def _doorbell(test: GuestTest) -> Iterator[Path | None]:
    """The socket of a generator, for a test that wants one."""
    if not test.doorbell:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="isolab-") as directory:
        generator = scopegenerator.Generator(
            scopegenerator.build(),
            Path(directory) / "lines",
            Path(directory) / "log",
            max(os.sched_getaffinity(0)),
            "127.0.0.1:0",
        )
        try:
            generator.begin()
            yield generator.socket
        finally:
            generator.end()


def _guest(which: kernel.Kernel, now: list[GuestTest], slower: float, threads: str,
           functions: list[coverage.Function], window_s: int) -> Guest:
    """What these tests, which share their needs, are booted in."""
    of = now[0]
    slower *= attempt.slower(threads)
    return Guest(
        which,
        _job(
            now, slower, next((s for s in SANITIZERS if s in which.name), ""),
            settle=bool(which.disk), window_s=window_s,
        ),
        cpus=of.cpus,
        smt=of.smt,
        memory=of.memory,
        append=f"{distro.APPEND} {of.append}" if which.disk else of.append,
        observe=of.observed,
        heavy=bool(of.mores),
        want_kvm=not of.reboots,
        resets=of.reboots,
        icount=of.icount,
        wires=of.wires,
        section=bool(of.section),
        ranges=coverage.ranges(functions),
        ways=ways.plan(which).options(of.ways) if of.ways else "",
        boot_s=(240 if which.disk else 40) * slower,
        silence_s=max(_timeout(t, slower, window_s) for t in now) + 30,
        total_s=sum(_timeout(t, slower, window_s) for t in now) + 120,
        threads=threads,
    )


def _results(which: kernel.Kernel, ran: list[GuestTest], outcome: Outcome,
             functions: list[coverage.Function]) -> list[Result]:
    """The verdicts on what ran in one guest; only the last of these can be what it ended in."""
    results = []
    done = _done(outcome)
    for test in ran:
        result = Result(test, which.name)
        lost = test.name not in done and (test is not ran[-1] or not outcome.died)
        verdict.judge(test, result, dataclasses.replace(outcome, died=LOST) if lost else outcome,
                      done.get(test.name))
        if test.coverage and result.status != "skipped":
            result.covered = coverage.files(functions, outcome.covered)
            result.fail(coverage.judge(result.covered, outcome.dropped))
        if test.ways and result.status == "passed":
            result.fail(ways.complaints(ways.plan(which), outcome, ways.least(test)))
        _show(result)
        results.append(result)
    return results


def _done(outcome: Outcome) -> dict[str, Event]:
    return {e["name"]: e for e in outcome.events if e["event"] == "run"}


def _parted(now: list[GuestTest], outcome: Outcome, found: attempt.Attempt
            ) -> tuple[list[GuestTest], GuestTest | None]:
    """Those that a guest has behind it, also if it lost what one reported; the one it ended in.

    Nothing that ran beyond what is excused shows anything, where the guest lived on.
    """
    done = [name for name in _done(outcome)
            if not found.excused or f"isolab: end {name}\n" in found.log + "\n"]
    behind = max((i for i, test in enumerate(now, 1) if test.name in done), default=0)
    return now[:behind], next(iter(now[behind:]), None)


def _run_batch(which: kernel.Kernel, batch: list[GuestTest], slower: float, where: Path,
               attempts: list[attempt.Record], window_s: int = 0) -> list[Result]:
    results: list[Result] = []
    left = list(batch)
    mine: list[attempt.Record] = []
    while left:
        # After an excused boot the test that it ended is alone in one that needs no excuse.
        threads = attempt.threads(mine[-1:])
        now = left[:1] if threads else left
        functions = coverage.functions(which, coverage.sources()) if now[0].coverage else []
        guest = _guest(which, now, slower, threads, functions, window_s)
        term.say(f"{which.name}: guest with {guest.cpus} CPUs, {len(now)} test(s)")
        with _doorbell(now[0]) as guest.doorbell:
            outcome = boot(guest, where / f"boot-{len(attempts) + 1}",
                           lambda e: attempt.no_clocks(Outcome(events=[e])))
        found = attempt.judge(outcome, [t.name for t in now if t.leaves])
        ran, unfinished = _parted(now, outcome, found)
        again = found.void and len(mine) + 1 < attempt.MAX_BOOTS
        # What it closed ahead of its end counts, however that came.
        shown = counted.shown(unfinished, outcome.windows) if unfinished and again else []
        mine.append({
            "tests": [t.name for t in now], **attempt.record(found, shown),
            "ended_in": unfinished.name if unfinished else None,
        })
        attempts.append(mine[-1])
        if again:
            term.say(f"void, booted again: {found.void}")
        # The one that ran when the guest died gave no verdict: that is its failure.
        if unfinished and not again:
            ran.append(unfinished)
        results += _results(which, ran, outcome, functions)
        beside = verdict.stray(which.name, left[0], ran, found.log, unfinished if again else None)
        if unfinished and shown:
            beside += [Result(unfinished, which.name, why=shown)]
        if not unfinished:
            beside += verdict.end(which.name, left[0], found.ended)
        for result in beside:
            _show(result)
        results += beside
        left = [t for t in left if t not in ran]
    return results


def _kernel(spec: str) -> kernel.Kernel:
    """What --kernel takes: rt, stock-rt, debug+kasan, distro-plain, arm64-rt, arm64 and so on."""
    if spec == arm64.NAME:
        arm64.build()
        return arm64.kernel()
    if spec.startswith(distro.PREFIX):
        return distro.kernel(spec.removeprefix(distro.PREFIX))
    of = _machine(spec)
    flavour, _, sanitizer = spec.removeprefix(_FOREIGN).partition("+")
    stock = flavour.startswith("stock-")
    flavour = flavour.removeprefix("stock-")
    return kernel.build(flavour, stock, (f"--{sanitizer}",) if sanitizer else (), of)


def _machine(spec: str) -> machine.Machine:
    """On what a kernel runs that --kernel takes."""
    if spec.startswith(distro.PREFIX + packaged.PREFIX):
        return packaged.machine_of(spec.removeprefix(distro.PREFIX))
    foreign = spec == arm64.NAME or spec.startswith(_FOREIGN)
    return machine.ARM64 if foreign else machine.X86_64


def _choose(kernels: list[str], only: list[str], suite: Suite) -> list[tuple[str, list[GuestTest]]]:
    everything = [
        test
        for directory in (header.TESTS, header.DISTRO_TESTS, header.ARM64_TESTS)
        for test in header.tests(directory)
    ]
    patterns = only or list(suite.only)
    if patterns:
        everything = [t for t in everything if any(fnmatch.fnmatch(t.name, p) for p in patterns)]
        if not everything and only:
            raise term.LabError(f"no test matches {' '.join(only)}; isolab test --list names them")
    else:
        everything = [t for t in everything if t.long in (("no", "yes") if suite.long else ("no",))]
    if not kernels:
        return [
            (spec, [t for t in everything
                    if t.kernel in which and not (t.once and suite.again)])
            for spec, which in suite.runs
        ]
    chosen = []
    for spec in kernels:
        which = (
            _DISTRO_OURS
            if spec.removeprefix(distro.PREFIX) in distro.OURS
            else _DISTRO_DEB
            if spec.startswith(distro.PREFIX + packaged.PREFIX)
            else _DISTRO
            if spec.startswith(distro.PREFIX)
            else _ARM64
            if spec == arm64.NAME
            else ("any",)
            if spec.removeprefix(_FOREIGN).startswith("stock-")
            else _DEBUG
            if "debug" in spec
            else _FAULTS
            if spec.removeprefix(_FOREIGN) == "nort"
            else _NORMAL
        )
        chosen.append((spec, [t for t in everything if t.kernel in which]))
    return chosen


@functools.cache
def _say_emulator(arch: str) -> None:
    emulator = qemu.pick(arch)
    kvm = "KVM usable" if arch == machine.X86_64.target and qemu.kvm_usable() else "emulation"
    term.say(f"QEMU {emulator.version} ({emulator.name}), threads {emulator.threads}, {kvm}")


def _sizes(batches: list[list[GuestTest]], most: int) -> list[list[GuestTest]]:
    return [b[i : i + most] for b in batches for i in range(0, len(b), most)]


def main(suite_name: str, kernels: list[str], only: list[str], listing: bool,
         resume: bool | None = None) -> int:
    """@resume: the suite is run in sittings, and goes on or begins; None: it is run at once."""
    if suite_name not in SUITES:
        raise term.LabError(f"no suite {suite_name}; there are {', '.join(SUITES)}")
    chosen = _choose(kernels, only, SUITES[suite_name])
    if not any(tests for _, tests in chosen):
        named = ", ".join(spec for spec, _ in chosen)
        raise term.LabError(f"none of these tests is for {named}; isolab test --list names them")
    if listing:
        for spec, tests in chosen:
            for t in tests:
                # At once: a reader that has gone is met here, not behind main().
                print(f"{spec:12} {t.cpus} CPUs  {t.name:32} {t.about}", flush=True)
        return term.PASS
    results: list[Result] = []
    before = None if resume is None else Sittings(OUT / f"sittings-{suite_name}.json", resume)
    attempts: list[attempt.Record] = []
    begin = time.monotonic()
    for spec, tests in chosen:
        of = _machine(spec)
        for test in (t for t in tests if of.name not in t.arch):
            elsewhere = f"it is for {', '.join(test.arch)} only"
            results.append(Result(test, spec, status="skipped", why=[elsewhere]))
            _show(results[-1])
        tests = [t for t in tests if of.name in t.arch]
        if not tests:
            continue
        try:
            built = _kernel(spec)
        except term.LabError as e:
            # What it takes is not there; the other kernels' tests are run.
            if e.code != term.SKIPPED:
                raise
            for test in tests:
                results.append(Result(test, spec, status="skipped", why=[str(e)]))
                _show(results[-1])
            continue
        _say_emulator(built.arch)
        slower = max((f for name, f in attempt.SLOWER.items() if name in spec), default=1.0)
        if before:
            attempts += before.begin(built)
        old = [before.passed(t, spec, built) for t in tests] if before else []
        for result in filter(None, old):
            results.append(result)
            _show(result)
        done = {result.test.name for result in old if result}
        batches = _batches([t for t in tests if t.name not in done])
        for batch in _sizes(batches, BATCH if before else len(tests)):
            boots = len(attempts)
            new = _run_batch(
                built, batch, slower, OUT / "test" / spec, attempts, SUITES[suite_name].window_s
            )
            results += new
            if before:
                before.add(built, batch, new, attempts[boots:])
    write(results, attempts, suite_name, time.monotonic() - begin)
    count = {s: sum(r.status == s for r in results) for s in ("passed", "failed", "skipped")}
    _recap(results)
    for line in before.text() if before else []:
        print(line)
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped",
          flush=True)
    if all(r.status == "skipped" for r in results):
        return term.SKIPPED
    if count["failed"]:
        return term.ERROR
    if why := attempt.excused_too_often(attempts, attempt.MAX_EXCUSED_OF_SUITE):
        print(f"inconclusive: {why}")
        return term.INCONCLUSIVE
    doubts = {test: _doubt(attempts, test) for test in {a["ended_in"] for a in attempts}}
    for test, doubt in doubts.items():
        if doubt:
            print(f"inconclusive: {test}: {doubt}")
            return term.INCONCLUSIVE
    return term.PASS


def _doubt(attempts: Sequence[attempt.Record], test: str | None) -> str | None:
    """Why a test shows nothing: it is where boots ended that had to be excused, if so."""
    return attempt.excused_too_often(a for a in attempts if a["ended_in"] == test)


def write(
    results: list[Result], attempts: list[attempt.Record], suite_name: str, seconds: float
) -> None:
    """out/test.json."""
    report = {
        "schema": "isolab.test", "version": 1, "suite": suite_name, "seconds": round(seconds, 1),
        "attempts": attempts, "results": [r.json() for r in results],
    }
    OUT.mkdir(exist_ok=True)
    (OUT / "test.json").write_text(json.dumps(report, indent=1) + "\n")
