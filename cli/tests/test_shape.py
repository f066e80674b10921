# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator measure and isolator-report say the same of a distribution."""

from __future__ import annotations

import json
import os
import random
import re
import struct
import subprocess
from pathlib import Path

import pytest
from clitest import PATIENCE_S
from isolator_report import shape
from isolator_report.histogram import Histogram
from test_report_shape import SHAPES

CPU = max(os.sched_getaffinity(0))
# Beside those of the report's own test: what is rare, many peaks, and both ends of the range.
MORE = {
    "one that stands alone": [5000 + i % 300 for i in range(20_000)] + [900_000],
    "beyond the histogram": [5000 + i % 300 for i in range(2000)] + [200_000_000_000] * 3,
    "too few": [5000] * 499,
    "just enough": [5000] * 500,
    "four peaks": [10 ** k + 10 ** k * i // 9000 for k in (3, 4, 5, 6) for i in range(900)],
    "both ends": [0, 1, 2] * 300 + [100_000_000_000] * 300,
    "from 1 ns to 100 s": [int(10 ** (11 * i / 3000)) for i in range(3000)],
    "p99.9 beside p99": [1000 + i % 100 for i in range(9_990)] + [9000] * 10,
}


def _both(isolator: Path, where: Path, values: list[int]) -> tuple[str, str]:
    """What each says."""
    (where / "fed").write_bytes(struct.pack(f"={len(values)}Q", *values))
    done = subprocess.run([isolator, "measure", "latency", "-c", str(CPU), "--fed", where / "fed",
                           "--output", where / "result"], capture_output=True, text=True,
                          check=True, timeout=PATIENCE_S)
    said = re.search(r"^shape: (.*)$", done.stdout, re.M)
    assert said
    document = json.loads((where / "result").read_text())
    (where / "result").unlink()
    [series] = document["parts"][0]["series"]
    found = shape.diagnose(Histogram.decode(series["histogram"]), series["overflow"],
                           series["max"], int(max(document["instrument"]["resolution_ns"], 1)))
    return said[1], found.words


def _rounded(words: str) -> list[str | float]:
    """Words and figures; a figure in ns, where one may write 1000 us and the other 1 ms."""
    units = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
    return [float(part) if re.fullmatch(r"[\d.]+", part) else part for part in re.split(
        r"([\d.]+)", re.sub(r"([\d.]+) (ns|us|ms|s)\b", lambda found: str(
            float(found[1]) * units[found[2]]), words.replace("µ", "u")))]


@pytest.mark.parametrize("name", [row[0] for row in SHAPES] + list(MORE))
def test_same_words(isolator: Path, tmp_path: Path, name: str) -> None:
    """By the same rules, with the same figures, of three digits."""
    dice = random.Random(name)
    draw = next((row[1] for row in SHAPES if row[0] == name), None)
    values = [int(max(draw(dice), 1)) for _ in range(12_000)] if draw else MORE[name]
    ours, theirs = map(_rounded, _both(isolator, tmp_path, values))
    assert len(ours) == len(theirs), (ours, theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one == (pytest.approx(other, rel=0.011) if isinstance(other, float) else other), \
            (ours, theirs)


def test_same_words_of_anything(isolator: Path, tmp_path: Path) -> None:
    """Mixtures that nobody chose: the same body, tail, and number of peaks."""
    dice = random.Random(12)
    for _ in range(15):
        values: list[int] = []
        for _ in range(dice.randint(1, 4)):
            middle, width = 10 ** dice.uniform(2, 8), dice.uniform(0.001, 1.5)
            values += [int(middle * 10 ** dice.gauss(0, width / 3))
                       for _ in range(dice.choice([20, 300, 4000]))]
        if len(values) < shape.LEAST:
            continue
        ours, theirs = _both(isolator, tmp_path, values)
        plain = [re.sub(r"[\d.]+ ?(ns|us|µs|ms|s)?\b", "#", words) for words in (ours, theirs)]
        assert plain[0] == plain[1], (ours, theirs)
