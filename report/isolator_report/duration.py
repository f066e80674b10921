# SPDX-License-Identifier: GPL-2.0-or-later
"""A time for people: three digits and a unit.  Units are s, ms, us, ns, as the command has them."""

UNITS = (("s", 1e9), ("ms", 1e6), ("us", 1e3))


def time(ns: float) -> str:
    """For a terminal and a drawing."""
    for unit, size in UNITS:
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 999.5 * size else f"{ns / size:.0f} {unit}"
    return f"{ns:.0f} ns"


def marked(ns: float | None, none: str = "–") -> str:
    """For a page, with the exact value under the pointer; `none`, HTML, for one without a value."""
    return none if ns is None else f'<span title="{ns:.0f} ns">{time(ns)}</span>'
