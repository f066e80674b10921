# SPDX-License-Identifier: GPL-2.0-or-later
"""What each command prints by default fits 100 columns, a whole screen 80."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import struct
import subprocess
import tempfile
import termios
from pathlib import Path

import pytest
from clitest import CLI, FIXTURES, PATIENCE_S, ROOT
from runtest import STOCK, Changes, Lay
from watchtest import Files, Looks, change, later

TEXT, SCREEN = 100, 80
LAST = str(max(os.sched_getaffinity(0)))
KILLED = "isolator-journal 1\nrun\t4711\t1\t./control\n"
# A machine with all that audit has words for.
BAD: Changes = {
    **STOCK, "/sys/kernel/irq/24/actions": "nvme0q0\n",
    "/proc/cmdline": "BOOT_IMAGE=/vmlinuz highres=off tsc=unstable nohz=off quiet\n",
    "/sys/devices/system/cpu/isolated": "\n", "/proc/swaps": "Filename\n/dev/sda2 p 1 0 -2\n",
    "/sys/kernel/debug/sched/preempt": "(none) voluntary full\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
    "/proc/self/limits": "Max locked memory  65536  65536\nMax realtime priority  0  0\n",
    "/run/isolator/run.1": KILLED, "/proc/4711/comm": "control\n",
    "/proc/4711/status": "Name:\tcontrol\nTgid:\t4711\nCpus_allowed_list:\t0-2\n",
    "/proc/4711/stat": f"4711 (control) S{' 0' * 49}\n",
}
# On a recorded machine, below it as it stands there.
RECORDED = [
    ["audit"], ["audit", "-c", "0-3"], ["audit", "--severity", "error"], ["audit", "--fix"],
    ["shield", "set", "--all", "3"], ["shield", "show"], ["restore"], ["attach", "4711", "-c", "3"],
    ["run", "-c", "3", "--", "true"], ["run", "-v", "-c", "3", "--policy", "fifo", "--", "true"],
    ["run", "-c", "0-3", "--", "true"], ["detach", "4711"], ["configure"],
    ["shield", "set", "--all", "0-3"], ["shield", "wrong"], ["audit", "-c", "9"],
]
# On this machine, whatever that is.
RUNNING = [
    ["audit"], ["audit", "-c", LAST], ["watch", "-n", "1", "--interval", "0.1"],
    ["watch", "-n", "1", "--interval", "0.1", "-c", LAST, "--zeros"], ["status"], ["why"],
    ["attach", "1", "-c", LAST], ["shield", "show"], ["restore"], ["interfere", "--list"],
    ["prove", "-c", LAST, "-t", "0.2"], ["prove", "-c", LAST, "-t", "0.2", "--threshold", "1us"],
    ["measure", "latency", "-c", LAST, "-t", "0.2"], ["measure", "noise", "-c", LAST, "-t", "0.2"],
    ["measure", "hardware", "-t", "0.2"], ["measure", "rtc", "-t", "0.2"],
    ["measure", "noise", "--method", "osnoise", "-t", "0.2"],
    ["measure", "latency", "--method", "timerlat", "-t", "0.2"],
    ["measure", "latency", "-t", "0.2", "--dma-latency", "0", "--limit", "max=1us"],
    ["export"], ["configure", "--check"], ["run", "-c", LAST, "--no-settings", "--", "true"],
]


def fits(text: str, columns: int = TEXT) -> None:
    """No line of @text is longer, or of blanks alone."""
    long = [line for line in text.splitlines() if len(line) > columns]
    assert not long, long
    assert not [line for line in text.splitlines() if line and not line.strip()]


def said(*words: str | Path) -> str:
    """What a command prints, and its errors as a terminal shows them."""
    here, there = os.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 30, TEXT, 0, 0))
    with tempfile.TemporaryFile() as printed, subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=printed, stderr=there) as process:
        os.close(there)
        errors = b""
        # A terminal that nobody writes to any more is at its end by EIO.
        with contextlib.suppress(OSError):
            while part := os.read(here, 65536):
                errors += part
        os.close(here)
        assert process.wait(PATIENCE_S) >= 0
        printed.seek(0)
        text = printed.read().decode()
    # Of a line that is written again and again the last one stays.
    shown = "\n".join(re.split(r"\r|\033\[2?K", line)[-1]
                      for line in errors.decode().replace("\r\n", "\n").split("\n"))
    assert text + shown
    return text + shown


@pytest.mark.parametrize("words", RECORDED, ids=" ".join)
def test_recorded(isolator: Path, lay: Lay, words: list[str]) -> None:
    """Of a machine that has much to be said of it."""
    root = lay(BAD)
    after = 2 if words[0] == "shield" else 1
    fits(said(isolator, *words[:after], "--root", root, *words[after:]))


@pytest.mark.parametrize("name", [path.name for path in (CLI / "tests/captures").iterdir()])
def test_captures(isolator: Path, looks: Looks, name: str, request: pytest.FixtureRequest) -> None:
    """Each recorded machine, by each command that takes one."""
    if not name.startswith("watch"):
        fits(said(isolator, "audit", "--root", request.getfixturevalue("lay")()))
        return
    files: Files = request.getfixturevalue("arm64" if "arm64" in name else "x86")
    fits(looks.text(files, files, "all", "c=1"))


@pytest.mark.parametrize("fixture", FIXTURES)
@pytest.mark.parametrize("command", ["status", "why"])
def test_fixtures(isolator: Path, laid_out: Path, command: str, fixture: str) -> None:
    """What the kernel part shows, of each recorded kernel."""
    fits(said(isolator, command, "--proc", laid_out / fixture))


@pytest.mark.parametrize("words", RUNNING, ids=" ".join)
def test_this_machine(isolator: Path, words: list[str]) -> None:
    """As a user types it."""
    fits(said(isolator, *words))


def test_the_name_survives(looks: Looks, x86: Files) -> None:
    """On a screen of 80 columns each device is called by its name, and nothing is cut."""
    names = {"36": "virtio1-req.0", "32": "virtio0-reporting_vq", "26": "ttyS0",
             "LOC": "Local timer"}
    now = later(x86, {"36": {1: 4000000}, "32": {0: 9000}, "26": {1: 2},
                      "LOC": {0: 500, 1: 2000000}})
    text = looks.text(x86, now, f"screen=30x{SCREEN}", "c=1")
    fits(text, SCREEN)
    for label, name in names.items():
        line = next(x for x in text.splitlines() if f"  {label} " in x)
        assert name in line and "PCI" not in line and "edge" not in line
    assert "protected: 1 (option), others: 0" in text


def test_arm64_names(looks: Looks, arm64: Files) -> None:
    """A chip's own way of counting is left out there too."""
    text = looks.text(arm64, later(arm64, {"43": {2: 12}, "51": {2: 4}}), "c=2")
    assert "  43   uart-pl011" in text or "  43  uart-pl011" in text
    assert "virtio2-req.0" in text and "GICv3" not in text and "Edge" not in text


def test_a_name_without_a_chip(looks: Looks, x86: Files) -> None:
    """What is not understood is shown whole."""
    text = x86["/proc/interrupts"][0].replace("IO-APIC   4-edge      ttyS0", "strange words")
    files = change(x86, __proc__interrupts=text)
    assert "  strange words  " in looks.text(files, later(files, {"26": {1: 2}}), "c=1")


@pytest.mark.skipif(not ROOT, reason="only root may look into the journals")
def test_a_run_that_was_killed(isolator: Path, lay: Lay) -> None:
    """Commands that look at a machine tell of it, and of what undoes it."""
    root = lay({**STOCK, "/run/isolator/run.1": KILLED})
    told = "PID 4711 (./control) ended without undoing what it changed for CPU 1: isolator restore"
    for words in (["audit"], ["shield", "show"], ["status", "--proc", "/nowhere"]):
        after = 2 if words[0] == "shield" else 1
        text = said(isolator, *words[:after], "--root", root, *words[after:])
        assert told in text and text.rstrip().endswith("undoes it"), text
    said(isolator, "restore", "--root", root)
    assert "without undoing" not in said(isolator, "audit", "--root", root)
