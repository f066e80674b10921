# SPDX-License-Identifier: GPL-2.0-or-later
"""One at a time, of all processes that name the same file."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from . import term


@contextlib.contextmanager
def held(path: Path, waiting: str = "") -> Iterator[None]:
    """@waiting: what is said by whoever has to wait, if anything."""
    path.parent.mkdir(exist_ok=True)
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting:
                term.say(f"waiting: {waiting}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
