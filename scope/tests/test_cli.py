# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: exit codes, documents that isolator-report reads, man page."""

import argparse
import asyncio
import csv
import json
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from isolator_report import VERSION
from isolator_report.document import load
from isolator_scope import headless
from isolator_scope.cli import main, parser, token
from isolator_scope.document import duration, limit
from isolator_scope.errors import (
    ERROR,
    EXCEEDED,
    INCONCLUSIVE,
    PASS,
    SKIPPED,
    ScopeError,
    reason,
)
from isolator_scope.instrument import Instrument
from isolator_scope.link import Target, address
from isolator_scope.protocol import (
    Ack,
    Message,
    ProtocolError,
    SetFrequency,
    SetPatience,
    Status,
)
from isolator_scope.recording import Reader
from scope_simulated import ENVIRONMENT, simulated
from steps import ROOT
from waiting import PATIENCE_S, until

COMMANDS = {"serve", "record", "replay", "report", "export"}
FAULTS = ("--missing", "0.01", "--late", "0.005", "--stray", "0.005", "--seed", "3")


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    for action in parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """A run with faults: its recording, its document, its page."""
    folder = tmp_path_factory.mktemp("recorded")
    path, page = folder / "a.scope", folder / "a.html"
    with simulated(*FAULTS) as (where, _):
        done = subprocess.run(
            [sys.executable, "-m", "isolator_scope", "record", "--connect", where, "-n", "2000",
             "--frequency", "2000", "--seed", "9", "--packet", "50", "--patience", "20ms", "-o",
             str(path), "--json", "--report", str(page), "--cpu", "3", "--kernel", "6.12-rt"],
            env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == PASS, done.stderr
    return path, json.loads(done.stdout), page.read_text()


def test_record(recorded: tuple[Path, dict[str, Any], str]) -> None:
    """All triggers accounted for, settings as asked, the floor in it."""
    _, data, page = recorded
    rows = data["parts"][0]["series"]
    assert len(rows) == 11 and {row["cpu"] for row in rows} == {3}
    assert all(row["complete"] and row["triggers"] == 2000 for row in rows)
    assert sum(row["missing"] for row in rows) > 50
    got = {row["name"]: (row["asked"], row["got"], row["held"]) for row in data["settings"]}
    assert got["frequency"] == ("2000 Hz", "2000 Hz", True)
    assert got["phase"] == ("random, seed 9", "random, seed 9", True)
    assert data["phase"] == {"kind": "random", "seed": 9} and data["kernel"] == "6.12-rt"
    assert "loop-back p50 90 ns" in got["generator"][1]
    assert data["instrument"]["floor_ns"]["max"] == 420
    assert "irq-thread on CPU 3" in page and "loop-back p50 90 ns" in page


def test_replay_and_export_say_the_same(recorded: tuple[Path, dict[str, Any], str],
                                        tmp_path: Path) -> None:
    """Out of the recording alone; isolator-report reads it; the CSV adds up to it."""
    path, data, _ = recorded
    out = tmp_path / "a.json"
    assert main(["export", str(path), "-o", str(out), "--cpu", "3"]) == PASS
    again = load(out).data
    assert again["parts"] == data["parts"] and again["id"] == data["id"]
    table = tmp_path / "a.csv"
    assert main(["export", str(path), "--format", "csv", "-o", str(table)]) == PASS
    counted: dict[str, Counter[str]] = {}
    most: Counter[str] = Counter()
    with table.open() as text:
        for row in csv.DictReader(text):
            states = counted.setdefault(row["name"], Counter())
            states[row["state"]] += 1
            assert (row["ns"] == "") == (row["state"] in ("missing", "stray"))
            most[row["name"]] = max(most[row["name"]], int(row["ns"] or 0))
            if row["record"] == "afterthought":
                states["missing"] -= 1
    for row in data["parts"][0]["series"]:
        states = counted[row["name"]]
        assert states["answered"] + states["late"] == row["samples"] + row["overflow"]
        assert states["missing"] == row["missing"] and most[row["name"]] == row["max"]


def test_report(recorded: tuple[Path, dict[str, Any], str], tmp_path: Path) -> None:
    """One page that needs nothing else."""
    out = tmp_path / "a.html"
    assert main(["report", str(recorded[0]), "-o", str(out)]) == PASS
    text = out.read_text()
    assert "<h2>work-unbound</h2>" in text and "on CPU" not in text  # which one is not known
    assert set(re.findall(r"https?://[^\"' ]*", text)) == {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize(("words", "code"), [
    # Some are missing, and the generator waited 20 ms for each: above that nothing is known.
    (["max=100s"], INCONCLUSIVE), (["irq/p99.9=1s"], INCONCLUSIVE),
    (["irq/max=19ms"], EXCEEDED), (["irq/p99.9=19ms"], EXCEEDED),
    (["max=10us"], EXCEEDED), (["irq/p50=1us"], EXCEEDED),
    (["irq/p50=1s", "work/p50=1s"], PASS), (["p99.9999=1s"], INCONCLUSIVE),
    (["nobody/max=1s"], ERROR), (["max=fast"], ERROR), (["p100=1s"], ERROR),
])
def test_limits(recorded: tuple[Path, dict[str, Any], str], words: list[str], code: int,
                capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is what the document says; missing answers count as beyond all."""
    limits = [word for one in words for word in ("--limit", one)]
    assert main(["replay", str(recorded[0]), "--json", *limits]) == code
    out = capsys.readouterr().out
    if code != ERROR:
        assert json.loads(out)["exit"] == code


def test_replay_text(recorded: tuple[Path, dict[str, Any], str],
                     capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each line, and the verdict."""
    assert main(["replay", str(recorded[0])]) == PASS
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:6] == ["line", "triggers", "answered", "late", "missing", "strays"]
    assert len(lines) == 13 and lines[-1] == "measured: 2000 triggers, 11 lines"


def test_damaged(recorded: tuple[Path, dict[str, Any], str], tmp_path: Path,
                 capsys: pytest.CaptureFixture[str]) -> None:
    """A recording that is damaged in its middle is no result; it is not appended to either."""
    raw = bytearray(recorded[0].read_bytes())
    raw[len(raw) // 2] ^= 1
    path = tmp_path / "bad.scope"
    path.write_bytes(raw)
    assert main(["replay", str(path)]) == INCONCLUSIVE
    assert "damaged at byte" in capsys.readouterr().err
    assert main(["record", "--connect", "127.0.0.1:1", "-o", str(path)]) == INCONCLUSIVE
    assert path.read_bytes() == raw


def test_signal_ends_it_in_order(tmp_path: Path) -> None:
    """Early, and a result: the generator is stopped, all that was under way is there."""
    path = tmp_path / "a.scope"
    with simulated() as (where, _):
        with subprocess.Popen(
                [sys.executable, "-m", "isolator_scope", "record", "--connect", where, "-o",
                 str(path), "--json", "--frequency", "1000"], env=ENVIRONMENT, text=True,
                stdout=subprocess.PIPE) as run:
            wait_for_records(path)
            run.send_signal(signal.SIGTERM)
            out, _ = run.communicate(timeout=PATIENCE_S)
        assert run.returncode == PASS
        data = json.loads(out)
        assert data["early"] and data["parts"][0]["series"][0]["triggers"] > 0
        # Nothing runs there any more: the next run is not told that it is busy.
        again = subprocess.run(
            [sys.executable, "-m", "isolator_scope", "record", "--connect", where, "-n", "10",
             "-o", str(tmp_path / "b.scope"), "--json"], env=ENVIRONMENT, capture_output=True,
            text=True, timeout=PATIENCE_S)
        assert again.returncode == PASS, again.stderr + again.stdout[-300:]


def test_another_host_ends_it(tmp_path: Path) -> None:
    """It reports that there is no result and why, ends, and leaves the generator alone."""
    with simulated() as (where, _):
        with subprocess.Popen(
                [sys.executable, "-m", "isolator_scope", "record", "--connect", where, "-o",
                 str(tmp_path / "a.scope"), "--json", "--frequency", "1000"], env=ENVIRONMENT,
                text=True, stdout=subprocess.PIPE) as run:
            wait_for_records(tmp_path / "a.scope")
            plan = headless.Plan(Target(*address(where, 0)), tmp_path / "b.scope", seconds=0.1)
            asyncio.run(headless.record(plan))
            out, _ = run.communicate(timeout=PATIENCE_S)
        assert run.returncode == INCONCLUSIVE
        assert "another host took the generator" in json.loads(out)["words"]


def test_a_run_leaves_signals_as_they_were(tmp_path: Path) -> None:
    """A program that makes a run of its own has its own way to end."""
    def mine(*_: object) -> None:
        """Of the caller."""

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, mine) for number in numbers}
    try:
        with simulated() as (where, _):
            plan = headless.Plan(Target(*address(where, 0)), tmp_path / "a.scope", triggers=10)
            asyncio.run(headless.record(plan))
        assert [signal.getsignal(number) for number in numbers] == [mine, mine]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_triggers_that_are_open_at_the_end_are_waited_for(tmp_path: Path) -> None:
    """The generator says that it does not run long before it has closed the last of them."""
    with simulated("--missing", "1") as (where, _):
        # Long enough for some triggers even if the generator is held up as it is to stop.
        plan = headless.Plan(Target(*address(where, 0)), tmp_path / "a.scope", seconds=1.5,
                             settings=[SetFrequency(100_000), SetPatience(2_500_000_000)])
        outcome = asyncio.run(headless.record(plan))
    account = outcome.instrument.account
    assert not outcome.doubts and account.triggers > 20
    assert all(line.missing == account.triggers for line in account.lines)


def test_settings_that_are_not_taken_end_the_run(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a start or a calibration may find the generator busy: it would run with others."""
    command = Instrument.command

    async def busy(instrument: Instrument, message: Message) -> Ack:
        if isinstance(message, SetFrequency):
            return Ack(0, message.TYPE, Status.BUSY, "later")
        return await command(instrument, message)

    monkeypatch.setattr(Instrument, "command", busy)
    with simulated() as (where, _):
        plan = headless.Plan(Target(*address(where, 0)), tmp_path / "a.scope", triggers=10,
                             settings=[SetFrequency(100_000)])
        with pytest.raises(ScopeError, match="SetFrequency: the generator refused: later"):
            asyncio.run(headless.record(plan))


def wait_for_records(path: Path) -> None:
    """Until triggers are in the recording."""
    until(lambda: path.exists() and path.stat().st_size > 20_000, "nothing was recorded")


def test_generator_dies(tmp_path: Path) -> None:
    """What it had not sent is not known: no result, and it says so."""
    path = tmp_path / "a.scope"
    with simulated() as (where, generator), subprocess.Popen(
            [sys.executable, "-m", "isolator_scope", "record", "--connect", where, "-o", str(path),
             "--json", "--time", "4s", "--wait", "2s", "--frequency", "1000"], env=ENVIRONMENT,
            text=True, stdout=subprocess.PIPE) as run:
        wait_for_records(path)
        generator.kill()
        out, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == INCONCLUSIVE
    assert "was not stopped" in json.loads(out)["words"]


def test_killed_and_gone_on_with(tmp_path: Path) -> None:
    """kill -9 of the host in mid-run: the next one goes on, and the account is whole."""
    path = tmp_path / "a.scope"
    words = [sys.executable, "-m", "isolator_scope", "record", "-o", str(path), "--json"]
    with simulated("--missing", "0.01") as (where, _):
        with subprocess.Popen([*words, "--connect", where, "-n", "4000", "--frequency", "1000"],
                              env=ENVIRONMENT, stdout=subprocess.DEVNULL) as run:
            wait_for_records(path)
            run.kill()
        cut = path.stat().st_size
        done = subprocess.run([*words, "--connect", where, "--time", "5s"], env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=PATIENCE_S)
    assert path.stat().st_size > cut
    data = json.loads(done.stdout)
    # It was begun by the first one: the second only takes what comes.
    assert done.returncode == PASS, data["words"]
    assert all(row["triggers"] == 4000 for row in data["parts"][0]["series"])
    assert [entry.end for entry in Reader(path)][-1] == path.stat().st_size


def test_nothing_to_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the target's driver it is skipped; without a generator it is an error."""
    with simulated("--bare") as (where, _):
        done = subprocess.run([sys.executable, "-m", "isolator_scope", "record", "--connect", where,
                               "-o", str(tmp_path / "a.scope")], env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == SKIPPED and "load the target's driver" in done.stderr
    assert main(["record", "--connect", "127.0.0.1:1", "--wait", "1100ms", "-o",
                 str(tmp_path / "b.scope")]) == ERROR
    first, last = capsys.readouterr().err.splitlines()
    assert first == "isolator-scope: no generator at 127.0.0.1:1 yet: Connection refused; " \
        "trying for 1.1 s"
    assert "no generator at 127.0.0.1:1 within 1.1 s: Connection refused; start" in last


@pytest.mark.parametrize(("problem", "said"), [
    (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), "Connection refused"),
    (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), "
             "[Errno 111] Connect call failed ('127.0.0.1', 1)"), "Connection refused"),
    (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
    (TimeoutError(), "TimeoutError"), (ProtocolError("no frame"), "no frame")])
def test_reasons_are_the_systems(problem: Exception, said: str) -> None:
    """Not asyncio's words for them, nor an address that the message names already."""
    assert reason(problem) == said


def test_the_simulation_on_a_port_that_is_taken() -> None:
    """What failed, why and what helps, in one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run([sys.executable, "-m", "sim", "--port", str(port)], env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == ERROR and not done.stdout
    assert done.stderr == f"sim: cannot listen on 127.0.0.1:{port}: Address already in use; " \
        "name another port with --port, 0 for any that is free\n"


def test_refused(tmp_path: Path) -> None:
    """A setting that the generator does not take, or a mechanism that it has not."""
    with simulated() as (where, _):
        for words, said in ((["--burst", "900,10ms"], "shorter than half a period"),
                            (["--lines", "irq,nmi"], "no line nmi; there are irq, ")):
            done = subprocess.run(
                [sys.executable, "-m", "isolator_scope", "record", "--connect", where, "-n", "5",
                 "-o", str(tmp_path / "a.scope"), *words], env=ENVIRONMENT, capture_output=True,
                text=True, timeout=PATIENCE_S)
            assert done.returncode == ERROR and said in done.stderr


def test_a_mechanism_named_twice_is_one(tmp_path: Path) -> None:
    """Not the sum of its bits, which is another's."""
    with simulated() as (where, _):
        done = subprocess.run(
            [sys.executable, "-m", "isolator_scope", "record", "--connect", where, "-n", "20",
             "-o", str(tmp_path / "a.scope"), "--lines", "irq,irq", "--json"], env=ENVIRONMENT,
            capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == PASS, done.stderr
    rows = json.loads(done.stdout)["parts"][0]["series"]
    assert [row["name"].split()[0] for row in rows if row["triggers"]] == ["irq"]


@pytest.mark.parametrize("words", [
    [], ["show"], ["record"], ["record", "--connect", "a", "-o", "x", "--duty", "100"],
    ["record", "--connect", "a:b", "-o", "x"], ["record", "--connect", "", "-o", "x"],
    ["record", "--connect", "a", "-o", "x", "--time", "10"],
    ["record", "--connect", "a", "-o", "x", "--seed", "1", "--fixed"],
    ["record", "--connect", "a", "-o", "x", "--token-file", "/nonexistent"],
    ["replay"], ["replay", "/nonexistent"], ["replay", __file__],
    ["export", "x", "--format", "xml"],
    ["report", "/nonexistent", "-o", "-"], ["serve"],
    ["serve", "--connect", "a", "--replay", "b"],
])
def test_wrong_arguments(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, never argparse's own 2, which says that a limit is exceeded."""
    try:
        code: object = main(words)
    except SystemExit as done:
        code = done.code
    assert code == ERROR
    assert capsys.readouterr().err


def test_units() -> None:
    """Times, addresses, limits."""
    assert [duration(one) for one in ("5ns", "1.5us", "2 ms", "1s", "3m", "24h")] == [
        5, 1500, 2_000_000, 10**9, 180 * 10**9, 86_400 * 10**9]
    assert address("h", 7) == ("h", 7) and address("h:9", 7) == ("h", 9)
    assert address("[::1]:9", 7) == ("::1", 9) and address("::1", 7) == ("::1", 7)
    assert address("[::1]", 7) == ("::1", 7)
    assert limit("a/p99.9=1us").name == "a/p99.9" and limit("max=1us").name == "max"
    with pytest.raises(ScopeError):
        address("h:99999", 7)


@pytest.mark.parametrize(("content", "mode", "words"), [
    (b"", 0o600, "openssl rand"), (b"\nsecret\n", 0o600, "openssl rand"),
    (b"s" * 256, 0o600, "1 to 255"), (b"\xff\n", 0o600, "ASCII"),
    (b"secret\n", 0o644, "chmod 600"), (b"secret\n", 0o620, "chmod 600")])
def test_files_that_are_no_token(tmp_path: Path, content: bytes, mode: int, words: str) -> None:
    """It says what to do, as the generator does."""
    path = tmp_path / "token"
    path.write_bytes(content)
    path.chmod(mode)
    with pytest.raises(ScopeError, match=words):
        token(path)


def test_the_first_line_is_the_token(tmp_path: Path) -> None:
    """As it is for the generator, blanks and all."""
    path = tmp_path / "token"
    path.write_text(" s " + "\nmore\n")
    path.chmod(0o600)
    assert token(path) == " s " and token(None) == ""


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_has_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Which are commands of this program."""
    with pytest.raises(SystemExit) as done:
        main([name, "--help"])
    assert done.value.code == PASS
    assert f"examples:\n  isolator-scope {name} " in capsys.readouterr().out


def test_man_page_and_help_say_the_same() -> None:
    """Each command has its section, each option its line; none is there too many."""
    man = (ROOT / "scope/man/isolator-scope.1").read_text().replace("\\-", "-")
    assert set(commands()) == COMMANDS
    assert set(re.findall(r"^\.SS (\w+)$", man, re.MULTILINE)) == COMMANDS
    have = {option for one in [parser(), *commands().values()] for action in one._actions
            for option in action.option_strings}
    lines = [line for line in man.splitlines() if line.startswith((".B ", ".BI ", ".BR "))]
    assert have == set(re.findall(r"(?<![\w-])--?[A-Za-z][a-z-]*", "\n".join(lines)))


def test_launcher_and_package(tmp_path: Path) -> None:
    """tools/isolator-scope runs from anywhere; the package asks for what is pinned."""
    done = subprocess.run([ROOT / "tools/isolator-scope", "-V"], cwd=tmp_path,
                          capture_output=True, text=True, check=True)
    project = tomllib.loads((ROOT / "scope/pyproject.toml").read_text())["project"]
    assert done.stdout == f"isolator-scope {VERSION}\n" and project["version"] == VERSION
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$",
                             (ROOT / "tools/requirements.txt").read_text(), re.MULTILINE))
    for wanted in project["dependencies"]:
        name, _, least = wanted.partition(">=")
        if name != "isolator-report":
            assert [int(x) for x in pinned[name].split(".")[:2]] >= [
                int(x) for x in least.split(".")]
