# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator audit: what it tells people."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

from audittest import CLOCK, CMDLINE, CPU, IRQ, LIMITS, LOCKED, PRIORITY, Changes, Lay, text
from clitest import CLI, NOBODY

# What the manual page shows.
SAMPLE: Changes = {
    f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave\n", IRQ: "2\n",
    "/proc/irq/9/smp_affinity_list": "2\n", "/sys/class/dmi/id/sys_vendor": "QEMU\n",
    "/proc/sys/kernel/watchdog_cpumask": "0-3\n",
    CMDLINE: "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro nohz=off tsc=reliable loglevel=7\n",
}


def test_commands_are_one_command(isolator: Path, lay: Lay) -> None:
    """What files of a capture hold is a word of the command shown, and no command."""
    hostile = "powersave; id>/tmp/x # $(id)"
    files = [f"{CPU}/cpu{cpu}/cpufreq/scaling_governor" for cpu in (1, 2, 3)]
    for count in (1, 3):  # told alone, and together
        root = lay(dict.fromkeys(files[:count], hostile + "\n"), f"root{count}")
        lines = text(isolator, root).splitlines()
        [fix] = [line.split(":", 1)[1] for line in lines if re.match(" +fix( each)?:", line)]
        [undo] = [line.split(":", 1)[1] for line in lines if re.match(" +undo( each)?:", line)]
        where = files[0] if count == 1 else "FILE"
        for command, value in ((fix, "performance"), (undo, hostile)):
            words = list(shlex.shlex(command, posix=True, punctuation_chars=True))
            assert words == ["echo", value, ">", where]


def test_sample_of_the_manual(isolator: Path, lay: Lay) -> None:
    """The page shows what is printed."""
    page = (CLI / "man/isolator-audit.1").read_text()
    shown = page.split("# isolator audit \\-c 1\\-3\n")[1].split(".EE")[0]
    assert text(isolator, lay(SAMPLE)) == shown.replace("\\-", "-").replace("\\&", "")


def verdict(said: str) -> str:
    """The line that begins with the CPUs, and all behind it."""
    lines = said.splitlines()
    at = max(n for n, line in enumerate(lines) if line.startswith("CPU 1-3: "))
    return " ".join(lines[at:])


def test_verdicts(isolator: Path, lay: Lay) -> None:
    """The verdict comes last, and says what it is worth."""
    last = {}
    for name, changes, arguments in (
            ("good", {}, []), ("note", {f"{CPU}/intel_pstate/no_turbo": "0\n"}, []),
            ("fixed", {IRQ: "2\n"}, ["--fix"]), ("wrong", {IRQ: "2\n", **LIMITED}, [])):
        last[name] = verdict(text(isolator, lay(changes, name), *arguments))
    root = lay({}, "denied")
    (root / "proc/sys/vm/stat_interval").chmod(0)
    (root / "sys/module/kfence/parameters/sample_interval").chmod(0o644)
    last["denied"] = verdict(text(isolator, root, **NOBODY))
    checks = last["good"].split()[-2]
    assert last == {
        "good": f"CPU 1-3: fit: nothing found by {checks} checks",
        "note": f"CPU 1-3: fit: 1 note from {checks} checks",
        "fixed": f"CPU 1-3: fit: nothing found by {checks} checks "
                 "1 setting fixed now; isolator restore undoes this",
        "wrong": f"CPU 1-3: not fit: 2 warnings from {checks} checks "
                 "--fix changes 1 setting now; isolator restore undoes that",
        "denied": "CPU 1-3: fit, as far as files were readable: nothing found by "
                  f"{int(checks) - 1} checks, 1 file not readable"}


LIMITED: Changes = {"/proc/self/limits": LIMITS + LOCKED.format("unlimited") + PRIORITY.format(0)}


def test_colours(isolator: Path, lay: Lay) -> None:
    """On a terminal, what is bad is red; elsewhere nothing is."""
    root = lay({f"{CLOCK}/current_clocksource": "hpet\n"})
    here, there = pty.openpty()
    with open(here, "rb", buffering=0) as terminal:
        subprocess.run([isolator, "audit", "--root", root], stdout=there, check=False,
                       env={"TERM": "xterm"})
        os.close(there)
        said = terminal.read(65536).decode()
    assert "\033[1;31merror  \033[0m  timer.clocksource" in said
    assert "\033[1;31mCPU 1-3: not fit\033[0m" in said
    assert "\033" not in text(isolator, root, env={"TERM": "xterm"})


def test_names_cannot_steer_a_terminal(isolator: Path, lay: Lay) -> None:
    """What stands in files is text, whatever it is."""
    said = text(isolator, lay({f"{CPU}/cpu1/cpufreq/scaling_governor": "power\033[31m\a\x9bave\n"}))
    assert "power?[31m?" in said and "\033" not in said and "\x9b" not in said
