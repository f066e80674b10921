# SPDX-License-Identifier: GPL-2.0-or-later
"""The causes that guests inject (lab/guest/causes), and by what kinds each is rightly named."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    name: str
    size: int
    about: str
    kinds: tuple[str, ...]  # of cli/schema/measure.json
    threaded: tuple[str, ...] = ()  # besides, on PREEMPT_RT
    brings: tuple[str, ...] = ()  # what making it does too: as true, but not what is asked for

    def named_by(self, rt: bool) -> frozenset[str]:
        return frozenset(self.kinds + (self.threaded if rt else ()))


# Sizes: what makes the CPU stand still for some milliseconds under emulation, in windows that are
# shorter than the time in which the host takes its share of a CPU.
CAUSES = (
    Cause("irq", 16384, "bytes sent by a serial port", ("interrupt",), ("thread",)),
    Cause("softirq", 40, "packets with a long filter", ("softirq",), ("thread", "preemption")),
    Cause("kworker", 49152, "KiB of a trace buffer freed by bound work", ("kworker",)),
    Cause("tlb", 68, "MiB of kernel addresses flushed", ("ipi",)),
    Cause("text", 300, "flips of a static key", ("text patch",)),
    Cause("fault", 20, "rounds of clearing soft-dirty bits", ("page fault",), brings=("ipi",)),
    Cause("migration", 5, "ms on another, busy CPU", ("migration",)),
    Cause("hog", 10, "ms of a FIFO 99 thread", ("preemption", "thread")),
    Cause("timer", 4096, "who wait for timers", ("timer",), ("softirq", "thread")),
    Cause("throttle", 20, "ms out of a group's quota", ("throttling",)),
    Cause("pause", 10, "ms of a vCPU that stands still", ("hardware",)),
)
BY_NAME = {cause.name: cause for cause in CAUSES}
