# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab instants: the kernel's tables, what a run reports, and when it fails."""

import struct
import zlib
from dataclasses import dataclass, field
from typing import Any, cast

import jsonschema
import pytest
from isolab import term
from isolab.guests.guest import Outcome
from isolab.instants import check, image, judge, patchable, plan, rounds
from isolab.instants.plan import ENTRY, PARKED_FIRST, Cell, Instant, Trial
from isolab.paths import SCHEMAS
from isolator_report import schemafile

BASE = 0xFFFF_FFFF_8100_0000
SYSCALL = BASE


def elf(*segments: tuple[int, bytes]) -> bytes:
    head = bytearray(64 + 56 * len(segments))
    struct.pack_into("<Q", head, 32, 64)
    struct.pack_into("<HH", head, 54, 56, len(segments))
    data = b""
    for n, (address, text) in enumerate(segments):
        at = len(head) + len(data)
        struct.pack_into("<IIQQQQ", head, 64 + 56 * n, 1, 5, at, address, 0, len(text))
        data += text
    return bytes(head) + data


def a_kernel() -> image.Image:
    """Two functions that nobody may probe, one that anybody may, and a site of each kind."""
    text = bytearray(0x400)
    tables = BASE + 0x200

    def relative(at: int, to: int) -> int:
        return to - (tables + at)

    struct.pack_into("<iiq", text, 0x200, relative(0, BASE + 0x10), 0, relative(8, BASE + 0x380))
    struct.pack_into("<iiq", text, 0x210, relative(0x10, BASE + 0x20), 0,
                     relative(0x18, BASE + 0x390))
    struct.pack_into("<ii", text, 0x220, relative(0x20, BASE + 0x30), relative(0x24, BASE + 0x398))
    struct.pack_into("<Q", text, 0x228, BASE + 0x100)
    struct.pack_into("<iiIBB", text, 0x230, relative(0x30, BASE + 0x40), 0, 0, 3, 3)
    struct.pack_into("<Q", text, 0x240, BASE + 0x140)
    symbols = {
        "entry_SYSCALL_64": BASE, "__noinstr_text_start": BASE, "__noinstr_text_end": BASE + 0x80,
        "__entry_text_start": BASE, "__entry_text_end": BASE + 1, "__kprobes_text_start": BASE,
        "__kprobes_text_end": BASE + 1, "ordinary": BASE + 0x100, "listed": BASE + 0x140,
        "last": BASE + 0x180, "__start___jump_table": BASE + 0x200,
        "__stop___jump_table": BASE + 0x220, "__start_static_call_sites": BASE + 0x220,
        "__stop_static_call_sites": BASE + 0x228, "__start_mcount_loc": BASE + 0x228,
        "__stop_mcount_loc": BASE + 0x230, "__alt_instructions": BASE + 0x230,
        "__alt_instructions_end": BASE + 0x23E, "__start_kprobe_blacklist": BASE + 0x240,
        "__stop_kprobe_blacklist": BASE + 0x248, "isolator_key": BASE + 0x380,
        "some_key": BASE + 0x390, "some_call": BASE + 0x398,
    }
    return image.Image(elf((BASE, bytes(text))), symbols)


def test_an_image_is_unpacked_where_its_header_says() -> None:
    packed = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    data = packed.compress(b"kernel") + packed.flush()
    whole = bytearray(1024 + 100)
    whole[0x1F1] = 1
    struct.pack_into("<II", whole, 0x248, 100, len(data))
    assert image.unpack(bytes(whole) + data) == b"kernel"
    with pytest.raises(term.LabError, match="packed in a way"):
        image.unpack(bytes(whole) + b"zzzz" + data)


def test_an_image_is_read_by_address() -> None:
    found = a_kernel()
    assert found.read(BASE + 0x23C, 2) == b"\3\3"
    assert found.function("ordinary") == (BASE + 0x100, BASE + 0x140)
    with pytest.raises(term.LabError, match="holds nothing"):
        found.read(BASE + 0x3FF, 2)


