# SPDX-License-Identifier: GPL-2.0-or-later
"""The page in Debian's Chromium, served by the program itself."""

import contextlib
import functools
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pageparts import page_parts
from scope_simulated import ENVIRONMENT
from steps import ROOT
from waiting import PATIENCE_S, until

CHROMIUM = shutil.which("chromium")
SIZE = {"width": 1280, "height": 900}


@functools.cache
def parts() -> str:
    """Where uPlot is."""
    return str(page_parts("uPlot"))


@contextlib.contextmanager
def serving(*words: str) -> Iterator[str]:
    """isolator-scope serve, and its address; it must end in order."""
    environment = {**ENVIRONMENT, "ISOLATOR_SCOPE_PARTS": parts()}
    with subprocess.Popen(
            [sys.executable, "-m", "isolator_scope", "serve", "--listen", "127.0.0.1:0", *words],
            env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            assert process.wait(PATIENCE_S) == 0


@contextlib.contextmanager
def browser(expected: str = "", home: str = "//127.0.0.1:") -> Iterator[Any]:
    """A page that may complain of nothing but what is expected, and load from `home` only."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright")
    if CHROMIUM is None:
        pytest.skip("no chromium: tools/install-packages scope")
    arguments = ["--disable-gpu", "--disable-dev-shm-usage"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = chromium.new_page(viewport=SIZE, color_scheme="light")
        page.context.set_default_timeout(PATIENCE_S * 1000)  # its own is too short for a busy host
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text)
                if said.type == "error" else None)
        page.on("request", lambda one: complaints.append(one.url)
                if home not in one.url and not one.url.startswith(("data:", "blob:", "about:"))
                else None)
        try:
            yield page
            said = [one for one in complaints if not expected or expected not in one]
            assert not said, said
        finally:
            chromium.close()


def picture(page: Any, name: str, folder: Path, height: int = 900) -> None:
    """A screenshot; into docs/ when it is asked for, as they are committed."""
    folder = ROOT / "docs" if os.environ.get("ISOLATOR_SCREENSHOTS") else folder
    path = folder / f"scope-{name}.png"
    page.screenshot(path=str(path), clip={"x": 0, "y": 0, "width": SIZE["width"], "height": height})
    assert path.stat().st_size < 200_000


def pixels(png: Path) -> tuple[int, int]:
    """Its width and height; it is a PNG."""
    head = png.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n"), head
    wide, tall = struct.unpack(">II", head[16:])
    return int(wide), int(tall)


def twice(figure: str) -> tuple[int, int]:
    """The pixels of a PNG that has all of a figure, which is the text of an SVG."""
    found = re.match(r'<svg [^>]*? width="(\d+)" height="(\d+)"', figure)
    assert found is not None, figure[:300]
    return 2 * int(found[1]), 2 * int(found[2])


def wait(page: Any, condition: str) -> None:
    """Until it is true in the page.  (Its own waiting takes eval, which the page forbids.)"""
    until(lambda: bool(page.evaluate(f"Boolean(globalThis.scope && ({condition}))")), condition)


def shown(page: Any) -> None:
    """What the page has to draw, it has drawn, and it is on the screen."""
    page.evaluate("async () => { for (let frame = 0; frame < 3; frame++)"
                  " await new Promise(done => requestAnimationFrame(done)); }")


def axe(page: Any) -> list[str]:
    """Violations of WCAG 2.2 AA."""
    found = page.evaluate("""async () => {
        const {violations} = await axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a',
            'wcag21aa', 'wcag22aa', 'best-practice']});
        return violations.map(one => `${one.id}: ${one.help}: ${one.nodes.map(node =>
            node.target).join(' | ')} ${one.nodes[0].failureSummary}`);
    }""")
    return [str(one) for one in found]


def axe_source() -> str:
    packages = page_parts("axe-core", "--lint")
    return (packages / "node_modules/axe-core/axe.min.js").read_text()
