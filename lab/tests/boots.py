# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that were never booted: what a boot may come to, for the tests of what is made of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from isolab import hunt, run, suite
from isolab.guests.guest import ENDED, Guest, Outcome
from isolab.guests.kernel import Kernel
from isolab.judge import instrument, jobs
from isolab.matrix import matrix
from test_attempt import NO_CLOCKS, NOT_READY, event, oops, outcome, window

KERNEL = Kernel("isolator-rt", Path("/nowhere/rt-1"))
PAGE = {"missed": 0, "queued": 1, "deferred": 1, "excluded": 1}
STATS = "cpu 1 total deferred 0 queued 0\ncpu 1 kind call longest_ns 0"
CAUSES = "\n".join(
    f"{when} cpu 1 total deferred 0 excluded 0 queued 0 missed 0 immediate 0 refused 0 planned 0"
    for when in ("begin", "begun", "end", "ended")
) + "\ncpu 1 kind call longest_ns 0"
WARNING = "[   30.0] WARNING: CPU: 0 PID: 7 at kernel/isolator/core.c:1\n"
HANG = "no report for 75 s"
OVER = "[   60.0] reboot: Power down\n"
FINE = "[1] fine\n" + OVER


def ready() -> list[dict[str, Any]]:
    return [event("run", "facts", out=".hres_active : 1"), event("task", "spinner", last="ready")]


def control(number: int) -> dict[str, Any]:
    counted = {instrument.BREAKPOINT[0]: 5, "entry_SYSCALL_64": 5}
    return window(number, 10, entries_by_vector=counted)


def of_job(job: str, **more: Any) -> Outcome:
    """A guest in which all that a job of triggers or slices orders was done, and nothing else."""
    events, windows, numbers = ready(), {}, {}
    for line in job.splitlines():
        word, _, rest = line.partition(" ")
        name = rest.split(" ")[0]
        if word == "ctl" and name.startswith("begin."):
            number = int(rest.split(" window ")[1].split(" ")[0])
            ms = 31.0 if number == jobs.NO_TICK else 0.3
            windows[number] = window(number, seconds=ms)
            numbers[name.removeprefix("begin.")] = number
            events.append(event("ctl", name, answer={"window": number}))
        elif word == "ctl":
            if name == "control":
                number = int(rest.split(" ")[3])
                windows[number] = control(number)
            end = name.startswith("end.")
            answer = {**PAGE, "window": numbers[name[4:]]} if end else {"worked": True}
            events.append(event("ctl", name, answer=answer))
        elif word == "run" and name.startswith("causes."):
            events.append(event("run", name, out=CAUSES))
        elif word == "run" and name not in ("facts",):
            events.append(event("run", name, out='{"worked":true,"findings":[]}'))
        elif word == "file":
            events.append(event("file", name, text="" if "deliveries" in name else STATS))
    return outcome(FINE, events=events, windows=windows, **more)


Boot = Callable[[Guest], Outcome]


def followed(found: Outcome, on_event: Callable[[dict[str, Any]], str | None]) -> Outcome:
    """As a guest is: where somebody ends it, nothing comes of what was to come."""
    for i, e in enumerate(found.events, 1):
        if told := on_event(e):
            for gone in found.events[i:]:
                if gone["name"].startswith("end."):
                    found.windows.pop((gone["answer"] or {}).get("window", 0), None)
            found.events, found.died = found.events[:i], told
            break
    return found


def planner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[list[Boot]], list[Guest]]:
    """Replaces every boot of a guest: one after another as given, the last one again and again."""
    booted: list[Guest] = []

    def plan(those: list[Boot]) -> list[Guest]:
        left = list(those)

        def boot(guest: Guest, where: Path, on_event: Any = None) -> Outcome:
            booted.append(guest)
            found = followed((left.pop(0) if len(left) > 1 else left[0])(guest), on_event)
            found.whole = True
            return found

        for module in (run, matrix, hunt, suite):
            monkeypatch.setattr(module, "boot", boot)
        return booted

    for module in (run, matrix, hunt, suite):
        monkeypatch.setattr(module, "OUT", tmp_path)
    monkeypatch.setattr(run.kernel, "build", lambda *_, **__: KERNEL)
    monkeypatch.setattr(type(KERNEL), "version", "6.12", raising=False)
    monkeypatch.setattr(type(KERNEL), "hz", 250)
    for name in ("where", "emulator"):
        monkeypatch.setattr(run.record, name, lambda *_: {"host": "h", "emulator": "q"})
    monkeypatch.setattr(run.record, "OUT", tmp_path)
    monkeypatch.setattr(run.qemu, "pick", lambda *_: run.qemu.Emulator("t", ("q",), "10", "multi"))
    monkeypatch.setattr(hunt.selftests, "directory", lambda *_: None)
    return plan


def good(guest: Guest) -> Outcome:
    return of_job(guest.job)


def excused(guest: Guest) -> Outcome:
    return outcome(oops(), events=ready(), died=ENDED)


def changed(**more: Any) -> Boot:
    return lambda guest: of_job(guest.job, **more)


def with_console(console: str) -> Boot:
    def boot(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        found.console = console
        return found

    return boot


def silent(guest: Guest) -> Outcome:
    """The windows that were closed before it fell silent have entries."""
    return outcome(events=ready(), windows={1: window(1, 7)}, died=HANG)


def panics(guest: Guest) -> Outcome:
    """An isolated CPU executes an int3, which then goes: Isolator deferred a sync wrongly."""
    return outcome(
        WARNING + oops(cpu=1, comm="spinner"), events=ready(), died=ENDED, stale=frozenset()
    )


def unready(guest: Guest) -> Outcome:
    return outcome(events=NOT_READY, died="the spinner did not become ready")


def clockless(guest: Guest) -> Outcome:
    return outcome(events=[NO_CLOCKS], died="no high-resolution mode")


def blind(guest: Guest) -> Outcome:
    """An observer that sees no entry at all, and a task that does not run."""
    found = of_job(guest.job)
    for w in found.windows.values():
        w.update(kernel_entries=0, entries_by_vector={}, probes_seen=0, user_instructions=0)
    return found


def other(guest: Guest) -> Outcome:
    """Stock and tuned, which are interrupted."""
    found = of_job(guest.job, ours=False)
    for number, w in found.windows.items():
        if number not in instrument.CONTROLS:
            w.update(kernel_entries=9, entries_by_vector={"sysvec_call_function": 9})
    return found


def unseen(found: Outcome, name: str) -> Outcome:
    """All came back, but the observer saw no end of the window."""
    (end,) = (e for e in found.events if e["name"] == f"end.{name}")
    found.windows.pop(end["answer"]["window"])
    return found


def hangs(found: Outcome, name: str) -> Outcome:
    """A guest in which a trigger never comes back, nor anything after it: no window is closed."""
    at = next(i for i, e in enumerate(found.events) if e["name"] == name)
    for e in found.events[at:]:
        e["returned"] = False
        if e["name"].startswith("end."):
            found.windows.pop(e["answer"]["window"])
            e["answer"] = ""
    return found
