# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person sees and does: nothing that is not so, at each width, in both themes."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from isolator_report import duration
from isolator_report.shell import shell
from isolator_scope.cli import main
from isolator_scope.errors import ERROR
from isolator_scope.instrument import Instrument
from isolator_scope.link import Target
from scope_browser import axe, axe_source, browser, serving, shown, wait
from scope_runs import record, write
from scope_simulated import simulated
from sim.model import Faults
from steps import ROOT
from waiting import PATIENCE_S, until

WIDTHS = (390, 1024, 1440, 1920, 2560)

# Of the columns of a chart that have answers, the pixels that are blank; and how many there are.
BLANK = """async holder => {
    const chart = holder === 'long' ? scope.maxima.chart : scope.charts[0].chart;
    chart.update();
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const {plot} = chart, {left, top, width, height} = plot.bbox, [from, to] = chart.window;
    const data = plot.ctx.getImageData(left, top, width, height).data;
    const style = getComputedStyle(document.documentElement);
    const probe = document.createElement('canvas').getContext('2d');
    const near = [style.getPropertyValue('--panel'), style.getPropertyValue('--line')].map(one => {
        probe.fillStyle = one; probe.fillRect(0, 0, 1, 1);
        return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
    });
    let blank = 0, seen = 0;
    for (const [at, one] of chart.seen) {
        if (!one[4]) continue;
        const a = Math.floor((at - from) / (to - from) * width + 1e-6);
        const b = Math.max(Math.floor((at + chart.width - from) / (to - from) * width), a + 1);
        for (let x = Math.max(a, 0); x < Math.min(b, width); x++) {
            seen++;
            let found = false;
            for (let y = 0; y < height && !found; y++) {
                const i = 4 * (y * width + x);
                found = data[i + 3] > 0 && near.every(ink =>
                    Math.abs(data[i] - ink[0]) + Math.abs(data[i + 1] - ink[1])
                    + Math.abs(data[i + 2] - ink[2]) > 40);
            }
            if (!found) blank++;
        }
    }
    return [blank, seen];
}"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten seconds without a gap."""
    path = tmp_path_factory.mktemp("face") / "night.scope"
    asyncio.run(record(path, 5000, millihertz=500_000, faults=Faults(
        spike=0.001, planted={(2500, "tasklet"): 5_000_000})))
    return path


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_blank_column_where_data_is(recorded: Path, theme: str) -> None:
    """A pixel test, at the five widths, at rest and held; no page is wider than its window."""
    with serving("--replay", str(recorded), "--speed", "0") as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.lines.length == 11 && scope.world.lines[3].count == 5000")
        if theme == "dark":
            page.keyboard.press("d")
            wait(page, "document.documentElement.dataset.theme == 'dark'")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for view in ("live", "long"):
                page.keyboard.press("1" if view == "live" else "3")
                for held in (False, True):
                    if held:
                        page.keyboard.press("Space")
                    wait(page, f"scope.axes.{view}.rows.size > 100")
                    shown(page)
                    blank, seen = page.evaluate(BLANK, view)
                    assert seen > 100 and blank == 0, (width, view, held, blank, seen)
                page.keyboard.press("Space")
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_charts_out_of_sight_wait(recorded: Path) -> None:
    """They cost nothing; scrolled to, or in a figure, they show what the others do."""
    window = "JSON.stringify(scope.charts[10].chart.window)"
    here = "JSON.stringify(scope.axes.live.window().map(ns => ns / 1e9))"
    with serving("--replay", str(recorded), "--speed", "0") as url, browser() as page:
        page.set_viewport_size({"width": 1024, "height": 500})
        page.goto(url)
        wait(page, "scope.world.lines.length == 11 && scope.world.lines[3].count == 5000")
        page.keyboard.press("Space")
        page.locator("#chart-0").scroll_into_view_if_needed()
        wait(page, "scope.charts[0].chart.draws > 0")
        shown(page)
        draws = page.evaluate("scope.charts.map(one => one.chart.draws)")
        page.keyboard.press("+")
        wait(page, f"JSON.stringify(scope.charts[0].chart.window) == {here}")
        shown(page)
        assert page.evaluate(f"{window} != {here}")
        assert page.evaluate("scope.charts[10].chart.draws") == draws[10]
        with page.expect_download():
            page.evaluate("document.getElementById('png').click()")
        assert page.evaluate(f"{window} == {here}")
        page.keyboard.press("+")
        wait(page, f"JSON.stringify(scope.charts[0].chart.window) == {here} && {window} != {here}")
        page.locator("#chart-10").scroll_into_view_if_needed()
        wait(page, f"{window} == {here}")


