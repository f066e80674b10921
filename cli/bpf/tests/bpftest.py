# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator-bpf as tools/bpf-test has built it, and what the kernel itself counts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clitest import CLI

BUILD = CLI.parent / "build/cli"
CPU, OTHER = max(os.sched_getaffinity(0)), min(os.sched_getaffinity(0))


@dataclass
class Counters:
    """What the kernel itself has counted on CPU, by row."""

    rows: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def look() -> Counters:
        """Now."""
        found = Counters()
        for name in ("interrupts", "softirqs"):
            lines = Path(f"/proc/{name}").read_text().splitlines()
            at = lines[0].split().index(f"CPU{CPU}")
            for line in lines[1:]:
                words = line.split()
                if len(words) > at + 1 and words[at + 1].isdigit():
                    found.rows[words[0].rstrip(":")] = int(words[at + 1])
        vmstat = Path("/proc/vmstat").read_text()
        found.rows["pgfault"] = int(vmstat.split("\npgfault ")[1].split()[0])
        return found

    def since(self, before: Counters) -> dict[str, int]:
        """What came in between; the kernel counts interrupts in 32 bits."""
        return {row: (count - before.rows.get(row, 0)) % 2**32 for row, count in self.rows.items()}


@dataclass(frozen=True)
class Scene:
    """A run of isolator-bpf with provoke in the midst of it."""

    document: dict[str, Any]
    said: dict[str, int]  # by provoke, of what it did
    inner: dict[str, int]  # counted while isolator-bpf did for sure
    outer: dict[str, int]  # and from before it did until after

    def sources(self, kind: str, *names: str) -> list[dict[str, Any]]:
        """Those of a kind, by name if any is given."""
        return [s for s in self.document["sources"]
                if s["kind"] == kind and (not names or s["who"] in names)]

    def count(self, kind: str, *names: str) -> int:
        """How often they came."""
        return sum(int(s["count"]) for s in self.sources(kind, *names))
