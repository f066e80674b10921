# SPDX-License-Identifier: GPL-2.0-or-later
"""The page in real Chromium: how fast it draws, what it never hides, what its controls do."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from isolator_scope.chain import PLAIN, downstream
from scope_browser import browser, picture, serving, shown, wait
from scope_runs import record
from scope_simulated import simulated
from sim.model import Faults
from waiting import until

POINTS = int(os.environ.get("ISOLATOR_SCOPE_POINTS", "1000000"))
LINES = 11
DRAWS = 20  # a second
PLANTED = 5_000_000  # ns


def drawn(which: str, holder: str, level: int) -> str:
    """That the columns of that level have come and the chart shows them: not the last level's."""
    return (f"scope.columns.{which}.level == {level} && scope.columns.{which}.rows.size > 0"
            f" && {holder}.chart.width == scope.world.base * 4 ** {level} / 1e9"
            f" && {holder}.chart.seen.length && !{holder}.chart.fresh")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of a run with one answer of 5 ms, far above all others, in its middle."""
    path = tmp_path_factory.mktemp("planted") / "planted.scope"
    faults = Faults(planted={(500, "tasklet"): PLANTED})
    asyncio.run(record(path, 1000, faults=faults, millihertz=500_000))
    return path


ON_SCREEN = """scope.charts.map(one => {
    const {top, bottom} = one.box.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
})"""


def test_draws_while_a_million_points_are_replayed(tmp_path: Path) -> None:
    """At least 20 a second, each chart on the screen, each with new data; all points arrive.

    By the page's own clock, the time that it computes: other work of this machine leaves it less.
    """
    path = tmp_path / "million.scope"
    triggers = POINTS // LINES
    seconds = 20.0
    asyncio.run(record(path, triggers, faults=Faults(spike=0.001), packet=50,
                       millihertz=int(triggers / seconds * 1000)))
    # Recorded as fast as it goes; replayed so that it takes those 20 s.
    from isolator_scope.recording import Reader

    entries = list(Reader(path))
    speed = (entries[-1].at - entries[0].at) / 1e9 / seconds
    # The browser first: it may take long to begin, and the replay does not wait for it.
    with browser() as page, serving("--replay", str(path), "--speed", str(speed)) as url:
        page.goto(url)
        wait(page, "scope.charts.length == 11 && scope.charts[0].chart.draws > 5")
        clock = page.context.new_cdp_session(page)
        clock.send("Performance.enable", {"timeDomain": "threadTicks"})

        def look() -> list[float]:
            """Seconds that it has computed, points, and draws of each chart."""
            told = clock.send("Performance.getMetrics")["metrics"]
            return [next(one["value"] for one in told if one["name"] == "TaskDuration"),
                    *page.evaluate("[scope.drawn.points, ...scope.charts.map(one => "
                                   "one.chart.draws)]")]

        first = look()
        wait(page, f"scope.drawn.points > {first[1] + POINTS / 2}")
        seconds, points, *draws = (b - a for a, b in zip(first, look(), strict=True))
        draws = [count for count, on in zip(draws, page.evaluate(ON_SCREEN), strict=True) if on]
        rates = [count / seconds for count in draws]
        print(f"draws of each chart: {min(rates):.1f} to {max(rates):.1f} for each of the "
              f"{seconds:.1f} s that it computed, with {points:.0f} points")
        wait(page, f"scope.drawn.points == {triggers * LINES}")
        wait(page, f"scope.world.lines.every(row => row.count == {triggers})")
        picture(page, "live", tmp_path)
        page.close()  # before its server goes
        assert len(draws) >= 3 and min(draws) > 20 and min(rates) >= DRAWS


# Pixels of these lines' colours where the planted answer belongs.
HIGH = """([holder, lines]) => {
    const chart = holder === 'live' ? scope.charts[lines[0]].chart : scope.maxima.chart;
    const plot = chart.plot, ratio = devicePixelRatio, {left, top, width, height} = plot.bbox;
    const y = plot.valToPos(PLANTED, 'y', true);
    const data = plot.ctx.getImageData(left, Math.round(y - 4 * ratio), width,
        Math.round(9 * ratio)).data;
    const probe = document.createElement('canvas').getContext('2d');
    const style = getComputedStyle(document.documentElement);
    let found = 0;
    for (const line of lines) {
        probe.fillStyle = style.getPropertyValue(`--line-${line}`);
        probe.fillRect(0, 0, 1, 1);
        const want = probe.getImageData(0, 0, 1, 1).data;
        for (let i = 0; i < data.length; i += 4)
            if (Math.abs(data[i] - want[0]) + Math.abs(data[i + 1] - want[1])
                + Math.abs(data[i + 2] - want[2]) < 30 && data[i + 3] > 200) found++;
    }
    return found;
}""".replace("PLANTED", str(PLANTED))


def test_one_maximum_is_seen_at_every_zoom_level(planted: Path, tmp_path: Path) -> None:
    """A pixel test: one answer of a thousand, in time, long-term and persistence views."""
    with serving("--replay", str(planted), "--speed", "0") as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.lines.length == 11 && scope.world.lines[3].count == 1000")
        names = page.evaluate("scope.world.names")
        line, other = names.index("tasklet"), names.index("irq")
        # What follows from it is as late, and lies on the same pixels where all are shown.
        late = [line, *map(names.index, sorted(downstream("tasklet", PLAIN)))]
        # Recorded at once, but 2 s long by the generator's clock.
        for level in range(8):
            if level:
                page.keyboard.press("-")
            wait(page, drawn("live", "scope.charts[3]", level))
            assert page.evaluate(HIGH, ["live", [line]]) >= 4, f"live, level {level}"
            assert page.evaluate(HIGH, ["live", [other]]) == 0, f"live, level {level}"
        page.keyboard.press("3")
        for level in range(7, -1, -1):
            page.evaluate("level => { const one = scope.axes.long; one.fit = false;"
                          " one.span = scope.world.base * scope.world.ring * 4 ** level;"
                          " one.moved(); }", level)
            wait(page, drawn("long", "scope.maxima", level))
            assert page.evaluate(HIGH, ["long", late]) >= 4, f"long, level {level}"
            assert page.evaluate(HIGH, ["long", [other]]) == 0, f"long, level {level}"
        page.keyboard.press("0")
        wait(page, "scope.axes.long.span < 3e9 && !scope.maxima.chart.fresh")
        shown(page)
        picture(page, "long", tmp_path)
        page.keyboard.press("2")
        steps = page.evaluate("""async () => {
            const canvas = document.getElementById('overlay'), found = [];
            const more = document.getElementById('range-more');
            for (let step = 0; step < 25; step++) {
                await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
                const ratio = devicePixelRatio, rows = scope.world.lines.filter(r => r.triggers);
                const lane = Math.max(34, Math.min(70, 560 / rows.length));
                const at = scope.world.names.indexOf('tasklet');
                const y = (8 + at * lane + lane / 2) * ratio, wide = canvas.width;
                const data = canvas.getContext('2d').getImageData(96 * ratio, Math.round(y),
                    wide - (96 + 92) * ratio, 1).data;
                // The rightmost pixel that is neither background nor a line of the grid.
                let right = -1, edge = 0;
                for (let i = 0; i < data.length; i += 4) {
                    const [r, g, b] = data.slice(i, i + 3);
                    if (Math.max(r, g, b) - Math.min(r, g, b) > 60) right = i / 4 / ratio;
                    if (r > 150 && g < 80 && b > 60 && b < 140) edge++;
                }
                found.push([step, right, edge, document.getElementById('range').textContent,
                    (wide / ratio) - 188]);
                more.click();
            }
            return found;
        }""")
        for step, right, edge, words, span in steps:
            end = {1: PLANTED * 1.05}.get(step, 10 ** (3 + (step - 2) // 3)
                                          * (1, 2, 5)[(step - 2) % 3] if step >= 2 else None)
            expected = span if end is None or end < PLANTED else span * PLANTED / end
            if step == 0:
                expected = span * 4.699 / 4.720  # logarithmic, from 100 ns
            assert edge >= 1, (step, words)
            assert abs(right - expected) < max(12, 0.02 * span), (step, words, right, expected)
        page.evaluate("for (let i = 0; i < 30; i++) document.getElementById('range-less').click()")
        shown(page)
        picture(page, "persistence", tmp_path)
        page.keyboard.press("4")
        page.select_option("#worst", label="tasklet")
        wait(page, "document.getElementById('hops').textContent.includes('Trigger 500,')")
        said = page.inner_text("#hops")
        assert "Unusual: tasklet" in said
        bars = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll('#hops tr')]
            .slice(1).map(row => [row.cells[0].textContent.replace(' (late)', ''), [
                row.cells[2].textContent, ...['from', 'to'].map(end =>
                    Number(row.querySelector('.bar').dataset[end]))]]))""")
        for after, begin, _ in bars.values():  # from the answer that it comes after
            assert begin == (0 if after == "trigger" else bars[after][2])
        picture(page, "chain", tmp_path)


