# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator measure latency: the files that it writes."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from clitest import valid
from latencytest import CPU, MISSING, first_series, measured, packed
from prometheus_client.openmetrics.parser import text_string_to_metric_families


def test_openmetrics(isolator: Path, tmp_path: Path) -> None:
    """As its own parser reads it: the buckets, the account, the maximum with its time."""
    path = tmp_path / "metrics"
    values = [1000] * 500 + [20_000] * 30 + [5_000_000, MISSING, 200_000_000_000]
    (tmp_path / "fed").write_bytes(packed(values))
    document = measured(isolator, "--fed", tmp_path / "fed", "--openmetrics", path)
    families = {f.name: f for f in text_string_to_metric_families(path.read_text())}
    latency = families["isolator_latency_seconds"]
    assert latency.type == "histogram" and latency.unit == "seconds"
    buckets = {s.labels["le"]: s.value for s in latency.samples if s.name.endswith("_bucket")}
    assert buckets["+Inf"] == 532 and len(buckets) == 4
    for le, value in buckets.items():
        assert value == sum(v <= float(le) * 1e9 for v in values if v != MISSING)
    samples = {s.name: s for f in families.values() for s in f.samples}
    assert samples["isolator_latency_seconds_sum"].value == pytest.approx(
        sum(v for v in values if v != MISSING) / 1e9)
    most = samples["isolator_latency_max_seconds"]
    assert most.value == 200 and most.timestamp is not None and most.labels == {"cpu": str(CPU)}
    at = first_series(document)["top"][0]["at"]
    assert time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(float(most.timestamp))) == at[:19]
    assert samples["isolator_latency_triggers_total"].value == 533
    assert samples["isolator_latency_missing_total"].value == 1
    assert samples["isolator_latency_overflow_total"].value == 1
    assert samples["isolator_measure_info"].labels["id"] == document["id"]


def test_how_it_was_called(isolator: Path, tmp_path: Path) -> None:
    """As one typed it: a page of the result says it."""
    (tmp_path / "a b").write_bytes(packed([1000] * 500))
    document = measured(isolator, "--fed", tmp_path / "a b")
    assert document["command"].startswith(f"{isolator} measure latency ")
    assert document["command"].endswith(f"--fed {tmp_path / 'a b'}")


def test_openmetrics_of_several_cpus(isolator: Path, tmp_path: Path) -> None:
    """One family with all CPUs."""
    done = subprocess.run([isolator, "measure", "latency", "-t", "0.3", "--openmetrics",
                           tmp_path / "metrics"], capture_output=True, check=False)
    assert done.returncode == 0
    families = list(text_string_to_metric_families((tmp_path / "metrics").read_text()))
    names = [f.name for f in families]
    assert len(names) == len(set(names))
    for family in families:
        if "latency" in family.name:
            assert {int(s.labels["cpu"]) for s in family.samples} == os.sched_getaffinity(0)


def test_overwriting_a_result(isolator: Path, tmp_path: Path) -> None:
    """A night's result is not lost to a second run, nor a device or a link replaced by a file."""
    kept = tmp_path / "result"
    kept.write_text("a night")
    (tmp_path / "link").symlink_to(kept)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    before = sorted(tmp_path.iterdir())
    for option, name, says in (
            ("--output", "result", "exists and would be overwritten: name another file"),
            ("--output", "link", "not an ordinary file"), ("--output", "pipe", "an ordinary file"),
            ("--openmetrics", "pipe", "an ordinary"), ("--output", "directory", "an ordinary")):
        done = subprocess.run([isolator, "measure", "latency", "-c", str(CPU), "-t", "0.1", option,
                               tmp_path / name], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and says in done.stderr and not done.stdout, done.stderr
    assert sorted(tmp_path.iterdir()) == before and kept.read_text() == "a night"
    # Who collects metrics reads one file again and again.
    measured(isolator, "-t", "0.1", "--openmetrics", kept)
    assert kept.read_text().endswith("# EOF\n")


def test_output_that_cannot_be_written(isolator: Path, tmp_path: Path) -> None:
    """An error, and nothing is left, also where that is found out during the run."""
    done = subprocess.run([isolator, "measure", "latency", "-c", str(CPU), "-t", "0.1", "--output",
                           tmp_path / "none/result"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cannot be written: No such file" in done.stderr
    (tmp_path / "result.new").mkdir()
    done = subprocess.run([isolator, "measure", "latency", "-c", str(CPU), "-t", "0.1", "--output",
                           tmp_path / "result"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cannot be written" in done.stderr
    assert not (tmp_path / "result").exists()
    (tmp_path / "result.new").rmdir()
    # What is written beside follows no link that somebody else has put there.
    (tmp_path / "outside").write_text("x")
    (tmp_path / "result.new").symlink_to(tmp_path / "outside")
    measured(isolator, "-t", "0.1", "--output", tmp_path / "result")
    assert (tmp_path / "outside").read_text() == "x" and (tmp_path / "result").is_file()


def test_standard_output(isolator: Path, tmp_path: Path) -> None:
    """- is standard output, in place of the report, for one document; no file has this name."""
    def said(*arguments: str, code: int = 0) -> str:
        done = subprocess.run([isolator, "measure", "latency", "-c", str(CPU), "-n", "10",
                               *arguments],
                              capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        return done.stdout

    before = sorted(path.name for path in tmp_path.iterdir())
    document = valid("measure", said("-o", "-"))
    assert document["schema"] == "isolator.measure"
    assert said("--openmetrics", "-").endswith("# EOF\n")
    assert not said("--openmetrics", "-", "-o", "-", code=1)
