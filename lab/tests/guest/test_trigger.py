# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trigger finds in the kernel's log, which forgets its oldest lines."""

import os
import subprocess
from pathlib import Path

import pytest
from isolab.paths import LAB

DONE = "[{}.0] srcu-torture:--- End of test: SUCCESS"


def _sh(script: str, log: list[str], tmp_path: Path) -> str:
    """What @script says whose kernel has that log."""
    tmp_path.joinpath("log").write_text("".join(f"{line}\n" for line in log))
    dmesg = tmp_path / "dmesg"
    dmesg.write_text(f"#!/bin/sh\ncat {tmp_path}/log\n")
    dmesg.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    ran = subprocess.run(["sh", "-ec", f". {LAB}/guest/trigger.sh; {script}"], check=True,
                         env={"PATH": path}, stdout=subprocess.PIPE, text=True)
    return ran.stdout.strip()


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ([], [], 0),
        (["[1.0] up"], ["[1.0] up"], 0),
        (["[1.0] up"], ["[1.0] up", DONE.format(2)], 1),
        ([DONE.format(1)], [DONE.format(1)], 0),
        ([DONE.format(1)], [DONE.format(1), DONE.format(2)], 1),
        # As many as before: one is forgotten, one is new.
        ([DONE.format(1), "[1.5] x"], ["[1.5] x", DONE.format(2)], 1),
        # And all that there were.
        ([DONE.format(1)], [DONE.format(2), DONE.format(3)], 2),
        (["[1.0] a/b.*[c"], ["[1.0] a/b.*[c", DONE.format(2)], 1),
    ],
)
def test_only_what_came_since_is_found(
    before: list[str], after: list[str], found: int, tmp_path: Path
) -> None:
    newest = _sh("newest", before, tmp_path)
    said = _sh(f"logged 'srcu-torture:.*SUCCESS' '{newest}'", after, tmp_path)
    assert said == str(found)
