# SPDX-License-Identifier: GPL-2.0-or-later
"""What make bench makes of its parts; the parts themselves are stubs here."""

import contextlib
import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import alloc
import everything
import jsonschema
import pytest
import rounds
from isolator_report import schemafile

CALL = {"p50_ns": 10.0, "p99_ns": 12.0, "p9999_ns": 50.0, "worst_of_round_median_ns": 90.0,
        "worst_ns": 900.0}
TICK = {"schema": "isolator.bench.tick", "version": 1, "rounds": 3, "operations": 10,
        "floor_ns_p50": 0.3, "floor2_ns_p50": 0.3, "isolator_ns_p50": 0.3}
MEASURE = {"latency": {"code": 0, "commit": "1234567", "when": "2026-01-01T00:00:00+00:00"}}
CHANNEL = {"floor_ns_p50": 280.0, "isolator_ns_p50": 290.0,
           "peers": [{"name": "ck_ring", "ns_p50": 500.0}]}


def allocator() -> dict[str, Any]:
    """As bench-alloc writes it."""
    return {"schema": "isolator.bench.alloc", "version": 1, "rounds": 15, "operations": 20000,
            "timer_ns": 9.0, "results": [
                {"pattern": pattern, "bytes": size, "allocator": name, "page_faults": 0,
                 "pair_ns": {"median": 15.0, "min": 14.0, "max": 17.0},
                 "alloc": CALL, "free": CALL}
                for pattern in ("pair", "burst") for size in (64, 0)
                for name in ("isolator", "malloc")]}


@pytest.fixture(name="parts")
def fixture_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Benchmarks that say what a test wants; the kernel's report is a real one's shape."""
    parts: dict[str, Any] = {"kernel": (0, None), "channel": (0, CHANNEL),
                             "allocator": (0, allocator()), "tick": (0, TICK),
                             "measure": (0, MEASURE)}
    report = {"schema": "isolab.bench", "version": 1, "when": "2026-01-01T00:00:00Z",
              "emulator": "QEMU", "attempts": [{"boot": "stock", "attempt": 1, "void": None}],
              "goals": []}
    schema = schemafile.read(everything.ROOT / "lab/schema/bench.json")
    report["costs"] = {name: {} for name in schema["properties"]["costs"]["required"]}
    schema["properties"] = {name: one for name, one in schema["properties"].items()
                            if name not in ("costs", "goals")} | {"costs": {}, "goals": {}}
    monkeypatch.setattr(everything, "OUT", tmp_path)
    monkeypatch.setattr(everything, "ROOT", tmp_path)
    monkeypatch.setattr(schemafile, "read", lambda _: schema)
    monkeypatch.setattr(everything, "BENCHMARKS", {
        name: lambda _options, name=name: parts[name] for name in parts})
    (tmp_path / "bench.json").write_text(json.dumps(report))
    return parts


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The command."""
    monkeypatch.setattr("sys.argv", ["bench", *arguments])
    return everything.main()


def test_all_parts_are_in_one_file(parts: dict[str, Any], tmp_path: Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """With the names that others read."""
    assert run(monkeypatch) == rounds.PASS
    report = json.loads((tmp_path / "bench.json").read_text())
    assert report["channel"]["floor_ns_p50"] == 280.0
    assert report["channel"]["isolator_ns_p50"] == 290.0
    assert report["channel"]["peers"][0]["name"] == "ck_ring"
    assert report["allocator"] == parts["allocator"][1]
    assert report["tick"] == TICK
    assert report["measure"] == MEASURE


@pytest.mark.parametrize(("kernel", "channel", "code"), [
    (0, 0, 0), (0, 3, 3), (2, 3, 2), (3, 0, 3), (2, 0, 2)])
def test_the_worst_is_said(parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
                           kernel: int, channel: int, code: int) -> None:
    """A goal that is not met outweighs a part that is inconclusive."""
    parts["kernel"] = (kernel, None)
    parts["channel"] = (channel, CHANNEL)
    assert run(monkeypatch) == code


def test_only_some(parts: dict[str, Any], tmp_path: Path,
                   monkeypatch: pytest.MonkeyPatch) -> None:
    """The others do not run."""
    parts["channel"] = (2, CHANNEL)
    assert run(monkeypatch, "tick") == rounds.PASS
    assert "channel" not in json.loads((tmp_path / "bench.json").read_text())


def test_a_tick_keeps_to_its_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the program prints is a document of its own; another one is none."""
    subprocess.run([everything.ROOT / "tools/build", "bench/bench-tick"], check=True)
    done = subprocess.run([everything.BUILD / "bench/bench-tick", "--rounds", "3", "--operations",
                           "1000"], check=True, capture_output=True, text=True)
    program = tmp_path / "bench/bench-tick"
    program.parent.mkdir()
    monkeypatch.setattr(everything, "BUILD", tmp_path)
    monkeypatch.setattr(everything, "call", lambda _: rounds.PASS)
    for printed, fits in ((json.loads(done.stdout), True), (TICK, True),
                          (TICK | {"schema": "isolator.bench-tick"}, False)):
        program.write_text(f"#!/bin/sh\necho '{json.dumps(printed)}'\n")
        program.chmod(0o755)
        with contextlib.nullcontext() if fits else pytest.raises(jsonschema.ValidationError):
            assert everything.measure_tick([]) == (rounds.PASS, printed)


@pytest.mark.parametrize(("arguments", "given"), [
    (["channel", "--rounds", "31", "--no-docs"], ["--rounds", "31", "--no-docs"]),
    (["--no-docs"], ["--no-docs"]), ([], [])])
def test_options_reach_who_has_them(parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
                                    arguments: list[str], given: list[str]) -> None:
    """What follows channel is its own; --no-docs before any name is everybody's."""
    seen = []

    def channel(options: list[str]) -> tuple[int, Any]:
        seen.append(options)
        code, found = parts["channel"]
        return code, found

    monkeypatch.setitem(everything.BENCHMARKS, "channel", channel)
    assert run(monkeypatch, *arguments) == rounds.PASS
    assert seen == [given]


@pytest.mark.parametrize("name", everything.PROGRAMS)
def test_help_of_one_measures_nothing(monkeypatch: pytest.MonkeyPatch, name: str,
                                      capfd: pytest.CaptureFixture[str]) -> None:
    """It is that of its own program, with its name as one types it."""
    monkeypatch.setenv("PYTHONPATH", str(everything.ROOT / "report"))
    assert run(monkeypatch, name, "--help") == rounds.PASS
    assert f"usage: tools/bench {name}" in capfd.readouterr().out


@pytest.mark.parametrize("wrong", [["chanel"], ["tick", "--rounds", "3"]])
def test_what_it_does_not_know(parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
                               wrong: list[str]) -> None:
    """A name or an option."""
    with pytest.raises(SystemExit):
        run(monkeypatch, *wrong)


def test_a_part_that_fails_is_an_error() -> None:
    """No figure of it is made up."""
    with pytest.raises(everything.BenchError, match="failed"):
        everything.call(["false"])


def test_page_of_the_allocator(tmp_path: Path) -> None:
    """A line for each row; a picture that is one."""
    alloc.write(allocator(), tmp_path)
    page = (tmp_path / "bench-alloc.md").read_text()
    assert page.count("| isolator |") == 4
    assert "| burst | mixed | malloc |" in page
    picture = (tmp_path / "bench-alloc.svg").read_text()
    ElementTree.fromstring(picture)
    assert "malloc, pair of 64 bytes" in picture
