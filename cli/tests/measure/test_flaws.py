# SPDX-License-Identifier: GPL-2.0-or-later
"""Flaws of other programs: the table of docs/measure.md, and those without another place."""

from __future__ import annotations

import json
import os
import random
import re
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clitest import CLI, PATIENCE_S, flat, valid
from prometheus_client.openmetrics.parser import text_string_to_metric_families

CPUS = sorted(os.sched_getaffinity(0))
PLACES = [*(CLI / "tests").glob("*/"), CLI.parent / "report/tests"]


def _table() -> list[tuple[str, str, str]]:
    """Flaw, whose, and which test shows that it is not there."""
    text = (CLI.parent / "docs/measure.md").read_text()
    rows = text.split("| flaw | in | test |\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [(flaw, whose, test) for flaw, whose, test in (
        re.split(r" *\| *", row.strip("| ")) for row in rows)]


def test_each_flaw_has_its_test() -> None:
    """What the page names is there to be run."""
    rows = _table()
    assert len(rows) >= 20
    for flaw, whose, test in rows:
        found = re.fullmatch(r"`([\w.]+)::([^`]+)`", test)
        assert found and flaw and whose, test
        [file] = [place / found[1] for place in PLACES if (place / found[1]).exists()]
        named = f"\ndef {found[2]}(" if file.suffix == ".py" else f'{{ "{found[2]}", '
        assert named in file.read_text(), test


def _fed(isolator: Path, where: Path, values: list[int], *arguments: str | Path,
         codes: tuple[int, ...] = (0, 2, 3)) -> dict[str, Any]:
    (where / "fed").write_bytes(struct.pack(f"={len(values)}Q", *values))
    done = subprocess.run([isolator, "measure", "latency", "-c", str(CPUS[-1]), "--json", "--fed",
                           where / "fed", *arguments], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S)
    assert done.returncode in codes, done.stderr
    return valid("measure", done.stdout)


def test_no_figure_below_the_least(isolator: Path, tmp_path: Path) -> None:
    """rteval shows a median of 0 where the least value is 2 us: here the order is kept."""
    dice = random.Random(5)
    for number in range(20):
        values = [int(2000 * dice.paretovariate(0.3 + number / 10))
                  for _ in range(dice.choice([1, 2, 99, 5000]))]
        [series] = _fed(isolator, tmp_path, values)["parts"][0]["series"]
        told = [row["value_ns"] for row in series["percentiles"] if row["value_ns"] is not None]
        assert [series["min"], *told, series["max"]] == sorted(
            [min(values), *told, max(values)])
        assert series["min"] <= series["mean"] <= series["max"]
        for row in series["percentiles"]:
            assert row["upper_ns"] is None or row["value_ns"] is None or \
                row["value_ns"] <= row["upper_ns"] <= series["max"]


def test_units(isolator: Path, tmp_path: Path) -> None:
    """rt-tests had ns for us: each way to write a time is one, and each file has its own."""
    values = [40_000] * 600
    for text in ("50", "50us", "0.05ms", "50000ns", "0.00005s"):
        document = _fed(isolator, tmp_path, values, "--limit", f"max={text}", codes=(0,))
        assert document["limits"][0]["limit_ns"] == 50_000
    assert document["parts"][0]["series"][0]["max"] == 40_000
    _fed(isolator, tmp_path, values, "--openmetrics", tmp_path / "metrics")
    samples = {sample.name: sample.value for family in text_string_to_metric_families(
        (tmp_path / "metrics").read_text()) for sample in family.samples}
    assert samples["isolator_latency_max_seconds"] == 40e-6
    done = subprocess.run([isolator, "measure", "latency", "-c", str(CPUS[-1]), "--fed",
                           tmp_path / "fed"], capture_output=True, text=True, check=True)
    assert re.search(r"^ *\d+ +600 +0 +40 us +40 us", done.stdout, re.M), done.stdout


def test_the_largest_is_told_not_the_first(isolator: Path, tmp_path: Path) -> None:
    """A limit of OpenShift's told the first value above the limit."""
    values = [10_000] * 100 + [60_000] + [10_000] * 100 + [90_000, 70_000]
    document = _fed(isolator, tmp_path, values, "--limit", "max=50us", codes=(2,))
    assert "max is 90 us, limit 50 us" in document["words"]
    assert [top["trigger"] for top in document["parts"][0]["series"][0]["top"]][:3] == [
        201, 202, 100]


def test_nothing_is_held_unasked(isolator: Path, tmp_path: Path) -> None:
    """cyclictest keeps CPUs from idle states by itself: a machine is better while measured."""
    (tmp_path / "dev").mkdir()
    device = tmp_path / "dev/cpu_dma_latency"
    device.touch()
    done = subprocess.run([isolator, "measure", "latency", "-c", str(CPUS[-1]), "-t", "0.2",
                           "--json", "--root", tmp_path], capture_output=True, text=True,
                          check=True, timeout=PATIENCE_S)
    settings = {setting["name"] for setting in valid("measure", done.stdout)["settings"]}
    assert "dma_latency" not in settings and device.read_bytes() == b""


@pytest.mark.skipif(len(CPUS) < 2, reason="there is no CPU to be left out")
def test_cpu_outside_the_cpuset(isolator: Path) -> None:
    """A worker that cannot be bound runs elsewhere, and measures that."""
    done = subprocess.run(["taskset", "-c", str(CPUS[0]), isolator, "measure", "latency", "-c",
                           str(CPUS[-1]), "-t", "0.2"], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S)
    assert done.returncode == 1
    assert f"may not run on CPU {CPUS[-1]}, but on {CPUS[0]}:" in flat(done.stderr)


def _keys(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from _keys(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _keys(part)


@pytest.mark.parametrize("file", sorted((CLI / "schema").glob("*.json")), ids=lambda f: f.stem)
def test_keys_without_typos(file: Path) -> None:
    """cyclictest's "cmdline:" has its colon for ever: names that any language can have."""
    keys = set(_keys(json.loads(file.read_text())))
    assert keys and all(re.fullmatch(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*", key) for key in keys), keys
