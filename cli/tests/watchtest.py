# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded machines, what comes between two looks at them, and what isolator watch shows."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from clitest import schema

INTERRUPTS, SOFTIRQS = "/proc/interrupts", "/proc/softirqs"
PASS, EXCEEDED, INCONCLUSIVE = 1, 2, 3
VALIDATOR = schema("watch")

Files = dict[str, tuple[str, int]]
Counts = dict[str, dict[int, int]]


def lay(files: Files, root: Path) -> Path:
    """@files below @root."""
    for name, (text, mode) in files.items():
        file = root / name[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
    return root


def change(files: Files, **texts: str | None) -> Files:
    """Other texts, by paths with "__" for "/" and "_o_" for "."; None: no such file."""
    new = dict(files)
    for name, text in texts.items():
        path = name.replace("__", "/").replace("_o_", ".")
        mode = new.pop(path, ("", 0o644))[1]
        if text is not None:
            new[path] = (text, mode)
    return new


def add(text: str, more: Counts) -> str:
    """The table with @more added, by row and CPU; as the kernel's 32 bits hold it."""
    lines = text.splitlines()
    cpus = [int(n) for n in re.findall(r"CPU(\d+)", lines[0])]
    done = set()
    for at, line in enumerate(lines):
        label, colon, rest = line.partition(":")
        if not colon or label.strip() not in more:
            continue
        counts = rest.split()[:len(cpus)]
        tail = re.sub(rf"^( *\d+){{{len(cpus)}}}", "", rest)
        new = [(int(n) + more[label.strip()].get(cpu, 0)) % 2**32
               for n, cpu in zip(counts, cpus, strict=True)]
        lines[at] = label + ":" + "".join(f" {n:10}" for n in new) + tail
        done.add(label.strip())
    assert done == set(more)
    return "\n".join(lines) + "\n"


def later(files: Files, interrupts: Counts, softirqs: Counts | None = None) -> Files:
    """The same machine after these came."""
    return change(files, __proc__interrupts=add(files[INTERRUPTS][0], interrupts),
                  __proc__softirqs=add(files[SOFTIRQS][0], softirqs or {}))


class Looks:
    """Two looks, and what is shown of them."""

    def __init__(self, program: Path, directory: Path) -> None:
        self.program, self.directory = program, directory
        self.code = self.number = 0

    def text(self, before: Files, now: Files, *words: str, seconds: float = 2,
             **how: Any) -> str:
        """In plain lines, or as @words say."""
        self.number += 1
        roots = [lay(files, self.directory / f"{which}-{self.number}")
                 for which, files in (("before", before), ("now", now))]
        done = subprocess.run([self.program, str(seconds), *roots, *words], capture_output=True,
                              text=True, check=False, **how)
        assert done.returncode >= 10 and not done.stderr, done.stderr
        self.code = done.returncode - 10
        return done.stdout

    def json(self, before: Files, now: Files, *words: str, **how: Any) -> dict[str, Any]:
        """As a document, whose parts belong together."""
        document: dict[str, Any] = json.loads(self.text(before, now, "json", *words, **how))
        VALIDATOR.validate(document)
        sums(document)
        return document


def sums(document: dict[str, Any]) -> None:
    """Rows, classes and CPUs say the same."""
    rows = document["interrupts"]
    guarded = {c["cpu"] for c in document["cpus"] if c["protected"]}
    for key, total in (("count", document["count"]), ("hits", document["hits"])):
        assert sum(row[key] for row in rows) == total
    assert sum(document["classes"].values()) == document["count"]
    assert sum(document["class_hits"].values()) == document["hits"]
    assert sum(c["interrupts"] for c in document["cpus"]) == document["count"]
    assert sum(c["interrupts"] for c in document["cpus"] if c["protected"]) == document["hits"]
    for row in rows + (document["softirqs"] or []):
        assert sum(c["count"] for c in row["cpus"]) == row["count"]
        assert sum(c["count"] for c in row["cpus"] if c["cpu"] in guarded) == row["hits"]
        assert abs(row["rate"] - row["count"] / document["seconds"]) < 0.001
    for cpu in document["cpus"]:
        assert sum(cpu["classes"].values()) == cpu["interrupts"]
    keys = [(-row["hits"], -row["count"]) for row in rows]
    assert keys == sorted(keys)


def row(document: dict[str, Any], label: str, where: str = "interrupts") -> dict[str, Any]:
    """The row of this label."""
    found: dict[str, Any] = next(r for r in document[where] if r["label"] == label)
    return found
