# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commands say to people: progress on stderr, results on stdout."""

import os
import sys
import time
from typing import NoReturn

PASS, ERROR, EXCEEDED, INCONCLUSIVE, SKIPPED = 0, 1, 2, 3, 77

_begin = time.monotonic()


class LabError(Exception):
    """Something that the user can mend; the text says how."""

    def __init__(self, text: str, code: int = ERROR) -> None:
        super().__init__(text)
        self.code = code


def say(text: str) -> None:
    """One line of progress, with the time since the start."""
    print(f"[{time.monotonic() - _begin:6.1f} s] {text}", file=sys.stderr, flush=True)


def elapsed() -> float:
    return time.monotonic() - _begin


def die(text: str, code: int = ERROR) -> NoReturn:
    print(f"isolab: {text}", file=sys.stderr)
    sys.exit(code)


def colour(text: str, code: str, stream: object = sys.stdout) -> str:
    """Colours text, but only on a terminal."""
    isatty = getattr(stream, "isatty", lambda: False)
    if not isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{code}m{text}\x1b[0m"
