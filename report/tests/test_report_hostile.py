# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents that make no sense: an error with the name of the file, soon and in little memory."""

import base64
import json
import resource
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import report_documents as documents
from isolator_report import document, histogram, merge, shape, tail
from isolator_report.advise import advise
from isolator_report.cli import main
from isolator_report.compare import Invalid, run_of
from isolator_report.document import Result, parse
from isolator_report.errors import ERROR, InvalidResult, ReportError
from isolator_report.foreign import convert
from isolator_report.histogram import Histogram
from isolator_report.perfetto_trace import _Lanes, export

Data = dict[str, Any]
SAMPLES = Path(__file__).with_name("samples")
GOOD = documents.result(documents.lognormal(2000, 1))
TABLE = (SAMPLES / "rtla-timerlat.txt").read_text()
COMPRESSED, PLAIN = 0x1C849314, 0x1C849313  # cookies of the coding


def first(data: Data) -> Data:
    """Its first series."""
    found: Data = data["parts"][0]["series"][0]
    return found


def changed(change: Callable[[Data], object], one: Result = GOOD) -> Result:
    """The document after that, read again."""
    def quietly(data: Data) -> None:
        change(data)

    return parse(json.dumps(documents.changed(one, quietly)), "x.json")


def coded(body: bytes, lowest: int = 1, highest: int = histogram.HIGHEST, digits: int = 3) -> Data:
    """A histogram of any bytes."""
    raw = struct.pack(">IIIIQQd", PLAIN, len(body), 0, digits, lowest, highest, 1.0) + body
    packed = zlib.compress(raw, 9)
    data = base64.b64encode(struct.pack(">II", COMPRESSED, len(packed)) + packed).decode()
    return {"lowest_ns": lowest, "highest_ns": highest, "digits": digits, "data": data}


@pytest.mark.parametrize(("coding", "said"), [
    ({"data": base64.b64encode(struct.pack(">II", COMPRESSED, 0)).decode()}, "cannot be decoded"),
    (coded(b"\2" * 2000, highest=1000), "a value that it cannot hold"),
    (coded(b"\2" * 2000, 1 << 63, 1 << 63), "a value that it cannot hold"),
    (coded(b"\2", digits=6), "6 digits"), (coded(b"\2", digits=0), "0 digits"),
    (coded(b"\0" * (1 << 20)), "unpacks to more than"),
])
def test_histograms_that_are_none(coding: Data, said: str) -> None:
    with pytest.raises(InvalidResult, match=rf"x\.json: .*{said}"):
        changed(lambda data: first(data)["histogram"].update(coding))


def test_what_unpacks_to_gigabytes(tmp_path: Path) -> None:
    """A small file takes little memory."""
    zeros = bytes(1 << 20)
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(zeros) for _ in range(1 << 11)) + packer.flush()
    data = base64.b64encode(struct.pack(">II", COMPRESSED, len(packed)) + packed).decode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InvalidResult, match="unpacks to more than"):
        changed(lambda one: first(one)["histogram"].update(data=data))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 19  # KiB


def test_too_many_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "BUCKETS", 10)
    with pytest.raises(ReportError, match=r"x\.json: .*fewer --digits"):
        changed(lambda data: True)


