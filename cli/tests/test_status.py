# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator status: whose an isolation is, limits."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from clitest import run


def _thread(root: Path, pid: int, tid: int, name: str, cpus: str,
            device: str = "/dev/isolator") -> None:
    process, thread = root / f"proc/{pid}", root / f"proc/{tid}"
    (process / "fd").mkdir(parents=True, exist_ok=True)
    if not (process / "fd/3").is_symlink():
        (process / "fd/3").symlink_to(device)
    (process / f"task/{tid}").mkdir(parents=True)
    thread.mkdir(exist_ok=True)
    (thread / "stat").write_text(f"{tid} ({name}) R{' 0' * 49}\n")
    (thread / "status").write_text(f"Name:\t{name}\nState:\tR (running)\n"
                                   f"Cpus_allowed:\tff\nCpus_allowed_list:\t{cpus}\n")


def test_holders(isolator: Path, laid_out: Path, tmp_path: Path) -> None:
    """A thread bound to the CPU alone, of a process that has the device."""
    root = tmp_path / "root"
    _thread(root, 40, 40, "motor", "0-3")
    _thread(root, 40, 41, "mo\033[2Jtor\\n 2", "1")
    _thread(root, 50, 50, "other", "1", device="/dev/null")
    _thread(root, 60, 60, "both", "1,3")
    _thread(root, 70, 70, "longer name", "/dev/isolator", device="/dev/isolator2")
    _thread(root, 80, 81, "second", "1")
    (root / "proc/self").symlink_to("40")
    document = run(isolator, "status", laid_out / "busy", "--root", str(root))
    holders = {cpu["cpu"]: sorted((h["name"], h["pid"], h["tid"]) for h in cpu["holders"])
               for cpu in document["cpus"]}
    assert holders == {1: [("mo\033[2Jtor\\n 2", 40, 41), ("second", 80, 81)], 2: [], 3: []}
    text = subprocess.run([isolator, "status", "--proc", laid_out / "busy",
                           "--root", root], capture_output=True, text=True, check=True)
    assert "mo?[2Jtor\\n 2 (pid 40, thread 41)" in text.stdout and " or " in text.stdout
    assert "\033" not in text.stdout


def test_limits(isolator: Path, laid_out: Path) -> None:
    """They are as the kernel writes them, null where they cannot be read."""
    want = {"deadline_ns": 3600000000000, "spin_ns": 1000000000, "perf": "refuse", "msr": "hold"}
    assert run(isolator, "status", laid_out / "busy")["limits"] == want
    (laid_out / "busy/limits").unlink()
    assert run(isolator, "status", laid_out / "busy")["limits"] is None


@pytest.mark.parametrize("text", ["", "deadline_ns 1\n", "deadline_ns x\n", "deadline_ns\n",
                                  "spin_ns 1\nperf hold\nmsr hold\n", "deadline_ns 1", "\n",
                                  "deadline_ns 1\nspin_ns 1\nperf\nmsr hold\n"])
def test_damaged_limits(isolator: Path, laid_out: Path, text: str) -> None:
    """An error that names the file."""
    (laid_out / "busy/limits").write_text(text)
    done = subprocess.run([isolator, "status", "--proc", laid_out / "busy"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "busy/limits" in done.stderr and not done.stdout


def test_newer_limits(isolator: Path, laid_out: Path) -> None:
    """What a newer kernel adds is passed over."""
    limits = laid_out / "busy/limits"
    limits.write_text("weather fine\n" + limits.read_text())
    assert run(isolator, "status", laid_out / "busy")["limits"]["perf"] == "refuse"
