# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact distributions against counting all cases, bounds against what they promise."""

import itertools
import math
import random

import pytest
from isolator_report import ranks


def test_signed_ranks_by_counting() -> None:
    """All 2^6 signs."""
    sums = [sum(rank for rank, up in enumerate(signs, 1) if up)
            for signs in itertools.product((0, 1), repeat=6)]
    for value, upto in enumerate(ranks._signed(6)):
        assert upto == pytest.approx(sum(one <= value for one in sums) / 64)


def test_rank_sums_by_counting() -> None:
    """All ways to choose 3 of 7."""
    sums = [sum(chosen) - 6 for chosen in itertools.combinations(range(1, 8), 3)]
    for value, upto in enumerate(ranks._sum(3, 4)):
        assert upto == pytest.approx(sum(one <= value for one in sums) / 35)


def test_too_few_have_no_bounds() -> None:
    """Six differences cannot be surer than 1 in 64; seven can."""
    assert ranks.least_paired(0.01) == 7
    assert ranks.paired([1.0] * 6, 0.01).low == -math.inf
    assert ranks.paired([1.0] * 7, 0.01).low == 1.0


@pytest.mark.parametrize("count", [12, 70])
def test_bounds_hold(count: int) -> None:
    """Both one-sided bounds at 5 %, exact and normal, with a heavy tail in the data."""
    dice = random.Random(count)
    missed = [0, 0, 0, 0]
    trials = 400
    for _ in range(trials):
        def draw() -> float:
            return dice.gauss(0, 1) * (10 if dice.random() < 0.1 else 1)

        found = ranks.paired([0.5 + draw() for _ in range(count)], 0.05)
        missed[0] += found.low > 0.5
        missed[1] += found.high < 0.5
        found = ranks.unpaired([draw() for _ in range(count)],
                               [0.5 + draw() for _ in range(count)], 0.05)
        missed[2] += found.low > 0.5
        missed[3] += found.high < 0.5
    assert all(number <= 32 for number in missed)  # 20 expected, sigma 4.4
    assert sum(missed) >= 30  # bounds that always hold say nothing


def test_one_bad_round_moves_little() -> None:
    """A single difference a thousand times as large leaves the estimate where it was."""
    assert ranks.paired([0.1] * 11 + [100.0], 0.02).estimate == pytest.approx(0.1)


def test_trend_and_correlation() -> None:
    """Known extremes."""
    assert ranks.trend(list(range(16))) > 4
    assert ranks.trend([1.0] * 16) == 0
    assert ranks.midranks([3.0, 1.0, 3.0]) == [2.5, 1.0, 2.5]
    assert ranks.follow([float(i // 10) for i in range(100)]) > 0.9
    assert ranks.follow([1.0] * 5) == 0
