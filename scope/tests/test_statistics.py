# SPDX-License-Identifier: GPL-2.0-or-later
"""Buckets, percentiles, timeline, trail, chain: against the plain way to compute them."""

import math
import random
import re

import pytest
from isolator_report.buckets import bucket, lowest
from isolator_report.histogram import HIGHEST, PERCENTS, Histogram
from isolator_scope.chain import (
    FEW,
    PLAIN,
    RT,
    TRIGGER,
    Place,
    Usual,
    aside,
    chain,
    culprit,
    downstream,
    usual,
)
from isolator_scope.statistics import BEYOND, COARSE_BITS, SUB_BITS, Statistics
from isolator_scope.trail import BASE, COUNT, LATE, LEVELS, MISSING, MOST, RING, Cursor, Trail
from steps import ROOT


@pytest.mark.parametrize("bits", [SUB_BITS, COARSE_BITS])
def test_buckets(bits: int) -> None:
    """Each value lies in its bucket, buckets follow each other, none is wider than it may be."""
    dice = random.Random(1)
    for _ in range(3000):
        value = int(10 ** dice.uniform(0, 11))
        index = bucket(value, bits)
        assert lowest(index, bits) <= value < lowest(index + 1, bits)
        assert lowest(index + 1, bits) - lowest(index, bits) <= max(1, value / (1 << bits))


def test_histogram_is_the_reports() -> None:
    """The same buckets as HdrHistogram has, so that nothing is rounded twice."""
    dice = random.Random(2)
    values = [int(10 ** dice.uniform(0, 11)) for _ in range(4000)] + [0, 1, HIGHEST]
    statistics = Statistics()
    for value in values:
        statistics.add(value, 0, 0, 0)
    expected = Histogram.of(values)
    assert statistics.histogram().counts == expected.counts
    # By itself, not by the report's rank(): what the scope says is right, not only the same.
    assert statistics.percentiles(PERCENTS)[:3] == [
        expected.at(math.ceil(len(values) * p / 100)) for p in PERCENTS[:3]]
    assert statistics.percentiles((99.9999,)) == [None]
    assert sum(statistics.coarse) == len(values)


def test_missing_is_beyond_all() -> None:
    """A percentile among the missing is said to be, and is no number; without any it is unknown."""
    statistics = Statistics()
    for value in range(1, 99):
        statistics.add(value, 0, 0, 0)
    assert statistics.percentiles((50, 98, 99, 99.9), 2) == [50, 98, None, None]
    assert statistics.said((50, 98, 99, 99.9), 2) == [50, 98, BEYOND, None]
    assert statistics.said((99.9,), 0) == [None]


def test_overflow() -> None:
    """Above 100 s: exact in max and top, counted."""
    statistics = Statistics()
    statistics.add(5, 1, 0, 0)
    statistics.add(HIGHEST + 1, 2, 0, 0)
    assert (statistics.overflow, statistics.most, statistics.largest()[0][1]) == (1, HIGHEST + 1, 2)
    assert statistics.percentiles((50,)) == [5]


def test_timeline_holds_all() -> None:
    """However long; the maximum stays where it was."""
    statistics = Statistics()
    for second in range(5000):
        statistics.add(900 if second == 1234 else 100, 0, 0, second * 1_000_000_000)
    interval, maxima, counts = statistics.timeline.rows()
    assert sum(counts) == 5000 and len(counts) <= 256
    assert maxima.index(900) == 1234_000_000_000 // interval


