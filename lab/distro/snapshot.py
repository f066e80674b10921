# SPDX-License-Identifier: GPL-2.0-or-later
"""All that a command may have changed of the machine, as a table; and how two of them differ."""

import json
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

Snapshot = dict[str, str]

TREES = (
    "/proc/sys", "/proc/irq", "/sys/devices/system/cpu", "/sys/devices/system/clocksource",
    "/sys/devices/system/machinecheck", "/sys/devices/virtual/workqueue", "/sys/kernel/mm",
    "/sys/kernel/debug/sched",
)
CGROUPS = "/sys/fs/cgroup"
CGROUP_FILES = re.compile(
    r"cpuset\..*|cgroup\.(controllers|subtree_control|type|freeze|max\..*)|cpu\.(max|weight).*"
)
TRACING = "/sys/kernel/tracing"
GLOBS = (
    "/sys/module/*/parameters/*",
    "/sys/class/net/*/queues/*/*_cpus",
    "/run/isolator",
    "/run/isolator/*",
    f"{TRACING}/instances/*",
    f"{TRACING}/osnoise/*",
    f"{TRACING}/hwlat_detector/*",
    *(f"{TRACING}/{name}" for name in (
        "current_tracer", "kprobe_events", "set_event", "trace_clock",
        "tracing_cpumask", "tracing_on", "tracing_thresh", "uprobe_events",
    )),
)
# Of these the directories count too.
MADE = ("/run/isolator", f"{TRACING}/instances")
# Files of which one is the kernel's own count or choice, not a setting: they move whenever the
# machine does anything.  Each is named here; all others are seen to change by themselves first.
OWN = {
    r"/proc/sys/fs/(dentry|inode|file)-\S+": "counts of what is open and cached",
    r"/proc/sys/kernel/ns_last_pid": "the last process's number",
    r"/proc/sys/kernel/random/(uuid|boot_id|entropy_avail)": "random",
    r"/proc/sys/kernel/pty/nr": "a count",
    r"/proc/sys/kernel/perf_event_max_sample_rate|/proc/sys/kernel/perf_cpu_time_max_percent":
        "the kernel lowers it on a slow machine",
    r"/proc/irq/\d+/spurious": "counts",
    r"/proc/irq/\d+/effective_affinity(_list)?": "one CPU of smp_affinity, which the kernel takes",
    r"/sys/devices/system/cpu/cpu\d+/(cpuidle/.*/(usage|time|above|below|rejected)|.*_time)":
        "counts",
    r"/sys/devices/system/cpu/.*/(power/(runtime|wakeup)\S*|crash_notes)": "counts",
    r"/sys/kernel/mm/.*/(stats/.*|nr_hugepages_mempolicy|pages_\S+|full_scans|general_profit)":
        "counts",
    r"/sys/kernel/mm/ksm/(stable_node_\S+|ksm_zero_pages)": "counts",
    r"/sys/kernel/debug/sched/debug": "state of the run queues",
}
OWN_FILES = re.compile("|".join(f"(?:{pattern})" for pattern in OWN))
NOISE = Path("/run/isolab.noise")
PF_KTHREAD, PF_NO_SETAFFINITY = 0x00200000, 0x04000000


