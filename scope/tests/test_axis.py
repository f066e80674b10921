# SPDX-License-Identifier: GPL-2.0-or-later
"""Any time of a long recording: a time is blank only if nothing came."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from isolator_scope import past
from isolator_scope.instrument import Instrument
from isolator_scope.trail import BASE
from scope_browser import browser, serving, shown, wait
from scope_runs import write
from scope_served import served, stand_in, told
from waiting import until

TRIGGERS = 2600
LONG = 72 * 3600e9  # ns: 2600 triggers of 10 mHz, one in each column of 164 s or in its neighbour

# Columns of the window that have answers; those that have not been read.
KNOWN = "[...scope.axes.long.rows].filter(([, row]) => row.size).length"


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days."""
    path = tmp_path_factory.mktemp("days") / "days.scope"
    write(path, TRIGGERS, millihertz=10)
    return path


@pytest.fixture(scope="module")
def seen(days: Path) -> Iterator[str]:
    """Its address."""
    with serving("--replay", str(days), "--speed", "0") as url:
        yield url


def test_days_that_are_followed(seen: str) -> None:
    """All columns of all of it, though only the newest come by themselves; held, they stay."""
    with browser() as page:
        page.goto(f"{seen}#view=long")
        wait(page, f"scope.world.lines[0]?.count == {TRIGGERS}")
        assert page.evaluate("scope.axes.long.end === null")
        for _ in range(2):
            wait(page, f"scope.axes.long.span > {LONG} && !scope.axes.long.lacks().length"
                       f" && {KNOWN} > 1500")
            page.keyboard.press("Space")
        page.keyboard.press("Space")
        page.evaluate("() => { const one = scope.axes.long; one.renew(one.level); one.moved(); }")
        wait(page, f"scope.axes.long.end !== null && !scope.axes.long.lacks().length"
                   f" && {KNOWN} > 1500")
        for key in ("ArrowLeft", "+", "+"):
            page.keyboard.press(key)
            wait(page, "scope.axes.long.rows.size && !scope.axes.long.lacks().length")
        # Out again to all of it, which is more than a level keeps.
        for _ in range(4):
            page.keyboard.press("-")
        assert page.evaluate(f"scope.axes.long.span > {LONG}"
                             " && scope.axes.long.span > scope.axes.long.longest")


def test_what_is_not_read_is_not_blank(seen: str) -> None:
    """While the answer is on its way, or is none, the time is shaded."""
    with browser() as page:
        page.goto(f"{seen}#view=long")
        wait(page, f"scope.world.lines[0]?.count == {TRIGGERS} && !scope.axes.long.lacks().length"
                   f" && {KNOWN} > 1500")
        ink = """() => { const {plot} = scope.maxima.chart, {left, top, height} = plot.bbox;
            return [...plot.ctx.getImageData(left + 40, top + height - 4, 1, 1).data].join(); }"""
        read = "0,0,0,0"  # below all answers
        until(lambda: page.evaluate(ink) == read, lambda: str(page.evaluate(ink)))
        draws = page.evaluate("""() => { const one = scope.axes.long; one.failed();
            one.later = Infinity; one.rows = new Map(); one.known = []; scope.touch(true);
            return scope.maxima.chart.draws; }""")
        wait(page, f"scope.axes.long.lacks().length && scope.maxima.chart.draws > {draws}")
        shown(page)
        assert page.evaluate(ink) != read


def test_no_address_holds_a_page_up(seen: str) -> None:
    """Spans and ends of centuries are those of the recording; a limit of years is none."""
    vast = "9" * 20
    with browser() as page:
        page.goto(f"{seen}#live-span={vast}&live-end={vast}&long-span={vast}&A={vast}"
                  "&limit=4611686018427387904")
        wait(page, f"scope.world.lines[0]?.count == {TRIGGERS} && scope.charts[0].chart.draws > 0")
        for key in "31":
            page.keyboard.press(key)
            shown(page)
        assert page.evaluate(f"Object.values(scope.axes).every(one => one.span < 1.1 * {LONG}"
                             " && (one.end ?? 0) < Date.now() * 1e6 + 2 * one.span)")
        assert "a time such as" in page.inner_text("#limit-error")
        assert page.inner_text("#limit-value") == "none"
        page.fill("#limit", "99999999999 s")
        page.press("#limit", "Enter")
        shown(page)
        assert page.evaluate("scope.chosen.limit === null")
        page.fill("#limit", "100 s")
        page.press("#limit", "Enter")
        wait(page, "document.getElementById('limit-value').textContent == 'held'")


def test_a_question_is_answered_as_far_as_it_was_read(tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is too wide, and one of too many triggers: the rest is asked for again."""
    write(tmp_path / "a.scope", 3000, millihertz=20_000)

    async def run() -> None:
        host = Instrument(tmp_path / "a.scope", live=True, indexed=True)
        await host.catch_up()
        assert host.account.began is not None
        begin = host.account.began // BASE
        async with served(host, stand_in(tmp_path)) as (client, url), \
                client.ws_connect(url + "/ws") as socket:
            async def ask(first: int, last: int) -> dict[str, Any]:
                await socket.send_json({"window": {"of": "live", "level": 0, "first": first,
                                                   "last": last}})
                return await told(socket, "window")

            wide = await ask(begin, begin + 10**6)
            assert wide["last"] == begin + 2559
            assert "failed" in await ask(begin, begin - 1)
            monkeypatch.setattr(past, "MOST_TRIGGERS", 100)
            found: dict[int, Any] = {}
            at, times = begin, 0
            while at <= wide["last"]:
                part = await ask(at, wide["last"])
                assert at <= part["last"] <= wide["last"]
                found |= dict(part["rows"])
                at, times = part["last"] + 1, times + 1
            assert times > 4 and found == dict(wide["rows"])
        host.close()

    asyncio.run(run())
