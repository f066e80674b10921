# SPDX-License-Identifier: GPL-2.0-or-later
"""A target whose answers are drawn from a seed, and the records of them in virtual time."""

import heapq
import math
import random
from collections import deque
from dataclasses import dataclass, field

from isolator_scope.chain import PLAIN, TRIGGER
from isolator_scope.protocol import (
    ANSWER_LATE,
    Afterthought,
    Answer,
    Gap,
    Record,
    Stray,
    Trigger,
)

# Median of each step from what a mechanism comes after, ns.
STEPS = {"irq": 3_000, "softirq": 800, "bh-work": 700, "tasklet": 500, "irq-thread": 4_000,
         "kthread": 3_000, "work-high": 6_000, "work": 9_000, "work-unbound": 15_000,
         "user": 7_000, "poll": 400}
# Of a driver that has no CPU of its own.
OFFERED = tuple(name for name in PLAIN if name in STEPS)
SPREAD = 0.15  # of the logarithm


@dataclass
class Faults:
    """How often what goes wrong; rates are of answers, or of triggers."""

    missing: float = 0.0
    late: float = 0.0  # after the next trigger
    stray: float = 0.0
    spike: float = 0.0  # 5 to 50 times as long
    delay: dict[str, int] = field(default_factory=dict)  # ns more, always
    planted: dict[tuple[int, str], int] = field(default_factory=dict)  # one answer, ns
    gaps: list[tuple[int, int]] = field(default_factory=list)  # triggers without a record
    sustained: float = math.inf  # triggers/s; above, interrupts merge and answers are missing


@dataclass
class Settings:
    """As the protocol sets them."""

    millihertz: int = 200_000
    duty_ppm: int = 500_000
    packet: int = 100
    phase: int = 1
    seed: int = 1
    mask: int = 0
    burst: int = 1
    gap_ns: int = 0
    patience_ns: int = 50_000_000


@dataclass
class Truth:
    """What is so, of one line."""

    answered: int = 0
    late: int = 0
    missing: int = 0
    strays: int = 0
    most: int = 0
    sum: int = 0


