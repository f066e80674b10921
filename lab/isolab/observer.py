# SPDX-License-Identifier: GPL-2.0-or-later
"""The observer's plugin: built, given to QEMU, and what it wrote read."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from . import term
from .kernel import Kernel
from .paths import BUILD, LAB

Window = dict[str, Any]


def plugin() -> Path:
    out = BUILD / "lab" / "observer"
    done = subprocess.run(
        ["make", "-s", "-C", str(LAB / "observer"), f"O={out}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise term.LabError(f"building the observer failed:\n{done.stdout}")
    return out / "observer.so"


def arguments(kernel: Kernel, out: Path, heavy: bool, log: int = 64) -> list[str]:
    entries = ":".join(hex(a) for a in kernel.syscall_entries())
    options = f"{plugin()},out={out},syscall={entries},log={log}"
    return ["-plugin", options + (",heavy=on" if heavy else "")]


def pauses(path: Path) -> dict[int, dict[str, int]]:
    """How long it held the observed CPU when it was asked to, by window."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            item = json.loads(line)
        except json.JSONDecodeError:
            continue  # the last line of a QEMU that was killed
        if item["schema"] == "isolator.observer.pause":
            found[item["window"]] = {"asked_ns": item["asked_ns"], "ns": item["ns"]}
    return found


def read(kernel: Kernel, path: Path) -> tuple[dict[int, Window], Window | None]:
    """The windows by number, with symbols for addresses; and the observer's last word."""
    windows: dict[int, Window] = {}
    end = None
    if not path.exists():
        return windows, end
    for line in path.read_text().splitlines():
        try:
            item = json.loads(line)
        except json.JSONDecodeError:
            continue  # the last line of a QEMU that was killed
        if item["schema"] == "isolator.observer.end":
            end = item
        if item["schema"] != "isolator.observer.window":
            continue
        by_vector: Counter[str] = Counter()
        for vector in item["vectors"]:
            by_vector[kernel.symbol_at(int(vector["pc"], 16))] += vector["entries"]
        if item["vectors_dropped"]:
            by_vector["other"] += item["vectors_dropped"]
        item["entries_by_vector"] = dict(by_vector.most_common())
        for entry in item["log"]:
            entry["name"] = kernel.symbol_at(int(entry["pc"], 16))
        windows[item["window"]] = item
    return windows, end
