# SPDX-License-Identifier: GPL-2.0-or-later
"""The encoding of histograms, as HdrHistogram's own library reads it."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from clitest import CLI, COMPILE
from hdrh.histogram import HdrHistogram

HIGHEST = 100_000_000_000


@pytest.fixture(scope="module")
def encode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("encode") / "encode"
    sources = ["tests/statistics/encode.c", "statistics/hdr.c", "statistics/hist.c", "base/error.c",
               "base/term.c", "base/text.c", "base/utf8.c"]
    subprocess.run([*COMPILE, "-o", program, *(CLI / name for name in sources)], check=True)
    return program


def _decode(encode: Path, digits: int, counts: dict[int, int]) -> HdrHistogram:
    text = "".join(f"{value} {count}\n" for value, count in counts.items())
    done = subprocess.run([encode, str(digits)], input=text, capture_output=True, text=True,
                          check=True)
    return HdrHistogram.decode(done.stdout.strip().encode())


def _same(have: HdrHistogram, digits: int, counts: dict[int, int]) -> None:
    """The library counts the same values into the same buckets."""
    want = HdrHistogram(1, HIGHEST, digits)
    for value, count in counts.items():
        want.record_value(value, count)
    assert have.significant_figures == digits
    assert have.highest_trackable_value == HIGHEST
    assert have.lowest_trackable_value == 1
    assert have.get_total_count() == want.get_total_count() == sum(counts.values())
    assert bytes(have.counts) == bytes(want.counts)
    # It goes through all buckets, one by one: millions of them with more digits.
    for percent in (50, 99.9999, 100) if digits < 4 else ():
        assert have.get_value_at_percentile(percent) == want.get_value_at_percentile(percent)


@pytest.mark.parametrize("digits", [2, 3, 4, 5])
def test_values_of_all_magnitudes(encode: Path, digits: int) -> None:
    """From 0 to 100 s, with runs of zeros of all lengths."""
    dice = random.Random(digits)
    for size in (1, 2, 100, 3000):
        counts = {int(HIGHEST ** dice.random()): dice.randint(1, 1000) for _ in range(size)}
        counts |= {0: 3, 1: 1, 3: 2, HIGHEST: 1}
        _same(_decode(encode, digits, counts), digits, counts)


def test_counts_of_all_lengths(encode: Path) -> None:
    """Words of one byte to eight, which is more than a year of samples at 1 GHz."""
    counts = {100 * (i + 1): 2**i for i in range(55)}
    _same(_decode(encode, 2, counts), 2, counts)
    counts = {100 * (i + 1): 2**i - 1 for i in range(1, 55)}
    _same(_decode(encode, 2, counts), 2, counts)


def test_more_than_a_stored_block(encode: Path) -> None:
    """A stream of several blocks: each bucket of the first 200000 ns is used."""
    counts = {value: 1 + value % 300 for value in range(200_000)}
    _same(_decode(encode, 5, counts), 5, counts)


def test_empty(encode: Path) -> None:
    """No value at all is a histogram too."""
    assert _decode(encode, 2, {}).get_total_count() == 0
