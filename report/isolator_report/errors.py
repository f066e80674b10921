# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be wrong with the input, and the exit statuses."""

PASS, ERROR, EXCEEDED, INCONCLUSIVE = 0, 1, 2, 3


def system(problem: OSError) -> str:
    """What the system says of a file, or of what it is."""
    name = "" if problem.filename is None else f"{problem.filename}: "
    return f"{name}{problem.strerror or problem}"


class ReportError(Exception):
    """Nothing can be done with the input; the message says why and what helps."""

    status = ERROR


class InvalidResult(ReportError):
    """The document can be read, but is not a result: it contradicts itself."""

    status = INCONCLUSIVE
