# SPDX-License-Identifier: GPL-2.0-or-later
"""An axis of a drawing: which pixel a value has, and which values it names."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

STEPS = 40  # places of a logarithmic axis for each factor of 10


def place(ns: float) -> float:
    """Where a time lies on a logarithmic axis."""
    return math.log10(max(ns, 1)) * STEPS


@dataclass(frozen=True)
class Axis:
    """Places from `low` to `high` lie at pixels from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, where: float) -> float:
        """The pixel of a place."""
        return self.begin + (where - self.low) / (self.high - self.low) * (self.end - self.begin)

    def times(self, digits: tuple[int, ...] = (1, 2, 5)) -> Iterator[tuple[float, int, float]]:
        """Of each factor of 10 that is in it: pixel, first digit, time in ns."""
        for power in range(math.floor(self.low / STEPS), math.floor(self.high / STEPS) + 1):
            for digit in digits:
                pixel = self.at(place(digit * 10.0**power))
                if self.begin <= pixel <= self.end:
                    yield pixel, digit, digit * 10.0**power

    def outline(self, tops: Mapping[int, float], base: float) -> str:
        """The path of a histogram's steps: the pixel of each place's top, above or below a base."""
        path, before = [], None
        for where in sorted(tops):
            if where - 1 != before:
                path.append(f"M{self.at(where):.1f} {base:.1f}")
            path.append(f"V{tops[where]:.1f}H{self.at(where + 1):.1f}")
            if where + 1 not in tops:
                path.append(f"V{base:.1f}")
            before = where
        return "".join(path)
