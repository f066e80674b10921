# SPDX-License-Identifier: GPL-2.0-or-later
"""The values of one line: buckets as HdrHistogram's, extremes, largest values, a timeline.

Everything has its final size from the beginning: a long run takes no more memory than a
short one.
"""

import heapq
from array import array
from collections.abc import Sequence
from itertools import accumulate

from isolator_report.buckets import bits_of, bucket, lowest
from isolator_report.histogram import DIGITS, HIGHEST, Histogram
from isolator_report.percentile import known, rank

SUB_BITS = bits_of(DIGITS)
COARSE_BITS = 6  # of the persistence view: 2^6 for each factor of 2, 1.6 % wide
TOP = 128  # largest values that are kept exactly
ROOM = 256  # intervals of a timeline, before they double
BEYOND = -1  # it is missing
FIRST_INTERVAL = 10_000_000  # ns


BUCKETS = bucket(HIGHEST, SUB_BITS) + 1
COARSE = bucket(HIGHEST, COARSE_BITS) + 1


class Timeline:
    """The maximum and the count of each interval; intervals double until all fit."""

    def __init__(self) -> None:
        self.interval = FIRST_INTERVAL
        self.maxima = array("q", [-1]) * ROOM
        self.counts = array("Q", [0]) * ROOM
        self.used = 0

    def add(self, since: int, ns: int) -> None:
        """A value `since` ns after the beginning."""
        place = since // self.interval
        while place >= ROOM:
            self._double()
            place = since // self.interval
        if place >= self.used:
            self.used = place + 1
        self.counts[place] += 1
        if ns > self.maxima[place]:
            self.maxima[place] = ns

    def _double(self) -> None:
        self.interval *= 2
        for to in range(ROOM):
            pair = (2 * to, 2 * to + 1)
            inside = pair[1] < ROOM
            self.maxima[to] = max(self.maxima[one] for one in pair) if inside else -1
            self.counts[to] = sum(self.counts[one] for one in pair) if inside else 0
        self.used = (self.used + 1) // 2

    def rows(self) -> tuple[int, list[int | None], list[int]]:
        """The interval in ns, the maxima (None: no value), the counts."""
        return (self.interval, [None if one < 0 else one for one in self.maxima[:self.used]],
                list(self.counts[:self.used]))


class Statistics:
    """Values in ns; those above 100 s are in no bucket, but in all else."""

    def __init__(self) -> None:
        self.counts = array("Q", [0]) * BUCKETS
        self.coarse = array("Q", [0]) * COARSE
        self.count = 0
        self.overflow = 0
        self.sum = 0
        self.least = -1
        self.most = -1
        self.timeline = Timeline()
        self.top: list[tuple[int, int, int, int]] = []

    def add(self, ns: int, trigger: int, at: int, since: int) -> None:
        """A value; `at` is the generator's time of its trigger, `since` the run's."""
        self.count += 1
        self.sum += ns
        if ns > self.most:
            self.most = ns
        if ns < self.least or self.least < 0:
            self.least = ns
        if ns <= HIGHEST:
            # bucket(), twice, without its calls: each answer of each line comes by here.
            bits = ns.bit_length()
            shift = bits - SUB_BITS - 1 if bits > SUB_BITS + 1 else 0
            self.counts[(shift << SUB_BITS) + (ns >> shift)] += 1
            shift = bits - COARSE_BITS - 1 if bits > COARSE_BITS + 1 else 0
            self.coarse[(shift << COARSE_BITS) + (ns >> shift)] += 1
        else:
            self.overflow += 1
        self.timeline.add(since, ns)
        if len(self.top) < TOP:
            heapq.heappush(self.top, (ns, trigger, at, since))
        elif ns > self.top[0][0]:
            heapq.heapreplace(self.top, (ns, trigger, at, since))

    @property
    def mean(self) -> float | None:
        """None: no value."""
        return self.sum / self.count if self.count else None

    def largest(self) -> list[tuple[int, int, int, int]]:
        """Value, trigger, generator's time, run's time; the largest first."""
        return sorted(self.top, key=lambda row: (-row[0], row[1]))

    def percentiles(self, percents: Sequence[float], missing: int = 0) -> list[int | None]:
        """The highest value that each may be.

        A missing one counts as larger than all.  None: too few values, or it is missing.
        """
        total = self.count + missing
        found: list[int | None] = [None] * len(percents)
        inside = self.count - self.overflow
        if not inside:
            return found
        first = bucket(self.least, SUB_BITS)
        upto = accumulate(self.counts[first:bucket(min(self.most, HIGHEST), SUB_BITS) + 1])
        wanted = [(rank(total, percent), place) for place, percent in enumerate(percents)
                  if known(total, percent)]
        wanted.sort(reverse=True)
        for index, summed in enumerate(upto, first):
            while wanted and summed >= wanted[-1][0]:
                found[wanted.pop()[1]] = min(lowest(index + 1, SUB_BITS) - 1, self.most)
            if not wanted:
                break
        return found

    def said(self, percents: Sequence[float], missing: int) -> list[int | None]:
        """For people: percentiles, BEYOND for one that lies among the missing."""
        total = self.count + missing
        return [BEYOND if ns is None and missing and known(total, percent) else ns
                for percent, ns in zip(percents, self.percentiles(percents, missing), strict=True)]

    def histogram(self) -> Histogram:
        """As isolator-report's."""
        return Histogram({lowest(index, SUB_BITS): count
                          for index, count in enumerate(self.counts) if count})
