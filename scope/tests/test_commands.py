# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be done in the page, found by a few letters of its words."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from scope_browser import browser, serving, wait
from scope_runs import record

FOUND = ("[...document.querySelectorAll('#commands-body tr')]"
         ".map(one => one.innerText.trim().split(/\\s*\\t\\s*/))")


@pytest.fixture(name="recorded", scope="module")
def _recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("commands") / "a.scope"
    asyncio.run(record(path, 500))
    return path


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.innerText"))


def test_a_command_is_found_and_done_by_keys_alone(recorded: Path) -> None:
    with serving("--replay", str(recorded), "--speed", "0") as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.lines.length == 11 && scope.world.lines[3].count == 500")
        page.keyboard.press("Control+k")
        assert focused(page) == "find"
        everything = page.evaluate(FOUND)
        assert ["space", "hold, or go on"] in everything
        assert ["the report"] in everything
        # The generator is not linked in a replay: what its hidden button does is not offered.
        assert ["disconnect"] not in everything
        page.keyboard.type("term LONG view")
        assert page.evaluate(FOUND) == [["3", "view: long term"]]
        page.keyboard.press("Enter")
        wait(page, "scope.chosen.view === 'long'")
        assert not page.locator("#commands").is_visible()
        # In the field letters are letters; the arrows go on to what was found.
        page.keyboard.press("?")
        page.keyboard.type("figure")
        assert [row[-1] for row in page.evaluate(FOUND)] == [
            "save the figure as PNG", "save the figure as SVG", "copy the figures as Markdown",
            "the figures as JSON"]
        for _ in range(2):
            page.keyboard.press("ArrowDown")
        assert focused(page) == "save the figure as SVG"
        with page.expect_download() as saved:
            page.keyboard.press("Enter")
        assert saved.value.suggested_filename.endswith(".svg")
        page.keyboard.press("Control+k")
        assert page.input_value("#find") == ""
        page.keyboard.type("no such thing")
        assert page.evaluate(FOUND) == []
        assert page.inner_text("#commands-none") == "nothing has these words"
        page.keyboard.press("Enter")
        for _ in range(2):
            page.keyboard.press("Escape")  # the first empties the field
        assert not page.locator("#commands").is_visible()
        assert page.evaluate("scope.chosen.view") == "long"
