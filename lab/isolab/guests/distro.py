# SPDX-License-Identifier: GPL-2.0-or-later
"""The distribution guest: Debian 12 with systemd, on Debian's own kernels and on ours."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from isolator_report import schemafile

from .. import header, lock, term
from ..paths import BUILD, LAB, TOP, cache, digest
from . import foreign, initramfs, machine, packaged, packages
from . import kernel as kernels
from .kernel import Kernel
from .machine import Machine

PREFIX = "distro-"
KERNELS = {"plain": "linux-image-6.12-amd64", "rt": "linux-image-6.12-rt-amd64"}
# By flavour, on the same disk.
OURS = {"isolator-rt": "rt", "isolator-nort": "nort"}
# As a small server has them, and Python for the tests.
PACKAGES = (
    "dbus", "grub2-common", "iproute2", "kmod", "libpam-systemd", "procps", "python3",
    "python3-jsonschema", "sudo", "systemd-sysv", "udev", "util-linux",
)
# On the console there is the kernel's log alone, which is scanned; it is one or the other port.
APPEND = ("systemd.show_status=0 systemd.mask=serial-getty@ttyS0.service"
          " systemd.mask=serial-getty@ttyAMA0.service")
MAKE = LAB / "host" / "distro-image"
# Each of half a gigabyte or more.
DISKS = 5
FILES = LAB / "distro"
# What the command says is held against them in the guest, each whole in itself.
SCHEMAS = TOP / "cli" / "schema"


def image(more: Sequence[str] = (), debian: Mapping[str, str] = KERNELS,
          of: Machine = machine.X86_64) -> Path:
    """The directory with the disk and Debian's kernels; made if this recipe never was.

    @more: packages besides.  @debian: which of its kernels; an empty one: none.
    """
    native = of is machine.X86_64
    include = [*PACKAGES, *more]
    recipe = [MAKE.read_text(), *include, *(f"{name}={k}" for name, k in debian.items())]
    recipe += [] if native else [of.debian, *foreign.recipe()]
    into = cache() / ("distro-" + digest("\n".join(recipe)))
    if into.is_dir():
        os.utime(into)
        return into
    with lock.held(into.with_suffix(".lock"), "another makes the disk of the distribution guest"):
        if into.is_dir():
            return into
        partial = into.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        term.say("making the disk of the distribution guest")
        named = [f"{name}={package}" for name, package in debian.items()]
        options = [] if native else ["--arch", of.debian]
        done = subprocess.run(
            [MAKE, "--into", partial, *options, "--packages", " ".join(include), *named],
            stdout=2, check=False,
        )
        if done.returncode:
            raise term.LabError("making the disk of the distribution guest failed")
        if not native:
            foreign.install(partial, partial / next(iter(debian)), of)
        partial.rename(into)
        _prune(into.parent)
    return into


def _prune(where: Path) -> None:
    """Of the disks of all checkouts those stay that were used last."""
    disks = [d for d in where.glob(f"distro-{'[0-9a-f]' * 12}") if d.is_dir()]
    for disk in sorted(disks, key=lambda d: d.stat().st_mtime)[:-DISKS]:
        term.say(f"removing {disk}, which was not used for longest")
        shutil.rmtree(disk)
        disk.with_suffix(".lock").unlink(missing_ok=True)


def kernel(name: str) -> Kernel:
    """Debian's own, plain or rt, or ours."""
    if name in OURS:
        built = kernels.build(OURS[name])
        return Kernel(PREFIX + name, built.path, disk=image() / "root.ext2")
    if name.startswith(packaged.PREFIX):
        packaged.debs(name)  # what is missing is said before a disk is made
        of = packaged.machine_of(name)
        stock = packaged.stock(of)
        with_stock = image((*packaged.BESIDE, *stock.values()), stock, of)
        return packaged.kernel(name, PREFIX + name, with_stock)
    if name not in KERNELS:
        packed = (f"{name}{rt}" for name in (packaged.NAME, packaged.ARM64_NAME)
                  for rt in packaged.MODELS)
        known = (*KERNELS, *OURS, *packed)
        raise term.LabError(f"no kernel {PREFIX}{name}; there are {', '.join(known)}")
    where = image()
    return Kernel(PREFIX + name, where / name, disk=where / "root.ext2")


