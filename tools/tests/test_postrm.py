# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said when the package is purged, on a machine whose commands are these."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "packaging/debian/isolator.postrm"


@pytest.mark.parametrize(("name", "shown"), [
    (r"/home/a/plain", r"/home/a/plain"),
    # The shell's echo makes of the first what the others are.
    (r"/home/a/\033[2J\c", r"/home/a/\033[2J\c"),
    ("/home/a/\033[2J\u009b2J\r", "/home/a/?[2J??2J?"),
    (r"/home/a/%s%n", r"/home/a/%s%n")])
def test_file_of_the_group(tmp_path: Path, name: str, shown: str) -> None:
    """Its owner chose the name, and purge prints it on root's terminal."""
    (tmp_path / "name").write_text(name + "\n")
    for command, text in {"find": f"cat {tmp_path}/name", "getent": ":", "groupdel": "exit 1",
                          "df": ":", "rmdir": ":", "chown": ":", "chmod": ":"}.items():
        (tmp_path / command).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / command).chmod(0o755)
    done = subprocess.run(["sh", SCRIPT, "purge"], capture_output=True, check=True,
                          env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert done.stdout.decode("latin-1") == (
        f"isolator: the group isolator stays: {shown} belongs to it; later: groupdel isolator\n")