def test_a_place_in_a_function_must_be_the_only_one() -> None:
    barrier = bytes.fromhex("90f0834424fc0090")
    one = image.Image(elf((BASE, barrier + bytes(8))), {"f": BASE, "g": BASE + 16})
    assert image.behind_barrier(one, "f") == BASE + 7
    two = image.Image(elf((BASE, barrier * 2)), {"f": BASE, "g": BASE + 16})
    with pytest.raises(term.LabError, match="2 full barriers"):
        image.behind_barrier(two, "f")
    with pytest.raises(term.LabError, match="0 indirect calls"):
        image.at_send(two, "f")


SITES = [
    (0x10, patchable.JUMP, "isolator_key", True),
    (0x14, patchable.JUMP, "isolator_key", True),  # in the middle of it
    (0x20, patchable.JUMP, "some_key", False),
    (0x30, patchable.CALL, "some_call", False),
    (0x40, patchable.ALTERNATIVE, "", True),
    (0x100, patchable.TRACED, "", False),
    (0x101, patchable.PROBED, "", False),
]


@pytest.mark.parametrize(("at", "kind", "key", "excepted"), SITES)
def test_each_kind_of_site_is_found(at: int, kind: str, key: str, excepted: bool) -> None:
    bad, allowed = patchable.judge(patchable.sites(a_kernel()), [BASE + at])
    said = {"pc": hex(BASE + at), "kind": kind, "key": key}
    assert said in ([{k: v for k, v in s.items() if k != "why"} for s in allowed]
                    if excepted else bad)
    assert not (excepted and bad)


def test_what_nobody_may_patch_is_nothing() -> None:
    found = patchable.sites(a_kernel())
    assert patchable.judge(found, [BASE, BASE + 0x15, BASE + 0x43, BASE + 0x140]) == ([], [])
    assert found.counts() == {patchable.JUMP: 2, patchable.CALL: 1, patchable.TRACED: 1,
                              patchable.ALTERNATIVE: 1}


@dataclass
class FakeKernel:
    name: str = "isolator-nort"
    version: str = "6.12"
    path: Any = field(default_factory=lambda: SCHEMAS)
    options: frozenset[str] = frozenset({"CONFIG_ISOLATOR_FAULTS"})

    def has(self, option: str) -> bool:
        return option in self.options

    def symbol_at(self, pc: int) -> str:
        return f"at{pc:#x}"


@dataclass
class FakeLab:
    kernel: FakeKernel = field(default_factory=FakeKernel)
    image: Any = field(default_factory=a_kernel)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def a_run() -> check.Run:
    """Two instants of two kinds, all tried and right; the first is found in user mode."""
    found = [Instant(0, BASE, 0), Instant(1, BASE + 4, 0)]
    ways = {Cell("syscall", ENTRY, k, PARKED_FIRST): found for k in ("text", "async")}
    run = check.Run(cast(rounds.Lab, FakeLab()), 1, ways=ways, executed={BASE, BASE + 4})
    run.trials = plan.trials(ways)
    run.planted = check.planted(run.trials, 1)
    for t in run.trials:
        user = t.instant is found[0]
        run.seen[t.number] = judge.Verdict("done", user, ())
    for sound, t in run.planted:
        user = run.seen[sound.number].user
        run.seen[t.number] = judge.Verdict("done", user, ("wrong",) if user else ())
    return run


@pytest.fixture(autouse=True)
def _no_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check.record, "emulator", lambda *_: "QEMU")


def report(run: check.Run) -> dict[str, Any]:
    made = check.report_of(run, sample=False)
    jsonschema.validate(made, schemafile.read(SCHEMAS / "instants.json"))
    return made


def test_a_run_without_a_violation_passes(capsys: pytest.CaptureFixture[str]) -> None:
    made = report(a_run())
    assert (made["instructions"], made["possible"], made["tried"]) == (2, 4, 4)
    assert made["violations"] == [] and made["kinds"] == ["text", "async"]
    assert [f["found"] for f in made["faults"]] == [1, 0, 1, 1]
    made["faults"] = [f for f in made["faults"] if f["possible"]]
    assert check.verdict(made, "instants") == term.PASS
    assert capsys.readouterr().out.endswith("4 passed, 0 failed, 0 skipped\n")


