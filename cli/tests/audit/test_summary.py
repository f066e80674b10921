# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator audit for people: what its last lines count, and what its fixes are."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from runtest import IRQ, RUNTIME, STOCK, Lay, tree

ACTIONS = "/sys/kernel/irq/{}/actions"


def text(isolator: Path, root: Path, *arguments: str) -> str:
    """The text of an audit of CPU 3."""
    done = subprocess.run([isolator, "audit", "-c", "3", "--root", root, *arguments],
                          capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout


def test_what_is_counted(isolator: Path, lay: Lay) -> None:
    """Warnings are the headings that one sees, not the files below them."""
    said = text(isolator, lay(STOCK))
    warnings = len(re.findall(r"^  warning ", said, re.MULTILINE))
    assert len(re.findall(r"^    /proc/irq/[0-9]+/", said, re.MULTILINE)) > 1
    assert f"CPU 3: not fit: {warnings} warnings" in said
    assert re.search(r"^--fix changes \d+ settings now; isolator restore undoes that$", said,
                     re.MULTILINE)


def test_severity_error(isolator: Path, lay: Lay) -> None:
    """A machine with warnings is not called fit because they do not count."""
    said = text(isolator, lay(STOCK), "--severity", "error")
    assert "CPU 3: no error: " in said and "fit" not in said.splitlines()[-1]


def test_whose_interrupt(isolator: Path, lay: Lay) -> None:
    """The device stands behind the number, without control characters."""
    root = lay({**STOCK, ACTIONS.format(24): "nvme0q3\n", ACTIONS.format(9): "ac\033pi\n"})
    said = text(isolator, root)
    assert f"    {IRQ} (nvme0q3): 0-3\n" in said
    assert "    /proc/irq/9/smp_affinity_list (ac?pi): 0-3\n" in said


def test_fix_says_what_undoes_it(isolator: Path, lay: Lay) -> None:
    """At its end; and what undoes it does."""
    root = lay(STOCK)
    before = tree(root)
    said = text(isolator, root, "--fix").splitlines()
    assert re.fullmatch(r"\d+ settings fixed now; isolator restore undoes this", said[-1])
    subprocess.run([isolator, "restore", "--root", root], check=True, capture_output=True)
    assert tree(root) == before


def test_plain_fix_leaves_the_limit_of_real_time_tasks(isolator: Path, lay: Lay) -> None:
    """Which is one for all CPUs and users; whoever asks for more gets it."""
    root = lay(STOCK)
    said = text(isolator, root, "--fix")
    runtime = root / RUNTIME[1:]
    assert "can hang its CPU" in " ".join(said.split()) and runtime.read_text() == "950000\n"
    text(isolator, root, "--fix", "--severity", "info")
    assert runtime.read_text() == "-1\n"


def test_fixes_are_commands(isolator: Path, lay: Lay) -> None:
    """What does not say `boot` or give advice is a line that a shell takes."""
    limits = "Max locked memory  65536  65536\nMax realtime priority  0  0\n"
    said = text(isolator, lay({**STOCK, "/proc/self/limits": limits,
                               "/proc/self/status": "Name:\tx\nCapEff:\t0\n"}))
    fixes = re.findall(r"^      (?:fix|undo):  ?(\S.*)$", said, re.MULTILINE)
    assert "isolator shield set --processes 3" in fixes
    assert "isolator shield clear --processes 3" in fixes
    assert sum("limits.d" in fix for fix in fixes) == 4
    for fix in fixes:
        if fix.split()[0] in ("echo", "isolator", "systemctl", "rm", "swapoff", "swapon"):
            subprocess.run(["bash", "-n", "-c", fix], check=True)
            assert " and " not in fix.split("#")[0], fix


def test_one_answer_where_the_kernel_comes_from(isolator: Path, lay: Lay) -> None:
    """By audit and by all that miss it."""
    answer = "install the packages that make deb-kernel builds from the Isolator sources"
    assert answer in text(isolator, lay(STOCK))
    task = {"/proc/1/status": "Name:\tinit\nTgid:\t1\nCpus_allowed_list:\t0-3\n",
            "/proc/1/stat": f"1 (init) S{' 0' * 49}\n"}
    asked = subprocess.run([isolator, "attach", "1", "-c", "3", "--root", lay({**STOCK, **task})],
                           text=True, capture_output=True, check=False).stderr
    assert answer in " ".join(asked.split())
    assert "\n  isolator shield set --all 3\n  taskset -pc 3 1\n" in asked
