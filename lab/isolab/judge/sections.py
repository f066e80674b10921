# SPDX-License-Identifier: GPL-2.0-or-later
"""Quiet sections of the kernel: was there not one instruction from elsewhere?

The test in the guest says where the section is, `# section BEGIN SIZE`; the plugin section has
counted each block between its marks.
"""

import re
from typing import Any

_LINE = re.compile(r"^# section (\d+) (\d+)$", re.MULTILINE)
# A loop that was there for moments only has shown nothing.
LEAST_BLOCKS = 10**6


def judge(wanted: str, out: str, seen: list[dict[str, Any]]) -> list[str]:
    """What does not hold; @wanted: quiet, or stray and names of what else must have run."""
    wanted, *names = wanted.split()
    said = _LINE.findall(out)
    if len(set(said)) != 1:
        return [f"the test told of {len(set(said))} sections, not one"]
    begin, size = map(int, said[0])
    if len(seen) != 1:
        return [f"{len(seen)} CPUs had a quiet section, not one"]
    bad, blocks = [], seen[0]["blocks"]
    strays = [b for b in blocks if not begin <= b["pc"] < begin + size]
    inside = sum(b["n"] for b in blocks) - sum(b["n"] for b in strays)
    if wanted == "quiet" and inside < LEAST_BLOCKS:
        bad.append(f"{inside} blocks in the section, not at least {LEAST_BLOCKS}")
    if wanted == "quiet" and seen[0]["dropped"]:
        bad.append(f"{seen[0]['dropped']} blocks were not looked at")
    named = ", ".join(f"{b['name']} ({b['pc']:#x}) {b['n']}" for b in strays[:8])
    if wanted == "quiet" and strays:
        bad.append(f"between two ticks there ran, outside of the section: {named}")
    if wanted == "stray" and not strays:
        bad.append("nothing was seen to run outside of the section")
    functions = {b["name"].partition("+")[0] for b in strays}
    if missing := [name for name in names if name not in functions]:
        bad.append(f"not seen to run outside of the section: {', '.join(missing)}")
    return bad
