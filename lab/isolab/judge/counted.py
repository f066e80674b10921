# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest test's header says that the observer must have counted."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from .. import header
from ..guests import machine, observer
from ..header import GuestTest

# What the observer was not asked for is not 0 of it.
NOT_COUNTED = -1


def misplaced(seen: observer.Window | None) -> list[str]:
    """A way from user mode into the kernel that is no entry by the rules of its machine."""
    many = (seen or {}).get("misplaced", 0)
    return [f"{many} ways into the kernel lead by no slot of its vectors"] if many else []


def of(window: observer.Window, what: str) -> int:
    """@what: all entries, calls of others, a kind or a vector."""
    if what in header.COUNTERS:
        counted = window[header.COUNTERS[what]]
        return NOT_COUNTED if counted is None else int(counted)
    by_vector = window["entries_by_vector"]
    if what in machine.KINDS or what == machine.UNKNOWN:
        return machine.count(by_vector, what)
    return int(by_vector.get(what, 0))


def _expects(test: GuestTest, windows: Mapping[int, observer.Window]) -> Iterator[str]:
    for expect in test.expects:
        window = windows.get(expect.window)
        if not window:
            yield f"the observer saw no window {expect.window}"
            continue
        if not window["probes"] or window["probes"] != window["probes_seen"]:
            yield f"the observer missed probes: {window['probes_seen']} of {window['probes']}"
        seen = of(window, expect.vector)
        if seen != expect.count:
            yield (
                f"window {expect.window}: {seen} entries by {expect.vector}, "
                f"not {expect.count}: {window['entries_by_vector']}"
            )


def _names(windows: tuple[int, ...]) -> str:
    return ",".join(map(str, windows))


def _equals(test: GuestTest, windows: Mapping[int, observer.Window]) -> Iterator[str]:
    for equal in test.equals:
        sets = [[windows.get(n) for n in each] for each in (equal.first, equal.second)]
        one, other = (min(int(w[equal.what]) if w else 0 for w in each) for each in sets)
        if not one or not other or abs(other - one) > one * equal.percent / 100:
            yield (
                f"windows {_names(equal.first)} and {_names(equal.second)}: {equal.what} is "
                f"{one} and {other}, not the same within {equal.percent:g} %"
            )


def _mores(test: GuestTest, windows: Mapping[int, observer.Window]) -> Iterator[str]:
    for more in test.mores:
        sets = [[(windows.get(n) or {}).get("heavy", {}).get(more.kind) for n in each]
                for each in (more.base, more.windows)]
        if any(None in each for each in sets) or min(sets[1]) - min(sets[0]) != more.count:
            yield (
                f"windows {_names(more.base)} and {_names(more.windows)}: {sets[0]} and {sets[1]} "
                f"of {more.kind}, not {more.count} more"
            )


def shown(test: GuestTest, windows: Mapping[int, observer.Window]) -> list[str]:
    """The same of the windows that it closed, where it did not come to its end.

    Of windows that are compared all must be; the kinds of a window are whole as it closes.
    """
    expects = [e for e in test.expects if e.window in windows]
    mores = [m for m in test.mores if {*m.base, *m.windows} <= windows.keys()]
    return judge(replace(test, expects=tuple(expects), mores=tuple(mores), equals=()), windows)


def judge(test: GuestTest, windows: Mapping[int, observer.Window]) -> list[str]:
    """What does not hold, of a test that came to its end."""
    return [*_expects(test, windows), *_equals(test, windows), *_mores(test, windows)]
