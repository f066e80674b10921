# SPDX-License-Identifier: GPL-2.0-or-later
"""Sleeps in tests that do not say why: each kind is found, and what needs no reason is not."""

import pytest
import script
import waiting

BARE = ["    time.sleep(0.5)", "await asyncio.sleep(delay)", "\tsleep_ms(50);", "usleep(1000);",
        "\tnanosleep(&nap, NULL);", "sleep 0.3", "x; sleep 2; y", "run('sleep 1')",
        "\tclock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);", "while :; do true; done; sleep 1"]
FINE = ["    time.sleep(0.5)  # sleep: to any moment", "\tsleep_ms(5);\t/* sleep: nothing comes */",
        "await asyncio.sleep(0)", "sleep 60", "until [ -e go ]; do sleep 0.05; done",
        "\nwhile [ ! -e up ]; do sleep 0.1; done", "# sleep: to any moment\ntime.sleep(1)",
        "void __wrap_nanosleep(int x)", "the task sleeps 3 times"]


@pytest.mark.parametrize("text", BARE)
def test_a_bare_one_is_found(text: str) -> None:
    assert script.load("sleeps").bare(f"first\n{text}\n") == [2]


@pytest.mark.parametrize("text", FINE)
def test_what_needs_no_reason(text: str) -> None:
    assert script.load("sleeps").bare(f"first\n{text}\n") == []


def test_the_wait_gives_up_and_says_why() -> None:
    """What it gives is what came; where nothing comes it tells, and at once where it is there."""
    assert waiting.until(lambda: 7) == 7 and waiting.comes(lambda: True)
    assert not waiting.comes(lambda: False, 0.01)
    with pytest.raises(AssertionError, match="the reason"):
        waiting.until(lambda: False, lambda: "the reason", 0.01)
    with pytest.raises(AssertionError, match="no word"):
        waiting.until(lambda: False, "no word", 0.01)
