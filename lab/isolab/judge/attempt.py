# SPDX-License-Identifier: GPL-2.0-or-later
"""An attempt: what one boot of a guest is good for.

This is the only place that throws a boot away or excuses how it ended.  Of a kernel with Isolator
a boot is void for two reasons only: the host spoilt its clocks, or the emulator is proven to have
failed; and one by one thread measures no times.  Any other end is that kernel's failure.  What was
measured before is judged in any case.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import term
from ..guests import dmesg, machine, observer
from ..guests.guest import Outcome, back
from ..guests.kernel import A_MODULE
from ..guests.qemu import SINGLE
from . import instrument

Record = dict[str, Any]
MAX_BOOTS = 5
# An excused boot is repeated where the excuse cannot be had; a second one is no accident.
MAX_EXCUSED = 1
# Of a whole suite of guest tests, each of which may have one.
MAX_EXCUSED_OF_SUITE = 2
# How much slower a guest is whose CPUs take turns.
SINGLE_SLOWER = 5.0
# How much slower a kernel with all its checks is under emulation.
SLOWER = {"debug": 4.0, "kasan": 6.0, "kcsan": 10.0}
TIMERS = machine.KINDS["timers"]
# A stopped tick leaves no timer interrupt but those of timers that are due.
STOPPED_TICK_PER_S = 50
# So many triggers that did not come back say that stock Linux hangs: no base to compare with.
STUCK = 3

_CPU = re.compile(r"\bCPU: (\d+) ")
_PLACE = re.compile(r"RIP: 0010:([^\s/]+)\+(0x[0-9a-f]+)/0x[0-9a-f]+( \[\w+\])?")
_INT3 = re.compile(r"Oops: int3|int3: 0000")
# By the guest's own word its timer did not calibrate, or its clock has not yet: the host's doing.
_UNCALIBRATED = re.compile(
    r"APIC timer disabled|disabling apic timer|^tsc-early$", re.IGNORECASE | re.MULTILINE
)
# The last word of a kernel that powers the machine off, which waits until the console has it.
POWER_DOWN = "reboot: Power down"
_ASSERTION = re.compile(r"^qemu-system-\S+ .*: Assertion `.*' failed\.$", re.MULTILINE)
# What looks at the state of a CPU, user mode or kernel, and whether RCU watches it.
_ASTRAY = re.compile(r"WARNING: CPU: \d+ PID: \d+ at (?:__)?(?:ct|rcu)_\w+\+0x")
# Of arm64's traces a line, and what ends them.
_CALLED = re.compile(r"^\[[ .\d]+\]  (\w[\w.]*)\+0x[\da-f]+/0x[\da-f]+")
_END = re.compile(r"end trace [\da-f]+ \]---$")
# So many lines of an Oops come before its trace ends.
_OOPS_LINES = 80


@dataclass(frozen=True)
class Attempt:
    """@void: why it is made again; @excused: that is the emulator's fault, in a guest of ours;
    @ended: how the kernel itself ended it; @log: what the kernel answers for of its log."""

    void: str | None = None
    excused: bool = False
    ended: str | None = None
    log: str = ""

    @property
    def over(self) -> str | None:
        """Why the guest need not run on."""
        return self.void or self.ended


def _first(what: re.Pattern[str], lines: Sequence[str]) -> re.Match[str] | None:
    return next((m for m in map(what.search, lines) if m), None)


def _stale(oops: Sequence[str], outcome: Outcome) -> str | None:
    """The evidence that an int3 Oops ran a stale translation: QEMU told of that CPU and place.

    The CPU executed an int3 that memory did not hold any more.  Where Isolator wrongly deferred a
    text sync, memory holds it when it is executed, and no longer when the kernel looks at it; but
    for a write that comes within a few instructions, see observer/stale.c.  What memory holds as
    the Oops is printed says nothing: keys that are switched all the time put the next one there.
    A kernel without Isolator defers nothing; of Debian's own there are no symbols, either.
    """
    place, cpu = (_first(what, oops) for what in (_PLACE, _CPU))
    if not place or not cpu:
        return None
    at = f"{place.group(1)}+{int(place.group(2), 16) - 1:#x}"
    told = {name for vcpu, name in outcome.stale if vcpu == int(cpu.group(1))}
    if not told or (outcome.ours and (A_MODULE if place.group(3) else at) not in told):
        return None
    return f"{oops[0].strip()}; but memory held no int3 as QEMU executed {at}"


def _astray(outcome: Outcome) -> tuple[str, int] | None:
    """The same on arm64, where no breakpoint tells: the kernel goes on as if a key had not changed.

    The first that its log shows is a warning about the state of a CPU, which an entry or exit that
    takes the wrong way leaves wrong; and on the way there, by its trace, lies a function of which
    that CPU executed what memory did not hold.
    """
    findings = dmesg.scan(outcome.console)
    if not findings or not outcome.stale or not _ASTRAY.search(findings[0].text):
        return None
    first = findings[0].line - 1
    splat = outcome.console.splitlines()[first : first + _OOPS_LINES]
    end = next((i for i, line in enumerate(splat) if _END.search(line)), len(splat))
    cpu = _first(_CPU, splat[:end])
    way = {m[1] for line in splat[:end] if (m := _CALLED.search(line))}
    for vcpu, place in sorted(outcome.stale):
        if cpu and vcpu == int(cpu[1]) and place.partition("+")[0] in way:
            return (f"{splat[0].strip()}; but QEMU executed at {place} on CPU {vcpu} what memory "
                    "did not hold"), first
    return None


def emulator_fault(outcome: Outcome) -> tuple[str, int] | None:
    """The evidence that the emulator is to blame, and how many lines of the log precede it.

    QEMU says that an assertion of its own failed; or the first int3 Oops is one of a breakpoint
    that memory did not hold; or the first splat follows such text: observer/stale.c.
    """
    lines = outcome.console.splitlines()
    if said := _ASSERTION.search(outcome.qemu_log):
        return said[0], len(lines)
    if outcome.arm:
        return _astray(outcome)
    at = [i for i, line in enumerate(lines) if _INT3.search(line)]
    if not at:
        return None
    oops = lines[at[0] : min([at[0] + _OOPS_LINES, *at[1:2]])]
    evidence = _stale(oops, outcome)
    return (evidence, at[0]) if evidence else None


def clocks(facts: str, ours: bool, log: str = "") -> Attempt | None:
    """What a guest without high-resolution timers is good for; None: it has them.

    Neither tuned nor Isolator can work in it.  Isolator itself could have lost them: with it the
    guest has to say that they failed to calibrate.
    """
    if not re.search(r"hres_active\s*:\s*0", facts):
        return None
    if ours and not _UNCALIBRATED.search(facts):
        return Attempt(ended="no high-resolution mode, though the clocks calibrated", log=log)
    return Attempt("no high-resolution mode: the guest's timer calibration failed", log=log)


def _clocks(outcome: Outcome) -> Attempt | None:
    facts = outcome.event("run", "facts") or {}
    return clocks(facts.get("out") or "", outcome.ours, outcome.console)


def no_clocks(outcome: Outcome) -> str | None:
    """Why a guest need not run on, if so."""
    found = _clocks(outcome)
    return found.over if found else None


def not_ready(outcome: Outcome) -> str | None:
    """The task did not start, or not once more."""
    bad = None
    for event in outcome.events:
        if event["event"] == "task" and not event["returned"]:
            bad = f"the spinner did not become ready: {event['last']}"
        if bad and event["event"] == "died" and event["name"] == "spinner":
            return f"{bad} {event['out'] or ''}".strip()
    return bad


def hung(outcome: Outcome) -> str | None:
    """The task did not end when it was told to, or before; one that was has exit status 0."""
    for event in outcome.events:
        if event["name"] != "spinner":
            continue
        if event["event"] == "killed" and not event["returned"]:
            return f"the spinner cannot be killed: {event.get('hang') or ''}".strip()
        if event["event"] == "died" and event["exit"] != 0:
            return f"the spinner died: {event.get('out') or ''}".strip()
    return None


def left(outcome: Outcome, may: Collection[str] = ()) -> str | None:
    """A command left processes behind that cannot be killed: they wait for what does not come.

    Those of the names @may do so by the fault that they plant.
    """
    for event in outcome.events:
        if event.get("left") and event["name"] not in may:
            return f"{event['name']} left what cannot be killed: {event.get('hang') or ''}".strip()
    return None


def _problem(outcome: Outcome) -> str | None:
    """The agent could not do a line of its job, or what it reports cannot be read."""
    said = next((e for e in outcome.events if e["event"] == "problem"), None)
    return f"the agent has a problem: {said.get('text')}" if said else None


def _silenced(outcome: Outcome) -> str | None:
    """The log of a guest that came to its end does not reach there: what it lacks nobody judges."""
    if not outcome.whole or POWER_DOWN in outcome.console:
        return None
    return f'its log does not reach its end: no "{POWER_DOWN}"'


def judge(outcome: Outcome, leave: Collection[str] = ()) -> Attempt:
    """An attempt of any kernel; it may still run.  @leave: what may leave processes behind."""
    if fault := emulator_fault(outcome):
        lines = outcome.console.splitlines()[: fault[1]]
        # What a command had left ahead of that is the kernel's own doing.
        behind = left(outcome, leave) if outcome.ours else None
        return Attempt(f"emulator fault: {fault[0]}", outcome.ours, behind, "\n".join(lines))
    if spoilt := _clocks(outcome):
        return spoilt
    ended = not_ready(outcome) or outcome.died
    if outcome.ours:
        ended = ended or hung(outcome) or left(outcome, leave)
        ended = ended or _problem(outcome) or _silenced(outcome)
    return Attempt(ended=ended, log=outcome.console)


def judge_base(outcome: Outcome) -> Attempt:
    """The same where another kernel than ours is a base only: a boot that did not live is none."""
    found = judge(outcome)
    if outcome.ours or found.void:
        return found
    return Attempt(found.ended, log=found.log)


def tick_per_s(window: observer.Window) -> float:
    """How often the CPU's timer interrupted it, a second."""
    return machine.count(window["entries_by_vector"], "timers") / max(window["seconds"], 0.001)


