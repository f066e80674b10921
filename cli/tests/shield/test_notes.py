# SPDX-License-Identifier: GPL-2.0-or-later
"""The journal of a shield: tasks that come, go and choose again do not make it grow."""

from __future__ import annotations

import shutil
from pathlib import Path

from runtest import Lay, restore, tree
from shieldtest import MACHINE, choose, cpus, put, said, shield, task


def lines(root: Path, tid: int) -> list[str]:
    """What is noted of a task."""
    text = (root / "run/isolator/shield").read_text()
    return [line for line in text.splitlines() if line.startswith(f"shield-task\t{tid}\t")]


def test_task_that_chooses_again(isolator: Path, lay: Lay) -> None:
    """One note says what it had, however often masks are set."""
    root = lay({**MACHINE, **task(400, "0-3")})
    before = tree(root)
    shield(isolator, root, "set", "--processes", "3")
    size = (root / "run/isolator/shield").stat().st_size
    for _ in range(5):
        choose(root, 400, "0-3")
        shield(isolator, root, "set")
        # Those of the last two times: what is old goes when masks are set again.
        assert cpus(root, 400) == "0-2" and len(lines(root, 400)) <= 2
    shield(isolator, root, "set")
    assert len(lines(root, 400)) == 1
    assert (root / "run/isolator/shield").stat().st_size < size + 200
    shield(isolator, root, "clear")
    assert tree(root) == before


def test_tasks_that_are_gone(isolator: Path, lay: Lay) -> None:
    """Nothing is noted of them any more; of who has their number now neither."""
    root = lay({**MACHINE, **task(400, "0-3"), **task(401, "0-3"), **task(402, "0-3")})
    shield(isolator, root, "set", "--processes", "3")
    shutil.rmtree(root / "proc/401")
    put(root, task(402, "0-2", start=900))
    shield(isolator, root, "set")
    assert (len(lines(root, 400)), lines(root, 401), lines(root, 402)) == (1, [], [])
    restore(isolator, root)
    assert cpus(root, 400) == "0-3" and cpus(root, 402) == "0-2"


def test_full_journal(isolator: Path, lay: Lay) -> None:
    """Nothing is changed that could not be noted, and what helps is said."""
    root = lay({**MACHINE, **task(400, "0-3")})
    shield(isolator, root, "set", "--processes", "3")
    journal = root / "run/isolator/shield"
    full = f"shield-text\t/sys/none\t1\t{'x' * 60000}\n" * (1 + (64 << 20) // 60000)
    journal.write_text(journal.read_text() + full)
    choose(root, 400, "0-3")
    assert "it is full, so nothing more is changed: isolator shield clear" in \
        said(isolator, root, "set", "--processes", "2", code=1)
    assert cpus(root, 400) == "0-3"
    assert restore(isolator, root)["failures"] == []
    assert not (root / "run/isolator").exists()


def test_very_many_refusals(stubborn: Path, lay: Lay) -> None:
    """Some are reported, and that there are more."""
    tasks = {path: text for tid in range(400, 520) for path, text in task(tid, "0-3").items()}
    root = lay({**MACHINE, **tasks})
    refused = {"DENIED": "status"}
    assert "and others; isolator shield show names them" in \
        " ".join(said(stubborn, root, "set", "--processes", "3", code=2, env=refused).split())
    document = shield(stubborn, root, "set", code=2, env=refused)
    assert len(document["changed"]["refused"]) == 100 and not lines(root, 400)
