# SPDX-License-Identifier: GPL-2.0-or-later
"""Host and virtual generator together: the program against the other program."""

import json
import subprocess
import sys
from pathlib import Path

from scope_simulated import ENVIRONMENT
from scope_virtual import virtual
from waiting import PATIENCE_S


def test_a_run_with_the_virtual_generator(tmp_path: Path) -> None:
    """What the host counts is what the generator counts; its floor is in the document."""
    with virtual(tmp_path, ["irq,50", "user,150,40,5,1"]) as (where, token):
        done = subprocess.run(
            [sys.executable, "-m", "isolator_scope", "record", "--connect", where,
             "--token-file", token, "-n", "150", "--frequency", "200", "--calibrate", "100", "-o",
             tmp_path / "a.scope", "--json"], env=ENVIRONMENT, capture_output=True,
            text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr + done.stdout[:2000]
    data = json.loads(done.stdout)
    rows = {row["name"]: row for row in data["parts"][0]["series"]}
    assert set(rows) == {"irq", "user"}
    assert all(row["complete"] and row["triggers"] == 150 for row in rows.values())
    assert rows["irq"]["samples"] > 0 and data["instrument"]["floor_ns"]["p50"] > 0
