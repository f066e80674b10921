# SPDX-License-Identifier: GPL-2.0-or-later
"""Judging runs of triggers: each fault is seen, and nothing else is."""

from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from isolab import term
from isolab.guests import guest
from isolab.judge import attempt
from isolab.paths import SCHEMAS
from isolab.scope import (
    check as scope,
)
from isolab.scope import (
    claims as scopeclaims,
)
from isolab.scope import (
    delays,
)
from isolab.scope import (
    lines as scopelines,
)
from isolab.scope import (
    parts as scopeparts,
)
from isolab.scope.claims import Claim
from isolab.scope.host import Run
from isolab.scope.lines import PART, RING, RING_AT, SIZE, TRIGGER, Follower, Lines
from isolator_report import schemafile
from isolator_scope.account import Account
from isolator_scope.chain import PLAIN, RT, Usual, aside, downstream
from isolator_scope.protocol import (
    ANSWER_LATE,
    ANSWER_UNSURE,
    Afterthought,
    Answer,
    Packet,
    Stray,
    Trigger,
    Welcome,
)

NAMES = {"irq": 0, "softirq": 1}
PERIOD = 1_000_000


def trigger(number: int, *answers: tuple[int, int, int], at: int | None = None) -> Trigger:
    """Answers are line, ns, flags."""
    return Trigger(number, PERIOD * number if at is None else at, 0, 3,
                   tuple(Answer(line, ns, flags) for line, ns, flags in answers))


def run_of(*records: Trigger | Afterthought | Stray) -> Run:
    run = Run()
    for record in records:
        run.add(record)
    run.close()
    return run


def whole(count: int = 5, first: int = 1) -> Run:
    return run_of(*(trigger(n, (0, 5000, 0), (1, 9000, 0)) for n in range(first, first + count)))


def wrote(*lines: list[int]) -> Lines:
    """A target that wrote these sequences."""
    made = Lines(0)
    made.sequences = [*lines, *([] for _ in range(32 - len(lines)))]
    return made


def held(claims: list[Claim]) -> bool:
    return all(claim.held for claim in claims)


def test_figures_of_a_line() -> None:
    run = run_of(trigger(7, (0, 100, 0)), trigger(8, (0, 300, ANSWER_LATE | ANSWER_UNSURE)),
                 trigger(9), Afterthought(9, 0, 5000), trigger(10))
    row = scopeclaims.figures(run, 0)
    assert (row["triggers"], row["answered"], row["late"], row["missing"]) == (4, 1, 2, 1)
    assert (row["unsure"], row["min_ns"], row["max_ns"], row["p99_ns"]) == (1, 100, 5000, None)
    assert scopeclaims.figures(run, 1)["missing"] == 4
    assert scopeclaims.lacking({"a": row}) == 0.75 and scopeclaims.lacking({}) == 1.0


def test_the_account_has_to_be_that_of_the_records() -> None:
    run, account = whole(), Account()
    account.greet(Welcome(1, 1, 0, 0, 100, 0, tuple(NAMES)), 0)
    before = scopeclaims.counts(account)
    records = [trigger(n, (0, 5000, 0), (1, 9000, 0)) for n in range(1, 6)]
    account.packet(Packet(0, 0, tuple(records)), 0)
    after = scopeclaims.counts(account)
    assert held(scopeclaims.accounted("x", run, NAMES, before, after))
    assert not held(scopeclaims.accounted("x", whole(6), NAMES, before, after))
    for wrong in ((4, 1, 0, 0), (5, 0, 1, 0), (4, 0, 0, 0)):
        assert not held(scopeclaims.accounted("x", run, NAMES, before, {**after, 1: wrong}))
    run.others = 1
    assert not held(scopeclaims.accounted("x", run, NAMES, before, after))


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (([101, 102, 103, 104, 105], [101, 102, 103, 104, 105]), ""),
        (([101, 102, 103, 104, 105], [101, 102, 103, 104]), "wrote 4 answers"),
        (([101, 102, 103, 104, 105], [101, 102, 103, 104, 106]), "differ: 5, 6"),
        (([101, 102, 102, 104, 105], [101, 102, 103, 104, 105]), "each trigger once"),
        (([101, 103, 102, 104, 105], [101, 102, 103, 104, 105]), "in order"),
    ],
)
def test_answers_are_those_that_the_target_wrote(
    lines: tuple[list[int], list[int]], fault: str
) -> None:
    found = scopeclaims.attributed("x", whole(), NAMES, wrote(*lines), 100)
    assert held(found) == (not fault)
    assert fault in found[0].said


