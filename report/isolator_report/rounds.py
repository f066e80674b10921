# SPDX-License-Identifier: GPL-2.0-or-later
"""Run two commands in turns and keep what each of them measured."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from . import terminal
from .compare import Invalid
from .document import Result, load, parse
from .errors import EXCEEDED, INCONCLUSIVE, PASS, ReportError

ORDERS = ("ABBA", "BAAB")  # in turns: whatever follows what is the same for both
PLACE = "{}"


def _stop(process: subprocess.Popen[str]) -> None:
    """End what was started, first politely: it may have settings to restore."""
    for number, seconds in ((signal.SIGINT, 10), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                continue


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _start(words: list[str]) -> subprocess.Popen[str]:
    """In a group of its own, which is ended as a whole."""
    try:
        return subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                text=True, process_group=0)
    except OSError as problem:
        raise ReportError(f"{words[0]}: {problem.strerror}") from problem


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """What would end this program does so behind it: not between a start and its being known."""
    came: list[int] = []
    before = {number: signal.signal(number, lambda one, _: came.append(one))
              for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def measure(command: str, seconds: float, scratch: Path) -> tuple[Result, str]:
    """Run it once: its document, and that as text.

    The document is its standard output, or the file whose name stands where the command
    has {}.  Whatever ends this program ends the command first.
    """
    path = scratch / "result.json"
    path.unlink(missing_ok=True)
    try:
        words = [word.replace(PLACE, str(path)) for word in shlex.split(command)]
    except ValueError as problem:
        raise ReportError(f"compare: {command}: {problem}") from problem
    if not words:
        raise ReportError("compare: a command of --run is empty")
    process = None
    try:
        with _held_back():
            process = _start(words)
        text, _ = process.communicate(timeout=seconds)
    except UnicodeDecodeError as problem:
        raise ReportError(f"{command}: what it printed is not text") from problem
    except subprocess.TimeoutExpired as problem:
        raise ReportError(f"{command}: had not ended after {seconds:g} s; see --timeout") \
            from problem
    finally:
        if process:
            _stop(process)
    if process.returncode == INCONCLUSIVE:
        raise Invalid(f"invalid: {command}: its result is invalid or inconclusive (exit 3)")
    if process.returncode not in (PASS, EXCEEDED):
        raise ReportError(f"{command}: failed (exit {process.returncode}), see above")
    if PLACE in command:
        result = load(path)
        return result, path.read_text()
    return parse(text, command), text


def interleave(first: str, second: str, rounds: int, seconds: float,
               keep: Path | None) -> tuple[list[Result], list[Result]]:
    """ABBA, BAAB, ABBA and so on: `rounds` of them, each of four runs.

    With `keep` each document is kept as KEEP/a/NNNN.json or KEEP/b/NNNN.json.
    """
    for deadly in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(deadly, _interrupt)
    found: dict[str, list[Result]] = {"A": [], "B": []}
    if keep is not None:
        for side in "ab":
            try:
                (keep / side).mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise ReportError(f"{keep / side}: {problem.strerror}") from problem
            if any((keep / side).glob("*.json")):
                raise ReportError(f"{keep / side} has results already: choose another directory")
    done = 0
    with tempfile.TemporaryDirectory(prefix="isolator-report-") as scratch:
        for number in range(rounds):
            for label in ORDERS[number % 2]:
                result, text = measure(first if label == "A" else second, seconds, Path(scratch))
                found[label].append(result)
                done += 1
                if keep is not None:
                    (keep / label.lower() / f"{done:04d}.json").write_text(text)
            if sys.stderr.isatty():
                terminal.progress(f"{number + 1} of {rounds} rounds")
    if sys.stderr.isatty():
        terminal.progress("")
    return found["A"], found["B"]
