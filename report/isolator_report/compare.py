# SPDX-License-Identifier: GPL-2.0-or-later
"""Is B worse than A?  Effect sizes, noise floor and verdict of rounds of both.

The unit is the run, not the sample: samples of one run depend on each other, so that
their number says nothing of how well a percentile is known.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import ranks
from .document import Result
from .errors import ERROR, EXCEEDED, INCONCLUSIVE, PASS, InvalidResult, ReportError
from .histogram import Histogram

METRICS = ("p50", "p99", "max")
SHARES = {"p50": 0.5, "p99": 0.99}
ABOVE = 10  # this many samples have to lie above a percentile for a run to know it
RISK = 0.05  # of a single bound
FALSE = 0.025  # of any false claim: half of what is promised, which 200 trials can show
EXIT = {"pass": PASS, "fail": EXCEEDED, "inconclusive": INCONCLUSIVE, "invalid": ERROR}


class Invalid(ReportError):
    """Nothing can be compared with it."""


@dataclass(frozen=True)
class Run:
    """What a comparison takes out of one document: a value for each quantity and metric."""

    source: str
    began: int
    values: dict[tuple[str, str], dict[str, float]]  # (part, series): metric: ns


@dataclass
class Effect:
    """One metric of one quantity, as ratios less 1: 0.1 is 10 % more in B."""

    part: str
    series: str
    metric: str
    a_ns: float
    b_ns: float
    estimate: float
    low: float
    high: float
    upper: float  # one-sided, this metric alone: for "no worse than"
    floor: tuple[float, float] | None  # A against A, the same test
    finding: str = "cannot say"  # worse, better, no worse, cannot say


@dataclass
class Comparison:
    """What it comes to."""

    verdict: str
    words: str
    design: str
    rounds: int
    margin: float
    effects: list[Effect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def exit(self) -> int:
        """The exit status that says the same."""
        return EXIT[self.verdict]


def quantile(histogram: Histogram, overflow: int, share: float) -> float | None:
    """Smooth, to see a shift that is smaller than a bucket.

    None: too few samples, or it lies above what the histogram holds.
    """
    total = histogram.total + overflow
    if total * (1 - share) < ABOVE or share * total > histogram.total:
        return None
    return histogram.smooth(share * total / histogram.total)


def run_of(result: Result) -> Run:
    """All CPUs of a series together.  Invalid, or still running: an exception says so."""
    reason = result.invalid
    if reason is None and result.data["verdict"] in ("running", "skipped"):
        reason = f"its verdict is {result.data['verdict']}: it has not ended"
    if reason is not None:
        raise Invalid(f"{result.source}: invalid: {reason}")
    together: dict[tuple[str, str], tuple[Histogram, int, int]] = {}
    for one in result.series:
        key = one.key[:2]
        histogram, most = one.histogram, one.data["max"] or 0
        # A value that is missing may have been any: it counts as larger than all others.
        overflow = one.data["overflow"] + one.data["missing"]
        if key in together:
            before = together[key]
            try:
                histogram = before[0] + histogram
            except InvalidResult as problem:
                raise Invalid(f"{result.source}: invalid: {one.title}: {problem}") from problem
            overflow, most = before[1] + overflow, max(before[2], most)
        together[key] = histogram, overflow, most
    values: dict[tuple[str, str], dict[str, float]] = {}
    for key, (histogram, overflow, most) in together.items():
        row = {name: quantile(histogram, overflow, share) for name, share in SHARES.items()}
        found = {name: value for name, value in row.items() if value is not None}
        if most:
            found["max"] = float(most)
        values[key] = found
    return Run(result.source, result.nanoseconds(result.data["began"]), values)


def blocks(a: Sequence[Run], b: Sequence[Run]) -> tuple[str, list[tuple[list[Run], list[Run]]]]:
    """How the runs lie in time: ABBA and BAAB fours, pairs, or one after the other."""
    order = sorted([(run.began, "A", run) for run in a] + [(run.began, "B", run) for run in b],
                   key=lambda row: row[0])
    for size, allowed, name in ((4, {"ABBA", "BAAB"}, "interleaved"), (2, {"AB", "BA"}, "pairs")):
        groups = [order[start:start + size] for start in range(0, len(order), size)]
        if all("".join(label for _, label, _ in group) in allowed for group in groups):
            return name, [([run for _, label, run in group if label == "A"],
                           [run for _, label, run in group if label == "B"]) for group in groups]
    return "separate", [(list(a), list(b))]


def _ratio(log: float) -> float:
    """Less 1; the bounds that are not there stay infinite."""
    if log == -math.inf:
        return log
    return math.expm1(log) if log < 700 else math.inf


class _Test:
    """One metric's values, in logarithms, in their design."""

    def __init__(self, design: str, groups: list[tuple[list[Run], list[Run]]],
                 key: tuple[str, str], metric: str) -> None:
        def logs(runs: list[Run]) -> list[float]:
            return [math.log(max(run.values[key][metric], 1.0)) for run in runs]

        self.design = design
        self.groups = [(logs(a), logs(b)) for a, b in groups]

    def apart(self, risk: float) -> ranks.Interval:
        """B above A."""
        if self.design == "separate":
            return ranks.unpaired(*self.groups[0], risk)
        return ranks.paired([sum(b) / len(b) - sum(a) / len(a) for a, b in self.groups], risk)

    def alone(self, risk: float) -> ranks.Interval | None:
        """A against A: in each four the second A above the first one."""
        if self.design == "interleaved":
            return ranks.paired([a[1] - a[0] for a, _ in self.groups], risk)
        values = [value for a, _ in self.groups for value in a]
        if len(values) < 4:
            return None
        return ranks.unpaired(values[::2], values[1::2], risk)

    def typical(self, side: int) -> float:
        """Geometric mean, in ns."""
        values = [value for group in self.groups for value in group[side]]
        return math.exp(sum(values) / len(values))


