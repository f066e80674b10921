# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages that `make deb` made, for a Debian that has only its own kernel yet."""

import fcntl
import shutil
import subprocess
from pathlib import Path

from .. import term
from ..paths import BUILD, OUT
from .kernel import Kernel

# A kernel that is packed is called by what its release ends with: deb-cloud-rt.
PREFIX = "deb-"
# How tools/deb-kernel calls the configurations that it knows, by what the release ends with.
FLAVOURS = {"amd64": "generic", "cloud": "cloud"}
# Those of the suite.
NAMES = ("deb-cloud", "deb-cloud-rt")
STOCK = {"cloud": "linux-image-6.12-cloud-amd64"}
# On the disk beside the lab's packages: the stock kernel, as it is installed on a real machine, and
# what the packages depend on, as there is no archive in the guest.
BESIDE = (
    *STOCK.values(), "adduser", "dkms", "e2fsprogs", "gcc", "initramfs-tools", "libelf1", "libssl3",
    "linux-base", "make", "zstd",
)
# For what is installed, with the image for an initramfs as it is made.
ROOM_MIB = 1500
KERNEL_DEBS, USER_DEBS = OUT / "deb" / "kernel", OUT / "deb"
# Of user space: what `isolator run` takes.
USER = ("libisolator0_*.deb", "isolator_*.deb")


def _image(name: str) -> Path:
    """The package of that kernel."""
    flavour = name.removeprefix(PREFIX)
    found = sorted(KERNEL_DEBS.glob(f"linux-image-*-isolator-{flavour}_*.deb"))
    if len(found) == 1:
        return found[0]
    kind = flavour.removesuffix("-rt")
    named = f"--flavour {FLAVOURS[kind]}" if kind in FLAVOURS else f"--name {kind}"
    how = f"tools/deb-kernel {named}"
    how += " --rt" if flavour.endswith("-rt") else ""
    if found:
        raise term.LabError(f"more than one kernel -{flavour} in {KERNEL_DEBS}: keep one")
    raise term.LabError(f"no package of a kernel -{flavour} in {KERNEL_DEBS}: make it with {how}",
                        code=term.SKIPPED)


def debs(name: str) -> list[Path]:
    """What is installed in the guest; nothing for a kernel that is not packed."""
    if not name.startswith(PREFIX):
        return []
    release = _image(name).name.removeprefix("linux-image-").partition("_")[0]
    packages = (f"linux-image-{release}", f"linux-headers-{release}", "isolator-boot")
    wanted = [(KERNEL_DEBS, f"{package}_*.deb") for package in packages]
    found = []
    for where, pattern in [*wanted, *((USER_DEBS, pattern) for pattern in USER)]:
        matches = sorted(where.glob(pattern))
        if len(matches) != 1:
            raise term.LabError(
                f"not one {pattern} in {where} but {len(matches)}: tools/deb user and "
                "tools/deb-kernel make them"
            )
        found += matches
    return found


def kernel(name: str, called: str, beside: Path) -> Kernel:
    """Debian's kernel, which is booted first, on a disk with room; the symbols are of ours."""
    deb = _image(name)
    where = BUILD / "lab" / name
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    stock = beside / next(iter(STOCK))
    for part in ("bzImage", "config", "modules"):
        (where / part).symlink_to(stock / part)
    taken = subprocess.run(
        f"dpkg-deb --fsys-tarfile '{deb}' | tar -xO --wildcards './boot/System.map-*'", shell=True,
        capture_output=True, check=True,
    )
    (where / "System.map").write_bytes(taken.stdout)
    return Kernel(called, where, disk=_roomy(beside / "root.ext2"))


def _roomy(disk: Path) -> Path:
    """A copy of the disk, larger; holes take no place."""
    larger = disk.with_name("roomy.ext2")
    with open(disk.with_name("roomy.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if larger.exists():
            return larger
        partial = larger.with_suffix(".partial")
        subprocess.run(["cp", "--sparse=always", disk, partial], check=True)
        size = partial.stat().st_size + ROOM_MIB * 1024 * 1024
        subprocess.run(["truncate", "-s", str(size), partial], check=True)
        # 1: it mended something, as the superblock's time.
        checked = subprocess.run(
            ["/sbin/e2fsck", "-fy", partial], capture_output=True, text=True, check=False
        )
        if checked.returncode > 1:
            raise term.LabError(f"{disk} is not a clean file system: {checked.stdout}")
        subprocess.run(["/sbin/resize2fs", partial], capture_output=True, check=True)
        partial.rename(larger)
    return larger
