# SPDX-License-Identifier: GPL-2.0-or-later
"""A built kernel and its symbols."""

import bisect
import functools
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .. import term
from ..paths import TOP, digest
from . import machine
from .machine import Machine

# An entry by a system call, as the observer names it.
SYSCALL_ENTRIES = machine.KINDS["syscalls"]
# Where x86-64 has modules begin at the earliest, above an image of 512 MiB.
MODULES, A_MODULE = 0xFFFF_FFFF_A000_0000, "a module"
# A call of one CPU by another.  Isolator's own interruptions of user mode come by it, sent here.
KICK, DELIVER = "sysvec_call_function_single", "isolator_deliver"
# The interrupt stubs that the kernel lays out as a table: first vector, stub size.
STUB_TABLES = {"irq_entries_start": 0x20, "spurious_entries_start": 0xEC}
STUB_SIZES = (8, 16)
# arm64: what enters the kernel, by the functions that it reaches; the options of the observer and
# what they stand for are in lab/observer/cause.h.  A name may have a suffix of the compiler's.
CAUSES = {
    "interrupt": re.compile(r"el0_interrupt"),
    "cause": re.compile(r"el0_(?!interrupt)\w+|__el0_error_handler_common"),
    "source": re.compile(r"ipi_handler|handle_(?:fasteoi|level|edge)_irq"),
    "handler": re.compile(
        r"arch_timer_handler_(?:virt|phys)|generic_smp_call_function_single_interrupt|irq_work_run"
    ),
}
# arm64's vector tables and how many there are in a row: the kernel's, and one for each way to
# clear the branch history that user mode leaves (arch/arm64/kernel/entry.S).
VECTORS = {"vectors": 1, "__bp_harden_el1_vectors": 3}
VECTORS_SIZE = 0x800


def vector_tables(symbols: Mapping[str, int]) -> list[int]:
    """arm64: where vector tables begin.

    A configuration may lack some: their name is there, but behind it comes other text.
    """
    tables = [
        symbols[name] + i * VECTORS_SIZE
        for name, many in VECTORS.items()
        if name in symbols
        for i in range(many)
    ]
    return [t for t in tables if t + VECTORS_SIZE <= symbols["__entry_text_end"]]


