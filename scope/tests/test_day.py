# SPDX-License-Identifier: GPL-2.0-or-later
"""A long recording in the page: how soon it is there after a restart, what looking around costs.

`ISOLATOR_SCOPE_DAY=8640000` makes it a day of 100 Hz, which takes a quarter of an hour to write
and index, and is kept below build/; only then are times judged, as they are those of a machine
that does nothing else.
"""

import asyncio
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from isolator_scope.instrument import Instrument
from scope_browser import browser, parts, serving, wait
from scope_runs import write
from scope_simulated import simulated
from sim.model import Faults
from steps import ROOT

KEPT = 1_000_000  # triggers: from so many on the recording is kept
TRIGGERS = int(os.environ.get("ISOLATOR_SCOPE_DAY", "20000"))
USABLE_S = 2.0
DRAWS, SHARE = 30, 0.4  # a second, and of a processor
PERSISTENCE = 0.2  # of a processor
HEAP, HOST_MIB = 100_000_000, 200
SPIKE = 7_000_000  # ns
LOOKED_S = 10.0


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded and indexed."""
    folder = tmp_path_factory.mktemp("day")
    if TRIGGERS >= KEPT:
        folder = ROOT / f"build/scope-day-{TRIGGERS}"
        folder.mkdir(parents=True, exist_ok=True)
    path = folder / "day.scope"
    if not path.exists():
        (folder / "unfinished.scope").unlink(missing_ok=True)
        write(folder / "unfinished.scope", TRIGGERS, millihertz=100_000, faults=Faults(
            missing=0.0001, spike=0.00001, planted={(TRIGGERS // 2, "tasklet"): SPIKE}))
        (folder / "unfinished.scope").rename(path)
    began = time.monotonic()
    made = Instrument(path, live=False, indexed=True)
    made.ready = False
    asyncio.run(made.catch_up())
    made.close()
    print(f"{TRIGGERS} triggers, {path.stat().st_size / 1e6:.0f} MB, "
          f"indexed in {time.monotonic() - began:.1f} s")
    return path


def _look_around(page: Any) -> None:
    """Pan and zoom, about 30 times a second."""
    page.evaluate("""seconds => new Promise(done => {
        const end = performance.now() + 1000 * seconds;
        let step = 0;
        const go = () => {
            if (performance.now() > end) { done(null); return; }
            const one = scope.axes.live;
            if (step % 40 < 10) one.zoom(0.7);
            else if (step % 40 < 20) one.pan(-0.2);
            else if (step % 40 < 30) one.zoom(1 / 0.7);
            else one.pan(0.1);
            step++;
            setTimeout(go, 30);
        };
        go();
    })""", LOOKED_S)


def test_live_persistence(tmp_path: Path) -> None:
    """What the view costs while eleven mechanisms answer: its main thread's share."""
    with simulated("--spike", "0.001") as (where, _), serving(
            "--connect", where, "-o", str(tmp_path / "a.scope")) as url, browser() as page:
        page.goto(url)
        wait(page, "scope.world.status?.connected && scope.world.status.state")
        page.keyboard.press("s")
        page.keyboard.press("2")
        wait(page, "scope.world.lines.length == 11 && scope.world.lines[0].count > 400")
        clock = page.context.new_cdp_session(page)
        clock.send("Performance.enable", {"timeDomain": "threadTicks"})

        def look() -> tuple[float, int, float]:
            told = {one["name"]: one["value"]
                    for one in clock.send("Performance.getMetrics")["metrics"]}
            return told["TaskDuration"], page.evaluate("scope.world.lines[0].count"), \
                time.monotonic()

        first = look()
        page.evaluate("seconds => new Promise(done => setTimeout(done, 1000 * seconds))", LOOKED_S)
        last = look()
        seconds = last[2] - first[2]
        share = (last[0] - first[0]) / seconds
        print(f"persistence at {(last[1] - first[1]) / seconds:.0f} triggers a second of 11 "
              f"mechanisms: {share:.0%} of the page's main thread")
        page.close()
    assert last[1] > first[1]
    if TRIGGERS >= KEPT:
        assert share < PERSISTENCE


def test_a_day(day: Path) -> None:
    """Usable soon after the server begins again; then one looks around in all of it."""
    with browser() as page:
        parts()  # of the tests, and no part of a restart
        began = time.monotonic()
        with serving("--replay", str(day), "--speed", "0") as url:
            page.goto(url)
            wait(page, f"scope.world.lines.length == 11 && scope.world.lines[3].count >= "
                       f"{TRIGGERS * 0.99} && scope.charts[0].chart.draws > 0")
            usable = time.monotonic() - began
            page.keyboard.press("Space")
            clock = page.context.new_cdp_session(page)
            clock.send("Performance.enable", {"timeDomain": "threadTicks"})

            def look() -> tuple[float, float, int]:
                told = {one["name"]: one["value"]
                        for one in clock.send("Performance.getMetrics")["metrics"]}
                return told["TaskDuration"], told["JSHeapUsedSize"], page.evaluate(
                    "scope.charts[0].chart.draws")

            first = look()
            _look_around(page)
            last = look()
            draws = last[2] - first[2]
            share = (last[0] - first[0]) / draws * DRAWS
            page.keyboard.press("0")
            wait(page, "scope.axes.live.span > 3600e9 || scope.axes.live.rows.size > 10")
            clock.send("HeapProfiler.collectGarbage")
            heap = look()[1]
            worst = page.evaluate("Math.max(...scope.world.lines.map(one => one.max ?? one.most))")
            said = re.search(r"host: (\d+) MiB of memory", page.inner_text("#why"))
            assert said is not None
            print(f"usable after {usable:.2f} s; {draws / LOOKED_S:.1f} draws a second of each "
                  f"chart, {DRAWS} a second take {share:.0%} of a processor; "
                  f"heap {heap / 1e6:.1f} MB, host {said[1]} MiB")
            page.close()
    assert worst >= SPIKE and draws > 20 and heap < HEAP and int(said[1]) < HOST_MIB
    if TRIGGERS >= KEPT:
        assert usable < USABLE_S and share < SHARE
