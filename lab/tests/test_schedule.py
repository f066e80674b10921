# SPDX-License-Identifier: GPL-2.0-or-later
"""The order in which causes are injected."""

from collections import Counter

import pytest
from isolab.rivals import schedule

CAUSES = tuple("abcdefghijk")


def _draw(seed: int, repetitions: int = 20, controls: int = 40) -> list[schedule.Window]:
    return schedule.draw(seed, CAUSES, repetitions, controls)


def test_a_seed_repeats_an_order() -> None:
    assert _draw(7) == _draw(7)
    assert _draw(7) != _draw(8)


@pytest.mark.parametrize("seed", range(20))
def test_each_cause_is_made_as_often_and_one_in_ten_in_a_pair(seed: int) -> None:
    windows = _draw(seed)
    every = Counter(c for w in windows for c in w.causes)
    paired = Counter(c for w in windows for c in w.causes if len(w.causes) == 2)
    assert every == dict.fromkeys(CAUSES, 20)
    assert paired == dict.fromkeys(CAUSES, 2)
    assert sum(not w.causes for w in windows) == 40
    assert {len(w.causes) for w in windows} == {0, 1, 2}


def test_a_pair_is_of_two_causes() -> None:
    for seed in range(50):
        assert all(len(set(w.causes)) == len(w.causes) for w in _draw(seed))


def test_the_order_is_no_order_of_the_causes() -> None:
    """Controls, pairs and causes are spread over the whole of it."""
    windows = _draw(3)
    third = len(windows) // 3
    for part in (windows[:third], windows[third : 2 * third], windows[2 * third :]):
        kinds = Counter(len(w.causes) for w in part)
        assert kinds[0] >= 5 and kinds[2] >= 1
        assert len({c for w in part for c in w.causes}) == len(CAUSES)


def test_numbers_run_from_one() -> None:
    windows = _draw(1)
    assert [w.number for w in windows] == list(range(1, len(windows) + 1))


def test_a_short_one_has_no_pairs() -> None:
    windows = _draw(1, repetitions=1, controls=4)
    assert len(windows) == len(CAUSES) + 4
    assert max(len(w.causes) for w in windows) == 1


def test_one_cause_makes_no_pair() -> None:
    with pytest.raises(ValueError, match="two causes"):
        schedule.draw(1, ("a",), 20, 0)


@pytest.mark.parametrize(("count", "most"), [(249, 90), (15, 90), (90, 90), (91, 90), (1, 90)])
def test_guests_share_all_windows_in_their_order(count: int, most: int) -> None:
    windows = [schedule.Window(i, ()) for i in range(count)]
    shared = schedule.share(windows, most)
    assert [w for part in shared for w in part] == windows
    sizes = [len(part) for part in shared]
    assert max(sizes) <= most and max(sizes) - min(sizes) <= 1
    assert len(shared) == -(-count // most)
