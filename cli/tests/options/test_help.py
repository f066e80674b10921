# SPDX-License-Identifier: GPL-2.0-or-later
"""What --help says: short enough to be read, and of every command."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from clitest import CLI, valid

ROWS, COLUMNS = 40, 80  # of a terminal, as it opens


def _help(isolator: Path, *arguments: str) -> str:
    done = subprocess.run([isolator, *arguments, "--help"], capture_output=True, text=True,
                          check=True)
    assert not done.stderr
    return done.stdout


def _fits(text: str) -> None:
    lines = text.splitlines()
    assert len(lines) <= ROWS
    assert max(map(len, lines)) <= COLUMNS


def test_program(isolator: Path) -> None:
    """Each subcommand in one line, below what it is for."""
    text = _help(isolator)
    _fits(text)
    groups = dict(re.findall(r"^(\w[^\n]*):\n((?:  .*\n)+)", text, re.MULTILINE))
    assert list(groups) == [
        "look at a machine", "make CPUs quiet", "while a CPU is isolated", "set up", "test",
        "options"]
    found = [line.split()[0] for name, lines in groups.items() if name != "options"
             for line in lines.splitlines()]
    pages = {page.stem.removeprefix("isolator-") for page in
             (CLI / "man").glob("isolator-*.1")}
    assert sorted(found) == sorted([*pages, "completion", "help"])


def _commands() -> list[str]:
    return [page.stem.removeprefix("isolator-") for page in
            sorted((CLI / "man").glob("isolator-*.1"))]


def _kinds(isolator: Path, command: str) -> list[str]:
    """What measure measures, and what shield does."""
    usage = _help(isolator, command).split("\n", 1)[0]
    words = re.fullmatch(r"usage: isolator \w+ ([a-z|]+) \[OPTION \.\.\.\]", usage)
    return words[1].split("|") if words else []


@pytest.mark.parametrize("command", [*_commands(), "completion", "help"])
def test_command(isolator: Path, command: str) -> None:
    """Each fits, and each kind of it; the rest is in --help-all and in the manual."""
    kinds = _kinds(isolator, command)
    assert bool(kinds) == (command in ("measure", "shield"))
    for arguments in [[command], *([command, kind] for kind in kinds)]:
        text = _help(isolator, *arguments)
        _fits(text)
        assert text.startswith(f"usage: isolator {' '.join(arguments)} ")
        done = subprocess.run([isolator, "help", *arguments], capture_output=True, text=True,
                              check=True)
        assert done.stdout == text
        whole = subprocess.run([isolator, *arguments, "--help-all"], capture_output=True,
                               text=True, check=False)
        more = f"isolator-{command}(1) and --help-all have all options."
        assert (more in text) == (not whole.returncode)
        if more in text:
            assert set(_options(text)) < set(_options(whole.stdout))
            assert more not in whole.stdout


def _options(text: str) -> list[str]:
    return re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)


def test_kinds(isolator: Path) -> None:
    """Each has its own options, and takes no others."""
    lists = {kind: set(_options(_help(isolator, "measure", kind)))
             for kind in _kinds(isolator, "measure")}
    assert "--period" in lists["latency"] and "--period" not in lists["noise"]
    assert "--threshold" in lists["noise"] and "--threshold" not in lists["latency"]
    assert "--width" in lists["hardware"] and "--why" not in lists["hardware"]
    done = subprocess.run([isolator, "measure", "--late", "missing", "noise"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == ("isolator measure: --late is for latency, not for noise;"
                           " see isolator measure noise --help\n")


@pytest.mark.parametrize(("arguments", "says"), [
    (["stats"], 'unknown command "stats"; did you mean isolator status?'),
    (["version"], 'unknown command "version"; did you mean isolator --version?'),
    (["bogus"], 'unknown command "bogus"; see isolator --help'),
    (["audit", "--jsno"], "unknown option --jsno; did you mean --json?"),
    (["audit", "--bogus"], "unknown option --bogus; see isolator audit --help"),
    (["status", "--c", "1"], "--c is ambiguous: --cpu, --count"),
    (["detach"], "missing argument TID; see isolator detach --help"),
    (["detach", "1", "foo"], 'unexpected argument "foo"; see isolator detach --help'),
    (["shield", "set", "--processes"],
     "missing argument of --processes: CPUS; see isolator shield set --help"),
    (["run", "-c"], "missing argument of -c: CPUS; see isolator run --help"),
    (["watch", "--int"], "missing argument of --interval: TIME; see isolator watch --help"),
    (["watch", "--json=1"], "--json takes no argument; see isolator watch --help"),
    (["shield", "shwo"], 'unknown argument "shwo"; did you mean show?'),
])
def test_typing_mistakes(isolator: Path, arguments: list[str], says: str) -> None:
    """Each says what is right, or where to look."""
    done = subprocess.run([isolator, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == (125 if arguments[0] == "run" else 1) and not done.stdout
    assert done.stderr.split(": ", 1)[1] == says + "\n"


@pytest.mark.parametrize("arguments", [
    ["status"], ["why"], ["audit"], ["prove"], ["watch", "-n", "1"], ["run"], ["attach", "1"],
    ["measure", "latency"], ["interfere", "cache"]])
def test_absent_cpu(isolator: Path, arguments: list[str]) -> None:
    """A CPU that is not there gets one answer."""
    online = Path("/sys/devices/system/cpu/online").read_text().strip()
    program = ["true"] if arguments == ["run"] else []
    done = subprocess.run([isolator, *arguments, "-c", "8000", *program], capture_output=True,
                          text=True, check=False)
    assert done.returncode == (125 if arguments == ["run"] else 1) and not done.stdout
    assert f": -c: 8000 not online; online are {online}\n" in done.stderr


def test_option_as_typed(isolator: Path) -> None:
    """A message names the option by its letter or its name, the last that was typed."""
    for typed, says in ((["-c", "x"], "-c"), (["--cpu", "x"], "--cpu"), (["--cp=x"], "--cpu"),
                        (["-c", "0", "--cpu", "8000"], "--cpu"), (["--cpu", "0", "-c8000"], "-c"),
                        (["-c", "0", "-t", "x"], "-t"), (["--time", "x"], "--time")):
        done = subprocess.run([isolator, "prove", *typed], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 1 and done.stderr.startswith(f"isolator prove: {says}: ")


@pytest.mark.parametrize("command", _commands())
def test_examples_of_the_short_help(isolator: Path, command: str) -> None:
    """They use only what it lists, and name the unit of each time."""
    for arguments in [[command], *([command, kind] for kind in _kinds(isolator, command))]:
        text = _help(isolator, *arguments)
        listed = set(re.findall(r"(?<=[ ,])--?[a-z][a-z-]*", text.split("\nexamples:")[0]))
        own = " ".join(["isolator", *arguments])
        for line in re.findall(rf"^  (?:sudo )?{own}( .*)$", text, re.MULTILINE):
            typed = set(re.findall(r"(?<= )--?[a-z][a-z-]*", line.split(" -- ")[0]))
            if len(arguments) == 2 or not _kinds(isolator, command):
                assert typed <= listed, line


@pytest.mark.parametrize("command", _commands())
def test_units(isolator: Path, command: str) -> None:
    """An example names the unit of each time."""
    for kind in [[], *([kind] for kind in _kinds(isolator, command))]:
        done = subprocess.run([isolator, command, *kind, "--help-all"], capture_output=True,
                              text=True, check=False)
        text = done.stdout or _help(isolator, command, *kind)
        times = re.findall(r"^  (?:(-\w), )?(--[a-z-]+) TIME", text, re.MULTILINE)
        for option in {word for pair in times for word in pair if word}:
            bare = rf"^  (?:sudo )?isolator .* {option}[ =](?!0[ \n])[\d.]+(?: .*)?$"
            assert not re.search(bare, text, re.MULTILINE), f"{option} without a unit"


@pytest.mark.parametrize("arguments", [
    ["audit", "--root", "-"], ["watch", "--root", "-"], ["status", "--proc", "-"],
    ["run", "-c", "0", "--preload", "-", "true"], ["measure", "noise", "--with", "-"]])
def test_no_standard_input(isolator: Path, arguments: list[str]) -> None:
    """Where - is no standard input or output it is refused."""
    done = subprocess.run([isolator, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in (1, 125) and not done.stdout
    assert "standard input and output (-) are not possible here" in done.stderr


@pytest.mark.parametrize("arguments", [
    ["status"], ["why"], ["attach", "999999999", "-c", "0"]])
def test_failure_as_json(isolator: Path, tmp_path: Path, arguments: list[str]) -> None:
    """Without Isolator, or with a wrong word, the exit code is an error's, and there is JSON."""
    where = ["--proc", str(tmp_path / "none")] if arguments[0] != "attach" else []
    done = subprocess.run([isolator, *arguments, "--json", *where], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1
    document = valid(arguments[0], done.stdout)
    assert done.stderr == f"isolator {arguments[0]}: {document['error']}\n"


def test_version(isolator: Path) -> None:
    """-V is --version."""
    texts = {subprocess.run([isolator, option], capture_output=True, text=True,
                            check=True).stdout for option in ("-V", "--version")}
    assert len(texts) == 1 and re.fullmatch(r"isolator \d+\.\d+\.\d+\n", texts.pop())


@pytest.mark.parametrize("arguments", [[], ["bogus"]])
def test_wrong(isolator: Path, arguments: list[str]) -> None:
    """Without a subcommand the same text goes to stderr."""
    done = subprocess.run([isolator, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stdout
    assert (done.stderr == _help(isolator)) == (not arguments)
