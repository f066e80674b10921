# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of all parts ask of processes."""

from pathlib import Path

from waiting import comes


def state_of(pid: int) -> str:
    """The letter of its state, as ps has it; none: it is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def gone(pid: int, patience_s: float) -> bool:
    """Does nothing of @pid run any more within that time?  Nobody need have waited for it."""
    return comes(lambda: state_of(pid) in ("", "Z", "X"), patience_s)
