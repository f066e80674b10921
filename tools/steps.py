# SPDX-License-Identifier: GPL-2.0-or-later
"""Run named steps one after another, keep each one's log, count what they say.

A step is a command.  How its result is counted is part of the step:

exit   one check: exit code 0 passed, 77 skipped, anything else failed
line   the last output line of the form `N passed, N failed[, N skipped]`
tap    TAP: lines `ok`, `not ok`, `ok ... # SKIP reason`
junit  the JUnit XML file that the command writes

A step that exits with another code than 0 or 77 counts at least one failure,
and so does one that counts nothing: silence is not success.
"""

import argparse
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, TextIO

from child import Child

ROOT = Path(__file__).resolve().parent.parent
INCONCLUSIVE, SKIPPED = 3, 77
VERSION = 3  # of the results' schema; what an earlier one wrote is not gone on with
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$")
TAP = re.compile(r"^(not )?ok\b(.*)$")
HEARTBEAT_S = 30.0
NAME_WIDTH = 18  # columns of a step's name; a longer one moves what follows
FAILED_LINES = 80  # of the log of a step that failed: who reads it may have no more
RECAP = "failed: "  # a line of the lab that begins so begins its recap of what failed
# A line that names what failed, or why nothing can be said.
BROKEN = re.compile(rf"^({RECAP}|does not hold: |inconclusive: |no result: |not ok\b)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
BROKEN_NAMES = 20  # of one step: who reads more reads its log


class Parser(argparse.ArgumentParser):
    """Wrong arguments are an error, 1; argparse's own 2 says that a threshold was exceeded."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


@dataclass(frozen=True)
class Step:
    """One command and how to count it; `minutes` is its time limit.

    `beside`: it may run while other steps do (lanes.py); `waits`: it does little else, none
    waits for it; `through`: steps of later stretches begin beside it, too, and those that have
    this run one after another; `needed`: it has failed where all of it was skipped.
    """

    name: str
    about: str
    command: list[str]
    group: str
    count: str = "exit"
    junit: str = ""
    minutes: float = 5.0
    environment: dict[str, str] = field(default_factory=dict)
    beside: bool = False
    waits: bool = False
    through: bool = False
    needed: bool = False


@dataclass
class Result:
    """What one step of `group` came to.

    `cpu_s` is what it computed, on however many CPUs; `commit` is what was checked out when it
    began, with a + where the tree differed from that; `ended` is when it ended, in UTC; `broken`
    names what failed, the first BROKEN_NAMES.
    """

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    exit: int = 0
    note: str = ""
    group: str = ""
    commit: str = ""
    ended: str = ""
    broken: list[str] = field(default_factory=list)


def count_line(lines: list[str]) -> tuple[int, int, int]:
    """Counts of the last closing line; all 0 when there is none."""
    for line in reversed(lines):
        match = COUNTS.match(line)
        if match:
            return int(match[1]), int(match[2]), int(match[3] or 0)
    return 0, 0, 0


def count_tap(lines: list[str]) -> tuple[int, int, int]:
    """Counts of TAP lines; a plan that was not fulfilled adds failures."""
    passed = failed = skipped = planned = 0
    for line in lines:
        plan = re.match(r"^1\.\.(\d+)", line)
        match = TAP.match(line)
        if plan:
            planned += int(plan[1])
        elif match and match[1]:
            failed += 1
        elif match and re.search(r"#\s*skip\b", match[2], re.IGNORECASE):
            skipped += 1
        elif match:
            passed += 1
    return passed, failed + max(0, planned - passed - failed - skipped), skipped


def _why(case: ElementTree.Element) -> ElementTree.Element | None:
    """What a test of a JUnit file that failed says of it; None: it did not fail."""
    said = case.find("failure")
    return case.find("error") if said is None else said


def _cases(path: Path) -> list[ElementTree.Element]:
    """The tests of a JUnit file; none where it was not written, or not to its end."""
    try:
        return list(ElementTree.parse(path).iter("testcase"))
    except (FileNotFoundError, ElementTree.ParseError):
        return []


def count_junit(path: Path) -> tuple[int, int, int]:
    """Counts of a JUnit file; all 0 when it was not written."""
    passed = failed = skipped = 0
    for case in _cases(path):
        if _why(case) is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def broken_junit(path: Path) -> list[str]:
    """Tests of a JUnit file that failed, each with the first line of what it said."""
    found = []
    for case in _cases(path):
        if (said := _why(case)) is not None:
            place = "::".join(filter(None, (case.get("classname"), case.get("name"))))
            found.append(": ".join([place, *said.get("message", "").strip().splitlines()[:1]]))
    return found


def tally(step: Step, code: int, lines: list[str]) -> Result:
    """The result of a step that ended with `code` after printing `lines`."""
    result = Result(step.name, exit=code, group=step.group)
    if step.count == "exit":
        result.passed = int(code == 0)
        result.skipped = int(code == SKIPPED)
        result.failed = int(code not in (0, SKIPPED))
    elif step.count == "line":
        result.passed, result.failed, result.skipped = count_line(lines)
    elif step.count == "tap":
        result.passed, result.failed, result.skipped = count_tap(lines)
    elif step.count == "junit":
        result.passed, result.failed, result.skipped = count_junit(ROOT / step.junit)
    else:
        raise ValueError(f"step {step.name}: no way of counting is called {step.count}")
    total = result.passed + result.failed + result.skipped
    if code == SKIPPED and total == 0:
        result.skipped = 1
    elif code not in (0, SKIPPED if result.passed == 0 else 0) and result.failed == 0:
        result.failed = 1
        result.note = f"exit code {code}"
    elif total == 0:
        result.failed = 1
        result.note = "it ran no test"
    if step.needed and not result.passed and not result.failed:
        result.failed = 1
        result.note = "all of it was skipped"
    if result.failed:
        names = (broken_junit(ROOT / step.junit) if step.count == "junit" else
                 [text for text in (COLOUR.sub("", line) for line in lines) if BROKEN.match(text)])
        result.broken = [name[:200] for name in names[:BROKEN_NAMES]]
    return result


class Progress:
    """One line a step; on a terminal it is redrawn, else repeated now and then."""

    def __init__(self, out: TextIO, label: str) -> None:
        self.out = out
        self.label = label
        self.start = self.said = time.monotonic()
        self.terminal = out.isatty()

    def beat(self, last: str) -> None:
        """Say that the step still runs, and what it said last."""
        now = time.monotonic()
        if now - self.said < (1.0 if self.terminal else HEARTBEAT_S):
            return
        self.said = now
        text = f"  {self.label}: {now - self.start:.0f} s: {last.strip()[:90]}"
        self.out.write(f"\r\033[K{text}" if self.terminal else f"{text}\n")
        self.out.flush()

    def end(self, text: str) -> None:
        """Replace the running line by the final one."""
        self.out.write(f"\r\033[K{text}\n" if self.terminal else f"{text}\n")
        self.out.flush()


def read_tail(path: Path, offset: int) -> tuple[str, int]:
    """The last line of what `path` holds beyond `offset`, and the new offset."""
    with path.open("rb") as log:
        log.seek(offset)
        text = log.read().decode(errors="replace")
        position = log.tell()
    lines = [line for line in re.split(r"[\r\n]+", text) if line.strip()]
    return (lines[-1] if lines else ""), position


def select(steps: list[Step], names: Sequence[str], program: str,
           groups: Sequence[str] = ()) -> list[Step]:
    """The steps asked for, in their order; all without a wish."""
    unknown = [name for name in names if name not in {step.name for step in steps}]
    if unknown:
        sys.exit(f"{program}: no step {', '.join(unknown)}; see tools/{program} --list")
    if not names and not groups:
        return steps
    return [step for step in steps if step.name in names or step.group in groups]


def end_on_sigterm() -> None:
    """Let SIGTERM end this program as Ctrl-C does: with what it has started."""
    def leave(*_: object) -> None:
        sys.exit(128 + signal.SIGTERM)
    signal.signal(signal.SIGTERM, leave)


def checked_out() -> str:
    """The commit of the tree, with a + where it was changed; empty where git knows none."""
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True,
                              check=True).stdout.strip()
    try:
        return git("rev-parse", "--short", "HEAD") + "+" * bool(git("status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return ""


def counts(result: Result) -> str:
    """What passed, failed and was skipped, in words."""
    skipped = f", {result.skipped} skipped" if result.skipped else ""
    return f"{result.passed} passed, {result.failed} failed{skipped}"


def verdict_line(result: Result) -> str:
    """A step's result in one line."""
    verdict = "FAILED" if result.failed else "skipped" if not result.passed else "ok"
    note = f" ({result.note})" if result.note else ""
    return f"{verdict:8}{result.name:{NAME_WIDTH}} {counts(result):34}{result.seconds:7.1f} s{note}"


def failed_lines(lines: list[str]) -> list[str]:
    """What of a failed step's log is shown: from the recap on, else the end."""
    for number, line in enumerate(lines):
        if line.startswith(RECAP):
            return lines[number:number + FAILED_LINES]
    return lines[-FAILED_LINES:]


def run_step(step: Step, log: Path, limit_s: float | None, out: TextIO,
             stop: threading.Event | None = None) -> Result:
    """Run one step until its end, `limit_s` or `stop`, with its output in `log`."""
    commit = checked_out()
    environment = {**os.environ, **step.environment}
    progress = Progress(out, step.name)
    last, offset, timed_out = "", 0, False
    start = time.monotonic()
    if step.junit:
        (ROOT / step.junit).unlink(missing_ok=True)  # what an earlier run left is not this one's
    with log.open("wb") as sink:
        sink.write(f"$ {' '.join(step.command)}\n".encode())
        sink.flush()
        child = Child(step.command, ROOT, environment, sink)
        try:
            child.start()
            while child.running():
                time.sleep(0.2)
                tail, offset = read_tail(log, offset)
                last = tail or last
                progress.beat(last)
                timed_out = limit_s is not None and time.monotonic() - start > limit_s
                if timed_out or (stop and stop.is_set()):
                    child.end()
        except OSError as error:
            sink.write(f"{error}\n".encode())
            return Result(step.name, failed=1, exit=1, note=str(error), group=step.group,
                          commit=commit)
        finally:
            child.end()
    lines = log.read_text(errors="replace").splitlines()
    # One that SIGKILL does not end within its patience has no code.
    result = tally(step, -signal.SIGKILL if child.code is None else child.code, lines)
    result.seconds, result.cpu_s = round(time.monotonic() - start, 1), child.cpu_s
    result.commit = commit
    result.ended = datetime.now(UTC).isoformat(timespec="seconds")
    if timed_out and limit_s is not None:
        result.failed = max(result.failed, 1)
        result.note = f"stopped after {limit_s / 60:.0f} minutes"
    text = verdict_line(result)
    if result.failed or not result.passed:
        text += "".join(f"\n        | {line}" for line in failed_lines(lines))
        text += f"\n        full log: {log.relative_to(ROOT)}"
    progress.end(text)
    return result


def load_done(state: Path | None) -> dict[str, Result]:
    """Steps that an earlier, interrupted run has finished."""
    if state is None or not state.is_file():
        return {}
    document = json.loads(state.read_text())
    if document["version"] != VERSION:
        print(f"{state} is of another version: all steps run again", file=sys.stderr)
        return {}
    return {entry["name"]: Result(**entry) for entry in document["steps"]}


def save(path: Path, results: list[Result]) -> None:
    """Write the results, whole or not at all."""
    document = {"schema": "isolator-steps", "version": VERSION,
                "steps": [asdict(result) for result in results]}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(document, indent=2) + "\n")
    temporary.replace(path)


