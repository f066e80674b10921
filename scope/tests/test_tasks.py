# SPDX-License-Identifier: GPL-2.0-or-later
"""The ten tasks of docs/scope.md, each through the page alone, in the clicks that it promises."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from scope_browser import browser, pixels, serving, twice, wait
from scope_runs import record
from scope_simulated import simulated
from sim.model import Faults
from steps import ROOT
from waiting import until

SPIKE = 5_000_000  # ns, of trigger 2500's tasklet
ROW = re.compile(r"^\| (\d+)\. [^|]+\| [^|]+\| (\d+) \|$", re.M)
PROMISED = {int(number): int(clicks) for number, clicks in
            ROW.findall((ROOT / "docs/scope.md").read_text())}


class Hands:
    """A person: what is clicked, typed into or pressed is counted; a word typed is one."""

    def __init__(self, page: Any, night: str, live: str) -> None:
        self.page, self.night, self.live = page, night, live
        self.acts = 0

    def open(self, url: str) -> None:
        """Afresh."""
        self.page.goto("about:blank")
        self.page.goto(url)
        self.acts = 0
        wait(self.page, "scope.world.lines.length == 11 && scope.world.status")
        if url == self.night:
            wait(self.page, "scope.world.lines[3].count == 5000")

    def click(self, what: str) -> None:
        self.page.click(what)
        self.acts += 1

    def type(self, what: str, words: str) -> None:
        self.page.fill(what, words)
        self.page.press(what, "Enter")
        self.acts += 1

    def choose(self, what: str, label: str) -> None:
        self.page.select_option(what, label=label)
        self.acts += 1

    def point(self, x: float, y: float) -> None:
        self.page.mouse.move(x, y)
        self.acts += 1

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.acts += 1

    def text(self, what: str) -> str:
        return str(self.page.inner_text(what))

    def says(self, what: str, words: str) -> None:
        """Once it does."""
        until(lambda: words in self.text(what), lambda: f"{what}: {self.text(what)}")

    def done(self, task: int) -> None:
        """In at most the clicks that are promised."""
        assert self.acts == PROMISED[task], (task, self.acts)


@pytest.fixture(scope="module")
def hands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hands]:
    """A page; a night that was recorded, and a generator that runs."""
    folder = tmp_path_factory.mktemp("tasks")
    asyncio.run(record(folder / "night.scope", 5000, millihertz=500_000, faults=Faults(
        spike=0.001, planted={(2500, "tasklet"): SPIKE})))
    with ExitStack() as stack:
        where, _ = stack.enter_context(simulated("--spike", "0.01"))
        night = stack.enter_context(serving("--replay", str(folder / "night.scope"),
                                            "--speed", "0"))
        live = stack.enter_context(serving("--connect", where, "-o", str(folder / "live.scope")))
        page = stack.enter_context(browser())
        yield Hands(page, night, live)


def test_there_are_ten() -> None:
    assert sorted(PROMISED) == list(range(1, 11))


def test_1_the_worst_of_last_night_and_its_cause(hands: Hands) -> None:
    hands.open(hands.night)
    assert "5.0" in hands.text("#worst-tile")
    hands.click("#worst-tile")
    hands.says("#hops", "Unusual: tasklet")
    assert "Trigger 2,500," in hands.text("#hops")
    hands.done(1)


def test_2_when_the_largest_were(hands: Hands) -> None:
    hands.open(hands.night)
    hands.click("#tab-worst")
    hands.says("#worst-body", "UTC")
    rows = hands.page.evaluate("[...document.querySelectorAll('#worst-body tr')].map(row => "
                               "[...row.cells].map(cell => cell.textContent))")
    assert len(rows) > 5 and rows[0][3] == "2,500" and "more of the largest" in rows[0][2]
    hands.click("#worst-body tr:nth-child(2) button")
    hands.says("#hops", f"Trigger {rows[1][3]},")
    hands.done(2)


def test_3_whether_a_limit_held(hands: Hands) -> None:
    hands.open(hands.night)
    hands.type("#limit", "10 ms")
    hands.says("#limit-value", "held")
    hands.done(3)
    hands.type("#limit", "1 ms")
    hands.says("#limit-value", "exceeded")
    for name in ("json", "report"):  # what leaves the page is judged by it, too
        assert "limit=1000000" in (hands.page.get_attribute(f"#{name}", "href") or "")
    beyond = hands.page.evaluate("scope.world.lines.map(row => row.beyond)")
    worst = hands.page.evaluate("scope.world.lines.map(row => row.max)")
    assert [n > 0 for n in beyond] == [ns > 1_000_000 for ns in worst] and any(beyond)
    hands.says("#limit-value", f"{sum(beyond)}×")


def test_4_what_was_at_a_time(hands: Hands) -> None:
    hands.open(hands.night)
    hands.page.evaluate("() => { const one = scope.axes.live; one.fit = false; one.span = 4e8;"
                        " one.moved(); }")
    wait(hands.page, "scope.charts[3].chart.window[1] - scope.charts[3].chart.window[0] < 0.5")
    wait(hands.page, "scope.axes.live.end === null")
    box = hands.page.locator("#minimap").bounding_box()
    hands.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    hands.acts += 1
    # In the middle of a run of 10 s is its one answer of 5 ms.
    wait(hands.page, "scope.axes.live.end !== null && scope.charts[3].chart.seen.some("
         f"([, one]) => one[1] === {SPIKE})")
    hands.done(4)


def spot(hands: Hands, seconds: str) -> tuple[float, float]:
    """Where a time is in the first chart."""
    x, y = hands.page.evaluate(f"""() => {{
        const chart = scope.charts[0].chart, box = chart.plot.over.getBoundingClientRect();
        const [from, to] = chart.window;
        return [box.left + chart.plot.valToPos(from + (to - from) * {seconds}, 'x'),
                box.top + box.height / 2];
    }}""")
    return float(x), float(y)


def test_5_how_far_apart_two_things_are(hands: Hands) -> None:
    hands.open(hands.night)
    hands.press("Space")
    hands.page.locator("#chart-0").scroll_into_view_if_needed()
    wait(hands.page, "scope.charts[0].chart.seen.length > 100")
    for key, place in (("a", "0.25"), ("b", "0.75")):
        hands.point(*spot(hands, place))
        wait(hands.page, "document.querySelector('#chart-0 .reading').textContent")
        hands.press(key)
    hands.says("#markers", "B − A:")
    apart = float(hands.text("#markers").split()[3])
    assert abs(apart - 3.2) < 0.1, hands.text("#markers")
    hands.done(5)


def test_6_a_figure_for_a_paper(hands: Hands) -> None:
    hands.open(hands.night)
    hands.click("summary:has-text('export')")
    with hands.page.expect_download() as download:
        hands.click("#svg")
    text = Path(download.value.path()).read_text()
    for words in ("night.scope", "500 Hz", "UTC", "5,000 triggers", "tasklet", "p99.9", "floor"):
        assert words in text, words
    assert len(re.findall("<image ", text)) == 11
    hands.done(6)
    with hands.page.expect_download() as download:
        hands.page.click("#png")
    assert download.value.suggested_filename.endswith(".png")
    assert pixels(Path(download.value.path())) == twice(text)
    # Whatever a name has.
    odd = text.replace("night.scope", "night\1")
    with hands.page.expect_download() as download:
        hands.page.evaluate("text => saveFigure(text, 'odd', 'png')", odd)
    assert odd != text and pixels(Path(download.value.path())) == twice(text)
    # Of the other views, too: what is no picture there is a table, and curves have a legend.
    for tab, images, shown in (("chain", 0, ("comes after", "bh-work", "Unusual: tasklet")),
                               ("long", 2, ("tasklet", "work-unbound", "UTC")),
                               ("overlay", 1, ("All answers", "p99.9"))):
        hands.page.evaluate("document.querySelector('.menu').open = false")
        if tab == "chain":
            hands.page.click("#worst-tile")
            hands.says("#hops", "Unusual: tasklet")
        hands.page.click(f"#tab-{tab}")
        hands.page.click("summary:has-text('export')")
        with hands.page.expect_download() as download:
            hands.page.click("#svg")
        text = Path(download.value.path()).read_text()
        assert len(re.findall("<image ", text)) == images, tab
        assert tab != "chain" or text.count("<rect ") == 1 + 11  # the paper, and a bar of each hop
        assert all(word in text for word in shown), tab


def test_7_a_table_for_a_ticket(hands: Hands) -> None:
    hands.open(hands.night)
    hands.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hands.click("summary:has-text('export')")
    hands.click("#markdown")
    hands.says("#answer", "copied")
    text = hands.page.evaluate("navigator.clipboard.readText()")
    assert re.search(r"^\| tasklet \|.* 5 ms \|", text, re.M) and "night.scope" in text
    hands.done(7)


def test_8_a_run_of_its_own(hands: Hands) -> None:
    hands.open(hands.live)
    hands.click("#generator-panel summary")
    hands.type("#frequency", "900")
    wait(hands.page, "scope.world.status.state?.millihertz == 900000")
    hands.type("#run-name", "before")
    hands.click("#new-run")
    wait(hands.page, "scope.world.status.runs.at(-1).title == 'before'")
    hands.type("#for-triggers", "1500")
    hands.click("#start")
    wait(hands.page, "scope.world.status.state.running == 0 "
         "&& scope.world.status.runs.at(-1).triggers == 1500")
    assert hands.text("#rate") == "900 Hz"
    hands.done(8)


def test_9_before_and_after(hands: Hands) -> None:
    hands.open(hands.live)
    hands.page.evaluate("document.getElementById('generator-panel').open = true")
    hands.type("#run-name", "after")
    hands.click("#new-run")
    hands.page.evaluate("document.activeElement.blur()")
    hands.page.keyboard.press("s")
    wait(hands.page, "scope.world.status.runs.at(-1).title == 'after' "
         "&& scope.world.status.runs.at(-1).triggers > 500")
    hands.acts = 0
    hands.choose("#baseline", "before")
    wait(hands.page, "scope.chosen.baseline?.title == 'before'")
    wait(hands.page, "[...document.querySelectorAll('.track .base')].every(one => !one.hidden)")
    assert "line below: before" in hands.text("#strip-scale")
    hands.done(9)
    hands.says("#why", "on disk in live.scope")
    # It stays chosen when there is another run.
    there = hands.page.evaluate("scope.world.status.runs.length")
    hands.page.click("#new-run")
    wait(hands.page, f"document.getElementById('baseline').options.length == 1 + {there + 1}")
    assert hands.page.evaluate("document.getElementById('baseline').selectedOptions[0].text") \
        == "before"


def test_10_catch_the_first_beyond_a_limit(hands: Hands) -> None:
    hands.open(hands.live)
    hands.page.keyboard.press("s")
    wait(hands.page, "scope.world.status.state.running")
    hands.type("#limit", "500 us")
    hands.click("#armed")
    wait(hands.page, "document.getElementById('hold').getAttribute('aria-pressed') == 'true'")
    hands.says("#answer", "more than 500 us")
    # It is in the picture that stands.
    wait(hands.page, "scope.charts.some(({chart}) => "
         "chart.seen.some(([, one]) => one[1] > 500000))")
    hands.done(10)
    hands.page.keyboard.press("x")
