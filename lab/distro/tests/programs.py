#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: programs
# cpus: 3
# kernel: distro-isolator
# timeout: 240
# alone: yes
# windows: 8
# about: programs that know nothing of Isolator are not interrupted under isolator run
#
# Each runs on CPU 1 while the triggers of `isolab run` do on CPU 0.  Unmodified, it cannot mark
# its window: that is marked on CPU 0, and the observer counts the interrupts that take CPU 1 from
# user mode meanwhile.  What it must have counted is said here, and judged outside.
import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counting import (
    CPU,
    HOUSEKEEPING,
    PRELOAD,
    PROGRAMS,
    Trigger,
    counts,
    grown,
    interrupts,
    mark,
    owner,
    triggers,
)
from machine import ISOLATOR, PATIENCE_S, check, done, note, read, until

REST = 2
REPORT = Path("/run/programs.json")
WINDOW_S = float(os.environ.get("WINDOW_S") or 6)
CONTROL_S = min(WINDOW_S, 4)
SETTLE_S = 0.3
# Who is interrupted by a batch is so at most once a deadline, and nobody else waits longer than
# that.  A quarter of it is left for a batch that comes late.
DEADLINE_MS = 200
# A batch sends this interrupt: whatever is due is done in the kernel that it enters.  Others
# send it too, so the observer tells from outside which ones Isolator sent.
KICK = "sysvec_call_function_single"
BATCH = ("--batch", str(DEADLINE_MS * 3 // 4), "--deadline", str(DEADLINE_MS),
         "--spin", str(DEADLINE_MS))
# A program that sleeps is not interrupted either, and proves nothing.
LEAST_USER = 1_000_000
# The tick of a CPU that is not isolated comes 1000 times a second; this is enough to tell.
LEAST_PER_S = 20


@dataclass(frozen=True)
class Program:
    name: str
    command: tuple[str, ...]
    options: tuple[str, ...]
    ticked_by: str  # as the report calls it
    calls: bool = True  # it makes system calls, or may
    waits: bool = False  # for seconds, in system calls of its own

    @property
    def batch(self) -> bool:
        return self.ticked_by == "batch"


RUNS = (
    Program("dynamic C", (f"{PROGRAMS}/control-dynamic",), ("--preload", PRELOAD), "preload"),
    Program("static C", (f"{PROGRAMS}/control-static",), BATCH, "batch", calls=False),
    # Its runtime sends the program's own threads signals else, and each makes a batch due.
    Program("Go", ("env", "GODEBUG=asyncpreemptoff=1", f"{PROGRAMS}/poll", str(CPU)),
            ("--rest", str(REST), *BATCH), "batch"),
    Program("C++, 8 threads", (f"{PROGRAMS}/threads",),
            ("--rest", str(REST), "--thread", f"control={CPU}", "--preload", PRELOAD), "preload",
            # For its memory map, which a sibling that forks keeps while it waits for the disk: as
            # long as that takes after drop-caches.
            waits=True),
    Program("Python", (f"{PROGRAMS}/filter", "/run/programs.state"), (), "entries"),
)
STATIC = RUNS[1]

windows = 0
claims: list[dict[str, Any]] = []


def disturb(seconds: float, those: list[Trigger], tid: int, runs: subprocess.Popen[str]) -> int:
    """All of them, again and again, and signals between.  How many signals.

    It goes on with the one that was fired least: a short window does not reach all of them.
    """
    stop, signals, fired = time.monotonic() + seconds, 0, 0
    while time.monotonic() < stop:
        # Seldom: of two that wait at the same time only one would come.
        if not fired % (len(those) // 2):
            runs.send_signal(signal.SIGUSR1)
            signals += 1
        min(those, key=lambda t: t.fired).fire(tid)
        fired += 1
    return signals


@dataclass
class Window:
    """What was counted from begin to end, by the kernel itself."""

    number: int
    seconds: float
    signals: int
    own: dict[str, int]
    total: dict[str, int]
    irqs: dict[str, int]
    least_planned: int
    most_planned: int


def window(seconds: float, those: list[Trigger], tid: int, runs: subprocess.Popen[str]) -> Window:
    """One window; a batch may fall between a mark and the look at its count: hence two counts."""
    global windows
    windows += 1
    time.sleep(SETTLE_S)  # sleep: a batch may fall between a mark and a look
    before = counts("own")
    mark("begin", str(windows))
    own, total, irqs, began = counts("own"), counts("total"), interrupts(), time.monotonic()
    signals = disturb(seconds, those, tid, runs)
    time.sleep(SETTLE_S)  # sleep: a batch may fall between a mark and a look
    own_then, total_then, irqs_then = counts("own"), counts("total"), interrupts()
    took = time.monotonic() - began
    mark("end", str(windows))
    after = counts("own")
    planned = "planned"
    return Window(windows, took, signals, grown(own_then, own), grown(total_then, total),
                  grown(irqs_then, irqs),
                  own_then.get(planned, 0) - own.get(planned, 0),
                  after.get(planned, 0) - before.get(planned, 0))


def claim(w: Window, name: str, ticked_by: str, least: int | None, most: int | None,
          **more: object) -> None:
    """For the observer's side."""
    requests = {k: w.total.get(k, 0) for k in ("deferred", "excluded", "queued")}
    claims.append({
        "window": w.number, "name": name, "ticked_by": ticked_by, "least": least, "most": most,
        "by": None, "least_user": LEAST_USER,  # in each second
        "planned": w.least_planned,
        "missed": w.total.get("missed", 0), "immediate": w.total.get("immediate", 0),
        "ticks": w.own.get("ticks", 0), "irqs": sum(w.irqs.values()),
        "requests": " ".join(f"{k} {n}" for k, n in requests.items() if n), **more})


def start(options: tuple[str, ...], command: tuple[str, ...]) -> subprocess.Popen[str]:
    REPORT.unlink(missing_ok=True)
    return subprocess.Popen([ISOLATOR, "run", "-c", str(CPU), "--json", "-o", str(REPORT), *options,
                             "--", *command],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ready(runs: subprocess.Popen[str]) -> bool:
    """It takes signals now; false: it has ended."""
    assert runs.stdout
    return runs.stdout.readline() == "ready\n"


def end(runs: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, dict[str, Any]]:
    """Its exit status, and what it printed."""
    runs.send_signal(number)
    out, error = runs.communicate(timeout=PATIENCE_S)
    for line in error.splitlines():
        if "isolator run: CPU" in line or "ticked by" in line or line.startswith("isolator:"):
            note(line)
    try:
        return runs.returncode, json.loads(out)
    except json.JSONDecodeError:
        check(False, "the program said what it did", out, error)
        return runs.returncode, {}


def of_cpu() -> dict[str, Any]:
    """What the report has of CPU 1."""
    found: dict[str, Any] = json.loads(REPORT.read_text())["isolation"]["cpus"][0]
    return found


def isolated(program: Program, those: list[Trigger]) -> None:
    note(f"{program.name}: isolator run -c {CPU} {' '.join(program.options)}")
    mark("target", cpu=CPU)
    began = time.monotonic()
    runs = start(program.options, program.command)
    if not check(until(lambda: owner() or runs.poll() is not None) and owner(),
                 f"{program.name}: CPU {CPU} is isolated"):
        note("\n".join(runs.communicate(timeout=PATIENCE_S)))
        return
    good = ready(runs)
    note(f"{program.name}: {time.monotonic() - began:.1f} s until it is ready")
    # What it sets up for itself: memory, and threads.
    time.sleep(1)  # sleep: it tells nobody when that is over
    if not check(good and (tid := owner()), f"{program.name}: it is ready, and isolated still"):
        runs.terminate()
        note("\n".join(runs.communicate(timeout=PATIENCE_S)))
        return
    fired = sum(t.fired for t in those)
    w = window(WINDOW_S, those, tid, runs)
    began = time.monotonic()
    code, said = end(runs)
    note(f"{program.name}: {time.monotonic() - began:.1f} s to end")
    told = of_cpu()
    check(code == 0, f"{program.name}: its exit status is 0: {code}")
    check(said.get("rounds", 0) > 100, f"{program.name}: it worked", said)
    check(said.get("reports") == w.signals, f"{program.name}: {w.signals} signals came", said)
    own, total = w.own, w.total
    check(sum(t.fired for t in those) > fired, f"{program.name}: triggers were fired")
    check(not total.get("missed") and not total.get("immediate"),
          f"{program.name}: no deadline miss and no immediate delivery", total, told["deliveries"])
    check(told["counts"]["missed"] == 0 and told["counts"]["immediate"] == 0,
          f"{program.name}: nor before and after the window, says the report", told["counts"],
          told["deliveries"])
    allowed = int(w.seconds * 1000 / DEADLINE_MS) + 1 if program.batch else 0
    check(w.most_planned <= allowed,
          f"{program.name}: {w.most_planned} planned in {w.seconds:.1f} s: at most {allowed}")
    check(told["planned"] >= w.least_planned, f"{program.name}: and the report has them", told)
    ticked = f"{program.name}: ticked by {program.ticked_by}: {told['ticked_by']}"
    if program.calls and program.ticked_by != "preload":
        # An entry takes calls and signals itself, and is a tick for threads and timers only,
        # of which a slow host may leave none.  What it takes no batch is due for any more.
        check(set(told["ticked_by"]) <= {"entries", program.ticked_by}, ticked)
        got = total.get("queued", 0) + total.get("deferred", 0)
        check(got > 0, f"{program.name}: {got} requests waited in the window", total)
    else:
        check(program.ticked_by in told["ticked_by"], ticked)
        got = w.least_planned if program.batch else own.get("ticks", 0)
        check(got > 0, f"{program.name}: {got} ticks by {program.ticked_by} in the window", own)
    # A batch that finds a system call under way interrupts nothing; a signal's end is one.
    least = 0 if program.calls else max(0, w.least_planned - w.signals)
    claim(w, program.name, program.ticked_by, least, w.most_planned, by=KICK, most_planned=allowed,
          most_faults=0, least_user=0 if program.waits else LEAST_USER,
          per_deadline=round(w.most_planned * DEADLINE_MS / 1000 / w.seconds, 3))
    if not program.calls:
        # It enters the kernel for a batch only, where others may interrupt it too.
        entered = sum(w.irqs.values())
        check(entered >= w.least_planned and (entered == 0 or w.most_planned),
              f"{program.name}: the kernel's own count agrees: {w.irqs}")
    for sender in told["senders"][:2]:
        asked = " ".join(f"{key} {n}" for key, n in sender["counts"].items() if n)
        note(f"{program.name}: {sender['comm']}, {sender['callback'] or sender['kind']}: {asked}")
    note(f"{program.name}: {json.dumps(said)} own {own} total {total} irqs {w.irqs}")


def control(name: str, options: tuple[str, ...] | None, those: list[Trigger]) -> Window:
    """The static program with too little of it; options None: not even by isolator run."""
    mark("target", cpu=CPU)
    if options is None:
        runs = subprocess.Popen(["taskset", "-c", str(CPU), *STATIC.command], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        tid = runs.pid
    else:
        find = program_of if "--no-isolation" in options else lambda _: owner()
        runs = start(options, STATIC.command)
        until(lambda: find(runs.pid) or runs.poll() is not None)
        tid = find(runs.pid)
    check(ready(runs), f"{name}: it is ready")
    w = window(CONTROL_S, those, tid, runs)
    code, said = end(runs)
    # Those that wait for a deadline may be taken together.
    came = said.get("reports", 0)
    check(code == 0 and 0 < came <= w.signals, f"{name}: it ends as it should", code, said)
    note(f"{name}: irqs {w.irqs} total {w.total}")
    return w


def program_of(run: int) -> int:
    """The static program that this isolator run runs; 0: none yet."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for child in read(f"/proc/{run}/task/{run}/children").split():
            if os.path.basename(STATIC.command[0]) == read(f"/proc/{child}/comm"):
                return int(child)
    return 0


def uncontrolled(those: list[Trigger]) -> None:
    """The same where it is not isolated, or nobody ticks: what finds nothing above finds it."""
    for name, options in (("static C, pinned only", None),
                          ("static C, --no-isolation", ("--no-isolation",))):
        w = control(name, options, those)
        least = int(LEAST_PER_S * w.seconds)
        check(sum(w.irqs.values()) >= least, f"{name}: at least {least} interrupts: {w.irqs}")
        claim(w, name, "-", least, None, least_others=1)
    name = "static C, nobody ticks"
    w = control(name, (), those)
    missed = w.total.get("missed", 0)
    check(missed > 0, f"{name}: {missed} deadline misses", w.total)
    claim(w, name, "deadline", 1, None)


os.sched_setaffinity(0, {HOUSEKEEPING})
# Its ring buffers have their full size before anything is isolated, as with `isolab run`.
Path("/sys/kernel/tracing/buffer_size_kb").write_text("1408")
# More than any kernel allows as delivered.
Path("/proc/isolator/limits").write_text(f"spin_ns {DEADLINE_MS * 1_000_000}\n")
every = triggers()
check(len(every) > 20, f"{len(every)} triggers")
for one in RUNS:
    isolated(one, every)
for trigger in every:
    check(trigger.fired and not trigger.bad, f"{trigger.name}: worked, {trigger.fired} times",
          trigger.bad)
uncontrolled(triggers())
for one_claim in claims:
    note(f"window {json.dumps(one_claim)}")
done()
