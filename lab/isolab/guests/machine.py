# SPDX-License-Identifier: GPL-2.0-or-later
"""What differs from one kind of machine to another: its emulator, how it boots, its kernel's words.

An entry into the kernel is of a kind, by what the observer names it: on x86-64 by its vector, on
arm64, where all share two slots of one, by the function that is reached (lab/observer/cause.h).
No two machines use a name for different kinds.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from .. import term

# Of every guest: it ends where it would stop, and its symbols are where System.map says.
_EVERY = "panic=-1 oops=panic nokaslr"


@dataclass(frozen=True, eq=False)  # there is one of each
class Machine:
    name: str  # as Linux and the headers of tests and triggers call it
    target: str  # as QEMU does
    package: str  # of Debian, with its emulator
    unpacked: str  # where the lab's own lies below the cache
    cpus: tuple[str, ...]  # QEMU's names, the default first
    image: str
    boards: Mapping[str, str]  # by ISOLAB_GIC, the default first
    parameters: str
    separate: str  # gives user mode page tables of its own, as some processors want them
    debian: str  # the architecture of Debian's packages
    triplet: str  # below lib/
    loader: str
    cross: str  # what the names of its compilers begin with, on an x86-64 host
    kinds: Mapping[str, tuple[str, ...]]

    @property
    def prefix(self) -> str:
        """What distinguishes the names of its kernels and files from the first machine's."""
        return "" if self is X86_64 else f"{self.name}-"

    @property
    def suffix(self) -> str:
        """The same, at the end of a name."""
        return "" if self is X86_64 else f"-{self.name}"

    @property
    def cpu(self) -> str:
        """ISOLAB_CPU, or the default."""
        asked = os.environ.get("ISOLAB_CPU", "") if len(self.cpus) > 1 else ""
        known = {one.partition(",")[0]: one for one in self.cpus}
        if asked and asked not in known:
            raise term.LabError(f"ISOLAB_CPU must be one of {', '.join(known)}")
        return known[asked] if asked else self.cpus[0]

    @property
    def board(self) -> str:
        """By ISOLAB_GIC where there is more than one."""
        asked = os.environ.get("ISOLAB_GIC", "") if len(self.boards) > 1 else ""
        if asked and asked not in self.boards:
            raise term.LabError(f"ISOLAB_GIC must be one of {', '.join(self.boards)}")
        return self.boards[asked] if asked else next(iter(self.boards.values()))


# tsc=reliable: emulated, TSC and HPET drift apart on a busy host; the kernel then takes the TSC
# for broken and stops all CPUs to change over, which no real machine does.
# no_timer_check, as the kernel has it under every hypervisor that it knows: there too an emulated
# timer may be late on a busy host, and the kernel would take it for missing and panic.
X86_64 = Machine(
    name="x86_64", target="x86_64", package="qemu-system-x86", unpacked="qemu10", cpus=("max",),
    image="bzImage", boards={"": "pc"},
    parameters=f"console=ttyS0 {_EVERY} tsc=reliable no_timer_check", separate="pti=on",
    debian="amd64", triplet="x86_64-linux-gnu", loader="lib64/ld-linux-x86-64.so.2", cross="",
    kinds={
        "syscalls": ("entry_SYSCALL_64", "entry_SYSCALL_compat", "entry_SYSENTER_compat"),
        "page_faults": ("exc_page_fault",),
        "breakpoints": ("exc_int3",),
        "calls": ("sysvec_call_function_single", "sysvec_call_function"),
        "reschedules": ("sysvec_reschedule_ipi",),
        "works": ("sysvec_irq_work",),
        "timers": ("sysvec_apic_timer_interrupt",),
    },
)
# The first CPU has neither LSE atomics nor what came after ARMv8.0.
ARM64 = Machine(
    name="arm64", target="aarch64", package="qemu-system-arm", unpacked="qemu10-arm",
    cpus=("cortex-a72", "cortex-a57", "neoverse-n1", "max,pauth-impdef=on"), image="Image",
    boards={"3": "virt,gic-version=3", "2": "virt,gic-version=2"},
    # earlycon: a kernel that ends before it has a console says why.
    parameters=f"console=ttyAMA0 earlycon {_EVERY}", separate="kpti=on",
    debian="arm64", triplet="aarch64-linux-gnu", loader="lib/ld-linux-aarch64.so.1",
    cross="aarch64-linux-gnu-",
    kinds={
        "syscalls": ("el0_svc", "el0_svc_compat"),
        "page_faults": ("el0_da", "el0_ia"),
        "breakpoints": ("el0_brk64", "el0_dbg"),
        "calls": ("generic_smp_call_function_single_interrupt",),
        # Of the CPUs' own interrupts the one that calls nothing.
        "reschedules": ("ipi_handler",),
        "works": ("irq_work_run",),
        "timers": ("arch_timer_handler_virt", "arch_timer_handler_phys"),
    },
)
MACHINES = {machine.target: machine for machine in (X86_64, ARM64)}
NAMES = tuple(machine.name for machine in MACHINES.values())

KINDS = {
    kind: tuple(name for machine in MACHINES.values() for name in machine.kinds[kind])
    for kind in X86_64.kinds
}
UNKNOWN = "unknown"
KNOWN = frozenset(name for names in KINDS.values() for name in names)


def named(name: str) -> Machine:
    return next(machine for machine in MACHINES.values() if machine.name == name)


def count(by_vector: Mapping[str, int], kind: str) -> int:
    """Of a window's entries those of a kind; UNKNOWN: of none."""
    if kind == UNKNOWN:
        return sum(n for name, n in by_vector.items() if name not in KNOWN)
    return sum(by_vector.get(name, 0) for name in KINDS[kind])
