# SPDX-License-Identifier: GPL-2.0-or-later
"""arm64: what may run between a vector and the synchronisation, and on the way out, by its code.

Every way is followed through the kernel's image, calls and returns included, so what no run has
executed is seen too.  Where something cannot be told from the code, such as an indirect jump, each
place that it may lead to in that function is followed.
"""

import bisect
import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from .. import term
from ..guests import kernel, machine
from .image import Image, read, words
from .patchable import KEYS, Said, Sites, excepted, jumps, quiet_text, sites_arm64

DSB_ISHST, ISB, NOP, ERET = 0xD5033A9F, 0xD5033FDF, 0xD503201F, 0xD69F03E0
# Code that changes the state to kernel: as one of these returns the CPU has synchronised, or it is
# not an isolated one's.
ENTERS = ("ct_kernel_enter_state", "ct_kernel_enter", "__ct_user_exit", "ct_nmi_enter")
# The way out begins where the state changes, with these calls of each other.
LEAVES = ("__ct_user_enter", "ct_kernel_exit", "ct_kernel_exit_state")
# Who leads to user mode: an NMI that came from it and a guest have ways of their own.
HANDLERS = ("el0_", "__el0_", "el0t_", "isolator_exit_again", "asm_exit_to_user_mode",
            "ret_from_fork")
USER_SLOTS = range(0x400, 0x800, 0x80)
# What is called by an address in memory: one of them hardens the branch predictor, as the kernel
# has chosen when the CPU came up.
HARDENING = ("call_smc_arch_workaround_1", "call_hvc_arch_workaround_1",
             "qcom_link_stack_sanitisation")
# The kernel has found itself broken, or the processor has: what follows is its last word.
WARNS = ("__warn_printk", "__panic_unhandled")
DEEPEST = 12

Stack = tuple[int, ...]


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


@dataclass(frozen=True)
class Step:
    """Where an instruction leads: @to besides what follows it, if it @falls through."""

    to: int | None = None
    falls: bool = True
    call: bool = False
    indirect: bool = False
    returns: bool = False
    ends: bool = False  # the kernel is left, or has found itself broken


def decode(word: int, pc: int) -> Step:
    """Of A64 all that does not only lead to the next instruction."""
    if word & 0x7C000000 == 0x14000000:  # b, bl
        call = bool(word >> 31) and word & 0x3FFFFFF != 1  # a call of what follows only counts
        return Step(pc + 4 * _signed(word & 0x3FFFFFF, 26), falls=False, call=call)
    if word & 0xFF000000 == 0x54000000 or word & 0x7E000000 == 0x34000000:  # b.cond, cbz, cbnz
        return Step(pc + 4 * _signed(word >> 5 & 0x7FFFF, 19))
    if word & 0x7E000000 == 0x36000000:  # tbz, tbnz
        return Step(pc + 4 * _signed(word >> 5 & 0x3FFF, 14))
    if word == ERET or word & 0xFFE0001F == 0xD4200000 or word & 0xFFFF0000 == 0:
        return Step(falls=False, ends=True)  # eret; brk; udf
    if word & 0xFE9FF000 == 0xD61F0000:  # br, blr, ret, also with a check of the pointer
        kind = word >> 21 & 3
        return Step(falls=False, indirect=kind < 2, call=kind == 1, returns=kind == 2)
    return Step()


def replacements(image: Image) -> Iterator[tuple[int, int, int, int]]:
    """Of arm64's alternatives: where and how long, and the other text, of no length if made."""
    begin, end = image.symbols["__alt_instructions"], image.symbols["__alt_instructions_end"]
    for n, fields in enumerate(words(image.read(begin, end - begin), "<iiHBB")):
        entry = begin + 12 * n
        yield entry + fields[0], fields[3], entry + 4 + fields[1], fields[4]


