# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator watch: tables that are large, random, damaged or hostile."""

from __future__ import annotations

import json
import random
import subprocess

from watchtest import (
    INTERRUPTS,
    SOFTIRQS,
    VALIDATOR,
    Files,
    Looks,
    change,
    later,
    lay,
    sums,
)


def _large(cpus: int, rows: int, seed: int) -> tuple[str, str, dict[str, list[int]]]:
    """Two tables, and what came between them by row and CPU."""
    rng = random.Random(seed)
    head = "     " + "".join(f"       CPU{n:<4}" for n in range(cpus)) + "\n"
    before, now, came = [head], [head], {}
    for n in range(rows):
        old = [rng.choice([0, 7, 2**31, 2**32 - 3]) for _ in range(cpus)]
        more = [rng.choice([0, 0, 0, 1, 5]) for _ in range(cpus)]
        tail = f"  IR-PCI-MSIX-0000:01:00.0 {n:4}-edge      queue-{n}\n"
        before.append(f"{n:4}:" + "".join(f" {c:10}" for c in old) + tail)
        now.append(f"{n:4}:" + "".join(f" {(c + m) % 2**32:10}" for c, m in
                                       zip(old, more, strict=True)) + tail)
        came[str(n)] = more
    return "".join(before), "".join(now), came


def test_256_cpus_and_2000_rows(looks: Looks) -> None:
    """No count is lost, cut or folded into another."""
    before, now, came = _large(256, 2000, 1)
    files: Files = {INTERRUPTS: (before, 0o444), SOFTIRQS: ("CPU0\nRCU: 0\n", 0o444)}
    # Not against the schema, which takes a minute for 200 000 counts.
    document = json.loads(looks.text(files, change(files, __proc__interrupts=now), "json",
                                     "c=255,128-130", "all"))
    sums(document)
    assert len(document["interrupts"]) == 2000
    for found in document["interrupts"]:
        want = came[found["label"]]
        assert [(c["cpu"], c["count"]) for c in found["cpus"]] == \
            [(n, m) for n, m in enumerate(want) if m]
        assert found["hits"] == want[128] + want[129] + want[130] + want[255]
    assert document["count"] == sum(map(sum, came.values()))
    assert [c["cpu"] for c in document["cpus"]][:4] == sorted(
        [128, 129, 130, 255], key=lambda n: (-sum(w[n] for w in came.values()), n))
    text = looks.text(files, change(files, __proc__interrupts=now), "c=255,128-130", "top=3")
    assert "  1997 more: --top 0 shows all" in text


def test_random_machines_add_up(looks: Looks) -> None:
    """Rows, classes, CPUs and totals agree whatever comes (the checks are in json())."""
    for seed in range(8):
        rng = random.Random(seed)
        cpus, rows = rng.randint(1, 9), rng.randint(1, 30)
        before, now, came = _large(cpus, rows, seed)
        files: Files = {INTERRUPTS: (before, 0o444)}
        document = looks.json(files, change(files, __proc__interrupts=now), f"c={cpus - 1}",
                              seconds=rng.choice([0.001, 1.0, 86400.0]))
        assert document["count"] == sum(map(sum, came.values()))


def test_garbage_is_survived(looks: Looks, x86: Files) -> None:
    """Bytes that are no table end in an error or a document, never worse."""
    rng = random.Random(3)
    text = x86[INTERRUPTS][0]
    for n in range(25):
        at = rng.randrange(len(text))
        bad = text[:at] + rng.choice(["", "\n", ":", "9" * 30, "CPU9", "-1", " "]) + \
            text[at + rng.randrange(20):]
        files = change(x86, __proc__interrupts=bad)
        roots = [lay(files, looks.directory / f"g{n}"), lay(x86, looks.directory / "good")]
        for order in (roots, roots[::-1]):
            done = subprocess.run([looks.program, "1", *order, "json", "c=1"],
                                  capture_output=True, text=True, check=False)
            assert done.returncode in (1, 10), done.stderr
            # A sanitizer ends a program by 1, too.
            assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
            if done.returncode == 10:
                VALIDATOR.validate(json.loads(done.stdout))


def test_names_cannot_steer_the_terminal(looks: Looks, x86: Files) -> None:
    """A device's name is a stranger's."""
    evil = change(x86, __proc__interrupts=x86[INTERRUPTS][0].replace("virtio3-tx",
                                                                    "vi\033[2Jrtio\x07"))
    for words in ([], ["screen=30x100"]):
        text = looks.text(evil, later(evil, {"42": {1: 8}}), "c=1", *words)
        assert "\033" not in text and "\x07" not in text and "vi?[2Jrtio?" in text
