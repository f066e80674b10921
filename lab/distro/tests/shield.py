#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: shield
# cpus: 4
# kernel: distro
# timeout: 300
# about: isolator shield: what it moves, what may enter, and all back by clear or after SIGKILL
import os
import random
import re
import subprocess
import time
from pathlib import Path

import snapshot
from machine import (
    ISOLATOR,
    check,
    document,
    done,
    isolator,
    note,
    read,
    running,
    until,
    write,
)

ROUNDS = 4
JOURNAL = Path("/run/isolator/shield")
SERVICE = "isolab-shielded.service"
WANTED = {
    "/proc/irq/default_smp_affinity": "7",
    "/sys/devices/virtual/workqueue/cpumask": "7", "/proc/sys/kernel/watchdog_cpumask": "0-2",
    "/proc/sys/kernel/timer_migration": "1", "/proc/sys/vm/stat_interval": "3600",
}
ALL, REST = {0, 1, 2, 3}, {0, 1, 2}


# The thread of an interrupt follows that, and where it goes within its affinity the kernel chooses.
FOLLOWS = re.compile(r"task kernel \d+ from \d+ irq/")


def as_before(snap: snapshot.Snapshot, what: str) -> None:
    left = [line for line in snapshot.settled(snap) if not FOLLOWS.match(line)]
    if not check(not left, f"{what}: all is as before", *left[:40]):
        done()


def movable() -> str:
    """The file of an interrupt that has a handler, and whose CPUs may be chosen."""
    found = ""
    for path in sorted(Path("/proc/irq").glob("*/smp_affinity_list")):
        actions = Path("/sys/kernel/irq") / path.parent.name / "actions"
        if actions.exists() and actions.read_text().strip() and path.stat().st_mode & 0o200:
            found = found or str(path)
    if not check(found, "an interrupt may be moved"):
        done()
    return found


def cpus(pid: int) -> set[int]:
    return os.sched_getaffinity(pid)


def sleeper(*before: str) -> subprocess.Popen[bytes]:
    """One that sleeps already: it has its affinity."""
    process = subprocess.Popen([*before, "sleep", "600"])
    until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
    return process


def strangers() -> list[str]:
    """Tasks that may choose, and may run on CPU 3 and elsewhere."""
    found = []
    for key, value in snapshot.take().items():
        if key.startswith("task ") and " bound " not in key:
            allowed = value.split("[")[1].split("]")[0].split(", ")
            if "3" in allowed and len(allowed) > 1:
                found.append(f"{key}: {value}")
    return found