@dataclass
class Flow:
    """A walk: all that it met, by address, and what could not be followed."""

    image: Image
    sites: Sites
    within: list[tuple[int, int]]  # text that nobody patches
    seen: dict[int, str] = field(default_factory=dict)
    synced: set[int] = field(default_factory=set)
    left: int = 0  # ways that ended in user mode
    bad: list[Said] = field(default_factory=list)
    excepted: dict[int, Said] = field(default_factory=dict)
    _begins: list[int] = field(default_factory=list)
    _names: dict[int, str] = field(default_factory=dict)
    _replaced: dict[int, list[int]] = field(default_factory=dict)
    _last: dict[int, int] = field(default_factory=dict)
    _jumps: dict[int, list[tuple[int, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # What begins or ends there comes last: a function may have the same address.
        for name in sorted(self.image.symbols, key=lambda name: name.endswith(("_start", "_end"))):
            self._names.setdefault(self.image.symbols[name], name)
        self._begins = sorted(self._names)
        for site, size, new, length in replacements(self.image):
            # Without a text of its own a function of the kernel may make it a NOP.
            self._replaced.setdefault(site, []).append(new if length else site + size)
            if length:
                self._last[new + length - 4] = site + size
        for code, target, key in jumps(self.image):
            self._jumps.setdefault(code, []).append((target, key))

    @property
    def names(self) -> dict[int, str]:
        """By address, of all that has one."""
        return self._names

    def begin_of(self, pc: int) -> int:
        return self._begins[bisect.bisect_right(self._begins, pc) - 1]

    def name(self, pc: int) -> str:
        """Of the function, without what the compiler has added."""
        return self._names[self.begin_of(pc)].partition(".")[0]

    def where(self, pc: int) -> str:
        begin = self.begin_of(pc)
        return self._names[begin] + (f"+{pc - begin:#x}" if pc > begin else "")

    def word(self, pc: int) -> int:
        return int.from_bytes(self.image.read(pc, 4), "little")

    def code(self, begin: int) -> Iterator[tuple[int, int]]:
        """The instructions of the function that begins there."""
        end = self._begins[bisect.bisect_right(self._begins, begin)]
        for pc in range(begin, end, 4):
            yield pc, self.word(pc)

    def calls_of(self, name: str, of: Callable[[str], bool]) -> list[int]:
        """Behind each call of the function @name that is in one that @of takes, all unpatched."""
        target = next(a for a, n in self._names.items() if n.partition(".")[0] == name)
        found = []
        for begin, end in self.within:
            for pc in range(begin, end, 4):
                step = decode(self.word(pc), pc)
                if step.call and step.to == target and of(self.name(pc)):
                    found.append(pc + 4)
        return found

    def _blocks(self, pc: int) -> list[int]:
        """All places that an indirect jump may lead to: behind what does not fall through."""
        found, open_end = [], False
        for at, word in self.code(self.begin_of(pc)):
            if open_end and word not in (0, NOP):
                found.append(at)
            open_end = not decode(word, at).falls and not decode(word, at).call
        return found

    def _say(self, pc: int, kind: str, what: str) -> None:
        if not any(s["pc"] == hex(pc) and s["kind"] == kind for s in self.bad):
            self.bad.append({"pc": hex(pc), "at": self.where(pc), "kind": kind, "what": what})

    def _look(self, pc: int) -> None:
        """Is the instruction there one that may be patched?"""
        for site in self.sites.at(pc):
            if excepted(site):
                key = {"key": site.key} if site.key else {}
                self.excepted[pc] = {"kind": site.kind, **key, "at": self.where(pc)}
            else:
                self._say(pc, site.kind, site.key or self.where(pc))

    def _next(self, pc: int, stack: Stack, until: tuple[str, ...]) -> Iterable[tuple[int, Stack]]:
        """What may follow the instruction at @pc."""
        word, here = self.word(pc), self.name(pc)
        if word == ISB and self.word(pc - 4) == DSB_ISHST and here in until:
            self.synced.add(pc)
            return
        for other in self._replaced.get(pc, ()):
            yield other, stack
        # An isolated CPU has both keys on; of any other key the look has complained.
        taken = [target for target, key in self._jumps.get(pc, ()) if key in KEYS]
        if taken:
            yield taken[0], stack
            return
        step = decode(word, pc)
        if step.ends:
            self.left += word == ERET
        elif step.returns:
            if here in until:
                return
            if stack:
                yield stack[-1], stack[:-1]
            else:
                for at in self.calls_of(here, lambda name: name.startswith(HANDLERS)):
                    yield at, ()
        elif step.call:
            yield from self._called(pc, step, stack, until)
        elif step.indirect:
            if not here.startswith(("ret_to_user", "tramp")):
                yield from ((at, stack) for at in self._blocks(pc))
            else:
                self.excepted[pc] = {"kind": "trampoline", "at": self.where(pc)}
        else:
            if step.to is not None:
                yield step.to, stack
            if step.falls:
                yield self._last.get(pc, pc + 4), stack

    def _called(
        self, pc: int, step: Step, stack: Stack, until: tuple[str, ...]
    ) -> Iterable[tuple[int, Stack]]:
        targets = [step.to] if step.to is not None else [
            self.image.symbols[name] for name in HARDENING if name in self.image.symbols
        ]
        if len(stack) == DEEPEST:
            raise term.LabError(f"calls more than {DEEPEST} deep at {self.where(pc)}")
        for target in targets:
            name = self.name(target)
            if name in WARNS:
                continue
            if not any(begin <= target < end for begin, end in self.within):
                self._say(pc, "call", name)
                continue
            yield target, (*stack, pc + 4)
            # What follows the change of the state is another stretch.
            if name in until:
                return

    def follow(self, begins: Iterable[tuple[int, Stack]], until: tuple[str, ...] = ()) -> None:
        """All ways from there to a synchronisation or return in @until, or to user mode."""
        done = set()
        todo = list(begins)
        while todo:
            pc, stack = todo.pop()
            if (pc, stack) in done:
                continue
            done.add((pc, stack))
            self.seen[pc] = self.where(pc)
            self._look(pc)
            todo.extend(self._next(pc, stack, until))


def slots(image: Image) -> list[int]:
    """Where user mode enters."""
    return [table + slot for table in kernel.vector_tables(image.symbols) for slot in USER_SLOTS]


def change(image: Image) -> int:
    """The function that changes the state to user."""
    return next(a for n, a in image.symbols.items() if n.partition(".")[0] == LEAVES[-1])


def way_in(flow: Flow) -> None:
    """From each slot of user mode's vectors to the synchronisation."""
    flow.follow(((slot, ()) for slot in slots(flow.image)), ENTERS)


def way_out(flow: Flow) -> None:
    """From the change of the state to the return to user mode, or into the kernel again."""
    user, exits, changes = LEAVES
    stacks = [
        (outer, inner)
        for outer in flow.calls_of(exits, lambda name: name == user)
        for inner in flow.calls_of(changes, lambda name: name == exits)
    ]
    flow.follow(((change(flow.image), stack) for stack in stacks), ENTERS)


def of(image: Image) -> Flow:
    """Of a kernel: nothing walked yet."""
    others = [(code, size) for code, size, _, _ in replacements(image)]
    return Flow(image, sites_arm64(image, others), quiet_text(image))


def unsynced(flow: Flow) -> list[str]:
    """Of what changes the state to kernel that which neither synchronises nor calls what does.

    A way that was walked may end there without: of a CPU that is not isolated, by a branch that
    the walk cannot tell from another.
    """
    begins = {begin: flow.name(begin) for begin in flow.names if flow.name(begin) in ENTERS}
    calls = {
        name: {flow.name(to) for pc, word in flow.code(begin)
               if (step := decode(word, pc)).call and (to := step.to) is not None}
        for begin, name in begins.items()
    }
    good = {name for begin, name in begins.items()
            if any(word == ISB and flow.word(pc - 4) == DSB_ISHST
                   for pc, word in flow.code(begin) if pc > begin)}
    while more := {name for name in calls if calls[name] & good} - good:
        good |= more
    return sorted(calls.keys() - good)


STRETCHES = {"in": way_in, "out": way_out}


def planted(image: Image, at: int, target: int) -> Image:
    """The same kernel, with a call of @target in place of the instruction there."""
    return changed(image, at, 0x94000000 | (target - at) // 4 & 0x3FFFFFF)


def changed(image: Image, at: int, word: int) -> Image:
    """The same kernel, with another instruction there."""
    segments = []
    for begin, data in image.segments:
        if begin <= at < begin + len(data):
            data = data[: at - begin] + word.to_bytes(4, "little") + data[at - begin + 4 :]
        segments.append((begin, data))
    other = copy.copy(image)
    other.segments = segments
    return other


def middle(flow: Flow) -> int:
    """Of all that was met an instruction in the middle that only leads to the next."""
    plain = [pc for pc in sorted(flow.seen)
             if decode(flow.word(pc), pc) == Step() and flow.word(pc) not in (DSB_ISHST, ISB)
             and not flow.sites.at(pc)]
    return plain[len(plain) // 2]


def walk(image: Image, which: str) -> Flow:
    flow = of(image)
    STRETCHES[which](flow)
    return flow


def main(spec: str) -> int:
    """Both stretches of a kernel; a call planted in each and a lost synchronisation are found."""
    preemption = spec.removeprefix(f"{machine.ARM64.name}-")
    image = read(kernel.build(preemption, of=machine.ARM64))
    wrong = 0
    walked = {which: walk(image, which) for which in STRETCHES}
    for which, flow in walked.items():
        # The way in has no other end; the way out may go in again.
        ends = {"in": flow.synced, "out": flow.left}[which]
        print(f"{which}: {len(flow.seen)} instructions of {len(set(map(flow.name, flow.seen)))} "
              f"functions, {len(flow.bad)} that may be patched or call what may be", flush=True)
        for kind, many in sorted(Counter(one["kind"] for one in flow.excepted.values()).items()):
            print(f"  excepted: {kind} {many}")
        for one in flow.bad:
            print(f"  {one['at']}: {one['kind']}: {one['what']}")
        at = middle(flow)
        bad = walk(planted(image, at, image.symbols["_printk"]), which).bad
        found = hex(at) in [one["pc"] for one in bad]
        print(f"  planted at {flow.where(at)}: {'found' if found else 'NOT FOUND'}")
        wrong += bool(flow.bad) + (not ends) + (not found)
    flow = walked["in"]
    missing = unsynced(flow)
    for name in missing:
        print(f"  {name} changes the state and does not synchronise")
    at = min(flow.synced, default=0)
    found = bool(at and unsynced(of(changed(image, at, NOP))))
    print(f"sync: taken away at {flow.where(at) if at else 'no place'}: "
          f"{'found' if found else 'NOT FOUND'}")
    wrong += bool(missing) + (not found)
    return term.EXCEEDED if wrong else term.PASS
