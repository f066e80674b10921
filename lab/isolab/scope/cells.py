# SPDX-License-Identifier: GPL-2.0-or-later
"""What isolab scope-report measures: configurations and loads, and the guest that has both.

The guest is the distribution's, whose disk has a compiler and a decoder besides: what the loads
run is what anybody runs.
"""

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

from .. import term
from ..guests import distro, initramfs, kernel
from ..guests.guest import ORDERS, Event, Guest
from ..guests.kernel import Kernel
from ..paths import BUILD, LAB
from .target import MODULE, ScopeGuest

HOUSEKEEPING, MEASURED = 0, 1
TASK = "/lab/bin/scope-task"
ISOLATOR = "/lab/bin/isolator"
# By the guest's clock, which on a busy host may run ahead.
BEGINS_S, ENDS_S = 300.0, 30.0
IRQ = f"$(sed -n 's/^ *\\([0-9]*\\):.*{MODULE}$/\\1/p' /proc/interrupts)"


@dataclass(frozen=True)
class Load:
    """One of lab/distro/scopeload.py, and the packages that it wants."""

    name: str
    packages: tuple[str, ...] = ()


IDLE = Load("idle")
LOADS = (IDLE, Load("compile", ("gcc", "libc6-dev")), Load("netcopy"), Load("media", ("ffmpeg",)))
LOAD = "/lab/bin/scopeload"
BEGUN = "/run/scopeload.begun"


@dataclass(frozen=True)
class Run:
    """One recording.  A task that polls takes a CPU: it is measured alone, else nothing is idle."""

    name: str
    lines: tuple[str, ...]


WOKEN = Run(
    "woken",
    ("irq", "irq-thread", "softirq", "tasklet", "bh-work", "work", "work-unbound", "work-high",
     "kthread", "user"),
)  # fmt: skip
POLL = Run("poll", ("poll",))
RUNS = (WOKEN, POLL)


@dataclass(frozen=True)
class Config:
    """@settings once, @before each run; @tasks answer in it; @cpus are the loads'."""

    name: str
    about: str
    stock: bool
    cpus: tuple[int, ...]
    settings: str
    before: dict[str, str]
    tasks: dict[str, str]


def _interrupt(cpu: int) -> str:
    return f"echo {cpu} >/proc/irq/{IRQ}/smp_affinity_list"


CONFIGS = (
    Config(
        "stock",
        "Debian's 6.12 source, PREEMPT_RT, nothing set; the load on both CPUs",
        True,
        (HOUSEKEEPING, MEASURED),
        "true",
        {WOKEN.name: "true", POLL.name: "true"},
        {WOKEN.name: TASK, POLL.name: f"{TASK} --poll --cpu {MEASURED}"},
    ),
    Config(
        "isolated",
        f"the Isolator kernel; CPU {MEASURED} is shielded, and has the interrupt, its threads "
        f"and the task that waits; or else the task that polls, isolated, and then CPU "
        f"{HOUSEKEEPING} the interrupt; the load on CPU {HOUSEKEEPING}",
        False,
        (HOUSEKEEPING,),
        f"{ISOLATOR} shield set --all {MEASURED} && echo {MEASURED} >/proc/isolator/cpus && "
        f"taskset -pc {MEASURED} $(pgrep -x {MODULE})",
        {WOKEN.name: _interrupt(MEASURED), POLL.name: _interrupt(HOUSEKEEPING)},
        {
            WOKEN.name: f"{TASK} --cpu {MEASURED}",
            POLL.name: f"{TASK} --poll --isolate --cpu {MEASURED}",
        },
    ),
)


class LoadGuest(ScopeGuest):
    """One configuration's guest, with the driver loaded; no task begins by itself."""

    def __init__(self, config: Config, threads: str = "") -> None:
        self.config = config
        self.release = ""
        self.sent = 0  # triggers, by the generator's own count
        packages = tuple(name for load in LOADS for name in load.packages)
        built = kernel.build("rt", config.stock)
        disk = distro.image(packages, {}) / "root.ext2"
        super().__init__(Kernel(f"{distro.PREFIX}{built.name}-loads", built.path, disk=disk),
                         f"report-{config.name}", threads=threads)

    def asked(self) -> Guest:
        task = BUILD / "lab" / "guest" / "root" / "lab" / "bin" / "scope-task"
        with initramfs.building(BUILD):
            initramfs.make(LAB / "guest", BUILD / "lab" / "guest", "scope-task", task)
        return dataclasses.replace(
            super().asked(),
            job=f"orders {ORDERS}\n",
            append=distro.APPEND,
            boot_s=240 * self._slower,
            silence_s=math.inf,
            files={
                TASK.lstrip("/"): task.read_bytes(),
                LOAD.lstrip("/"): (LAB / "distro" / "scopeload.py").read_bytes(),
            },
        )

    def load(self) -> None:
        self.do("udevadm settle; systemctl is-system-running --wait; true", 120)
        self.do(f"modprobe {MODULE} && udevadm settle && test -c /dev/{MODULE}", 60)
        self.release = self.do("uname -r").strip()
        self.do(self.config.settings, 60)

    def start_tasks(self, delay_us: int = 0) -> None:
        """Each run has its own."""

    def begin_load(self, load: Load) -> bool:
        """Is it there, and does it do what it is for?"""
        cpus = ",".join(map(str, self.config.cpus))
        self.run(f"rm -f {BEGUN}")
        self.start("load", f"exec python3 {LOAD} {load.name} {cpus} {BEGUN}")
        alive = "pgrep -f '[s]copeload ' >/dev/null"
        event = self.run(
            f"sleep 1; until [ -e {BEGUN} ] || ! {alive}; do sleep 0.5; done; sleep 1; {alive}",
            BEGINS_S,
        )
        return bool(event["exit"] == 0)

    def begin_task(self, run: Run) -> None:
        self.do(self.config.before[run.name])
        self.start("task", f"exec {self.config.tasks[run.name]}")
        event = self.run("sleep 1; pgrep -x scope-task")
        if event["exit"] != 0:
            raise term.LabError(f"scope-task did not begin: {self.kill('task')['out']}")


def ended(event: Event, cell: dict[str, Any]) -> None:
    """Fills @cell from what a load said at its end, which has to be by our signal."""
    try:
        said = json.loads(event["out"] or "")
        (row,) = said["loads"]
    except (ValueError, KeyError):
        cell["doubts"].append(f"the load did not say what it did: {(event['out'] or '')[-200:]}")
        return
    if row["state"] == "absent":
        cell["skipped"] = row["why"]
        return
    cell["what"] = row["words"]
    done = sum(cpu["operations"] for cpu in row["cpus"])
    cell["did"] = f"{done} {row['operation']} on {len(row['cpus'])} of 2 CPUs"
    if row["state"] != "ran":
        cell["doubts"].append(f"the load is {row['state']}: {row['why'] or 'it did nothing'}")
    elif event["event"] != "killed":
        cell["doubts"].append("the load ended before the measurement did")