def judge_compared(outcome: Outcome, quiet: int, tickless: bool) -> Attempt:
    """An attempt of a comparison.

    A kernel that ours is compared with has to be at its best, @tickless if its parameters say
    so: a boot in which it was not, or did not live, is no base.  This never excuses our kernel.
    """
    found = judge_base(outcome)
    if found.void or outcome.ours:
        return found
    window = outcome.windows.get(quiet)
    if tickless and window and tick_per_s(window) > STOPPED_TICK_PER_S:
        return Attempt(
            f"the tick of tuned did not stop: {tick_per_s(window):.0f} timer interrupts a second",
            log=found.log,
        )
    lost = [e["name"] for e in outcome.events if "returned" in e and not back(e)]
    if len(lost) >= STUCK:
        return Attempt(
            f"the guest hangs: {', '.join(lost[:STUCK])} did not come back", log=found.log
        )
    return found


def timed(found: Attempt, outcome: Outcome) -> Attempt:
    """The same where times are what is measured: with one thread it shows only that it lives.

    What it ran with counts: it has several where one that was asked for would mislead a plugin.
    """
    if not outcome.accel.endswith(f"thread={SINGLE}") or found.over:
        return found
    return Attempt("one thread emulated all CPUs: its times prove nothing", log=found.log)


