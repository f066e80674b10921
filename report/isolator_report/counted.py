# SPDX-License-Identifier: GPL-2.0-or-later
"""A document of isolator-bpf noise: read, checked, taken apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .document import Result, check, contradictions, decode, keeps_to, text_of

SCHEMA, VERSION = "isolator.bpf-noise", 1
STEPS = 1 / math.log10(2)  # buckets for each factor of 10: of powers of two
LAST = 39  # this bucket is for its own values and all above


def _bucket(ns: int) -> int:
    return min(max(ns, 1).bit_length() - 1, LAST)


def _problems(row: dict[str, Any], what: str) -> list[str]:
    """How a count contradicts its histogram."""
    buckets = row["histogram"]
    found = []
    if sum(buckets) != row["count"]:
        found.append(f"{what}: the buckets hold {sum(buckets)}, count says {row['count']}")
    elif row["count"] and _bucket(row["worst_ns"]) != len(buckets) - 1:
        found.append(f"{what}: its longest, {row['worst_ns']} ns, is not in its last bucket")
    if row["worst_ns"] > row["total_ns"]:
        found.append(f"{what}: its longest, {row['worst_ns']} ns, is more than all together")
    return found


@dataclass(frozen=True)
class Counted:
    """A document that keeps to the schema and does not contradict itself."""

    data: dict[str, Any]
    source: str

    @cached_property
    def losses(self) -> dict[int, dict[str, Any]]:
        """What was taken from tasks, by CPU."""
        return {row["cpu"]: row for row in self.data["losses"]}

    def sources(self, cpu: int) -> list[dict[str, Any]]:
        """All that had this CPU, what took the most time first."""
        return [row for row in self.data["sources"] if row["cpu"] == cpu]

    @property
    def worst_ns(self) -> int:
        """The longest loss of all CPUs."""
        return max((int(row["worst_ns"]) for row in self.data["losses"]), default=0)

    @property
    def invalid(self) -> str | None:
        """Why nothing may be concluded from it; None: something may."""
        account = self.data["account"]
        count = account["uncounted"] + account["missed"]
        return None if account["complete"] else f"{count:,} events were not counted"

    def problems(self) -> list[str]:
        """How it contradicts itself.  What is written amid a run may be: it goes on meanwhile."""
        data = self.data
        account, attribution = data["account"], data["attribution"]
        if [row["cpu"] for row in data["losses"]] != data["cpus"]:
            return [f"its losses are not those of CPUs {data['cpus']}"]
        if data["verdict"] == "running":
            return []
        found = []
        for row in data["losses"]:
            found += _problems(row, f"losses of CPU {row['cpu']}")
        for row in data["sources"]:
            found += _problems(row, f"{row['kind']} {row['who']} on CPU {row['cpu']}")
        if account["complete"] != (not account["uncounted"] and not account["missed"]):
            found.append(f"complete says {account['complete']}, and {account['uncounted']} and "
                         f"{account['missed']} events were not counted")
        told = attribution["looked"] + attribution["lost"]
        if attribution["seen"] != told:
            found.append(f"{attribution['seen']} losses were above the threshold, {told} told or "
                         "lost")
        values = [row["value_ns"] for row in attribution["excesses"]]
        if values != sorted(values, reverse=True) or (values and values[0] != self.worst_ns and
                                                      not attribution["lost"]):
            found.append("its worst excess is not its longest loss")
        return found


def check_any(data: Any, source: str) -> Result | Counted:
    """A parsed document of isolator measure or of isolator-bpf, or why it is neither."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        return check(data, source)
    keeps_to(data, SCHEMA, VERSION, source)
    found = Counted(data, source)
    contradictions(found.problems(), source)
    return found


def load_any(path: Path) -> Result | Counted:
    """The same in a file; - is the standard input."""
    return check_any(decode(text_of(path), str(path)), str(path))
