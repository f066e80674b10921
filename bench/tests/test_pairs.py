# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts on two programs in alternating rounds, with rounds that are made up."""

import random

import pairs
import pytest
from pairs import Bar, Round
from rounds import EXCEEDED, INCONCLUSIVE, PASS

P50, P99 = Bar("p50_ns", "ns", 1000.0), Bar("p99_ns", "ns")


def drawn(seed: int, more: float = 0.0, noise: float = 500.0, drift: float = 0.0,
          count: int = 20) -> list[Round]:
    """Rounds of 20 000 ns, ours @more than theirs; each is @drift later than the one before."""
    dice = random.Random(seed)
    found: list[Round] = []
    for number in range(count):
        a, b, c, d = (20_000 + dice.gauss(0, noise) + drift * (4 * number + i) for i in range(4))
        found.append((a, b + more, c + more, d))
    return found


def test_neighbours_are_compared() -> None:
    rounds: list[Round] = [(10, 12, 15, 11), (20, 21, 22, 20)]
    assert pairs.across(rounds) == [2, 4, 1, 2]
    assert pairs.itself(rounds) == [9]


@pytest.mark.parametrize(("more", "code"), [(0, PASS), (900, PASS), (-900, PASS),
                                            (1500, EXCEEDED), (-1500, EXCEEDED)])
def test_p50_is_allowed_a_microsecond(more: float, code: int) -> None:
    result = pairs.judge(P50, drawn(1, more, noise=50), "cyclictest")
    assert result["code"] == code
    assert result["text"].startswith(pairs.WORDS[code])
    assert result["difference"] == pytest.approx(more, abs=50)


@pytest.mark.parametrize(("more", "code"), [(0, PASS), (2000, EXCEEDED), (-2000, EXCEEDED)])
def test_p99_is_allowed_what_theirs_is_from_itself(more: float, code: int) -> None:
    """Being earlier is wrong as well: it is to be the same."""
    assert pairs.judge(P99, drawn(2, more), "cyclictest")["code"] == code


def test_the_same_program_mostly_passes() -> None:
    """The interval is of 99 %, from 19 differences: few of the same are called others."""
    codes = [pairs.judge(P99, drawn(seed), "cyclictest")["code"] for seed in range(100, 120)]
    assert codes.count(EXCEEDED) <= 2


def test_a_slow_drift_is_no_difference() -> None:
    result = pairs.judge(P50, drawn(3, drift=30.0, noise=50), "cyclictest")
    assert result["code"] == PASS and abs(result["difference"]) < 100


def test_what_could_not_be_seen_is_inconclusive() -> None:
    """Theirs is further from itself than the bar, or than its own figure."""
    result = pairs.judge(P50, drawn(4, noise=20_000), "cyclictest")
    assert result["code"] == INCONCLUSIVE and result["text"].endswith("quieter")
    assert pairs.judge(P99, drawn(4, noise=200_000), "cyclictest")["code"] == INCONCLUSIVE


def test_more_rounds_see_more() -> None:
    assert pairs.spread([-3.0, 1.0, 2.0], 400) < pairs.spread([-3.0, 1.0, 2.0], 4)
    assert pairs.spread([0.0], 10) == 0


def test_which_of_two_neighbours_is_first_is_a_toss() -> None:
    """Differences that are all of one sign, as in a drift, are centred on 0 all the same."""
    assert pairs.spread([float(d) for d in range(10, 30)], 40) < 19