def test_faults_are_planted_into_their_own_kinds_only() -> None:
    run = a_run()
    assert {(t.fault, t.cell.kind) for _, t in run.planted} == {
        ("skip_deferred", "text"), ("drop_queued", "async"), ("lose_wakeup", "async"),
    }
    numbers = [t.number for t in run.trials] + [t.number for _, t in run.planted]
    assert numbers == list(range(len(numbers)))


def spoil(run: check.Run, number: int, *bad: str, user: bool = False) -> None:
    run.seen[number] = judge.Verdict("done", user, bad, "|SK", 7.5, 2)


def _violation(run: check.Run) -> None:
    spoil(run, 1, "done 2 times, not once")


def _fault_missed(run: check.Run) -> None:
    spoil(run, run.planted[0][1].number, user=True)


def _fault_elsewhere(run: check.Run) -> None:
    spoil(run, run.planted[1][1].number, "wrong")


def _patchable(run: check.Run) -> None:
    run.executed.add(BASE + 0x20)


def _unwatched(run: check.Run) -> None:
    run.unwatched.append("syscall, none, parked-first")


def _disagree(run: check.Run) -> None:
    spoil(run, 3, user=True)


def _log(run: check.Run) -> None:
    run.lab.attempts.append({"trials": 1, "void": None, "excused": False, "ended": None,
                             "entered": [], "kernel_log": ["WARNING: here"]})


def _problem(run: check.Run) -> None:
    run.lab.problems.append("instants: exit 1: the isolation has ended")


FAILS = [
    (_violation, "done 2 times"),
    (_fault_missed, "skip_deferred is missed"),
    (_fault_elsewhere, "skip_deferred is elsewhere"),
    (_patchable, "jump label some_key"),
    (_unwatched, "syscall, none, parked-first"),
    (_disagree, "the kinds do not agree"),
    (_log, "kernel log: WARNING: here"),
    (_problem, "did not do its part: instants: exit 1: the isolation has ended"),
]


