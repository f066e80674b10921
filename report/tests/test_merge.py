# SPDX-License-Identifier: GPL-2.0-or-later
"""Several runs as one: the same as if it had been one, and refused where it was not."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import report_documents as documents
from isolator_report.cli import main
from isolator_report.document import NS, Result, check
from isolator_report.errors import INCONCLUSIVE, ReportError
from isolator_report.merge import cause_order, merge, timeline

VALUES = [documents.lognormal(count, seed, 5000, 0.3) for seed, count in
          enumerate((1500, 4000, 700))]


def hour(number: int, **changes: Any) -> Result:
    """One of several runs."""
    return documents.result(VALUES[number], began=documents.BEGAN + number * 100 * NS,
                            seed=number, **changes)


def test_as_if_it_had_been_one() -> None:
    """In any order: counts, percentiles, bounds and the largest values are those of all."""
    whole = merge([hour(2), hour(0), hour(1)])
    check(whole.data, "again")
    together = documents.result([value for row in VALUES for value in row])
    have, want = (one.series[0].data for one in (whole, together))
    for key in ("triggers", "samples", "overflow", "missing", "min", "max", "percentiles",
                "histogram", "complete"):
        assert have[key] == want[key], key
    assert have["mean"] == pytest.approx(want["mean"], rel=1e-6)
    some = have["top"]
    assert len(some) >= documents.TOP
    assert [(row["value_ns"], row["trigger"]) for row in some] == [
        (row["value_ns"], row["trigger"]) for row in want["top"][:len(some)]] or \
        [row["value_ns"] for row in some][:documents.TOP] == [
            row["value_ns"] for row in want["top"]]
    assert sum(have["timeline"]["counts"]) == have["samples"]
    assert whole.data["seconds"] == pytest.approx(6.2)
    assert "3 runs" in whole.data["words"]


def test_of_several_machines_none_is_left_out() -> None:
    """A document that names one of them would say what is not so."""
    there = {**hour(0).data["machine"], "cpu": None}
    whole = merge([hour(0), hour(1, machine={**there, "host": "laptop"}), hour(2)])
    assert whole.data["machine"]["host"] == "box, laptop"
    assert whole.data["machine"]["cpu"] == "A & B <CPU>, not known"
    assert merge([hour(0), hour(1)]).data["machine"] == hour(0).data["machine"]


def test_largest_values_are_only_those_that_are_surely_the_largest() -> None:
    """One run kept down to 9 ms, another down to 5 us: below 9 ms some are not known."""
    large = documents.result([10_000_000 - i for i in range(2000)])
    small = documents.result([5000] * 300, began=documents.BEGAN + 100 * NS, seed=2)
    top = merge([large, small]).series[0].top
    assert min(top) > 9_000_000 and len(top) == documents.TOP


def test_causes_add_up() -> None:
    """Each largest value still leads to its own outlier."""
    one = documents.attributed([5000] * 500 + [300_000] + [5000] * 500)
    other = documents.attributed([5000] * 200 + [700_000, 200_000] + [5000] * 500)
    other.data.update(id="1" * 32, began=one.data["began"].replace("2027", "2028"))
    other.data["parts"][0]["began"] = other.data["began"]
    whole = merge([one, other])
    attribution = whole.data["attribution"]
    assert [row["value_ns"] for row in attribution["outliers"]] == [700_000, 300_000, 200_000]
    assert (attribution["seen"], attribution["causes"][0]["count"]) == (3, 3)
    assert attribution["causes"][0]["total_ns"] == 600_000
    assert attribution["causes"][0]["worst_ns"] == 350_000
    for row in whole.series[0].data["top"]:
        if row["outlier"] is not None:
            outlier = attribution["outliers"][row["outlier"]]
            assert (outlier["value_ns"], outlier["trigger"]) == (row["value_ns"], row["trigger"])
    assert whole.series[0].data["top"][0]["trigger"] == 1001 + 200


def test_causes_are_ranked_as_by_the_instrument() -> None:
    """The lists that isolator measure is tested with, from any order."""
    text = (Path(__file__).parents[2] / "cli/tests/causes.ranked").read_text()
    lists: list[list[dict[str, Any]]] = [[]]
    for line in text.splitlines():
        if not line:
            lists.append([])
        elif not line.startswith("#"):
            total, kind, who = line.split("\t")
            lists[-1].append({"total_ns": int(total), "kind": kind,
                              "who": None if who == "-" else who})
    assert sum(map(len, lists)) == 17
    for rows in lists:
        for seed in range(20):
            mixed = random.Random(seed).sample(rows, len(rows))
            assert sorted(mixed, key=cause_order) == rows


def test_timelines_of_different_intervals() -> None:
    """The shorter one is put together, and a last interval may be a part of one."""
    pieces = [{"interval_ns": 10, "maxima": [1, 5, None, 2, 9], "counts": [1, 1, 0, 1, 1]},
              {"interval_ns": 20, "maxima": [7, None], "counts": [3, 0]}]
    assert timeline(pieces) == (20, [5, 2, 9, 7, None], [2, 1, 1, 3, 0])
    with pytest.raises(ReportError, match="not a multiple"):
        timeline([{**pieces[0], "interval_ns": 15}, pieces[1]])
    long = {"interval_ns": 10, "maxima": list(range(3000)), "counts": [1] * 3000}
    interval, maxima, counts = timeline([long])
    assert (interval, len(counts), sum(counts), maxima[-1]) == (40, 750, 3000, 2999)


def test_limits_are_judged_again() -> None:
    """Each run held its limit on p99, which all together hold; the maximum of one did not."""
    def limit(name: str, limit_ns: int) -> list[dict[str, Any]]:
        return [{"name": name, "limit_ns": limit_ns, "hard": True, "value_ns": 1,
                 "result": "held"}]

    runs = [hour(number, limits=limit("p99", 50_000)) for number in (0, 1)]
    assert merge(runs).data["verdict"] == "passed"
    assert merge([hour(0, limits=limit("max", 8_000)), hour(1, limits=limit("max", 8_000))]
                 ).data["exit"] == 2


@pytest.mark.parametrize(("change", "said"), [
    ({"method": "timerfd"}, "not the same quantity"),
    ({"clock": "monotonic"}, "another clock"),
    ({"verdict": "running"}, "only what has ended"),
    ({"identifier": "a" * 32}, "given twice"),
])
def test_what_is_not_one_measurement(change: dict[str, Any], said: str) -> None:
    """Refused."""
    first = hour(0, **({"identifier": "a" * 32} if "identifier" in change else {}))
    with pytest.raises(ReportError, match=said):
        merge([first, hour(1, **change)])


def test_at_the_same_time() -> None:
    """On one CPU: they disturbed each other."""
    with pytest.raises(ReportError, match="disturbed each other"):
        merge([hour(0), documents.result(VALUES[1], began=documents.BEGAN + NS, seed=9)])


def test_an_invalid_run_makes_all_invalid(tmp_path: Path) -> None:
    """Exit 3; the document is written and says which."""
    good = documents.save(tmp_path / "good.json", hour(0))
    bad = documents.save(tmp_path / "bad.json", hour(1, verdict="invalid", words="lost some"))
    made = tmp_path / "all.json"
    assert main(["merge", str(good), str(bad), "-o", str(made)]) == INCONCLUSIVE
    data = json.loads(made.read_text())
    assert data["verdict"] == "invalid" and "bad.json: lost some" in data["words"]
