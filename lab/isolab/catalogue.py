# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue of interference as data: lab/catalogue."""

import functools
import tomllib
from dataclasses import dataclass
from typing import Any

from .header import Trigger
from .paths import LAB

ORDER = ("text", "mm", "percpu", "rendezvous", "sched", "time", "readers")
SPARED = {
    "interrupts": "interrupts", "state": "if it left something there",
    "self": "only its own process", "spared": "spared", "hardware": "hardware",
}


@dataclass(frozen=True)
class Row:
    number: int
    section: str
    source: str
    what: str
    trigger: str
    arch: tuple[str, ...]
    stock: str
    policy: str
    how: str
    untriggered: str
    note: str


@functools.cache
def rows() -> dict[int, Row]:
    """All rows by number."""
    found = {}
    for name in ORDER:
        data = tomllib.loads((LAB / "catalogue" / f"{name}.toml").read_text())
        for item in data["row"]:
            item["arch"] = tuple(item["arch"])
            row = Row(section=data["title"], **item)
            found[row.number] = row
    return found


@functools.cache
def callbacks() -> dict[str, int]:
    """Callbacks that an isolated CPU has been asked for, and their rows."""
    data = tomllib.loads((LAB / "catalogue" / "callbacks.toml").read_text())
    return {name: int(row) for name, row in data["callbacks"].items()}


def untriggered(triggers: list[Trigger]) -> dict[int, str]:
    """Rows that no trigger realises, and why."""
    realised = {n for t in triggers for n in t.rows}
    return {n: r.untriggered for n, r in sorted(rows().items()) if n not in realised}


def open_rows(matrix_rows: list[dict[str, Any]]) -> list[int]:
    """Rows of the catalogue with neither a trigger nor a reason for having none."""
    return [int(r["row"]) for r in matrix_rows if not r["runs"] and r["why_not"] == ""]
