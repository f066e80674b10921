# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages unpacked beside the system, nothing installed."""

import subprocess
from pathlib import Path

from .. import term
from ..paths import LAB, cache


def unpack(name: str, suite: str, packages: tuple[str, ...], instead: str = "",
           options: tuple[str, ...] = ()) -> Path:
    """The tree of @packages from Debian's @suite, below the cache as @name."""
    into = cache() / name
    done = subprocess.run(
        [LAB / "host" / "fetch-deb", "--suite", suite, "--into", into, *options, *packages],
        check=False,
    )
    if done.returncode == term.SKIPPED:
        raise term.LabError(
            f"Debian {suite} lacks some of {', '.join(packages)}", code=term.SKIPPED
        )
    if done.returncode:
        raise term.LabError(
            f"fetching {', '.join(packages)} from Debian {suite} failed: "
            f"{instead or 'is the package archive reachable?'}"
        )
    return into
