# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of cyclictest, of oslat, and of isolator measure in their place."""

import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from isolator_report.histogram import Histogram
from isolator_report.percentile import by_rank

LIMIT_S = 120
# Where the histograms of the others end; what is beyond counts as so much, in ours too.
LATENCY_END_NS = 1_000_000
GAP_END_US = 1024
GAP_US = 10
PRIORITY = 90

Figures = dict[str, float]


class RivalError(Exception):
    """A program that failed, or said what cannot be read."""


def run(command: list[str | Path]) -> str:
    """The output of a program that must not fail."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode:
        raise RivalError(f"{' '.join(map(str, command))} failed ({done.returncode}): "
                         f"{(done.stderr or done.stdout).strip()[-1500:]}")
    return done.stdout


def _with_json(command: list[str | Path]) -> Any:
    """What a program of rt-tests writes as JSON."""
    with tempfile.TemporaryDirectory() as where:
        path = Path(where) / "json"
        run([*command, f"--json={path}"])
        return json.loads(path.read_text())


def _percentile(counts: Counter[float], percent: float) -> float:
    found = by_rank(sorted(counts.elements()), percent)
    if found is None:
        raise RivalError("a histogram without values")
    return found


def latency_figures(counts: Counter[float], beyond: int) -> Figures:
    """Percentiles of lateness in ns; @beyond is the end of the histogram."""
    counts = Counter({**counts, LATENCY_END_NS: counts[LATENCY_END_NS] + beyond})
    return {"p50_ns": _percentile(counts, 50), "p99_ns": _percentile(counts, 99),
            "least_ns": min(v for v, n in counts.items() if n),
            "samples": counts.total(), "beyond": beyond}


def gap_figures(counts: Counter[float], seconds: float) -> Figures:
    """Gaps by their us: how many a second, and the us of a second that they took."""
    return {"gaps_per_s": counts.total() / seconds,
            "lost_us_per_s": sum(us * n for us, n in counts.items()) / seconds,
            "gaps": counts.total(), "seconds": seconds}


def _policy(policy: str) -> list[str]:
    return ["--policy", policy, *(["--priority", str(PRIORITY)] if policy == "fifo" else [])]


def read_cyclictest(document: Any) -> Figures:
    """-N: the buckets are of 1 ns; cycles without a bucket were beyond them."""
    thread = document["thread"]["0"]
    counts: Counter[float] = Counter({int(ns): n for ns, n in thread["histogram"].items()})
    return latency_figures(counts, thread["cycles"] - counts.total())


def cyclictest(cpu: int, main: int, samples: int, policy: str) -> Figures:
    """Wake-ups each ms; without what it would change of the machine (--default-system)."""
    return read_cyclictest(_with_json([
        "cyclictest", "--default-system", "-q", "-m", "-t1", f"-a{cpu}", f"--mainaffinity={main}",
        f"--policy={policy}", *([f"-p{PRIORITY}"] if policy == "fifo" else []), "-i1000",
        f"-l{samples}", "-N", "-h", str(LATENCY_END_NS), "--histfile=/dev/null"]))


def _values(series: Any) -> Counter[float]:
    """The middle of each bucket of ours, with its count."""
    histogram = Histogram.decode(series["histogram"])
    return Counter({(low + histogram.end(low)) / 2: count
                    for low, count in histogram.counts.items()})


def _series(document: Any, name: str) -> Any:
    series = next(s for s in document["parts"][0]["series"] if s["name"] == name)
    if not series["complete"] or document["verdict"] == "invalid":
        raise RivalError(f"isolator measure: {document['words']}")
    return series


def read_latency(document: Any) -> Figures:
    """Of isolator measure latency."""
    series = _series(document, "latency")
    values = _values(series)
    counts: Counter[float] = Counter(
        {value: n for value, n in values.items() if value < LATENCY_END_NS})
    return latency_figures(counts, values.total() - counts.total() + series["overflow"])


def latency(isolator: Path, cpu: int, samples: int, policy: str) -> Figures:
    """As cyclictest does it: one period after the other, those that were run over left out."""
    return read_latency(json.loads(run([
        isolator, "measure", "latency", "-c", str(cpu), *_policy(policy), "--period", "1ms",
        "--phase", "fixed", "--late", "missing", "--count", str(samples), "--digits", "3",
        "--json"])))


def read_oslat(document: Any) -> Figures:
    """Its bucket N has what took from N - 1 to N us, the last one all that took longer."""
    thread = document["thread"]["0"]
    counts: Counter[float] = Counter()
    for name, count in thread["histogram"].items():
        us = int(name)
        if us > GAP_US:
            counts[GAP_END_US if us == GAP_END_US else us - 0.5] += count
    return gap_figures(counts, thread["duration"])


def oslat(cpu: int, main: int, seconds: int) -> Figures:
    """A loop that looks at the TSC, SCHED_OTHER."""
    return read_oslat(_with_json(["oslat", "-c", str(cpu), "-C", str(main), "-D", str(seconds),
                                  "-b", str(GAP_END_US), "-q", "-z"]))


def read_noise(document: Any) -> Figures:
    """Of isolator measure noise."""
    series = _series(document, "gap")
    counts: Counter[float] = Counter()
    for ns, count in _values(series).items():
        counts[min(ns / 1000, GAP_END_US)] += count
    counts[GAP_END_US] += series["overflow"]
    return gap_figures(counts, document["parts"][0]["seconds"])


def noise(isolator: Path, cpu: int, seconds: int) -> Figures:
    """The same of ours, of the same policy."""
    return read_noise(json.loads(run([
        isolator, "measure", "noise", "-c", str(cpu), "--policy", "other", "-t", str(seconds),
        "--threshold", f"{GAP_US}us", "--digits", "3", "--json"])))
