# SPDX-License-Identifier: GPL-2.0-or-later
"""Percentiles by rank: the least of the values that at least this share does not exceed.

Such a percentile is one of the values.  report, scope, lab and bench take it from here;
cli/statistics/rank.h is the same in C, and cli/tests/percentiles.txt tests both.
"""

from collections.abc import Sequence
from typing import TypeVar

WHOLE = 1_000_000  # a percentage has four decimals
Value = TypeVar("Value", int, float)


def above(percent: float) -> int:
    """How many of a million values lie above it."""
    return WHOLE - round(percent * WHOLE / 100)


def rank(total: int, percent: float) -> int:
    """The place of the percentile among `total` sorted values: from 1, the least."""
    return max(total - total * above(percent) // WHOLE, 1)


def known(total: int, percent: float) -> bool:
    """Enough values for it: at least one of them lies above."""
    return total * above(percent) >= WHOLE


def by_rank(values: Sequence[Value], percent: float, missing: int = 0) -> Value | None:
    """Of sorted values; a missing one is larger than all.  None: it is missing, or none is there.

    With few values the largest one is each high percentile: ask `known`.
    """
    place = rank(len(values) + missing, percent)
    return values[place - 1] if place <= len(values) else None
