# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of other programs: real ones of this day's Debian, and damaged ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from isolator_report.cli import main
from isolator_report.document import Result, load
from isolator_report.errors import ERROR, INCONCLUSIVE, PASS, InvalidResult, ReportError
from isolator_report.foreign import convert
from isolator_report.histogram import DIGITS, HIGHEST, LOWEST

SAMPLES = Path(__file__).with_name("samples")


def sample(name: str) -> tuple[Result, list[str]]:
    """Converted."""
    path = SAMPLES / name
    return convert(path.read_text(), str(path))


def edited(name: str, **changes: Any) -> str:
    """A JSON sample whose first CPU has other values."""
    data = json.loads((SAMPLES / name).read_text())
    next(iter((data.get("thread") or data["cpu"]).values())).update(changes)
    return json.dumps(data)


def test_cyclictest() -> None:
    """Run with -h 100: what was longer is in no bucket, but in cycles."""
    result, warnings = sample("cyclictest.json")
    given = json.loads((SAMPLES / "cyclictest.json").read_text())
    assert result.data["method"] == "fed" and result.data["measure"] == "latency"
    assert result.data["settings"][0]["name"] == "imported"
    assert result.data["settings"][0]["got"] == "cyclictest 2.40"
    assert result.data["kernel"] == given["sysinfo"]["release"]
    assert result.data["began"].endswith(".000000000Z") and result.data["seconds"] >= 1
    frame = HdrHistogram(LOWEST, HIGHEST, DIGITS)
    for one in result.series:
        thread = given["thread"][str(one.data["cpu"])]
        inside = sum(thread["histogram"].values())
        assert one.data["samples"] == inside
        assert one.data["overflow"] == thread["cycles"] - inside > 0
        assert one.data["triggers"] == thread["cycles"] and one.data["complete"]
        assert one.data["max"] == thread["max"] * 1000
        rows = {row["percent"]: row for row in one.data["percentiles"]}
        assert rows[99.0]["value_ns"] is None  # it lies in the lost tail
        assert rows[50.0]["value_ns"] is not None
        assert one.histogram.counts == {
            frame.get_lowest_equivalent_value(int(key) * 1000): count
            for key, count in thread["histogram"].items()}
    lost = [words for words in warnings if "the tail is lost" in words]
    assert len(lost) == 2 and "100 of 856" in lost[0]
    assert "the tail is lost" in result.data["words"]
    assert any("not known: when each value was measured" in words for words in warnings)


def test_cyclictest_in_nanoseconds_and_without_a_histogram() -> None:
    """-N writes ns; without -h there is nothing but min, avg and max."""
    data = json.loads((SAMPLES / "cyclictest.json").read_text())
    data["resolution_in_ns"] = 1
    result, _ = convert(json.dumps(data), "x")
    assert result.series[0].data["max"] == data["thread"]["0"]["max"]
    result, _ = convert(edited("cyclictest.json", histogram={}), "x")
    one = result.series[0].data
    assert (one["samples"], one["overflow"], one["triggers"]) == (0, 856, 856)


@pytest.mark.parametrize("date", [
    "", "yesterday", f"Thu, 28 Nov {10**20} 10:00:00 +0000", "Thu, 28 Nov 1901 10:00:00 +0000",
    "Thu, 28 Nov 9999 10:00:00 +0000", f"Thu, 28 Nov 2026 10:00:00 +{10**20}",
])
def test_a_date_that_no_clock_has(date: str) -> None:
    data = json.loads((SAMPLES / "cyclictest.json").read_text())
    result, warnings = convert(json.dumps({**data, "start_time": date}), "x")
    assert result.data["began"].startswith("1970-01-01T00:00:00")
    assert any("1970 stands for it" in words for words in warnings)


def test_oslat() -> None:
    """Its last bucket holds all above: it cannot be taken for a value."""
    result, warnings = sample("oslat.json")
    one = result.series[0]
    assert result.data["measure"] == "noise" and one.key == ("quiet", "gap", 1)
    assert one.data["overflow"] == 228 and one.data["max"] == 20_826_000
    assert max(one.histogram.counts) < 32_000
    assert any("228 of 16262391" in words for words in warnings)
    whole, _ = convert(edited("oslat.json", max=32), "x")
    assert whole.series[0].data["overflow"] == 0


