# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots a guest until one boot is not void, where all that is wanted is measured in one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .. import term
from ..guests.guest import Event, Guest, Outcome, boot
from . import attempt


def boot_sound(name: str, guest: Guest, where: Path, attempts: list[attempt.Record],
               most: int = attempt.MAX_BOOTS,
               on_event: Callable[[Event], str | None] = lambda _: None) -> Outcome:
    """The first of at most @most boots that is not void.

    Each has its files in @where and its number, and its record in @attempts.  Excuses of records
    that were there before count, too.
    """
    mine: list[attempt.Record] = []
    for number in range(1, most + 1):
        guest = replace(guest, threads=attempt.threads(mine))
        outcome = boot(guest, where.with_name(f"{where.name}-{number}"), on_event)
        found = attempt.judge_base(outcome)
        mine.append(attempt.record(found))
        attempts.append(mine[-1])
        attempt.demand(name, attempts, outcome.ours)
        if not found.void:
            return outcome
        term.say(f"{name}: attempt {number} is void: {found.void}")
    raise term.LabError(f"{name}: {most} boots, all void", term.INCONCLUSIVE)
