# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person sees of a report: the verdict first, limits drawn, one scale, figures to take."""

import re
from pathlib import Path

import report_documents as documents
from isolator_report import drawing
from isolator_report.document import Result
from isolator_report.duration import apart
from isolator_report.page import page
from scope_browser import axe, axe_source, browser


def judged(limit: int) -> Result:
    """Quiet and loaded, and a limit for p99."""
    one = documents.result(documents.lognormal(3000, 1),
                           loaded=documents.lognormal(3000, 2, 9000, 0.5))
    worst = max(row["value_ns"] for part in one.data["parts"] for series in part["series"]
                for row in series["percentiles"] if row["percent"] == 99)
    one.data["limits"] = [{"name": "p99", "limit_ns": limit or worst - 1, "hard": True,
                           "value_ns": worst, "result": "exceeded"}]
    one.data.update(verdict="exceeded", exit=2, words="exceeded: p99")
    return one


def test_what_is_beyond_a_limit_does_not_read_like_it() -> None:
    assert (apart(100_040, 100_000), apart(100_000, 100_000)) == ("100.04 us", "100 us")
    assert apart(513_000, 100_000) == "513 us" and apart(999_999_999, 1e9) != apart(1e9, 1e9)
    text = page([judged(0)])
    row = re.search(r"<td>p99</td><td[^>]*><span[^>]*>([^<]*)</span></td><td[^>]*>"
                    r"<span[^>]*>([^<]*)<", text)
    assert row is not None and row[1] != row[2]


def test_the_verdict_is_first_and_said_once() -> None:
    text = page([judged(20_000)])
    body = text[text.index("<main>"):]
    assert "<b>exceeded</b> (exit 2): p99<" in body
    assert body.index("<b>exceeded</b>") < body.index("<h3>Limits") < body.index("p99 beyond") \
        < body.index("<nav ") < body.index("Keys: j and k")
    assert "Linux 6.12.57-rt" in body[:body.index("<nav ")]


def test_why_it_is_no_result_is_said_once() -> None:
    text = page([documents.result([5000] * 600, verdict="invalid", words="invalid: two were lost")])
    assert text.count("two were lost") == 1 and "Not a result." in text


def test_a_load_that_nobody_knows_is_not_quiet() -> None:
    """Measured from outside: only what was said of the load is printed."""
    text = page([documents.result([5000] * 600, method="external")])
    assert "quiet" not in text.replace("dev/vda quiet", "") and "<b>load not known</b>" in text
    loaded = documents.result([5000] * 600, loaded=[9000] * 600, method="external")
    assert "<b>loaded</b>" in page([loaded])


def test_the_head_says_where_and_how() -> None:
    """What is not known is said to be not known."""
    one = judged(20_000)
    text = page([one])
    assert "<dt>command</dt><dd>not known</dd>" in text
    assert "<dt>machine</dt><dd>box, A &amp; B &lt;CPU&gt;" in text
    del one.data["machine"]["host"]  # as older programs wrote it
    assert "<dt>machine</dt><dd>A &amp; B &lt;CPU&gt;" in page([one])
    one.data["command"] = "isolator measure latency -t 5s"
    text = page([one])
    head = text[text.index("<main>"):text.index("<nav ")]
    for fact in ("machine", "kernel", "command", "measured", "date", "run"):
        assert f"<dt>{fact}</dt><dd>" in head
    assert "command: isolator measure latency -t 5s; " in head  # with each figure


def test_limits_are_drawn() -> None:
    """In each drawing of the samples, in both timelines and rows of the overview; not others'."""
    text = page([judged(20_000)])
    pictures = re.findall(r"<svg.*?</svg>", text)
    assert [picture.count("limit p99") for picture in pictures] == [0, 0, 1, 1, 1, 1]
    other = judged(20_000)
    other.data["limits"][0]["name"] = "irq/p99"
    assert "limit p99" not in "".join(re.findall(r"<svg.*?</svg>", page([other])))


def test_how_many_are_larger() -> None:
    """p99 is read where 1 of 100 is larger; what is missing is larger than all."""
    bins = {40: 900, 80: 90, 120: 9}
    whole, lost = (drawing.larger([drawing.Curve("c", bins, None, (), above)], "t")
                   for above in (1, 901))
    rows = {words: float(y) - 4 for y, words in re.findall(
        r'<text x="60" y="([^"]*)"[^>]*>([^<]*)<', whole)}
    assert list(rows) == ["all", "1 of 10", "1 of 100", "1 of 1,000"]

    def steps(drawn: str) -> list[float]:
        path = re.search(r'<path d="(M[^"]*)"[^>]*fill="none"', drawn)
        assert path is not None and path[1].endswith(f"H{drawing.WIDTH - drawing.RIGHT}")
        return [float(y) for y in re.findall(r"V([\d.]+)", path[1])]

    assert all(abs(y - rows[words]) < 0.11 for y, words in
               zip(steps(whole), ("1 of 10", "1 of 100", "1 of 1,000"), strict=True))
    assert steps(lost)[-1] < rows["1 of 10"]
    assert "NaN" not in drawing.larger([drawing.Curve("c", {3: 1}, 2)], "t")
    assert "no sample" in drawing.larger([drawing.Curve("c", {}, None, (), 5)], "t")


