# SPDX-License-Identifier: GPL-2.0-or-later
"""A built kernel and its symbols."""

import bisect
import functools
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .. import term
from ..paths import TOP

# The kernel's first instruction after an entry by a system call.
SYSCALL_ENTRIES = ("entry_SYSCALL_64", "entry_SYSCALL_compat", "entry_SYSENTER_compat")
# Where x86-64 has modules begin at the earliest, above an image of 512 MiB.
MODULES, A_MODULE = 0xFFFF_FFFF_A000_0000, "a module"
# A call of one CPU by another.  Isolator's own interruptions of user mode come by it, sent here.
KICK, DELIVER = "sysvec_call_function_single", "isolator_deliver"
# The interrupt stubs that the kernel lays out as a table: first vector, stub size.
STUB_TABLES = {"irq_entries_start": 0x20, "spurious_entries_start": 0xEC}
STUB_SIZES = (8, 16)


@dataclass(frozen=True)
class Kernel:
    """What kernel/build leaves: a directory with bzImage, System.map, modules/, config.

    A distribution's has a @disk too, with what is process 1 there; Debian's own for arm64
    has an Image instead, and no modules.
    """

    name: str
    path: Path
    options: frozenset[str] = field(default=frozenset(), compare=False)
    disk: Path | None = None
    arch: str = "x86_64"

    @property
    def image(self) -> Path:
        return self.path / ("bzImage" if self.arch == "x86_64" else "Image")

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
        """Has it Isolator?  It exists for x86-64 only."""
        return self.arch == "x86_64" and self.has("CONFIG_ISOLATOR")

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

    def syscall_entries(self) -> list[int]:
        by_name = self.symbols[2]
        found = [by_name[n] for n in SYSCALL_ENTRIES if n in by_name]
        if not found:
            raise term.LabError(f"{self.path}/System.map names no system call entry")
        return found

    def symbol_at(self, pc: int) -> str:
        """The name of a first kernel PC: a vector if it is a known stub."""
        addrs, names, by_name = self.symbols
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


def build(flavour: str, stock: bool = False, extra: tuple[str, ...] = ()) -> Kernel:
    """Has kernel/build make the kernel, if its content is not built yet."""
    command = [str(TOP / "kernel" / "build"), "--flavour", flavour, *extra]
    if stock:
        command.append("--stock")
    name = f"{'stock' if stock else 'isolator'}-{flavour}" + "".join(e[1:] for e in extra)
    given = os.environ.get("ISOLAB_KERNEL_" + name.upper().replace("-", "_"))
    if given:
        term.say(f"kernel {name}: {given}, as the environment says")
        return Kernel(name, Path(given))
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise term.LabError(f"building the kernel failed: {' '.join(command)}")
    return Kernel(name, Path(done.stdout.strip().splitlines()[-1]))
