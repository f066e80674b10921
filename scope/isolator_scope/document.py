# SPDX-License-Identifier: GPL-2.0-or-later
"""An account as a result document, as isolator measure writes them and isolator-report reads."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from isolator_report import build
from isolator_report.document import Result, stamp

from .account import Account
from .errors import ScopeError
from .runs import Line, Run

NS = 1_000_000_000
LONGEST = 1 << 62  # ns
UNITS = {"ns": 1, "us": 1000, "µs": 1000, "ms": 1_000_000, "s": NS}


@dataclass(frozen=True)
class About:
    """What only the caller knows of the target."""

    kernel: str | None = None
    cpu: int | None = None
    load: str | None = None
    early: bool = False
    asked: tuple[tuple[str, str], ...] = ()  # settings: name, value
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Limit:
    """Of one line, or of all: the maximum, or a percentile."""

    line: str | None
    percent: float | None  # None: the maximum
    ns: int

    @property
    def name(self) -> str:
        """As in a document's limits."""
        what = "max" if self.percent is None else f"p{self.percent:g}"
        return what if self.line is None else f"{self.line}/{what}"


def duration(words: str) -> int:
    """10us, 5 ms, 1.5s: in ns."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s|m|h)", words.strip())
    if match is None:
        raise ScopeError(f"{words}: not a time; say 500ns, 50us, 5ms, 10s, 3m or 24h")
    found = float(match[1]) * {**UNITS, "m": 60 * NS, "h": 3600 * NS}[match[2]]
    if found >= LONGEST:
        raise ScopeError(f"{words}: longer than a clock can count; say 24h")
    return int(found)


def limit(words: str) -> Limit:
    """[LINE/]max=TIME or [LINE/]pN=TIME."""
    match = re.fullmatch(r"(?:([^/=]+)/)?(max|p(\d+(?:\.\d+)?))=(.+)", words)
    if match is None or (match[3] and not 0 < float(match[3]) < 100):
        raise ScopeError(f"{words}: not a limit; say max=1ms, p99.9=50us or irq/max=100us")
    return Limit(match[1], float(match[3]) if match[3] else None, duration(match[4]))


def titles(lines: Sequence[Line]) -> list[str]:
    """A name for each line, none twice, whatever the generator says."""
    found: list[str] = []
    for number, line in enumerate(lines):
        name = line.name or f"line {number}"
        found.append(name if name not in found else f"{name} ({number})")
    return found


def _judged_limits(run: Run, limits: Sequence[Limit]) -> list[dict[str, Any]]:
    names = titles(run.lines)
    rows = []
    patience = run.state.patience_ns if run.state is not None else 0
    for one in limits:
        if one.line is not None and one.line not in names:
            raise ScopeError(f"--limit {one.name}: there is no line {one.line}; there are "
                             + ", ".join(names))
        lines = [line for name, line in zip(names, run.lines, strict=True)
                 if one.line in (None, name) and line.triggers]
        worst: int | None = 0 if lines else None
        said = "held" if lines else "cannot say"
        for line in lines:
            missing = line.missing
            value = line.values.percentiles((one.percent,), missing)[0] \
                if one.percent is not None else line.values.most if not missing else None
            # One that never came took longer than the generator waits for it.
            beyond = value is None and missing > 0
            if line.values.most > one.ns and one.percent is None:
                value = line.values.most
            if value is None:
                sure = beyond and patience >= one.ns and (
                    one.percent is None
                    or missing >= line.triggers * (1 - one.percent / 100))
                said = "exceeded" if sure or said == "exceeded" else "cannot say"
                worst = None
            else:
                said = "exceeded" if value > one.ns else said
                worst = max(worst, value) if worst is not None else None
        rows.append({"name": one.name, "limit_ns": one.ns, "hard": True, "value_ns": worst,
                     "result": said})
    return rows


def _settings(account: Account, run: Run, about: About) -> list[dict[str, Any]]:
    state, asked = run.state, dict(about.asked)
    read = {} if state is None else {
        "frequency": f"{state.millihertz / 1000:g} Hz", "duty": f"{state.duty_ppm / 1e4:g} %",
        "packet": f"{state.packet_records} records",
        "phase": f"random, seed {state.seed}" if state.phase_mode else "fixed",
        "burst": f"{state.burst} triggers, {state.gap_ns} ns apart",
        "patience": f"{state.patience_ns} ns"}
    rows = [build.setting(name, read.get(name), asked=asked.pop(name, None))
            for name in ("frequency", "duty", "packet", "phase", "burst", "patience")]
    rows += [build.setting(name, None, asked=value) for name, value in asked.items()]
    floor = account.floor
    if floor is not None and floor.rounds:
        rows.append(build.setting(
            "generator", f"{floor.rounds} rounds: loop-back p50 {floor.loopback_p50_ns} ns, p99 "
            f"{floor.loopback_p99_ns} ns, max {floor.loopback_max_ns} ns; its triggers late by "
            f"p50 {floor.jitter_p50_ns} ns, p99 {floor.jitter_p99_ns} ns, max "
            f"{floor.jitter_max_ns} ns"))
    else:
        rows.append(build.setting("generator", None, "its floor was not measured: calibrate it"))
    rows.append(build.setting("jitter", f"{run.worst_jitter} ns",
                              "the most that a trigger of this run was late"))
    if run.name:
        rows.append(build.setting("run", run.name, run.why or None))
    for name, line in zip(titles(run.lines), run.lines, strict=True):
        if line.triggers or line.strays:
            rows.append(build.setting(
                f"line {name}" if line.name else name,
                f"answered {line.answered}, late {line.late}, missing {line.missing}, strays "
                f"{line.strays}, unsure {line.unsure}"))
    return rows


def _series(run: Run, cpu: int | None) -> list[dict[str, Any]]:
    began = run.began or 0
    rows = []
    for name, line in zip(titles(run.lines), run.lines, strict=True):
        values = line.values
        if not line.triggers:
            continue
        top = [{"value_ns": ns, "trigger": trigger, "at": stamp(began + since + ns),
                "monotonic_ns": at + ns, "outlier": None}
               for ns, trigger, at, since in values.largest()]
        rows.append(build.series(
            name, cpu, values.histogram(), triggers=line.triggers + run.lost,
            overflow=values.overflow, missing=line.missing,
            least=values.least if values.count else None,
            most=values.most if values.count else None, mean=values.mean,
            timeline=values.timeline.rows(), top=top))
    return rows


def _verdict(run: Run, doubts: Sequence[str], judged: Sequence[dict[str, Any]],
             settings: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """A word, and what it rests on."""
    unheld = [row["name"] for row in settings if not row["held"]]
    if doubts:
        return "invalid", "; ".join(doubts)
    if not run.triggers:
        return "inconclusive", "there was no trigger"
    if unheld:
        return "invalid", f"the generator did not take {', '.join(unheld)}"
    if beyond := [row["name"] for row in judged if row["result"] == "exceeded"]:
        return "exceeded", ", ".join(beyond)
    if any(row["result"] == "cannot say" for row in judged):
        return "inconclusive", "too few answers for a limit"
    there = sum(1 for line in run.lines if line.triggers)
    return "passed" if judged else "measured", f"{run.triggers} triggers, {there} lines"


def document(account: Account, limits: Sequence[Limit] = (), about: About | None = None,
             running: bool = False, run: Run | None = None) -> Result:
    """A checked document of one run, the last if none is given.

    Its verdict says what may be concluded.
    """
    about, run = about or About(), run or account.run
    judged = _judged_limits(run, limits)
    settings = _settings(account, run, about)
    began = run.began or time.time_ns()
    seconds = max(run.ended - began, 0) / NS if run.triggers else 0.0
    verdict, words = ("running", "written while it measured") if running else _verdict(
        run, [*account.doubts(), *about.doubts], judged, settings)
    words = f"{verdict}: {words}"
    floor, welcome, state = account.floor, account.welcome, run.state
    known = floor is not None and floor.rounds
    resolution = floor.resolution_ns if floor is not None and floor.rounds else \
        welcome.resolution_ns if welcome is not None else 0
    least = floor.loopback_p50_ns if floor is not None and known else 0
    phase: tuple[str, int | None] = ("none", None)
    if state is not None:
        phase = ("random", min(state.seed, 2**63 - 1)) if state.phase_mode else ("fixed", None)
    name = "loaded" if about.load else "quiet"
    return build.document(
        measure="latency", method="external", verdict=verdict, words=words,
        identifier=build.identity("scope", str(welcome.session if welcome else 0), str(began)),
        kernel=about.kernel or "not known", began=stamp(began), seconds=seconds,
        early=about.early, settings=settings, phase=phase, clock="external",
        note="the generator's own clock" + (
            "; the least of its loop-back is not known, its p50 stands for it" if known else
            "; its floor was not measured"),
        resolution=float(resolution),
        floor=(least, least, floor.loopback_max_ns if floor is not None and known else 0),
        limits=judged, machine={"virtual": None, "online": None, "findings": None},
        parts=[build.part(name, stamp(began), seconds, _series(run, about.cpu), about.load)])