@dataclass(frozen=True)
class Kernel:
    """What kernel/build leaves: a directory with bzImage or Image, System.map, modules/, config.

    A distribution's has a @disk too, with what is process 1 there; Debian's own for arm64
    has no modules and no symbols.  @arch is QEMU's word for its machine.
    """

    name: str
    path: Path
    options: frozenset[str] = field(default=frozenset(), compare=False)
    disk: Path | None = None
    arch: str = "x86_64"
    given: bool = field(default=False, compare=False)  # in a folder that its owner may build anew

    @functools.cached_property
    def key(self) -> str:
        """What is made for one kernel or measured on it is kept by this; kernel/build names a
        folder by what is in it."""
        if not self.given:
            return self.path.name
        files = (self.image, self.path / "System.map", self.path / "config")
        parts = (part for file in (*files, *self.modules().values()) if file.is_file()
                 for part in (str(file.relative_to(self.path)), file.read_bytes()))
        return f"{self.path.name}-{digest(*parts)}"

    def modules(self) -> dict[str, Path]:
        """Their files, with what tells of them, by where they are to lie below lib/modules."""
        root = self.path / "modules" / "lib" / "modules"
        return {str(path.relative_to(root)): path for path in sorted(root.rglob("*"))
                if path.is_file() and path.name not in ("build", "source")}

    @property
    def image(self) -> Path:
        return self.path / self.machine.image

    @property
    def machine(self) -> Machine:
        return machine.MACHINES[self.arch]

    @functools.cached_property
    def symbols(self) -> tuple[list[int], list[str], dict[str, int]]:
        table: list[tuple[int, str]] = []
        for line in (self.path / "System.map").read_text().splitlines():
            addr, kind, name = line.split()
            if kind in "tTwW":
                table.append((int(addr, 16), name))
        table.sort()
        return [a for a, _ in table], [n for _, n in table], {n: a for a, n in table}

    @functools.cached_property
    def version(self) -> str:
        return next((self.path / "modules" / "lib" / "modules").iterdir()).name

    def has(self, option: str) -> bool:
        return f"{option}=y" in self.config or f"{option}=m" in self.config

    @property
    def ours(self) -> bool:
        """Has it Isolator?  Debian's own for arm64, which has no such file, has not."""
        return (self.path / "config").exists() and self.has("CONFIG_ISOLATOR")

    @property
    def hz(self) -> int:
        """How often it ticks a second."""
        return next(
            int(line.removeprefix("CONFIG_HZ="))
            for line in self.config
            if line.startswith("CONFIG_HZ=")
        )

    @functools.cached_property
    def config(self) -> frozenset[str]:
        return frozenset((self.path / "config").read_text().splitlines())

    @functools.cached_property
    def causes(self) -> dict[str, dict[int, str]]:
        """By the observer's option: addresses of functions, and their names as they are written."""
        found: dict[str, dict[int, str]] = {option: {} for option in CAUSES}
        for address, symbol in zip(*self.symbols[:2], strict=True):
            name = symbol.partition(".")[0]
            for option, wanted in CAUSES.items():
                if self.machine is machine.ARM64 and wanted.fullmatch(name):
                    found[option][address] = name
        return found

    def vectors(self) -> list[int]:
        """arm64: where its vector tables begin."""
        return vector_tables(self.symbols[2])

    def syscall_entries(self) -> list[int]:
        by_name = self.symbols[2] | {
            name: address for named in self.causes.values() for address, name in named.items()
        }
        found = [by_name[n] for n in self.machine.kinds["syscalls"] if n in by_name]
        if not found:
            raise term.LabError(f"{self.path}/System.map names no system call entry")
        return found

    def symbol_at(self, pc: int) -> str:
        """The name of a first kernel PC: a vector if it is a known stub."""
        addrs, names, by_name = self.symbols
        for causes in self.causes.values():
            if pc in causes:
                return causes[pc]
        for table, first in STUB_TABLES.items():
            start = by_name.get(table)
            if start is None or not start <= pc < start + 16 * 256:
                continue
            end = addrs[bisect.bisect_right(addrs, start)]
            if pc >= max(end, start + 1) and end > start:
                continue
            size = STUB_SIZES[0] if end - start <= 8 * 256 else STUB_SIZES[1]
            return f"irq_0x{first + (pc - start) // size:02x}"
        i = bisect.bisect_right(addrs, pc) - 1
        if i < 0:
            return hex(pc)
        offset = pc - addrs[i]
        name = names[i].removeprefix("asm_")
        return name if offset == 0 else f"{name}+{offset:#x}"

    def places(self, pc: int) -> list[str]:
        """This address as the kernel may print it: name+0xN, by each name that its symbol has.

        Of a module, or without symbols, as of Debian's own kernels, the name is not known.
        """
        if pc >= MODULES:
            return [A_MODULE]
        if not (self.path / "System.map").exists():
            return [hex(pc)]
        addrs, names, _ = self.symbols
        end = bisect.bisect_right(addrs, pc)
        begin = bisect.bisect_left(addrs, addrs[end - 1]) if end else 0
        return [f"{names[i]}+{pc - addrs[i]:#x}" for i in range(begin, end)]


def build(flavour: str, stock: bool = False, extra: tuple[str, ...] = (),
          of: Machine = machine.X86_64) -> Kernel:
    """Has kernel/build make the kernel, if its content is not built yet."""
    command = [str(TOP / "kernel" / "build"), "--flavour", flavour, *extra]
    if of is not machine.X86_64:
        command += ["--arch", of.name]
    if stock:
        command.append("--stock")
    name = f"{of.prefix}{'stock' if stock else 'isolator'}-{flavour}"
    name += "".join(e[1:] for e in extra)
    variable = "ISOLAB_KERNEL_" + name.upper().replace("-", "_")
    given = os.environ.get(variable)
    if given:
        term.say(f"kernel {name}: {given}, as the environment says")
        which = Kernel(name, Path(given), arch=of.target, given=True)
        if not which.image.exists():
            raise term.LabError(f"{variable}: there is no {which.image}: name a directory as "
                                "kernel/build prints it")
        return which
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise term.LabError(f"building the kernel failed: {' '.join(command)}")
    return Kernel(name, Path(done.stdout.strip().splitlines()[-1]), arch=of.target)