def test_held_time_can_be_zoomed_and_read(recorded: Path) -> None:
    """Hold, zoom, another view, another theme, the cursor, a click: all go on working."""
    with serving("--replay", str(recorded), "--speed", "0") as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.lines.length == 11 && scope.world.lines[3].count == 5000")
        page.keyboard.press("Space")
        end = page.evaluate("scope.axes.live.end")
        for _ in range(2):
            page.keyboard.press("+")
        wait(page, "scope.charts[3].chart.window[1] - scope.charts[3].chart.window[0] < 0.5")
        assert "0.4 s" in page.inner_text("#window")
        page.keyboard.press("d")
        page.keyboard.press("3")
        page.keyboard.press("1")
        shown(page)
        assert page.evaluate("scope.charts[3].chart.seen.length") > 10 and end
        # To the spike, by what the minimap shows: its column is in the long view.
        page.keyboard.press("Space")
        page.keyboard.press("0")
        wait(page, "scope.charts[3].chart.seen.some(([, one]) => one[1] === 5000000)"
             " && !scope.charts[3].chart.fresh")
        shown(page)
        page.locator("#chart-3").scroll_into_view_if_needed()
        x, y = page.evaluate("""() => {
            const chart = scope.charts[3].chart;
            const [at] = chart.seen.find(([, one]) => one[1] === 5000000);
            const box = chart.plot.over.getBoundingClientRect();
            return [box.left + chart.plot.valToPos(at + chart.width / 2, 'x'), box.top + 40];
        }""")
        page.mouse.move(x, y)
        wait(page, "document.querySelector('#chart-3 .reading').textContent.includes('5 ms')")
        assert page.inner_text("#chart-0 .reading")  # the cursor is in all charts
        page.mouse.click(x, y)
        wait(page, "document.getElementById('hops').textContent.includes('Trigger 2,500,')")
        assert "Unusual: tasklet" in page.inner_text("#hops")
        wait(page, "location.hash.includes('view=chain')")


def still(page: Any) -> bool:
    """Is the same drawn for some frames?"""
    before = page.evaluate("scope.charts[0].chart.window.join()")
    for _ in range(5):
        shown(page)
    return bool(page.evaluate("scope.charts[0].chart.window.join()") == before)


# Of the tasklet: places, ns, and the share that takes at least so long.
CURVE = "[scope.histogram.plot.data[0], scope.histogram.plot.data[4]]"


def test_how_many_take_longer(tmp_path: Path) -> None:
    """A percentile can be read off; what is missing takes longer than all; a reload has it, too."""
    path = tmp_path / "a.scope"
    asyncio.run(record(path, 2000, faults=Faults(missing=0.01)))
    with serving("--replay", str(path), "--speed", "0") as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.lines.length == 11 && scope.world.lines[3].triggers == 2000")
        page.keyboard.press("3")
        page.keyboard.press("g")
        for _ in range(2):
            wait(page, "scope.chosen.larger && scope.histogram.plot?.data[4]?.at(0) == 1")
            at, shares = page.evaluate(CURVE)
            line = page.evaluate("scope.world.lines[3]")
            assert shares == sorted(shares, reverse=True)
            assert line["missing"] > 5 and shares[-1] == line["missing"] / 2000
            curve = list(zip(at, shares, strict=True))
            # In the buckets of the least and of the largest answer, these are still counted.
            assert [share for ns, share in curve if ns <= line["min"]][-1] == 1
            assert [share for ns, share in curve if ns <= line["max"]][-1] > shares[-1]
            p90 = line["percentiles"][1]  # in one of the buckets, each 1.6 % wide
            assert max(ns for ns, share in curve if share > 0.1) <= p90
            assert min(ns for ns, share in curve if share < 0.1) > p90 * 0.98
            assert page.inner_text("#histogram-title").endswith("take longer")
            wait(page, "location.hash.includes('larger=1')")
            page.reload()
        wait(page, "scope.chosen.larger && scope.histogram.plot?.data[4]?.at(0) == 1")
        page.click("#larger")
        wait(page, "!scope.chosen.larger && scope.histogram.plot?.data[4]?.at(0) == null")


