# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that follow a plan, until all of it has been tried or the host spoils too much."""

import itertools
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .. import term
from ..guests import observer, selftests
from ..guests.guest import Guest, Outcome, boot, how
from ..guests.kernel import Kernel
from ..judge import attempt, jobs
from ..paths import BUILD, OUT
from . import image, module
from .plan import (
    AVOID,
    NOTHING,
    QUEUE,
    STOP,
    TIMER,
    WAKE,
    WAY_OUT,
    Holds,
    Layout,
    Ranges,
    Trial,
    lines,
)

Seen = dict[str, Any]
T = TypeVar("T")
MAX_ROUNDS = 6
# What a kernel says of a planted fault, with its stack.
EXPECTED = re.compile(r"^.*(WARNING: .* __isolator_user_exit\+|Call Trace:).*$", re.MULTILINE)
# Trials of one guest: an end of it costs no more.
MOST = 12000
# What a guest begins with is made again: in its first trials threads of the boot wake up.
WARM_UP = 20
# Of what follows the entry, Isolator's own part, where requests are taken.
TAKES = ("__isolator_user_exit", "isolator_note_taken", "isolator_unmute", "isolator_prepare_user")
QUIET = (("__entry_text_start", "__entry_text_end"), ("__noinstr_text_start", "__noinstr_text_end"))
DEFERRED = "__isolator_run_deferred"
# Called in each round of a wait for an isolated CPU: by a sender; by a CPU amid a stop.
WAITS = ("isolator_check_deadline", "stop_machine_yield")


def holds_of(of: image.Image) -> Holds:
    """Where senders are held: see kernel/isolator/ipi.c."""
    queued, avoided = of.symbols["isolator_note_queued"], of.symbols["isolator_count_avoided"]
    return Holds(
        looks={
            QUEUE: image.behind_barrier(of, "isolator_decide"),
            AVOID: image.behind_barrier(of, "isolator_avoid"),
            WAKE: image.behind_barrier(of, "__isolator_thread_waits"),
            TIMER: of.symbols["add_timer_on"],
            STOP: image.behind_barrier(of, "isolator_gate_close"),
        },
        # The function of a stop has run, with the gate closed.
        queues={QUEUE: queued, AVOID: avoided, WAKE: queued,
                STOP: of.symbols["isolator_gate_open"]},
        sends={
            QUEUE: image.at_send(of, "isolator_decide"),
            AVOID: image.at_send(of, "__isolator_queue_call"),
            WAKE: queued,  # nothing is sent: the CPU finds the thread on its way out
        },
    )


def layout(of: image.Image) -> Layout:
    def ranges(*names: str) -> Ranges:
        return Ranges(tuple(of.function(name) for name in names))

    return Layout(
        ranges(*TAKES), of.symbols[WAY_OUT], ranges("ct_kernel_enter_state", DEFERRED),
        ranges("ct_kernel_exit_state"),
    )


def options(of: image.Image, holds: Holds) -> str:
    """For the plugin park."""
    quiet = [(of.symbols[a], of.symbols[b]) for a, b in QUIET]
    code = [*quiet, *(of.function(name) for name in TAKES)]
    ranges = {
        "code": code, "quiet": quiet, "deferred": [of.function(DEFERRED)],
        "wait": [(of.symbols[name], of.symbols[name] + 1) for name in WAITS],
        "hold": [(a, a + 1) for a in sorted(holds.all())],
    }
    return ",".join(
        f"{name}={':'.join(f'{begin:x}-{end:x}' for begin, end in each)}"
        for name, each in ranges.items()
    )


def _extra(built: Path, plan: str) -> Path:
    """What the guest has besides: the module and the plan."""
    into = BUILD / "instants"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    shutil.copy(built, into / module.NAME)
    (into / "plan").write_text(plan)
    return into