def test_trail_keeps_each_maximum_at_each_level() -> None:
    """A single one is there zoomed in and zoomed out; sums are the same everywhere."""
    dice = random.Random(3)
    trail, at = Trail(2), 50 * 3600 * 1_000_000_000
    values: list[tuple[int, int]] = []
    for number in range(4000):
        at += dice.randrange(1, 2 * BASE)
        trail.advance(at)
        ns = 7_000_000 if number == 3900 else dice.randrange(1000, 9000)
        trail.value(0, ns, number % 7 == 0)
        values.append((at, ns))
        if number % 5 == 0:
            trail.missing(1)
    for level in range(LEVELS):
        width = BASE << 2 * level
        for index in trail.span(level):
            inside = [ns for when, ns in values if when // width == index]
            column = trail.read(level, index, 0)
            assert (column[MOST] if column and column[COUNT] else None) == max(inside, default=None)
            assert (column[COUNT] if column else 0) == len(inside)
        cursor = Cursor(level)
        seen = dict(trail.since(cursor))
        assert any(row[0] is not None and row[0][MOST] == 7_000_000 for row in seen.values())
        assert list(trail.since(cursor))[-1][0] == trail.span(level)[-1]


def test_trail_late_after_all() -> None:
    """What was missing and came late changes its own column at every level, and readers see it."""
    trail = Trail(1)
    start = 10_000 * BASE
    cursors = [Cursor(level) for level in range(LEVELS)]
    trail.cursors = cursors
    for step in range(100):
        trail.advance(start + step * BASE)
        trail.missing(0)
        if step == 50:
            for cursor in cursors:
                list(trail.since(cursor))
    for cursor in cursors:
        list(trail.since(cursor))
    trail.found(0, start + 3 * BASE, 444)
    for level, cursor in enumerate(cursors):
        changed = dict(trail.since(cursor))
        index = (start // BASE + 3) >> 2 * level
        column = changed[index][0]
        assert column is not None and (column[MOST], column[COUNT], column[LATE]) == (444, 1, 1)
        total = [trail.read(level, one, 0) for one in trail.span(level)]
        assert sum(one[MISSING] for one in total if one) == 99, level


def test_trail_forgets_and_jumps() -> None:
    """A pause longer than a ring leaves no old column in it."""
    trail = Trail(1)
    trail.advance(BASE)
    trail.value(0, 5, False)
    trail.advance(BASE * (RING * 3 + 1))
    trail.value(0, 6, False)
    columns = [trail.read(0, index, 0) for index in trail.span(0)]
    assert [one[MOST] for one in columns if one and one[COUNT]] == [6]
    coarse = trail.read(LEVELS - 1, 0, 0)
    assert coarse is not None and (coarse[MOST], coarse[COUNT]) == (6, 2)


@pytest.mark.parametrize("table", [PLAIN, RT])
def test_published_chain(table: dict[str, Place]) -> None:
    """It leads to the trigger from everywhere; what is upstream is not downstream."""
    for name in table:
        seen, at = {name}, table[name].after
        while at != TRIGGER:
            assert at not in seen
            seen.add(at)
            at = table[at].after
        assert name not in downstream(name, table)
        assert not aside(name, table) & downstream(name, table)
        assert {one for one in table if name in table[one].beside} <= \
            aside(name, table) | downstream(name, table)
    assert downstream("irq", table) == set(table) - {"irq", "poll", "kernel-poll"}
    assert "poll" not in downstream("softirq", table) | aside("softirq", table)


def test_what_a_delay_need_not_delay() -> None:
    """A worker and ksoftirqd are ordinary threads; softirqs without PREEMPT_RT are none."""
    assert aside("work-high", PLAIN) == {"work", "work-unbound"}
    assert aside("work-high", RT) == {"softirq", "bh-work", "tasklet", "work", "work-unbound"}
    assert aside("tasklet", PLAIN) == {"work-unbound"}
    assert aside("user", RT) == {"work-unbound"}
    assert aside("irq", RT) == set()


def test_docs_have_the_published_chain() -> None:
    """docs/scope.md shows the table as it is."""
    text = (ROOT / "docs/scope.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \| (.*?) \|$", text, re.MULTILINE)
    shown = {name: (plain, rt) for name, plain, rt in rows}
    for name in PLAIN:
        assert shown[name] == tuple(
            f"`{place.after}`: {place.why}" if place.after != TRIGGER else place.why
            for place in (PLAIN[name], RT[name])), name


def test_chain_names_the_hop() -> None:
    """A delay of 5 ms in softirq is its step, and nobody else's."""
    names = ("irq", "softirq", "tasklet", "user")
    hops = chain([(0, 3000, False), (2, 5_006_000, True), (1, 5_004_000, True),
                  (3, 5_020_000, True)], names, PLAIN)
    assert [hop.name for hop in hops] == ["irq", "softirq", "tasklet", "user"]
    worst = culprit(hops, PLAIN)
    assert worst is not None and worst.name == "softirq" and worst.step_ns == 5_001_000
    assert [hop.after for hop in hops] == ["trigger", "irq", "softirq", "tasklet"]
    assert not any(hop.against for hop in hops)


def test_chain_against_order() -> None:
    """An answer before what it should come after is said to be against the table."""
    hops = chain([(0, 9000, False), (1, 5000, False)], ("irq", "softirq"), PLAIN)
    assert [(hop.name, hop.against) for hop in hops] == [("softirq", True), ("irq", False)]
    assert chain([], (), PLAIN) == [] and culprit([], PLAIN) is None


def test_chain_in_the_tables_other_order() -> None:
    """Softirqs that were left to ksoftirqd come after the user's task, all of them."""
    names = ("softirq", "tasklet", "user")
    left = chain([(0, 7000, False), (1, 9000, False), (2, 5000, False)], names, PLAIN)
    assert [hop.name for hop in left] == ["user", "softirq", "tasklet"]
    assert not any(hop.against for hop in left)
    amid = chain([(0, 3000, False), (1, 9000, False), (2, 5000, False)], names, PLAIN)
    assert [(hop.name, hop.against) for hop in amid] == [
        ("softirq", False), ("user", True), ("tasklet", False)]


def late(**micros: int) -> list[tuple[int, int, bool]]:
    """A trigger on PREEMPT_RT as it usually is, except for these, us after the trigger."""
    found = {"irq": 20, "user": 40, "kthread": 60, "irq-thread": 80, "work-high": 100,
             "softirq": 120, "bh-work": 130, "tasklet": 140, "work": 150, "work-unbound": 35}
    found |= {name.replace("_", "-"): us for name, us in micros.items()}
    return [(place, found[name] * 1000, False) for place, name in enumerate(found)]


NAMES = ("irq", "user", "kthread", "irq-thread", "work-high", "softirq", "bh-work", "tasklet",
         "work", "work-unbound")


USUAL = {hop.name: Usual(hop.after_ns, 3 * hop.after_ns)
         for hop in chain(late(), NAMES, RT) if hop.after_ns is not None}


@pytest.mark.parametrize(("name", "found"), [
    (None, late()),
    ("irq", late(irq=5020, user=5040, kthread=5060, irq_thread=5080, work_high=5100,
                 softirq=5120, bh_work=5130, tasklet=5140, work=5150, work_unbound=5035)),
    ("tasklet", late(tasklet=5140, work=5160)),
    # The scheduler let a worker answer in the middle of the tasklet's 5 ms.
    ("tasklet", late(work_high=3000, tasklet=5140, work=5160)),
    ("tasklet", late(work_high=4500, tasklet=5140, work=4700)),
    ("work-high", late(work_high=5100, softirq=5120, bh_work=5130, tasklet=5140, work=5150)),
    ("work-high", late(work_high=5100, softirq=2500, bh_work=2510, tasklet=2520, work=5150)),
    ("work", late(work=5150)),
    ("work-unbound", late(work_unbound=5035, softirq=5120, bh_work=5130, tasklet=5140, work=5150)),
])
def test_a_delay_is_the_threads_own(name: str | None, found: list[tuple[int, int, bool]]) -> None:
    """Measured from what it comes after, and without the time of threads that it waited for."""
    worst = culprit(chain(found, NAMES, RT), RT, USUAL)
    assert (None if worst is None else worst.name) == name


def test_nothing_is_unusual_where_nothing_is_known() -> None:
    """Of a few triggers nobody can tell what is usual."""
    hops = chain(late(tasklet=5140), NAMES, RT)
    assert usual([hops] * (FEW - 1)) == {} and culprit(hops, RT, {}) is None
    assert usual([hops] * FEW)["tasklet"].median == 5_010_000
