# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator audit: daemons that change what it judges, and programs that have their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from audittest import Changes, Lay, audit


@pytest.mark.parametrize(("users", "want"), [
    ("0\t0\t0\t0", ["irq.irqbalance", "sched.tuned"]), ("1000\t1000\t1000\t1000", []),
    # It has executed a program that is set-UID, by a link of that name.
    ("1000\t0\t0\t0", [])])
def test_whose_daemon(isolator: Path, lay: Lay, users: str, want: list[str]) -> None:
    """Anybody may call a process so: no advice follows from one that is not root's."""
    runs: Changes = {"/etc/tuned/active_profile": "balanced\n"}
    for pid, name in ((512, "irqbalance"), (513, "tuned")):
        runs |= {f"/proc/{pid}/comm": f"{name}\n",
                 f"/proc/{pid}/status": f"Name:\t{name}\nUid:\t{users}\nGid:\t0\t0\t0\t0\n"}
    assert [f["id"] for f in audit(isolator, lay(runs))["findings"]] == want
