# SPDX-License-Identifier: GPL-2.0-or-later
"""The command: its parts in one file, its exit code, its page; the programs are stubs."""

import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import measure
import pytest
import rivals
from isolator_report import schemafile
from isolator_report.histogram import Histogram
from processes import state_of
from rounds import EXCEEDED, INCONCLUSIVE, PASS
from waiting import until

COST = {"costs": [
    {"name": "cyclictest", "about": "cyclictest with its histogram", "base": None, "user": 200.0,
     "kernel": 9000.0, "total": 9200.0, "ratio": None},
    {"name": "isolator", "about": "isolator measure latency", "base": "cyclictest", "user": 250.0,
     "kernel": 8500.0, "total": 8750.0, "ratio": 0.951}], "windows": []}


class Programs:
    """What each of them measures; a test sets what it wants."""

    def __init__(self) -> None:
        self.dice = random.Random(6)
        self.ours_later = 0.0
        self.noise = 50.0
        self.more_gaps = 0.0

    def latency(self, more: float) -> rivals.Figures:
        p50 = 20_000 + self.dice.gauss(0, self.noise) + more
        return {"p50_ns": p50, "p99_ns": 2 * p50, "least_ns": 9000.0, "samples": 5000, "beyond": 0}

    def gaps(self, more: float) -> rivals.Figures:
        rate = 100 + self.dice.gauss(0, 2) + more
        return {"gaps_per_s": rate, "lost_us_per_s": 30 * rate, "gaps": rate, "seconds": 2.0}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """No program runs, nothing is written outside @tmp_path."""
    stubs = Programs()
    (tmp_path / "docs").mkdir()
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(measure, "ROOT", tmp_path)
    monkeypatch.setattr(measure, "OUT", tmp_path / "out")
    monkeypatch.setattr(measure, "build", lambda: tmp_path / "isolator")
    monkeypatch.setattr(measure, "commit", lambda: "1234567")
    monkeypatch.setattr(measure, "version", lambda package: "2.4-1")
    monkeypatch.setattr(rivals, "cyclictest", lambda *_: stubs.latency(0))
    monkeypatch.setattr(rivals, "latency", lambda *_: stubs.latency(stubs.ours_later))
    monkeypatch.setattr(rivals, "oslat", lambda *_: stubs.gaps(0))
    monkeypatch.setattr(rivals, "noise", lambda *_: stubs.gaps(stubs.more_gaps))
    return stubs


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The command."""
    monkeypatch.setattr("sys.argv", ["bench-measure", *arguments])
    return measure.main()


def report(where: Path) -> dict[str, Any]:
    """What it wrote, by its schema."""
    found: dict[str, Any] = json.loads((where / "out" / measure.FILE).read_text())
    jsonschema.validate(found, schemafile.read(
        Path(measure.__file__).parent / "schema/measure.json"))
    return found


@pytest.mark.parametrize(("later", "noise", "code"), [
    (0, 50, PASS), (1500, 50, EXCEEDED), (0, 20_000, INCONCLUSIVE)])
def test_latency(programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                 later: float, noise: float, code: int) -> None:
    programs.ours_later, programs.noise = later, noise
    assert run(monkeypatch, "--only", "latency") == code
    part = report(tmp_path)["parts"]["latency"]
    assert part["code"] == code and len(part["rounds"]) == 20
    assert [r["program"] for r in part["rounds"][0]] == [
        "cyclictest", "isolator", "isolator", "cyclictest"]


def children() -> set[int]:
    """Of this process."""
    return {*map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())}


def spinners() -> set[int]:
    """Those with the policy idle."""
    return {pid for pid in children() if os.sched_getscheduler(pid) == os.SCHED_IDLE}


def test_the_cpu_is_kept_awake() -> None:
    cpu = max(os.sched_getaffinity(0))
    with measure.awake(cpu):
        # It is there a moment before taskset has done its part.
        until(lambda: [os.sched_getaffinity(pid) for pid in spinners()] == [{cpu}])
    assert not spinners()


def test_a_cpu_that_went_to_sleep_is_an_error() -> None:
    before = children()
    with pytest.raises(rivals.RivalError, match="CPU 4095"), measure.awake(4095):
        until(lambda: "Z" in map(state_of, children() - before))


@pytest.mark.parametrize(("more", "code"), [(0, PASS), (20, EXCEEDED)])
def test_noise(programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
               more: float, code: int) -> None:
    programs.more_gaps = more
    assert run(monkeypatch, "--only", "noise") == code
    assert report(tmp_path)["parts"]["noise"]["code"] == code


def pytest_says(where: Path, inside: str) -> Any:
    """A pytest that leaves this case in its report."""
    def call(_command: Sequence[str | Path], codes: tuple[int, ...] = (0,)) -> int:
        (where / "build").mkdir(exist_ok=True)
        (where / "build/bench-measure.xml").write_text(
            f'<testsuites><testsuite><testcase time="2.5">{inside}</testcase></testsuite>'
            "</testsuites>")
        return codes[0]
    return call


@pytest.mark.parametrize(("inside", "code"), [("", PASS), ("<failure/>", EXCEEDED)])
def test_exact(programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
               inside: str, code: int) -> None:
    monkeypatch.setattr(measure, "call", pytest_says(tmp_path, inside))
    assert run(monkeypatch, "--only", "exact") == code
    assert report(tmp_path)["parts"]["exact"]["equal"] is (code == PASS)


def test_exact_that_did_not_run_is_an_error(programs: Programs, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "call", pytest_says(tmp_path, "<skipped/>"))
    with pytest.raises(rivals.RivalError, match="did not run"):
        run(monkeypatch, "--only", "exact")


def live(later: int) -> dict[str, Any]:
    """Of a guest: each value of ours so much later."""
    histogram = Histogram.of(value + later for value in range(3000, 8000))
    ours = {"verdict": "pass", "words": [], "parts": [{"series": [{
        "name": "latency", "complete": True, "overflow": 0,
        "histogram": histogram.encode()}]}]}
    theirs = {"thread": {"0": {"cycles": 5000,
                               "histogram": {str(value): 1 for value in range(3000, 8000)}}}}
    return {"samples": 5000, "emulator": "QEMU", "kernel": {"name": "k", "release": "6.12"},
            "rounds": [[{"program": name, "document": ours if name == "isolator" else theirs}
                        for name in ("cyclictest", "isolator", "isolator", "cyclictest")]] * 20}


@pytest.mark.parametrize(("later", "code"), [(0, PASS), (900, PASS), (1100, EXCEEDED)])
def test_guest(tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch,
               later: int, code: int) -> None:
    monkeypatch.setattr(measure, "call", lambda _command: PASS)
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out/measure-live.json").write_text(json.dumps(live(later)))
    assert run(monkeypatch, "--only", "guest") == code
    part = report(tmp_path)["parts"]["guest"]
    assert part["code"] == code and part["bars"][0]["difference"] == pytest.approx(later, abs=10)


@pytest.mark.parametrize("code", [PASS, EXCEEDED])
def test_parts_add_up_to_a_page(programs: Programs, tmp_path: Path,
                                monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """What was measured before remains; only the whole of it is a page."""
    run(monkeypatch, "--only", "latency", "--only", "noise")
    assert not list((tmp_path / "docs").iterdir())
    (tmp_path / "out/measure-cost.json").write_text(json.dumps(COST))

    def call(command: Sequence[str | Path], codes: tuple[int, ...] = (0,)) -> int:
        return code if "tools/isolab" in command else pytest_says(tmp_path, "")(command, codes)

    (tmp_path / "out/measure-live.json").write_text(json.dumps(live(later=0)))
    monkeypatch.setattr(measure, "call", call)
    assert run(monkeypatch, "--only", "exact", "--only", "cost", "--only", "guest") == code
    assert set(report(tmp_path)["parts"]) == {"exact", "latency", "guest", "noise", "cost"}
    page = (tmp_path / "docs/bench-measure.md").read_text()
    assert "| p50, ns late | cyclictest | " in page and "commit 1234567" in page
    assert "| isolator measure latency | 250 | 8500 | 8750 | 0.951 |" in page
    assert ("Exceeded: " in page) is (code == EXCEEDED)


def test_too_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["bench-measure", "--rounds", "19"])
    with pytest.raises(SystemExit) as ended:
        measure.arguments_of()
    assert ended.value.code == 1


def test_rounds_are_a_b_b_a(programs: Programs) -> None:
    order: list[str] = []

    def say(name: str) -> rivals.Figures:
        order.append(name)
        return {"x": 1.0}

    measure.alternate(2, lambda: say("a"), lambda: say("b"), "oslat", "x")
    assert "".join(order) == "abbaabba"


def test_another_version_is_not_added_to(tmp_path: Path) -> None:
    (tmp_path / "old").write_text(json.dumps({"schema": "isolator.bench.measure", "version": 0,
                                              "parts": {"latency": {}}}))
    assert measure.begun(tmp_path / "old")["parts"] == {}
    assert measure.begun(tmp_path / "none")["parts"] == {}
