#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: instrument
# cpus: 4
# kernel: distro
# timeout: 90
# about: the snapshot sees each kind of change, and names what changes by itself
import os
import subprocess
import time

import snapshot
from machine import check, done, has_isolator, note, read, same, there, until, write

before = snapshot.take()
began = time.monotonic()
before = snapshot.take()
note(f"{len(before)} entries in {time.monotonic() - began:.1f} s")
for top in ("/proc/sys", "/proc/irq", "/sys/devices/system/cpu", "/sys/module", "/sys/fs/cgroup",
            "/sys/devices/virtual/workqueue", "/sys/kernel/mm", "task kernel", "task user"):
    count = sum(key.startswith(top) for key in before)
    check(count > 3, f"{top}: {count} entries")
noise = snapshot.noise()
for key in sorted(noise):
    note(f"changes by itself: {key}")
for pattern, why in snapshot.OWN.items():
    note(f"left out: {pattern}: {why}")
check(len(noise) < 30, f"{len(noise)} entries change by themselves")
failed = subprocess.run(["systemctl", "--failed", "--plain", "--no-legend"], capture_output=True,
                        text=True, check=True).stdout
check(not failed, "systemd has no unit that failed", failed)

SETTINGS = {
    "/proc/sys/kernel/watchdog_thresh": "11", "/proc/sys/vm/stat_interval": "7",
    "/proc/irq/8/smp_affinity_list": "0-2", "/proc/irq/default_smp_affinity": "7",
    "/sys/devices/virtual/workqueue/cpumask": "7",
    "/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us": "n/a",
    "/sys/module/kfence/parameters/sample_interval": "77",
    "/sys/kernel/mm/ksm/sleep_millisecs": "21", "/sys/fs/cgroup/init.scope/cgroup.freeze": "0",
}
if has_isolator():
    SETTINGS = {path: value for path, value in SETTINGS.items() if there(path)}
sleeper = subprocess.Popen(["sleep", "60"])
until(lambda: read(f"/proc/{sleeper.pid}/comm") == "sleep")
start = snapshot.take()
for path, value in SETTINGS.items():
    old = read(path)
    write(path, value)
    expected = old != value
    seen = [line for line in snapshot.differences(start, snapshot.take())
            if line.startswith(f"{path}: ")]
    check(bool(seen) == expected, f"{path}: {old} to {value}: seen", *seen)
    write(path, old)
os.sched_setaffinity(sleeper.pid, {2})
check(any(f"task user {sleeper.pid} " in d for d in snapshot.differences(start, snapshot.take())),
      "an affinity is seen")
os.sched_setaffinity(sleeper.pid, {0, 1, 2, 3})
os.sched_setscheduler(sleeper.pid, os.SCHED_FIFO, os.sched_param(3))
check(any(f"task user {sleeper.pid} " in d for d in snapshot.differences(start, snapshot.take())),
      "a policy is seen")
os.sched_setscheduler(sleeper.pid, os.SCHED_OTHER, os.sched_param(0))
os.mkdir("/sys/fs/cgroup/isolator.1")
check(any("/isolator.1/" in d for d in snapshot.differences(start, snapshot.take())),
      "a cgroup is seen")
os.rmdir("/sys/fs/cgroup/isolator.1")
os.mkdir("/run/isolator")
check(any("/run/isolator/" in d for d in snapshot.differences(start, snapshot.take())),
      "a directory of journals is seen")
os.rmdir("/run/isolator")
second = subprocess.Popen(["sleep", "60"])
check(any(f"task user {second.pid} " in d for d in snapshot.differences(start, snapshot.take())),
      "a process that was not there is seen")
for process in (second, sleeper):
    process.kill()
    process.wait()
same(start, "after all of these")
done()
