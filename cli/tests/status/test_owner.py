# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator status: whose an isolation is, limits."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from clitest import flat, run


def _thread(root: Path, pid: int, tid: int, name: str, cpus: str,
            device: str = "/dev/isolator") -> None:
    process, thread = root / f"proc/{pid}", root / f"proc/{tid}"
    (process / "fd").mkdir(parents=True, exist_ok=True)
    if not (process / "fd/3").is_symlink():
        (process / "fd/3").symlink_to(device)
    (process / f"task/{tid}").mkdir(parents=True)
    thread.mkdir(exist_ok=True)
    (thread / "stat").write_text(f"{tid} ({name}) R{' 0' * 49}\n")
    (thread / "status").write_text(f"Name:\t{name}\nState:\tR (running)\nTgid:\t{pid}\n"
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


def _owner(directory: Path, more: str) -> None:
    """The status of a kernel that says more of CPU 1."""
    status = directory / "status"
    text = status.read_text()
    assert text.count("yield_ns 500000 user 1 ") == 1
    status.write_text(text.replace("yield_ns 500000 user 1 ", f"yield_ns 500000 {more} user 1 "))


@pytest.mark.parametrize(("more", "want", "words"), [
    ("batch_ns 20000000 auto_tick 1 owner 41", (20000000, True, 41),
     "  by motor (pid 40, thread 41), for TIME; kernel entries tick; batch period 20 ms\n"),
    ("batch_ns 0 auto_tick 0 owner 41", (0, False, 41),
     "  by motor (pid 40, thread 41), for TIME; kernel entries do not tick; no batch period\n"),
    ("batch_ns 0 auto_tick 1 owner 99", (0, True, 99),
     "  by thread 99, for TIME; kernel entries tick; no batch period\n"),
    ("batch_ns 0 auto_tick 1 owner 0", (0, True, 0), "  by a thread that is not seen from here "
     "(run it outside of containers), for TIME; kernel entries tick; no batch period\n"),
    ("owner 41", (None, None, 41), "  by motor (pid 40, thread 41), for TIME\n"),
    ("", (None, None, None), "  by second (pid 80, thread 81), for TIME\n")])
def test_owner(isolator: Path, laid_out: Path, tmp_path: Path, more: str,
               want: tuple[int | None, bool | None, int | None], words: str) -> None:
    """The kernel's word goes before what the device and the binding suggest."""
    root = tmp_path / "root"
    _thread(root, 40, 41, "motor", "0-3", device="/dev/null")
    _thread(root, 80, 81, "second", "1")
    if more:
        _owner(laid_out / "busy", more)
    cpu = run(isolator, "status", laid_out / "busy", "--root", str(root))["cpus"][0]
    status = cpu["status"]
    assert (status["batch_ns"], status["auto_tick"], status["owner"]) == want
    holders = {41: [("motor", 40, 41)], None: [("second", 80, 81)]}.get(want[2], [])
    assert [(h["name"], h["pid"], h["tid"]) for h in cpu["holders"]] == holders
    text = subprocess.run([isolator, "status", "--proc", laid_out / "busy", "--root", root],
                          capture_output=True, text=True, check=True).stdout
    text = " ".join(text.split())  # whatever the lines
    assert " ".join(words.split()) in re.sub(r"for [0-9.]+ m?s", "for TIME", text)


@pytest.mark.parametrize("more", ["batch_ns x", "auto_tick", "owner", "owner x", "owner 1 owner 1"])
def test_damaged_owner(isolator: Path, laid_out: Path, more: str) -> None:
    """An error that names the file."""
    _owner(laid_out / "busy", more)
    done = subprocess.run([isolator, "status", "--proc", laid_out / "busy"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "busy/status" in flat(done.stderr) and not done.stdout


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
    done = subprocess.run([isolator, "status", "--proc", laid_out / "busy"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "busy/limits" in flat(done.stderr) and not done.stdout


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
    done = subprocess.run([isolator, "status", "--proc", laid_out / "busy"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and "a limit is not in it" in flat(done.stderr) and not done.stdout
