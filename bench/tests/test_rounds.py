# SPDX-License-Identifier: GPL-2.0-or-later
"""The arithmetic of a benchmark's rounds, and what the command makes of it."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import channel
import jsonschema
import pytest
import rounds
from isolator_report import schemafile


def sample(p50: float) -> dict[str, float]:
    """One run."""
    return {"ns_min": p50 - 20, "ns_p50": p50, "ns_p99": 2 * p50, "ns_message": 20.0}


def test_interval_of_fifteen() -> None:
    """The known ranks: of 15 values the 4th and the 12th hold the median at 96.5 %."""
    assert rounds.interval([float(x) for x in range(1, 16)]) == (4.0, 12.0)
    assert rounds.interval([float(x) for x in range(1, 32)]) == (10.0, 22.0)
    assert rounds.interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_summary_is_of_the_medians() -> None:
    """One round in the way of somebody else moves the spread, not the median."""
    found = rounds.summary([sample(300.0)] * 14 + [sample(900.0)])
    assert found["ns_p50"] == 300.0
    assert found["ns_min"] == 280.0
    assert found["interval"] == [300.0, 300.0]
    assert found["spread"] == 2.0


@pytest.mark.parametrize(("floor", "second", "ours", "code"), [
    (300.0, 301.0, 300.0, rounds.PASS),
    (300.0, 301.0, 315.0, rounds.PASS),
    (300.0, 301.0, 315.1, rounds.EXCEEDED),
    (300.0, 316.0, 300.0, rounds.INCONCLUSIVE),
    (300.0, 284.0, 400.0, rounds.INCONCLUSIVE),
])
def test_judge(floor: float, second: float, ours: float, code: int) -> None:
    """At most 1.05 of the floor; a floor that differs from itself judges nothing."""
    assert rounds.judge(floor, second, ours)[0] == code


def test_a_round_elsewhere_is_named() -> None:
    """Two CPUs that come to share a core for a while do not go unnoticed."""
    usual, near = sample(300.0), sample(60.0)
    assert rounds.moved({"floor": [usual] * 5 + [near] + [usual] * 9,
                         "isolator": [usual] * 15}) == [6]
    assert rounds.moved({"floor": [usual] * 15}) == []


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for the results, and packages without a package manager."""
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(channel, "ROOT", tmp_path)
    monkeypatch.setattr(channel, "OUT", tmp_path / "out/bench-channel.json")
    monkeypatch.setattr(channel, "build", lambda: tmp_path / "channel-trip")
    monkeypatch.setattr(channel, "version", lambda package: "1.0")
    monkeypatch.setattr(channel.os, "cpu_count", lambda: 2)
    return tmp_path


def measured(monkeypatch: pytest.MonkeyPatch, **p50: float) -> None:
    """Every peer has the same p50, but those named."""
    monkeypatch.setattr(channel, "measure", lambda program, peer, cpus: sample(
        p50.get(peer.name, 500.0)))


@pytest.mark.parametrize(("ours", "code"), [(303.0, 0), (320.0, 2)])
def test_command(project: Path, monkeypatch: pytest.MonkeyPatch, ours: float,
                 code: int) -> None:
    """Exit code, result by its schema, table and picture."""
    measured(monkeypatch, floor=300.0, isolator=ours)
    monkeypatch.setattr("sys.argv", ["bench-channel"])
    assert channel.main() == code
    result = json.loads((project / "out/bench-channel.json").read_text())
    jsonschema.validate(result, schemafile.read(
        Path(channel.__file__).parent / "schema/channel.json"))
    assert result["channel"]["isolator_ns_p50"] == ours
    assert len(result["channel"]["peers"]) == len(channel.PEERS)
    assert result["channel"]["not_clear"] == []
    assert "| 500 |" in (project / "docs/bench-channel.md").read_text()
    drawn = (project / "docs/bench-channel.svg").read_bytes()
    assert len(drawn) < 200_000
    ElementTree.fromstring(drawn)


def test_a_peer_within_our_interval_is_named(project: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """And without docs nothing is written there."""
    measured(monkeypatch, floor=300.0, isolator=303.0, ck_ring=302.0)
    monkeypatch.setattr("sys.argv", ["bench-channel", "--no-docs"])
    assert channel.main() == 0
    result = json.loads((project / "out/bench-channel.json").read_text())
    assert result["channel"]["not_clear"] == ["ck_ring"]
    assert not list((project / "docs").iterdir())


def test_too_few_rounds(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A median over a few rounds is refused."""
    monkeypatch.setattr("sys.argv", ["bench-channel", "--rounds", "3"])
    with pytest.raises(SystemExit):
        channel.main()
