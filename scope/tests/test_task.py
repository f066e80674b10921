# SPDX-License-Identifier: GPL-2.0-or-later
"""scope-task, whose device and library are stood in for."""

import subprocess
from pathlib import Path

from waiting import PATIENCE_S

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent


def test_a_signal_before_read(tmp_path: Path) -> None:
    """It is not lost when it comes after the last look at it, and before read() waits."""
    program = tmp_path / "scope-task"
    subprocess.run(
        ["gcc", "-std=gnu11", "-O1", "-Wl,--wrap=open,--wrap=read",
         f"-I{TOP / 'lib/include'}", f"-I{TOP / 'kernel/include/uapi'}", "-o", program,
         TOP / "scope/task/scope_task.c", HERE / "late_signal.c"],
        check=True)
    done = subprocess.run([program, "--priority", "0"], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 answers\n", "")
