# SPDX-License-Identifier: GPL-2.0-or-later
"""arm64: what was executed on the ways in and out is judged by what is known of the code."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from isolab import header
from isolab.guests.guest import Outcome
from isolab.instants import ways
from isolab.instants.patchable import ALTERNATIVE, JUMP, Site, Sites

WHOLE = {"begun": 2000, "ended": 2000, "dropped": 0}
FINE = [(0x1000, 0x1010), (0x2000, 0x2008)]
BAD = {"pc": "0x1004", "at": "el0_svc+0x4", "kind": "call", "what": "_printk"}


def _plan(*bad: dict[str, str]) -> ways.Plan:
    """Ways over 0x1000-0x1010 and 0x2000-0x2008, with an alternative, and keys of both kinds."""
    sites = Sites(
        [Site(ALTERNATIVE, 0x1010, 8), Site(JUMP, 0x2004, 4, "isolator_key"),
         Site(JUMP, 0x3000, 4, "tracing_key")], [(0x1000, 0x3000)])

    def where(pc: int) -> str:
        return f"at {pc:#x}"

    walk_in: Any = SimpleNamespace(
        sites=sites, where=where, seen=dict.fromkeys(range(0x1000, 0x1010, 4)), bad=list(bad))
    walk_out: Any = SimpleNamespace(
        sites=sites, where=where, seen=dict.fromkeys([0x2000, 0x2004]), bad=[])
    return ways.Plan((ways.Stretch("in", (0x1000, 0x1100), (0x100C,), walk_in),
                      ways.Stretch("out", (0x2000,), (0x2004,), walk_out)))


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
    # Numbers alone say nothing of what was executed.
    ([], WHOLE, "in: where they begin was not executed"),
    (FINE[1:], WHOLE, "in: where they end was not executed"),
    (FINE[:1], WHOLE, "out: where they begin was not executed"),
    ([FINE[0], (0x2000, 0x2004)], WHOLE, "out: where they end was not executed"),
])
def test_anything_else_is_a_failure(
    blocks: list[tuple[int, int]], told: dict[str, int], what: str
) -> None:
    assert what in "\n".join(_said(blocks, told))


def test_what_the_code_itself_shows_is_a_failure() -> None:
    (said,) = ways.complaints(_plan(BAD), Outcome(covered=FINE, ways=WHOLE), 2000)
    assert said == "ways: by the code, in: el0_svc+0x4: call: _printk"


def test_of_a_kernel_that_checks_its_locks_only_what_was_executed_counts() -> None:
    plan = replace(_plan(BAD), lockdep=True)
    assert not ways.complaints(plan, Outcome(covered=FINE, ways=WHOLE), 2000)
    said = ways.complaints(plan, Outcome(covered=[*FINE, (0x3000, 0x3004)], ways=WHOLE), 2000)
    assert "may be patched" in "\n".join(said)


def test_a_window_without_entries_shows_nothing() -> None:
    none = {"begun": 0, "ended": 0, "dropped": 0}
    (said,) = ways.complaints(_plan(), Outcome(covered=FINE, ways=none), 0)
    assert "does not say how many" in said


def test_an_entry_has_two_ways() -> None:
    (test,) = (t for t in header.tests(header.TESTS) if t.ways)
    assert test.name == "entry-sync" and ways.least(test) == 2000
    assert _plan().options(2) == "window=2,begin=1000:1100:2000,end=100c:2004"
