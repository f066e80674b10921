# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugins of QEMU: built, given to it, and what they wrote read."""

import functools
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import term
from ..paths import BUILD, LAB
from . import machine
from .kernel import DELIVER, KICK, Kernel

Window = dict[str, Any]
LOG = 64  # entries of a window that are kept one by one


@functools.cache
def _built() -> Path:
    out = BUILD / "lab" / "observer"
    done = subprocess.run(["make", "-s", "-C", str(LAB / "observer"), f"O={out}"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise term.LabError(f"building the observer failed:\n{done.stdout}")
    return out


def arguments(kernel: Kernel, out: Path, heavy: bool) -> list[str]:
    entries = ":".join(hex(a) for a in kernel.syscall_entries())
    options = f"{_built() / 'observer.so'},out={out},syscall={entries},log={LOG}"
    by_name = kernel.symbols[2]
    arm = kernel.machine is machine.ARM64
    kick = kernel.machine.kinds["calls"][0] if arm else f"asm_{KICK}"
    for option, symbol in (("kick", kick), ("deliver", DELIVER)):
        if symbol in by_name:
            options += f",{option}={by_name[symbol]:#x}"
    lists = {"vectors": kernel.vectors(), **kernel.causes} if arm else {}
    for option, addresses in lists.items():
        options += f",{option}=" + ":".join(map(hex, addresses)) if addresses else ""
    return ["-plugin", options + (",heavy=on" if heavy else "")]


def stale_arguments(out: Path) -> list[str]:
    return ["-plugin", f"{_built() / 'stale.so'},out={out}"]


def section_arguments(out: Path) -> list[str]:
    return ["-plugin", f"{_built() / 'section.so'},out={out}"]


def coverage_arguments(out: Path, ranges: Path) -> list[str]:
    return ["-plugin", f"{_built() / 'coverage.so'},out={out},ranges={ranges}"]


def ways_arguments(out: Path, options: str) -> list[str]:
    return ["-plugin", f"{_built() / 'ways.so'},out={out},{options}"]


def park_arguments(out: Path, options: str) -> list[str]:
    return ["-plugin", f"{_built() / 'park.so'},out={out},{options}"]


def _items(path: Path) -> Iterator[dict[str, Any]]:
    lines = path.read_text().splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            item = json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines):  # of a QEMU that was killed
                return
            said = f"{path}, line {number}: a plugin wrote no JSON: {error}"
            raise term.LabError(said) from error
        yield item


def stale(kernel: Kernel, path: Path) -> frozenset[tuple[int, str]]:
    """Which CPU executed text that memory did not hold, and where.

    On x86-64 a breakpoint, its last at that place; on arm64 what a static key switches.
    """
    last = {(item["vcpu"], item["pc"]): item["memory"] for item in _items(path)}
    return frozenset(
        (vcpu, name)
        for (vcpu, pc), memory in last.items()
        if memory != "cc"
        for name in kernel.places(int(pc, 16))
    )


def sections(kernel: Kernel, path: Path) -> list[dict[str, Any]]:
    """What each CPU executed in quiet sections of the kernel: blocks, with symbols."""
    found = [item for item in _items(path) if item["schema"] == "isolator.observer.section"]
    for item in found:
        for block in item["blocks"]:
            block["pc"] = int(block["pc"], 16)
            block["name"] = kernel.symbol_at(block["pc"])
    return found


def covered(path: Path) -> tuple[list[tuple[int, int]], int | None]:
    """Begin and end of the blocks that were executed; how many had no place, None: not told."""
    blocks, dropped = [], None
    for item in _items(path):
        if item["schema"] == "isolator.observer.block":
            blocks.append((int(item["begin"], 16), int(item["end"], 16)))
        if item["schema"] == "isolator.observer.blocks":
            dropped = item["dropped"]
    return blocks, dropped


def ways(path: Path) -> dict[str, int]:
    """How many ways began and ended, and how many blocks had no place; none: it has not told."""
    return next((item for item in _items(path) if item["schema"] == "isolator.observer.ways"), {})


def parked(path: Path) -> dict[int, dict[str, Any]]:
    """What became of each trial of the plugin park, by number; the last one of it."""
    return {item["trial"]: item for item in _items(path)}


def pauses(path: Path) -> dict[int, dict[str, int]]:
    """How long it held the observed CPU when it was asked to, by window."""
    found = {}
    for item in _items(path):
        if item["schema"] == "isolator.observer.pause":
            found[item["window"]] = {"asked_ns": item["asked_ns"], "ns": item["ns"]}
    return found


def read(kernel: Kernel, path: Path) -> tuple[dict[int, Window], Window | None]:
    """The windows by number, with symbols for addresses; and the observer's last word."""
    windows: dict[int, Window] = {}
    end = None
    for item in _items(path):
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
