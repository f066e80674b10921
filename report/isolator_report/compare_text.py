# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison for people and as JSON."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .compare import Comparison
from .duration import time

DESIGNS = {"interleaved": "rounds of four runs, ABBA and BAAB", "pairs": "pairs of runs",
           "separate": "runs that were not taken in turns"}


def _percent(ratio: float) -> str:
    return f"{ratio:+.1%}" if math.isfinite(ratio) else "?"


def lines(found: Comparison, differ: Sequence[str]) -> list[str]:
    """A table, what else there is to say, and the verdict as the last line."""
    said = [f"{found.rounds} {DESIGNS[found.design]}"]
    said += [f"differs: {row}" for row in differ]
    if found.effects:
        said.append(f"{'':24}{'A':>10}{'B':>10}{'B over A':>10}  {'97.5 % of all':18}"
                    f"{'A against A':18}")
    for row in found.effects:
        between = f"{_percent(row.low)} … {_percent(row.high)}"
        floor = "not known" if row.floor is None else \
            f"{_percent(row.floor[0])} … {_percent(row.floor[1])}"
        name = f"{row.series} {row.metric}, {row.part}"
        said.append(f"{name:24}{time(row.a_ns):>10}{time(row.b_ns):>10}"
                    f"{_percent(row.estimate):>10}  {between:18}{floor:18}{row.finding}")
    said += [f"note: {note}" for note in found.notes]
    return [*said, found.words]


def _finite(value: Any) -> Any:
    """JSON has no infinity: null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [_finite(one) for one in value]
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return value


def as_json(found: Comparison, differ: Sequence[str]) -> dict[str, Any]:
    """Of schema isolator.compare."""
    whole: dict[str, Any] = _finite(asdict(found))
    return {"schema": "isolator.compare", "version": 1, "exit": found.exit, **whole,
            "differs": list(differ)}
