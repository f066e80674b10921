# SPDX-License-Identifier: GPL-2.0-or-later
"""A time for people: three digits and a unit.  Units are s, ms, us, ns, as the command has them."""

UNITS = (("s", 1e9), ("ms", 1e6), ("us", 1e3))


def time(ns: float, digits: int = 3) -> str:
    """For a terminal and a drawing."""
    for unit, size in UNITS:
        if ns >= size:
            return f"{ns / size:.{digits}g} {unit}" if ns < 999.5 * size \
                else f"{ns / size:.0f} {unit}"
    return f"{ns:.0f} ns"


def apart(ns: float, other: float) -> str:
    """With as many digits as tell it from another one that it is judged by."""
    for digits in range(3, 10):
        if ns == other or time(ns, digits) != time(other, digits):
            return time(ns, digits)
    return f"{ns:.0f} ns"


def marked(ns: float | None, none: str = "–", beside: float | None = None) -> str:
    """For a page, with the exact value under the pointer; `none`, HTML, for one without a value.

    `beside`: a value that it is compared with.
    """
    if ns is None:
        return none
    words = time(ns) if beside is None else apart(ns, beside)
    return f'<span title="{ns:.0f} ns">{words}</span>'