def _modules(archive: initramfs.Archive, which: Kernel) -> None:
    """What reads the disk, to be loaded; or, where the kernel can, what is to come to the disk."""
    if (which.path / "modules" / "early").exists():
        archive.tree(which.path / "modules", "")
        return
    archive.file("early", b"")
    for name, path in which.modules().items():
        archive.file(f"disk/usr/lib/modules/{name}", path.read_bytes())


def _programs(archive: initramfs.Archive, guest: Path, programs: Path, of: Machine) -> None:
    """For the test `programs`: those, the triggers of `isolab run`, and the library that ticks.

    Another machine has the one that `deb` takes: compilers of the others' languages are not there.
    """
    root = guest / "root" / "lab"
    triggers = [
        f"triggers/{t.name}" for t in header.triggers() if t.in_run_by_itself and of.name in t.arch
    ]
    wanted = ("bin/mark", "lib/trigger.sh", "lib/libisolator-preload.so", *triggers)
    some = () if of is machine.X86_64 else (programs / "control-dynamic",)
    with initramfs.building(BUILD):
        initramfs.make(LAB / "guest", guest, "the triggers", *(root / name for name in wanted),
                       of=of)
        initramfs.make(FILES / "programs", programs, "the programs", *some, of=of)
    for name in wanted:
        archive.file(f"lab/{name}", (root / name).read_bytes(), 0o755)
    for path in sorted(programs.iterdir()):
        if path.is_file():
            archive.file(f"lab/programs/{path.name}", path.read_bytes(), 0o755)


def _kexec(archive: initramfs.Archive, of: Machine) -> None:
    """Debian's kernel for arm64 cannot load a kernel from files by itself (CONFIG_KEXEC_FILE).

    Not installed there, where the package would act at each shutdown.
    """
    tree = packages.unpack(f"kexec-{of.debian}", "bookworm", ("kexec-tools",),
                           options=("--arch", of.debian))
    program = tree / "sbin" / "kexec"
    archive.file("lab/kexec/kexec", program.read_bytes(), 0o755)
    for library in initramfs.libraries(tree, program, of.triplet):
        # The loader there wants the C library of its own version.
        if not library.name.startswith(("libc.so", "ld-linux")):
            archive.file(f"lab/kexec/{library.name}", library.read_bytes())


def with_job(
    which: Kernel, job: str, target: Path, programs: Mapping[str, bytes] | None = None
) -> Path:
    """The initramfs that brings what one boot needs to the disk and goes on from there."""
    of = which.machine
    native = of is machine.X86_64
    built = BUILD / "lab" if native else BUILD / "lab" / of.name
    guest, agent = built / "guest", built / "agent"
    isolator = guest / "root" / "lab" / "bin" / "isolator"
    with initramfs.building(BUILD):
        initramfs.cross_compiler(of)
        initramfs.make(LAB / "guest" / "agent", agent, "the guest agent", of=of)
        initramfs.make(LAB / "guest", guest, "the isolator command", isolator, of=of)
    archive = initramfs.scripted(of, FILES / "init")
    for name in ("root", "disk"):
        archive.directory(name)
    archive.file("isolab.service", (FILES / "isolab.service").read_bytes())
    _modules(archive, which)
    archive.file("job/job", job.encode())
    archive.file("lab/agent", (agent / "agent").read_bytes(), 0o755)
    archive.file("lab/bin/isolator", isolator.read_bytes(), 0o755)
    for path in sorted(FILES.glob("*.py")):
        archive.file(f"lab/tests/{path.name}", path.read_bytes())
    for path in sorted((FILES / "tests").glob("*.py")):
        archive.file(f"lab/tests/{path.stem}", path.read_bytes(), 0o755)
    for path in sorted(SCHEMAS.glob("*.json")):
        archive.file(f"lab/schema/{path.name}", json.dumps(schemafile.read(path)).encode())
    for name, program in (programs or {}).items():
        archive.file(name, program, 0o755)
    for path in packaged.debs(which.name.removeprefix(PREFIX)):
        archive.file(f"lab/debs/{path.name}", path.read_bytes())
    if which.ours:
        _programs(archive, guest, built / "programs", of)
        if not native:
            _kexec(archive, of)
    target.write_bytes(archive.bytes())
    return target
