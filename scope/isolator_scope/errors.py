# SPDX-License-Identifier: GPL-2.0-or-later
"""What can go wrong, and the exit statuses."""

import os
import re
import socket

from isolator_report import terminal

PASS, ERROR, EXCEEDED, INCONCLUSIVE, SKIPPED = 0, 1, 2, 3, 77


def say(words: object) -> None:
    """To standard error, of this program; it may cite a generator, a recording, a page."""
    terminal.say("isolator-scope", words)


def reason(problem: Exception) -> str:
    """The system's own words for what failed; asyncio wraps them, and names addresses again."""
    if isinstance(problem, OSError) and not isinstance(problem, socket.gaierror):
        number = problem.errno
        if number is None and (found := re.search(r"\[Errno (\d+)\]", str(problem))):
            number = int(found[1])  # of several addresses
        if number:
            return os.strerror(number)
    return getattr(problem, "strerror", None) or str(problem) or type(problem).__name__


class ScopeError(Exception):
    """It cannot be done; the message says why and what helps."""

    status = ERROR


class Inconclusive(ScopeError):
    """It was done, but nothing may be concluded from it."""

    status = INCONCLUSIVE


class Skipped(ScopeError):
    """There is nothing to be measured; the message names what is missing."""

    status = SKIPPED
