# SPDX-License-Identifier: GPL-2.0-or-later
"""What stress-ng has to offer, and what of it a hunt leaves out."""

import functools
import subprocess

from . import term
from .guests import initramfs

CLASSES = ("os", "vm", "scheduler", "interrupt", "filesystem", "network", "pipe", "memory")
# Why each of these is not part of a hunt.
LEFT_OUT = {
    "cpu-online": "takes CPUs offline, which ends an isolation: guest test hotplug",
    "reboot": "may reboot the guest: guest test reboot",
    "memhotplug": "takes memory offline that the guest cannot spare: trigger memory-offline",
    "oom-pipe": "makes the kernel kill processes, the task among them",
    "bigheap": "makes the kernel kill processes, the task among them",
    "brk": "makes the kernel kill processes, the task among them",
    "stack": "makes the kernel kill processes, the task among them",
    "watchdog": "arms a hardware watchdog that nobody feeds",
    "softlockup": "fills the housekeeping CPUs for good, by design",
    "clock": "steps the wall clock by years: trigger clock-step", "pageswap": "needs a swap device",
    "swap": "needs a swap device", "kvm": "needs a second level of emulation: trigger kvm-vm",
    "klog": "clears the kernel log, which the lab must read",
}
# These write to whatever file of the kernel they may, and physpage stops the machine to
# set memory types, an immediate delivery each time: not with root's rights.
UNPRIVILEGED = (
    "sysfs", "procfs", "dev", "sysinval", "x86syscall", "bad-ioctl", "file-ioctl", "physpage",
)


@functools.cache
def of_class(name: str) -> tuple[str, ...]:
    """The stressors of a class that a hunt may run."""
    root = initramfs.load_tree()
    said = subprocess.run(
        [
            str(root / "lib64" / "ld-linux-x86-64.so.2"),
            "--library-path",
            f"{root}/lib/x86_64-linux-gnu:{root}/usr/lib/x86_64-linux-gnu",
            str(root / "usr/bin/stress-ng"),
            "--class",
            f"{name}?",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    head, _, names = (said.stdout + said.stderr).partition(" stressors: ")
    if not names:
        raise term.LabError(f"stress-ng names no stressors of class {name}: {head[:200]}")
    return tuple(n for n in names.split("\n")[0].split() if n not in LEFT_OUT)
