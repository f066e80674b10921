# SPDX-License-Identifier: GPL-2.0-or-later
"""Times for people, alike on a terminal, in a drawing and in a page."""

from pathlib import Path

import pytest
from isolator_report import duration


@pytest.mark.parametrize(("ns", "said"), [
    (0, "0 ns"), (999, "999 ns"), (1000, "1 us"), (12_345, "12.3 us"), (999_600, "1000 us"),
    (1_234_567, "1.23 ms"), (2_500_000_000, "2.5 s"), (100_000_000_000, "100 s")])
def test_times(ns: int, said: str) -> None:
    """Three digits and a unit."""
    assert duration.time(ns) == said


def test_a_page_keeps_the_exact_value() -> None:
    """Under the pointer; without a value it has what the caller says."""
    assert duration.marked(12_345) == '<span title="12345 ns">12.3 us</span>'
    assert duration.marked(None) == "–" and duration.marked(None, "<i>none</i>") == "<i>none</i>"


def test_units_are_ascii_everywhere() -> None:
    """us, as the command has it and as one types it: whoever searches a report finds it."""
    sources = [path for path in Path(duration.__file__).parent.rglob("*")
               if path.suffix in (".py", ".js", ".css", ".json")]
    assert len(sources) > 20
    assert [path.name for path in sources if {"\u00b5", "\u03bc"} & set(path.read_text())] == []