def test_strays_are_none_of_the_answers() -> None:
    lines = wrote([101, 102, 103, 104, 105], [99, 101, 102, 103, 104, 105])
    run = whole()
    run.add(Stray(1, 99, 0))
    assert not held(scopeclaims.attributed("x", run, NAMES, lines, 100))
    assert held(scopeclaims.attributed("x", run, NAMES, lines, 100, strays=True))
    run.strays.clear()
    assert not held(scopeclaims.attributed("x", run, NAMES, lines, 100, strays=True))


def test_what_the_lab_did_not_see_proves_nothing() -> None:
    full = [101, 102, 103, 104, 105]
    lines = wrote(full, full)
    lines.lost[1] = 1
    assert not held(scopeclaims.attributed("x", whole(), NAMES, lines, 100))
    lines = wrote(full, full)
    lines.ahead = 1
    assert not held(scopeclaims.attributed("x", whole(), NAMES, lines, 100))


def test_the_drivers_own_count() -> None:
    names = {**NAMES, "poll": 2}
    own = {"irq": 15, "softirq": 15, "poll": 0}
    before = {"irq": 10, "softirq": 10, "poll": 0}
    assert held(scopeclaims.counted("x", whole(), names, before, own))
    assert not held(scopeclaims.counted("x", whole(), names, before, {**own, "irq": 16}))


def test_order_is_judged_where_a_trigger_had_the_machine_for_itself() -> None:
    fine = (0, 5000, 0), (1, 9000, 0)
    odd = (0, 9000, 0), (1, 5000, 0)
    records = [
        trigger(1, *odd),  # what was before it is not known
        trigger(2, *fine),
        trigger(3, *odd),
        trigger(4, (0, 9000, 0), (1, 8900, 0)),  # nearer than the generator can tell
        trigger(5, (0, 9000, 0), (1, 5000, ANSWER_UNSURE)),
        trigger(6, (0, PERIOD + 900, ANSWER_LATE), (1, 5000, 0)),
        trigger(7, *odd),  # the one before was not over
        trigger(8, *odd[:1]),
        trigger(9, *odd),  # of the one before an answer is missing
        trigger(10, (0, 5000, 0), (1, 9000, ANSWER_UNSURE)),  # later at least
    ]
    run = run_of(*records)
    assert scopeclaims.clear(run, NAMES) == [1, 2, 3, 4, 9]
    (row,) = scopeclaims.order(run, NAMES, PLAIN, 60)
    assert (row["first"], row["then"]) == ("irq", "softirq")
    assert (row["after"], row["near"], row["against"], row["unsure"]) == (2, 1, 1, 1)


@pytest.mark.parametrize(
    ("after", "against", "instead", "holds"),
    [
        (100, 0, None, True),
        (368, 3, None, True),  # three of the rare ones are nothing unusual in so few
        (368, 4, None, False),
        (59_848, 152, None, True),
        (59_847, 153, None, False),
        (100, 100, None, False),
        (0, 0, None, False),
        (99, 0, None, False),
        (100, 0, 200, True),
        (100, 2, 200, False),
        (0, 0, 200, False),
        (16, 0, 84, True),
        (16, 0, 83, False),
    ],
)
def test_an_order_holds_or_the_tables_other_one(
    after: int, against: int, instead: int | None, holds: bool
) -> None:
    row = {"first": "a", "then": "b", "near": 0, "unsure": 0}
    row |= {"after": after, "against": against, "instead": instead}
    assert scopeclaims.ordered(row, 100).held == holds