def _find(effect: Effect, margin: float) -> str:
    """What the bounds of one metric say."""
    if effect.low > 0:
        return "worse" if effect.estimate > margin else "worse within the margin"
    if effect.high < 0:
        return "better"
    return "no worse" if effect.upper <= margin else "cannot say"


def _moved(effect: Effect, test: _Test, margin: float) -> bool:
    """A differs from A: the machine moves by itself, the same way in each round."""
    alone = test.alone(0.005)
    return alone is not None and (alone.low > 0 or alone.high < 0) and \
        abs(_ratio(alone.estimate)) > margin and effect.metric != "max"


def _keys(runs: list[Run], part: str | None, series: str | None) -> list[tuple[str, str]]:
    """The quantities that all runs have."""
    common = [key for key in runs[0].values if all(key in run.values for run in runs)]
    chosen = [key for key in common if part in (None, key[0]) and series in (None, key[1])]
    if not chosen:
        have = sorted({f"{p}/{s}" for run in runs for p, s in run.values})
        raise Invalid("invalid: the results have no part and series in common that was asked for; "
                      f"there is: {', '.join(have) or 'none'}")
    return chosen


def compare(a: Sequence[Run], b: Sequence[Run], margin: float = 0.05,
            part: str | None = None, series: str | None = None) -> Comparison:
    """Precondition: at least one run of each."""
    if max(len(a), len(b)) > 2 * ranks.MOST:
        raise Invalid(f"invalid: more than {2 * ranks.MOST} runs of one side")
    runs = [*a, *b]
    keys = _keys(runs, part, series)
    design, groups = blocks(a, b)
    rounds = len(groups) if design != "separate" else min(len(a), len(b))
    found = Comparison("inconclusive", "", design, rounds, margin)
    # Both sides of each metric of each quantity: one false claim in 40 over all of them.
    risk = FALSE / (2 * len(keys) * len(METRICS))
    moved, absent = [], []
    for key in keys:
        for metric in METRICS:
            if not all(metric in run.values[key] for run in runs):
                absent.append(metric)
                continue
            test = _Test(design, groups, key, metric)
            apart, single, alone = test.apart(risk), test.apart(RISK), test.alone(RISK / 2)
            effect = Effect(*key, metric, test.typical(0), test.typical(1),
                            _ratio(apart.estimate), _ratio(apart.low), _ratio(apart.high),
                            _ratio(single.high),
                            None if alone is None else (_ratio(alone.low), _ratio(alone.high)))
            effect.finding = _find(effect, margin)
            found.effects.append(effect)
            if _moved(effect, test, margin):
                moved.append(f"{effect.series} {metric}")
    _say(found, moved, absent, risk)
    return found


