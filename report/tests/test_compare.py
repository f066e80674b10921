# SPDX-License-Identifier: GPL-2.0-or-later
"""compare: its four ends, its design, and how often it is wrong."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import compare_trials
import jsonschema
import pytest
import report_documents as documents
from isolator_report import compare
from isolator_report.cli import main
from isolator_report.document import NS, Result
from isolator_report.errors import ERROR, EXCEEDED, INCONCLUSIVE, PASS
from isolator_report.rounds import measure
from waiting import PATIENCE_S, until

SCHEMA = json.loads((Path(compare.__file__).with_name("compare.json")).read_text())


def rounds(path: Path, count: int, factor: float, sigma: float = 0.2, size: int = 2000,
           order: tuple[str, str] = ("ABBA", "BAAB")) -> tuple[str, str]:
    """Directories of results of A, and of B whose values are `factor` as large."""
    number = 0
    for turn in range(count):
        for label in order[turn % 2]:
            number += 1
            values = documents.lognormal(size, number, 5000 * (factor if label == "B" else 1),
                                         sigma)
            documents.save(path / label.lower() / f"{number:03d}.json", documents.result(
                values, began=documents.BEGAN + number * 10 * NS, seed=number))
    return str(path / "a"), str(path / "b")


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """Exit status and document, which keeps to its schema and says the same."""
    code = main(["compare", "--json", *words])
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    assert found["exit"] == code
    return code, found


def test_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same, closely measured: exit 0."""
    code, found = said([*rounds(tmp_path, 8, 1.0)], capsys)
    assert (code, found["verdict"], found["design"]) == (PASS, "pass", "interleaved")
    assert found["rounds"] == 8 and all(row["floor"] for row in found["effects"])


def test_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """10 % more: exit 2, by that much, in the table and in the last line."""
    words = [*rounds(tmp_path, 8, 1.1)]
    code, found = said(words, capsys)
    assert (code, found["verdict"]) == (EXCEEDED, "fail")
    p99 = next(row for row in found["effects"] if row["metric"] == "p99")
    assert p99["finding"] == "worse" and p99["low"] < 0.1 < p99["high"]
    assert main(["compare", *words]) == EXCEEDED
    assert capsys.readouterr().out.splitlines()[-1].startswith("fail: B is worse: latency p50 by")
    assert main(["compare", *reversed(words)]) == PASS


def test_inconclusive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Too few rounds, or one run of each, whatever the difference: exit 3, and what helps."""
    few = rounds(tmp_path / "few", 3, 2.0, size=1200)
    code, found = said([*few], capsys)
    assert code == INCONCLUSIVE and "at least 8 are needed" in found["words"]
    one = sorted(Path(few[0]).iterdir())[0], sorted(Path(few[1]).iterdir())[0]
    code, found = said([str(path) for path in one], capsys)
    assert code == INCONCLUSIVE and "take rounds" in found["words"]
    assert any("between these two runs" in note for note in found["notes"])
    small = rounds(tmp_path / "small", 8, 2.0, size=500)
    code, found = said([*small, "--margin", "5"], capsys)
    assert code == EXCEEDED  # of the median, which is known
    same = rounds(tmp_path / "same", 8, 1.0, size=500)
    code, found = said([*same], capsys)
    assert code == INCONCLUSIVE and "too few samples for its p99" in found["words"]


def test_wide_bounds_say_how_many_rounds() -> None:
    """About the same, but loosely measured."""
    runs: dict[str, list[compare.Run]] = {"A": [], "B": []}
    apart = (0.1, -0.08, 0.09, -0.07, 0.02, -0.03, 0.05, 0.01)
    for at, label in enumerate("ABBABAAB" * 4):
        value = 5000.0 * (1 + apart[at // 4] * (label == "B"))
        runs[label].append(compare.Run("x", at, {("quiet", "latency"): dict.fromkeys(
            compare.METRICS, value)}))
    found = compare.compare(runs["A"], runs["B"])
    assert found.verdict == "inconclusive" and found.rounds == 8
    assert re.search(r"about \d+ rounds would tell", found.words)


def test_invalid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that lost samples, one that has not ended, another quantity: exit 1."""
    good = documents.save(tmp_path / "good.json", documents.result([5000] * 2000))
    cases: dict[str, Result] = {
        "its verdict is running": documents.result([5000] * 2000, verdict="running"),
        "not the same was measured": documents.result([5000] * 2000, method="timerfd"),
        "lost uncounted": documents.result([5000] * 2000, verdict="invalid",
                                           words="samples were lost uncounted"),
    }
    for words, bad in cases.items():
        path = documents.save(tmp_path / "bad.json", bad)
        code, found = said([str(good), str(path)], capsys)
        assert (code, found["verdict"]) == (ERROR, "invalid") and words in found["words"]
    code, found = said([str(good), str(good), "--series", "gap"], capsys)
    assert code == ERROR and "there is: quiet/latency" in found["words"]
    (tmp_path / "cut.json").write_text("{")
    assert main(["compare", str(good), str(tmp_path / "cut.json")]) == ERROR


