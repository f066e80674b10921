# SPDX-License-Identifier: GPL-2.0-or-later
"""Two programs in rounds A B B A: how far apart, and how far is A from itself?

Neighbours in time are compared, as what else runs changes slowly: in each round B with the A
beside it, twice; from round to round the last A with the next round's first A.
"""

import random
import statistics
from dataclasses import asdict, dataclass
from typing import Any

from rounds import EXCEEDED, INCONCLUSIVE, PASS

ROUNDS_LEAST = 20
DRAWS = 10_000
CERTAIN = 0.99
SEED = 1
WORDS = {PASS: "passed", EXCEEDED: "exceeded", INCONCLUSIVE: "inconclusive"}

Round = tuple[float, float, float, float]  # A, B, B, A


@dataclass(frozen=True)
class Bar:
    """What is compared; @most is what B may be apart, None: no more than A from itself."""

    name: str
    unit: str
    most: float | None = None


def across(rounds: list[Round]) -> list[float]:
    """B less the A beside it."""
    return [d for a, b, c, e in rounds for d in (b - a, c - e)]


def itself(rounds: list[Round]) -> list[float]:
    """A less the A before it."""
    return [after[0] - before[3] for before, after in zip(rounds, rounds[1:], strict=False)]


def spread(differences: list[float], count: int) -> float:
    """How far the median of @count such differences is from 0 by chance, in 99 % of all cases.

    If B were another A, its differences were drawn from the same as A's from itself, and which
    of two neighbours is called A would be a toss.  So they are drawn, with either sign.
    """
    dice = random.Random(SEED)
    drawn = sorted(
        abs(statistics.median(
            d if dice.random() < 0.5 else -d for d in dice.choices(differences, k=count)))
        for _ in range(DRAWS))
    return drawn[int(CERTAIN * DRAWS) - 1]


def judge(bar: Bar, rounds: list[Round], theirs: str) -> dict[str, Any]:
    """The figures of one bar, and what they say."""
    differences, own = across(rounds), itself(rounds)
    apart, chance = statistics.median(differences), spread(own, len(differences))
    middle = statistics.median([v for r in rounds for v in (r[0], r[3])])
    limit = chance if bar.most is None else bar.most
    # Where A is so far from itself a difference that counts would not be seen.
    blind = chance > (middle if bar.most is None else bar.most)
    code = INCONCLUSIVE if blind else PASS if abs(apart) <= limit else EXCEEDED
    most = f"{limit:.3g} {bar.unit}"
    allowed = f"{theirs} against itself up to {chance:.3g} {bar.unit}" + (
        "" if bar.most is None else f", at most {most} allowed")
    text = (f"{WORDS[code]}: {bar.name}: isolator is {apart:+.3g} {bar.unit} from {theirs} "
            f"({middle:.4g}); {allowed}")
    if blind:
        text += "; run it when the machine is quieter"
    return {
        **asdict(bar),
        "isolator": statistics.median([v for r in rounds for v in (r[1], r[2])]),
        "theirs": middle,
        "difference": apart,
        "spread": chance,
        "spread_of_isolator": spread([r[2] - r[1] for r in rounds], len(differences)),
        "differences": differences,
        "itself": own,
        "code": code,
        "text": text,
    }
