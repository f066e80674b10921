# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab live: cyclictest and isolator measure in turn, in a guest whose time no host disturbs."""

from dataclasses import dataclass
from typing import Any

from .. import record, term
from ..guests import kernel, packed, qemu
from ..guests.guest import Event, Guest, Outcome
from ..judge import attempt, jobs
from ..judge.sound import boot_sound
from ..paths import OUT
from . import cost

ROUNDS, SAMPLES = 20, 5000
ORDER = ("cyclictest", "isolator", "isolator", "cyclictest")
RUN_MS = 120000
SAID = "/run/said"
# Both count from 1 ns to 1 ms; what is beyond, they count as that.
COMMANDS = {
    "cyclictest": f"{cost.CYCLICTEST} -N -h 1000000 --histfile=/dev/null --json={SAID}",
    "isolator": f"{cost.ISOLATOR} --phase fixed --late missing --digits 3 --json >{SAID}",
}


@dataclass(frozen=True)
class Run:
    """One program's place in a round."""

    round: int
    place: int

    @property
    def program(self) -> str:
        return ORDER[self.place]

    @property
    def name(self) -> str:
        return f"{self.round}.{self.place}"


def plan(rounds: int = ROUNDS) -> list[Run]:
    return [Run(number, place) for number in range(rounds) for place in range(len(ORDER))]


def job(runs: list[Run]) -> str:
    lines = [jobs.FACTS]
    for run in runs:
        command = COMMANDS[run.program].format(samples=SAMPLES)
        lines += [f"run {run.name} {RUN_MS} {command}", *packed.lines(run.name, SAID)]
    return "\n".join(lines) + "\n"


def document(run: Run, outcome: Outcome) -> dict[str, Any]:
    """What the program wrote; a program that failed is an error."""
    event = outcome.event("run", run.name)
    if not event or event["exit"] != 0:
        said = event["out"] if event else outcome.died
        raise term.LabError(f"live: {run.program} in round {run.round + 1} failed: {said}")
    try:
        found = packed.unpack(outcome, run.name)
    except packed.ERRORS as e:
        raise term.LabError(f"live: {run.program} in round {run.round + 1}: {e}") from e
    if not isinstance(found, dict):
        raise term.LabError(f"live: {run.program} in round {run.round + 1} wrote no object")
    return found


def rounds_of(runs: list[Run], outcome: Outcome) -> list[list[dict[str, Any]]]:
    found: list[list[dict[str, Any]]] = [[] for _ in range(runs[-1].round + 1)]
    for run in runs:
        found[run.round].append({"program": run.program, "document": document(run, outcome)})
    return found


def _progress(event: Event) -> str | None:
    number, _, place = event.get("name", "").partition(".")
    if event["event"] == "run" and place == f"{len(ORDER) - 1}":
        term.say(f"round {int(number) + 1} of {ROUNDS}")
    return None


def main() -> int:
    built = kernel.build("rt", stock=True)
    runs = plan()
    attempts: list[attempt.Record] = []
    guest = Guest(built, job(runs), append=cost.APPEND, observe=False, icount=True, silence_s=120,
                  total_s=1200)
    outcome = boot_sound("live", guest, OUT / "live" / "boot", attempts, cost.MAX_BOOTS, _progress)
    found = rounds_of(runs, outcome)
    findings = [finding.text for finding in outcome.findings]
    record.write(
        {
            **record.head("measure-live"),
            "emulator": f"QEMU {qemu.pick().version}, time follows instructions",
            "kernel": {"name": built.name, "release": built.version},
            "attempts": [a["void"] for a in attempts], "kernel_log": findings, "samples": SAMPLES,
            "rounds": found,
        }
    )
    print(f"out/measure-live.json: {len(found)} rounds of {' '.join(ORDER)}")
    for text in findings:
        print(term.colour(f"kernel log: {text}", "31"))
    return term.ERROR if findings else term.PASS
