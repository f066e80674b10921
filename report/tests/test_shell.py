# SPDX-License-Identifier: GPL-2.0-or-later
"""The shell of a page: what it is given stays text, and a page needs nothing else."""

import json
import re
from pathlib import Path

import pytest
from isolator_report.shell import ASSETS, shell


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "<!--<script>"])
def test_what_it_carries_ends_where_its_element_does(name: str) -> None:
    """Behind <!--<script> a page would go on being that document."""
    document = {"name": name}
    text = shell("a < b", "<p>body</p>", heading="c & d", data=("figures", document))
    assert "<title>a &lt; b</title>" in text and "<h1>c &amp; d</h1>" in text
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text)
    assert found and json.loads(found[1]) == document and "<" not in found[1]


def test_own_rules_and_script_come_after_those_of_every_page() -> None:
    text = shell("t", "<p>body</p>", style="p{color:red}", script="const own = 1;",
                 data=("figures", 1))
    parts = ["--fg:", "font:15px", "p{color:red}", "<p>body</p>", 'id="figures"', "function turn",
             "const own"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_it_refers_to_nothing_outside() -> None:
    assert not re.search(r"(src|href)=|https?:|@import|url\(", shell("t", ""))


def rules(text: str) -> set[tuple[str, str]]:
    """Each selector with each of its declarations."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return {(selector.strip(), declaration.strip())
            for selectors, body in re.findall(r"([^{}]+){([^{}]*)}", text)
            for selector in selectors.split(",") for declaration in body.split(";") if declaration}


@pytest.mark.parametrize("path", ["lab/isolab/matrix/page.css", "scope/page/scope.css"])
def test_no_page_repeats_what_all_have(path: str) -> None:
    """A rule of page.css is in page.css alone: whoever changes it changes all pages."""
    own = rules((Path(__file__).resolve().parents[2] / path).read_text())
    assert len(own) > 20
    assert own & rules((ASSETS / "page.css").read_text()) == set()


def test_light_and_dark_name_the_same_colours() -> None:
    blocks = re.findall(r":root[^{]*{([^}]*)}", (ASSETS / "palette.css").read_text())
    names = [re.findall(r"--[a-z]+", block) for block in blocks]
    assert len(blocks) == 3 and names[0] == names[1] == names[2]
    assert blocks[1] == blocks[2]