class Target:
    """Triggers in virtual time; `run` gives the records that are closed by then."""

    def __init__(self, seed: int, names: tuple[str, ...] = OFFERED,
                 faults: Faults | None = None) -> None:
        self.names = names
        self.faults = faults or Faults()
        self.settings = Settings()
        self.truth = [Truth() for _ in names]
        self.running = False
        self.triggers = 0  # closed
        self.unsent = 0
        self._dice = random.Random(seed)
        self._phase = random.Random(1)
        self._number = 0
        self._left = 0  # triggers of this run; 0: no end
        self._due = 0
        self._open: deque[tuple[int, Trigger]] = deque()
        self._later: list[tuple[int, int, Afterthought | Stray]] = []
        self._ties = 0
        self._order = sorted(range(len(names)), key=lambda line: self._depth(names[line]))

    @staticmethod
    def _depth(name: str) -> int:
        depth = 0
        while (place := PLAIN.get(name)) is not None and place.after != TRIGGER:
            name, depth = place.after, depth + 1
        return depth

    @property
    def mask(self) -> int:
        """Lines that are to answer."""
        return self.settings.mask or (1 << len(self.names)) - 1

    def start(self, now: int, triggers: int) -> None:
        """Triggers are due from now on."""
        self.running, self._left, self._due = True, triggers, now
        self._phase.seed(self.settings.seed)

    def stop(self) -> None:
        """No further one."""
        self.running = False

    @property
    def idle(self) -> bool:
        """Nothing is due, and every record is closed."""
        return not (self.running or self._open or self._later)

    def _period(self) -> int:
        period = 10**12 / self.settings.millihertz
        return int(period * (self._phase.uniform(0.5, 1.5) if self.settings.phase else 1))

    def run(self, now: int) -> list[Record]:
        """All that happens until `now`."""
        found: list[Record] = []
        while self.running and self._due <= now:
            base = self._due
            self._due += self._period()
            for place in range(self.settings.burst):
                at = base + place * self.settings.gap_ns
                following = at + self.settings.gap_ns if place + 1 < self.settings.burst \
                    else self._due
                self._trigger(at, following)
                if self._left:
                    self._left -= 1
                    self.running = self._left > 0
                if not self.running:
                    break
            found += self._close(min(base, now))
        return found + self._close(now)

    def _step(self, name: str) -> int:
        step = STEPS.get(name, 5_000) * math.exp(self._dice.gauss(0, SPREAD))
        if self.faults.spike and self._dice.random() < self.faults.spike:
            step *= self._dice.uniform(5, 50)
        return int(step) + self.faults.delay.get(name, 0)

    def _trigger(self, at: int, following: int) -> None:
        self._number += 1
        number, faults, dice = self._number, self.faults, self._dice
        period = following - at
        merged = period < 1e9 / faults.sustained and dice.random() > period * faults.sustained / 1e9
        times: dict[str, int] = {}
        inside: list[Answer] = []
        late: list[tuple[int, Afterthought]] = []
        mask, patience = self.mask, self.settings.patience_ns
        longest = 0
        for line in self._order:
            name = self.names[line]
            place = PLAIN.get(name)
            ns = times.get(place.after, 0) if place is not None else 0
            ns += self._step(name)
            if faults.late and dice.random() < faults.late:
                ns += int(period * dice.uniform(1, 3))
            ns = faults.planted.get((number, name), ns)
            times[name] = ns
            if not mask >> line & 1 or merged:
                continue
            if faults.missing and dice.random() < faults.missing:
                longest = patience
                continue
            if faults.stray and dice.random() < faults.stray:
                self._after(at + ns, Stray(line, number & 0xFFFFFFFF, at + ns))
            if ns > patience:
                late.append((at + ns, Afterthought(number, line, ns)))
                longest = patience
            else:
                inside.append(Answer(line, ns, ANSWER_LATE if ns > period else 0))
                longest = max(longest, ns)
        if merged:
            longest = patience
        for when, record in late:
            self._after(when, record)
        jitter = int(abs(dice.gauss(0, 120)))
        self._open.append((at + longest, Trigger(number, at, jitter, mask, tuple(inside))))

    def _after(self, when: int, record: Afterthought | Stray) -> None:
        self._ties += 1
        heapq.heappush(self._later, (when, self._ties, record))

    def _close(self, now: int) -> list[Record]:
        found: list[Record] = []
        while self._open and self._open[0][0] <= now:
            _, record = self._open.popleft()
            self.triggers += 1
            left = record.mask
            for answer in record.answers:
                truth = self.truth[answer.line]
                left ^= 1 << answer.line
                if answer.late:
                    truth.late += 1
                else:
                    truth.answered += 1
                self._value(answer.line, answer.ns)
            for line in range(len(self.names)):
                self.truth[line].missing += left >> line & 1
            hidden = [gap for gap in self.faults.gaps if gap[0] <= record.trigger <= gap[1]]
            if not hidden:
                found.append(record)
            else:
                self.unsent += 1
                if record.trigger == hidden[0][1]:
                    found.append(Gap(*hidden[0]))
        # An afterthought follows its trigger's record.
        newest = self._open[0][1].trigger if self._open else self._number + 1
        held = []
        while self._later and self._later[0][0] <= now:
            when, tie, record_ = heapq.heappop(self._later)
            if isinstance(record_, Afterthought):
                if record_.trigger >= newest:
                    held.append((when, tie, record_))
                    continue
                truth = self.truth[record_.line]
                truth.missing -= 1
                truth.late += 1
                self._value(record_.line, record_.ns)
            else:
                self.truth[record_.line].strays += 1
            found.append(record_)
        for one in held:
            heapq.heappush(self._later, one)
        return found

    def _value(self, line: int, ns: int) -> None:
        truth = self.truth[line]
        truth.most = max(truth.most, ns)
        truth.sum += ns
