# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/troubleshooting.md quotes is what the sources say."""

import re

import pytest
from steps import ROOT

SOURCES = [path for place in ("cli", "lib/src", "kernel/isolator")
           for path in sorted((ROOT / place).rglob("*.[ch]")) if "tests" not in path.parts]
SOURCES += [ROOT / "kernel/source.sh", ROOT / "packaging/kernel/isolator-kernel-default"]


@pytest.fixture(scope="module")
def sources() -> str:
    """All that the programs can say, with strings that span lines put together."""
    text = "\n".join(path.read_text() for path in SOURCES)
    # A variable of the shell is what a page has … for.
    return re.sub(r"\$\w+", "", re.sub(r'"\s*\n\s*"', "", text))


def quoted() -> list[str]:
    """Of tables headed `it says` or `symptom`: a first column that is one quotation."""
    rows = re.findall(r"^\| `([^`|]+)` \|", (ROOT / "docs/troubleshooting.md").read_text(),
                      re.MULTILINE)
    return [row for row in rows if not row.startswith("/")]


def test_some_are_quoted() -> None:
    """The expression finds them."""
    assert len(quoted()) > 20


@pytest.mark.parametrize("text", quoted())
def test_texts_are_in_the_sources(text: str, sources: str) -> None:
    """A text that a page quotes is still said by one of the programs."""
    for part in text.split("…"):
        assert part.strip() in sources, f"no source says: {part}"
