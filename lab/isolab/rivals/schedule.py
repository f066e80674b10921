# SPDX-License-Identifier: GPL-2.0-or-later
"""Which causes are made in which windows of the experiment, in an order drawn from a seed."""

import random
from dataclasses import dataclass

# One cycle of pairs for so many repetitions: each cause is in two pairs, one in ten.
CYCLE = 20


@dataclass(frozen=True)
class Window:
    """What is made in it, one after another; nothing: a control."""

    number: int
    causes: tuple[str, ...]


def _cycles(rng: random.Random, causes: tuple[str, ...], count: int) -> list[tuple[str, ...]]:
    pairs: list[tuple[str, ...]] = []
    for _ in range(count):
        ring = rng.sample(causes, len(causes))
        pairs += zip(ring, ring[1:] + ring[:1], strict=True)
    return pairs


def draw(seed: int, causes: tuple[str, ...], repetitions: int, controls: int) -> list[Window]:
    """The same for the same seed; each cause @repetitions times, pairs included."""
    if len(causes) < 2 or len(set(causes)) != len(causes):
        raise ValueError("pairs want two causes, each of a name of its own")
    rng = random.Random(seed)
    cycles = repetitions // CYCLE
    windows: list[tuple[str, ...]] = _cycles(rng, causes, cycles)
    windows += [(cause,) for cause in causes for _ in range(repetitions - 2 * cycles)]
    windows += [() for _ in range(controls)]
    rng.shuffle(windows)
    return [Window(i, made) for i, made in enumerate(windows, 1)]


def share(windows: list[Window], most: int) -> list[list[Window]]:
    """For guests of at most @most windows each, as equal as can be, in their order."""
    guests = -(-len(windows) // most)
    cuts = [len(windows) * i // guests for i in range(guests + 1)]
    return [windows[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
