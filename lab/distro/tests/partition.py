#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: partition
# cpus: 4
# kernel: distro
# timeout: 180
# about: a run's partition beside systemd: slices lose its CPU, and get it back
import os
import signal
import subprocess
from pathlib import Path

import snapshot
from machine import check, done, groups, isolator, note, read, running, same, write

TOP = snapshot.CGROUPS
SERVICES = "isolab-one.service", "isolab-two.service"


def start_service(name: str, *options: str) -> int:
    """Its process."""
    subprocess.run(["systemd-run", f"--unit={name}", "--quiet", *options, "sleep", "60"],
                   check=True)
    return int(subprocess.run(["systemctl", "show", "-P", "MainPID", name], capture_output=True,
                              text=True, check=True).stdout)


def systemctl(*arguments: str) -> None:
    ended = subprocess.run(["systemctl", *arguments], capture_output=True, text=True, check=False)
    check(ended.returncode == 0, f"systemctl {' '.join(arguments)}", ended.stderr)


def programs(group: str) -> list[str]:
    return read(f"{group}/cgroup.procs").split()


def cpus(pid: int) -> set[int]:
    return os.sched_getaffinity(pid)


def own_cpus_and_back() -> list[str]:
    """What differs, by the kernel's doing, once systemd gave a slice CPUs and took them again."""
    start = snapshot.take()
    systemctl("set-property", "--runtime", "system.slice", "AllowedCPUs=0,2")
    systemctl("set-property", "--runtime", "system.slice", "AllowedCPUs=")
    return snapshot.settled(start, 0)


def free_tasks() -> None:
    """Undoes that: systemd's processes may run anywhere."""
    for line in snapshot.settled(before, 0):
        if line.startswith("task user "):
            os.sched_setaffinity(int(line.split()[2]), {0, 1, 2, 3})


snapshot.noise()
before = snapshot.take()
own = own_cpus_and_back()
note(f"without a run {len(own)} differences stay after that: {own[:1]}")
free_tasks()
same(before, "without a run")
with running("-c", "1", "--rest", "3") as process:
    found = groups()
    check(found == [f"{TOP}/isolator.{process.pid}"], f"one cgroup at the top: {found}")
    group = found[0]
    check(read(f"{group}/cpuset.cpus.partition") == "isolated", "it is isolated")
    check(read(f"{group}/cpuset.cpus.effective") == "1,3", "it has the CPUs")
    check(read(f"{TOP}/cpuset.cpus.isolated") == "1,3", "the kernel calls them isolated")
    check(read(f"{TOP}/cpuset.cpus.effective") == "0,2", "the top has what is left")
    for name in ("system.slice", "user.slice", "init.scope"):
        path = Path(f"{TOP}/{name}/cpuset.cpus.effective")
        if path.exists():
            check(read(str(path)) == "0,2", f"{name} has what is left")
    check(len(programs(group)) == 1, f"the program alone runs there: {programs(group)}")
    program = int(programs(group)[0])
    check(cpus(program) == {3}, f"it begins on the CPUs of --rest: {cpus(program)}")
    os.sched_setaffinity(program, {1})
    check(cpus(program) == {1}, "and may go to the quiet one")
    check(cpus(1) == {0, 2}, f"systemd does not run there: {cpus(1)}")
    inside = {p for p in Path("/proc").glob("[0-9]*") if p.name != str(program)}
    strangers = []
    for path in inside:
        try:
            if not (path / "cmdline").read_bytes():
                continue
            if cpus(int(path.name)) & {1, 3}:
                strangers.append((path / "comm").read_text().strip())
        except OSError:
            continue
    check(not strangers, "no other process may run there", strangers)
    free = [key for key, value in snapshot.take().items()
            if key.startswith("task kernel ") and not key.startswith("task kernel bound ")
            and value.startswith("cpus [0, 1")]
    check(not free, "no thread of the kernel that may choose runs on the quiet CPU", *free)
    # What systemd does meanwhile: a new service, then one for which it turns another controller
    # on at the top, and all that it does not need itself off, and all read again.
    service = start_service(SERVICES[0])
    check(cpus(service) == {0, 2}, f"a service that starts meanwhile: {cpus(service)}")
    start_service(SERVICES[1], "--property=CPUWeight=50", "--property=IOWeight=50")
    # The lab's own kernels have no controller of block devices.
    wanted = {"cpu", "io"} & set(read(f"{TOP}/cgroup.controllers").split())
    check(wanted and wanted <= set(read(f"{TOP}/cgroup.subtree_control").split()),
          f"systemd has turned {' and '.join(sorted(wanted))} on")
    check(read(f"{group}/cpuset.cpus.partition") == "isolated", "the partition stays")
    systemctl("daemon-reload")
    check(read(f"{group}/cpuset.cpus.partition") == "isolated", "and after daemon-reload")
    check(cpus(program) == {1}, f"the program is where it was: {cpus(program)}")
    check(programs(group) == [str(program)], "alone")
    second = isolator("run", "-c", "1", "--", "true")
    check(second.returncode == 125 and "CPU 1,3 is taken" in second.stderr,
          "another run is refused the CPU", second.stderr)
    with running("-c", "2") as other:
        states = [read(f"{path}/cpuset.cpus.partition") for path in groups()]
        check(states == ["isolated"] * 2, f"a second run beside it: {states}")
        check(read(f"{TOP}/cpuset.cpus.effective") == "0", "one CPU is left")
        process.terminate()
        process.wait()
        check(read(f"{TOP}/cpuset.cpus.isolated") == "2", "the first gives its CPUs back")
        check(len(groups()) == 1, "and the second keeps its own")
        other.terminate()
        other.wait()
# What systemd has turned on meanwhile stays on, but not cpuset.
check("cpuset" not in read(f"{TOP}/cgroup.subtree_control").split(), "cpuset is off again")
for name in SERVICES:
    systemctl("stop", name)
# It is lazy at turning controllers off: those that it has turned on are not ours.
for control in (f"{TOP}/system.slice/cgroup.subtree_control", f"{TOP}/cgroup.subtree_control"):
    for word in set(read(control).split()) - set(before[control].split()):
        note(f"{control}: systemd has turned {word} on")
        write(control, f"-{word}")
same(before, "after all")

# Somebody gives a slice CPUs of its own while a run has turned cpuset on.
with running("-c", "1") as process:
    systemctl("set-property", "--runtime", "system.slice", "AllowedCPUs=0,2")
    process.terminate()
    said = process.communicate()[1]
check(process.returncode == 128 + signal.SIGTERM, f"that run ends: {process.returncode}", said)
check("cpuset stays on: /sys/fs/cgroup/system.slice/cpuset.cpus was set to 0,2" in said,
      "and says that the slice keeps its CPUs", said)
check(read(f"{TOP}/system.slice/cpuset.cpus") == "0,2", "it does")
systemctl("set-property", "--runtime", "system.slice", "AllowedCPUs=")
if own:
    free_tasks()
same(before, "after that")
done()
