# SPDX-License-Identifier: GPL-2.0-or-later
"""Run steps in lanes: those that mind company one after another, the others beside them.

Steps come in stretches: those that prepare, those that may have company, and guests, whose clocks
other work disturbs.  A stretch is over when all of its lanes are.  A step that mostly waits has a
lane of its own, and so have those that go on through all stretches behind theirs.
"""

import itertools
import sys
import threading
import time
from pathlib import Path
from typing import TextIO

from steps import NAME_WIDTH, Result, Step, conclude, run_step

ALONE = ("prepare", "guest")  # groups that are a stretch of their own


def stretches(steps: list[Step]) -> list[list[Step]]:
    """The steps in their order, cut where company begins and ends."""
    def kind(step: Step) -> str:
        return step.group if step.group in ALONE else ""
    return [list(group) for _, group in itertools.groupby(steps, kind)]


def run_lanes(steps: list[Step], results_dir: Path, minutes: float | None,
              out: TextIO = sys.stdout, whole: bool = True) -> int:
    """Run `steps` within `minutes`, each within its own; exit code 0 when nothing failed.

    Without `minutes` nothing is stopped: a slow machine takes the time that it needs.

    What is printed comes in the order in which steps end, what is written in that of `steps`.  A
    `whole` run leaves its transcript, for README.md.
    """
    results_dir.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    results: dict[str, Result] = {}
    stop = threading.Event()

    def lane(todo: list[Step]) -> None:
        for step in todo:
            if stop.is_set():
                return
            out.write(f"{'...':8}{step.name:{NAME_WIDTH}} {step.about}\n")
            out.flush()
            limit = None if minutes is None else min(
                step.minutes * 60, max(began + minutes * 60 - time.monotonic(), 1.0))
            results[step.name] = run_step(step, results_dir / f"{step.name}.log", limit, out, stop)

    def begin(todo: list[Step]) -> threading.Thread:
        other = threading.Thread(target=lane, args=(todo,))
        other.start()
        return other

    others: list[threading.Thread] = []
    try:
        for stretch in stretches(steps):
            others.append(begin([s for s in stretch if s.through]))
            here = [begin([s]) for s in stretch if s.waits]
            busy = [s for s in stretch if not s.waits and not s.through]
            here.append(begin([s for s in busy if s.beside]))
            others += here
            lane([s for s in busy if not s.beside])
            for other in here:
                other.join()
        for other in others:
            other.join()
    finally:
        # An exception, so a signal too, ends the other lanes with what they have started.
        if any(other.is_alive() for other in others):
            stop.set()
            for other in others:
                other.join()
    # A lane that ended before its time has said why; its steps are missing, and count as failed.
    found = [results.get(s.name) or
             Result(s.name, failed=1, exit=1, note="it was not run", group=s.group)
             for s in steps]
    return conclude(found, results_dir, out, whole)
