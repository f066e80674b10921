# SPDX-License-Identifier: GPL-2.0-or-later
"""A log-linear histogram: HdrHistogram's coding, sums, percentiles and their bounds."""

import base64
import math
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import accumulate

from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

from .buckets import bits_of, shift
from .errors import InvalidResult
from .percentile import known, rank

LOWEST, HIGHEST, DIGITS = 1, 100_000_000_000, 3  # ns: 1 ns to 100 s
PERCENTS = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)
RISK = 0.05  # of a one-sided bound
FINEST = 5  # digits
OUTER, HEAD, COUNT = 8, 40, 9  # bytes of the coding: around all, of its head, of a count at most
LARGE = 20_000.0  # from here on the binomial distribution is taken for a normal one


def _bounded(data: str, highest: int, digits: int) -> str:
    """ValueError: unpacked it is larger than a histogram of that range and digits.

    A thousandth of what it unpacks to is enough to say so, and each series has one.
    """
    if not 1 <= digits <= FINEST:
        raise ValueError(f"it has {digits} digits, 1 to {FINEST} can be")
    bits = bits_of(digits)
    most = HEAD + COUNT * (max(highest.bit_length() - bits, 0) + 3 << bits)
    if len(zlib.decompressobj().decompress(base64.b64decode(data)[OUTER:], most + 1)) > most:
        raise ValueError(f"it unpacks to more than {most} bytes")
    return data


class Histogram:
    """Counts by bucket, never changed once made.

    `counts` maps the lowest value of a bucket, in ns, to how many were in it.
    """

    def __init__(self, counts: Mapping[int, int] | None = None, lowest: int = LOWEST,
                 highest: int = HIGHEST, digits: int = DIGITS) -> None:
        self.lowest, self.highest, self.digits = lowest, highest, digits
        self._bits = bits_of(digits)
        self._unit = max(lowest.bit_length() - 1, 0)
        summed: dict[int, int] = {}
        for value, count in (counts or {}).items():
            if value < 0 or value > highest or count < 0:
                raise ValueError(f"{count} times {value} ns is out of range")
            wide = self._shift(value)
            low = value >> wide << wide
            summed[low] = summed.get(low, 0) + count
        self.counts = {low: summed[low] for low in sorted(summed) if summed[low]}
        self.total = sum(self.counts.values())

    @classmethod
    def of(cls, values: Iterable[int], digits: int = DIGITS) -> "Histogram":
        """Of single values, in ns."""
        counted: dict[int, int] = {}
        for value in values:
            counted[value] = counted.get(value, 0) + 1
        return cls(counted, digits=digits)

    @classmethod
    def decode(cls, coded: Mapping[str, object]) -> "Histogram":
        """Out of a document's `histogram`; the frame that it names must be the coded one."""
        frame = (coded["lowest_ns"], coded["highest_ns"], coded["digits"])
        try:
            read = HdrHistogram.decode(_bounded(
                str(coded["data"]), int(str(frame[1])), int(str(frame[2]))))
        except (HdrCookieException, HdrLengthException, zlib.error, TypeError, ValueError,
                IndexError, RuntimeError) as problem:
            words = str(problem) or "bad data"
            raise InvalidResult(f"its histogram cannot be decoded: {words[:100]}") from problem
        inside: tuple[int, int, int] = (read.lowest_trackable_value,
                                        read.highest_trackable_value, read.significant_figures)
        if frame != inside:
            raise InvalidResult(f"its histogram says {frame}, the coded one {inside}: lowest, "
                                "highest value and digits must be the same")
        counts = {read.get_value_from_index(index): int(count)
                  for index, count in enumerate(read.counts) if count}
        if any(count < 0 for count in counts.values()):
            raise InvalidResult("its histogram has a count below 0")
        try:
            return cls(counts, inside[0], inside[1], inside[2])
        except ValueError as problem:
            raise InvalidResult(f"its histogram has a value that it cannot hold: {problem}") \
                from problem

    def encode(self) -> dict[str, object]:
        """As a document's `histogram`."""
        coded = HdrHistogram(self.lowest, self.highest, self.digits)
        for value, count in self.counts.items():
            coded.record_value(value, count)
        return {"encoding": "hdrhistogram-v2", "lowest_ns": self.lowest,
                "highest_ns": self.highest, "digits": self.digits,
                "data": coded.encode().decode("ascii")}

    def _shift(self, value: int) -> int:
        """Where `lowest` is above 1, no bucket is narrower than its power of 2."""
        return max(shift(value, self._bits), self._unit)

    def end(self, low: int) -> int:
        """The highest value of the bucket that begins at `low`."""
        return low + (1 << self._shift(low)) - 1

    def __add__(self, other: "Histogram") -> "Histogram":
        if (self.lowest, self.highest, self.digits) != (other.lowest, other.highest, other.digits):
            raise InvalidResult("histograms of different ranges or digits cannot be added")
        summed = dict(self.counts)
        for low, count in other.counts.items():
            summed[low] = summed.get(low, 0) + count
        return Histogram(summed, self.lowest, self.highest, self.digits)

    @cached_property
    def _ranks(self) -> tuple[list[int], list[int]]:
        """The buckets, and how many values lie in them and below."""
        return list(self.counts), list(accumulate(self.counts.values()))

    def at(self, rank: int) -> int:
        """The highest value that the value of this rank, from 1, may have had."""
        lows, upto = self._ranks
        return self.end(lows[bisect_left(upto, rank)])

    def smooth(self, share: float) -> float:
        """The value below which this share lies, even within its bucket.

        Not by rank, as `percentiles` are: a comparison must see a shift that is smaller than
        a bucket, and a percentile by rank moves by whole buckets.  0 without values.
        """
        if not self.total:
            return 0.0
        lows, upto = self._ranks
        target = share * self.total
        place = min(bisect_left(upto, target), len(lows) - 1)
        count = self.counts[lows[place]]
        inside = (target - (upto[place] - count)) / count
        return lows[place] + inside * (self.end(lows[place]) + 1 - lows[place])

    def above(self, value: int) -> int:
        """How many lie in buckets that begin above `value`."""
        return sum(count for low, count in self.counts.items() if low > value)


