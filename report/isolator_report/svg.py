# SPDX-License-Identifier: GPL-2.0-or-later
"""Pieces of a drawing, in the colours of palette.css.

A colour is a CSS variable with its light value to fall back on: a drawing looks right alone,
and follows the light or dark of a page that it is part of.
"""

import re
from html import escape

from .shell import ASSETS

LICENCE = "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
_LIGHT = dict(re.findall(r"--(\w+):(#\w+)", (ASSETS / "palette.css").read_text().split("}")[0]))


def colour(name: str) -> str:
    """One of palette.css."""
    return f"var(--{name},{_LIGHT[name]})"


INK, PAPER, DIM, LINE, PANEL = map(colour, ("fg", "bg", "dim", "line", "panel"))
GOOD, MID, BAD, ONE, TWO = map(colour, ("good", "mid", "bad", "one", "two"))


def number(value: float) -> str:
    """A tenth of a pixel is exact enough."""
    return f"{round(value, 1):g}"


def opened(width: float, height: float, title: str, more: str = "") -> str:
    """The beginning of a picture; `more` are attributes, here and below.  `</svg>` ends it."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} '
            f'{number(height)}" role="img" font-family="system-ui,sans-serif" '
            f'aria-label="{escape(title)}"{more}><title>{escape(title)}</title>')


def text(x: float, y: float, words: str, anchor: str = "middle", fill: str = DIM, size: int = 12,
         bold: bool = False) -> str:
    """One line of text."""
    weight = ' font-weight="bold"' if bold else ""
    return (f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}" fill="{fill}" '
            f'font-size="{size}"{weight}>{escape(words)}</text>')


def bar(x: float, y: float, width: float, height: float, fill: str, more: str = "",
        title: str = "") -> str:
    """A filled box; the title is what the pointer shows."""
    end = f"><title>{escape(title)}</title></rect>" if title else "/>"
    return (f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
            f'height="{number(height)}" fill="{fill}"{more}{end}')


def paper(width: float, height: float) -> str:
    """For a picture that no page gives a background."""
    return bar(0, 0, width, height, PAPER)


def line(path: str, stroke: str = LINE, more: str = "") -> str:
    """Along a path."""
    return f'<path d="{path}" stroke="{stroke}"{more}/>'