def test_timelines_of_one_quantity_have_one_scale() -> None:
    """What is calmer lies lower; no bar begins at an arbitrary foot."""
    text = page([documents.result([5000] * 600, loaded=[90_000] * 600)])
    quiet, loaded = (picture for picture in re.findall(r"<svg.*?</svg>", text)
                     if "intervals of" in picture)
    labels = [re.findall(r"<text[^>]*>(\d+ [mun]s)</text>", one) for one in (quiet, loaded)]
    assert labels[0] == labels[1]
    heights = [{float(y) for y in re.findall(r'<rect x="[^"]*" y="([^"]*)"[^>]*height="3"', one)}
               for one in (quiet, loaded)]
    assert all(len(one) == 1 for one in heights) and min(heights[0]) > max(heights[1])


def test_names_at_lines_neither_overlap_nor_leave() -> None:
    marks = [(100.0, "p50", "c"), (101.0, "p99", "c"), (102.0, "p99.99", "c"),
             (drawing.WIDTH - drawing.RIGHT - 1.0, "maximum", "c")]
    placed = [(float(x), float(y), name) for x, y, name in re.findall(
        r'<text x="([^"]*)" y="([^"]*)"[^>]*>([^<]*)<', "".join(drawing._labels(marks, 0)))]
    assert len({y for _, y, _ in placed[:3]}) == 3
    assert all(x + 7 * len(name) <= drawing.WIDTH for x, _, name in placed)


def test_one_can_look_at_it(tmp_path: Path) -> None:
    """axe-core finds nothing, light and dark; a figure leaves it whole; the theme stays."""
    path = tmp_path / "r.html"
    values = documents.lognormal(3000, 1)
    values[100] = 400_000
    path.write_text(page([documents.attributed(values), judged(20_000)]))
    source = axe_source()
    with browser(home="file://") as view:
        view.goto(f"file://{path}")
        with view.expect_download() as download:
            view.click("button[aria-label='latency on CPU 1: samples by value: save as SVG'] "
                       ">> nth=0")
        text = Path(download.value.path()).read_text()
        assert "A &amp; B &lt;CPU&gt;" in text and "samples by value" in text
        assert "var(" not in text and "quiet" in text
        with view.expect_download() as download:
            view.click(".save button:has-text('PNG') >> nth=0")
        assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
        (tmp_path / "r.svg").write_text(text)
        view.goto(f"file://{tmp_path}/r.svg")
        assert view.evaluate("""() => [...document.querySelectorAll('text')].every(one =>
            one.getBBox().x + one.getBBox().width
                < document.documentElement.viewBox.baseVal.width)""")
        view.goto(f"file://{path}")
        for theme in ("light", "dark"):
            assert axe_of(view, source) == [], theme
            view.keyboard.press("d")
        view.keyboard.press("d")
        view.reload()
        assert view.evaluate("document.documentElement.dataset.theme") == "dark"
        view.set_viewport_size({"width": 390, "height": 800})
        assert view.evaluate("document.documentElement.scrollWidth") <= 390


def test_names_that_are_anything(tmp_path: Path) -> None:
    """A load with all that separates, an address of no section: keys, buttons, cursor all work."""
    one = documents.result([5000] * 600, loaded=[9000] * 600)
    one.data["parts"][1]["load"] = 'a; b|c:1, "d" & <e>'
    path = tmp_path / "r.html"
    path.write_text(page([one]))
    with browser(home="file://") as view:
        view.goto(f"file://{path}#%")
        view.focus("svg.chart")
        view.keyboard.press("End")
        assert 'loaded (a; b|c:1, "d" & <e>): 600' in view.inner_text(".readout")
        assert view.locator(".save button").count() == 8
        theme = view.evaluate("document.documentElement.dataset.theme")
        view.keyboard.press("d")
        assert view.evaluate("document.documentElement.dataset.theme") != theme


def axe_of(view: object, source: str) -> list[str]:
    """By a script that the page's policy does not know of."""
    session = view.context.new_cdp_session(view)  # type: ignore[attr-defined]
    session.send("Page.setBypassCSP", {"enabled": True})
    view.evaluate(source)  # type: ignore[attr-defined]
    return axe(view)