@pytest.mark.parametrize(("change", "said"), FAILS)
def test_what_makes_it_fail(change: Any, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = a_run()
    change(run)
    made = report(run)
    made["faults"] = [f for f in made["faults"] if f["possible"]]
    assert check.verdict(made, "instants") == term.EXCEEDED
    assert said in capsys.readouterr().out


def test_what_is_doubtful_is_made_once_more_and_then_believed(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(check.judge, "void", lambda *_: None)
    monkeypatch.setattr(check.judge, "doubt", lambda *_: "queued 2 times")
    run = a_run()
    run.lab.image.symbols["entry_SYSCALL_64"] = BASE
    assert run.shows_nothing(run.trials[1], {}) == "queued 2 times"
    assert run.shows_nothing(run.trials[1], {}) is None
    made = report(run)
    assert [one["index"] for one in made["doubts"]] == [1]
    made["faults"] = [f for f in made["faults"] if f["possible"]]
    assert check.verdict(made, "instants") == term.PASS
    assert "made once more: at0x" in capsys.readouterr().out


def shown_in_turn(monkeypatch: pytest.MonkeyPatch, *those: tuple[str | None, list[str]]) -> None:
    """What a trial is void by, and what is wrong though it is, once after another."""
    left = list(those)
    monkeypatch.setattr(check.judge, "void", lambda *_: left[0][0])
    monkeypatch.setattr(check.judge, "though_void", lambda *_: left[0][1])
    monkeypatch.setattr(check.judge, "of_the_host", lambda *_: left[0][0] == judge.TOO_LONG)
    monkeypatch.setattr(check.judge, "doubt", lambda *_: None)
    monkeypatch.setattr(check.judge, "judge", lambda *_: judge.Verdict(
        "done", False, tuple(left.pop(0)[1])))


MISSED, NOISE = (judge.TOO_LONG, ["missed 1 times"]), ("something else", ["done 2 times"])
CLEAN: tuple[str | None, list[str]] = (None, [])


@pytest.mark.parametrize(("those", "made", "bad", "late"), [
    ([NOISE], 1, ["done 2 times"], []),
    ([("something else", []), CLEAN], 2, [], []),
    # The host's, unless it comes again; what it was is kept.
    ([MISSED, CLEAN], 2, [], ["missed 1 times"]),
    ([MISSED, MISSED], 2, ["missed 1 times"], ["missed 1 times"]),
    ([(judge.TOO_LONG, []), MISSED, ("not parked", []), CLEAN], 4, [], ["missed 1 times"]),
])
def test_a_violation_of_a_void_trial_is_not_made_good_by_another(
    monkeypatch: pytest.MonkeyPatch, those: list[Any], made: int, bad: list[str], late: list[str]
) -> None:
    run = a_run()
    run.seen.clear()
    shown_in_turn(monkeypatch, *those)
    done = 1
    while run.shows_nothing(run.trials[1], {}):
        judge.judge(run.trials[1], {}, 0)  # the next of them
        done += 1
    run.seen[1] = run.judged(run.trials[1], {})
    assert done == made and list(run.seen[1].bad) == bad
    said = report(run)
    assert [v["what"] for v in said["violations"]] == ([bad] if bad else [])
    assert [v["what"] for v in said["late"]] == ([late] if late else [])
    assert any("done 2 times" in text for text in check.broken(said)) == (bad == ["done 2 times"])


def test_what_is_wrong_is_not_made_again_as_others_do_not_find_it() -> None:
    run = a_run()
    spoil(run, 3, "done 2 times, not once", user=True)
    assert run.odd() == []


def test_what_others_do_not_find_is_made_again_and_stays_where_it_shows_each_time() -> None:
    """async found user mode where text found the kernel."""
    run = a_run()
    spoil(run, 3, user=True)
    assert [t.number for t in run.odd()] == [3]
    assert [one["what"] for one in report(run)["doubts"]] == [
        ["queued, where others find the kernel"]]
    again: list[list[int]] = []

    def until_tried(wanted: list[Trial], *_: Any) -> Any:
        again.append([t.number for t in wanted])
        if len(again) == 1:
            return dict(run.seen), {}
        return {3: judge.Verdict("done", len(again) < 3, ())}, {}

    run.lab.until_tried = until_tried  # type: ignore[method-assign, assignment]
    run.run(1)
    assert again[1:] == [[3], [3]] and check._disagree(report(run)) == []


@pytest.mark.parametrize("shows", [True, False])
def test_a_planted_fault_that_shows_nothing_is_planted_once_more(
    monkeypatch: pytest.MonkeyPatch, shows: bool
) -> None:
    """Somebody else's call may have done what it lost; not twice."""
    run = a_run()
    fault = run.planted[0][1]
    first = {**run.seen, fault.number: judge.Verdict("done", True, ())}
    then = {fault.number: judge.Verdict("done", True, ("wrong",) if shows else ())}
    tried: list[list[int]] = []

    def until_tried(wanted: list[Trial], *_: Any) -> Any:
        tried.append([t.number for t in wanted])
        return (first, {}) if len(tried) == 1 else (then, {})

    run.lab.until_tried = until_tried  # type: ignore[method-assign, assignment]
    monkeypatch.setattr(run.lab.kernel, "has", lambda _: True)
    run.run(1)
    assert tried[1:] == [[fault.number]]
    made = report(run)
    assert [one["what"] for one in made["doubts"]] == [
        [f"nothing of the planted fault {fault.fault}"]]
    assert any("is missed at" in text for text in check.broken(made)) is not shows


def test_a_fault_that_is_found_nowhere_fails() -> None:
    made = report(a_run())
    assert any("queue_excluded is not found" in text for text in check.broken(made))


def test_what_was_not_tried_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    run = a_run()
    del run.seen[3]
    run.voids[3] = "it was not parked"
    made = report(run)
    made["faults"] = []
    assert check.verdict(made, "instants") == term.INCONCLUSIVE
    assert "1 not tried: it was not parked" in capsys.readouterr().out


def test_boots_that_are_excused_too_often_are_inconclusive() -> None:
    made = report(a_run())
    made["faults"] = []
    excused = {"void": "int3", "excused": True, "ended": None, "entered": [], "kernel_log": []}
    for boots, code in ((2, term.PASS), (3, term.INCONCLUSIVE)):
        made["attempts"] = [excused] * boots
        assert check.verdict(made, "instants") == code


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ({"exit": 0}, None), ({"exit": 1}, "exit 1"), ({"exit": None, "signal": 11}, "signal 11"),
        ({"exit": None, "signal": None, "returned": False}, "not done within its time"),
    ],
)
def test_a_program_that_died_did_not_do_its_part(event: dict[str, Any], why: str | None) -> None:
    said = {"event": "run", "name": "instants", "returned": True, "out": "", **event}
    found = rounds.failed(Outcome(events=[said]))
    assert why in found if why and found else found is why


