# SPDX-License-Identifier: GPL-2.0-or-later
"""What one configuration of isolab run does in its guest."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..guests import observer
from ..guests.guest import Event, Guest, Outcome, back
from ..guests.kernel import SYSCALL_ENTRIES, Kernel
from ..guests.machine import X86_64, Machine
from ..header import Trigger
from . import attempt, claims, instrument

# Windows by number, 4 and 5 are the instrument's; a trigger's is TRIGGER + its place in the list.
QUIET, LOAD, NO_TICK, TRIGGER = 1, 2, 3, 100
QUIET_S, LOAD_S = 4.0, 2.0
# After a trigger came back its window stays open: what it left must be seen too.
AFTER_MS = 50
NO_TICK_DEADLINE_MS = 60000

ISOLATED, HOUSEKEEPING = 1, 0
# The lowest: a FIFO task above the kernel's own threads of its CPU (irq_work and others, 1)
# interrupts one of them in an RCU read section, sooner or later, and stock Linux then hangs.
PRIORITY = 1
TUNED = (
    f"nohz_full={ISOLATED} isolcpus=nohz,domain,managed_irq,{ISOLATED} rcu_nocbs={ISOLATED} "
    f"rcu_nocb_poll irqaffinity={HOUSEKEEPING} nosoftlockup nmi_watchdog=0"
)
# What its own audit asks for beside the parameters.
TUNED_SETTINGS = (
    "echo -1 >/proc/sys/kernel/sched_rt_runtime_us; "
    "echo 0 >/proc/sys/vm/compaction_proactiveness; "
    "for f in /sys/devices/system/machinecheck/machinecheck*/check_interval; do echo 0 >$f; done"
)
STRESS = "stress-ng --quiet --cpu 1 --vm 1 --vm-bytes 48M --pipe 1 --fork 1"
HACKBENCH = "while :; do hackbench -l 100 -g 1 -f 4; done"
LOADS = ("load-stress", "load-hackbench")
# Of the shell that runs it: Debian's busybox has no `nice`.
YIELDING = "renice -n 5 -p $$"
# A booting guest changes its clock over for two seconds, at last by a stop_machine(); on a busy
# host longer.  Waited for in the open; where the kernel has given its timer up, it is no use.
# What the kernel says of its clocks is reported: see attempt.clocks().
_CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
SETTLED = (
    "n=0; while { grep -q 'hres_active *: 0' /proc/timer_list || "
    f"grep -q early {_CLOCKSOURCE}; }} && "
    "[ $n -lt 80 ] && ! dmesg | grep -q 'APIC timer disabled'; "
    "do sleep 0.1; n=$((n + 1)); done; echo waited_for_clocks $n; "
    f"dmesg | grep -i 'apic timer'; cat {_CLOCKSOURCE}"
)
HRES = "grep -h hres_active /proc/timer_list"
# Without it attempt.clocks() cannot tell a boot that lost its clocks.
FACTS = f"run facts 60000 {SETTLED}; {HRES}"
# What only a deadline delivers is seen in no window, or in that of another.  All that was asked for
# by the end of the last one is in the kernel's list after D and a little.
DELIVERIES = "/proc/isolator/deliveries"
UNREAD = f"{DELIVERIES} was not read"
DELIVERED = ("sleep 1200", f"file deliveries {DELIVERIES}")
# The longest wait is each trigger's own.
RESET = "echo reset longest >/proc/isolator/stats"
# A thread of the CPU that what comes ahead of the windows has left to run may still want its time.
CALM = (
    "n=0; was=; while now=$(grep ' own ' /proc/isolator/stats); "
    '[ "$now" != "$was" ] && [ $n -lt 20 ]; '
    "do was=$now; n=$((n + 1)); sleep 0.5; done; echo waited_for_calm $n"
)
# Those of a job that tell people nothing.
QUIET_STEPS = ("calm", "reset", "facts", "audit", "settings", "expand", "probe", "control", "quit")
# Of its findings those that are so by design: without the fair server what has to run on the CPU
# never does, and dropping caches, taking swap off and resizing trace buffers do not come back.
BY_DESIGN = ("kernel.isolator", "sched.fair-server")
AUDIT = f"/lab/bin/isolator audit -c {ISOLATED} --json"
# Ring buffers get their full size before the isolated task starts.
EXPAND = "echo 1408 >/sys/kernel/tracing/buffer_size_kb"


@dataclass(frozen=True)
class Config:
    name: str
    about: str
    stock: bool
    append: str = ""
    settings: str = ":"
    spinner: str = ""
    audited: bool = False  # the recipe is one that isolator audit has nothing against

    @property
    def isolates(self) -> bool:
        return not self.stock


CONFIGS = (
    Config("stock", "Debian's 6.12 source, PREEMPT_RT, HZ as Debian has it, no isolation", True),
    Config("tuned", "the same kernel with today's best recipe of boot parameters", True, TUNED,
           TUNED_SETTINGS, audited=True),
    Config("isolator", "the Isolator kernel, no boot parameter", False, "",
           f"echo {ISOLATED} >/proc/isolator/cpus", "--isolate"),
)


def window(number: int, name: str, inside: list[str], notick: bool = False) -> list[str]:
    return [
        f"ctl begin.{name} 15000 window {number}{' notick' if notick else ''}",
        *inside,
        f"ctl end.{name} 15000 endwindow",
    ]


def as_user(command: str) -> str:
    """The same by somebody without privilege."""
    return f"exec su -s /bin/sh nobody -c {shlex.quote(command)}"


def fire(trigger: Trigger, prefix: str = "") -> str:
    ms = int(trigger.timeout_s * 1000)
    if trigger.kind == "self":
        return f"ctl {prefix}{trigger.name} {ms} self {trigger.name}"
    what = f"exec /lab/triggers/{trigger.name}"
    return f"run {prefix}{trigger.name} {ms} {as_user(what) if trigger.user else what}"


def _load() -> list[str]:
    return [
        f"start {LOADS[0]} {YIELDING}; exec {STRESS}",
        f"start {LOADS[1]} {YIELDING}; {HACKBENCH}",
    ]


def spinner(config: Config, more: str = "", start: int = 0) -> list[str]:
    """What starts the task, once more in the same guest with another @start."""
    return [
        f"start spinner exec /lab/bin/spinner --cpu {ISOLATED} --prio {PRIORITY} "
        f"--tick-ms {claims.TICK_S * 1000:g} --yield-ms {claims.YIELD_S * 1000:g} "
        f"{config.spinner} {more}",
        "task 15000",
        "ctl probe 5000 probe",
        instrument.job(start),
    ]


def job(config: Config, triggers: list[Trigger], no_tick_s: float) -> str:
    """The guest's job: a quiet window, then load, then each trigger in a window of its own."""
    lines = [
        f"cpus {HOUSEKEEPING}",
        f"env ISO_CPU {ISOLATED}",
        f"env HK_CPU {HOUSEKEEPING}",
        f"run settings 5000 {config.settings}",
        f"run expand 10000 {EXPAND}",
        f"{FACTS}; uname -a; "
        "cat /sys/devices/system/cpu/isolated /sys/devices/system/cpu/nohz_full",
        *([f"run audit 60000 {AUDIT}"] if config.audited else []),
        *spinner(config),
        *([f"run calm 15000 {CALM}"] if config.isolates else []),
        *window(QUIET, "quiet", [f"sleep {int(QUIET_S * 1000)}"]),
        *_load(),
        "sleep 500",
        *window(LOAD, "load", [f"sleep {int(LOAD_S * 1000)}"]),
    ]
    for i, trigger in enumerate(triggers):
        if config.isolates:
            lines.append(f"run reset.{trigger.name} 5000 {RESET}")
        lines += window(TRIGGER + i, trigger.name, [fire(trigger), f"sleep {AFTER_MS}"])
        if config.isolates:
            lines.append(f"file stats.{trigger.name} /proc/isolator/stats")
    lines += ["ctl probe 5000 probe"]
    if config.isolates:
        lines += DELIVERED
    lines += ["ctl quit 5000 quit", "kill spinner 5000"]
    if config.isolates:
        inside = [
            "mark",
            *(fire(t, "notick-") for t in triggers if t.notick),
            # The window is timed by the host, whose clock may be ahead of the guest's.
            f"until {int(no_tick_s * 1000) + 200}",
        ]
        lines += [
            *spinner(config, f"--deadline-ms {NO_TICK_DEADLINE_MS}", 1),
            *window(NO_TICK, "no-tick", inside, notick=True),
            f"file deliveries-no-tick {DELIVERIES}", "ctl probe 5000 probe",
            "ctl quit 5000 quit", "kill spinner 5000",
        ]
    lines += [f"kill {load} 5000" for load in LOADS]
    return "\n".join(lines) + "\n"


def patient(triggers: list[Trigger], threads: str) -> list[Trigger]:
    """The same with the time that they need in a guest that is emulated so."""
    slower = attempt.slower(threads)
    return [replace(t, timeout_s=t.timeout_s * slower) for t in triggers]


def common(machine: Machine) -> str:
    """Boot parameters of all three.

    With separate user page tables, as on processors that want them, x86's kernel may split a large
    page of its own without asking a CPU in user mode; without, that flush is held, and loading a
    module or a BPF program has to wait for the task.
    """
    return machine.separate


def guest(
    config: Config, kernel: Kernel, triggers: list[Trigger], no_tick_s: float, threads: str = ""
) -> Guest:
    slower = attempt.slower(threads)
    return Guest(kernel, job(config, patient(triggers, threads), no_tick_s),
                 append=f"{common(kernel.machine)} {config.append}".strip(), boot_s=30 * slower,
                 silence_s=no_tick_s + 45 * slower,
                 total_s=no_tick_s + (200 + 2 * len(triggers)) * slower, threads=threads)


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
