# SPDX-License-Identifier: GPL-2.0-or-later
"""What the programs say, read as the same figures."""

from typing import Any

import pytest
import rivals
from isolator_report.histogram import Histogram


def _ours(name: str, values: dict[int, int], overflow: int = 0, **more: Any) -> dict[str, Any]:
    return {"verdict": "measured", "words": "", "parts": [{"seconds": 2.0, "series": [
        {"name": name, "complete": True, "overflow": overflow,
         "histogram": Histogram(values).encode()}]}], **more}


def _cyclictest(values: dict[int, int], beyond: int) -> dict[str, Any]:
    return {"thread": {"0": {"histogram": {str(ns): n for ns, n in values.items()},
                             "cycles": sum(values.values()) + beyond}}}


def test_latency_of_both_is_the_same_figure() -> None:
    values = {20_000: 600, 30_000: 380, 90_000: 15}
    theirs = rivals.read_cyclictest(_cyclictest(values, 5))
    ours = rivals.read_latency(_ours("latency", values | {1_500_000: 4}, overflow=1))
    assert theirs == {"p50_ns": 20_000, "p99_ns": 90_000, "least_ns": 20_000, "samples": 1000,
                      "beyond": 5}
    assert ours == pytest.approx(theirs, rel=0.001)


def test_what_is_beyond_the_histogram_is_not_lost() -> None:
    """A p99 there is told as the end of it, in both."""
    values = {20_000: 980}
    assert rivals.read_cyclictest(_cyclictest(values, 20))["p99_ns"] == rivals.LATENCY_END_NS
    ours = rivals.read_latency(_ours("latency", values | {7_000_000: 20}))
    assert ours["p99_ns"] == rivals.LATENCY_END_NS and ours["beyond"] == 20


def test_gaps_of_both_are_the_same_figure() -> None:
    """Bucket 11 has what took from 10 to 11 us; the last one all that took longer."""
    theirs = rivals.read_oslat({"thread": {"0": {"duration": 2.0, "histogram": {
        "1": 9_000_000, "10": 7, "11": 4, "200": 2, "1024": 3}}}})
    ours = rivals.read_noise(_ours("gap", {10_500: 4, 199_500: 2, 3_000_000: 3}))
    assert theirs["gaps_per_s"] == 4.5 and theirs["gaps"] == 9
    assert ours == pytest.approx(theirs, rel=0.001)


def test_no_gap_at_all() -> None:
    assert rivals.read_oslat({"thread": {"0": {"duration": 2.0, "histogram": {"1": 5}}}}) == {
        "gaps_per_s": 0, "lost_us_per_s": 0, "gaps": 0, "seconds": 2.0}


def test_an_invalid_run_is_an_error() -> None:
    invalid = _ours("latency", {1: 1}, verdict="invalid", words="values were lost uncounted")
    with pytest.raises(rivals.RivalError, match="lost uncounted"):
        rivals.read_latency(invalid)
    with pytest.raises(rivals.RivalError, match="without values"):
        rivals.read_cyclictest(_cyclictest({}, 0))


def test_a_program_that_fails_is_an_error() -> None:
    with pytest.raises(rivals.RivalError, match="failed"):
        rivals.run(["false"])
