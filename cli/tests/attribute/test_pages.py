# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator attribute: damaged pages, missing files, and what it tells people."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest
from attributetest import AT, MS, US, inside, spinning, storm
from tracegen import framed, page, pages, record
from waiting import PATIENCE_S


def _garbage(dice: random.Random, raw: bytes) -> bytes:
    damaged = bytearray(raw)
    for _ in range(dice.randrange(1, 40)):
        damaged[dice.randrange(len(damaged))] = dice.randrange(256)
    if dice.random() < 0.3:
        del damaged[dice.randrange(len(damaged)):]
    if dice.random() < 0.3:
        at = dice.randrange(len(damaged) + 1)
        damaged[at:at] = dice.randbytes(dice.randrange(1, 5000))
    return bytes(damaged)


@pytest.mark.parametrize("seed", range(25))
def test_pages_of_anything(isolator: Path, tmp_path: Path, seed: int) -> None:
    """What cannot be read ends a page, and nothing else: the sanitizers look on."""
    dice = random.Random(seed)
    directory = storm(seed).write(tmp_path / "trace")
    ring = directory / "per_cpu/cpu1/trace_pipe_raw"
    ring.write_bytes(_garbage(dice, ring.read_bytes()))
    if seed % 5 == 0:
        formats = dice.choice(list((directory / "events").rglob("format")))
        formats.write_bytes(_garbage(dice, formats.read_bytes()))
    (tmp_path / "list").write_text("".join(
        f"1 100 {n} {AT + n * MS} {AT + (n + 3) * MS} {3 * MS}\n" for n in range(-4, 8)))
    (tmp_path / "list").write_text((tmp_path / "list").read_text().replace("1 100 -", "1 100 9"))
    done = subprocess.run(
        [isolator, "attribute", "--json", "--outliers", tmp_path / "list", directory],
        capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode in (0, 1), done.stderr.decode(errors="replace")
    assert b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr
    if not done.returncode:
        for outlier in json.loads(done.stdout)["outliers"]:
            assert outlier["explained_ns"] <= 3 * MS


def test_pages_say_what_was_missed() -> None:
    one = record("irq/softirq_entry", 1, vec=3)
    raw = pages([(10, one), (20, 7), (30, one)])
    assert raw == page(10, framed(0, one)) + page(30, framed(0, one), missed=7)


def test_the_text(isolator: Path, tmp_path: Path) -> None:
    trace = spinning()
    inside(trace, AT + US, AT + 41 * US, 100, "irq_handler", irq=24, name="eth0")
    directory = trace.write(tmp_path / "trace")
    (tmp_path / "list").write_text(f"1 100 5 {AT} {AT + 43 * US} {43 * US}\n")
    done = subprocess.run([isolator, "attribute", "--outliers", tmp_path / "list", directory],
                          capture_output=True, text=True, check=True)
    assert done.stdout == """\
1 values above the threshold, 1 looked into

 1. interrupt eth0: 40 us in 1 outlier, longest 40 us at 1970-01-01T00:00:05.000000000Z

CPU 1, 43 us at 1970-01-01T00:00:05.000000000Z, trigger 5
     40 us interrupt eth0
     3 us without a cause: entries and exits of the kernel, or its own code
"""


@pytest.mark.parametrize(("missing", "says"), [
    ("events/header_page", "header_page"), ("per_cpu", "the trace of CPU 1 cannot be read"),
    ("", "No such file")])
def test_what_is_missing_is_said(isolator: Path, tmp_path: Path, missing: str, says: str) -> None:
    directory = spinning().write(tmp_path / "trace")
    (directory / missing).rename(tmp_path / "away")
    (tmp_path / "list").write_text("1 100 0 5 9 4\n")
    done = subprocess.run([isolator, "attribute", "--outliers", tmp_path / "list", directory],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert says in done.stderr


@pytest.mark.parametrize("line", ["1 2 3", "x", "1 100 0 5 9 4 5", "-1 100 0 5 9 4"])
def test_a_list_that_is_none(isolator: Path, tmp_path: Path, line: str) -> None:
    (tmp_path / "list").write_text(line + "\n")
    done = subprocess.run([isolator, "attribute", "--outliers", tmp_path / "list", tmp_path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "line 1" in done.stderr
