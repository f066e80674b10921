# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk for another machine: its packages are installed by that machine, emulated, once."""

import subprocess
import time
from pathlib import Path

from .. import term
from ..paths import LAB
from . import initramfs, qemu
from .kernel import Kernel
from .machine import Machine

FILES = LAB / "distro"
# What is read of the console when it is done.
DONE, SAID = "isolab: second stage: done", "isolab: second stage: "
PATIENCE_S = 3600
# For what is installed there: names are taken once more before the unpacked ones go.
ROOM_MIB = 300


def recipe() -> list[str]:
    """What a disk is made by, for its key."""
    scripts = [(FILES / name).read_text() for name in ("configure-init", "second-stage")]
    return [*scripts, f"room: {ROOM_MIB} MiB"]


def _archive(kernel: Path, of: Machine) -> bytes:
    archive = initramfs.scripted(of, FILES / "configure-init")
    archive.directory("root")
    archive.file("second-stage", (FILES / "second-stage").read_bytes(), 0o755)
    archive.tree(kernel / "modules", "")
    return archive.bytes()


def enlarge(disk: Path, by_mib: int) -> None:
    """A file system of type ext2 in a file; holes take no place."""
    size = disk.stat().st_size + by_mib * 1024 * 1024
    subprocess.run(["truncate", "-s", str(size), disk], check=True)
    # 1: it mended something, as the superblock's time.
    checked = subprocess.run(
        ["/sbin/e2fsck", "-fy", disk], capture_output=True, text=True, check=False
    )
    if checked.returncode > 1:
        raise term.LabError(f"{disk} is not a clean file system: {checked.stdout}")
    subprocess.run(["/sbin/resize2fs", disk], capture_output=True, check=True)


def command(where: Path, kernel: Path, of: Machine) -> list[str]:
    """No clock is measured in it, and it waits for none: it runs behind whatever else does."""
    emulator = qemu.pick(of.target)
    which = Kernel("foreign", kernel, arch=of.target)
    drives = [
        part
        for name in ("root", "debs")
        for part in ("-drive", f"file={where / name}.ext2,format=raw,if=virtio,cache=unsafe")
    ]
    return [
        "nice", "-n", "5", *emulator.command, "-nodefaults", "-no-user-config", "-no-reboot",
        "-display", "none", "-machine", of.board, *emulator.accel(use_kvm=False), "-smp", "2",
        "-m", "2G", "-kernel", str(which.image), "-initrd", str(where / "initrd"),
        "-append", of.parameters, "-serial", f"file:{where / 'console'}", *drives,
    ]


def install(where: Path, kernel: Path, of: Machine) -> None:
    """Installs what lab/host/distro-image --arch left below @where, on its disk."""
    enlarge(where / "root.ext2", ROOM_MIB)
    (where / "initrd").write_bytes(_archive(kernel, of))
    term.say(f"installing the packages of {of.name} in a guest; console: {where / 'console'}")
    begin = time.monotonic()
    try:
        subprocess.run(command(where, kernel, of), check=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as e:
        raise term.LabError(f"not installed within {PATIENCE_S} s; see {where}/console") from e
    except subprocess.CalledProcessError as e:
        raise term.LabError(f"QEMU ended with {e.returncode}; see {where}/console") from e
    said = [line for line in (where / "console").read_text(errors="replace").splitlines()
            if SAID in line]
    if not said or DONE not in said[-1]:
        raise term.LabError(
            f"{said[-1] if said else 'the guest ended before its work did'}; see {where}/console"
        )
    term.say(f"installed in {time.monotonic() - begin:.0f} s")
    for name in ("initrd", "debs.ext2"):
        (where / name).unlink()