def test_controls_reach_the_generator(tmp_path: Path) -> None:
    """Keys and fields; what the generator says to them; reload loses nothing."""
    path = tmp_path / "a.scope"
    with simulated("--missing", "0.01", "--late", "0.005") as (where, _), \
            serving("--connect", where, "-o", str(path)) as url, browser() as page:
        witness = page.context.browser.new_page()  # is there all the time
        for one in (witness, page):
            one.goto(url)
            wait(one, "scope.world.status?.connected && scope.world.status.state")
        page.bring_to_front()
        page.evaluate("document.getElementById('generator-panel').open = true")
        page.fill("#frequency", "777")
        page.fill("#duty", "12.5")
        page.fill("#packet", "25")
        page.press("#packet", "Enter")
        wait(page, "(s => s.millihertz == 777000 && s.duty_ppm == 125000 && s.packet == 25)"
             "(scope.world.status.state)")
        page.keyboard.press("Escape")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("c")
        wait(page, "scope.world.status.floor?.p50 == 90")
        page.keyboard.press("s")
        wait(page, "scope.world.status.state.running && scope.world.status.triggers > 1000")
        wait(page, "document.getElementById('state').textContent == 'running'"
             " && document.getElementById('rate').textContent == '777 Hz'")
        page.keyboard.press("s")
        wait(page, "document.getElementById('answer').textContent == 'start: it runs'")
        page.uncheck("#mechanisms input[value='0']")
        wait(page, "scope.world.status.state.mask == '2046'")
        page.evaluate("document.activeElement.blur()")
        # Held: what is drawn stands still, the recording does not.
        page.evaluate("document.getElementById('generator-panel').open = false")
        page.locator("#chart-3").scroll_into_view_if_needed()
        page.keyboard.press("Space")
        # The last that is drawn is what had come by then.
        wait(page, "scope.axes.live.end !== null && scope.charts[3].chart.window.join() =="
             " scope.axes.live.window().map(ns => ns / 1e9).join()")
        page.evaluate("() => { scope.world.before = scope.charts[3].chart.window.join(); }")
        triggers = page.evaluate("scope.world.status.triggers")
        size = path.stat().st_size
        until(lambda: path.stat().st_size > size, "more of the recording")
        # A second's worth has come to the page since then, and the screen's turn after it.
        wait(page, f"scope.world.status.triggers > {triggers} + 777")
        shown(page)
        assert page.evaluate("scope.charts[3].chart.window.join() == scope.world.before")
        page.keyboard.press("Space")
        page.keyboard.press("x")
        wait(page, "!scope.world.status.state.running")
        wait(page, "scope.world.status.state.triggers == scope.world.status.triggers")
        take = """() => JSON.stringify([scope.world.lines, scope.world.ever,
            [...scope.columns.live.rows].map(([i, row]) => [i, [...row]]).slice(-300)])"""
        page.reload()
        wait(page, "scope.world.status && scope.columns.live.rows.size > 0 "
             "&& scope.world.lines.length == 11")
        until(lambda: page.evaluate(take) == witness.evaluate(take), "what was there before")
        witness.close()
        assert page.evaluate("scope.world.lines[1].missing") > 0
        wait(page, "document.getElementById('missing-value').textContent != '0'")
        page.keyboard.press("p")
        wait(page, "document.getElementById('answer').textContent.startsWith('snapshot: ')")
        snapshots = list(tmp_path.glob("a-*.json"))
        assert len(snapshots) == 1
        assert json.loads(snapshots[0].read_text())["verdict"] == "measured"
        with page.expect_download() as download:
            page.evaluate("document.getElementById('png').click()")
        saved = Path(download.value.path()).read_bytes()
        assert saved.startswith(b"\x89PNG") and len(saved) > 5000
        page.keyboard.press("d")
        wait(page, "document.documentElement.dataset.theme == 'dark'")
        shown(page)
        picture(page, "dark", tmp_path)
        # All that can be used can be reached by the keyboard, and has a name.
        names = page.evaluate("""() => [...document.querySelectorAll('button, input, select, a')]
            .filter(one => !(one.textContent.trim() || one.labels?.[0]?.textContent.trim()))
            .map(one => one.outerHTML)""")
        assert names == []


def test_link_cut_is_said(tmp_path: Path) -> None:
    """The generator goes away: the page says so, and keeps what it has."""
    with simulated() as (where, generator), \
            serving("--connect", where, "-o", str(tmp_path / "a.scope")) as url, \
            browser("503 (Service Unavailable)") as page:
        page.goto(url)
        wait(page, "scope.world.status?.connected")
        page.keyboard.press("s")
        wait(page, "scope.world.status.triggers > 100")
        drawn = "[...new Set([...document.querySelectorAll('canvas')].map(one =>" \
                " getComputedStyle(one).opacity))]"
        assert page.evaluate(drawn) == ["1"]
        generator.kill()
        wait(page, "!scope.world.status.connected")
        wait(page, "document.getElementById('state').textContent == 'no link'")
        assert "no link to" in page.inner_text("#why")
        assert page.get_attribute("#lamp", "class") == "lamp bad"
        assert page.evaluate(drawn) == ["0.5"]
        assert page.is_disabled("#start")
        page.keyboard.press("x")
        wait(page, "document.getElementById('answer').textContent.includes('no link')")
        assert "cut" in page.evaluate("document.getElementById('events').textContent")
        assert page.evaluate("scope.world.lines[0].count") > 100
