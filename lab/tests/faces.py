# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds of each page that the lab writes, looked at in Chromium."""

import re
from pathlib import Path
from typing import Any

from scope_browser import axe, axe_source, browser, pixels, twice

WIDTHS = (390, 1024, 1440)
OVER = "document.documentElement.scrollWidth"
__all__ = ["axe_of", "browser", "head", "look_at"]


def head(page: str) -> str:
    """What a person reads first, up to the first figure or table: the verdict is first in it."""
    body = page[page.index("<main>"):page.index("</main>")]
    assert re.match(r'<main><div data-about="[^"]+"><div class="verdict (good|mid|bad)">', body)
    for fact in ("machine", "kernel", "command", "date"):
        assert f"<dt>{fact}</dt><dd>" in body, fact
    return body[:min(body.index(one) for one in ("<svg", "<table") if one in body)]


def axe_of(view: Any) -> list[str]:
    """By a script that the page's policy does not know of."""
    view.context.new_cdp_session(view).send("Page.setBypassCSP", {"enabled": True})
    view.evaluate(axe_source())
    return axe(view)


def _saved(view: Any, number: int, kind: str) -> Path:
    """A figure, by the keyboard."""
    view.locator(f".save button:has-text('{kind}') >> nth={number}").focus()
    with view.expect_download() as download:
        view.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(kind.lower())
    return Path(download.value.path())


def look_at(page: str, folder: Path, *words: str) -> None:
    """axe-core finds nothing, light and dark, by keys; each figure leaves it, with `words`."""
    path = folder / "page.html"
    path.write_text(page)
    figures, facts = page.count("<figure"), ("machine: ", "kernel: ", "date: ")
    with browser(home="file://") as view:
        view.goto(f"file://{path}")
        assert view.locator(".save").count() == figures > 0
        for number in range(figures):
            text = _saved(view, number, "SVG").read_text()
            assert "var(" not in text and not [one for one in facts if one not in text], text[:3000]
            assert number or not [one for one in words if one not in text], text[:3000]
            assert pixels(_saved(view, number, "PNG")) == twice(text)
        for theme in ("light", "dark"):
            assert axe_of(view) == [], theme
            view.keyboard.press("d")
        for width in WIDTHS:
            view.set_viewport_size({"width": width, "height": 900})
            assert view.evaluate(OVER) <= width, width
