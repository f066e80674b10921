#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: audit-fix
# cpus: 4
# kernel: distro
# timeout: 180
# about: isolator audit finds what is planted, --fix mends it, restore undoes that
import os

import snapshot
from machine import (
    check,
    document,
    done,
    has_isolator,
    isolator,
    note,
    read,
    running,
    same,
    there,
    write,
)

TRACING = "/sys/kernel/tracing"
THP = "/sys/kernel/mm/transparent_hugepage"
# Of which check, where, what is wrong, and what mends it.
PLANTED: tuple[tuple[str, str, str, str], ...] = (
    ("irq.affinity", "/proc/irq/8/smp_affinity_list", "1", "0,2-3"),
    ("irq.affinity", "/proc/irq/9/smp_affinity_list", "1-2", "2"),
    ("irq.default", "/proc/irq/default_smp_affinity", "2", "d"),
    ("irq.packets", "/sys/class/net/lo/queues/rx-0/rps_cpus", "2", "0"),
    ("timer.machine-check", "/sys/devices/system/machinecheck/machinecheck0/check_interval", "77",
     "0"),
    ("timer.migration", "/proc/sys/kernel/timer_migration", "0", "1"),
    ("sched.rt-throttling", "/proc/sys/kernel/sched_rt_runtime_us", "900000", "-1"),
    # As it was: Linux 6.12 takes another only while there is no throttling.
    ("sched.fair-server", "/sys/kernel/debug/sched/fair_server/cpu1/runtime", "", "0"),
    ("sched.watchdog", "/proc/sys/kernel/watchdog_cpumask", "1,3", "3"),
    ("sched.workqueues", "/sys/devices/virtual/workqueue/cpumask", "3", "1"),
    ("memory.merging", "/sys/kernel/mm/ksm/run", "1", "0"),
    ("memory.huge-pages", f"{THP}/enabled", "always", "madvise"),
    ("memory.huge-page-stalls", f"{THP}/defrag", "always", "madvise"),
    ("memory.compaction", "/proc/sys/vm/compaction_proactiveness", "50", "0"),
    ("memory.statistics", "/proc/sys/vm/stat_interval", "2", "10"),
    # Once a minute: each sample patches the kernel's text.
    ("memory.kfence", "/sys/module/kfence/parameters/sample_interval", "60000", "0"),
    ("trace.events", f"{TRACING}/set_event", "sched:sched_process_exit", ""),
    ("trace.probes", f"{TRACING}/kprobe_events", "p:kprobes/isolab do_exit", ""),
)
# PREEMPT_RT has no huge pages of its own accord.
if "PREEMPT_RT" in os.uname().version:
    PLANTED = tuple(plant for plant in PLANTED if not plant[1].startswith(THP))
# What no setting mends: found, and left; a kernel with Isolator does without.
LEFT = ("kernel.isolator", "boot.nohz-full", "boot.isolcpus", "boot.rcu-nocbs")
if has_isolator():
    # An interrupt that no driver has is nobody's: the directory is the driver's.
    drivers = {"/proc/irq/8/smp_affinity_list": "/proc/irq/8/rtc0"}
    PLANTED = tuple(p for p in PLANTED if there(p[1]) and there(drivers.get(p[1], p[1])))
AUDIT = ("audit", "-c", "1", "--json")


def shown(path: str) -> str:
    """The value that is in force."""
    text = read(path)
    return text.split("[")[1].split("]")[0] if "[" in text else text


snapshot.noise()
before = snapshot.take()
old = {path: shown(path) for _, path, _, _ in PLANTED}
note(isolator("audit", "-c", "1").stdout)
for _, path, value, _ in PLANTED:
    if value:
        write(path, value)
planted = snapshot.take()

found = {(f["id"], f["path"]): f for f in document(*AUDIT)["findings"]}
ids = {f["id"] for f in found.values()}
for id, path, value, _ in PLANTED:
    finding = found.get((id, path))
    if check(finding, f"{id}: {path} = {value}: found", sorted(ids)) and finding:
        check(value in finding["value"], f"{id}: with its value", finding)
        check(finding["remedy"] == "write", f"{id}: --fix can mend it", finding)
if has_isolator():
    check(not set(LEFT) & ids, "no boot parameter is missing", ids)
else:
    check(set(LEFT) <= ids, "what no setting mends is found too", ids)
check(len({id for id, *_ in PLANTED}) >= 12, "at least 12 kinds")

# Only errors are asked for: none is one, and all stays.
isolator(*AUDIT, "--fix", "--severity", "error")
same(planted, "--fix --severity error")

fixed = document(*AUDIT, "--fix", "--severity", "info")
outcome = {f["path"]: f["outcome"] for f in fixed["findings"]}
for id, path, _, wanted in PLANTED:
    check(outcome.get(path) == "fixed", f"{id}: {outcome.get(path)}", outcome)
    check(shown(path) == wanted, f"{path} is {shown(path)!r} now, and was to be {wanted!r}")
again = {(f["id"], f["path"]) for f in document(*AUDIT)["findings"]}
for id, path, _, _ in PLANTED:
    check((id, path) not in again, f"{id}: {path}: not found any more")
left = {f["path"]: f for f in fixed["findings"] if f["outcome"] not in ("fixed", None)}
check(not left, "nothing was refused", left)

# A run beside it leaves the audit's settings alone.
with running("-c", "1", "--policy", "fifo") as process:
    process.terminate()
    process.wait()
check(read("/proc/sys/vm/stat_interval") == "10", "a run leaves what --fix has set")
restored = isolator("restore")
check(restored.returncode == 0, "restore", restored.stdout, restored.stderr)
same(planted, "restored")
for path, value in old.items():
    if shown(path) != value:
        # An empty line empties a list of events or probes only where it is opened so.
        if value:
            write(path, value)
        else:
            open(path, "w").close()
same(before, "in the end")
done()
