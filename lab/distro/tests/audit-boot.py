#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: audit-boot
# cpus: 4
# kernel: distro-stock
# timeout: 420
# append: retain_initrd
# about: isolator audit --fix --boot is in force after a reboot; restore, and the next has it not
import ctypes
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from machine import carry_on, check, document, done, isolator, note, put_aside, read

# On the disk, which outlives a reboot.
STATE = Path("/var/lib/isolab.boot")
SAID, FILES, FIRST = STATE / "said", STATE / "files", STATE / "cmdline"
DROP_IN = Path("/etc/default/grub.d/isolator.cfg")
CONFIG = Path("/boot/grub/grub.cfg")
TREES = ("/etc/default", "/etc/grub.d", "/boot/grub", "/var/lib/isolator")
AUDIT = ("audit", "-c", "1", "--json")
# What this kernel needs and was booted without.
WANTED = ["nohz_full=1", "isolcpus=domain,managed_irq,1", "rcu_nocbs=1"]
IDS = {"boot.nohz-full", "boot.isolcpus", "boot.rcu-nocbs"}
KEXEC_FILE_LOAD = 320
RELEASE = os.uname().release


def tree() -> dict[str, str]:
    """Each file with its content, owner and mode; and each directory."""
    found = {}
    for top in TREES:
        for path in (Path(top), *sorted(Path(top).rglob("*"))):
            if path.exists():
                status = path.stat()
                text = path.read_bytes().hex() if path.is_file() else "directory"
                found[str(path)] = f"{status.st_mode:o} {status.st_uid} {status.st_gid} {text}"
    return found


def differences(before: dict[str, str]) -> list[str]:
    now = tree()
    return [path for path in sorted({*before, *now}) if before.get(path) != now.get(path)]


def configured() -> tuple[str, str, str]:
    """Kernel, initramfs and command line that grub.cfg has for the kernel that runs."""
    text = CONFIG.read_text()
    entry = re.search(rf"^\s*linux\s+(\S+/vmlinuz-{re.escape(RELEASE)}) (.*?)\s*$.*?"
                      r"^\s*initrd\s+(\S+)\s*$", text, re.MULTILINE | re.DOTALL)
    if not entry:
        check(False, f"{CONFIG} has a line for {RELEASE}", text[-3000:])
        done()
    return entry[1], entry[3], entry[2]


def reboot() -> None:
    """By kexec, as GRUB is told to: QEMU itself starts the kernel here, without a boot loader."""
    kernel, initramfs, command = configured()
    note(f"reboot: {command}")
    with open(kernel, "rb") as image, open(initramfs, "rb") as initrd:
        line = command.encode() + b"\0"
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.syscall(KEXEC_FILE_LOAD, image.fileno(), initrd.fileno(),
                              ctypes.c_ulong(len(line)), line, ctypes.c_ulong(0))
    if not check(not failed, "the kernel of grub.cfg is loaded", os.strerror(ctypes.get_errno())):
        done()
    put_aside(SAID)
    subprocess.run(["systemctl", "kexec"], check=True)
    time.sleep(600)  # sleep: the machine ends meanwhile


def findings() -> set[str]:
    return {f["id"] for f in document(*AUDIT)["findings"]}


def install_grub() -> None:
    """As Debian's grub-pc does when it is installed; the parameters of this boot are in it."""
    text = Path("/usr/share/grub/default/grub").read_text().replace('"quiet"', '""')
    Path("/etc/default/grub").write_text(text.replace(
        'GRUB_CMDLINE_LINUX=""', f'GRUB_CMDLINE_LINUX="{read("/proc/cmdline")}"'))
    shutil.copy("/sys/firmware/initrd", f"/boot/initrd.img-{RELEASE}")
    CONFIG.parent.mkdir(exist_ok=True)
    ended = subprocess.run(["update-grub"], capture_output=True, text=True, check=False)
    if not check(not ended.returncode, "update-grub", ended.stderr):
        done()


def write_it() -> None:
    install_grub()
    before = tree()
    STATE.mkdir()
    FILES.write_text(json.dumps(before))
    FIRST.write_text(read("/proc/cmdline"))
    check(findings() >= IDS, "parameters are missing", findings())
    shown = document(*AUDIT)["boot"]
    check(shown["state"] == "shown" and shown["parameters"] == WANTED,
          f"shown: {' '.join(shown['parameters'])}", shown)
    check(not differences(before), "which changes nothing", differences(before))
    # It changes settings of now too; those are gone with the next boot.
    fixed = document(*AUDIT, "--fix", "--boot")
    check(fixed["boot"]["state"] == "written", "written", fixed["boot"])
    outcomes = {f["id"]: f["outcome"] for f in fixed["findings"] if f["id"] in IDS}
    check(set(outcomes.values()) == {"pending"}, "in force from the next boot on", outcomes)
    check(DROP_IN.read_text().count("\n") and str(CONFIG) in differences(before),
          f"in {DROP_IN} and by update-grub in {CONFIG}", differences(before))
    note(shown["diff"])
    check(all(word in configured()[2].split() for word in WANTED), "GRUB's line has them",
          configured()[2])


def look_and_restore() -> None:
    now = read("/proc/cmdline").split()
    for word in WANTED:
        check(now.count(word) == 1, f"/proc/cmdline has {word}", " ".join(now))
    check(now[-len(WANTED):] == WANTED, "behind what was there before", " ".join(now))
    for name in ("isolated", "nohz_full"):
        check(read(f"/sys/devices/system/cpu/{name}") == "1", f"CPU 1 is {name}")
    check(not IDS & findings(), "isolator audit misses none of them", findings())
    restored = isolator("restore")
    check(restored.returncode == 0, f"restore: {restored.stdout.strip()}", restored.stderr)
    left = differences(json.loads(FILES.read_text()))
    check(not left, "all files are as before, to the byte", *left)
    check(not set(WANTED) & set(configured()[2].split()), "GRUB's line has none", configured()[2])


def look_again() -> None:
    first, now = FIRST.read_text().split(), read("/proc/cmdline").split()
    check(set(first) <= set(now) and not set(WANTED) & set(now), "the next boot is as the first",
          " ".join(now))
    check(findings() >= IDS, "and isolator audit misses them again", findings())
    check(not differences(json.loads(FILES.read_text())), "the files too",
          *differences(json.loads(FILES.read_text())))
    check(document("restore", "--json")["journals"] == [], "nothing is left to be restored")


if not STATE.exists():
    write_it()
    reboot()
carry_on(SAID)
if WANTED[0] in read("/proc/cmdline").split():
    look_and_restore()
    reboot()
look_again()
done()
