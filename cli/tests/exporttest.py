# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of isolator export have in common."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from clitest import PATIENCE_S
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

Labels = tuple[tuple[str, str], ...]
# The samples of a text: each once, by its name and its labels.
Samples = dict[tuple[str, Labels], float]


def clean(said: str) -> None:
    """No sanitizer has found anything."""
    assert "Sanitizer" not in said and "runtime error" not in said, said


def families(text: str) -> list[Metric]:
    """Each once, with its text."""
    found = list(text_string_to_metric_families(text))
    assert len({family.name for family in found}) == len(found)
    assert all(family.documentation for family in found)
    return found


def parse(text: str) -> Samples:
    """What a text says: each sample once."""
    found: Samples = {}
    for family in families(text):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, key
            found[key] = sample.value
    return found


def of(samples: Samples, name: str, **labels: str) -> dict[Labels, float]:
    """Those of this name that have these labels."""
    return {key: value for (other, key), value in samples.items()
            if other == name and labels.items() <= dict(key).items()}


def one(samples: Samples, name: str, **labels: str) -> float:
    """The only one."""
    found = list(of(samples, name, **labels).values())
    assert len(found) == 1, (name, labels, found)
    return found[0]


def export(isolator: Path, *arguments: str | Path, code: int = 0,
           **how: Any) -> subprocess.CompletedProcess[str]:
    """It ends by itself."""
    done = subprocess.run([isolator, "export", *arguments], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S, **how)
    clean(done.stderr)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def full(directory: Path) -> None:
    """Of the fixture busy one with an owner that is seen, and with what it counts of itself."""
    status, stats = directory / "status", directory / "stats"
    status.write_text(status.read_text().replace("owner 5000041", "owner 41"))
    stats.write_text(stats.read_text() + "cpu 1 own ticks 700 yields 20 planned 4 entries 600\n")


def machine(root: Path, name: str = "motor") -> Path:
    """Below @root the thread 41 of process 40."""
    thread = root / "proc/41"
    thread.mkdir(parents=True)
    (thread / "stat").write_text(f"41 ({name}) R{' 0' * 49}\n")
    (thread / "status").write_text(f"Name:\t{name}\nState:\tR (running)\nTgid:\t40\n"
                                   "Cpus_allowed:\t2\nCpus_allowed_list:\t1\n")
    return root


def stock(root: Path) -> Path:
    """A machine without Isolator."""
    (root / "proc").mkdir(parents=True)
    (root / "proc/version").write_text("Linux version 6.12.0\n")
    return root
