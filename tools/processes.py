# SPDX-License-Identifier: GPL-2.0-or-later
"""What is asked of processes, mostly by the tests of all parts."""

from pathlib import Path

from waiting import comes


def fields_of(pid: int) -> list[str]:
    """Those of /proc/PID/stat from its state on; none: it is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def state_of(pid: int) -> str:
    """The letter of its state, as ps has it; none: it is not there."""
    return "".join(fields_of(pid)[:1])


def parents() -> dict[int, int]:
    """Of all processes that there are."""
    there = (int(process.name) for process in Path("/proc").glob("[0-9]*"))
    return {pid: int(fields[1]) for pid in there if (fields := fields_of(pid))}


def runs(group: int) -> bool:
    """Does any process of the group run still?"""
    there = (fields_of(int(process.name)) for process in Path("/proc").glob("[0-9]*"))
    return any(int(one[2]) == group and one[0] not in ("Z", "X") for one in there if one)


def worked(pid: int) -> int:
    """Its CPU time in user mode and in the kernel, in ticks; 0 also where it is not there."""
    return sum(map(int, fields_of(pid)[11:13]))


def gone(pid: int, patience_s: float) -> bool:
    """Does nothing of @pid run any more within that time?  Nobody need have waited for it."""
    return comes(lambda: state_of(pid) in ("", "Z", "X"), patience_s)
