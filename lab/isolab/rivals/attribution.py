# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab attribution: injects causes at a measured CPU, and judges how they are named."""

import json
import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import record, term
from ..guests import kernel, observer, packed
from ..guests.guest import Event, Guest, Outcome, boot
from ..guests.kernel import Kernel
from ..judge import attempt, jobs, readings
from ..paths import OUT
from . import naming, schedule
from .causes import BY_NAME, CAUSES

REPETITIONS, CONTROLS = 20, 40
SAMPLE_CONTROLS = 4
# A sample runs where other work does, which may take the CPU in one window each time.
SAMPLE_UNMADE = 1
# One guest has so many windows: it lives less than three minutes.
MOST = 50
# A window in which the host or the emulator took the vCPU for longer, and that is not told apart,
# shows their doing above all: it is made again, and counted.
TAKEN_NS = 5_000_000
MAX_ROUNDS = 10
# So often an injection may do nothing before it is an error: a busy host keeps some from it.
MAX_IDLE = 2
MAX_VOID = 5
# So many guests may lose outliers, and are made again: a starved looking thread is seldom.
MAX_INCOMPLETE = 1
WINDOW_MS = 20000
# In a group of its own, which can be throttled; an ordinary task, so that bound work gets in.
GROUP = "/sys/fs/cgroup/measured"
RESULT = "/run/measure.json"
# Gaps from here on: what the emulator itself makes where nothing happens is mostly shorter.
THRESHOLD_US = 60
WORST = 20000
# It is ended when the windows are over; what it costs is measured for some seconds before,
# without causes and without a result.
MEASURE = (
    f"taskset 3 /lab/bin/isolator measure noise -c {jobs.ISOLATED} -t 3600 "
    f"--threshold {THRESHOLD_US}us --why {THRESHOLD_US}us --worst {WORST} --output {RESULT}"
)
STARTS_MS = 50000
STARTED = f"until [ -s {RESULT} ]; do sleep 0.2; done"


@dataclass
class Part:
    """What one guest came to: its windows, with what happened in them, and its document."""

    windows: list[dict[str, Any]]
    document: dict[str, Any]
    seconds: float
    kernel_log: list[str]

    @cached_property
    def outliers(self) -> list[dict[str, Any]]:
        return naming.outliers(self.document)


def _line(window: schedule.Window) -> str:
    made = " ".join(f"{name} {BY_NAME[name].size}" for name in window.causes)
    command = f"exec /lab/bin/inject --program isolator --window {window.number} {made}".rstrip()
    return f"run window.{window.number} {WINDOW_MS} {command}"


def job(windows: list[schedule.Window]) -> str:
    lines = [
        f"cpus {jobs.HOUSEKEEPING}",
        jobs.FACTS,
        f"run group 5000 mkdir {GROUP} && echo +cpu >/sys/fs/cgroup/cgroup.subtree_control",
        f"run target 5000 taskset {1 << jobs.ISOLATED:x} /lab/bin/mark target",
        f"start measure echo 0 >{GROUP}/cgroup.procs; exec {MEASURE}",
        f"run started {STARTS_MS} {STARTED}", *map(_line, windows), "kill measure 30000",
        *packed.lines("measure", RESULT),
    ]
    return "\n".join(lines) + "\n"


def progress(event: Event) -> str | None:
    name = event["name"]
    if event["event"] == "problem":
        term.say(event["text"])
    elif event["event"] == "died":
        return f"isolator measure ended before its time: {event['out']}"
    elif event["event"] == "run" and name.startswith("window."):
        said = readings.last_json(event["out"])
        made = [i["cause"] for i in said.get("injected", [])]
        term.say(f"{name}: {', '.join(made) or 'quiet'}")
    return attempt.no_clocks(Outcome(events=[event]))


def read_windows(
    windows: list[schedule.Window], outcome: Outcome, pauses: dict[int, dict[str, int]]
) -> list[dict[str, Any]]:
    """What each did; a pause happened if the observer says so."""
    found = []
    for window in windows:
        event = outcome.event("run", f"window.{window.number}") or {}
        said = readings.last_json(event.get("out"))
        if [i["cause"] for i in said.get("injected", [])] != list(window.causes) or not said:
            raise term.LabError(
                f"window {window.number} ({', '.join(window.causes) or 'quiet'}) was not made: "
                f"{event.get('out') or outcome.died}"
            )
        for item in said["injected"]:
            if item["cause"] == "pause":
                pause = pauses.get(window.number)
                item["evidence"]["held_ns"] = pause["ns"] if pause else 0
                item["happened"] = bool(pause and pause["ns"] >= pause["asked_ns"])
        # A mark is lost where the vCPU stood still for the whole time to the next one.
        seen = outcome.windows.get(window.number)
        gone = seen["taken_ns"] if seen else said["close_ns"] - said["open_ns"]
        own = {"taken_ns": max(0, gone), "entries": seen["entries_by_vector"] if seen else {}}
        found.append({"number": window.number, **own, **said})
    return found


