# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input gets a clear error and the right exit status."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import report_documents as documents
from isolator_report.cli import main
from isolator_report.document import check, nanoseconds, parse, stamp
from isolator_report.errors import ERROR, INCONCLUSIVE, PASS, InvalidResult, ReportError
from isolator_report.foreign import convert

Data = dict[str, Any]
GOOD = documents.result(documents.lognormal(2000, 1))


def first(data: Data) -> Data:
    """Its first series."""
    found: Data = data["parts"][0]["series"][0]
    return found


def test_good_ones_are_read() -> None:
    """What the generator makes, with and without causes, a loaded part, a missing value."""
    check(GOOD.data, "x")
    check(documents.attributed([*documents.lognormal(500, 1), 400_000]).data, "x")
    check(documents.result([5000], loaded=[6000]).data, "x")


def drop(data: Data) -> None:
    first(data)["samples"] -= 1


def claim(data: Data) -> None:
    first(data)["triggers"] += 1


def lose(data: Data) -> None:
    first(data)["timeline"]["counts"][0] -= 1


def shuffle(data: Data) -> None:
    first(data)["top"].reverse()


def shrink(data: Data) -> None:
    first(data)["max"] -= 1


def grow(data: Data) -> None:
    first(data)["min"] += 10_000_000


def twice(data: Data) -> None:
    data["parts"][0]["series"] *= 2


def point(data: Data) -> None:
    first(data)["top"][0]["outlier"] = 3


