# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs: stretches with the same settings.

What is measured in one is never mixed with another's.
"""

from dataclasses import dataclass, field

from .protocol import (
    Message,
    SetBurst,
    SetDuty,
    SetFrequency,
    SetLines,
    SetPatience,
    SetPhase,
    State,
)
from .statistics import Statistics

RUNS = 16  # whose distributions are kept; of older ones the recording has all

# What a measurement depends on, of a State.
SETTINGS = ("millihertz", "duty_ppm", "phase_mode", "seed", "mask", "burst", "gap_ns",
            "patience_ns")


@dataclass
class Line:
    """The account of one line in one run."""

    name: str
    answered: int = 0
    late: int = 0
    missing: int = 0
    strays: int = 0
    unsure: int = 0  # of the answers: too large by up to a pause of the generator
    values: Statistics = field(default_factory=Statistics)

    @property
    def triggers(self) -> int:
        """That were to be answered."""
        return self.answered + self.late + self.missing

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Answered, late, missing, strays."""
        return self.answered, self.late, self.missing, self.strays


@dataclass(eq=False)
class Run:
    """One stretch; `at` is where it begins, host's time, and the triggers from then on are its."""

    number: int = 1
    name: str = ""
    why: str = ""  # it began: what was changed
    at: int = 0
    lines: list[Line] = field(default_factory=list)
    began: int | None = None  # the first trigger, host's time
    ended: int = 0  # the last one
    first: int = 0  # number of the first trigger
    triggers: int = 0
    lost: int = 0  # triggers without a record
    worst_jitter: int = 0
    state: State | None = None  # its settings, once the generator has reported them
    expected: dict[str, int] = field(default_factory=dict)  # of the settings, as they were set

    @property
    def title(self) -> str:
        """For people."""
        return self.name or f"run {self.number}"

    def widen(self, names: list[str]) -> None:
        """As many lines as there are names; none is taken away."""
        self.lines += [Line(name) for name in names[len(self.lines):]]


def settings(state: State) -> dict[str, int]:
    """What a measurement depends on."""
    return {name: getattr(state, name) for name in SETTINGS}


def changes(message: Message) -> dict[str, int]:
    """What a command sets, as a State reports it; empty: nothing that a measurement depends on."""
    match message:
        case SetFrequency(millihertz=value):
            return {"millihertz": value}
        case SetDuty(ppm=value):
            return {"duty_ppm": value}
        case SetPhase(mode=mode, seed=seed):
            return {"phase_mode": mode, "seed": seed}
        case SetBurst(triggers=count, gap_ns=gap):
            return {"burst": count, "gap_ns": gap}
        case SetPatience(ns=value):
            return {"patience_ns": value}
        case SetLines(mask=mask):
            return {"mask": mask}
        case _:
            return {}


def told(found: dict[str, int]) -> str:
    """What was changed, for people."""
    said = []
    for name, value in found.items():
        if name == "millihertz":
            said.append(f"frequency {value / 1000:g} Hz")
        elif name == "duty_ppm":
            said.append(f"duty {value / 1e4:g} %")
        elif name == "phase_mode":
            said.append("phase random" if value else "phase fixed")
        elif name == "seed":
            said.append(f"seed {value}")
        elif name == "burst":
            said.append(f"bursts of {value}")
        elif name == "gap_ns":
            said.append(f"{value / 1000:g} us apart")
        elif name == "patience_ns":
            said.append(f"patience {value / 1e6:g} ms")
        elif name == "mask":
            said.append("other mechanisms")
    return ", ".join(said)
