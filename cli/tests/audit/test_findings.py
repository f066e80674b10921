# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator audit: what it finds in captures of machines."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from audittest import CLOCK, CMDLINE, CPU, IRQ, LIMITS, LOCKED, PRIORITY, SCHEMA, Changes, Lay, text
from clitest import CLI, NOBODY

# What a kernel without Isolator needs besides, to leave its CPUs alone as far as it can.
STOCK: Changes = {
    "/proc/isolator/status": None, "/proc/isolator/cpus": None,
    "/proc/cmdline": "ro tsc=reliable nohz_full=1-3 isolcpus=domain,managed_irq,1-3\n",
    f"{CPU}/nohz_full": "1-3\n", f"{CPU}/isolated": "1-3\n",
}


def audit(isolator: Path, root: Path, *arguments: str, **how: Any) -> tuple[int, dict[str, Any]]:
    """The exit code, and the document, which the schema allows."""
    done = subprocess.run([isolator, "audit", "--json", "--root", root, *arguments],
                          capture_output=True, text=True, check=False, **how)
    assert done.stdout, done.stderr
    assert done.stdout.count("\n") == 1 and not done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    SCHEMA.validate(document)
    verdict = {0: "fit", 2: "unfit", 3: "inconclusive"}[done.returncode]
    assert document["verdict"] == verdict
    return done.returncode, document


