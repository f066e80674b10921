# SPDX-License-Identifier: GPL-2.0-or-later
"""What can go wrong, and the exit statuses."""

from __future__ import annotations

PASS, ERROR, EXCEEDED, INCONCLUSIVE, SKIPPED = 0, 1, 2, 3, 77


class ScopeError(Exception):
    """It cannot be done; the message says why and what helps."""

    status = ERROR


class Inconclusive(ScopeError):
    """It was done, but nothing may be concluded from it."""

    status = INCONCLUSIVE


class Skipped(ScopeError):
    """There is nothing to be measured; the message names what is missing."""

    status = SKIPPED
