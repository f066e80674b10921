# SPDX-License-Identifier: GPL-2.0-or-later
"""What interrupts an isolated program in the distribution guest: counted, marked, provoked."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

CPU, HOUSEKEEPING = 1, 0
LAB = Path("/lab")
PROGRAMS = LAB / "programs"
PRELOAD = str(LAB / "lib" / "libisolator-preload.so")
STATS, STATUS = Path("/proc/isolator/stats"), Path("/proc/isolator/status")
TRIGGER_S = 30
# What they say of a CPU that may not be had: they did what they can.
REFUSED = ("perf-open", "affinity-task")


def counts(line: str) -> dict[str, int]:
    """CPU 1's line of the statistics of that name; empty if it has none yet."""
    found = re.search(rf"^cpu {CPU} {line} (.*)$", STATS.read_text(), re.MULTILINE)
    words = found[1].split() if found else []
    return {key: int(value) for key, value in zip(words[::2], words[1::2], strict=True)}


def interrupts() -> dict[str, int]:
    """Those of CPU 1, by the kernel's own count."""
    head, *lines = Path("/proc/interrupts").read_text().splitlines()
    at = head.split().index(f"CPU{CPU}")
    found = {}
    for line in lines:
        name, *fields = line.split()
        if len(fields) > at and fields[at].isdigit():
            found[name.rstrip(":")] = int(fields[at])
    return found


def grown(now: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    return {key: n - before.get(key, 0) for key, n in now.items() if n != before.get(key, 0)}


def mark(*words: str, cpu: int = HOUSEKEEPING) -> None:
    subprocess.run(["taskset", "-c", str(cpu), "/lab/bin/mark", *words], check=True)


@dataclass
class Trigger:
    name: str
    fired: int = 0
    bad: str = ""

    def fire(self, tid: int) -> None:
        environment = {**os.environ, "TASK_TID": str(tid), "TASK_PID": str(tid)}
        self.fired += 1
        try:
            answer = subprocess.run([f"/lab/triggers/{self.name}"], env=environment, text=True,
                                    capture_output=True, timeout=TRIGGER_S, check=False)
        except subprocess.TimeoutExpired:
            self.bad = self.bad or f"not back after {TRIGGER_S} s"
            return
        last = (answer.stdout.strip().splitlines() or ["{}"])[-1]
        said = json.loads(last) if last.startswith("{") else {}
        if not said.get("worked") or (said["outcome"] == "refused" and self.name not in REFUSED):
            self.bad = self.bad or f"{answer.stdout}{answer.stderr}".strip()


def triggers() -> list[Trigger]:
    return [Trigger(path.name) for path in sorted((LAB / "triggers").iterdir())]


def owner() -> int:
    """The thread that has CPU 1 for itself; 0: none."""
    found = re.search(rf"^cpu {CPU} isolated .* owner (\d+) ", STATUS.read_text(), re.MULTILINE)
    return int(found[1]) if found else 0
