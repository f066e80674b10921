# SPDX-License-Identifier: GPL-2.0-or-later
"""The arithmetic of a benchmark's rounds, and what the command makes of it."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import channel
import jsonschema
import processors
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


@pytest.mark.parametrize(("floor", "second", "ours", "limit", "code"), [
    (300.0, 301.0, 300.0, 1.05, rounds.PASS),
    (300.0, 300.0, 315.0, 1.05, rounds.PASS),
    (300.0, 300.0, 315.1, 1.05, rounds.EXCEEDED),
    (300.0, 300.0, 345.0, 1.15, rounds.PASS),
    (300.0, 300.0, 345.1, 1.15, rounds.EXCEEDED),
    (300.0, 316.0, 300.0, 1.05, rounds.INCONCLUSIVE),
    (300.0, 284.0, 400.0, 1.15, rounds.INCONCLUSIVE),
])
def test_judge(floor: float, second: float, ours: float, limit: float, code: int) -> None:
    """At most the limit; a floor that differs from itself judges nothing."""
    assert rounds.judge([floor] * 15, [second] * 15, [ours] * 15, limit)[0] == code


def test_a_slow_minute_is_not_the_channels() -> None:
    """Floor and channel of one round are compared: what slows both does not count."""
    slow = [1.2] * 8 + [1.0] * 7
    floor = [300.0 * by for by in slow]
    ours = [303.0 * by for by in slow[1:] + slow[:1]]
    code, said = rounds.judge(floor, floor, ours)
    assert code == rounds.PASS
    assert "1.010 of it" in said


def test_a_round_elsewhere_is_named() -> None:
    """CPUs that are moved, for a whole round or in the middle of one."""
    first, second = [300.0] * 15, [300.0] * 15
    assert rounds.elsewhere(first, second) == []
    first[5] = second[5] = 60.0
    second[9] = 376.0
    assert rounds.elsewhere(first, second) == [6, 10]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for the results, and packages without a package manager."""
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(channel, "ROOT", tmp_path)
    monkeypatch.setattr(channel, "OUT", tmp_path / "out/bench-channel.json")
    monkeypatch.setattr(channel, "build", lambda: tmp_path / "channel-trip")
    monkeypatch.setattr(channel, "version", lambda package: "1.0")
    monkeypatch.setattr(channel.os, "cpu_count", lambda: 2)
    on(monkeypatch, "GenuineIntel")
    return tmp_path


def on(monkeypatch: pytest.MonkeyPatch, vendor: str) -> None:
    """A processor to measure on."""
    monkeypatch.setattr(channel, "machine", lambda: {
        "cpu": f"{vendor}(R) Processor", "kernel": "6.12", "virtual": "no", "vendor": vendor,
        "family": "6", "model": "1"})


def measured(monkeypatch: pytest.MonkeyPatch, **p50: float) -> None:
    """Every peer has the same p50, but those named."""
    monkeypatch.setattr(channel, "measure", lambda program, peer, cpus: sample(
        p50.get(peer.name, 500.0)))


@pytest.mark.parametrize(("vendor", "ours", "code"), [
    ("GenuineIntel", 303.0, 0), ("GenuineIntel", 320.0, 2), ("AuthenticAMD", 320.0, 0)])
def test_command(project: Path, monkeypatch: pytest.MonkeyPatch, vendor: str, ours: float,
                 code: int) -> None:
    """Exit code, result by its schema, table and picture."""
    measured(monkeypatch, floor=300.0, isolator=ours)
    on(monkeypatch, vendor)
    monkeypatch.setattr("sys.argv", ["bench-channel"])
    assert channel.main() == code
    result = json.loads((project / "out/bench-channel.json").read_text())
    jsonschema.validate(result, schemafile.read(
        Path(channel.__file__).parent / "schema/channel.json"))
    assert result["channel"]["isolator_ns_p50"] == ours
    assert len(result["channel"]["peers"]) == len(channel.PEERS)
    assert result["channel"]["not_clear"] == []
    page = (project / "docs/bench-channel.md").read_text()
    assert "| 500 |" in page
    name = f"bench-channel-{vendor.lower()}-processor-family-6-model-1.svg"
    assert f"]({name})" in page
    drawn = (project / "docs" / name).read_bytes()
    assert len(drawn) < 200_000
    ElementTree.fromstring(drawn)


def test_a_processor_keeps_its_result(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one's is added; its own is replaced."""
    monkeypatch.setattr("sys.argv", ["bench-channel"])
    for vendor, ours in (("GenuineIntel", 301.0), ("AuthenticAMD", 302.0), ("GenuineIntel", 303.0)):
        measured(monkeypatch, floor=300.0, isolator=ours)
        on(monkeypatch, vendor)
        assert channel.main() == 0
    page = (project / "docs/bench-channel.md").read_text()
    parts = processors.parts(page)
    assert list(parts) == [f"{vendor}(R) Processor (family 6, model 1)"
                           for vendor in ("AuthenticAMD", "GenuineIntel")]
    assert ["isolator 302.0" in text for text in parts.values()] == [True, False]
    assert ["isolator 303.0" in text for text in parts.values()] == [False, True]
    assert page.count("isolator 301.0") == 0


def test_rounds_elsewhere_are_made_up_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifteen count, whatever the others were; and when too many are, there is no verdict."""
    floors = 0

    def measure(_program: Path, peer: rounds.Peer, _cpus: str) -> dict[str, float]:
        nonlocal floors
        floors += peer.name == "floor"
        return sample(place((floors + 1) // 2))

    monkeypatch.setattr(channel, "measure", measure)
    monkeypatch.setattr("sys.argv", ["bench-channel"])

    def place(number: int) -> float:
        return (300.0, 900.0, 2700.0)[number % 3] if always else 900.0 if number <= 3 else 300.0

    always = False
    assert channel.main() == 0
    result = json.loads((project / "out/bench-channel.json").read_text())
    assert result["channel"]["moved_rounds"] == [1, 2, 3]
    assert result["rounds"] == 15
    assert len(result["channel"]["isolator"]["rounds"]) == 15
    assert "Left out: the rounds 1, 2, 3 of 18" in (project / "docs/bench-channel.md").read_text()
    floors, always = 0, True
    assert channel.main() == rounds.INCONCLUSIVE


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
