# SPDX-License-Identifier: GPL-2.0-or-later
"""arm64: what a CPU was seen to execute on its way into the kernel and out.

The plugin ways has recorded it, in a window in which the CPU is isolated.  Each instruction has to
be one that flow.py has found by the code, and none may be patched: so one checks the other.
"""

import functools
from dataclasses import dataclass

from .. import term
from ..guests.guest import Outcome
from ..guests.kernel import Kernel
from ..header import GuestTest
from . import flow
from .image import read
from .patchable import ALTERNATIVE, judge

SHOWN = 8


@dataclass(frozen=True)
class Stretch:
    """The ways of one kind: where they begin and end, and what is known of them by the code."""

    name: str
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    walk: flow.Flow


@dataclass(frozen=True)
class Plan:
    stretches: tuple[Stretch, ...]
    # The kernel checks its locks on these ways too, and that code calls what can be patched: only
    # what was executed counts.
    lockdep: bool = False

    @property
    def walks(self) -> tuple[flow.Flow, ...]:
        return tuple(stretch.walk for stretch in self.stretches)

    def options(self, window: int) -> str:
        """For the plugin."""
        begin, end = (
            ":".join(f"{a:x}" for stretch in self.stretches for a in addresses(stretch))
            for addresses in (lambda s: s.begins, lambda s: s.ends)
        )
        return f"window={window},begin={begin},end={end}"


@functools.cache
def plan(built: Kernel) -> Plan:
    """Of an arm64 kernel."""
    image = read(built)
    walks = {which: flow.walk(image, which) for which in flow.STRETCHES}
    # The way out may lead in again.
    synced = {pc for walk in walks.values() for pc in walk.synced}
    left = {pc for walk in walks.values() for pc in walk.seen if walk.word(pc) == flow.ERET}
    if not synced or not left:
        raise term.LabError(f"{built.name}: no way ends")
    return Plan((
        Stretch("in", tuple(flow.slots(image)), tuple(sorted(synced)), walks["in"]),
        Stretch("out", (flow.change(image),), tuple(sorted(left)), walks["out"]),
    ), built.has("CONFIG_LOCKDEP"))


def least(test: GuestTest) -> int:
    """So many ways begin and end in its window: each entry has two."""
    return 2 * sum(e.count for e in test.expects if (e.window, e.vector) == (test.ways, "any"))


def complaints(wanted: Plan, outcome: Outcome, least: int) -> list[str]:
    """What does not hold; @least: so many ways are known to have been walked."""
    told = outcome.ways
    if not told:
        return ["ways: the plugin has not told what was executed"]
    bad = [
        f"ways: by the code, {stretch.name}: {one['at']}: {one['kind']}: {one['what']}"
        for stretch in wanted.stretches if not wanted.lockdep for one in stretch.walk.bad[:SHOWN]
    ]
    if least <= 0:
        bad.append("ways: the test does not say how many entries its window has")
    if told["dropped"]:
        bad.append(f"ways: {told['dropped']} blocks had no place")
    if told["begun"] != told["ended"] or told["ended"] < least:
        bad.append(f"ways: {told['begun']} began, {told['ended']} came to their end, not {least}")
    executed = {pc for begin, end in outcome.covered for pc in range(begin, end, 4)}
    for stretch in wanted.stretches:
        bad += [f"ways: {stretch.name}: where they {where} was not executed"
                for where, at in (("begin", stretch.begins), ("end", stretch.ends))
                if executed.isdisjoint(at)]
    sites = wanted.walks[0].sites
    patched, _ = judge(sites, executed)
    bad += [f"ways: executed, and may be patched: {one['pc']} {one['kind']} {one['key']}"
            for one in patched[:SHOWN]]
    # An alternative's other text stands in its place.
    unknown = [
        pc for pc in sorted(executed)
        if not any(pc in walk.seen for walk in wanted.walks)
        and not any(site.kind == ALTERNATIVE for site in sites.at(pc))
    ]
    bad += [f"ways: executed, and not found by the code: {wanted.walks[0].where(pc)}"
            for pc in unknown[:SHOWN]]
    return bad
