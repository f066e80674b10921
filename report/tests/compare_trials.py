# SPDX-License-Identifier: GPL-2.0-or-later
"""How often compare is wrong, and how often it finds a shift: many trials on one series.

A trial cuts a series of values, in the order in which they were measured, into runs that
follow each other, and gives them out in turns (ABBA, BAAB, …).  With nothing changed every
difference that is claimed is a false alarm.  For a shift all values of B above p90 are
made larger: the p99 moves, the median does not.

Recorded values: from report/tests/samples/wakeups.xz, or from `cyclictest -v -N`.
"""

import argparse
import lzma
import math
import random
import re
import sys
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import report_documents as documents
from isolator_report import compare
from isolator_report.histogram import Histogram
from isolator_report.rounds import ORDERS

RECORDED = Path(__file__).with_name("samples") / "wakeups.xz"
KEY = ("quiet", "latency")
FALSE_ALARMS, FOUND = 0.05, 0.9  # what is promised

EXAMPLES = """examples:
  tools/venv python3 report/tests/compare_trials.py
  tools/venv python3 report/tests/compare_trials.py --trials 50 --rounds 20 --samples 2000
  cyclictest --default-system -p 80 -v -N -i 500 -l 400000 -t 1 > wakeups.txt
  tools/venv python3 report/tests/compare_trials.py --recorded wakeups.txt --rounds 300

Exit codes: 0 what is promised holds, 2 it does not."""


@dataclass
class Outcome:
    """Of all trials."""

    trials: int = 0
    claimed: int = 0  # any difference, in any metric, in either direction
    failed: int = 0  # the verdict fail
    p99: int = 0  # a worse p99 was what failed
    naive: int = 0  # a test that takes samples for independent claims one


def recorded(path: Path = RECORDED) -> list[int]:
    """Wake-up latencies in ns, in order."""
    if path.suffix == ".xz":
        values = array("I")
        values.frombytes(lzma.decompress(path.read_bytes()))
        return list(values)
    return [int(match[1]) for match in
            re.finditer(r"^\s*0:\s*\d+:\s*(\d+)$", path.read_text(), re.MULTILINE)]


def synthetic(count: int, seed: int = 1) -> list[int]:
    """Values that depend on those before them."""
    return documents.drifting(count, random.Random(seed))[0]


def _values(values: Sequence[int]) -> dict[str, float]:
    """As compare.run_of() takes them out of a document."""
    histogram = Histogram(Counter(values), digits=2)
    row = {name: compare.quantile(histogram, 0, share) for name, share in compare.SHARES.items()}
    found = {name: value for name, value in row.items() if value is not None}
    return {**found, "max": float(max(values))}


def _naive(a: int, b: int, count: int) -> bool:
    """Are as many of `count` values above the p99, if samples were independent?  5 %."""
    share = (a + b) / (2 * count)
    spread = math.sqrt(share * (1 - share) * 2 / count)
    return abs(a - b) / count > 1.96 * spread


def trials(values: Sequence[int], count: int, rounds: int, samples: int, shift: float = 0.0,
           margin: float = 0.05, seed: int = 1) -> Outcome:
    """`count` trials of `rounds` rounds, each of four runs of `samples` values.

    A trial lies at a random place of a series that is much longer than it; else each of its
    rounds does, so that trials differ.
    """
    dice = random.Random(seed)
    low = sorted(values)[int(0.9 * len(values))]
    moved = quantised([int(value * (1 + shift)) if value >= low else value for value in values])
    values = quantised(values)
    high = sorted(values)[int(0.99 * len(values))]
    found = Outcome()
    whole = 4 * rounds * samples
    grid = max(samples // 10, 1)  # where a run may begin: each is counted once

    @cache
    def look(start: int, label: str) -> tuple[dict[str, float], int]:
        cut = (values if label == "A" else moved)[start:start + samples]
        return _values(cut), sum(value > high for value in cut)

    for _ in range(count):
        together = dice.randrange(0, len(values) - whole, grid) \
            if len(values) > 4 * whole else None
        sides: dict[str, list[compare.Run]] = {"A": [], "B": []}
        above = {"A": 0, "B": 0}
        for number in range(rounds):
            start = dice.randrange(0, len(values) - 4 * samples, grid) if together is None \
                else together + 4 * number * samples
            for place, label in enumerate(ORDERS[number % 2]):
                at = 4 * number + place
                row, large = look(start + place * samples, label)
                sides[label].append(compare.Run(str(at), at, {KEY: row}))
                above[label] += large
        said = compare.compare(sides["A"], sides["B"], margin)
        found.trials += 1
        found.claimed += any(row.low > 0 or row.high < 0 for row in said.effects)
        found.failed += said.verdict == "fail"
        found.p99 += said.verdict == "fail" and any(
            row.metric == "p99" and row.finding == "worse" for row in said.effects)
        found.naive += _naive(above["A"], above["B"], whole // 2)
    return found


def quantised(values: Sequence[int]) -> list[int]:
    """To the 2-digit buckets that a document may have: at most 1 % less."""
    lows = sorted(Histogram.of(values, 2).counts)
    return [lows[max(bisect_left(lows, value + 1) - 1, 0)] for value in values]


def report(name: str, values: Sequence[int], options: argparse.Namespace, rounds: int) -> bool:
    """Print both kinds of trials on one series; whether what is promised holds."""
    same = trials(values, options.trials, rounds, options.samples)
    other = trials(values, options.trials, rounds, options.samples, options.shift / 100)
    print(f"{name}: {len(values)} values, {rounds} rounds of 4 runs of {options.samples}\n"
          f"  A against A: {same.claimed} of {same.trials} trials claim a difference "
          f"({same.failed} fail); samples taken for independent: {same.naive}\n"
          f"  p99 {options.shift:+g} %: {other.p99} of {other.trials} trials fail for it",
          flush=True)
    return same.claimed <= FALSE_ALARMS * same.trials and other.p99 >= FOUND * other.trials


def main() -> int:
    """All series."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", type=Path, default=RECORDED, help="recorded values")
    parser.add_argument("--trials", type=int, default=200, help="default %(default)s")
    parser.add_argument("--samples", type=int, default=1000, help="a run; default %(default)s")
    parser.add_argument("--rounds", type=int,
                        help="default: 10 independent, 120 synthetic, 300 recorded")
    parser.add_argument("--shift", type=float, default=10.0, help="percent; default %(default)s")
    parser.add_argument("--save", type=Path, metavar="FILE.xz",
                        help="write the recorded values, in 2-digit buckets, and stop")
    options = parser.parse_args()
    if options.save:
        options.save.write_bytes(lzma.compress(
            array("I", quantised(recorded(options.recorded))).tobytes(), preset=9))
        return 0
    good = report("independent", documents.lognormal(400_000, 1), options, options.rounds or 10)
    good &= report("synthetic", synthetic(400_000), options, options.rounds or 120)
    good &= report("recorded", recorded(options.recorded), options, options.rounds or 300)
    return 0 if good else 2


if __name__ == "__main__":
    sys.exit(main())
