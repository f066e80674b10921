# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages that `make deb` made, for a Debian that has only its own kernel yet."""

import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from .. import lock, term
from ..paths import BUILD, OUT, TOP, digest
from . import foreign, initramfs, machine
from .kernel import Kernel
from .machine import Machine

# A kernel that is packed is called by what its release ends with: deb-cloud-rt.
PREFIX = "deb-"
# How tools/deb-kernel calls the configurations that it knows, by what the release ends with.
FLAVOURS = {
    "amd64": "--flavour generic", "cloud": "--flavour cloud",
    "arm64": "--arch arm64 --flavour generic", "cloud-arm64": "--arch arm64 --flavour cloud",
}
# Those of the suites, each in both preemption models.
NAME, ARM64_NAME = "deb-cloud", "deb-cloud-arm64"
MODELS = ("", "-rt")
# The kernel that is booted first, where it lies beside the disk.
STOCK = "cloud"
# On the disk beside the lab's packages and the stock kernel, which is installed as on a real
# machine: what the packages depend on, as there is no archive in the guest.
BESIDE = (
    "adduser", "dkms", "e2fsprogs", "gcc", "initramfs-tools", "libelf1", "libssl3",
    "linux-base", "make", "zstd",
)
# For what is installed, with the image for an initramfs as it is made.
ROOM_MIB = 1500
KERNEL_DEBS, USER_DEBS = OUT / "deb" / "kernel", OUT / "deb"
# Of user space: what `isolator run` takes.
USER = ("libisolator0_*.deb", "isolator_*.deb")


def stock(of: Machine) -> dict[str, str]:
    """Debian's kernel, by where it lies."""
    return {STOCK: f"linux-image-6.12-cloud-{of.debian}"}


def machine_of(name: str) -> Machine:
    """Of that kernel, by its package if it is there, else by how tools/deb-kernel would call it."""
    flavour = name.removeprefix(PREFIX)
    package = f"linux-image-*-isolator-{flavour}_*_{machine.ARM64.debian}.deb"
    foreign_one = machine.ARM64.debian in flavour.split("-") or any(KERNEL_DEBS.glob(package))
    return machine.ARM64 if foreign_one else machine.X86_64


def _image(name: str) -> Path:
    """The package of that kernel."""
    flavour = name.removeprefix(PREFIX)
    found = sorted(KERNEL_DEBS.glob(f"linux-image-*-isolator-{flavour}_*.deb"))
    if len(found) == 1:
        return found[0]
    kind = flavour.removesuffix("-rt")
    how = f"tools/deb-kernel {FLAVOURS.get(kind, f'--name {kind}')}"
    how += " --rt" if flavour.endswith("-rt") else ""
    if found:
        raise term.LabError(f"more than one kernel -{flavour} in {KERNEL_DEBS}: keep one")
    raise term.LabError(f"no package of a kernel -{flavour} in {KERNEL_DEBS}: make it with {how}",
                        code=term.SKIPPED)


def _of_this_source(name: str) -> None:
    """Complains where the packages are not what tools/deb-kernel would make here, now."""
    flavour = name.removeprefix(PREFIX)
    told = KERNEL_DEBS / f"{flavour}.content"
    made, *words = told.read_text().splitlines() if told.exists() else [""]
    now = subprocess.run([TOP / "tools/deb-kernel", *words, "--content"], text=True,
                         stdout=subprocess.PIPE, check=False)
    if now.returncode or now.stdout.split()[-1:] != [made]:
        again = shlex.join(["tools/deb-kernel", *words])
        raise term.LabError(f"the packages of {flavour} in {KERNEL_DEBS} are of another source: "
                            f"make them again with {again}")


def debs(name: str) -> list[Path]:
    """What is installed in the guest; nothing for a kernel that is not packed.

    Library and command are packed for this machine only: another has the lab's own.
    """
    if not name.startswith(PREFIX):
        return []
    release = _image(name).name.removeprefix("linux-image-").partition("_")[0]
    packages = (f"linux-image-{release}", f"linux-headers-{release}", "isolator-boot")
    wanted = [(KERNEL_DEBS, f"{package}_*.deb") for package in packages]
    if machine_of(name) is machine.X86_64:
        wanted += [(USER_DEBS, pattern) for pattern in USER]
    found = []
    for where, pattern in wanted:
        matches = sorted(where.glob(pattern))
        if len(matches) != 1:
            raise term.LabError(
                f"not one {pattern} in {where} but {len(matches)}: tools/deb user and "
                "tools/deb-kernel make them"
            )
        found += matches
    return found


def _unpack(deb: Path, beside: Path, of: Machine, where: Path) -> None:
    """Debian's image and modules, the symbols and the configuration of the packaged kernel."""
    partial = where.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for part in (of.image, "modules"):
        (partial / part).symlink_to(beside / STOCK / part)
    with tempfile.TemporaryFile() as files:
        subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], stdout=files, check=True)
        for part in ("System.map", "config"):
            files.seek(0)
            taken = subprocess.run(["tar", "-xO", "--wildcards", f"./boot/{part}-*"],
                                   stdin=files, capture_output=True, check=True)
            (partial / part).write_bytes(taken.stdout)
    partial.rename(where)


def kernel(name: str, called: str, beside: Path) -> Kernel:
    """Debian's kernel, which is booted first, on a disk with room; the symbols are of ours."""
    deb, of = _image(name), machine_of(name)
    _of_this_source(name)
    key = digest(deb.read_bytes(), str(beside))
    where = BUILD / "lab" / f"{name}-{key}"
    with initramfs.building(BUILD):
        if not where.is_dir():
            for old in where.parent.glob(f"{name}-{'[0-9a-f]' * len(key)}"):
                shutil.rmtree(old)
            _unpack(deb, beside, of, where)
    return Kernel(called, where, disk=_roomy(beside / "root.ext2"), arch=of.target)


def _roomy(disk: Path) -> Path:
    """A copy of the disk, larger; holes take no place."""
    larger = disk.with_name(f"roomy-{ROOM_MIB}.ext2")
    with lock.held(disk.with_name("roomy.lock")):
        if larger.exists():
            return larger
        partial = larger.with_suffix(".partial")
        subprocess.run(["cp", "--sparse=always", disk, partial], check=True)
        foreign.enlarge(partial, ROOM_MIB)
        partial.rename(larger)
    return larger
