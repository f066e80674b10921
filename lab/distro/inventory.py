# SPDX-License-Identifier: GPL-2.0-or-later
"""All that an installation may have left on a machine, as a table that outlives a reboot."""

import hashlib
import os
import re
import subprocess
from pathlib import Path

import snapshot

Inventory = dict[str, str]

# Content counts in the first, in the others only what there is.
READ = ("/etc", "/boot", "/var/lib/dkms", "/var/lib/initramfs-tools")
LISTED = ("/usr", "/lib", "/opt", "/var/lib", "/run/isolator", "/root")
# What is not held against anybody, each with its reason.
OWN = {
    r"/var/lib/(dpkg|apt|debconf)/.*": "lists of packages, which are compared as such; backups",
    r"/var/lib/(systemd|private|dbus)/.*": "random seeds and times",
    r"/var/lib/isolab\.\S*": "the test's own notes",
    r"/usr/src/isolab-\S*": "the test's own module",
    r"/etc/(passwd|group|shadow|gshadow|subuid|subgid)-": "the version before the last change",
    r"/etc/machine-id|/etc/resolv\.conf|/etc/mtab|/etc/adjtime": "the machine's own",
    r"/etc/ld\.so\.cache": "made again by whoever installs a library",
    r".*/__pycache__(/.*)?|.*\.pyc": "made when it is run",
    r"/usr/lib/modules/[^/]*/modules\.\S*": "made by depmod: a release's directory counts",
    r"/root/\.\S*": "a shell's own", r"/boot/grub/grubenv": "compared with what GRUB reads of it",
}
_OWN = re.compile("|".join(f"(?:{pattern})" for pattern in OWN))
SETTINGS = ("/proc/sys/", "/sys/devices/system/cpu/", "/sys/devices/virtual/workqueue/",
            "/sys/kernel/mm/")


def _said(*command: str) -> list[str]:
    # What it complains of stands in the test's own output.
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return said.stdout.splitlines()


def _entry(path: str, read: bool) -> str:
    status = os.lstat(path)
    kind = f"{status.st_mode:o} {status.st_uid} {status.st_gid}"
    if os.path.islink(path):
        return f"{kind} -> {os.readlink(path)}"
    if not read or not os.path.isfile(path):
        return kind
    return f"{kind} {hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]}"


def take() -> Inventory:
    """Packages, files, groups, users and services."""
    found: Inventory = {}
    for top in (*READ, *LISTED):
        if os.path.islink(top):
            found[top] = _entry(top, False)
            continue
        for directory, below, files in os.walk(top):
            for name in (*below, *files):
                path = f"{directory}/{name}"
                if path not in found and not _OWN.fullmatch(path):
                    found[path] = _entry(path, top in READ)
    for line in _said("dpkg-query", "-W", "-f", "${Package} ${Status} ${Version}\n"):
        name, _, state = line.partition(" ")
        found[f"package {name}"] = state
    for line in (*_said("getent", "group"), *_said("getent", "passwd")):
        found[f"account {line}"] = "there"
    # From the files: systemd itself may still be reading them for the last package.
    for line in _said("systemctl", "--root=/", "list-unit-files", "--no-legend", "--no-pager"):
        found[f"unit {line.split()[0]}"] = " ".join(line.split()[1:])
    found["grubenv"] = " ".join(_said("grub-editenv", "/boot/grub/grubenv", "list"))
    return found


def settings() -> Inventory:
    """What of the kernel's settings outlives no reboot, but is as the machine's files say."""
    own = snapshot.noise()
    return {path: value for path, value in snapshot.take().items()
            if path.startswith(SETTINGS) and path not in own}


def differences(before: Inventory, now: Inventory) -> list[str]:
    return [f"{key}: was {before.get(key)}, is {now.get(key)}"
            for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