def document(outcome: Outcome) -> dict[str, Any]:
    """What `isolator measure` said."""
    try:
        found = packed.unpack(outcome, "measure")
    except packed.ERRORS as e:
        ended = outcome.event("killed", "measure") or {}
        raise term.LabError(f"isolator measure left no result: {e}; {ended.get('out')}") from e
    if not isinstance(found, dict) or not found.get("attribution"):
        raise term.LabError("the result of isolator measure has no attribution")
    return found


def _guest(
    built: Kernel, windows: list[schedule.Window], number: int, threads: str
) -> tuple[Part | None, attempt.Attempt]:
    """One boot; without a part it is void."""
    where = OUT / "attribution" / f"boot-{number}"
    slower = attempt.slower(threads)
    guest = Guest(built, job(windows), append=jobs.TUNED, undisturbed=True, spare_port=True,
                  boot_s=30 * slower, silence_s=60 * slower,
                  total_s=(60 + 3 * len(windows)) * slower, threads=threads)
    outcome = boot(guest, where, progress)
    found = attempt.timed(attempt.judge(outcome), outcome)
    if found.ended:
        raise term.LabError(f"the guest did not come to its end: {found.ended}; see {where}")
    if found.void:
        return None, found
    said = document(outcome)
    (where / "measure.json").write_text(json.dumps(said, indent=1) + "\n")
    made = read_windows(windows, outcome, observer.pauses(where / "observer.json"))
    return Part(made, said, outcome.seconds, [f.text for f in outcome.findings]), found


def taken(part: Part | None) -> list[int]:
    """The windows that show the host's doing."""
    if part is None:
        return []
    return [w["number"] for w in part.windows if naming.untold_ns(w, part.outliers) >= TAKEN_NS]


def failed(part: Part | None) -> dict[int, str]:
    """The windows in which an injection did nothing: no repetitions of it."""
    return {
        w["number"]: f"{i['cause']} did not happen: {i['error'] or i['evidence']}"
        for w in (part.windows if part else [])
        for i in w["injected"]
        if not i["happened"]
    }


def incomplete(part: Part | None) -> str | None:
    """Why no window of this guest counts: outliers that were lost may have begun in any."""
    if part is None:
        return None
    said = part.document["attribution"]
    if len(said["outliers"]) < said["seen"]:
        return (
            f"of {said['seen']} outliers, {said['looked']} were looked into and "
            f"{len(said['outliers'])} kept"
        )
    return None


def too_lossy(attempts: list[dict[str, Any]]) -> bool:
    """Did more guests lose outliers than are made again?"""
    return sum(bool(a["incomplete"]) for a in attempts) > MAX_INCOMPLETE


def spoilt(part: Part) -> set[int]:
    """The windows that are made again."""
    if incomplete(part):
        return {w["number"] for w in part.windows}
    return {*taken(part), *failed(part)}


def _summary(part: Part) -> dict[str, Any]:
    said = part.document["attribution"]
    return {
        "windows": len(part.windows), "seconds": round(part.seconds, 1),
        "verdict": part.document["verdict"],
        **{key: said[key] for key in ("source", "threshold_ns", "seen", "looked", "lost")},
        "kept": len(said["outliers"]), "overhead": said["overhead"], "kernel_log": part.kernel_log,
    }


def _text(report: dict[str, Any]) -> str:
    again = sum(
        a["windows"] if a["incomplete"] else len({*a["taken"], *a["failed"]})
        for a in report["attempts"]
    )
    lines = [
        f"{len(report['windows'])} windows ({again} spoilt), seed {report['seed']}, "
        f"{report['kernel']['name']}",
        *(term.colour(f"guest {i} does not count: {a['incomplete']}", "33")
          for i, a in enumerate(report["attempts"], 1) if a["incomplete"]),
    ]
    for name, row in report["confusion"].items():
        counted = report["recall"].get(name)
        said = f"{counted['named']} of {counted['injected']} named" if counted else ""
        tops = ", ".join(f"{kind} {n}" for kind, n in row.items())
        lines.append(f"  {name:10} {said:16} {tops}")
    quiet = report["controls"]
    lines.append(
        f"quiet windows: {quiet['windows']}, given a cause: {quiet['invented']}; "
        f"with a true one: {quiet['true']}"
    )
    return "\n".join(lines)


def report_of(parts: list[Part], built: Kernel, seed: int, sample: bool) -> dict[str, Any]:
    rt = built.has("CONFIG_PREEMPT_RT")
    windows = []
    for part in parts:
        bad = spoilt(part)
        windows += [
            {**w, "judged": naming.judge(w, part.outliers, rt)}
            for w in part.windows
            if w["number"] not in bad
        ]
    windows.sort(key=lambda w: w["number"])
    rates, quiet = naming.recall(windows), naming.controls(windows)
    return {
        **record.head("attribution"),
        **record.where(),
        "kernel": {"name": built.name, "release": built.version, "build": built.path.name},
        "seed": seed,
        "sample": sample,
        "causes": [
            {"name": c.name, "size": c.size, "about": c.about, "kinds": sorted(c.named_by(rt))}
            for c in CAUSES
        ],
        "guests": [_summary(p) for p in parts],
        "windows": windows,
        "confusion": naming.confusion(windows),
        "recall": rates,
        "controls": quiet,
        "broken": [
            *naming.broken(rates, quiet, sample),
            *(f"kernel log: {line}" for p in parts for line in p.kernel_log),
        ],
    }


