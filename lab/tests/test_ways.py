# SPDX-License-Identifier: GPL-2.0-or-later
"""arm64: what was executed on the ways in and out is judged by what is known of the code."""

from types import SimpleNamespace
from typing import Any

import pytest
from isolab import header
from isolab.guests.guest import Outcome
from isolab.instants import ways
from isolab.instants.patchable import ALTERNATIVE, JUMP, Site, Sites

WHOLE = {"begun": 2000, "ended": 2000, "dropped": 0}
FINE = [(0x1000, 0x1010), (0x2000, 0x2008)]


def _plan() -> ways.Plan:
    """Ways over 0x1000-0x1010 and 0x2000-0x2008, with an alternative, and keys of both kinds."""
    sites = Sites(
        [Site(ALTERNATIVE, 0x1010, 8), Site(JUMP, 0x2004, 4, "isolator_key"),
         Site(JUMP, 0x3000, 4, "tracing_key")], [(0x1000, 0x3000)])

    def where(pc: int) -> str:
        return f"at {pc:#x}"

    walk: Any = SimpleNamespace(
        sites=sites, where=where, seen=dict.fromkeys([*range(0x1000, 0x1010, 4), 0x2000, 0x2004]))
    return ways.Plan((0x1000,), (0x100C,), (walk,))


def _said(blocks: list[tuple[int, int]], told: dict[str, int]) -> list[str]:
    return ways.complaints(_plan(), Outcome(covered=blocks, ways=told), 2000)


def test_what_the_code_has_told_is_fine() -> None:
    assert not _said(FINE, WHOLE)
    # The other text of an alternative is executed in its place.
    assert not _said([*FINE, (0x1010, 0x1018)], WHOLE)


@pytest.mark.parametrize(("blocks", "told", "what"), [
    (FINE, {}, "has not told"),
    (FINE, {**WHOLE, "dropped": 3}, "3 blocks had no place"),
    (FINE, {**WHOLE, "ended": 1999}, "2000 began, 1999 came to their end"),
    (FINE, {**WHOLE, "begun": 100, "ended": 100}, "not 2000"),
    ([*FINE, (0x1020, 0x1024)], WHOLE, "not found by the code: at 0x1020"),
    ([*FINE, (0x3000, 0x3004)], WHOLE, "may be patched: 0x3000 jump label tracing_key"),
    ([*FINE, (0x4000, 0x4004)], WHOLE, "may be patched: 0x4000 kprobe"),
])
def test_anything_else_is_a_failure(
    blocks: list[tuple[int, int]], told: dict[str, int], what: str
) -> None:
    assert what in "\n".join(_said(blocks, told))


def test_an_entry_has_two_ways() -> None:
    (test,) = (t for t in header.tests(header.TESTS) if t.ways)
    assert test.name == "entry-sync" and ways.least(test) == 2000
    assert _plan().options(2) == "window=2,begin=1000,end=100c"
