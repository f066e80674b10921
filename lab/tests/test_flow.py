# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab flow: what may run ahead of the synchronisation and on the way out, by made-up text."""

import struct

import pytest
from isolab import term
from isolab.instants import flow, patchable
from isolab.instants.flow import DSB_ISHST, ISB, NOP, Step, decode
from isolab.instants.image import RawImage

BASE = 0xFFFF800080000000
ENTRY, QUIET, OPEN, TABLES, END = 0x800, 0x1000, 0x2000, 0x3000, 0x4000
HANDLER, ENTER, EXIT, CHANGE, USER, AGAIN, NMI = (QUIET + n * 0x40 for n in range(7))
TRACED, KEY = OPEN + 0x10, END - 0x20
RET, ERET, BRK, CBZ_2 = 0xD65F03C0, 0xD69F03E0, 0xD4210000, 0x34000040


def branch(at: int, to: int, call: bool = False) -> int:
    return (0x94000000 if call else 0x14000000) | (to - at) // 4 & 0x3FFFFFF


def code(at: int, *words: int | tuple[str, int]) -> tuple[int, bytes]:
    """Words, and branches: ("b" or "bl", where to)."""
    text = [
        word if isinstance(word, int) else branch(at + 4 * n, word[1], word[0] == "bl")
        for n, word in enumerate(words)
    ]
    return at, struct.pack(f"<{len(text)}I", *text)


def a_kernel(*changed: tuple[int, bytes], labels: bytes = b"", others: bytes = b"") -> RawImage:
    """Each slot leads to a handler, which enters, runs the kernel, and leaves."""
    parts = [
        *(code(ENTRY + slot, ("b", HANDLER)) for slot in flow.USER_SLOTS),
        code(HANDLER, NOP, ("bl", ENTER), ("bl", OPEN), ("bl", USER), NOP, ERET),
        code(ENTER, NOP, CBZ_2, DSB_ISHST, ISB, RET),
        code(EXIT, ("bl", CHANGE), RET),
        code(CHANGE, NOP, RET),
        code(USER, ("bl", EXIT), RET),
        code(NMI, ("bl", ENTER), RET),
        code(OPEN, NOP, RET),
        (TABLES, labels), (TABLES + 0x100, struct.pack("<Q", BASE + TRACED)),
        (TABLES + 0x200, others),
        *changed,
    ]
    data = bytearray(END)
    for at, text in parts:
        data[at : at + len(text)] = text
    tables = {"__jump_table": (TABLES, len(labels)), "mcount_loc": (TABLES + 0x100, 8),
              "kprobe_blacklist": (TABLES + 0x300, 0)}
    symbols = {
        "_text": 0, "vectors": ENTRY, "__entry_text_start": ENTRY, "__entry_text_end": QUIET,
        "el0_svc": HANDLER, "ct_kernel_enter_state": ENTER, "ct_kernel_exit.constprop.0": EXIT,
        "ct_kernel_exit_state": CHANGE, "__ct_user_enter": USER, "isolator_exit_again": AGAIN,
        "ct_nmi_enter": NMI,
        "__noinstr_text_start": QUIET, "__noinstr_text_end": OPEN, "kernel_proper": OPEN,
        "__kprobes_text_start": END - 8, "__kprobes_text_end": END - 8, "end": END - 4,
        "__alt_instructions": TABLES + 0x200,
        "__alt_instructions_end": TABLES + 0x200 + len(others), "isolator_key": KEY,
        "some_key": KEY + 8,
    }
    for name, (begin, size) in tables.items():
        symbols |= {f"__start_{name}": begin, f"__stop_{name}": begin + size}
    return RawImage(bytes(data), {name: BASE + at for name, at in symbols.items()})


def label(at: int, to: int, key: int) -> bytes:
    """The entry of a jump label, the first of its table."""
    return struct.pack("<iiq", at - TABLES, to - TABLES - 4, key - TABLES - 8)


def bad(image: RawImage, which: str) -> list[tuple[str, str]]:
    return [(one["at"], one["kind"]) for one in flow.walk(image, which).bad]


@pytest.mark.parametrize(
    ("word", "step"),
    [
        (0x14000002, Step(0x108, falls=False)), (0x97FFFFFF, Step(0xFC, falls=False, call=True)),
        (0x94000001, Step(0x104, falls=False)),  # bl .+4 only counts
        (0x54FFFFE1, Step(0xFC)), (0x35000043, Step(0x108)), (0xB4FFFFE0, Step(0xFC)),
        (0x3707FFE1, Step(0xFC)), (0xB6000040, Step(0x108)),
        (0xD61F03A0, Step(falls=False, indirect=True)),
        (0xD63F0040, Step(falls=False, indirect=True, call=True)),
        (RET, Step(falls=False, returns=True)), (0xD65F0BFF, Step(falls=False, returns=True)),
        (ERET, Step(falls=False, ends=True)), (BRK, Step(falls=False, ends=True)),
        (0, Step(falls=False, ends=True)), (NOP, Step()), (0xD5384100, Step()),
        (0xF9400041, Step()),
    ],
)  # fmt: skip
def test_where_an_instruction_leads(word: int, step: Step) -> None:
    assert decode(word, 0x100) == step


