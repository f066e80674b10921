# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator status: whose an isolation is, limits."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from clitest import flat, run
from exporttest import machine


def _owner(directory: Path, more: str) -> None:
    """Something else of whose CPU 1 is, and of who ticks."""
    status = directory / "status"
    text = status.read_text()
    assert text.count(" batch_ns 0 auto_tick 1 owner 5000041 ") == 1
    status.write_text(text.replace("batch_ns 0 auto_tick 1 owner 5000041", more))


@pytest.mark.parametrize(("more", "want", "words"), [
    ("batch_ns 20000000 auto_tick 1 owner 41", (20000000, True, 41),
     "  by mo?[2Jtor\\n 2 (pid 40, thread 41), for TIME; kernel entries tick; batch period 20 ms"),
    ("batch_ns 0 auto_tick 0 owner 41", (0, False, 41),
     "  by mo?[2Jtor\\n 2 (pid 40, thread 41), for TIME; kernel entries do not tick; "
     "no batch period"),
    ("batch_ns 0 auto_tick 1 owner 99", (0, True, 99),
     "  by thread 99, for TIME; kernel entries tick; no batch period"),
    ("batch_ns 0 auto_tick 1 owner 0", (0, True, 0), "  by a thread that is not seen from here "
     "(run it outside of containers), for TIME; kernel entries tick; no batch period")])
def test_owner(isolator: Path, laid_out: Path, tmp_path: Path, more: str,
               want: tuple[int, bool, int], words: str) -> None:
    """As the kernel says, with the name that the thread has given itself."""
    root = machine(tmp_path / "root", "mo\033[2Jtor\\n 2")
    _owner(laid_out / "busy", more)
    cpus = run(isolator, "status", laid_out / "busy", "--root", str(root))["cpus"]
    status = cpus[0]["status"]
    assert (status["batch_ns"], status["auto_tick"], status["owner"]) == want
    assert [cpu["holder"] for cpu in cpus] == [
        {"name": "mo\033[2Jtor\\n 2", "pid": 40, "tid": 41} if want[2] == 41 else None, None, None]
    text = subprocess.run([isolator, "status", "--proc", laid_out / "busy", "--root", root],
                          capture_output=True, text=True, check=True).stdout
    text = " ".join(text.split())  # whatever the lines
    assert " ".join(words.split()) in re.sub(r"for [0-9.]+ m?s", "for TIME", text)


def _refused(isolator: Path, directory: Path, *says: str) -> None:
    """A file that is not as the kernel writes it."""
    done = subprocess.run([isolator, "status", "--proc", directory], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and not done.stdout
    assert all(word in flat(done.stderr) for word in says)


@pytest.mark.parametrize("more", [
    "batch_ns x auto_tick 0 owner 1", "batch_ns 0 auto_tick owner 1",
    "batch_ns 0 auto_tick 0 owner", "batch_ns 0 auto_tick 0 owner x",
    "batch_ns 0 auto_tick 0 owner 1 owner 1", "batch_ns 0 auto_tick 0", "auto_tick 0 owner 1",
    "batch_ns 0 owner 1"])
def test_damaged_owner(isolator: Path, laid_out: Path, more: str) -> None:
    """An error that names the file, also where something is missing."""
    _owner(laid_out / "busy", more)
    _refused(isolator, laid_out / "busy", "busy/status")


def test_limits(isolator: Path, laid_out: Path) -> None:
    """They are as the kernel writes them, null where they cannot be read."""
    want = {"deadline_ns": 3600000000000, "spin_ns": 1000000000, "perf": "refuse", "msr": "queue"}
    assert run(isolator, "status", laid_out / "busy")["limits"] == want
    (laid_out / "busy/limits").unlink()
    assert run(isolator, "status", laid_out / "busy")["limits"] is None


@pytest.mark.parametrize("text", ["", "deadline_ns 1\n", "deadline_ns x\n", "deadline_ns\n",
                                  "spin_ns 1\nperf hold\nmsr hold\n", "deadline_ns 1", "\n",
                                  "deadline_ns 1\nspin_ns 1\nperf\nmsr hold\n"])
def test_damaged_limits(isolator: Path, laid_out: Path, text: str) -> None:
    """An error that names the file."""
    (laid_out / "busy/limits").write_text(text)
    _refused(isolator, laid_out / "busy", "busy/limits")


def test_newer_limits(isolator: Path, laid_out: Path) -> None:
    """What a newer kernel adds is passed over."""
    limits = laid_out / "busy/limits"
    limits.write_text("weather fine\n" + limits.read_text())
    assert run(isolator, "status", laid_out / "busy")["limits"]["perf"] == "refuse"


@pytest.mark.parametrize("key", ["deadline_ns", "spin_ns", "perf", "msr"])
def test_limits_are_all_there(isolator: Path, laid_out: Path, key: str) -> None:
    """A file without one of them is none that can be shown."""
    limits = laid_out / "busy/limits"
    lines = limits.read_text().splitlines(keepends=True)
    limits.write_text("".join(line for line in lines if line.split()[0] != key))
    assert len(limits.read_text().splitlines()) == len(lines) - 1
    _refused(isolator, laid_out / "busy", "busy/limits", "a limit is not in it")