def test_steady_drift_is_no_difference() -> None:
    """Each run slower than the one before it: ABBA and BAAB take that out, AB would not."""
    def run(at: int) -> compare.Run:
        return compare.Run("x", at, {("quiet", "latency"): dict.fromkeys(
            compare.METRICS, 5000 * 1.01 ** at)})

    def sides(order: str) -> tuple[list[compare.Run], list[compare.Run]]:
        return tuple([run(at) for at, one in enumerate(order) if one == side]  # type: ignore
                     for side in "AB")

    turns = compare.compare(*sides("ABBABAAB" * 4))
    assert turns.design == "interleaved" and turns.verdict == "pass"
    after = compare.compare(*sides("A" * 16 + "B" * 16))
    assert after.design == "separate" and after.verdict == "fail"
    assert any("not taken in turns" in note for note in after.notes)


def test_a_machine_that_moves_by_itself() -> None:
    """The second A of each round is always slower than its first: nothing is said."""
    runs = {"A": [], "B": []}  # type: dict[str, list[compare.Run]]
    for at, label in enumerate("ABBA" * 12):
        value = 5000 * (1.3 if at % 4 == 3 else 1.0) * (1 + at * 1e-6)
        runs[label].append(compare.Run("x", at, {("quiet", "latency"): dict.fromkeys(
            compare.METRICS, value)}))
    found = compare.compare(runs["A"], runs["B"])
    assert found.verdict == "inconclusive" and "not steady enough" in found.words


def test_differences_are_named() -> None:
    """Machine, kernel and settings that were not the same."""
    one = documents.result([5000])
    elsewhere = documents.result([5000], machine={**one.data["machine"], "host": "laptop"})
    assert compare.differences(one, elsewhere) == ["host: box | laptop"]
    other = documents.result([5000], kernel="6.12.57", settings=[
        documents.build.setting("policy", "other")])
    assert compare.differences(one, other) == [
        "kernel: 6.12.57-rt | 6.12.57", "policy: fifo | other"]
    assert compare.differences(one, one) == []


MAKE = """
import json, pathlib, sys, time
sys.path[:0] = {paths!r}
import report_documents as documents
count = pathlib.Path(sys.argv[1]) / "count"
number = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (number + 1))
(pathlib.Path(sys.argv[1]) / "order").open("a").write(sys.argv[2])
values = documents.lognormal(1100, number, float(sys.argv[2] == "b") * 2000 + 5000)
made = documents.result(values, began=documents.BEGAN + number * 10**10, seed=number)
text = json.dumps(made.data)
pathlib.Path(sys.argv[3]).write_text(text) if len(sys.argv) > 3 else print(text)
sys.exit(int({code}))
"""


