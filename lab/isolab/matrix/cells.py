# SPDX-License-Identifier: GPL-2.0-or-later
"""One boot of the interference matrix: a job of triggers, and the cells that it gives."""

import re
from typing import Any

from ..guests.guest import Guest, Outcome
from ..guests.kernel import Kernel
from ..header import Trigger
from ..judge import attempt, instrument, jobs, readings
from ..judge.jobs import HOUSEKEEPING, ISOLATED, Config

Cell = dict[str, Any]
QUIET_S = 2.0
MISSING = 77  # how a trigger says that the kernel has no such facility
COUNTS = ("deferred", "excluded", "queued", "missed", "immediate", "refused", "planned")
_CAUSE = re.compile(r"^cause kind (\S+) callback (\S+) (.*?) comm (.*)$")
# Nothing else than what is being tried interrupts the other CPUs, so no load.
_BOOT_S, _PER_TRIGGER_S = 60.0, 4.0


def job(config: Config, triggers: list[Trigger]) -> str:
    """The guest's job: a quiet window, then each trigger in a window of its own."""
    lines = [
        f"cpus {HOUSEKEEPING}", f"env ISO_CPU {ISOLATED}", f"env HK_CPU {HOUSEKEEPING}",
        f"run settings 5000 {config.settings}", f"run expand 10000 {jobs.EXPAND}",
        f"{jobs.FACTS}; uname -a",
        "run arm 10000 exec causes arm", *jobs.spinner(config),
        *jobs.window(jobs.QUIET, "quiet", [f"sleep {int(QUIET_S * 1000)}"]),
    ]
    for i, trigger in enumerate(triggers):
        lines += [
            f"run begin-causes.{trigger.name} 10000 exec causes begin",
            *jobs.window(jobs.TRIGGER + i, trigger.name,
                             [jobs.fire(trigger), f"sleep {jobs.AFTER_MS}"]),
            f"run causes.{trigger.name} 10000 exec causes end",
        ]
    lines += ["ctl probe 5000 probe"]
    if config.isolates:
        lines += jobs.DELIVERED
    lines += ["ctl quit 5000 quit", "kill spinner 5000"]
    return "\n".join(lines) + "\n"


def guest(config: Config, kernel: Kernel, triggers: list[Trigger], threads: str = "") -> Guest:
    slower = attempt.slower(threads)
    triggers = jobs.patient(triggers, threads)
    longest = max(t.timeout_s for t in triggers)
    common = jobs.common(kernel.machine)
    append = " ".join(a for a in (common, config.append, triggers[0].append) if a)
    return Guest(
        kernel,
        job(config, triggers),
        cpus=triggers[0].cpus,
        append=append,
        memory=triggers[0].memory,
        boot_s=30 * slower,
        silence_s=longest + 45 * slower,
        total_s=longest
        + _BOOT_S * slower
        + sum(_PER_TRIGGER_S * slower + t.timeout_s / 4 for t in triggers),
        threads=threads,
    )


def batches(triggers: list[Trigger]) -> list[list[Trigger]]:
    """Triggers that share a guest: the same CPUs, memory and boot parameters."""
    found: dict[tuple[int, str, str], list[Trigger]] = {}
    for trigger in triggers:
        found.setdefault((trigger.cpus, trigger.memory, trigger.append), []).append(trigger)
    return list(found.values())


def _numbers(text: str) -> dict[str, int]:
    words = text.split()
    return {a: int(b) for a, b in zip(words[::2], words[1::2], strict=False) if b.isdigit()}


def causes(text: str | None) -> list[dict[str, Any]]:
    """What the guest's program `causes` said, the most first."""
    found: list[dict[str, Any]] = []
    for line in (text or "").splitlines():
        match = _CAUSE.match(line)
        if match:
            kind, callback, counts, comm = match.groups()
            numbers = _numbers(counts)
            found.append(
                {
                    "kind": kind, "callback": callback, "sender": comm,
                    "longest_ns": numbers.pop("longest_ns", 0),
                    "counts": {k: n for k, n in numbers.items() if n}, "stack": [],
                }
            )
        elif line.startswith("  ") and found:
            found[-1]["stack"].append(line.strip())
    found.sort(key=lambda c: -sum(c["counts"].values()))
    return found


