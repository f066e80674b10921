# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's `causes`: what grew between two readings of /proc/isolator/senders."""

import shutil
import subprocess
from pathlib import Path

import pytest
from isolab.matrix import cells
from isolab.paths import LAB
from waiting import PATIENCE_S

LINE = "cpu 1 sender callback {0} kind call deferred {1} queued {2} longest_ns {3} comm {4}\n"


def _said(where: Path, before: list[str], after: list[str]) -> str:
    busybox = shutil.which("busybox")
    if not busybox:
        pytest.skip("no busybox, which is the guest's shell and awk")
    tools = where / "bin"
    tools.mkdir()
    for name in ("awk", "grep", "cat", "mkdir"):
        (tools / name).symlink_to(busybox)
    proc = where / "proc"
    proc.mkdir()
    environment = {"PATH": str(tools), "ISO_CPU": "1", "ISO_PROC": str(proc),
                   "ISO_STATE": str(where / "state")}
    for command, lines in (("begin", before), ("end", after)):
        (proc / "senders").write_text("".join(lines))
        (proc / "stats").write_text("cpu 1 total\ncpu 1 kind call longest_ns 90\n")
        said = subprocess.run([busybox, "sh", LAB / "guest/causes.sh", command], env=environment,
                              capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
    return said


def test_what_grew_is_a_cause(tmp_path: Path) -> None:
    said = _said(tmp_path, [LINE.format("f", 3, 1, 90, "a b")],
                 [LINE.format("f", 5, 1, 40, "a b"), "  caller+0x1/0x2\n"
                  + LINE.format("g", 0, 0, 0, "c")])
    (cause,) = cells.causes(said)
    assert cause["counts"] == {"deferred": 2}
    assert cause["sender"] == "a b"
    assert cause["longest_ns"] == 40
    assert cause["stack"] == ["caller+0x1/0x2"]


def test_two_entries_of_one_sender_are_one_cause(tmp_path: Path) -> None:
    """A module that was loaded again has the same function at another address."""
    said = _said(tmp_path, [LINE.format("f[kvm]", 0, 1, 10, "modprobe")],
                 [LINE.format("f[kvm]", 0, 1, 0, "modprobe"),
                  LINE.format("f[kvm]", 0, 1, 20, "modprobe")])
    (cause,) = cells.causes(said)
    assert cause["counts"] == {"queued": 1}
    assert cause["longest_ns"] == 20