def test_jitterdebugger() -> None:
    """Nothing was above its 1000 buckets here; the date is not in it."""
    result, warnings = sample("jitterdebugger.json")
    assert [one.data["samples"] for one in result.series] == [1000, 1000]
    assert [one.data["overflow"] for one in result.series] == [0, 0]
    assert result.data["began"].startswith("1970-") and "1970 stands for it" in warnings[-1]
    lost, warnings = convert(edited("jitterdebugger.json", count=1003, max=1700), "x")
    assert lost.series[0].data["overflow"] == 3 and "3 of 1003" in warnings[0]


def test_rtla() -> None:
    """IRQ and thread of each CPU; over: is the lost tail; the sums at the end are left out."""
    result, warnings = sample("rtla-timerlat.txt")
    assert [one.key[1:] for one in result.series] == [("irq", 0), ("thr", 0), ("irq", 1),
                                                      ("thr", 1)]
    thread = result.series[3].data
    assert (thread["samples"], thread["overflow"], thread["max"]) == (59_998, 4, 1_288_000)
    assert result.data["seconds"] == 60 and result.data["instrument"]["clock"] == "tracer"
    assert any("4 of 60002" in words for words in warnings)
    assert any("dropped" in words for words in warnings)


def test_rtla_osnoise() -> None:
    """One column a CPU, buckets of 10 us."""
    text = ("# RTLA osnoise histogram\n# Time unit is microseconds (us)\n# Duration:   1 00:00:01\n"
            "Index   CPU-000   CPU-001\n0  40 30\n10  5 0\n20  1 1\nover:  0 0\ncount:  46 31\n"
            "min:  0 -\navg:  3 -\nmax:  20 20\n")
    result, _ = convert(text, "x")
    assert result.data["measure"] == "noise" and result.data["seconds"] == 86_401
    assert [one.key[1:] for one in result.series] == [("gap", 0), ("gap", 1)]
    assert result.data["instrument"]["resolution_ns"] == 10_000


def test_more_in_the_buckets_than_were_taken() -> None:
    """The file contradicts itself: no result, 3."""
    with pytest.raises(InvalidResult, match="the buckets hold 756, it says that it took 755"):
        convert(edited("cyclictest.json", cycles=755), "x")


@pytest.mark.parametrize(("text", "said"), [
    ("", "no table of rtla"),
    ("{", "not JSON at line 1"),
    ("{}", "of neither cyclictest"),
    ('{"schema": "isolator.measure"}', "already a document"),
    ('{"cmdline:": "pmqtest", "rt_test_version:": "2.4"}', "written by pmqtest"),
    ('{"cmdline:": "cyclictest", "rt_test_version:": "2.4"}', "no histogram of any CPU"),
    ('{"cmdline": "cyclictest", "rt_test_version": "2.4"}', "with its colon"),
    ('{"cpu": {"0": 3}}', "not as its program writes it"),
    (edited("cyclictest.json", histogram={"5": "many"}), "not a number"),
    (edited("cyclictest.json", histogram={"-5": 1}), "not a number"),
    (edited("cyclictest.json", cpu=1), "two of its threads were on one CPU"),
    ((SAMPLES / "rtla-timerlat.txt").read_text()[:300], "a line of"),
    ("\n".join((SAMPLES / "rtla-timerlat.txt").read_text().splitlines()[:8]), "are missing"),
])
def test_what_cannot_be_imported(text: str, said: str) -> None:
    """One clear sentence."""
    with pytest.raises(ReportError, match=said):
        convert(text, "x")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings go to the standard error, the document can be read again and drawn."""
    made, page = tmp_path / "x.json", tmp_path / "x.html"
    path = str(SAMPLES / "cyclictest.json")
    assert main(["import", path, "-o", str(made)]) == PASS
    assert "the tail is lost" in capsys.readouterr().err
    assert load(made).data["method"] == "fed"
    assert main(["html", str(made), "-o", str(page)]) == PASS
    assert "the tail is lost" in page.read_text()
    assert main(["perfetto", str(made), "-o", str(page)]) == ERROR
    assert "imported results have none" in capsys.readouterr().err
    assert main(["import", path, "--format", "rtla"]) == ERROR
    assert "looks like a file of cyclictest" in capsys.readouterr().err
    broken = tmp_path / "broken.json"
    broken.write_text(edited("cyclictest.json", cycles=3))
    assert main(["import", str(broken), "-o", str(tmp_path / "no")]) == INCONCLUSIVE
    assert not (tmp_path / "no").exists()