def test_softirqs_that_are_left_are_left_all() -> None:
    """The user's task may come before tasklet if it comes before softirq too."""
    names = {"softirq": 0, "tasklet": 1, "user": 2}
    run = run_of(
        trigger(1, (0, 3000, 0), (1, 5000, 0), (2, 9000, 0)),
        trigger(2, (0, 3000, 0), (1, 5000, 0), (2, 9000, 0)),
        trigger(3, (0, 5000, 0), (1, 9000, 0), (2, 3000, 0)),
        trigger(4, (0, 3000, 0), (1, 9000, 0), (2, 5000, 0)),
    )
    rows = {row["then"]: row for row in scopeclaims.order(run, names, PLAIN, 60)}
    row = rows["user"]
    assert (row["first"], row["after"], row["instead"], row["against"]) == ("tasklet", 1, 1, 1)
    assert rows["tasklet"]["instead"] is None
    del names["softirq"]
    (row,) = scopeclaims.order(run, names, PLAIN, 60)
    assert (row["instead"], row["against"]) == (None, 2)


def test_order_by_what_is_there() -> None:
    """Of a chain whose middle has no line the ends are compared."""
    names = {"irq": 0, "tasklet": 1}
    (row,) = scopeclaims.order(whole(), names, PLAIN, 60)
    assert (row["first"], row["then"], row["after"]) == ("irq", "tasklet", 4)


def test_the_hop_that_is_named() -> None:
    late = [trigger(n, (0, 5000, 0), (1, 500_000, 0)) for n in range(2, 5)]
    run = run_of(trigger(1, (0, 5000, 0), (1, 9000, 0)), *late)
    usual = {"irq": Usual(5000, 6000), "softirq": Usual(4000, 5000)}
    chains = list(scopeclaims.hops(run, NAMES, PLAIN))
    assert scopeclaims.named(chains, PLAIN, usual) == {"softirq": 3} and len(chains) == 3


BASE = dict.fromkeys(PLAIN, 100000.0)
MS5 = 5_000_000


def moved(table: Any, name: str, **others: int) -> list[str]:
    """What is wrong if a delay in @name moved medians as the table has it, and @others so."""
    after = {one: ns + (MS5 if one == name or one in downstream(name, table) else 0)
             for one, ns in BASE.items()}
    after.update({one.replace("_", "-"): BASE[one.replace("_", "-")] + ns
                  for one, ns in others.items()})
    return delays.judge_delay(name, BASE, after, table)[0]


@pytest.mark.parametrize("table", [PLAIN, RT])
@pytest.mark.parametrize("name", list(PLAIN))
def test_a_delay_shows_in_what_follows_and_only_there(table: Any, name: str) -> None:
    assert not moved(table, name)
    for one in PLAIN:
        key = one.replace("-", "_")
        must = one == name or one in downstream(name, table)
        may = one in aside(name, table)
        assert bool(moved(table, name, **{key: 0})) == must
        assert bool(moved(table, name, **{key: 2_500_000})) == (not may)
        assert bool(moved(table, name, **{key: MS5})) == (not must and not may)
        assert moved(table, name, **{key: MS5 + 1_100_000})
        assert moved(table, name, **{key: -1_100_000})


def test_a_mechanism_that_fell_silent_is_wrong() -> None:
    apart = {name: ns for name, ns in BASE.items() if "poll" in name}
    after = {name: ns + MS5 for name, ns in BASE.items() if name != "work"} | apart
    wrong, _ = delays.judge_delay("irq", BASE, after, RT)
    assert wrong == ["work has no answer"]


