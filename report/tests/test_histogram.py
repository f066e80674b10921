# SPDX-License-Identifier: GPL-2.0-or-later
"""The histogram against hdrhistogram and against sorted values."""

import random

import pytest
from hdrh.histogram import HdrHistogram
from isolator_report.errors import InvalidResult
from isolator_report.histogram import (
    PERCENTS,
    Histogram,
    needs,
    percentiles,
    rank_above,
)


def values(count: int = 5000) -> list[int]:
    """From 1 ns to 100 s, with a few of each size."""
    dice = random.Random(4)
    return [int(10 ** dice.uniform(0, 11)) for _ in range(count)]


@pytest.mark.parametrize("digits", [2, 3])
def test_coding_is_hdrhistograms(digits: int) -> None:
    """Its library reads what is written, and the other way round; counts stay the same."""
    have = Histogram.of(values(), digits)
    read = HdrHistogram.decode(have.encode()["data"])
    assert read.get_total_count() == have.total == 5000
    assert Histogram.decode(have.encode()).counts == have.counts
    other = HdrHistogram(1, 100_000_000_000, digits)
    for value in values():
        other.record_value(value)
    assert [row.value_iterated_to for row in other.get_recorded_iterator()] == \
        [have.end(low) for low in have.counts]


@pytest.mark.parametrize(("lowest", "digits"), [(1, 1), (1, 3), (2, 2), (1000, 3), (5000, 5)])
def test_buckets_are_hdrhistograms(lowest: int, digits: int) -> None:
    """Computed here, by its library there; also where a bucket may not be narrower than 1 us."""
    frame = HdrHistogram(lowest, 100_000_000_000, digits)
    for value in [*values(), 0, 1, 2047, 2048]:
        have = Histogram({value: 1}, lowest, digits=digits)
        low = frame.get_lowest_equivalent_value(value)
        assert have.counts == {low: 1}
        assert have.end(low) == frame.get_highest_equivalent_value(value)


def test_error_is_at_most_one_percent() -> None:
    """Of each bucket's width, over the whole range, with the fewest digits in use."""
    have = Histogram.of(values(), 2)
    assert all(have.end(low) - low <= 0.01 * low for low in have.counts)


def test_values_by_rank() -> None:
    """The value of each rank is the sorted one, at most its bucket too high."""
    have, ordered = Histogram.of(values()), sorted(values())
    for rank in (1, 2, 100, 2500, 4999, 5000):
        assert ordered[rank - 1] <= have.at(rank) <= 1.001 * ordered[rank - 1] + 1


def test_smooth_sees_a_shift_within_a_bucket() -> None:
    """A part of the values moves from one bucket to the next: so does the percentile."""
    before = Histogram({5000: 500, 5004: 500}).smooth(0.5)
    after = Histogram({5000: 400, 5004: 600}).smooth(0.5)
    assert before < after < 5008


def test_sum() -> None:
    """Of two, and only of two alike."""
    one, two = Histogram.of([1, 5, 5]), Histogram.of([5, 10**9])
    assert (one + two).counts == Histogram.of([1, 5, 5, 5, 10**9]).counts
    with pytest.raises(InvalidResult, match="different ranges or digits"):
        one + Histogram.of([1], 2)


@pytest.mark.parametrize(("change", "said"), [
    ({"data": "HISTFAAA"}, "cannot be decoded"),
    ({"data": "not base64!"}, "cannot be decoded"),
    ({"digits": 2}, "must be the same"),
    ({"highest_ns": 3_600_000_000_000}, "must be the same"),
])
def test_what_is_no_histogram(change: dict[str, object], said: str) -> None:
    """Damaged data, or another frame than the document says."""
    with pytest.raises(InvalidResult, match=said):
        Histogram.decode({**Histogram.of([7]).encode(), **change})


def test_needs() -> None:
    """ln 0.05 / ln 0.999999: three million samples; one less is not enough."""
    assert needs(99.9999) == 2_995_731
    assert needs(99.0) == 299
    assert rank_above(299, 99.0) == 0
    assert rank_above(298, 99.0) is None


def test_bounds_hold_as_often_as_they_say() -> None:
    """95 % of the upper bounds of p90 and p99 lie above the true one; not nearly all of them."""
    dice = random.Random(11)
    for percent in (90.0, 99.0):
        held = 0
        for _ in range(600):
            drawn = sorted((dice.random() for _ in range(700)), reverse=True)
            place = rank_above(700, percent)
            assert place is not None
            held += drawn[place] >= percent / 100
        assert 0.93 <= held / 600 <= 0.985


def test_large_counts_take_the_normal_distribution() -> None:
    """Where it takes over, both agree."""
    exact, normal = rank_above(1_999_999, 99.0), rank_above(2_000_010, 99.0)
    assert exact is not None and normal is not None
    assert abs(exact - normal) <= 3


def test_missing_counts_as_largest() -> None:
    """99 values and one that is missing: it may be the p99.9, so that there is none."""
    have = Histogram.of(range(1000, 1999))
    rows = {row["percent"]: row for row in percentiles(have, 0, 1, [], 1998)}
    assert rows[99.0]["value_ns"] == 1989
    assert rows[99.9]["value_ns"] == 1998
    rows = {row["percent"]: row for row in percentiles(have, 0, 3, [], 1998)}
    assert rows[99.9]["value_ns"] is None


def test_above_the_histogram() -> None:
    """Values that were kept are exact; else the largest is a bound, and no value."""
    have = Histogram.of([1000] * 997)
    kept = {row["percent"]: row for row in percentiles(have, 3, 0, [9000, 8000, 7000], 9000)}
    assert (kept[99.9]["value_ns"], kept[99.0]["value_ns"]) == (8000, 1000)
    lost = {row["percent"]: row for row in percentiles(have, 3, 0, [], 9000)}
    assert lost[99.9]["value_ns"] is None
    assert lost[99.0]["upper_ns"] == 1000
    assert [row["percent"] for row in percentiles(have, 3, 0, [], 9000)] == list(PERCENTS)
    few = {row["percent"]: row for row in percentiles(Histogram.of([1000] * 298), 1, 0, [], 5000)}
    assert few[99.0]["upper_ns"] == 5000