def test_beside_another_recording(recorded: Path, tmp_path: Path,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    """Each mechanism beside the one of its name there, whatever its line; junk is an event."""
    other, junk = tmp_path / "stock.scope", tmp_path / "junk.scope"
    write(other, 500, names=("irq", "softirq", "tasklet", *[""] * 21))
    junk.write_bytes(bytes(1000))
    with serving("--replay", str(recorded), "--speed", "0", "--compare", str(other)) as url, \
            browser() as page:
        page.goto(url)
        wait(page, "scope.world.lines.length == 11 && scope.world.status.others.length == 1")
        page.select_option("#baseline", label="stock.scope: run 1")
        wait(page, "scope.chosen.baseline?.title == 'stock.scope: run 1'")
        found = page.evaluate("scope.chosen.baseline.lines.map(one => one?.name ?? null)")
        assert found == ["irq", "softirq", None, "tasklet", *[None] * 7]
        wait(page, "[...document.querySelectorAll('.track .base')].filter(one => !one.hidden)"
                   ".length == 3")
        assert "stock.scope: run 1" in page.inner_text("#strip-scale")
        page.keyboard.press("3")
        wait(page, "scope.histogram.plot?.data.length == 23 && "
                   "scope.histogram.plot.data[15].some(one => one > 0)")
        assert not page.evaluate("scope.histogram.plot.data[14].some(one => one > 0)")
    assert main(["serve", "--replay", str(recorded), "--compare", str(tmp_path / "no")]) == ERROR
    assert "no such recording" in capsys.readouterr().err
    instrument = Instrument(recorded, live=False)
    asyncio.run(instrument.compare(junk))
    assert instrument.other is None and instrument.events[-1].event == "not compared"


def test_lines_that_are_not_used(tmp_path: Path) -> None:
    """A generator has 32 of them: they are in no legend, also not in a figure's, and no choice."""
    path = tmp_path / "a.scope"
    target = write(path, 500, names=("irq", "softirq", "", "tasklet", *[""] * 28), mask=0b1011)
    assert len(target.names) == 32
    with serving("--replay", str(path), "--speed", "0") as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.lines[0]?.count == 500")
        page.keyboard.press("3")
        used = ["irq", "softirq", "tasklet"]
        until(lambda: page.locator("#legend button").all_inner_texts() == used,
              lambda: page.inner_text("#legend"))
        assert page.locator("#worst option").all_text_contents() == ["…", *used]
        page.click("summary:has-text('export')")
        with page.expect_download() as download:
            page.click("#svg")
        text = Path(download.value.path()).read_text()
        assert "line 2" not in text and text.count('width="10" height="10"') == 3


def test_by_keys_alone(recorded: Path) -> None:
    """Read a column, open its worst trigger's chain, put markers: no pointer."""
    most = "Math.max(...[...scope.axes.live.rows.get({}).values()].map(one => one[1]))"
    with serving("--replay", str(recorded), "--speed", "0") as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.lines.length == 11 && scope.world.lines[3].count == 5000")
        page.keyboard.press("Space")
        wait(page, "scope.world.frozen && scope.charts[0].chart.draws > 0")
        until(lambda: still(page), "the charts stand still")  # the cursor is a place on the screen
        page.keyboard.press(".")
        newest = page.inner_text("#cursor")
        page.keyboard.press("a")
        until(lambda: page.inner_text("#markers") == "marker A set", "the marker A")
        for _ in range(3):
            page.keyboard.press(",")
        shown(page)
        assert page.inner_text("#cursor") < newest and page.inner_text("#chart-10 .reading")
        page.keyboard.press("b")
        until(lambda: page.inner_text("#markers") == "B − A: 0.03 s, B is first", "both markers")
        # The newest column may be one that has only begun.
        last = page.evaluate("Math.ceil(scope.axes.live.window()[1] / 1e7)")
        worst = [page.evaluate(most.format(last - back)) for back in (3, 4, 5)]
        page.keyboard.press("Enter")
        said = [page.evaluate("ns => `${+(ns / 1000).toPrecision(3)} us`", ns) for ns in worst]
        assert page.evaluate("scope.chosen.view") == "chain"
        # The last one's chain may be there for a moment before it.
        until(lambda: any(one in page.inner_text("#hops") for one in said),
              lambda: f"{said}: {page.inner_text('#hops')}")


def test_what_is_set_stays(tmp_path: Path) -> None:
    """Eleven boxes as fast as a machine can; the last one stays; keys work after a click."""
    with simulated() as (where, _), serving("--connect", where, "-o", str(tmp_path / "a.scope")) \
            as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.status?.connected && scope.world.status.state")
        page.evaluate("document.getElementById('generator-panel').open = true")
        for line in range(11):
            page.click(f"#mechanisms input[value='{line}']")
        wait(page, "scope.world.status.state.mask == '1024'")
        assert page.evaluate("[...document.querySelectorAll('#mechanisms input')]"
                             ".map(one => one.checked)") == [False] * 10 + [True]
        assert "at least one" in page.inner_text("#answer")
        page.keyboard.press("5")  # the focus is on a box
        wait(page, "scope.chosen.view == 'worst'")
        page.fill("#seed", "99999999999999999999")
        page.fill("#frequency", "0")
        page.press("#frequency", "Enter")
        assert "from 0.001 to 1,000,000 Hz" in page.inner_text("#frequency-error")
        assert "a whole number" in page.inner_text("#seed-error")
        for words, said in (("5e9", "from 1 to 100"), ("", "from 1 to 100")):
            page.fill("#rounds", words)
            page.click("#calibrate")
            assert said in page.inner_text("#rounds-error")
            assert page.inner_text("#answer") == "calibrate: see the fields"
        for name in ("for-triggers", "for-seconds"):
            page.fill(f"#{name}", "-1")
            page.click("#start")
            assert "from 0" in page.inner_text(f"#{name}-error")
            assert page.inner_text("#answer") == "start: see the fields"
            page.fill(f"#{name}", "")
        page.click("#start")
        wait(page, "scope.world.status.state.running")


def test_held_figures_are_of_then(tmp_path: Path) -> None:
    """Tile, chain, list of the worst, count and verdict are of when time was halted.

    Another limit judges what is shown, though what comes meanwhile is worse.
    """
    now = "fetch('/api/document').then(one => one.json()).then(one => Math.max(...one.parts" \
          ".flatMap(part => part.series.map(row => row.max ?? 0))))"
    with simulated("--spike", "0.003") as (where, _), serving(
            "--connect", where, "-o", str(tmp_path / "a.scope")) as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.status?.connected && scope.world.status.state")
        page.keyboard.press("s")
        wait(page, "scope.world.lines.length == 11 && scope.world.lines[0].count > 20")
        page.keyboard.press("Space")
        wait(page, "scope.world.frozen")
        line, most = page.evaluate("scope.world.lines.map((row, line) => [line, row.max])"
                                   ".reduce((a, b) => b[1] > a[1] ? b : a)")
        tile, count = page.inner_text("#worst-line"), page.inner_text("#count")
        until(lambda: page.evaluate(now) > most * 1.01, "nothing worse came")
        for limit, words in ((most + 1, "held"), (most - 1, "exceeded 1×")):
            page.fill("#limit", f"{limit} ns")
            page.press("#limit", "Enter")
            wait(page, f"document.getElementById('limit-value').textContent == '{words}'")
        assert (page.inner_text("#worst-line"), page.inner_text("#count")) == (tile, count)
        assert page.inner_text("#worst-value") == duration.apart(most, most - 1)
        page.click("#worst-tile")
        name, value = page.evaluate(f"[scope.world.names[{line}], "
                                    f"document.getElementById('worst-value').textContent]")
        wait(page, "[...document.querySelectorAll('#hops tr')].some(row => row.cells[0].textContent"
                   f" == '{name}' && row.cells[1].textContent == '{value}')")
        page.keyboard.press("5")
        wait(page, f"document.querySelector('#worst-body td')?.innerText == '{value}'")
        page.keyboard.press("1")
        page.select_option("#run", label="run 1")  # another choice is shown as it is by then
        wait(page, f"Math.max(...scope.world.lines.map(row => row.max)) > {most}")
        triggers = page.evaluate("scope.world.lines[0].triggers")
        page.click("#hold")  # a select that has the focus takes a space
        wait(page, f"scope.world.lines[0].triggers > {triggers}")


def test_two_hosts_on_one_generator(tmp_path: Path) -> None:
    """The first one says that another took it, and does not take it back by itself."""
    with simulated() as (where, _), serving("--connect", where, "-o", str(tmp_path / "a.scope")) \
            as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.status?.connected")
        host, port = where.split(":")

        async def other() -> None:
            """Takes it, and leaves again."""
            instrument = Instrument(tmp_path / "b.scope", live=True)
            link = instrument.connect(Target(host, int(port)))
            task = asyncio.create_task(instrument.measure())
            await asyncio.wait_for(link.connected.wait(), PATIENCE_S)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            instrument.close()

        with ThreadPoolExecutor(1) as thread:  # this one has a loop, of Playwright
            thread.submit(asyncio.run, other()).result()
        wait(page, "scope.world.status.taken")
        wait(page, "document.getElementById('why').textContent.includes('another host took')")
        page.evaluate("document.getElementById('generator-panel').open = true")
        page.click("#connect")
        wait(page, "scope.world.status.connected && !scope.world.status.taken")


def test_accessible(recorded: Path) -> None:
    """axe-core finds nothing, in each view and both themes."""
    source = axe_source()
    with serving("--replay", str(recorded), "--speed", "0") as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.lines.length == 11 && scope.world.lines[3].count == 5000")
        page.evaluate(source)
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        for _ in range(2):
            for view in "12345":
                page.keyboard.press(view)
                shown(page)
                assert axe(page) == [], view
            page.keyboard.press("?")
            assert axe(page) == [], "commands"
            page.keyboard.press("Escape")
            page.keyboard.press("d")


def test_a_time_reads_alike_everywhere(recorded: Path, tmp_path: Path) -> None:
    """In this page, in a report and on a terminal: the same digits and unit."""
    values = [0, 1, 999, 1000, 12_345, 12_350, 99_950, 999_600, 1_234_567, 2_500_000_000,
              1_234_000_000_000]
    said = [duration.time(ns) for ns in values]
    report = tmp_path / "r.html"
    report.write_text(shell("", ""))
    with serving("--replay", str(recorded), "--speed", "0") as url, browser() as page:
        page.goto(url)
        assert page.evaluate("async values => { const {time} = await import('/page/format.js');"
                             " return values.map(ns => time(ns)); }", values) == said
        assert page.evaluate("async () => { const {count, apart} = await import('/page/format.js');"
                             " return [count(12345), apart(100040, 100000)]; }") == [
            f"{12345:,}", duration.apart(100_040, 100_000)]
    with browser(home="file://") as page:
        page.goto(f"file://{report}")
        assert page.evaluate("values => values.map(time)", values) == said


def test_without_storage(recorded: Path) -> None:
    """Where the browser keeps nothing the page is whole; the theme is of this visit."""
    with serving("--replay", str(recorded), "--speed", "0") as url, browser() as page:
        page.add_init_script("Object.defineProperty(window, 'localStorage', {get() {"
                             " throw new DOMException('blocked', 'SecurityError'); }});")
        page.goto(url)
        wait(page, "scope.world.lines.length == 11 && scope.charts[0].chart.draws > 0")
        page.keyboard.press("d")
        wait(page, "document.documentElement.dataset.theme == 'dark'")


def test_no_module_waits_for_another() -> None:
    """The page asks for all of them at once: a chain of imports costs a round trip each."""
    folder = ROOT / "scope/page"
    named = re.findall(r'rel="modulepreload" href="/page/([^"]+)"',
                       (folder / "index.html").read_text())
    assert sorted([*named, "scope.js"]) == sorted(path.name for path in folder.glob("*.js"))


def test_light_as_it_is() -> None:
    """The page's own files and uPlot: below 200 kB, and each below 500 lines."""
    files = [*(ROOT / "scope/page").glob("*.js"), *(ROOT / "scope/page").glob("*.css"),
             ROOT / "scope/page/index.html"]
    assert sum(path.stat().st_size for path in files) < 200_000 - 51_000
    assert all(len(path.read_text().splitlines()) < 500 for path in files)


def lab(code: str, matrix: tuple[tuple[float, ...], ...] | None) -> tuple[float, ...]:
    """L, a and b of a colour, as one who lacks a cone sees it."""
    light = [(int(code[i:i + 2], 16) / 255) for i in (1, 3, 5)]
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in light]
    if matrix is not None:
        light = [min(max(sum(a * b for a, b in zip(row, light, strict=True)), 0), 1)
                 for row in matrix]
    r, g, b = light
    xyz = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b,
           (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


# Machado, Oliveira, Fernandes 2009, severity 1.
EYES = {"usual": None, "deuteranopia": (
    (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881)), "protanopia": (
    (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998))}


@pytest.mark.parametrize("eye", EYES)
def test_curves_can_be_told_apart(eye: str) -> None:
    """No two of twelve colours are nearer than 20, light and dark, also to the colour-blind."""
    text = (ROOT / "report/isolator_report/assets/palette.css").read_text()
    sets = [re.findall(r"--line-\d+:(#\w+)", row) for row in text.splitlines()
            if "--line-0:" in row]
    assert [len(one) for one in sets] == [12, 12, 12] and sets[1] == sets[2]
    for one in sets:
        seen = [lab(code, EYES[eye]) for code in one]
        nearest = min(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) ** 0.5
                      for n, x in enumerate(seen) for y in seen[:n])
        assert nearest >= 20, (eye, nearest)