def shield(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    ended = isolator("shield", *arguments)
    check(ended.returncode == code, f"shield {' '.join(arguments)}: {ended.returncode}",
          ended.stdout, ended.stderr)
    return ended


seed = int(os.environ.get("SEED") or time.time_ns() % 1000000)
note(f"seed {seed}")
chance = random.Random(seed)
irq = movable()
note(f"interrupt: {irq}")
old = sleeper()
snapshot.noise()
before = snapshot.take()
check(strangers(), "tasks may run everywhere before")
shield("set", "--all", "0-3", code=1)
shield("set", "--timers", "9", code=1)
as_before(before, "refused")

# What it moves.
note(shield("set", "--all", "3").stdout)
for path, value in {irq: "0-2", **WANTED}.items():
    check(read(path) == value, f"{path} is {read(path)}, and was to be {value}")
check(not strangers(), "no task that may choose runs on CPU 3 and elsewhere", *strangers())
check(cpus(1) == REST and cpus(old.pid) == REST, f"neither systemd: {cpus(1)}")
shown = document("shield", "show", "--json")
check(shown["ticking"] == [3] and not shown["tasks"]["wrong"], "show says so too", shown)
check(not [f for f in shown["files"] if not f["fixed"]], "no interrupt that may be moved comes",
      shown["files"])

# What enters, and what is not caught.
new = sleeper()
check(cpus(new.pid) == REST, f"a program that begins now: {cpus(new.pid)}")
subprocess.run(["systemd-run", f"--unit={SERVICE}", "--quiet", "sleep", "600"], check=True)
service = int(subprocess.run(["systemctl", "show", "-P", "MainPID", SERVICE], capture_output=True,
                             text=True, check=True).stdout)
check(cpus(service) == REST, f"a service that begins now: {cpus(service)}")
inside = sleeper("taskset", "-c", "3")
check(cpus(inside.pid) == {3}, f"taskset -c 3 enters: {cpus(inside.pid)}")
os.sched_setaffinity(new.pid, {2, 3})
write(irq, "3")
text = shield("show", code=2).stdout
check(f"{new.pid} (sleep) may run on 2-3" in text, "one that names another CPU too is named", text)
check(f"{inside.pid} (" not in text and f"{irq} " not in text, "what entered is not", text)
shield("set")
check(cpus(new.pid) == {2}, f"and is moved again: {cpus(new.pid)}")
check(cpus(inside.pid) == {3} and read(irq) == "3", "what entered stays")
os.sched_setaffinity(inside.pid, REST)
check(cpus(inside.pid) == REST, "it may leave")
inside.kill()
inside.wait()
write(irq, before[irq].strip())
os.sched_setaffinity(new.pid, ALL)
shield("set")
check(read(irq) == "0-2" and cpus(new.pid) == REST, "all of that once more")

# Other masks: what was before decides.
shield("set", "--processes", "1-2", "--timers", "2")
check(cpus(1) == {0, 3}, f"systemd, outside of 1-2: {cpus(1)}")
check(cpus(new.pid) == {0, 3}, f"and one that began since: {cpus(new.pid)}")
check(read("/proc/sys/kernel/watchdog_cpumask") == "0-1,3" and read(irq) == "0-2",
      "the watchdog too, and interrupts as they were")
shield("clear", "--processes", "0-3")
check(cpus(1) == ALL and cpus(service) == ALL, "clear of one mask")
check(read(irq) == "0-2", "leaves the others")
shield("set", "--processes", "3")
check(cpus(service) == REST, "and back")

# A run on a shielded CPU.
during = snapshot.take()
with running("-c", "3") as process:
    refused = shield("clear", code=1)
    check("a run has changed settings" in " ".join(refused.stderr.split()),
          "not while a run lives", refused.stderr)
    process.terminate()
    process.wait()
as_before(during, "a run on it")

shield("clear")
check(cpus(service) == ALL and cpus(new.pid) == ALL, "what began meanwhile may run everywhere")
subprocess.run(["systemctl", "stop", SERVICE], check=True)
new.kill()
new.wait()
as_before(before, "clear")
note(shield("show").stdout)

# SIGKILL at any moment.
began = time.monotonic()
shield("set", "--all", "3")
setting_s = time.monotonic() - began
began = time.monotonic()
shield("clear")
clearing_s = time.monotonic() - began
note(f"{setting_s:.3f} s to set, {clearing_s:.3f} s to clear")
as_before(before, "once more")
left_over = 0
for number in range(3 * ROUNDS):
    words, whole = (
        (("set", "--all", "2-3"), setting_s),
        (("set", "--all", "1-2"), setting_s),
        (("clear",), clearing_s),
    )[number % 3]
    if number % 3:
        shield("set", "--all", "3")
    victim = subprocess.Popen([ISOLATOR, "shield", *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    moment = chance.uniform(0, 1.2 * whole)
    time.sleep(moment)  # sleep: to any moment
    victim.kill()
    victim.wait()
    changed = snapshot.differences(before, snapshot.take())
    left_over += bool(changed)
    lines = JOURNAL.read_text().count("\n") if JOURNAL.exists() else 0
    restored = isolator("restore")
    check(restored.returncode == 0, f"shield {' '.join(words)} killed after {moment:.3f} s: "
          f"{len(changed)} differences, journal of {lines} lines: restored", restored.stdout,
          restored.stderr)
    as_before(before, f"round {number}")
check(left_over >= ROUNDS, f"{left_over} of {3 * ROUNDS} left something to be restored")
old.kill()
old.wait()
done()
