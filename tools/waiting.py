# SPDX-License-Identifier: GPL-2.0-or-later
"""How the tests of all parts wait: for something that they name, never for a time."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

PATIENCE_S = 240.0  # a hang: also a starved machine does in it what takes 2 s elsewhere
Found = TypeVar("Found")


def _look(wanted: Callable[[], Found], patience_s: float) -> Found:
    stop = time.monotonic() + patience_s
    while not (found := wanted()) and time.monotonic() < stop:
        time.sleep(0.005)  # sleep: between two looks
    return found


def until(wanted: Callable[[], Found], what: Callable[[], Any] | str = "it did not come",
          patience_s: float = PATIENCE_S) -> Found:
    """What @wanted gives, once that is something; after @patience_s @what tells why not."""
    found = _look(wanted, patience_s)
    assert found, what() if callable(what) else what
    return found


def comes(wanted: Callable[[], object], patience_s: float = PATIENCE_S) -> bool:
    """Does it come to that?"""
    return bool(_look(wanted, patience_s))
