# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact tests by ranks: how far two configurations are apart, and between which bounds.

Both are permutation tests: they take for granted that rounds can be exchanged, not that
anything is normal, and one round that went wrong moves them by one rank.
"""

import math
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate

MOST = 1000  # rounds: all pairs of them are looked at
EXACT = 50  # rounds: beyond, the count is as good as normal


@dataclass(frozen=True)
class Interval:
    """An estimate between two bounds, each one-sided at the risk asked for."""

    estimate: float
    low: float
    high: float


@cache
def _signed(count: int) -> tuple[float, ...]:
    """P(T <= t) of the signed-rank statistic of `count` differences, by t."""
    ways = [1.0]
    for rank in range(1, count + 1):
        longer = ways + [0.0] * rank
        for place, number in enumerate(ways):
            longer[place + rank] += number
        ways = longer
    return tuple(upto / 2.0**count for upto in accumulate(ways))


@cache
def _sum(first: int, second: int) -> tuple[float, ...]:
    """P(U <= u) of the rank-sum statistic of two samples of these sizes, by u."""
    # Gaussian binomial coefficients: multiply by (1 - q^(second + i)), divide by (1 - q^i).
    size = first * second
    ways = [1.0] + [0.0] * size
    for i in range(1, first + 1):
        for place in range(size, second + i - 1, -1):
            ways[place] -= ways[place - second - i]
        for place in range(i, size + 1):
            ways[place] += ways[place - i]
    total = math.comb(first + second, first)
    return tuple(upto / total for upto in accumulate(ways))


def _below(mean: float, variance: float, risk: float) -> int:
    """How many u have P(U <= u) <= risk, where U is normal but for being whole."""
    deviate = statistics.NormalDist().inv_cdf(risk)
    return max(0, math.floor(mean + deviate * math.sqrt(variance) - 0.5) + 1)


def _between(ordered: list[float], rank: int) -> Interval:
    """Bounds out of the sorted differences: `rank` of them lie outside at each end."""
    low = ordered[rank - 1] if rank else -math.inf
    high = ordered[-rank] if rank else math.inf
    return Interval(statistics.median(ordered), low, high)


@lru_cache(maxsize=4)
def _means(values: tuple[float, ...]) -> list[float]:
    """Of all pairs, each value with itself too, sorted."""
    return sorted((one + other) / 2
                  for i, one in enumerate(values) for other in values[i:])


def paired(differences: Sequence[float], risk: float) -> Interval:
    """The shift that is in all differences (Wilcoxon's signed ranks, Hodges and Lehmann).

    `risk` is that of each bound.  Infinite bounds: there are too few differences for it.
    Precondition: 1 to MOST differences.
    """
    count = len(differences)
    walsh = _means(tuple(differences))
    if count <= EXACT:
        return _between(walsh, bisect_right(_signed(count), risk))
    mean = count * (count + 1) / 4
    return _between(walsh, _below(mean, mean * (2 * count + 1) / 6, risk))


def unpaired(first: Sequence[float], second: Sequence[float], risk: float) -> Interval:
    """By how much the second is above the first (rank sum, Hodges and Lehmann).

    Precondition: 1 to MOST values in each.
    """
    apart = sorted(b - a for a in first for b in second)
    small, large = sorted((len(first), len(second)))
    if large <= EXACT:
        return _between(apart, bisect_right(_sum(small, large), risk))
    return _between(apart, _below(small * large / 2, small * large * (small + large + 1) / 12,
                                  risk))


def least_paired(risk: float) -> int:
    """With how many differences a bound of this risk exists."""
    return math.ceil(-math.log2(risk))


def trend(values: Sequence[float]) -> float:
    """Kendall's tau against time, as a standard normal deviate; 0 for fewer than 4 values."""
    count = len(values)
    if count < 4:
        return 0.0
    score = sum((b > a) - (b < a) for i, a in enumerate(values) for b in values[i + 1:])
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return score / spread


def midranks(values: Sequence[float]) -> list[float]:
    """The rank of each value from 1 on; equal ones share theirs."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and values[order[stop]] == values[order[start]]:
            stop += 1
        for place in range(start, stop):
            found[order[place]] = (start + stop + 1) / 2
        start = stop
    return found


def follow(values: Sequence[float], lag: int = 1) -> float:
    """Correlation of the ranks with those `lag` later; 0 where nothing varies."""
    ranked = midranks(values)
    middle = statistics.fmean(ranked) if ranked else 0.0
    whole = sum((rank - middle) ** 2 for rank in ranked)
    if not whole or len(ranked) <= lag:
        return 0.0
    return sum((a - middle) * (b - middle)
               for a, b in zip(ranked, ranked[lag:], strict=False)) / whole
