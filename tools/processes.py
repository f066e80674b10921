# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of all parts ask of processes."""

import time
from pathlib import Path


def gone(pid: int, patience_s: float) -> bool:
    """Does nothing of @pid run any more within that time?  Nobody need have waited for it."""
    stop = time.monotonic() + patience_s
    while time.monotonic() < stop:
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return True
        if text.rpartition(")")[2].split()[0] in "ZX":
            return True
        time.sleep(0.01)
    return False
