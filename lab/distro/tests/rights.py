#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: rights
# cpus: 4
# kernel: distro
# timeout: 180
# about: isolator run says what it may not do, which capability is missing, and changes nothing
import subprocess
from pathlib import Path

import snapshot
from machine import ISOLATOR, check, done, isolator, note, same

USER = "isolab-rights"
RUN = [ISOLATOR, "run", "-c", "1"]
SHOW = ["--", "sh", "-c", "id -un; id -Gn; echo $HOME; grep ^CapEff /proc/self/status; "
        "grep ^Cpus_allowed_list /proc/self/status; ulimit -l"]
NOTHING = "CapEff:\t0000000000000000"

subprocess.run(["useradd", "--create-home", "--groups", "adm", USER], check=True)
Path("/etc/sudoers.d/isolab-rights").write_text(f"{USER} ALL=(root) NOPASSWD: {ISOLATOR}\n")
snapshot.noise()
before = snapshot.take()


def tried(what: str, *command: str) -> tuple[int, str]:
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    note(f"{what}: {ended.returncode}")
    note(ended.stdout + ended.stderr)
    return ended.returncode, ended.stdout + ended.stderr


def says(text: str, *parts: str) -> None:
    for part in parts:
        check(part in text, f'it says "{part}"')


# Without any right.
code, text = tried("as a user", "setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups",
                   *RUN, "--", "true")
check(code == 125, "without rights it is refused")
says(text, "run it as root: sudo isolator run", "CAP_SYS_NICE: missing",
     "/sys/fs/cgroup: Permission denied", "nothing was changed")
same(before, "without rights")
code, text = tried("as a user, no settings", "setpriv", f"--reuid={USER}", f"--regid={USER}",
                   "--init-groups", *RUN, "--no-settings", *SHOW)
check(code == 0 and text.startswith(f"{USER}\n"), "without rights --no-settings runs it")
same(before, "without settings")

# By sudo: the program is the caller's.
as_user = ["runuser", "-u", USER, "--"]
code, text = tried("by sudo", *as_user, "sudo", "-n", *RUN, *SHOW)
lines = text.splitlines()
check(code == 0, "by sudo it runs")
says(text, f"\n{USER} adm\n", f"\n/home/{USER}\n", f"\n{NOTHING}\n", "\nCpus_allowed_list:\t1\n",
     "\nunlimited\n")
same(before, "by sudo")
code, text = tried("as --user", *RUN, "--user", USER, *SHOW)
check(code == 0, "--user runs it")
says(text, f"\n{USER} adm\n", f"\n{NOTHING}\n")
same(before, "as --user")

# As root without a capability: each is named.
for name in ("sys_nice", "setuid", "setgid"):
    code, text = tried(f"without {name}", "setpriv", f"--bounding-set=-{name}",
                       f"--inh-caps=-{name}", *RUN, "--user", USER, "--policy", "fifo", "--",
                       "true")
    check(code == 125, f"without {name} it is refused")
    says(text, f"CAP_{name.upper()}: missing", "nothing was changed")
    same(before, f"without {name}")
code, text = tried("without sys_admin and sys_nice", "setpriv",
                   "--bounding-set=-sys_admin,-sys_nice,-sys_resource",
                   "--inh-caps=-sys_admin,-sys_nice,-sys_resource", *RUN, "--best-effort", "--",
                   "sh", "-c", "exit 4")
check(code == 4, "--best-effort runs it with what is left")
same(before, "with --best-effort")

# As in a container: files of the machine are read-only.
code, text = tried("in a container", "unshare", "--mount", "sh", "-c",
                   "mount -o remount,bind,ro /sys/fs/cgroup; mount -o bind,ro /proc/sys /proc/sys;"
                   " mount -o bind,ro /proc/irq /proc/irq; mount -o remount,bind,ro /sys; "
                   f"exec {' '.join(RUN)} -- true")
check(code == 125, "in a container it is refused")
says(text, "/proc/sys/vm/stat_interval: Read-only file system",
     "/proc/irq/default_smp_affinity: Read-only file system",
     "/sys/devices/virtual/workqueue/cpumask: Read-only file system",
     "run these on the host instead, as root:", "echo 3600 > /proc/sys/vm/stat_interval",
     "echo isolated > /sys/fs/cgroup/quiet/cpuset.cpus.partition")
same(before, "in a container")
ended = isolator("run", "-c", "9", "--", "true")
check(ended.returncode == 125 and "not online" in ended.stderr, "a CPU that is not there",
      ended.stderr)
same(before, "without a CPU")
done()
