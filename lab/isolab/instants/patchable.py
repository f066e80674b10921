# SPDX-License-Identifier: GPL-2.0-or-later
"""What of the kernel's text may be patched while it runs, out of its own tables.

Code that an isolated CPU executes before it has caught up with what was deferred must be none of
it: it might run in its old form, or in half of the new one.
"""

import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field

from .image import Image, words

Said = dict[str, str]
JUMP, CALL, TRACED, PROBED, ALTERNATIVE = (
    "jump label", "static call", "traced function", "kprobe", "alternative",
)
# Text that is never probed, by where it begins and ends.
_NEVER_PROBED = (
    ("__noinstr_text_start", "__noinstr_text_end"),
    ("__entry_text_start", "__entry_text_end"),
    ("__kprobes_text_start", "__kprobes_text_end"),
)
# Jump labels that are patched all the same, each with why an isolated CPU may execute them.
KEYS = {
    "isolator_key":
        "patched before the first CPU is isolated and after the last one is not: no CPU is "
        "isolated meanwhile",
    "context_tracking_key":
        "counted by each isolation: patched before the first one begins and after the last one "
        "has ended, and for good where a boot parameter asks for it",
}


@dataclass(frozen=True)
class Site:
    kind: str
    address: int
    size: int
    key: str = ""


@dataclass
class Sites:
    """@starts: of functions that may not be probed, with their ends."""

    sites: list[Site]
    unprobed: list[tuple[int, int]]
    begins: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.sites.sort(key=lambda s: s.address)
        self.begins = [s.address for s in self.sites]

    def at(self, pc: int) -> list[Site]:
        """Sites that the instruction at @pc is in; of the longest, 16 bytes, it may be the end."""
        low = bisect.bisect_right(self.begins, pc - 16)
        high = bisect.bisect_right(self.begins, pc)
        found = [s for s in self.sites[low:high] if s.address <= pc < s.address + s.size]
        if not any(begin <= pc < end for begin, end in self.unprobed):
            found.append(Site(PROBED, pc, 1))
        return found

    def counts(self) -> dict[str, int]:
        return {k: sum(s.kind == k for s in self.sites) for k in (JUMP, CALL, TRACED, ALTERNATIVE)}


class _Names:
    """Symbols by address: the nearest one below, and how far."""

    def __init__(self, image: Image) -> None:
        self.names = {address: name for name, address in image.symbols.items()}
        self.begins = sorted(self.names)

    def __getitem__(self, address: int) -> str:
        begin = self.begins[bisect.bisect_right(self.begins, address) - 1]
        return self.names[begin] + (f"+{address - begin:#x}" if address > begin else "")


def jumps(image: Image) -> Iterable[tuple[int, int, str]]:
    """Jump labels: where, where to, and the key."""
    names = _Names(image)
    at, data = image.table("__jump_table")
    for n, (code, target, key) in enumerate(words(data, "<iiq")):
        entry = at + 16 * n
        yield entry + code, entry + 4 + target, names[(entry + 8 + key) & ~3]


def _calls(image: Image, names: _Names) -> Iterable[Site]:
    at, data = image.table("static_call_sites")
    for n, (code, key) in enumerate(words(data, "<ii")):
        entry = at + 8 * n
        address = (entry + 4 + key) & ~3
        yield Site(CALL, entry + code, 5, names[address])


def _traced(image: Image, size: int) -> Iterable[Site]:
    for (address,) in words(image.table("mcount_loc")[1], "<Q"):
        yield Site(TRACED, address, size)


def _alternatives(image: Image) -> Iterable[Site]:
    begin, end = image.symbols["__alt_instructions"], image.symbols["__alt_instructions_end"]
    for n, (code, _, _, size, _) in enumerate(words(image.read(begin, end - begin), "<iiIBB")):
        yield Site(ALTERNATIVE, begin + 14 * n + code, size)


def _unprobed(image: Image) -> list[tuple[int, int]]:
    found = [(image.symbols[a], image.symbols[b]) for a, b in _NEVER_PROBED]
    starts = sorted(set(image.symbols.values()))
    for (address,) in words(image.table("kprobe_blacklist")[1], "<Q"):
        found.append((address, starts[bisect.bisect_right(starts, address)]))
    return found


def sites(image: Image) -> Sites:
    """Those of @image, x86-64; of modules none, as nothing of one is executed there."""
    names = _Names(image)
    labels = (Site(JUMP, code, 5, key) for code, _, key in jumps(image))
    every = [*labels, *_calls(image, names), *_traced(image, 5), *_alternatives(image)]
    return Sites(every, _unprobed(image))


def sites_arm64(image: Image, alternatives: Iterable[tuple[int, int]]) -> Sites:
    """The same of arm64, which patches no static calls; @alternatives: where, how long."""
    labels = (Site(JUMP, code, 4, key) for code, _, key in jumps(image))
    others = (Site(ALTERNATIVE, code, size) for code, size in alternatives)
    # Two NOPs at the begin of a function, and two ahead of it for who is called.
    return Sites([*labels, *_traced(image, 16), *others], _unprobed(image))


def quiet_text(image: Image) -> list[tuple[int, int]]:
    """Text of the entry, which is neither traced nor probed."""
    return [(image.symbols[a], image.symbols[b]) for a, b in _NEVER_PROBED[:2]]


def excepted(site: Site) -> str:
    """Why what may be patched there never is while a CPU is isolated; nothing: it may be."""
    if site.kind == ALTERNATIVE:
        return "patched once, before the first user mode"
    return KEYS.get(site.key, "") if site.kind == JUMP else ""


def judge(found: Sites, executed: Iterable[int]) -> tuple[list[Said], list[Said]]:
    """Of what was executed: what may be patched then, and what is excepted, with the reason."""
    bad, good = [], []
    for pc in sorted(set(executed)):
        for site in found.at(pc):
            said = {"pc": hex(pc), "kind": site.kind, "key": site.key}
            if why := excepted(site):
                good.append({**said, "why": why})
            else:
                bad.append(said)
    return bad, good
