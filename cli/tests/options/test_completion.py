# SPDX-License-Identifier: GPL-2.0-or-later
"""zsh on a terminal, with its own completion system: what is typed, and a tab."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from clitest import Terminal


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_tab(plain: Path, tmp_path: Path) -> None:
    """A subcommand, its operand and an option, each completed by one key."""
    (tmp_path / "_isolator").write_text(subprocess.run(
        [plain, "completion", "zsh"], capture_output=True, text=True, check=True).stdout)
    environment = {"HOME": str(tmp_path), "PATH": f"{plain.parent}:{os.environ['PATH']}",
                   "TERM": "dumb", "PS1": "", "ZDOTDIR": str(tmp_path)}
    shell = Terminal(30, 200, environment, shutil.which("zsh") or "", "-f", "-i")
    shell.type(f"fpath=({tmp_path} $fpath); autoload -U compinit; compinit -u -D\n".encode())
    # Control-A: the line as it became is printed, not run.
    shell.type(b"print is ready\n")
    shell.until("\nis ready")
    for before, after in ((b"isolator shie", "isolator shield"),
                          (b"isolator shield sho", "isolator shield show"),
                          (b"isolator audit --sev", "isolator audit --severity"),
                          (b"isolator audit --severity war", "isolator audit --severity warning")):
        shell.type(before + b"\t\x01print -r -- so: \n")
        shell.until(f"\nso: {after}")
    shell.end(b"exit\n")
