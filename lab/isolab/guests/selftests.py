# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own selftests, built for a guest."""

import functools
import subprocess
from pathlib import Path

from .. import term
from ..paths import LAB
from . import machine
from .machine import Machine

SCRIPT = LAB / "host" / "selftests"
GUEST = "lab/selftests"  # where a guest has them


def _run(*arguments: str) -> list[str]:
    done = subprocess.run([str(SCRIPT), *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        raise term.LabError(f"cannot build the kernel selftests: {SCRIPT} failed, see above")
    return done.stdout.strip().splitlines()


@functools.cache
def names(of: Machine = machine.X86_64) -> tuple[str, ...]:
    """Which there are for @of; builds nothing."""
    return tuple(sorted(_run("--arch", of.name, "--list")))


@functools.cache
def directory(of: Machine = machine.X86_64) -> Path:
    """Has them built for @of, if their content is not built yet."""
    return Path(_run("--arch", of.name)[-1])
