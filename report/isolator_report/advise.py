# SPDX-License-Identifier: GPL-2.0-or-later
"""How long to run, and whether what was measured allows to conclude anything."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from . import ranks, tail
from .document import Result, Series
from .duration import time
from .histogram import needs, rank_above

STRETCHES = 16  # that a timeline is cut into for the test of a trend
FEWEST = 32  # intervals of a timeline
TREND = 2.576  # 1 % two-sided
CLUSTERS = 0.7  # extremal index: below, the largest values come in groups


@dataclass
class Advice:
    """About one series."""

    title: str
    samples: int
    rate: float | None  # triggers a second
    stationary: bool | None  # None: it cannot be said
    independent: bool | None
    effective: float  # samples that count as independent, of one measured
    bound_ns: int | None  # of the percentile, from these samples
    needs: int
    more_seconds: float | None  # None: unknown, or nothing can be said
    fit: dict[str, Any] | None
    words: list[str] = field(default_factory=list)


def long(seconds: float) -> str:
    """A duration for people."""
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{math.ceil(seconds)} seconds"


def steady(maxima: Sequence[int]) -> tuple[bool | None, str]:
    """Do the maxima stay as they are?  A trend, and the first half beside the second.

    The unit is a stretch of intervals: single ones may depend on their neighbours.
    """
    if len(maxima) < FEWEST:
        return None, f"the timeline has {len(maxima)} intervals, {FEWEST} are needed: " \
            "whether the run was steady cannot be said"
    cuts = [round(len(maxima) * place / STRETCHES) for place in range(STRETCHES + 1)]
    usual = [sorted(maxima[a:b])[(b - a) // 2] for a, b in zip(cuts, cuts[1:], strict=False)]
    deviate = ranks.trend(usual)
    if abs(deviate) > TREND:
        grows = "grow" if deviate > 0 else "fall"
        return False, f"the maxima {grows} during the run (Kendall's tau, {deviate:+.1f} sigma)"
    half = STRETCHES // 2
    apart = ranks.unpaired([float(x) for x in usual[:half]], [float(x) for x in usual[half:]],
                           0.005)
    if apart.low > 0 or apart.high < 0:
        return False, "the second half of the run is another one than the first (rank sum)"
    return True, "the maxima neither grow nor fall during the run"


def clusters(triggers: Sequence[int], total: int) -> float:
    """The extremal index, 0 to 1, of Ferro and Segers: 1, large values come one at a time.

    From the distances between the triggers of the largest values.
    """
    ordered = sorted(triggers)
    # Of several sessions the same number may be there twice: that is not closer than the next.
    gaps = [max(b - a, 1) for a, b in zip(ordered, ordered[1:], strict=False)]
    if len(gaps) < 10 or total <= 0:
        return 1.0
    if max(gaps) <= 2:
        above, below = sum(gaps) ** 2, len(gaps) * sum(gap * gap for gap in gaps)
    else:
        above = sum(gap - 1 for gap in gaps) ** 2
        below = len(gaps) * sum((gap - 1) * (gap - 2) for gap in gaps)
    return min(1.0, 2 * above / below) if below else 1.0


def _follows(maxima: Sequence[int]) -> float:
    """Correlation of each interval's maximum with the next one, beyond chance; 0: none."""
    if len(maxima) < FEWEST:
        return 0.0
    found = ranks.follow([float(value) for value in maxima])
    return found if found > 2.326 / math.sqrt(len(maxima)) else 0.0


def _depend(one: Series, maxima: Sequence[int]) -> tuple[bool | None, float, str]:
    """Are samples independent?  Else how many of one count."""
    top = one.data["top"]
    index = clusters([row["trigger"] for row in top], one.data["triggers"])
    follows = _follows(maxima)
    if len(top) < 11 and len(maxima) < FEWEST:
        return None, 1.0, ("neither a timeline nor enough largest values: whether samples depend "
                           "on each other cannot be said, and they are taken as independent")
    share = min(index, (1 - follows) / (1 + follows))
    if index < CLUSTERS or follows:
        return False, share, (
            f"large values come in groups (extremal index {index:.2f}, maxima of neighbouring "
            f"intervals correlate by {follows:.2f}): {1 / share:.1f} samples count as one")
    return True, 1.0, "large values come one at a time, and not in step with their neighbours"


