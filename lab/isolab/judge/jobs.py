# SPDX-License-Identifier: GPL-2.0-or-later
"""The jobs of guests, in each of the configurations that are compared."""

import shlex
from dataclasses import dataclass, replace

from ..guests.guest import Guest
from ..guests.kernel import Kernel
from ..guests.machine import Machine
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
# Without it attempt.clocks() cannot tell a boot that lost its clocks.
CLOCKS = f"{SETTLED}; grep -h hres_active /proc/timer_list"
FACTS = f"run facts 60000 {CLOCKS}"
# What only a deadline delivers is seen in no window, or in that of another.  All that was asked for
# by the end of the last one is in the kernel's list after D and a little.
DELIVERIES = "/proc/isolator/deliveries"
DELIVERED = ("sleep 1200", f"file deliveries {DELIVERIES}")
# The longest wait is each trigger's own.
RESET = "echo reset longest >/proc/isolator/stats"
# A thread of the CPU that what comes ahead of the windows has left to run may still want its time.
CALM = (
    "n=0; was=; while now=$(grep ' own ' /proc/isolator/stats); "
    '[ "$now" != "$was" ] && [ $n -lt 20 ]; '
    "do was=$now; n=$((n + 1)); sleep 0.5; done; echo waited_for_calm $n"
)
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
