# SPDX-License-Identifier: GPL-2.0-or-later
"""How the largest values go on: a generalised Pareto tail, and whether it fits."""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .percentile import rank

LEAST = 50  # values above the threshold
MOST = 1000  # of the largest values: each trial draws as many
TRIALS = 300  # of the bootstrap
REFUSE = 0.1  # p value of the goodness of fit
STEEPEST = 0.5  # shape: beyond, the estimate has no finite variance


@dataclass(frozen=True)
class Tail:
    """Of `count` values above `threshold`, out of `total`; sizes in ns.

    `p` is that of the goodness of fit: how often a true tail of this shape fits worse.
    """

    threshold: float
    shape: float
    scale: float
    count: int
    total: int
    p: float

    @property
    def refused(self) -> str | None:
        """Why nothing may be concluded from it."""
        if self.shape >= STEEPEST:
            return f"its tail is too heavy (shape {self.shape:.2f}) for an extrapolation"
        if self.p < REFUSE:
            return ("its largest values do not follow one tail (Anderson-Darling, "
                    f"p = {self.p:.3f}): more than one thing causes them")
        return None

    def at(self, percent: float) -> float:
        """The percentile that the fit says, in ns; precondition: above the threshold."""
        share = (1 - percent / 100) * self.total / self.count
        return self.threshold + _quantile(1 - share, self.shape, self.scale)


def _quantile(u: float, shape: float, scale: float) -> float:
    if abs(shape) < 1e-9:
        return -scale * math.log1p(-u)
    return scale / shape * ((1 - u) ** -shape - 1)


def fit(outliers: Sequence[float]) -> tuple[float, float]:
    """Shape and scale by probability-weighted moments of values above 0, in any order."""
    ordered = sorted(outliers)
    count = len(ordered)
    mean = statistics.fmean(ordered)
    weighted = sum(x * (count - 1 - i) / (count - 1) for i, x in enumerate(ordered)) / count
    if mean <= 2 * weighted:
        return math.inf, mean
    shape = 2 - mean / (mean - 2 * weighted)
    scale = 2 * mean * weighted / (mean - 2 * weighted)
    # A negative shape has an end: the largest value has to lie below it.
    if shape < 0 and -scale / shape <= ordered[-1]:
        scale = -shape * ordered[-1] * (1 + 1 / count)
    return shape, scale


def distance(outliers: Sequence[float], shape: float, scale: float) -> float:
    """Anderson and Darling's statistic with all its weight on the upper end."""
    ordered = sorted(outliers)
    count = len(ordered)

    def left(x: float) -> float:
        """The logarithm of the share above x."""
        if abs(shape) < 1e-9:
            return -x / scale
        return -math.log(max(1 + shape * x / scale, 1e-12)) / shape

    logs = [left(x) for x in ordered]
    below = sum(-math.expm1(log) for log in logs)
    return count / 2 - 2 * below - sum(
        (2 - (2 * i + 1) / count) * log for i, log in enumerate(logs))


def tail(top: Sequence[int], total: int, seed: int = 1) -> Tail | None:
    """Of the largest values, the largest first, out of `total`; None: too few.

    The least of them is the threshold.
    """
    top = top[:MOST]
    if len(top) <= LEAST or total <= len(top):
        return None
    threshold = float(top[-1])
    # Values of whole ns may be equal: a little of each is drawn within its ns.
    dice = random.Random(seed)
    outliers = [value - threshold + dice.random() for value in top[:-1]]
    shape, scale = fit(outliers)
    if not math.isfinite(shape) or shape >= STEEPEST:
        return Tail(threshold, shape, scale, len(outliers), total, 1.0)
    seen = distance(outliers, shape, scale)
    worse = 0
    for _ in range(TRIALS):
        drawn = [_quantile(dice.random(), shape, scale) for _ in outliers]
        worse += distance(drawn, *fit(drawn)) >= seen
    return Tail(threshold, shape, scale, len(outliers), total, (worse + 1) / (TRIALS + 1))


def bound(found: Tail, percent: float, seed: int = 2) -> float:
    """An upper bound, 95 % one-sided, of what the fit says: by drawing and fitting again."""
    dice = random.Random(seed)
    said = []
    for _ in range(TRIALS):
        drawn = [_quantile(dice.random(), found.shape, found.scale) for _ in range(found.count)]
        shape, scale = fit(drawn)
        if not math.isfinite(shape):
            return math.inf
        share = (1 - percent / 100) * found.total / found.count
        # The number of values above the threshold is drawn too.
        share *= found.count / max(dice.gauss(found.count, math.sqrt(found.count)), 1.0)
        said.append(found.threshold + _quantile(max(1 - share, 0.0), shape, scale))
    return sorted(said)[rank(TRIALS, 95) - 1]
