# SPDX-License-Identifier: GPL-2.0-or-later
"""Percentiles by rank: as C has them, and as sorting and counting has them."""

import random
from pathlib import Path

import pytest
from isolator_report.percentile import by_rank, known, rank

VECTORS = [line.split() for line in (
    Path(__file__).resolve().parents[2] / "cli/tests/percentiles.txt").read_text().splitlines()
    if not line.startswith("#")]


@pytest.mark.parametrize(("total", "percent", "place", "above"), VECTORS)
def test_ranks_are_those_of_c(total: str, percent: str, place: str, above: str) -> None:
    """cli/tests/sampling/outcome.c reads the same file."""
    assert rank(int(total), float(percent)) == int(place)
    assert known(int(total), float(percent)) is (above == "1")


def test_it_is_the_least_value_that_its_share_does_not_exceed() -> None:
    """Counted, without any rank."""
    dice = random.Random(5)
    for _ in range(300):
        values = sorted(dice.randrange(1000) for _ in range(dice.randrange(1, 300)))
        percent = dice.choice((0.1, 25, 50, 75, 90, 99, 99.9, 100))
        found = by_rank(values, percent)
        assert found == next(one for one in values if
                             sum(other <= one for other in values) >= len(values) * percent / 100)


def test_a_missing_value_lies_above_all() -> None:
    """Among the missing there is no number, and without any value there is none at all."""
    assert by_rank([1, 2, 3, 4], 50) == 2
    assert by_rank([1, 2], 50, missing=2) == 2
    assert by_rank([1, 2], 75, missing=2) is None
    assert by_rank([], 50) is None