def _job(of: image.Image, limit_s: float) -> str:
    at = f"/{selftests.GUEST}"
    where = " ".join(f"{name}={of.symbols[name]:#x}" for name in module.SYMBOLS)
    steps = [
        jobs.FACTS,
        f"run module 10000 insmod {at}/{module.NAME} {where}",
    ]
    steps.append(f"run instants {int(limit_s * 1000)} exec /lab/bin/instants {at}/plan")
    return "\n".join(steps) + "\n"


def failed(outcome: Outcome) -> str | None:
    """Why the guest's program did not do its part, if so."""
    for name in ("module", "instants"):
        event = outcome.event("run", name)
        if event and not event["returned"]:
            return f"{name}: not done within its time; it hangs in: {event.get('hang')}"
        if event and event["exit"] != 0:
            return f"{name}: {how(event)}: {(event.get('out') or '')[-500:]}"
    return None


def warmed_up(wanted: Sequence[Trial]) -> list[Trial]:
    """@wanted, with some of it ahead: the last of a number is what counts.

    A guest that makes one trial again makes it under the same conditions each time.
    """
    sound = [t for t in wanted if t.fault == NOTHING]
    return [*itertools.islice(itertools.cycle(sound), WARM_UP), *wanted]


class Lab:
    """One kernel, and what was seen in its guests."""

    def __init__(self, kernel: Kernel, flavour: str) -> None:
        self.kernel = kernel
        self.image = image.read(kernel)
        self.holds = holds_of(self.image)
        self.layout = layout(self.image)
        self.module = module.build(kernel, flavour)
        self.attempts: list[attempt.Record] = []
        self.problems: list[str] = []

    def boot(self, wanted: Sequence[Trial]) -> dict[int, Seen]:
        """What one guest showed of @wanted."""
        limit = 60 + 0.3 * len(wanted)
        plan = lines(warmed_up(wanted), self.holds, self.layout.way_out)
        where = OUT / "instants" / f"boot-{len(self.attempts) + 1}"
        guest = Guest(
            self.kernel,
            _job(self.image, limit),
            observe=False,
            park=options(self.image, self.holds),
            extra=_extra(self.module, "".join(f"{line}\n" for line in plan)),
            silence_s=limit + 30,
            total_s=limit + 120,
        )
        outcome = boot(guest, where, lambda e: attempt.no_clocks(Outcome(events=[e])))
        found = attempt.judge(outcome)
        faults = any(t.fault != NOTHING for t in wanted)
        log = EXPECTED.sub("", found.log) if faults else found.log
        self.attempts.append({"trials": len(wanted), **attempt.record(found, log=log)})
        # Where the host or the emulator ended the guest, its program could not.
        if (why := failed(outcome)) and not found.void:
            term.say(why)
            self.problems.append(why)
        seen = observer.parked(where / "park.json")
        numbers = {t.number for t in wanted}
        return {number: one for number, one in seen.items() if number in numbers}

    def until_tried(
        self, wanted: Sequence[Trial], void: Callable[[Trial, Seen], str | None],
        read: Callable[[Trial, Seen], T],
        enough: Callable[[dict[int, T]], bool] = lambda shown: False,
    ) -> tuple[dict[int, T], dict[int, str]]:
        """What @read says of each trial that shows something, and why the others do not.

        Those are made again in further guests, unless what there is is @enough.
        """
        shown: dict[int, T] = {}
        voids: dict[int, str] = {}
        left = list(wanted)
        for _ in range(MAX_ROUNDS):
            again = []
            for begin in range(0, len(left), MOST):
                share = left[begin : begin + MOST]
                term.say(f"{self.kernel.name}: {len(share)} of {len(left)} trials")
                got = self.boot(share)
                for trial in share:
                    one = got.get(trial.number)
                    why = void(trial, one) if one else "the guest ended ahead of it"
                    if why or not one:
                        voids[trial.number] = why or ""
                        again.append(trial)
                    else:
                        voids.pop(trial.number, None)
                        shown[trial.number] = read(trial, one)
            left = again
            if not left or enough(shown):
                break
        return shown, voids
