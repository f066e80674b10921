# SPDX-License-Identifier: GPL-2.0-or-later
"""What came of a guest's job: waits, counts, misses, and the figures of a configuration."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..guests import observer
from ..guests.guest import Event, Outcome, back
from ..guests.kernel import SYSCALL_ENTRIES
from ..guests.machine import X86_64, Machine
from ..header import Trigger
from . import attempt, instrument
from .jobs import (
    DELIVERIES,
    ISOLATED,
    LOAD,
    LOADS,
    NO_TICK,
    QUIET,
    TRIGGER,
    Config,
    common,
)

# Those of a job that tell people nothing.
QUIET_STEPS = ("calm", "reset", "facts", "audit", "settings", "expand", "probe", "control", "quit")
# Of its findings those that are so by design: without the fair server what has to run on the CPU
# never does, and dropping caches, taking swap off and resizing trace buffers do not come back.
BY_DESIGN = ("kernel.isolator", "sched.fair-server")
# Where no list of deliveries could be had.
UNREAD = f"{DELIVERIES} was not read"


def closes(config: Config, triggers: list[Trigger]) -> list[tuple[str, int]]:
    """The windows that its job closes: names and numbers."""
    found = [("quiet", QUIET), ("load", LOAD)]
    found += [(trigger.name, TRIGGER + i) for i, trigger in enumerate(triggers)]
    return [*found, ("no-tick", NO_TICK)] if config.isolates else found


def judge(
    config: Config, outcome: Outcome, due: Iterable[tuple[str, int]] = ()
) -> attempt.Attempt:
    """What a boot of this configuration is good for; without its load it shows nothing.

    @due: of closes(), where the guest is over.
    """
    found = attempt.judge_compared(outcome, QUIET, tickless=config.name == "tuned")
    missing = (f"{name}: window not closed" for name, n in due if n not in outcome.windows)
    lacks = unloaded(outcome) or next(missing, None)
    if found.over or not lacks:
        return found
    if config.isolates:
        return attempt.Attempt(ended=lacks, log=found.log)
    return attempt.Attempt(lacks, log=found.log)


def unloaded(outcome: Outcome) -> str | None:
    """What of the load ended before it was told to, and what it said."""
    died = (e for e in outcome.events if e["event"] == "died" and e["name"] in LOADS)
    return next((f"{e['name']} died: {(e.get('out') or '').strip()}" for e in died), None)


def last_json(text: str | None) -> dict[str, Any]:
    for line in reversed((text or "").strip().splitlines()):
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except json.JSONDecodeError:
                return {}
            return found if isinstance(found, dict) else {}
    return {}


def longest(text: str | None, kind: str = r"\S+") -> float | None:
    """The longest wait (of a kind) in a text of /proc/isolator/stats, in seconds.

    None: it does not say.  That nothing was held the kernel says itself, by a 0.
    """
    found = re.findall(rf"^cpu {ISOLATED} kind {kind} longest_ns (\d+)", text or "", re.MULTILINE)
    return max(int(n) for n in found) / 1e9 if found else None


def counts(window: observer.Window) -> dict[str, Any]:
    return {
        "window_s": round(window["seconds"], 3), "kernel_entries": window["kernel_entries"],
        "tick_entries": window["tick_entries"],
        "kernel_instructions": window["kernel_instructions"] + window["tick_kernel_instructions"],
        "user_instructions": window["user_instructions"],
        "entries_by_vector": window["entries_by_vector"],
        "tick_kernel_instructions_max": window["tick_kernel_instructions_max"],
        "ticks": window["ticks"], **instrument.of_window(window),
    }


def asked(found: dict[str, Any]) -> dict[str, Any]:
    """Of a task without ticks: its system calls are what it asked for itself, as in a tick.

    It makes none but the return from a signal's handler.
    """
    own = sum(found["entries_by_vector"].pop(v, 0) for v in SYSCALL_ENTRIES)
    found["kernel_entries"] -= own
    found["tick_entries"] += own
    return found


def page(outcome: Outcome, name: str) -> dict[str, Any]:
    """What the spinner said at the end of a window: the shared page's counters among it."""
    end = outcome.event("ctl", f"end.{name}")
    return end["answer"] if end and isinstance(end["answer"], dict) else {}


def fired(outcome: Outcome, trigger: Trigger, prefix: str = "") -> dict[str, Any]:
    """How a trigger came back, by its own word and the agent's clock."""
    event = outcome.event("ctl" if trigger.kind == "self" else "run", prefix + trigger.name) or {}
    if trigger.kind == "self":
        said = event.get("answer") if isinstance(event.get("answer"), dict) else {}
    else:
        said = last_json(event.get("out"))
    said = said or {}
    return {
        "name": trigger.name, "worked": bool(said.get("worked")),
        "outcome": said.get("outcome", "done"), "returned": back(event),
        "seconds": round(event.get("seconds", 0.0), 4),
        "detail": str(said.get("detail") or event.get("hang") or event.get("out") or "")[-500:],
    }


def audit(outcome: Outcome) -> list[str]:
    """What isolator audit has against the configuration, from warnings on."""
    said = last_json((outcome.event("run", "audit") or {}).get("out"))
    if "findings" not in said:
        return ["isolator audit said nothing"]
    return [
        f"{f['id']}: {f['path']} is {f['value']}"
        for f in said["findings"]
        if f["severity"] != "info" and f["id"] not in BY_DESIGN
    ]