def add(state: Path, result: Result) -> None:
    """To what others have in it, of whom another sitting may be at work right now."""
    state.parent.mkdir(parents=True, exist_ok=True)
    with open(state.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        save(state, list({**load_done(state), result.name: result}.values()))


def run_steps(steps: list[Step], results_dir: Path, minutes: float,
              state: Path | None = None, out: TextIO = sys.stdout, whole: bool = True) -> int:
    """Run `steps` within `minutes`; exit code 0 when nothing failed, 3 if steps are left.

    With `state`, steps that passed in an earlier run are not run again, and a
    step that no time is left for waits for the next run instead of failing.  One
    of which all was skipped has shown nothing: it is run again.  A `whole` run
    leaves its transcript, for README.md.
    """
    results_dir.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + minutes * 60
    done = load_done(state)
    results: list[Result] = []
    old = left = 0
    for step in steps:
        earlier = done.get(step.name)
        if earlier is not None and earlier.failed == 0 and earlier.passed:
            results.append(earlier)
            old += earlier.passed
            out.write(f"{'done':8}{step.name:{NAME_WIDTH}} in an earlier run, at "
                      f"{earlier.commit}\n")
            continue
        remaining = deadline - time.monotonic()
        if state is not None and remaining < 60:
            left += 1
            out.write(f"{'left':8}{step.name:{NAME_WIDTH}} for the next run: no time left\n")
            continue
        out.write(f"{'...':8}{step.name:{NAME_WIDTH}} {step.about}\n")
        out.flush()
        # With a state the time says when to begin no other step: one that was
        # cut short would count as failed and have to be run again.
        limit = step.minutes * 60 if state else min(step.minutes * 60, max(remaining, 1.0))
        result = run_step(step, results_dir / f"{step.name}.log", limit, out)
        results.append(result)
        if state is not None:
            add(state, result)
    if left:
        out.write(f"{left} steps left: run the same command again to go on\n")
    if old:
        out.write(f"of what follows, {old} passed in earlier runs, at the commits named above\n")
    code = conclude(results, results_dir, out, whole and not left)
    return code or (INCONCLUSIVE if left else 0)


def conclude(results: list[Result], results_dir: Path, out: TextIO, whole: bool) -> int:
    """Write and say what the steps came to; exit code 0 when nothing failed."""
    save(results_dir / "result.json", results)
    passed = sum(result.passed for result in results)
    failed = sum(result.failed for result in results)
    skipped = sum(result.skipped for result in results)
    closing = counts(Result("", passed, failed, skipped))
    if whole:
        (results_dir / "transcript.txt").write_text(
            "".join(f"{verdict_line(result)}\n" for result in results) + f"{closing}\n")
    guests = sum(result.passed for result in results if result.group == "guest")
    out.write(f"passed in guests: {guests}, on the host: {passed - guests}; CPU time: "
              f"{sum(result.cpu_s for result in results) / 60:.0f} min\n")
    # Again, at the end: of a long output who reads it may have the end only.
    for result in results:
        if result.failed:
            out.write(f"{verdict_line(result)}\n")
            out.writelines(f"        | {name}\n" for name in result.broken)
    out.write(f"{closing}\n")
    return 1 if failed else 0
