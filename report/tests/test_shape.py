# SPDX-License-Identifier: GPL-2.0-or-later
"""Shapes are told from synthetic distributions, small and large."""

import random
from collections.abc import Callable

import pytest
from isolator_report import shape
from isolator_report.histogram import Histogram

Draw = Callable[[random.Random], float]


def two(dice: random.Random, share: float = 0.3, second: float = 12000) -> float:
    """Two peaks."""
    return dice.gauss(second, 400) if dice.random() < share else dice.gauss(5000, 300)


SHAPES: list[tuple[str, Draw, str, str]] = [
    ("normal", lambda dice: dice.gauss(5000, 300), "tight", "short"),
    ("narrow", lambda dice: dice.uniform(5000, 5100), "tight", "short"),
    ("uniform", lambda dice: dice.uniform(2000, 20000), "wide", "short"),
    ("exponential", lambda dice: 1000 + dice.expovariate(1 / 4000), "wide", "short"),
    ("Pareto", lambda dice: 3000 * dice.paretovariate(1.5), "wide", "long"),
    ("tight with a tail", lambda dice: dice.gauss(5000, 200) if dice.random() > 0.02
     else dice.uniform(20000, 90000), "tight", "long"),
    ("two peaks", two, "peaks", "short"),
    ("two near peaks", lambda dice: two(dice, 0.5, 7500), "peaks", "short"),
    ("one percent apart", lambda dice: two(dice, 0.01), "tight", "long"),
]


@pytest.mark.parametrize("count", [2000, 12_000])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("draw", "body", "tail"), [row[1:] for row in SHAPES],
                         ids=[row[0] for row in SHAPES])
def test_shapes(draw: Draw, body: str, tail: str, seed: int, count: int) -> None:
    """Whatever the seed and the number of values."""
    dice = random.Random(seed)
    found = shape.diagnose(Histogram.of(int(max(draw(dice), 1)) for _ in range(count)))
    if count < 10_000 and body == "tight" and tail == "long":
        tail = found.tail  # one in a hundred is at the p99 itself: it may be seen or not
    assert (found.body, found.tail) == (body, tail), found.words


def test_peaks_are_where_they_are() -> None:
    """Within a bucket of the drawing."""
    dice = random.Random(5)
    low, high = shape.diagnose(Histogram.of(int(two(dice)) for _ in range(20_000))).peaks
    assert low == pytest.approx(5000, rel=0.07) and high == pytest.approx(12000, rel=0.07)


def test_one_that_stands_alone() -> None:
    """A single event is told from a tail."""
    dice = random.Random(6)
    values = [int(dice.gauss(5000, 300)) for _ in range(20_000)]
    assert not shape.diagnose(Histogram.of(values), most=max(values)).alone
    found = shape.diagnose(Histogram.of([*values, 900_000]), most=900_000)
    assert found.alone and found.tail == "short" and "stands alone" in found.words


def test_coarse_values_are_not_peaks() -> None:
    """Whole microseconds, as other programs write them, are no comb of peaks."""
    dice = random.Random(7)
    values = [int(dice.gauss(60, 8)) * 1000 for _ in range(20_000)]
    assert shape.diagnose(Histogram.of(values)).body == "tight"
    coarse = [round(dice.gauss(6, 1)) * 1000 for _ in range(20_000)]
    assert shape.diagnose(Histogram.of(coarse), step=1000).body != "peaks"


@pytest.mark.parametrize(("values", "body", "count"), [
    ([10 ** k + 10 ** k * i // 9000 for k in (3, 4, 5, 6) for i in range(900)], "peaks", 4),
    ([0, 1, 2] * 300 + [100_000_000_000] * 300, "peaks", 2),
    ([int(10 ** (11 * i / 3000)) for i in range(3000)], "wide", 1)],
    ids=["four peaks", "both ends of the range", "from 1 ns to 100 s"])
def test_how_many_peaks(values: list[int], body: str, count: int) -> None:
    """The words say how many there are."""
    found = shape.diagnose(Histogram.of(values))
    assert (found.body, len(found.peaks)) == (body, count), found.words
    assert (f"{count} peaks, at " in found.words) == (count > 1)


def test_too_few() -> None:
    """Says so, and draws no conclusion."""
    assert shape.diagnose(Histogram.of([5000] * 499)).body == "unknown"
    assert shape.diagnose(Histogram.of([5000] * 500)).body == "tight"
    assert shape.diagnose(Histogram()).body == "unknown"