def _say(found: Comparison, moved: list[str], absent: list[str], risk: float) -> None:
    """The verdict and its sentence."""
    deciding = [effect for effect in found.effects if effect.metric != "max"]
    worse = [effect for effect in found.effects if effect.finding == "worse"]
    held = [effect for effect in deciding if effect.finding in ("no worse", "better") or
            (effect.finding == "worse within the margin" and effect.upper <= found.margin)]
    if found.design == "separate" and found.rounds > 1:
        found.notes.append("the runs of A and B were not taken in turns: a drift of the machine "
                           "looks like a difference; compare --run takes them in turns")
    if moved:
        found.notes.append(f"A against A differs by more than {found.margin:.0%} "
                           f"({', '.join(moved)}): the machine moves by itself")
        found.words = "inconclusive: the machine was not steady enough to say anything"
    elif worse:
        found.verdict = "fail"
        found.words = "fail: B is worse: " + "; ".join(
            f"{row.series} {row.metric} by {row.estimate:+.1%} ({row.low:+.1%} … {row.high:+.1%})"
            for row in worse)
    elif deciding and len(held) == len(deciding) and not set(absent) & set(SHARES):
        found.verdict = "pass"
        found.words = (f"pass: B is no worse than A by more than {found.margin:.0%} in "
                       + ", ".join(f"{row.series} {row.metric} (at most {row.upper:+.1%})"
                                   for row in deciding))
    else:
        found.words = "inconclusive: " + _why(found, deciding, absent, risk)


def _why(found: Comparison, deciding: list[Effect], absent: list[str], risk: float) -> str:
    """What is missing for a verdict."""
    if found.rounds == 1:
        return ("one run of each says nothing of how far two runs of the same are apart; "
                "take rounds: compare --run, or directories of results")
    lost = sorted(set(absent) & set(SHARES))
    if lost:
        return (f"a run has too few samples for its {lost[0]} ({ABOVE} must lie above it), or "
                "it lies above the histogram; measure longer")
    least = ranks.least_paired(risk)
    if found.design != "separate" and found.rounds < least:
        return f"{found.rounds} rounds, at least {least} are needed"
    open_ = max((row for row in deciding if row.finding not in ("no worse", "better")),
                key=lambda row: row.upper, default=None)
    if open_ is None or not math.isfinite(open_.upper):
        return "too few rounds for bounds"
    width = open_.upper - open_.estimate
    text = (f"{open_.series} {open_.metric} differs by {open_.estimate:+.1%}, "
            f"at most {open_.upper:+.1%}; {found.margin:.0%} are allowed")
    room = found.margin - open_.estimate
    if room > found.margin / 5 and width > 0:
        text += f"; about {math.ceil(found.rounds * (width / room) ** 2) + 1} rounds would tell"
    return text


def within(a: Result, b: Result, parts: int = 8) -> list[str]:
    """What the timelines of two single runs say, for these two runs only.

    The unit is a stretch of intervals, not an interval: neighbours depend on each other.
    """
    said = []
    others = {one.key: one for one in b.series}
    for one in a.series:
        other = others.get(one.key)
        if other is None:
            continue
        both = []
        for series in (one, other):
            maxima = [value for value in series.data["timeline"]["maxima"] if value is not None]
            cuts = [round(len(maxima) * place / parts) for place in range(parts + 1)]
            if len(maxima) < 2 * parts:
                break
            stretches = [sorted(maxima[x:y]) for x, y in zip(cuts, cuts[1:], strict=False)]
            both.append([math.log(max(row[len(row) // 2], 1)) for row in stretches])
        if len(both) < 2:
            continue
        apart = ranks.unpaired(both[0], both[1], RISK / 2)
        sure = "differ" if apart.low > 0 or apart.high < 0 else "do not differ visibly"
        said.append(f"{one.title}: the usual maxima of an interval {sure} between these two runs: "
                    f"{_ratio(apart.estimate):+.1%} "
                    f"({_ratio(apart.low):+.1%} … {_ratio(apart.high):+.1%})")
    return said


def differences(a: Result, b: Result) -> list[str]:
    """What was not the same for both, beside what was measured."""
    said = []
    for name, first, second in (
            ("kernel", a.data["kernel"], b.data["kernel"]),
            *((key, a.data["machine"].get(key), b.data["machine"].get(key))
              for key in ("host", "cmdline", "clocksource", "cpu", "virtual", "online"))):
        if first != second:
            said.append(f"{name}: {first} | {second}")
    settings = [{row["name"]: row["got"] for row in one.data["settings"]} for one in (a, b)]
    for name in sorted(settings[0].keys() | settings[1].keys()):
        if settings[0].get(name) != settings[1].get(name):
            said.append(f"{name}: {settings[0].get(name)} | {settings[1].get(name)}")
    return said