def test_a_good_kernel() -> None:
    way_in, way_out = (flow.walk(a_kernel(), which) for which in ("in", "out"))
    assert not way_in.bad and not way_out.bad
    assert way_in.synced == {BASE + ENTER + 12} and way_in.left == 0
    # What is called behind the synchronisation is not looked at, nor what is ahead of the change.
    walked = {way_in.name(pc) for pc in way_in.seen}
    assert walked == {"vectors", "el0_svc", "ct_kernel_enter_state"}
    assert BASE + HANDLER + 8 not in way_in.seen and BASE + HANDLER not in way_out.seen
    assert way_out.left == 1 and BASE + HANDLER + 16 in way_out.seen


@pytest.mark.parametrize(
    ("changed", "which", "where", "kind"),
    [
        (code(HANDLER, ("bl", OPEN)), "in", "el0_svc", "call"),
        (code(ENTER, ("bl", TRACED)), "in", "ct_kernel_enter_state", "call"),
        (code(HANDLER + 16, ("bl", OPEN)), "out", "el0_svc+0x10", "call"),
        (code(CHANGE, ("b", OPEN)), "out", "kernel_proper", patchable.PROBED),
        (code(USER + 4, ("bl", OPEN), RET), "out", "__ct_user_enter+0x4", "call"),
    ],
)
def test_a_planted_call_is_found(
    changed: tuple[int, bytes], which: str, where: str, kind: str
) -> None:
    assert (where, kind) in bad(a_kernel(changed), which)
    other = "out" if which == "in" else "in"
    assert not bad(a_kernel(changed), other)


def test_behind_a_conditional_branch_too() -> None:
    """The synchronisation is on one of two ways: what is on the other is seen."""
    way = code(ENTER, CBZ_2, ("b", ENTER + 16), ("bl", OPEN), NOP, DSB_ISHST, ISB, RET)
    assert bad(a_kernel(way), "in") == [("ct_kernel_enter_state+0x8", "call")]


def test_a_kernel_that_does_not_synchronise_is_seen() -> None:
    for without in (code(ENTER + 8, NOP, ISB), code(ENTER + 8, DSB_ISHST, NOP)):
        assert not flow.walk(a_kernel(without), "in").synced


@pytest.mark.parametrize(("changed", "said"), [
    ((), []),
    ([code(ENTER, NOP, CBZ_2, NOP, ISB, RET)], ["ct_kernel_enter_state", "ct_nmi_enter"]),
    # Its own copy without, as the compiler made it, and one that calls nothing.
    ([code(NMI, NOP, CBZ_2, NOP, ISB, RET)], ["ct_nmi_enter"]),
    ([code(NMI, NOP, CBZ_2, DSB_ISHST, ISB, RET)], []),
])
def test_all_that_changes_the_state_synchronises(
    changed: list[tuple[int, bytes]], said: list[str]
) -> None:
    """Also what the ways from the vectors do not need, as another one synchronises there."""
    assert flow.unsynced(flow.of(a_kernel(*changed))) == said


def test_jump_labels() -> None:
    """An isolated CPU has Isolator's own taken; any other may be patched meanwhile."""
    at = BASE + HANDLER
    own = a_kernel(code(AGAIN, ("bl", OPEN)), labels=label(HANDLER, AGAIN, KEY))
    assert bad(own, "in") == [("isolator_exit_again", "call")]
    assert flow.walk(own, "in").excepted[at]["key"] == "isolator_key"
    other = a_kernel(labels=label(HANDLER, HANDLER + 8, KEY + 8))
    assert bad(other, "in") == [("el0_svc", patchable.JUMP)]


def test_both_texts_of_an_alternative_are_walked() -> None:
    """The other one is in AGAIN, and goes on behind what it replaces."""
    at = TABLES + 0x200
    made = struct.pack("<iiHBB", HANDLER - at, AGAIN - at - 4, 3, 4, 4)
    good = a_kernel(code(AGAIN, NOP, BRK), others=made)
    assert not bad(good, "in") and BASE + AGAIN in flow.walk(good, "in").seen
    assert BASE + AGAIN + 4 not in flow.walk(good, "in").seen
    worse = a_kernel(code(AGAIN, ("bl", OPEN), BRK), others=made)
    assert bad(worse, "in") == [("isolator_exit_again", "call")]
    # Without a text of its own it may become a NOP.
    nop = struct.pack("<iiHBB", HANDLER - at, OPEN - at - 4, 3, 4, 0)
    skipped = a_kernel(code(HANDLER, ("b", HANDLER + 12), ("bl", OPEN)), others=nop)
    assert ("el0_svc+0x4", "call") in bad(skipped, "in")


def test_an_indirect_jump_may_lead_to_each_block_of_its_function() -> None:
    jump = code(HANDLER, 0xD61F0060, NOP, ERET, ("bl", OPEN), ERET)
    assert ("el0_svc+0xc", "call") in bad(a_kernel(jump), "in")


def test_what_is_planted_in_the_image_itself() -> None:
    image = a_kernel()
    for which in flow.STRETCHES:
        at = flow.middle(flow.walk(image, which))
        assert not bad(image, which)
        found = flow.walk(flow.planted(image, at, BASE + OPEN), which).bad
        assert [one["pc"] for one in found] == [hex(at)]


def test_calls_without_end_are_an_error() -> None:
    endless = code(HANDLER, NOP, ("bl", HANDLER))
    with pytest.raises(term.LabError, match="deep at el0_svc"):
        flow.walk(a_kernel(endless), "in")
