# SPDX-License-Identifier: GPL-2.0-or-later
"""The module lab_instants, built for a kernel of kernel/build."""

import shutil
import subprocess
from pathlib import Path

from .. import lock, term
from ..guests.kernel import Kernel
from ..paths import LAB, TOP, cache, digest

SOURCES = (
    LAB / "guest" / "instants" / "instants.h",
    LAB / "guest" / "instants" / "module" / "lab_instants.c",
    LAB / "guest" / "instants" / "module" / "Kbuild",
)
NAME = "lab_instants.ko"
# What it calls and the kernel does not export, by its parameters.
SYMBOLS = ("text_poke_sync", "flush_tlb_kernel_range", "irq_work_queue_on")


def _run(command: list[str], what: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise term.LabError(f"{what} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def _make(tree: Path, objects: Path, *more: str) -> None:
    _run(
        [str(TOP / "kernel" / "make"), "x86_64", "", "-C", str(tree), f"O={objects}",
         "KBUILD_MODPOST_WARN=1", *more],
        f"make {' '.join(more)} for the lab's module",
    )


def _prepared(objects: Path, kernel: Kernel) -> bool:
    """Is this where that kernel was built, and has it been built?"""
    config = objects / ".config"
    return (
        config.exists()
        and config.read_text() == (kernel.path / "config").read_text()
        and (objects / "scripts/mod/modpost").exists()
        and (objects / "include/generated/utsrelease.h").exists()
        and (objects / "scripts/module.lds").exists()
    )


def _objects(tree: Path, flavour: str, kernel: Kernel) -> Path:
    objects = tree / f"build-{flavour}"
    if _prepared(objects, kernel):
        return objects
    objects = tree / f"build-lab-{flavour}"
    if not _prepared(objects, kernel):
        objects.mkdir(exist_ok=True)
        shutil.copy(kernel.path / "config", objects / ".config")
        _make(tree, objects, "modules_prepare")
    return objects


def build(kernel: Kernel, flavour: str) -> Path:
    """The module's file; built once for each kernel."""
    sources = (path.read_bytes() for path in (*SOURCES, Path(__file__)))
    place = cache() / "instants"
    into = place / f"{kernel.path.name}-{digest(kernel.key, *sources)}"
    with lock.held(place / "lock"):
        if (into / NAME).exists():
            return into / NAME
        term.say("building the module lab_instants")
        tree = Path(_run([str(TOP / "kernel" / "build"), "--flavour", flavour, "--source"],
                         "kernel/build --source").strip().splitlines()[-1])
        objects = _objects(tree, flavour, kernel)
        source = objects / "lab_instants"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        for path in SOURCES:
            shutil.copy(path, source)
        _make(tree, objects, f"M={source}", "modules")
        for old in place.glob(f"{kernel.path.name}-*"):
            shutil.rmtree(old)
        into.mkdir()
        shutil.copy(source / NAME, into / NAME)
    return into / NAME