@pytest.mark.parametrize(("change", "said"), [
    (drop, "the buckets hold 2000, samples says 1999"),
    (claim, "complete says True"),
    (lose, "timeline counts 1999"),
    (shuffle, "not in order"),
    (shrink, "is not its largest value"),
    (grow, "min and max do not hold"),
    (twice, "has a series twice"),
    (point, "outlier 3 is not there"),
])
def test_broken_invariants(change: Callable[[Data], None], said: str, tmp_path: Path,
                           capsys: pytest.CaptureFixture[str]) -> None:
    """A document that contradicts itself is no result: exit 3, and nothing is written."""
    data = documents.changed(GOOD, change)
    with pytest.raises(InvalidResult, match=said):
        check(data, "x")
    path, page = tmp_path / "x.json", tmp_path / "x.html"
    path.write_text(json.dumps(data))
    assert main(["html", str(path), "-o", str(page)]) == INCONCLUSIVE
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("text", "said"), [
    ("", "ends too early"),
    (json.dumps(GOOD.data)[:-40], "ends too early"),
    (json.dumps(GOOD.data)[:700], "ends too early"),
    ("[]", "a JSON list"),
    ('{"schema": "isolator.status", "version": 1}', "it says isolator.status"),
    ('{"cmdline:": "x"}', "isolator-report import"),
    ('{"schema": "isolator.measure", "version": 2}', "take a newer isolator-report"),
    ('{"schema": "isolator.measure", "version": 0}', "measure it again"),
    ('{"schema": "isolator.measure", "version": 1}', "is a required property"),
    ("# RTLA timerlat histogram", "not JSON at line 1"),
])
def test_what_is_no_document(text: str, said: str, tmp_path: Path,
                             capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, in one line that says what helps."""
    with pytest.raises(ReportError, match=said):
        parse(text, "x")
    path = tmp_path / "x.json"
    path.write_text(text)
    for command in (["merge", str(path)], ["advise", str(path)],
                    ["perfetto", str(path), "-o", str(tmp_path / "out")]):
        assert main(command) == ERROR
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == [path]


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that is not there, one that is not text, a directory without any."""
    (tmp_path / "raw").write_bytes(b"\xff\xfe")
    assert main(["advise", str(tmp_path / "none")]) == ERROR
    assert "No such file" in capsys.readouterr().err
    assert main(["advise", str(tmp_path / "raw")]) == ERROR
    assert "not text" in capsys.readouterr().err
    assert main(["merge", str(tmp_path)]) == ERROR
    assert "no *.json" in capsys.readouterr().err


def test_an_honest_loss_is_read_and_said(tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    """complete: false, verdict invalid: the page is made, says so, and the exit status is 3."""
    part = documents.build.part("quiet", stamp(documents.BEGAN), 1.0,
                                [documents.series([5000] * 100, triggers=101)])
    lost = documents.build.document(
        measure="latency", method="nanosleep", identifier="0" * 32, kernel="k",
        began=stamp(documents.BEGAN), seconds=1.0, parts=[part], words="x", clock="tsc")
    assert lost.data["verdict"] == "invalid" and lost.data["exit"] == INCONCLUSIVE
    path = documents.save(tmp_path / "lost.json", lost)
    assert main(["html", str(path), "-o", str(tmp_path / "x.html")]) == INCONCLUSIVE
    assert "lost uncounted" in capsys.readouterr().err
    assert "lost uncounted" in (tmp_path / "x.html").read_text()
    assert main(["advise", str(path)]) == INCONCLUSIVE


def test_time_stamps() -> None:
    """Nanoseconds survive both ways."""
    for at in (0, 1, documents.BEGAN + 123_456_789):
        assert nanoseconds(stamp(at)) == at
    assert nanoseconds("1970-01-01T00:00:02Z") == 2 * documents.NS
    with pytest.raises(InvalidResult):
        nanoseconds("2026-02-30T00:00:00Z")
    for far in ("0001-01-01T00:00:00.000000000Z", "1969-12-31T23:59:59Z", "2262-04-12T00:00:00Z",
                "9999-12-31T23:59:59.999999999Z"):
        with pytest.raises(InvalidResult, match="clock"):
            nanoseconds(far)


def test_integers_are_integers() -> None:
    """JSON Schema takes 5.0 for one."""
    for change in (lambda data: first(data).update(cpu=5.0),
                   lambda data: first(data)["top"][0].update(value_ns=129.0)):
        with pytest.raises(ReportError, match="is not of type 'integer'"):
            check(documents.changed(GOOD, change), "x")


def test_output_is_whole_or_not_there(tmp_path: Path) -> None:
    """An unwritable place is an error; what was there before stays."""
    path = documents.save(tmp_path / "x.json", GOOD)
    assert main(["html", str(path), "-o", str(tmp_path / "no" / "x.html")]) == ERROR
    assert main(["html", str(path), "-o", str(tmp_path / "x.html")]) == PASS
    assert sorted(one.name for one in tmp_path.iterdir()) == ["x.html", "x.json"]


NUMBERS = ("seconds", ("instrument", "resolution_ns"), ("parts", 0, "series", 0, "mean"),
           ("parts", 0, "series", 0, "percentiles", 0, "percent"),
           ("parts", 0, "series", 0, "timeline", "interval_ns"))


@pytest.mark.parametrize("value", ["1e999", "-1e999", "NaN", "-Infinity", "1e25", "9" * 30,
                                   "9" * 400, "9" * 9000, str(2**64)])
@pytest.mark.parametrize("where", NUMBERS)
def test_numbers_that_no_field_holds(where: str | tuple[str | int, ...], value: str) -> None:
    """The schema takes them for numbers; nothing can be drawn of them."""
    place = (where,) if isinstance(where, str) else where
    data: Any = json.loads(json.dumps(GOOD.data))
    inside = data
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = "HERE"
    with pytest.raises(ReportError, match="x.json: not a result: .*(no field holds|without end)"):
        parse(json.dumps(data).replace('"HERE"', value), "x.json")


@pytest.mark.parametrize("text", ['{"schema": []}', '{"schema": {"a": 1}}', '{"schema": 1e999}',
                                  "[" * 9000, '{"schema":' * 5000, '{"schema":' + "[" * 500
                                  + "]" * 500 + "}"])
def test_schemas_that_are_none(text: str) -> None:
    """Not even a word."""
    with pytest.raises(ReportError, match=r"x\.json: not a result"):
        parse(text, "x.json")


@pytest.mark.parametrize("text", ["[" * 9000, '{"cpu":' + "9" * 9000, '{"cpu":' * 5000])
def test_foreign_ones_without_end(text: str) -> None:
    """Of other programs, too."""
    with pytest.raises(ReportError, match="x: "):
        convert("{" + text if text[0] == "[" else text, "x")