def needs(percent: float) -> int:
    """How many independent samples an upper bound of this percentile takes."""
    return math.ceil(math.log(RISK) / math.log(percent / 100))


def rank_above(total: int, percent: float) -> int | None:
    """Counted from the largest, 0: which of `total` values bounds the percentile from above.

    The largest k with P(at most k of them lie above the true percentile) <= 5 %: how many
    do is binomial.  None: too few samples.
    """
    share = 1 - percent / 100
    if total < needs(percent):
        return None
    mean = total * share
    if mean > LARGE:
        return max(0, math.floor(mean - 1.6449 * math.sqrt(mean * (1 - share)) - 1))
    chance = total * math.log1p(-share)
    step = math.log(share) - math.log1p(-share)
    upto, k = math.exp(chance), 0
    while True:
        chance += math.log((total - k) / (k + 1)) + step
        upto += math.exp(chance)
        if upto > RISK:
            return k
        k += 1


def percentiles(histogram: Histogram, overflow: int, missing: int, top: list[int],
                most: int | None) -> list[dict[str, object]]:
    """The rows of a document's `percentiles`.

    A missing value may have been any: it counts as larger than all others.  What lies
    above the histogram is looked up in `top`, the largest values, as far as it goes;
    beyond, `most`, the largest of all, bounds it.
    """
    total = histogram.total + overflow + missing

    def exact(place: int) -> int | None:
        """The value at this place from the largest, 0; None: it is not known."""
        if missing <= place < missing + len(top):
            return top[place - missing]
        if place < missing + overflow:
            return None
        found = histogram.at(total - place)
        return found if most is None else min(found, most)

    rows: list[dict[str, object]] = []
    for percent in PERCENTS:
        place = total - rank(total, percent)
        spare = rank_above(total, percent)
        upper = None if spare is None else exact(spare)
        if upper is None and spare is not None and spare >= missing:
            upper = most
        value = exact(place) if known(total, percent) else None
        rows.append({"percent": percent, "value_ns": value, "upper_ns": upper,
                     "needs": needs(percent)})
    return rows
