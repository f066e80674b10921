# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents as isolator measure writes them, out of values that a test chooses."""

import copy
import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from isolator_report import build
from isolator_report.document import NS, Result, nanoseconds, stamp
from isolator_report.histogram import Histogram

BEGAN = 1_800_000_000 * NS  # 2027-01-15
PERIOD = 1_000_000  # ns between triggers
TOP = 128
ROOM = 256  # intervals of a timeline


def timeline(values: Sequence[int]) -> tuple[int, list[int | None], list[int]]:
    """Of values one PERIOD apart; the interval has doubled until all fit."""
    interval = 10_000_000
    while len(values) * PERIOD > interval * ROOM:
        interval *= 2
    each = interval // PERIOD
    cut = [values[start:start + each] for start in range(0, len(values), each)]
    return interval, [max(row) for row in cut], [len(row) for row in cut]


def series(values: Sequence[int], *, name: str = "latency", cpu: int = 1, began: int = BEGAN,
           missing: int = 0, triggers: int | None = None) -> dict[str, Any]:
    """One series; the exact top is there."""
    order = sorted(range(len(values)), key=lambda i: -values[i])[:TOP]
    top = [{"value_ns": values[i], "trigger": i, "at": stamp(began + i * PERIOD + values[i]),
            "monotonic_ns": 5 * NS + i * PERIOD + values[i], "outlier": None} for i in order]
    return build.series(
        name, cpu, Histogram.of(values), triggers=triggers, missing=missing,
        least=min(values, default=None), most=max(values, default=None),
        mean=sum(values) / len(values) if values else None, timeline=timeline(values), top=top)


def result(values: Sequence[int], *, loaded: Sequence[int] | None = None, began: int = BEGAN,
           seed: int = 1, **changes: Any) -> Result:
    """A document of one CPU, with a loaded part when there are values for it."""
    seconds = len(values) * PERIOD / NS
    parts = [build.part("quiet", stamp(began), seconds, [series(values, began=began)])]
    if loaded is not None:
        later = began + int((seconds + 1) * NS)
        parts.append(build.part("loaded", stamp(later), len(loaded) * PERIOD / NS,
                                [series(loaded, began=later)], "memory"))
    fields: dict[str, Any] = {
        "measure": "latency", "method": "nanosleep", "verdict": "measured",
        "words": "measured: see above", "identifier": build.identity(str(began), str(seed)),
        "kernel": "6.12.57-rt", "began": stamp(began), "seconds": seconds, "clock": "tsc",
        "settings": [build.setting("policy", "fifo", asked="fifo"),
                     build.setting("dma_latency", None, "not permitted: <C-states> add to it",
                                   asked="0")],
        "phase": ("random", seed), "floor": (20, 22, 90),
        "machine": {"host": "box", "cmdline": "root=/dev/vda quiet", "clocksource": "tsc",
                    "cpu": "A & B <CPU>",
                    "online": [0, 1], "findings": [
                        {"id": "governor", "severity": "warning", "path": "/sys/x",
                         "value": "powersave"}]},
    }
    return build.document(parts=parts, **{**fields, **changes})


def attributed(values: Sequence[int], threshold: int = 100_000) -> Result:
    """A document whose outliers have causes."""
    data = copy.deepcopy(result(values).data)
    top = data["parts"][0]["series"][0]["top"]
    outliers = []
    for place, row in enumerate(one for one in top if one["value_ns"] > threshold):
        row["outlier"] = place
        outliers.append({
            "cpu": 1, "trigger": row["trigger"], "value_ns": row["value_ns"],
            "at": stamp(nanoseconds(row["at"]) - row["value_ns"]),
            "explained_ns": row["value_ns"] * 3 // 4, "causes": [
                {"kind": "interrupt", "who": "nvme0q1", "pid": None, "sender": None,
                 "sender_cpu": None, "ns": row["value_ns"] // 2, "stack": []},
                {"kind": "ipi", "who": "flush_tlb_func", "pid": None, "sender": "gcc",
                 "sender_cpu": 0, "ns": row["value_ns"] // 4, "stack": ["smp_call", "flush_tlb"]},
            ]})
    causes = [{"kind": kind, "who": who, "count": len(outliers),
               "total_ns": sum(row["causes"][place]["ns"] for row in outliers),
               "worst_ns": outliers[0]["causes"][place]["ns"], "worst_at": outliers[0]["at"]}
              for place, (kind, who) in enumerate((("interrupt", "nvme0q1"),
                                                   ("ipi", "flush_tlb_func")))]
    data["attribution"] = {"source": "tracefs", "threshold_ns": threshold, "seen": len(outliers),
                           "looked": len(outliers), "lost": 0, "overhead": {
                               "on_p50_ns": 5200, "off_p50_ns": 5000, "on_p99_ns": 9100,
                               "off_p99_ns": 9000}, "causes": causes, "outliers": outliers}
    return Result(data, "attributed")


def save(path: Path, one: Result) -> Path:
    """Into a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(one.data))
    return path


def changed(one: Result, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The document after `change`, unchecked."""
    data = copy.deepcopy(one.data)
    change(data)
    return data


def lognormal(count: int, seed: int, median: float = 5000.0, sigma: float = 0.2) -> list[int]:
    """Independent values."""
    dice = random.Random(seed)
    return [int(median * math.exp(dice.gauss(0, sigma))) for _ in range(count)]


def drifting(count: int, dice: random.Random, level: float = 0.0, follow: float = 0.995,
             sigma: float = 0.12) -> tuple[list[int], float]:
    """Values of which each depends on those before it, and the level they end at.

    A slow level (correlation `follow` from one to the next) below quick noise, and a tail
    of interruptions which come where the level is high.
    """
    found = []
    step = sigma * math.sqrt(1 - follow * follow)
    for _ in range(count):
        level = follow * level + dice.gauss(0, step)
        value = 5000 * math.exp(level + dice.gauss(0, 0.05))
        if dice.random() < 0.03 * math.exp(5 * level):
            value += 4000 * dice.expovariate(1.0)
        found.append(int(value))
    return found, level