def program(path: Path, code: int = 0) -> str:
    """A command that writes a document."""
    paths = [str(Path(compare.__file__).parents[1]), str(Path(__file__).parent)]
    script = path / f"make{code}.py"
    script.write_text(MAKE.format(paths=paths, code=code))
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} {shlex.quote(str(path))}"


def test_run_takes_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ABBA, BAAB; one by standard output, one by {}; what is kept can be compared again."""
    make, keep = program(tmp_path), tmp_path / "kept"
    code, found = said(["--run", f"{make} a", f"{make} b {{}}", "--rounds", "2", "--keep",
                        str(keep)], capsys)
    assert (tmp_path / "order").read_text() == "abbabaab"
    assert code == INCONCLUSIVE and found["rounds"] == 2 and found["design"] == "interleaved"
    assert said([str(keep / "a"), str(keep / "b")], capsys) == (code, found)
    assert main(["compare", "--run", make, make, "--keep", str(keep)]) == ERROR
    assert "has results already" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "timeout", "words"), [
    ("/nonexistent/isolator", "60", "No such file"),
    ("false", "60", "failed (exit 1)"),
    ("true", "60", "not JSON"),
    ("sleep 60", "0.2", "had not ended after 0.2 s"),
    ("", "60", "is empty"),
])
def test_commands_that_fail(command: str, timeout: str, words: str,
                            capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 at the first one."""
    assert main(["compare", "--timeout", timeout, "--run", command, command]) == ERROR
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_command_too(number: int, tmp_path: Path) -> None:
    """It may have settings to restore: it gets SIGINT, and is waited for."""
    script = tmp_path / "slow.sh"
    script.write_text("trap 'touch restored; exit 0' INT\ntouch begun\n"
                      "while :; do sleep 0.05; done\n")
    command = f"sh {shlex.quote(str(script))}"
    process = subprocess.Popen(
        [sys.executable, "-m", "isolator_report", "compare", "--run", command, command],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(compare.__file__).parents[1])})
    until((tmp_path / "begun").exists)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == ERROR and "interrupted" in err
    assert (tmp_path / "restored").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_as_the_command_begins(number: int, tmp_path: Path,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """Also before this program knows it by its number."""
    started = subprocess.Popen

    def start(*words: object, **how: object) -> subprocess.Popen[str]:
        process = started(*words, **how)  # type: ignore[call-overload]
        assert process.stdout.readline() == "begun\n"
        os.kill(os.getpid(), number)
        return process

    script = tmp_path / "slow.sh"
    script.write_text(f"trap 'touch {tmp_path}/restored; exit 0' INT\necho begun\n"
                      "while :; do sleep 0.05; done\n")
    monkeypatch.setattr(subprocess, "Popen", start)
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        measure(f"sh {shlex.quote(str(script))}", 30, tmp_path)
    assert (tmp_path / "restored").exists() and signal.getsignal(number) == before


def test_an_invalid_run_ends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its exit status 3 is enough."""
    make = program(tmp_path, 3)
    code, found = said(["--run", f"{make} a", f"{make} b"], capsys)
    assert (code, found["verdict"]) == (ERROR, "invalid")
    assert (tmp_path / "order").read_text() == "a"


def test_false_alarms_and_power_on_synthetic_values() -> None:
    """As compare_trials.py does at length, on values that depend on each other.

    That they do is seen at a test which takes them for independent: it is wrong too often.
    """
    values = compare_trials.synthetic(160_000, seed=3)
    same = compare_trials.trials(values, 200, 8, 1000)
    assert same.claimed <= 10
    assert same.naive >= 20
    found = compare_trials.trials(values, 20, 20, 1000, shift=0.5)
    assert found.p99 >= 18


def test_false_alarms_on_recorded_values() -> None:
    """Wake-ups of a busy machine, each round from another place of the recording."""
    values = compare_trials.recorded()
    assert len(values) == 60_000
    same = compare_trials.trials(values, 200, 8, 1000)
    assert same.claimed <= 10
    assert same.naive >= 40