def told(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What was found, in short."""
    return [(f["id"], f["severity"], f["path"]) for f in document["findings"]]


@dataclass
class Fault:
    """One thing that is wrong, in a machine where all else is right."""

    changes: Changes
    id: str
    path: str
    # With Isolator and without; None: there it is no fault.
    severity: tuple[str | None, str | None] = ("warning", "warning")
    fix: str = ""
    undo: str = ""
    arguments: list[str] = field(default_factory=list)
    stock: bool = True  # it can be without Isolator


COVERED = ("info", "warning")
INFO = ("info", "info")
ERROR = ("error", "error")
TRUSTED = "only if all programs on this machine are trusted: boot with"
PREEMPT = "/sys/kernel/debug/sched/preempt"
SWAPS = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 975868 0 -2\n"
CONFIG = "/boot/config-6.12.117-isolator-cloud"
PLAIN_CPU = "flags\t\t: fpu tsc msr constant_tsc nonstop_tsc\n"
ARM_CPU = "processor\t: 0\nFeatures\t: fp asimd aes cpuid\nCPU implementer\t: 0x41\n"
USER_CLOCK = "/proc/self/clock_in_user_mode"
COUNTERS = "/sys/module/cppc_cpufreq/parameters/fie_disabled"


def simple(path: str, value: str, id: str, wanted: str, severity: tuple[str, str],
           before: str | None = None) -> Fault:
    """A file with a wrong value, which another one mends."""
    return Fault({path: value + "\n"}, id, path, severity, f"echo {wanted} > {path}",
                 f"echo {before or value} > {path}")


WARNING = ("warning", "warning")
FAULTS = [
    simple(f"{CLOCK}/current_clocksource", "hpet", "timer.clocksource", "tsc", ERROR),
    Fault({f"{CLOCK}/current_clocksource": "hpet\n",
           f"{CLOCK}/available_clocksource": "hpet acpi_pm\n"}, "timer.clocksource",
          f"{CLOCK}/current_clocksource", ERROR),
    Fault({"/proc/cpuinfo": "processor: 0\n" + PLAIN_CPU, CMDLINE: "ro rcu_nocbs=1-3\n"},
          "timer.clock-watchdog", f"{CLOCK}/available_clocksource", COVERED,
          "boot with tsc=reliable", "boot without tsc=reliable"),
    Fault({CONFIG: "CONFIG_PREEMPT_NONE=y\n"}, "kernel.preemption", CONFIG, COVERED,
          "boot a kernel with CONFIG_PREEMPT=y, or one with PREEMPT_RT"),
    Fault({CONFIG: "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n"}, "kernel.preemption",
          CONFIG, COVERED, "boot with preempt=full", "boot without preempt=full"),
    Fault({CONFIG: "CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
           CMDLINE: "ro tsc=reliable rcu_nocbs=1-3 preempt=voluntary\n"}, "kernel.preemption",
          CMDLINE, COVERED, "boot with preempt=full"),
    Fault({CONFIG: "CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
           PREEMPT: "(none) voluntary full \n"}, "kernel.preemption", PREEMPT, COVERED,
          "boot with preempt=full"),
    Fault({CMDLINE: "ro tsc=nowatchdog rcu_nocbs=1-3\n"}, "timer.clock-rounds", CMDLINE, COVERED),
    simple("/sys/devices/system/machinecheck/machinecheck0/check_interval", "300",
           "timer.machine-check", "0", COVERED),
    Fault({USER_CLOCK: "0\n"}, "timer.clock-calls", USER_CLOCK),
    Fault({"/proc/cpuinfo": ARM_CPU}, "timer.event-stream", "/proc/cpuinfo", INFO),
    simple("/proc/sys/kernel/timer_migration", "0", "timer.migration", "1", COVERED),
    simple(f"{CPU}/cpu2/cpufreq/scaling_governor", "powersave", "power.governor", "performance",
           WARNING),
    simple(f"{CPU}/cpu3/cpufreq/energy_performance_preference", "balance_performance",
           "power.preference", "performance", WARNING),
    simple(f"{CPU}/intel_pstate/no_turbo", "0", "power.turbo", "1", INFO),
    simple(f"{CPU}/cpufreq/boost", "1", "power.turbo", "0", INFO),
    simple(f"{CPU}/cpu1/cpuidle/state3/disable", "0", "power.idle-state", "1", WARNING),
    Fault({COUNTERS: "0\n"}, "power.counter-reads", COUNTERS, COVERED,
          "boot with cppc_cpufreq.fie_disabled=1", "boot without cppc_cpufreq.fie_disabled=1"),
    simple(IRQ, "0-3", "irq.affinity", "0", COVERED),
    # Isolator leaves this one where it is: no other CPU is named.
    simple(IRQ, "2", "irq.affinity", "0", WARNING),
    simple(IRQ, "0,2-3", "irq.affinity", "0", COVERED),
    # Sent elsewhere, but it did not come since: nothing is to be written.
    Fault({"/proc/irq/24/effective_affinity_list": "1\n"}, "irq.pending",
          "/proc/irq/24/effective_affinity_list", INFO),
    Fault({"/proc/irq/25/effective_affinity_list": "2\n",
           "/proc/irq/25/smp_affinity_list": "0-3\n"}, "irq.managed",
          "/proc/irq/25/smp_affinity_list", COVERED, "boot with isolcpus=managed_irq,1-3"),
    Fault({"/proc/irq/25/effective_affinity_list": "2\n", "/proc/irq/25/smp_affinity_list": "2\n"},
          "irq.managed", "/proc/irq/25/smp_affinity_list", INFO),
    # The mode of older kernels' files says nothing, but what root can read does.
    Fault({IRQ: "0-3\n", "/proc/irq/24/effective_affinity_list": "1\n",
           "/sys/kernel/debug/irq/irqs/24": "handler: x\ndstate: IRQD_AFFINITY_MANAGED\n"},
          "irq.managed", IRQ, COVERED),
    simple("/proc/irq/default_smp_affinity", "f", "irq.default", "1", COVERED),
    simple("/proc/irq/default_smp_affinity", "00000000,0000000e", "irq.default", "1", COVERED),
    simple("/sys/class/net/eth0/queues/rx-0/rps_cpus", "e", "irq.packets", "0", COVERED),
    Fault({"/proc/512/comm": "irqbalance\n"}, "irq.irqbalance", "/proc/512/comm", ("info", None)),
    Fault({"/proc/512/comm": "irqbalance\n", f"{CPU}/isolated": "1-2\n", f"{CPU}/nohz_full": "\n",
           "/etc/default/irqbalance": "# x\nIRQBALANCE_BANNED_CPULIST=2\n"}, "irq.irqbalance",
          "/proc/512/comm", ("info", None), arguments=["-c", "1-3"], stock=False),
    simple("/sys/kernel/debug/sched/fair_server/cpu2/runtime", "50000000", "sched.fair-server",
           "0", COVERED),
    simple("/proc/sys/kernel/watchdog_cpumask", "0-3", "sched.watchdog", "0", COVERED),
    Fault({"/proc/sys/kernel/sched_rt_runtime_us": "950000\n"}, "sched.rt-throttling",
          "/proc/sys/kernel/sched_rt_runtime_us", INFO),
    # Also where no fair server does that work.
    Fault({"/proc/sys/kernel/sched_rt_runtime_us": "950000\n", "/boot/config-6.1.0-44": "#\n",
           "/proc/sys/kernel/osrelease": "6.1.0-44\n"}, "sched.rt-throttling",
          "/proc/sys/kernel/sched_rt_runtime_us", INFO),
    simple("/sys/devices/virtual/workqueue/cpumask", "f", "sched.workqueues", "1", COVERED),
    simple("/sys/devices/virtual/workqueue/writeback/cpumask", "e", "sched.workqueues", "1",
           COVERED),
    Fault({"/proc/2/status": "Name:\tkthreadd\nCpus_allowed_list:\t0-3\n"},
          "sched.kernel-threads", "/proc/2/status", COVERED),
    Fault({"/sys/fs/cgroup/rt.slice/cpuset.cpus.partition":
           "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n"}, "sched.partition",
          "/sys/fs/cgroup/rt.slice/cpuset.cpus.partition"),
    Fault({"/sys/fs/cgroup/rt.slice/a.b/cpuset.cpus.partition": "root invalid (x)\n"},
          "sched.partition", "/sys/fs/cgroup/rt.slice/a.b/cpuset.cpus.partition"),
    Fault({"/proc/700/comm": "tuned\n", "/etc/tuned/active_profile": "balanced\n"}, "sched.tuned",
          "/etc/tuned/active_profile"),
    Fault({"/proc/self/limits": LIMITS + LOCKED.format(8388608) + PRIORITY.format(1)},
          "sched.lock-limit", "/proc/self/limits"),
    Fault({"/proc/self/limits": LIMITS + LOCKED.format("unlimited") + PRIORITY.format(0)},
          "sched.priority-limit", "/proc/self/limits"),
    simple("/sys/kernel/mm/ksm/run", "1", "memory.merging", "0", COVERED),
    simple("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never",
           "memory.huge-pages", "madvise", COVERED, "always"),
    simple("/sys/kernel/mm/transparent_hugepage/defrag", "[always] defer madvise never",
           "memory.huge-page-stalls", "madvise", WARNING, "always"),
    simple("/proc/sys/kernel/numa_balancing", "1", "memory.numa-balancing", "0", COVERED),
    simple("/proc/sys/vm/compaction_proactiveness", "20", "memory.compaction", "0", COVERED),
    Fault({"/proc/swaps": SWAPS}, "memory.swap", "/proc/swaps", COVERED, "swapoff -a", "swapon -a"),
    Fault({"/proc/sys/vm/stat_interval": "1\n"}, "memory.statistics",
          "/proc/sys/vm/stat_interval", ("info", None)),
    Fault({"/sys/module/kfence/parameters/sample_interval": "100\n",
           CONFIG: "CONFIG_KFENCE_STATIC_KEYS=y\n"}, "memory.kfence",
          "/sys/module/kfence/parameters/sample_interval", COVERED),
    simple("/sys/module/kfence/parameters/sample_interval", "100", "memory.kfence", "0", INFO),
    simple("/sys/kernel/tracing/current_tracer", "function", "trace.tracer", "nop", WARNING),
    simple("/sys/kernel/tracing/instances/mine/current_tracer", "hwlat", "trace.tracer", "nop",
           WARNING),
    Fault({"/sys/kernel/tracing/set_event": "sched:sched_switch\nirq:irq_handler_entry\n"},
          "trace.events", "/sys/kernel/tracing/set_event", WARNING,
          "echo > /sys/kernel/tracing/set_event",
          "printf '%s\\n' sched:sched_switch irq:irq_handler_entry > "
          "/sys/kernel/tracing/set_event"),
    Fault({"/sys/kernel/tracing/kprobe_events": "p:kprobes/a do_exit x=$stack0\n"}, "trace.probes",
          "/sys/kernel/tracing/kprobe_events", WARNING, "echo > /sys/kernel/tracing/kprobe_events",
          "echo 'p:kprobes/a do_exit x=$stack0' > /sys/kernel/tracing/kprobe_events"),
    Fault({"/proc/isolator/cpus": "1-2\n"}, "kernel.allowed", "/proc/isolator/cpus",
          ("warning", None), "echo 1-3 > /proc/isolator/cpus", "echo 1-2 > /proc/isolator/cpus",
          ["-c", "1-3"], stock=False),
    Fault({CONFIG: "# x\nCONFIG_PROVE_LOCKING=y\n"}, "kernel.debugging", CONFIG),
    Fault({"/proc/config": "CONFIG_KASAN=y\n"}, "kernel.debugging", "/proc/config"),
    Fault({CMDLINE: "ro tsc=reliable rcu_nocbs=1-3 nohz=off\n"}, "boot.crippled", CMDLINE, ERROR),
    Fault({f"{CPU}/nohz_full": "1-2\n"}, "boot.nohz-full", f"{CPU}/nohz_full", (None, "warning"),
          "boot with nohz_full=1-3", arguments=["-c", "1-3"]),
    Fault({f"{CPU}/isolated": "\n"}, "boot.isolcpus", f"{CPU}/isolated", (None, "warning"),
          "boot with isolcpus=domain,managed_irq,1-3"),
    Fault({CMDLINE: "ro tsc=reliable xrcu_nocbs=1-3 rcu_nocbs=1-2\n"}, "boot.rcu-nocbs", CMDLINE,
          (None, "warning"), "boot with rcu_nocbs=1-3"),
    Fault({"/proc/cpuinfo": PLAIN_CPU.replace("msr", "tsc_adjust hypervisor")
           .join(["processor: 0\n", ""])}, "machine.virtual", "/proc/cpuinfo", INFO),
    Fault({"/sys/class/dmi/id/sys_vendor": "QEMU\n"}, "machine.virtual",
          "/sys/class/dmi/id/sys_vendor", INFO),
    Fault({"/proc/device-tree/compatible": "linux,dummy-virt\0"}, "machine.virtual",
          "/proc/device-tree/compatible", INFO),
    Fault({"/proc/device-tree/hypervisor/compatible": "xen,xen-4.17\0xen,xen\0"},
          "machine.virtual", "/proc/device-tree/hypervisor/compatible", INFO),
    Fault({f"{CPU}/cpu2/topology/thread_siblings_list": "2-3\n"}, "machine.siblings",
          f"{CPU}/cpu3/online", WARNING, f"echo 0 > {CPU}/cpu3/online",
          f"echo 1 > {CPU}/cpu3/online", ["-c", "1-2"]),
    Fault({f"{CPU}/cpu1/topology/thread_siblings_list": "0-1\n"}, "machine.siblings",
          f"{CPU}/cpu0/online", WARNING),
    Fault({"/sys/devices/cpu_atom/cpus": "3-7\n"}, "machine.slow-cpu",
          "/sys/devices/cpu_atom/cpus"),
    Fault({f"{CPU}/cpu{i}/cpu_capacity": f"{c}\n" for i, c in enumerate([1024, 1024, 446, 1024])},
          "machine.slow-cpu", f"{CPU}/cpu2/cpu_capacity"),
    Fault({"/sys/class/power_supply/BAT0/status": "Discharging\n"}, "machine.battery",
          "/sys/class/power_supply/BAT0/status"),
    Fault({"/dev/cpu/2/smi_count": "41\n"}, "machine.smi", "/dev/cpu/2/smi_count", INFO),
    Fault({f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI\n"}, "machine.mitigation",
          f"{CPU}/vulnerabilities/meltdown", INFO, f"{TRUSTED} pti=off"),
    Fault({f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI\n",
           "/proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\n"}, "machine.mitigation",
          f"{CPU}/vulnerabilities/meltdown", INFO, f"{TRUSTED} kpti=off"),
    Fault({f"{CPU}/vulnerabilities/mds": "Mitigation: Clear CPU buffers; SMT disabled\n"},
          "machine.mitigation", f"{CPU}/vulnerabilities/mds", INFO),
]


def test_well_configured(isolator: Path, lay: Lay) -> None:
    """Nothing is found, and most checks had something to judge."""
    code, document = audit(isolator, lay())
    assert code == 0 and document["findings"] == []
    assert document["checks"]["judged"] >= 35 and document["checks"]["unreadable"] == 0
    assert document["cpus"] == [1, 2, 3] and document["chosen"] == "isolator"
    code, document = audit(isolator, lay(STOCK, "stock"))
    assert code == 2
    assert told(document) == [("kernel.isolator", "warning", "/proc/sys/kernel/osrelease")]
    assert document["chosen"] == "nohz_full" and not document["isolator"]


@pytest.mark.parametrize(("fault", "kernel"), [
    pytest.param(fault, kernel, id=f"{fault.id}-{number}-{('isolator', 'stock')[kernel]}")
    for number, fault in enumerate(FAULTS) for kernel in range(1 + fault.stock)])
def test_fault(isolator: Path, lay: Lay, fault: Fault, kernel: int) -> None:
    """It is found, with what mends it, and nothing else is."""
    root = lay({**STOCK, **fault.changes} if kernel else fault.changes)
    code, document = audit(isolator, root, *fault.arguments)
    found = [f for f in document["findings"] if f["id"] != "kernel.isolator"]
    severity = fault.severity[kernel]
    want = [(fault.id, severity, fault.path)] if severity else []
    assert [(f["id"], f["severity"], f["path"]) for f in found] == want
    # Without Isolator, that is something to find too.
    assert code == (2 if kernel or severity in ("warning", "error") else 0)
    for finding in found:
        assert finding["why"] and finding["fix"]
        if fault.fix:
            assert finding["fix"] == fault.fix
        if fault.undo:
            assert finding["undo"] == fault.undo
        assert finding["outcome"] is None and finding["now"] is None
        assert (finding["wanted"] is None) == (finding["remedy"] != "write")


@pytest.mark.parametrize("changes", [
    {CONFIG: "CONFIG_PREEMPT_RT=y\nCONFIG_PREEMPT_NONE=y\n"},
    {CONFIG: "CONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
     CMDLINE: "ro tsc=reliable rcu_nocbs=1-3 preempt=full\n"},
    {CONFIG: "CONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
     PREEMPT: "none voluntary (lazy) \n"},
])
def test_kernels_that_preempt(isolator: Path, lay: Lay, changes: Changes) -> None:
    """Whatever they were built with."""
    assert audit(isolator, lay(changes))[1]["findings"] == []


def test_every_check_is_tested() -> None:
    """Each id that the sources know is planted somewhere in these tests."""
    sources = CLI / "audit"
    ids = {name for file in sources.glob("*.c")
           for name in re.findall(r'^\t\{ "([a-z-]+\.[a-z-]+)", AUDIT_', file.read_text(), re.M)}
    tested = {fault.id for fault in FAULTS} | {"kernel.isolator", "machine.one-cpu",
                                               "machine.first-cpu"}
    assert len(ids) > 35 and ids == tested


def test_all_cpus(isolator: Path, lay: Lay) -> None:
    """One CPU has to stay; what could be moved there cannot be."""
    _, document = audit(isolator, lay(), "--cpu", "0-3")
    assert ("machine.one-cpu", "error", f"{CPU}/online") in told(document)
    interrupt = next(f for f in document["findings"] if f["path"] == IRQ)
    assert interrupt["remedy"] == "advice" and interrupt["wanted"] is None
    code, document = audit(isolator, lay(), "--cpu", "0")
    assert code == 2
    assert ("machine.first-cpu", "info", f"{CPU}/online") in told(document)


def test_choice_of_cpus(isolator: Path, lay: Lay) -> None:
    """As the machine is set up; those offline do not count."""
    for name, changes, want in (
            ("a", {"/proc/isolator/cpus": "2-5\n"}, ("isolator", [2, 3])),
            ("b", {"/proc/isolator/cpus": "\n", f"{CPU}/nohz_full": "3\n"}, ("nohz_full", [3])),
            ("c", {"/proc/isolator/cpus": "\n", f"{CPU}/isolated": "1\n"}, ("isolated", [1])),
            ("d", {"/proc/isolator/cpus": "\n"}, ("others", [1, 2, 3])),
            ("e", {"/proc/isolator/cpus": "\n", f"{CPU}/nohz_full": "(null)\n",
                   f"{CPU}/online": "0\n"}, ("others", [0]))):
        _, document = audit(isolator, lay(changes, name))
        assert (document["chosen"], document["cpus"]) == want


def test_isolated_partition(isolator: Path, lay: Lay) -> None:
    """It does what isolcpus does, without a boot."""
    changes: Changes = {**STOCK, f"{CPU}/isolated": "1\n",
                        "/sys/fs/cgroup/cpuset.cpus.isolated": "2-3\n"}
    assert [i for i, _, _ in told(audit(isolator, lay(changes))[1])] == ["kernel.isolator"]


def test_latency_asked_for(isolator: Path, lay: Lay) -> None:
    """A deep state that somebody has asked to leave out is none."""
    deep: Changes = {f"{CPU}/cpu{cpu}/cpuidle/state3/disable": "0\n" for cpu in range(4)}
    assert len(audit(isolator, lay(deep, "a"))[1]["findings"]) == 3
    limits: Changes = {f"{CPU}/cpu1/power/pm_qos_resume_latency_us": "n/a\n",
                       f"{CPU}/cpu2/power/pm_qos_resume_latency_us": "20\n"}
    found = told(audit(isolator, lay({**deep, **limits}, "b"))[1])
    assert [path for _, _, path in found] == [f"{CPU}/cpu3/cpuidle/state3/disable"]
    held: Changes = {"/dev/cpu_dma_latency": b"\x05\0\0\0"}
    assert audit(isolator, lay({**deep, **held}, "c"))[1]["findings"] == []
    held = {"/dev/cpu_dma_latency": (2_000_000_000).to_bytes(4, "little")}
    assert len(audit(isolator, lay({**deep, **held}, "d"))[1]["findings"]) == 3


def test_other_clocks_that_are_no_fault(isolator: Path, lay: Lay) -> None:
    """Read in user mode; slow, which is said of the clock itself; counters that nobody reads."""
    changes: Changes = {USER_CLOCK: "1\n", COUNTERS: "-1\n",
                        "/proc/cpuinfo": ARM_CPU.replace("aes", "evtstrm aes")}
    assert audit(isolator, lay(changes, "a"))[1]["findings"] == []
    slow: Changes = {USER_CLOCK: "0\n", f"{CLOCK}/current_clocksource": "acpi_pm\n"}
    assert [i for i, _, _ in told(audit(isolator, lay(slow, "b"))[1])] == ["timer.clocksource"]


def test_trusted_clock(isolator: Path, lay: Lay) -> None:
    """The kernel does not compare a good TSC, but in many sockets none is good."""
    plain: Changes = {CMDLINE: "ro rcu_nocbs=1-3\n"}
    assert [i for i, _, _ in told(audit(isolator, lay(plain, "a"))[1])] == ["timer.clock-rounds"]
    sockets: Changes = {f"{CPU}/cpu{i}/online": "1\n" for i in range(1, 5)}
    sockets |= {f"{CPU}/cpu{i}/topology/physical_package_id": f"{i}\n" for i in range(5)}
    sockets[f"{CPU}/online"] = "0-4\n"
    found = told(audit(isolator, lay({**plain, **sockets}, "b"))[1])
    assert [i for i, _, _ in found] == ["timer.clock-watchdog", "timer.clock-rounds"]


def test_what_irqbalance_spares(isolator: Path, lay: Lay) -> None:
    """Where it is told to leave all of them alone, it does no harm."""
    runs: Changes = {"/proc/512/comm": "irqbalance\n"}
    config = "/etc/default/irqbalance"
    for where, banned, want in (("a", 'IRQBALANCE_BANNED_CPULIST="1-3"\n', 0),
                                ("b", "#IRQBALANCE_BANNED_CPULIST=1-3\n", 1),
                                ("c", "IRQBALANCE_BANNED_CPULIST=1,3\n", 1)):
        _, document = audit(isolator, lay({**runs, config: banned}, where))
        assert len(document["findings"]) == want


def test_second_process_of_a_container(isolator: Path, lay: Lay) -> None:
    """It is no thread of the kernel."""
    changes: Changes = {"/proc/2/status": "Name:\tbash\nCpus_allowed_list:\t0-3\n"}
    assert audit(isolator, lay(changes))[1]["findings"] == []


def test_severity(isolator: Path, lay: Lay) -> None:
    """The least that decides, and nothing below it."""
    note = lay({f"{CPU}/intel_pstate/no_turbo": "0\n"}, "note")
    warning = lay({f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave\n"}, "warning")
    error = lay({f"{CLOCK}/current_clocksource": "hpet\n"}, "error")
    codes = [[audit(isolator, root, "--severity", least)[0] for root in (note, warning, error)]
             for least in ("info", "warning", "error")]
    assert codes == [[2, 2, 2], [0, 2, 2], [0, 0, 2]]


def test_compressed_config(isolator: Path, lay: Lay) -> None:
    """The kernel's own configuration comes first; without zcat that is said."""
    root = lay()
    (root / "proc/config.gz").write_bytes(gzip.compress(b"# x\nCONFIG_KCSAN=y\n"))
    _, document = audit(isolator, root)
    assert told(document) == [("kernel.debugging", "warning", "/proc/config")]
    # What it lacks then is the other one's to say.
    assert audit(isolator, root, env={"PATH": "/nowhere"})[1]["findings"] == []
    (root / CONFIG[1:]).unlink()
    for path, why in (("/nowhere", "no zcat"), (os.environ["PATH"], "cannot unpack")):
        code, document = audit(isolator, root, env={"PATH": path})
        assert code == 0 and told(document) == [("audit.unread", "info", "/proc/config.gz")]
        assert why in document["findings"][0]["value"]
        (root / "proc/config.gz").write_bytes(b"no gzip")


def test_unreadable(isolator: Path, lay: Lay) -> None:
    """What may not be read is told, and is no verdict; nothing at all is inconclusive."""
    root = lay({f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave\n"})
    (root / "sys/kernel/debug").chmod(0)
    (root / "proc/sys/vm/stat_interval").chmod(0)
    code, document = audit(isolator, root, **NOBODY)
    assert code == 2
    fair = "/sys/kernel/debug/sched/fair_server/cpu{}/runtime"
    assert told(document) == [
        ("power.governor", "warning", f"{CPU}/cpu1/cpufreq/scaling_governor"),
        ("audit.unread", "info", fair.format(1)), ("audit.unread", "info", fair.format(2)),
        ("audit.unread", "info", fair.format(3)),
        ("audit.unread", "info", "/proc/sys/vm/stat_interval"),
        ("audit.unread", "info", "/sys/module/kfence/parameters/sample_interval")]
    assert document["checks"]["unreadable"] == 3
    assert {f["value"] for f in document["findings"][1:]} == {"Permission denied"}
    for directory in ("proc", "sys", "boot", "etc", "dev"):
        if (root / directory).exists():
            (root / directory).chmod(0)
    done = subprocess.run([isolator, "audit", "--root", root], capture_output=True, text=True,
                          check=False, **NOBODY)
    assert done.returncode == 3 and "nothing can be judged" in done.stderr


def test_locked_down(isolator: Path, lay: Lay) -> None:
    """What no right opens has another remedy than to be root."""
    path = "/sys/kernel/debug/sched/fair_server/cpu1/runtime"
    root = lay({path: None, "/isolator-audit": f"isolator-audit 1\nunreadable EPERM {path}\n"
                "unreadable EPERM /proc/sys/vm/stat_interval\n"})
    _, document = audit(isolator, root, "-c", "1")
    fixes = {f["path"]: f["fix"] for f in document["findings"]}
    assert "locked down" in fixes[path] and "as root" not in fixes[path]
    assert fixes["/proc/sys/vm/stat_interval"].startswith("run isolator audit as root")


def test_nothing_there(isolator: Path, tmp_path: Path) -> None:
    """A directory that is no capture is inconclusive; one that is not there is an error."""
    done = subprocess.run([isolator, "audit", "--root", tmp_path], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 3 and "is it a capture" in done.stderr and not done.stdout
    for arguments, words in ((["--root", str(tmp_path / "no")], "it must be a directory"),
                             (["--severity", "bad"], "one of info|warning|error"),
                             (["-c", "x"], "is not a list of CPUs")):
        done = subprocess.run([isolator, "audit", *arguments], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 1 and words in " ".join(done.stderr.split())


def test_next_to_nothing_there(isolator: Path, tmp_path: Path) -> None:
    """That CPUs are online says nothing about them."""
    (tmp_path / CPU[1:]).mkdir(parents=True)
    (tmp_path / CPU[1:] / "online").write_text("0-3\n")
    code, document = audit(isolator, tmp_path)
    assert code == 3 and document["checks"]["judged"] == 0
    assert "inconclusive, no file was readable" in text(isolator, tmp_path)


def test_no_tickless_kernel(isolator: Path, lay: Lay) -> None:
    """Without the file no boot parameter helps."""
    code, document = audit(isolator, lay({**STOCK, f"{CPU}/nohz_full": None}))
    assert code == 2 and [i for i, _, _ in told(document)] == ["kernel.isolator", "boot.nohz-full"]
    assert "CONFIG_NO_HZ_FULL" in document["findings"][1]["fix"]


def test_cpu_that_is_not_there(isolator: Path, lay: Lay) -> None:
    """Said, with those that are."""
    done = subprocess.run([isolator, "audit", "--root", lay(), "-c", "2,7"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and "7 not online; online are 0-3" in done.stderr


def test_garbage(isolator: Path, lay: Lay, good: dict[str, tuple[str, int]]) -> None:
    """A file that holds something else is told as such, and does no harm."""
    for n, garbage in enumerate((b"", b"\xff\xfe\0x", b"-" * 5000, b"1-2-3,,\n", b"[\n")):
        changes: Changes = {path: garbage for path in good if path != f"{CPU}/online"}
        audit(isolator, lay(changes, f"garbage{n}"))
    _, document = audit(isolator, lay({"/proc/sys/vm/stat_interval": "soon\n"}))
    assert told(document) == [("audit.unread", "info", "/proc/sys/vm/stat_interval")]
    assert document["findings"][0]["value"] == 'it holds no number: "soon"'


def test_schema_is_closed(isolator: Path, lay: Lay) -> None:
    """A key that is missing or unknown is not valid."""
    _, document = audit(isolator, lay({IRQ: "0-3\n"}))
    finding = document["findings"][0]
    for whole, make in ((document, lambda d: d),
                        (finding, lambda f: {**document, "findings": [f]})):
        for key in list(whole):
            with pytest.raises(jsonschema.ValidationError):
                SCHEMA.validate(make({k: v for k, v in whole.items() if k != key}))
        with pytest.raises(jsonschema.ValidationError):
            SCHEMA.validate(make({**whole, "more": 1}))


def test_this_machine(isolator: Path) -> None:
    """The running one is read as a capture is; whether it is fit is not for this test."""
    code, document = audit(isolator, Path("/"))
    assert code in (0, 2) and document["source"] == "machine"
    assert document["kernel"] == os.uname().release and document["checks"]["judged"] > 10


def test_names_that_only_begin_as_numbers(isolator: Path, lay: Lay) -> None:
    """Neither an interrupt nor a process is called so."""
    root = lay({"/proc/irq/24;id/smp_affinity_list": "0-3\n", "/proc/512;id/comm": "irqbalance\n"})
    code, document = audit(isolator, root)
    assert code == 0 and not told(document)