def test_half_a_character(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No page and no document can be written of it."""
    path = tmp_path / "x.json"
    for change in ({"words": "\ud800"}, {"\udfff": 1}):
        path.write_text(json.dumps({**GOOD.data, **change}))
        for command in (["html", str(path), "-o", str(tmp_path / "y")], ["merge", str(path)]):
            assert main(command) == ERROR
            assert "x.json: not a result: an unpaired surrogate" in capsys.readouterr().err


def test_a_name_of_a_file_that_is_no_text(tmp_path: Path) -> None:
    """Of several, the page names each."""
    path = Path(str(tmp_path / "n") + "\udcff.json")
    documents.save(path, GOOD)
    assert main(["html", str(path), str(path), "-o", str(tmp_path / "y")]) == 0
    assert "n?.json" in (tmp_path / "y").read_text()


@pytest.mark.parametrize("end", ["Z\n", "Z"])
def test_times_that_are_none(end: str) -> None:
    """A pattern's end is also before a line's, and no clock has the year 9999."""
    began = "9999-01-01T00:00:00.000000000" + end

    def change(data: Data) -> bool:
        data["began"] = data["parts"][0]["began"] = first(data)["top"][0]["at"] = began
        return True

    one = changed(change)
    for what in (run_of, export, lambda result: merge.merge([result])):
        with pytest.raises(InvalidResult, match=r"x\.json: not a result: (.|\n)* is not a time"):
            what(one)


def test_an_interval_of_no_time() -> None:
    made = merge.merge([changed(lambda data: first(data)["timeline"].update(interval_ns=0) or 1)])
    assert made.series[0].data["samples"] == 2000


def test_series_of_different_ranges() -> None:
    """They are not added, and it is said of which file."""
    def change(data: Data) -> None:
        other = json.loads(json.dumps(first(data)))
        other["cpu"] = 2
        other["histogram"] = {"encoding": "hdrhistogram-v2", **coded(b"", digits=2)}
        other.update(samples=0, triggers=0, min=None, max=None, top=[], mean=None,
                     timeline={"interval_ns": 0, "maxima": [], "counts": []})
        data["parts"][0]["series"].append(other)

    one = parse(json.dumps(documents.changed(GOOD, change)), "x.json")
    with pytest.raises(Invalid, match=r"x\.json: .*different ranges"):
        run_of(one)


@pytest.mark.parametrize("text", [
    TABLE.replace("over:", "9" * 5000 + " 1 1 1 1\nover:", 1),
    f"# Duration: {'9' * 5000}:00:00\n{TABLE}", f"# Duration: {'9' * 18}:00:00\n{TABLE}",
])
def test_tables_with_numbers_that_are_none(text: str) -> None:
    with pytest.raises(ReportError, match="x: "):
        convert(text, "x")


def test_what_is_not_of_the_schema_is_said_of_the_file() -> None:
    data = json.loads((SAMPLES / "cyclictest.json").read_text())
    with pytest.raises(ReportError, match=r"x: .*kernel"):
        convert(json.dumps({**data, "sysinfo": {"release": [1]}}), "x")


def test_a_percentile_above_the_buckets() -> None:
    """It lies among what the other program did not keep: the largest value bounds it."""
    result, _ = convert((SAMPLES / "cyclictest.json").read_text(), "x")
    assert all(one.bound_ns == row.data["max"]
               for one, row in zip(advise(result, 90.0), result.series, strict=True))


def test_largest_values_of_one_trigger() -> None:
    """Nothing is divided by."""
    def change(data: Data) -> bool:
        top = first(data)["top"] = first(data)["top"][:12]
        for row in top:
            row["trigger"] = 0
        top[-1]["trigger"] = 11
        return True

    assert advise(changed(change), 99.0)[0].effective > 0


def test_a_run_of_no_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No rate; JSON has no infinity."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(documents.changed(
        GOOD, lambda data: data["parts"][0].update(seconds=1e-310))))
    main(["advise", str(path), "--json"])
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_no_fit_of_what_is_not_in_the_tail() -> None:
    words = " ".join(advise(GOOD, 50.0)[0].words)
    assert "no valid fit" in words and "a Pareto tail fits" not in words


def test_a_tail_of_any_length() -> None:
    """As many are drawn as isolator measure keeps, not as a document has."""
    top = list(range(10**6, 10**6 - 5000, -1))
    found = tail.tail(top, 10**6)
    assert found is not None and found.count == tail.MOST - 1


def test_a_clock_whose_step_is_a_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value may be anything below: that is one stretch, not one for each bucket."""
    steps = []

    def counting(*ends: int) -> range:
        steps.append(len(range(*ends)))
        return range(*ends)

    monkeypatch.setattr(shape, "range", counting, raising=False)
    counted = Histogram(dict.fromkeys(range(1, 50_000), 1))
    assert len(shape.density(counted, 1 << 63)[1]) == sum(steps) + 1 < 1000
    assert shape.diagnose(counted, step=1 << 62).body == "wide"


def test_lanes() -> None:
    """The first that is free, as if all were looked at."""
    lanes = _Lanes()
    given = [(0, 10), (0, 5), (3, 4), (5, 6), (5, 7), (10, 12), (12, 13)]
    assert [lanes.take(begin, end) for begin, end in given] == [0, 1, 2, 1, 2, 0, 0]


def test_what_the_system_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before a file is opened, too."""
    assert main(["merge", str(tmp_path / ("a" * 300))]) == ERROR
    assert "File name too long" in capsys.readouterr().err
    for command in ("'", "printf '\\377'"):
        assert main(["compare", "--run", command, command]) == ERROR
        assert capsys.readouterr().err.count("\n") == 1