def _fit(one: Series, percent: float, steady_: bool | None, alone: bool | None
         ) -> tuple[dict[str, Any] | None, str]:
    """What the tail says beyond what was measured, or why nothing."""
    data = one.data
    total = data["samples"] + data["overflow"]
    if data["missing"] or data["overflow"]:
        return None, "no valid fit: values are missing or above the histogram"
    if steady_ is not True or alone is not True:
        return None, "no valid fit: it takes a steady run of independent values"
    found = tail.tail(one.top, total)
    if found is None:
        return None, f"no valid fit: more than {tail.LEAST} exact largest values are needed"
    if found.refused:
        return None, f"no valid fit: {found.refused}"
    if total * (1 - percent / 100) >= found.count:
        return None, f"no valid fit: p{percent:g} lies below the largest values, which it is of"
    said, upper = found.at(percent), tail.bound(found, percent)
    if not math.isfinite(upper) or not math.isfinite(said):
        return None, "no valid fit: it bounds nothing"
    return ({**asdict(found), "percent": percent, "value_ns": round(said),
             "upper_ns": round(upper)},
            f"a Pareto tail fits the {found.count} largest values (shape {found.shape:+.2f}, "
            f"p = {found.p:.2f}): p{percent:g} about {time(said)}, at most {time(upper)} (95 %), "
            "if nothing happens that has not happened yet")


def _from_top(one: Series, place: int) -> int | None:
    """No less than the value at this place from the largest, 0; None: nothing is known of it."""
    if place < len(one.top):
        return one.top[place]
    most: int | None = one.data["max"]
    rank = one.histogram.total + one.data["overflow"] - place
    if most is None or rank > one.histogram.total:
        return most  # it is in no bucket
    return min(one.histogram.at(max(rank, 1)), most)


def series(one: Series, seconds: float, percent: float) -> Advice:
    """Advice about one series of a part that took so long."""
    data = one.data
    samples = data["samples"] + data["overflow"] + data["missing"]
    rate = data["triggers"] / seconds if seconds > 0 and data["triggers"] else None
    if rate is not None and not math.isfinite(rate):
        rate = None
    maxima = [value for value in data["timeline"]["maxima"] if value is not None]
    stationary, first = steady(maxima)
    independent, share, second = _depend(one, maxima)
    wanted = math.ceil(needs(percent) / share)
    spare = rank_above(math.floor(samples * share), percent)
    bound = None
    if spare is not None and stationary is not False and not data["missing"]:
        # So many effective ones may be above: as many times the size of a group.
        bound = _from_top(one, math.floor(spare / share))
    fitted, third = _fit(one, percent, stationary, independent)
    more = None if rate is None or stationary is False else max(0.0, wanted - samples) / rate
    words = [f"{samples} samples" + (f", {rate:.0f} a second" if rate else
                                     "; how many a second is not known")]
    if bound is not None:
        words.append(f"p{percent:g} is at most {time(bound)} (95 % one-sided)")
    elif more:
        words.append(f"a bound of p{percent:g} takes {wanted} samples: run it for "
                     f"{long(wanted / (rate or 1))}, that is {long(more)} more")
    elif stationary is False:
        words.append(f"no run of any length bounds p{percent:g} while the machine changes: find "
                     "out what changed (its timeline shows when), then measure again")
    else:
        words.append(f"a bound of p{percent:g} takes {wanted} samples without one missing")
    return Advice(one.title, samples, rate, stationary, independent, share, bound, wanted, more,
                  fitted, [*words, first, second, third])


def advise(result: Result, percent: float) -> list[Advice]:
    """About each series."""
    return [series(one, one.part["seconds"], percent) for one in result.series]