def _all(
    built: Kernel, windows: list[schedule.Window]
) -> tuple[list[Part], list[dict[str, Any]], list[schedule.Window]]:
    """All windows, those again that were spoilt; at last those that are still to be made."""
    parts: list[Part] = []
    attempts: list[dict[str, Any]] = []
    left = windows
    voids: list[attempt.Record] = []
    for _ in range(MAX_ROUNDS):
        again = []
        shares = schedule.share(left, MOST)
        while shares and not too_lossy(attempts):
            share = shares.pop(0)
            threads = attempt.threads(voids[-1:])
            part, found = _guest(built, share, len(attempts) + 1, threads)
            less = incomplete(part)
            # What is said of the windows of such a guest stands on the outliers that are left.
            disturbed, idle = ([], {}) if less else (taken(part), failed(part))
            attempts.append(
                {
                    "windows": len(share), "void": found.void, "incomplete": less,
                    "taken": disturbed,
                    "failed": {str(number): text for number, text in idle.items()},
                }
            )
            for number, text in idle.items():
                term.say(f"window {number}: {text}")
            if part is None:
                again += share
                term.say(f"void: {found.void}")
                voids.append(attempt.record(found))
                attempt.demand("attribution", voids, ours=True)
            else:
                if less:
                    term.say(f"incomplete: {less}")
                again += [
                    w for w in share if less or w.number in disturbed or w.number in idle
                ]
                parts.append(part)
        left = [*again, *(w for share in shares for w in share)]
        if not left or len(voids) >= MAX_VOID or too_lossy(attempts):
            break
        term.say(
            f"{len(left)} windows again: the host was in them, nothing happened, "
            "or outliers were lost"
        )
    return parts, attempts, left


def fruitless(attempts: list[dict[str, Any]], unmade: list[int]) -> list[str]:
    """Windows whose injection did nothing: missing because of it, or made again too often."""
    texts = {int(number): text for a in attempts for number, text in a["failed"].items()}
    times = Counter(int(number) for a in attempts for number in a["failed"])
    return [
        f"window {number}: {text}" + (f", {times[number]} times" if times[number] > 1 else "")
        for number, text in texts.items()
        if number in unmade or times[number] > MAX_IDLE
    ]


def main(flavour: str, seed: int | None, sample: bool) -> int:
    seed = seed if seed is not None else int(time.time())
    built = kernel.build(flavour)
    term.say(f"injecting causes, seed {seed} (--seed repeats their order)")
    windows = schedule.draw(
        seed, tuple(c.name for c in CAUSES), 1 if sample else REPETITIONS,
        SAMPLE_CONTROLS if sample else CONTROLS,
    )
    parts, attempts, left = _all(built, windows)
    if not parts:
        print(f"inconclusive: no guest came to its end: {attempts[-1]['void']}")
        return term.INCONCLUSIVE
    report = report_of(parts, built, seed, sample)
    report["attempts"], report["unmade"] = attempts, [w.number for w in left]
    report["errors"] = fruitless(attempts, report["unmade"])
    name = "attribution-sample" if sample else "attribution"
    record.write(report, name)
    return verdict(report, f"{name}.json")


def verdict(report: dict[str, Any], name: str) -> int:
    """Says it, and returns the exit status."""
    print(_text(report))
    for text in report["errors"]:
        print(term.colour(f"error: {text}", "31"))
    for claim in report["broken"]:
        print(term.colour(f"does not hold: {claim}", "31"))
    print(f"out/{name}; {term.elapsed():.0f} s")
    made = sum(r["injected"] for r in report["recall"].values()) + report["controls"]["windows"]
    failed = len(report["errors"]) + len(report["broken"])
    unmade = len(report["unmade"])
    if unmade:
        print(term.colour(f"{unmade} windows are missing: spoilt each time", "33"))
    if not report["errors"] and unmade > (SAMPLE_UNMADE if report["sample"] else 0):
        print("inconclusive: too few windows that the host left alone")
        failed += 1
    elif not report["errors"] and too_lossy(report["attempts"]):
        print("inconclusive: outliers were not looked into or not kept")
        failed += 1
    print(f"{made - min(made, failed)} passed, {failed} failed, {unmade} skipped")
    if report["errors"]:
        return term.ERROR
    if failed > len(report["broken"]):
        return term.INCONCLUSIVE
    if any(g["verdict"] == "invalid" for g in report["guests"]):
        print("inconclusive: samples were lost, or a setting did not hold")
        return term.INCONCLUSIVE
    return term.EXCEEDED if report["broken"] else term.PASS