def _write(memory: bytearray, line: int, *sequences: int) -> None:
    words = memoryview(memory).cast("I")
    at = PART * (line + 1) // 4
    for sequence in sequences:
        words[at + RING_AT // 4 + words[at] % RING] = sequence
        words[at] += 1


def test_lines_are_followed() -> None:
    memory = bytearray(SIZE)
    words = memoryview(memory).cast("I")
    _write(memory, 3, 1, 2)
    follower = Follower(memory)
    words[TRIGGER // 4] = 5
    _write(memory, 3, 3, 4)
    _write(memory, 0, 5)
    follower.look()
    assert list(follower.sequences[3]) == [3, 4] and list(follower.sequences[0]) == [5]
    _write(memory, 0, 6)
    follower.look()
    assert follower.ahead == 1 and list(follower.sequences[0]) == [5, 6]
    words[TRIGGER // 4] = RING + 10
    _write(memory, 3, *range(5, RING + 10))
    follower.look()
    # 1029 since the last look: the oldest places were written twice.
    assert follower.lost[3] == RING + 5 - (RING - 1)
    assert list(follower.sequences[3]) == [3, 4, *range(11, RING + 10)]


def test_a_head_may_wrap() -> None:
    memory = bytearray(SIZE)
    words = memoryview(memory).cast("I")
    words[PART // 4] = 2**32 - 1
    follower = Follower(memory)
    words[TRIGGER // 4] = 2
    words[PART // 4 + RING_AT // 4 + RING - 1] = 1
    words[PART // 4 + RING_AT // 4] = 2
    words[PART // 4] = 1
    follower.look()
    assert list(follower.sequences[0]) == [1, 2] and not follower.lost[0] and not follower.ahead


def test_lines_of_the_headers() -> None:
    """As the target and the generator have them."""
    header = (SCHEMAS.parents[1] / "scope/include/scope_lines.h").read_text()
    assert f"#define SCOPE_LINES_MAX {scopelines.LINES}u" in header
    assert f"#define SCOPE_LINES_RING {RING}u" in header


@pytest.mark.parametrize(
    ("holds", "void", "code", "closing"),
    [
        (True, None, term.PASS, "2 passed, 0 failed, 0 skipped"),
        (False, None, term.EXCEEDED, "1 passed, 1 failed, 0 skipped"),
        (True, "no clocks", term.INCONCLUSIVE, "2 passed, 1 failed, 1 skipped"),
    ],
)
def test_verdict(
    capsys: pytest.CaptureFixture[str], holds: bool, void: str | None, code: int, closing: str
) -> None:
    claims = [Claim("ramp", "at least 200 Hz", holds, "100 Hz"), Claim("a", "b", True)]
    report = scope.Report({}, claims, [], void)
    assert scope.verdict(report, int(bool(void))) == code
    assert capsys.readouterr().out.splitlines()[-1] == closing


OOPS = """[ 2.9] Oops: int3: 0000 [#1] PREEMPT_RT SMP NOPTI
[ 2.9] CPU: 0 UID: 0 PID: 7 Comm: modprobe
[ 2.9] RIP: 0010:schedule+0x1/0x10
[ 2.9] Code: c0 74 08 0f <1f> 44 00
"""
WARNING = "[ 2.8] WARNING: CPU: 0 PID: 7 at isolator_scope.c:1\n"


@pytest.mark.parametrize(
    ("console", "died", "error", "code", "boots"),
    [
        # Our kernel does not begin: that is its failure, not the host's.
        ("", None, term.ERROR, term.EXCEEDED, 1),
        ("", "no agent within 30 s of boot", term.ERROR, term.EXCEEDED, 1),
        # It complains while the driver is loaded, whatever else is said of that guest.
        (WARNING, None, term.INCONCLUSIVE, term.EXCEEDED, 3),
        (WARNING + OOPS, "x", term.ERROR, term.EXCEEDED, 2),
        # The host's clocks; the emulator's fault, once.
        ("", None, term.INCONCLUSIVE, term.INCONCLUSIVE, 3),
        (OOPS, "x", term.ERROR, term.INCONCLUSIVE, 2),
    ],
)
def test_a_guest_that_cannot_begin(monkeypatch: pytest.MonkeyPatch,
                                   capsys: pytest.CaptureFixture[str], console: str,
                                   died: str | None, error: int, code: int, boots: int) -> None:
    class Built:
        name, version, path, ours = "isolator-rt", "6.12", SCHEMAS, True

        @staticmethod
        def has(option: str) -> bool:
            return True

    emulated: list[object] = []

    class Guest:
        outcome = guest.Outcome(
            console=console, ours=True, stale=frozenset({(0, "schedule+0x0")}), died=died
        )

        def __init__(self, *words: object, **more: object) -> None:
            emulated.append(more["threads"])

        def __enter__(self) -> None:
            raise term.LabError("in the guest failed: modprobe", error)

        def __exit__(self, *why: object) -> None:
            pass

    written: list[dict[str, Any]] = []
    monkeypatch.setattr(scope.record, "where", lambda: {"host": "x", "emulator": "y"})
    monkeypatch.setattr(scope.record, "write", lambda document, name: written.append(document))
    monkeypatch.setattr(scope.kernel, "build", lambda flavour: Built)
    monkeypatch.setattr(scope, "ScopeGuest", Guest)
    monkeypatch.setattr(scope, "SAMPLE", scope.SAMPLE[:1])
    assert scope.main("rt", 1, sample=True) == code
    assert len(written[0]["attempts"]) == boots
    # What is excused is repeated where that excuse cannot be had.
    assert emulated == (["", "single"] if OOPS in console else [""] * boots)
    why = "emulator fault" if OOPS in console else "in the guest failed: modprobe"
    assert why in capsys.readouterr().out


def test_a_guest_comes_to_its_end_with_a_whole_log() -> None:
    good = guest.Outcome(console="[9] reboot: Power down\n", ours=True, whole=True)
    for outcome, failed, begun, holds in (
        (good, None, True, True),
        (good, None, False, False),
        (good, term.LabError("x"), True, False),
        (replace(good, console="[9] x\n"), None, True, False),
        (replace(good, died="silent"), None, True, False),
    ):
        found = attempt.judge(outcome)
        assert scope.came_to_end("n", outcome, found, failed, begun).held is holds


def test_what_was_shown_ahead_of_an_excused_end_counts() -> None:
    good, bad = Claim("steady", "once", True), Claim("steady", "in order", False, "3 before 2")
    excused = attempt.Attempt("emulator fault: x", True)
    assert scope.shown("n", excused, [good, bad]) == [bad]
    left = scope.shown("n", replace(excused, ended="a left what cannot be killed"), [good])
    assert [claim.held for claim in left] == [False] and "cannot be killed" in left[0].said
    # That of a guest without its clocks does not.
    assert scope.shown("n", attempt.Attempt("no clocks"), [bad]) == []


def test_document_fits_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope.record, "where", lambda: {"host": "x", "emulator": "y"})

    class Built:
        name, version = "isolator-rt", "6.12"

        class path:
            name = "rt-1"

    row = scopeclaims.figures(whole(), 0)
    ended = {"triggers": 5, "mechanisms": {"irq": row}}
    done = {
        "ramp": {"share": 0.01, "steps": [{"hz": 50, "triggers": 5, "lacking": 0.0}],
                 "sustained_hz": 50},
        "unloaded": ended,
        "alone": [{"name": "irq", "alone": row, "together": row, "added": scopeparts._added(
            row, {**row, "p99_ns": None})}],
    }
    report = scope.Report(done, [Claim("ramp", "at least 200 Hz", False, "50 Hz")], [])
    document = scope.document(report, Built, 1, True, [])  # type: ignore[arg-type]
    schema = schemafile.read(SCHEMAS / "scope.json")
    jsonschema.validate(document, schema)
    assert document["broken"] == ["ramp: at least 200 Hz: 50 Hz"]
    assert document["parts"]["alone"][0]["added"] == {"min_ns": 0, "p50_ns": 0, "p99_ns": None}
    document["parts"]["ramp"]["steps"][0].pop("hz")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)
