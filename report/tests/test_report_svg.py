# SPDX-License-Identifier: GPL-2.0-or-later
"""Pieces of a drawing: what they are given stays text, and colours are the palette's."""

import re
import xml.etree.ElementTree as ElementTree

from isolator_report import svg
from isolator_report.axis import STEPS, Axis, place
from isolator_report.shell import ASSETS


def test_a_colour_falls_back_on_the_light_one() -> None:
    """A picture that no page gives its colours is for white paper."""
    light = (ASSETS / "palette.css").read_text().split("}")[0]
    for name in ("fg", "bg", "good", "one"):
        found = re.fullmatch(r"var\(--(\w+),(#\w+)\)", svg.colour(name))
        assert found and f"--{found[1]}:{found[2]}" in light


def test_words_stay_words() -> None:
    """A title, a label and a hint are no markup, whatever is in them."""
    words = 'a<b & "c"'
    drawn = ElementTree.fromstring(
        svg.opened(100, 50, words) + svg.paper(100, 50) + svg.text(1.04, 2, words, bold=True)
        + svg.bar(0, 1, 2.25, 3, svg.GOOD, title=words) + svg.line("M0 0H9") + "</svg>")
    assert drawn.attrib["aria-label"] == words and drawn.attrib["viewBox"] == "0 0 100 50"
    assert [one.text for one in drawn.iter() if one.text] == [words] * 3
    assert drawn[2].attrib["x"] == "1" and drawn[3].attrib["width"] == "2.2"


def test_an_axis_names_the_times_that_are_on_it() -> None:
    """1, 2 and 5 of each factor of 10, at their pixels."""
    axis = Axis(place(900), place(60_000), 100, 500)
    assert [round(ns) for _, _, ns in axis.times()] == [1000, 2000, 5000, 10_000, 20_000, 50_000]
    assert [round(ns) for _, _, ns in axis.times((1,))] == [1000, 10_000]
    assert (axis.at(place(900)), axis.at(place(60_000))) == (100, 500)
    assert place(0) == 0 and place(10) == STEPS


def test_an_outline_returns_to_the_base_where_nothing_is() -> None:
    """Two places side by side are one figure, the next one is another."""
    path = Axis(0, 10, 0, 100).outline({2: 5.0, 1: 7.0, 4: 6.0}, 9.0)
    assert path == "M10.0 9.0V7.0H20.0V5.0H30.0V9.0M40.0 9.0V6.0H50.0V9.0"
