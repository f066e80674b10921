# SPDX-License-Identifier: GPL-2.0-or-later
"""Advice: how long, and when there is none."""

import json
import math
import random
from pathlib import Path

import jsonschema
import pytest
import report_documents as documents
from isolator_report import advise, tail
from isolator_report.cli import main
from isolator_report.errors import ERROR, INCONCLUSIVE, PASS

COUNT = 12_000


def about(values: list[int], percent: float = 99.9999) -> advise.Advice:
    """Of one series, a value each millisecond."""
    return advise.advise(documents.result(values), percent)[0]


def exponential(seed: int, count: int = COUNT) -> list[int]:
    """Independent, with a tail that is known: p of 1 - q lies at 1 us + 4 us ln(1 / q)."""
    dice = random.Random(seed)
    return [int(1000 + 4000 * dice.expovariate(1.0)) for _ in range(count)]


def test_how_long() -> None:
    """Three million samples at 1000 a second are 49.9 minutes."""
    found = about(exponential(1))
    assert found.stationary is True and found.independent is True
    assert found.needs == 2_995_731 and found.bound_ns is None
    assert found.more_seconds == pytest.approx(2983.7, abs=0.1)
    assert "run it for 49.9 minutes" in found.words[1]


def test_a_bound_that_is_there() -> None:
    """p99 of 12 000 samples; it is the one of the document's own table."""
    result = documents.result(exponential(2))
    rows = {row["percent"]: row for row in result.series[0].data["percentiles"]}
    found = advise.advise(result, 99.0)[0]
    assert found.bound_ns is not None and rows[99.0]["upper_ns"] is not None
    assert abs(found.bound_ns - rows[99.0]["upper_ns"]) <= 0.002 * found.bound_ns
    assert found.more_seconds == 0


def test_growing_values() -> None:
    """No length helps, and no tail is fitted."""
    values = [int(value * (1 + place / COUNT)) for place, value in enumerate(exponential(3))]
    found = about(values)
    assert found.stationary is False and found.more_seconds is None and found.fit is None
    assert "while the machine changes" in found.words[1]
    assert any("the maxima grow during the run" in words for words in found.words)


def test_a_step_in_the_middle() -> None:
    """The second half is another machine."""
    values = exponential(4)
    found = about(values[:COUNT // 2] + [2 * value for value in values[COUNT // 2:]])
    assert found.stationary is False


def test_groups_of_large_values() -> None:
    """Five at a time: they count as one, and it takes longer."""
    values = [5000 + number % 7 for number in range(COUNT)]
    dice = random.Random(5)
    for _ in range(30):
        start, size = dice.randrange(COUNT - 5), dice.randrange(50_000, 90_000)
        values[start:start + 5] = [size + k for k in range(5)]
    found = about(values)
    assert found.independent is False and found.effective < 0.6
    assert found.needs > 1.6 * 2_995_731 and found.fit is None
    assert any("in groups" in words for words in found.words)


def test_a_missing_value_bounds_nothing() -> None:
    """It may have been any."""
    values = exponential(6)
    part = documents.build.part("quiet", documents.stamp(documents.BEGAN), 12.0,
                                [documents.series(values, missing=1)])
    result = documents.build.document(
        measure="latency", method="nanosleep", identifier="0" * 32, kernel="k", seconds=12.0,
        began=documents.stamp(documents.BEGAN), parts=[part], words="x", clock="tsc")
    found = advise.advise(result, 99.0)[0]
    assert found.bound_ns is None and found.fit is None


def test_tail_of_a_known_distribution() -> None:
    """p99.99 of an exponential tail: the bound holds as often as it says, and is not far off."""
    true = 1000 + 4000 * math.log(1e4)
    held = fitted = 0
    for seed in range(60):
        ordered = sorted(exponential(100 + seed, 4000), reverse=True)
        found = tail.tail(ordered[:documents.TOP], 4000, seed)
        assert found is not None
        if found.refused:
            continue
        fitted += 1
        held += tail.bound(found, 99.99, seed) >= true
        assert 0.5 * true < found.at(99.99) < 2.5 * true
    assert fitted >= 45 and held >= 0.85 * fitted


def test_mixtures_have_no_valid_fit() -> None:
    """Two causes in the tail, or a tail without a mean: refused."""
    for seed in range(8):
        dice = random.Random(seed)
        values = sorted((dice.gauss(400_000, 3000) if dice.random() < 0.01
                         else 1000 + dice.expovariate(1 / 4000) for _ in range(6000)),
                        reverse=True)
        found = tail.tail([int(value) for value in values[:documents.TOP]], 6000, seed)
        assert found is not None and found.refused, seed
        heavy = sorted((1000 * dice.paretovariate(0.7) for _ in range(6000)), reverse=True)
        found = tail.tail([int(value) for value in heavy[:documents.TOP]], 6000, seed)
        assert found is not None and found.refused, seed


def test_imported_results_say_little() -> None:
    """No timeline, no times: what cannot be said is said."""
    data = documents.result(exponential(7)).data
    one = data["parts"][0]["series"][0]
    one["top"], one["timeline"] = [], {"interval_ns": 0, "maxima": [], "counts": []}
    found = advise.advise(documents.Result(data, "x"), 99.9)[0]
    assert found.stationary is None and found.independent is None and found.fit is None


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """3 until there is a bound, 0 then; JSON keeps to its schema; a percentile is checked."""
    path = str(documents.save(tmp_path / "x.json", documents.result(exponential(8))))
    assert main(["advise", path]) == INCONCLUSIVE
    assert "run it for" in capsys.readouterr().out
    assert main(["advise", path, "--percent", "99", "--json"]) == PASS
    schema = json.loads(Path(advise.__file__).with_name("advice.json").read_text())
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)
    with pytest.raises(SystemExit) as wrong:
        main(["advise", path, "--percent", "100"])
    assert wrong.value.code == ERROR
    assert "not a percentile" in capsys.readouterr().err