def _triggers(
    config: Config, triggers: list[Trigger], outcome: Outcome
) -> Iterator[dict[str, Any]]:
    for i, trigger in enumerate(triggers):
        item = fired(outcome, trigger)
        window = outcome.windows[TRIGGER + i]
        shared = page(outcome, trigger.name)
        item.update({"row": trigger.row, "class": trigger.cls, "about": trigger.about})
        item.update(counts(window) if config.isolates else asked(counts(window)))
        for count in ("missed", "queued", "deferred", "excluded"):
            item[count] = shared.get(count) if config.isolates else None
        item["longest_wait_s"] = None
        if config.isolates:
            if item["outcome"] == "done" and shared.get("queued"):
                item["outcome"] = "waited"
            stats = outcome.event("file", f"stats.{trigger.name}")
            item["longest_wait_s"] = longest(stats["text"] if stats else None)
        yield item


def _add(into: dict[str, int], more: dict[str, int]) -> None:
    for key, n in more.items():
        into[key] = into.get(key, 0) + n


def _listed(outcome: Outcome, name: str) -> list[str]:
    """The kernel's list of deadline misses; that it could not be read stands in it."""
    text = (outcome.event("file", name) or {}).get("text")
    return [UNREAD] if text is None else text.splitlines()[:40]


def misses(outcome: Outcome, name: str = "deliveries") -> list[str] | None:
    """Of such a list what only a deadline delivered, a line for each; None: it was not read.

    The rest of it was delivered at once, as it has to be.
    """
    text: str | None = (outcome.event("file", name) or {}).get("text")
    if text is None:
        return None
    found: list[list[str]] = []
    for line in text.splitlines():
        if not line.startswith(" "):
            found.append([])
        if found:
            found[-1].append(line.strip())
    return ["; ".join(lines) for lines in found if " deadline_miss " in lines[0]]


def result(
    config: Config, triggers: list[Trigger], outcome: Outcome, machine: Machine = X86_64
) -> dict[str, Any]:
    """The configuration's part of out/run.json."""
    quiet, load = counts(outcome.windows[QUIET]), counts(outcome.windows[LOAD])
    for name, one in (("quiet", quiet), ("load", load)):
        one["missed"] = page(outcome, name).get("missed") if config.isolates else None
    items = list(_triggers(config, triggers, outcome))
    windows = [quiet, load, *items]
    if config.isolates:
        no_tick = counts(outcome.windows[NO_TICK])
        no_tick["missed"] = page(outcome, "no-tick").get("missed")
        no_tick["triggers"] = [fired(outcome, t, "notick-") for t in triggers if t.notick]
        windows.append(no_tick)
    by_vector: dict[str, int] = {}
    for window in windows:
        _add(by_vector, window["entries_by_vector"])
    seconds = [
        w["user_instructions_per_second_min"]
        for w in outcome.windows.values()
        if w["user_instructions_per_second_min"] is not None
    ]
    last = max(outcome.windows.values(), key=lambda w: int(w["probes"]))
    end = outcome.observer_end or last
    found: dict[str, Any] = {
        "about": config.about,
        "arch": machine.name,
        "append": config.append,
        "append_of_all": f"{machine.parameters} {common(machine)}",
        "accel": outcome.accel,
        "window_s": round(sum(w["window_s"] for w in windows), 3),
        **{
            key: sum(w[key] for w in windows)
            for key in (
                "kernel_entries", "tick_entries", "kernel_instructions", "user_instructions",
            )
        },
        "user_instructions_per_second_min": min(seconds, default=0),
        "entries_by_vector": by_vector,
        "missed": sum(w["missed"] or 0 for w in windows) if config.isolates else None,
        "probes": end["probes"],
        "probes_seen": end["probes_seen"],
        "control": instrument.control(outcome, 2 if config.isolates else 1),
        "quiet": quiet,
        "load": load,
        "triggers": items,
        "kernel_log": [f.text for f in outcome.findings],
    }
    if config.audited:
        found["audit"] = audit(outcome)
    if config.isolates:
        found["no_tick"] = no_tick
        # Each start empties the list: the first task's had to be read ahead of the second's.
        first = misses(outcome)
        found["deliveries"] = [
            *([UNREAD] if first is None else first), *_listed(outcome, "deliveries-no-tick"),
        ]
        status = outcome.event("task", "spinner")
        found["started"] = status["last"] if status else None
    return found


def progress(config: Config, event: Event) -> str | None:
    """A line for people, for those reports that tell them something."""
    name, kind = event["name"], event["event"]
    if kind == "problem":
        return f"{config.name}: {event['text']}"
    if kind == "up":
        return f"{config.name}: booted"
    if kind == "ctl" and name in ("end.quiet", "end.load", "end.no-tick"):
        return f"{config.name}: window {name[4:]} done"
    if kind in ("run", "ctl") and "." not in name and name not in QUIET_STEPS:
        state = "back" if back(event) else "NOT BACK"
        return f"{config.name}: {name} {state} in {event['seconds']:.2f} s"
    return None