def test_trials_that_went_well_the_second_time_only_have_a_bound() -> None:
    made = report(a_run())
    made["faults"] = []
    one = {"name": "f", "path": "syscall", "side": "entry", "kind": "call", "order": "sent-first",
           "what": ["still due"]}
    for many, tried, code in ((3, 100, term.PASS), (4, 100, term.INCONCLUSIVE),
                              (9, 9000, term.PASS), (10, 9000, term.INCONCLUSIVE)):
        made.update(late=[one] * many, tried=tried, planned=tried)
        assert check.verdict(made, "instants") == code


def test_a_way_that_is_missing_is_inconclusive() -> None:
    run = a_run()
    run.missing.append("syscall, exit, call, sent-first: the sender was not held")
    made = report(run)
    made["faults"] = []
    assert check.verdict(made, "instants") == term.INCONCLUSIVE


@dataclass
class Boots:
    """What each guest shows, in turn."""

    shown: list[dict[int, judge.Seen]]
    asked: list[int] = field(default_factory=list)

    def boot(self, wanted: Any) -> dict[int, judge.Seen]:
        self.asked.append(len(wanted))
        return self.shown.pop(0) if self.shown else {}


def tried(boots: Boots, enough: bool = False) -> tuple[dict[int, int], dict[int, str]]:
    lab = rounds.Lab.__new__(rounds.Lab)
    lab.kernel = cast(Any, FakeKernel())
    lab.boot = boots.boot  # type: ignore[method-assign]
    wanted = [Trial(n, Cell("syscall", ENTRY, "call", PARKED_FIRST), Instant(n, n, 0))
              for n in range(3)]
    return lab.until_tried(wanted, lambda _, s: s["void"], lambda _, s: int(s["value"]),
                           lambda shown: enough)


def test_what_is_void_or_missing_is_made_again_and_only_that() -> None:
    good = {"void": None, "value": 1}
    boots = Boots([{0: good, 1: {"void": "not parked"}}, {1: good, 2: good}])
    assert tried(boots) == ({0: 1, 1: 1, 2: 1}, {})
    assert boots.asked == [3, 2]


def test_it_ends_after_some_guests_and_says_why() -> None:
    boots = Boots([])
    shown, voids = tried(boots)
    assert shown == {} and set(voids) == {0, 1, 2}
    assert boots.asked == [3] * rounds.MAX_ROUNDS


def test_enough_is_enough() -> None:
    boots = Boots([{0: {"void": None, "value": 1}}])
    tried(boots, enough=True)
    assert boots.asked == [3]


def test_a_guest_begins_with_trials_that_it_makes_again() -> None:
    """As many for one trial as for many; none with a fault planted."""
    cell = Cell("syscall", ENTRY, "call", PARKED_FIRST)
    trials = [Trial(n, cell, Instant(n, n, 0)) for n in range(30)]
    planted = Trial(30, cell, Instant(0, 0, 0), "drop_queued")
    for wanted in (trials[:1], trials):
        made = rounds.warmed_up([*wanted, planted])
        assert len(made) == rounds.WARM_UP + len(wanted) + 1
        assert made[rounds.WARM_UP :] == [*wanted, planted]
        assert planted not in made[: rounds.WARM_UP]
    assert rounds.warmed_up([planted]) == [planted]


def test_many_trials_are_shared_among_guests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "MOST", 2)
    boots = Boots([])
    tried(boots)
    assert boots.asked[:2] == [2, 1]