def _text(path: str) -> str:
    """What the file shows, or why it shows nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as e:
        return f"({e.strerror})"
    try:
        return os.read(fd, 65536).decode(errors="replace")
    except OSError as e:
        return f"({e.strerror})"
    finally:
        os.close(fd)


def _files(top: str) -> Iterator[str]:
    for entry in os.scandir(top):
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        # Some that are only written do something when they are read.
        elif (
            entry.is_file(follow_symlinks=False)
            and stat.S_IMODE(entry.stat().st_mode) & 0o444
            and not OWN_FILES.fullmatch(entry.path)
        ):
            yield entry.path


def _cgroups(path: str, found: Snapshot) -> None:
    found[f"{path}/"] = "cgroup"
    for entry in os.scandir(path):
        if entry.is_dir(follow_symlinks=False):
            _cgroups(entry.path, found)
        elif CGROUP_FILES.fullmatch(entry.name):
            found[entry.path] = _text(entry.path)


def _task(path: str) -> tuple[str, str] | None:
    """A name that no other task ever has, and how it is scheduled; None: it has ended."""
    line = _text(f"{path}/stat")
    match = re.fullmatch(r"(\d+) \((.*)\) (\S+) (.*)\n", line, re.DOTALL)
    if not match:
        return None
    fields = match[4].split()
    flags, nice, start = int(fields[5]), fields[15], fields[18]
    policy, priority = fields[37], fields[36]
    tid = int(match[1])
    try:
        cpus = sorted(os.sched_getaffinity(tid))
    except ProcessLookupError:
        return None
    kernel = bool(flags & PF_KTHREAD)
    kind = "kernel" if kernel else "user"
    bound = " bound" if flags & PF_NO_SETAFFINITY else ""
    # A worker's name says what it does just now.
    name = match[2].split("-")[0] if match[2].startswith("kworker") else match[2]
    group = "" if kernel else _text(f"{path}/cgroup").strip()
    return (
        f"task {kind}{bound} {tid} from {start} {name}",
        f"cpus {cpus} policy {policy} priority {priority} nice {nice} {group}".strip(),
    )


def _tasks(found: Snapshot) -> None:
    for process in os.listdir("/proc"):
        if not process.isdigit():
            continue
        try:
            tids = os.listdir(f"/proc/{process}/task")
        except OSError:
            continue
        for tid in tids:
            if task := _task(f"/proc/{process}/task/{tid}"):
                found[task[0]] = task[1]


def take() -> Snapshot:
    """The machine as it is."""
    found: Snapshot = {}
    for tree in TREES:
        if os.path.isdir(tree):
            for path in _files(tree):
                found[path] = _text(path)
    for pattern in GLOBS:
        for file in Path("/").glob(pattern[1:]):
            if not file.is_dir():
                found[str(file)] = _text(str(file))
            elif pattern.startswith(MADE):
                found[f"{file}/"] = "directory"
    found["modules"] = " ".join(sorted(os.listdir("/sys/module")))
    found["/dev/cpu_dma_latency"] = _latency()
    _cgroups(CGROUPS, found)
    _tasks(found)
    return found


def _latency() -> str:
    try:
        with open("/dev/cpu_dma_latency", "rb") as device:
            return device.read(4).hex()
    except FileNotFoundError:
        return "(a kernel without idle states)"


def _differences(before: Snapshot, after: Snapshot) -> dict[str, str]:
    """Each key that differs, with what it was and is."""
    found = {}
    threads = {value for key, value in before.items() if key.startswith("task kernel ")}
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if key.startswith("task ") and new is None:
            continue
        # Threads of the kernel come as there is work, bound to a CPU, or as free as others were.
        if old is None and (key.startswith("task kernel bound ") or
                            (key.startswith("task kernel ") and new in threads)):
            continue
        found[key] = f"was {old!r}, is {new!r}"
    return found


def noise() -> set[str]:
    """What changes by itself, found out once a guest, by looking twice with nothing between."""
    if not NOISE.exists():
        first = take()
        time.sleep(1)
        second = take()
        time.sleep(1)
        third = take()
        changed = {*_differences(first, second), *_differences(second, third)}
        NOISE.write_text(json.dumps(sorted(changed)))
    return set(json.loads(NOISE.read_text()))


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """One line for each difference that is not noise."""
    own = noise()
    return [f"{k}: {v}" for k, v in _differences(before, after).items() if k not in own]


def settled(before: Snapshot, patience_s: float = 3) -> list[str]:
    """The same for now; what a process that has just ended still holds has time to go."""
    stop = time.monotonic() + patience_s
    while True:
        left = differences(before, take())
        if not left or time.monotonic() > stop:
            return left
        time.sleep(0.2)
