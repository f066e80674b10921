# SPDX-License-Identifier: GPL-2.0-or-later
"""The loads of isolab scope-report do what they say, and leave nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import scopeload
from waiting import until

CPUS = sorted(os.sched_getaffinity(0))[:2]
PATIENCE_S = 120

# The clip is the word that ends so; it has to be there when it is decoded.
FFMPEG = """for w; do case $w in *.avi) c=$w;; esac; done
case "$*" in *lavfi*) : > "$c";; *) [ -e "$c" ];; esac"""


def _program(tmp_path: Path, name: str, text: str) -> str:
    """The PATH that has it before any other."""
    directory = tmp_path / "bin"
    directory.mkdir()
    (directory / name).write_text(f"#!/bin/sh\n{text}\n")
    (directory / name).chmod(0o755)
    return f"{directory}:{os.environ['PATH']}"


def _run(tmp_path: Path, load: str, path: str) -> dict[str, Any]:
    """Until it has begun, or has ended by itself."""
    begun, files = tmp_path / "begun", tmp_path / "files"
    files.mkdir()
    process = subprocess.Popen(
        [sys.executable, scopeload.__file__, load, ",".join(map(str, CPUS)), str(begun)],
        env={**os.environ, "PATH": path, "TMPDIR": str(files)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: begun.exists() or process.poll() is not None)
    process.terminate()
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert not any(files.iterdir())
    (row,) = json.loads(out)["loads"]
    return dict(row)


@pytest.mark.parametrize("load", list(scopeload.LOADS))
def test_each_load(tmp_path: Path, load: str) -> None:
    row = _run(tmp_path, load, _program(tmp_path, "ffmpeg", FFMPEG))
    assert row["state"] == "ran" and row["why"] is None
    assert [cpu["cpu"] for cpu in row["cpus"]] == CPUS
    assert all(cpu["operations"] > 0 for cpu in row["cpus"])


def test_program_that_is_missing(tmp_path: Path) -> None:
    row = _run(tmp_path, "media", str(tmp_path))
    assert row["state"] == "absent" and "apt install ffmpeg" in row["why"] and row["cpus"] == []


def test_program_that_fails(tmp_path: Path) -> None:
    row = _run(tmp_path, "compile", _program(tmp_path, "cc", "echo no stdio.h >&2; exit 4"))
    assert row["state"] == "failed" and "cc ended with 4: no stdio.h" in row["why"]