def entered(outcome: Outcome, but: Collection[int] = ()) -> list[str]:
    """What closed windows of an isolated task show: entries of others, deadline misses."""
    bad = [
        f"window {number}: {window['kernel_entries']} kernel entries: {window['entries_by_vector']}"
        for number, window in sorted(outcome.windows.items())
        if window["kernel_entries"] and number not in {*instrument.CONTROLS, *but}
    ]
    for event in outcome.events:
        said = event.get("answer")
        if not event["name"].startswith("end.") or not isinstance(said, dict):
            continue
        if said.get("missed") and said.get("window") not in but:
            bad.append(f"window {said.get('window')}: {said['missed']} deadline misses")
    return bad + instrument.disturbed(outcome)


def slower(threads: str) -> float:
    """How much longer everything may take in a guest that is emulated so."""
    return SINGLE_SLOWER if threads == SINGLE else 1.0


def record(found: Attempt, entries: Iterable[str] = (), log: str | None = None) -> Record:
    """What a report keeps of it; @log: the same without the lines that are wanted."""
    lines = dmesg.scan(found.log if log is None else log)
    return {
        "void": found.void, "excused": found.excused, "ended": found.ended,
        "entered": list(entries), "kernel_log": [f.text for f in lines[:20]],
    }


def broken(attempts: Iterable[Record]) -> list[str]:
    """What attempts of our kernel have shown that must not be, void or not."""
    bad = []
    for number, a in enumerate(attempts, 1):
        said = [f"the guest ended: {a['ended']}"] if a["ended"] else []
        said += a["entered"]
        said += [f"kernel log: {line}" for line in a["kernel_log"][:3]]
        bad += [f"attempt {number}: {text}" for text in said]
    return bad


def excused_too_often(attempts: Iterable[Record], most: int = MAX_EXCUSED) -> str | None:
    """Why nothing is concluded, if so."""
    excused = [a["void"] for a in attempts if a["excused"]]
    if len(excused) <= most:
        return None
    return f"{len(excused)} boots ended by what is excused as the emulator's: {excused[-1]}"


def demand(name: str, attempts: Sequence[Record], ours: bool) -> None:
    """Raises LabError where the last of @attempts shows what must not be, or all show nothing."""
    last = attempts[-1]
    if ours or not last["void"]:
        for text in broken([last]):
            raise term.LabError(f"{name}: {text}")
    if why := excused_too_often(attempts):
        raise term.LabError(f"{name}: {why}", term.INCONCLUSIVE)


def threads(attempts: Sequence[Record]) -> str:
    """How the next guest is emulated: as ever, or with one thread after an excused boot."""
    return SINGLE if any(a["excused"] for a in attempts) else ""