def _totals(text: str, when: str) -> dict[str, int]:
    match = re.search(rf"^{when} cpu \d+ total (.*)$", text, re.MULTILINE)
    return _numbers(match.group(1)) if match else {}


def accounted(text: str | None) -> list[str]:
    """What of the totals no sender accounts for; empty if all of it has one.

    The totals are read before and after the senders, as new requests come in between.
    """
    text = text or ""
    begin, begun, end, ended = (_totals(text, w) for w in ("begin", "begun", "end", "ended"))
    if not ended:
        return ["/proc/isolator/stats was not read"]
    bad = []
    for count in COUNTS:
        of_senders = sum(c["counts"].get(count, 0) for c in causes(text))
        least, most = end[count] - begun[count], ended[count] - begin[count]
        if not least <= of_senders <= most:
            bad.append(f"{count}: {of_senders} by sender, {least} to {most} in all")
    for cause in causes(text):
        if cause["kind"] == "others":
            bad.append(f"{sum(cause['counts'].values())} requests of senders without a place")
    return bad


def _deltas(text: str) -> dict[str, int]:
    begin, ended = _totals(text, "begun"), _totals(text, "ended")
    return {c: ended.get(c, 0) - begin.get(c, 0) for c in COUNTS}


def cell(config: Config, trigger: Trigger, i: int, outcome: Outcome) -> Cell | None:
    """The cell of the boot's @i-th trigger; None if the guest did not get that far."""
    window = outcome.windows.get(jobs.TRIGGER + i)
    said = outcome.event("run", f"causes.{trigger.name}")
    if window is None or said is None:
        return None
    found: Cell = readings.fired(outcome, trigger)
    text = said["out"] or ""
    counts = readings.counts(window)
    found.update(counts if config.isolates else readings.asked(counts))
    found["control"] = instrument.control(outcome)
    found["causes"] = causes(text)
    found["misses"] = found["queued"] = None
    found["longest_wait_s"] = found["longest_call_s"] = None
    if _exit(trigger, outcome) == MISSING:
        found["outcome"] = "missing"
    found["unaccounted"] = []
    if config.isolates:
        page = readings.page(outcome, trigger.name)
        deltas = _deltas(text)
        found.update(deltas)
        found["misses"] = page.get("missed")
        found["longest_wait_s"] = readings.longest(text)
        found["longest_call_s"] = readings.longest(text, "call")
        found["unaccounted"] = accounted(text)
        if found["outcome"] == "done" and deltas["queued"]:
            found["outcome"] = "waited"
    return found


def entered(batch: list[Trigger], got: list[Trigger], outcome: Outcome) -> list[str]:
    """What closed windows show that no cell is judged by: the quiet one, and of lost cells."""
    judged = {jobs.TRIGGER + i for i, t in enumerate(batch) if t in got or t.cls == "immediate"}
    return attempt.entered(outcome, judged)


def delivered(batch: list[Trigger], outcome: Outcome, over: bool, inside: int) -> list[str]:
    """What only a deadline delivered between windows: so much of it was @inside of one.

    That is its trigger's, whose cell has it.  The kernel's list must have been read where the
    guest came so far; it is not where one ended ahead of that, for a reason of its own (@over) or
    as a trigger did not come back.
    """
    found = readings.misses(outcome)
    if found is not None:
        between = len(found) - inside
        if between <= 0:
            return []
        return [f"between windows {between} of {len(found)}: {line}" for line in found]
    whole = all(readings.fired(outcome, trigger)["returned"] for trigger in batch)
    return [readings.UNREAD] if whole and not over else []


def _exit(trigger: Trigger, outcome: Outcome) -> int | None:
    event = outcome.event("run", trigger.name)
    return event.get("exit") if event else None
