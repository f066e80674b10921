# SPDX-License-Identifier: GPL-2.0-or-later
"""A delay planted in each mechanism: where it shows, and whom the chain view names."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from isolator_scope.chain import Hop, Place, aside, downstream, usual

from .. import term
from . import claims
from .host import Run
from .parts import DELAY_NS, DELAY_US, SLOW_HZ, Bench, least_of, plant

# So far may a median be from what was planted, and one that nothing was planted for from before.
ERROR_NS = 1_000_000
# A hop that takes so much longer than it may has met a pause of the host: none takes a tenth of it.
PAUSE_NS = DELAY_NS // 4
# So many triggers at least say what is usual, and what a delay does.
KNOWN = 20
# A host that takes a CPU again and again leaves few triggers of a run alone.
RUNS = 10


def undisturbed(chains: Iterable[list[Hop]], delayed: frozenset[str]) -> list[list[Hop]]:
    """Those in which the host did not stand still: it would pass for a delay, or hide one.

    Only hops of @delayed may take as long as a delay.  A delay that shows in others leaves
    none, then.
    """
    def most(hop: Hop) -> int:
        return PAUSE_NS + (DELAY_NS if hop.name in delayed else 0)

    return [chain for chain in chains if all((hop.after_ns or 0) < most(hop) for hop in chain)]


@dataclass(frozen=True)
class Found:
    """What one delay, or none, led to."""

    every: list[list[Hop]]  # triggers that all answered
    chains: list[list[Hop]]  # of these the undisturbed ones
    least_ns: int  # of the delayed mechanism, of all triggers
    triggers: int

    @property
    def enough(self) -> bool:
        return len(self.chains) >= KNOWN

    def medians(self) -> dict[str, float]:
        """Of the undisturbed ones; of all if they are too few, to show where the time went."""
        values: dict[str, list[int]] = {}
        for hop in (hop for chain in (self.chains if self.enough else self.every) for hop in chain):
            values.setdefault(hop.name, []).append(hop.ns)
        return {name: statistics.median(ns) for name, ns in values.items()}


def _measure(bench: Bench, name: str, delayed: frozenset[str]) -> Found:
    """Runs until enough triggers met no pause of the host; all of them are counted."""
    runs: list[Run] = []
    every: list[list[Hop]] = []
    chains: list[list[Hop]] = []
    while len(runs) < RUNS and len(chains) < KNOWN:
        run = bench.host.quick(bench.size.slow, SLOW_HZ, bench.seed)
        runs.append(run)
        answered = list(claims.hops(run, bench.names, bench.table))
        every += answered
        chains += undisturbed(answered, delayed)
    return Found(every, chains, min(least_of(bench, run, name) for run in runs),
                 sum(len(run) for run in runs))


def judge_delay(
    name: str, before: Mapping[str, float], after: Mapping[str, float], table: Mapping[str, Place]
) -> tuple[list[str], dict[str, int]]:
    """What a delay planted in @name did to medians, and what of that should not be."""
    must, may = {name} | downstream(name, table), aside(name, table)
    moved = {one: round(after[one] - before[one]) for one in before if one in after}
    wrong = []
    for one, ns in moved.items():
        full, none = abs(ns - DELAY_NS) <= ERROR_NS, abs(ns) <= ERROR_NS
        if one in must and not full:
            wrong.append(f"{one} should be late by {DELAY_NS / 1e6:g} ms, is by {ns / 1e6:.2f}")
        elif one in may and not -ERROR_NS <= ns <= DELAY_NS + ERROR_NS:
            wrong.append(
                f"{one} may be late by {DELAY_NS / 1e6:g} ms at most, is by {ns / 1e6:.2f}")
        elif one not in must | may and not none:
            wrong.append(f"{one} should not be late, is by {ns / 1e6:.2f} ms")
    wrong += [f"{one} has no answer" for one in before if one not in after]
    return wrong, moved


def judge_named(
    name: str, hops: Mapping[str, int], table: Mapping[str, Place]
) -> tuple[bool, str]:
    """Whether of all hops the chain view blames @name for its own delay, and the figures.

    An ordinary thread shares its CPU with others: the scheduler may have one of them answer in
    the middle of the delay, and the larger step is that one's then.  How often is the scheduler's
    choice; together they are blamed most often.
    """
    own, all_of = hops.get(name, 0), sum(hops.values())
    shared = sum(hops.get(one, 0) for one in aside(name, table))
    said = f"{own} of {all_of} triggers" + (f", what shares its CPU {shared}" if shared else "")
    return own > 0 and own + shared > all_of / 2, said


def _few(when: str, found: Found) -> list[str]:
    return [] if found.enough else [
        f"{when} no more than {len(found.chains)} of {found.triggers} triggers were answered "
        f"by all and without a pause elsewhere, {KNOWN} are wanted"]


def planted(bench: Bench) -> list[dict[str, Any]]:
    """A delay in each mechanism, after a run without one."""
    rows = []
    for name in [name for name in bench.table if name in bench.names]:
        free = _measure(bench, name, frozenset())
        plant(bench, name, DELAY_US)
        late = _measure(bench, name, frozenset({name} | aside(name, bench.table)))
        plant(bench, name, 0)
        wrong, moved = judge_delay(name, free.medians(), late.medians(), bench.table)
        wrong += _few("without it", free) + _few("with it", late)
        if late.least_ns < DELAY_NS:
            wrong.append(f"an answer of {name} came after {late.least_ns / 1e6:.2f} ms")
        hops = claims.named(late.chains, bench.table, usual(free.chains, KNOWN))
        bench.claim("planted", f"5 ms in {name} show there and in what follows, and nowhere else",
                    not wrong, "; ".join(wrong) or f"{moved[name] / 1e6:.2f} ms")
        one_of = f"{name} or what shares its CPU" if aside(name, bench.table) else name
        bench.claim("planted", f"the chain view names {one_of} most often",
                    *judge_named(name, hops, bench.table))
        rows.append({
            "in": name, "moved_ns": moved, "least_ns": late.least_ns, "named": hops,
            "triggers": {"before": free.triggers, "after": late.triggers},
            "undisturbed": {"before": len(free.chains), "after": len(late.chains)},
        })
        term.say(f"5 ms in {name}: {'; '.join(wrong) or 'as the chain has it'} "
                 f"({len(free.chains)} of {free.triggers} triggers before, {len(late.chains)} of "
                 f"{late.triggers} with it met no pause of the host)")
    return rows
