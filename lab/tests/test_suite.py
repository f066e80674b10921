# SPDX-License-Identifier: GPL-2.0-or-later
"""How a guest test is judged: each way to fail must fail."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import boots
import jsonschema
import pytest
from isolab import sittings, suite, term
from isolab.guests.guest import ENDED, Outcome
from isolab.header import Equal, Expect, GuestTest, More
from isolab.judge import verdict
from isolab.judge.attempt import Attempt, record
from isolab.paths import SCHEMAS
from isolator_report import schemafile
from test_attempt import ASTRAY, outcome, splat

LOG = "[1] isolab: begin t\n[2] quiet\n[3] isolab: end t\n[3] reboot: Power down\n"
DONE = {
    "event": "run", "name": "t", "returned": True, "seconds": 1.0, "exit": 0, "signal": 0,
    "out": "ok 1 - x\n1..1\n",
}


def _test(**more: Any) -> GuestTest:
    base = GuestTest("t", 2, "any", 10, "a", False, None, (), "", "no", (), ())
    return dataclasses.replace(base, **more)


def _judge(
    test: GuestTest, event: dict[str, Any] | None, log: str = LOG, **more: Any
) -> verdict.Result:
    result = verdict.Result(test, "rt")
    verdict.judge(test, result, Outcome(console=log, **more), event)
    return result


def test_passes() -> None:
    assert _judge(_test(), DONE).status == "passed"


def test_ways_outside_of_the_slots_fail_where_the_slots_are_of_all_kernels() -> None:
    end = {"misplaced": 2, "asked_in_vain": 0}
    assert _judge(_test(), DONE, observer_end=end).status == "failed"
    assert _judge(_test(kernel="distro-deb"), DONE, observer_end=end).status == "passed"


def test_skip_says_why() -> None:
    skipped = {**DONE, "exit": 77, "out": "1..0 # SKIP no such file\n"}
    result = _judge(_test(skips=("a", "no such")), skipped)
    assert (result.status, result.why) == ("skipped", ["no such file"])


@pytest.mark.parametrize(("more", "why"), [
    ({"observer_end": {"misplaced": 3}}, "3 ways into the kernel lead by no slot of its vectors"),
    ({"log": LOG.replace("quiet", "BUG: x")}, "kernel log: [2] BUG: x"),
])
def test_a_skip_hides_nothing(more: dict[str, Any], why: str) -> None:
    skipped = {**DONE, "exit": 77, "out": "1..0 # SKIP no such file\n"}
    result = _judge(_test(skips=("no such",)), skipped, **more)
    assert result.status == "failed" and result.why == ["no such file", why]


@pytest.mark.parametrize(
    ("skips", "out"),
    [
        ((), "1..0 # SKIP no /proc/isolator: this kernel has no Isolator\n"),
        ((), "1..0 # SKIP no KUnit in this kernel's log\n"),
        (("no such file",), "1..0 # SKIP no module\n"),
        (("no such file",), "1..0\n"),
        (("no such file",), ""),
    ],
)
def test_a_skip_for_another_reason_than_the_headers_is_a_failure(
    skips: tuple[str, ...], out: str
) -> None:
    result = _judge(_test(kernel="isolator", skips=skips), {**DONE, "exit": 77, "out": out})
    assert result.status == "failed" and "may not be skipped" in result.why[0]


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("", ["exit 0, but no plan: 1..N"]),
        ("ok 1 - x\n", ["exit 0, but no plan: 1..N"]),
        ("ok 1 - x\n1..0\n", ["exit 0, but no plan: 1..N"]),
        ("# 1..1\n", ["exit 0, but no plan: 1..N"]),
        ("ok 1 - x\nnot ok 2 - y\n1..2\n", ["not ok 2 - y"]),
        ("ok 1 - x\n1..1\nBail out! no more\n", ["Bail out! no more"]),
    ],
)
def test_an_exit_code_is_not_enough(out: str, why: list[str]) -> None:
    result = _judge(_test(), {**DONE, "out": out})
    assert (result.status, result.why) == ("failed", why)


def test_what_a_header_says_is_left_has_to_be() -> None:
    of = _test(leaves=True)
    assert _judge(of, {**DONE, "left": True}).status == "passed"
    assert "left no process" in _judge(of, DONE).why[0]
    assert _judge(_test(), DONE).status == "passed"


@pytest.mark.parametrize("change", [
    {}, {"exit": 1}, {"exit": 77, "out": "1..0 # SKIP no such file\n"}, {"returned": False},
])
def test_what_a_test_leaves_is_its_own_failure(change: dict[str, Any]) -> None:
    """Its guest may end later by what is excused."""
    of = _test(skips=("no such file",))
    event = {**DONE, **change, "left": True, "hang": "pid 7 sh msr_read"}
    text = "t left what cannot be killed: pid 7 sh msr_read"
    result = _judge(of, event, ours=True)
    assert result.status == "failed" and text in result.why
    # Of another kernel than ours nobody claims that it does not.
    assert text not in _judge(of, event).why
    assert text not in _judge(dataclasses.replace(of, leaves=True), event, ours=True).why


def test_a_bail_out_is_told() -> None:
    result = _judge(_test(), {**DONE, "exit": 1, "out": "ok 1 - x\nBail out! no module\n"})
    assert (result.status, result.why) == ("failed", ["exit 1", "Bail out! no module"])


def test_no_test_at_all_is_an_error() -> None:
    for words in ((["rt"], ["fault-*"]), (["nort"], ["locking"]), (["stock-rt"], ["quiet"])):
        with pytest.raises(term.LabError, match="none of these tests is for") as error:
            suite.main("check", *words, False)
        assert error.value.code == term.ERROR


@pytest.mark.parametrize(
    ("event", "log"),
    [
        ({**DONE, "exit": 1, "out": "not ok 1 - x\n"}, LOG),
        ({**DONE, "exit": None, "signal": 11}, LOG),
        ({**DONE, "returned": False}, LOG),
        (None, LOG),
        (DONE, "[1] no mark at all\n"),
        (DONE, LOG.replace("quiet", "WARNING: CPU: 1 at x.c:1")),
        ({**DONE, "exit": 77}, LOG.replace("quiet", "BUG: x")),
    ],
)
def test_fails(event: dict[str, Any] | None, log: str) -> None:
    result = _judge(_test(), event, log)
    assert result.why and result.status == "failed"


def test_wanted_line_of_the_log() -> None:
    log = LOG.replace("quiet", "WARNING: CPU: 1 at isolator")
    assert _judge(_test(allows=("at isolator",)), DONE, log).why == []


def test_allowed_lines_hide_no_other() -> None:
    log = LOG.replace("quiet", "\n".join(["WARNING: at x"] * 6 + ["BUG: y"]))
    assert _judge(_test(allows=("at x",)), DONE, log).why == ["kernel log: BUG: y"]
    assert len(_judge(_test(), DONE, log).why) == 5


def test_failure_shows_the_log_around_it(capsys: pytest.CaptureFixture[str]) -> None:
    log = "[1] isolab: begin t\n[2] before\n[3] BUG: y\n[4] after\n[5] isolab: end t\n"
    suite._recap([_judge(_test(), DONE, log)])
    said = capsys.readouterr().out
    assert "log | [2] before\n" in said and "log | [4] after\n" in said
    suite._recap([_judge(_test(), {**DONE, "exit": 1, "out": "not ok 1 - x\n"})])
    assert "log |" not in capsys.readouterr().out


def test_what_the_observer_must_have_counted() -> None:
    window = {
        "probes": 2, "probes_seen": 2, "kernel_entries": 23, "kicks_of_others": 20,
        "entries_by_vector": {"sysvec_call_function_single": 21, "exc_int3": 2},
    }  # fmt: skip
    for vector, count in (
        ("any", 23), ("exc_int3", 2), ("sysvec_call_function_single", 21), ("others", 20),
        ("exc_page_fault", 0),
    ):  # fmt: skip
        for wanted, good in ((count, True), (count + 1, False), (count - 1, False)):
            test = _test(expects=(Expect(6, vector, wanted),))
            result = _judge(test, DONE, windows={6: window})
            assert (result.status == "passed") == good, (vector, wanted, result.why)


def test_ends() -> None:
    panics = _test(ends="Kernel panic - not syncing: sysrq triggered crash")
    begun = "[1] isolab: begin t\n[2] Kernel panic - not syncing: "
    log = f"{begun}sysrq triggered crash\n"
    assert _judge(panics, None, log, died=ENDED).status == "passed"
    # another panic than the one that is meant
    assert _judge(panics, None, f"{begun}stack-protector\n", died=ENDED).status == "failed"
    # it said so and then hung
    assert _judge(panics, None, log, died="silent for 60 s").status == "failed"
    assert _judge(panics, None, LOG).status == "failed"
    # it came back, and the guest was powered off by the agent
    assert _judge(panics, DONE, log).status == "failed"


def test_a_reboot_is_the_kernels_own_word() -> None:
    reboots = _test(ends="reboot")
    begun, said = "[1] isolab: begin t\n", "[2] reboot: Restarting system\n"
    assert _judge(reboots, None, begun + said, died=ENDED).status == "passed"
    # Where a thread prints, it may come too late for that.
    assert _judge(reboots, None, begun, died=ENDED, late=True).status == "passed"
    triple = {"died": ENDED, "qemu_log": "CPU Reset (CPU 0)\nTriple fault\n"}
    for log, more in (
        (begun, {"died": ENDED}),
        ("", {"died": ENDED, "late": True}),
        (begun, {**triple, "late": True}),
        (begun + said, triple),
        (begun + "[2] reboot: Power down\n", {}),
    ):
        assert _judge(reboots, None, log, **more).status == "failed"


def test_observer_must_agree() -> None:
    test = _test(expects=(Expect(1, "any", 0), Expect(1, "exc_int3", 0)))
    window = {"kernel_entries": 0, "entries_by_vector": {}, "probes": 2, "probes_seen": 2}
    assert _judge(test, DONE, windows={1: window}).why == []
    for wrong in (
        {**window, "kernel_entries": 1},
        {**window, "entries_by_vector": {"exc_int3": 1}},
        {**window, "probes_seen": 1},
        {**window, "probes": 0, "probes_seen": 0},
    ):
        assert _judge(test, DONE, windows={1: wrong}).status == "failed"
    assert _judge(test, DONE, windows={}).status == "failed"
    exactly = _test(expects=(Expect(1, "exc_int3", 25),))
    for seen, status in ((24, "failed"), (25, "passed"), (26, "failed")):
        counted = {**window, "entries_by_vector": {"exc_int3": seen}}
        assert _judge(exactly, DONE, windows={1: counted}).status == status


def test_windows_must_be_equal() -> None:
    test = _test(equals=(Equal((1,), (2,), "kernel_instructions", 2),))
    one, same, other = ({"kernel_instructions": n} for n in (1000, 1019, 1021))
    assert _judge(test, DONE, windows={1: one, 2: same}).why == []
    for wrong in ({1: one, 2: other}, {1: one}, {1: {"kernel_instructions": 0}, 2: same}):
        assert _judge(test, DONE, windows=wrong).status == "failed"


def test_one_window_must_have_exactly_so_many_more() -> None:
    test = _test(mores=(More((1,), (2,), "sync", 1000),))
    of = {n: {"heavy": {"sync": n}} for n in (0, 1, 999, 1000, 1001)}
    assert test.observed
    assert _judge(test, DONE, windows={1: of[0], 2: of[1000]}).why == []
    for wrong in ({1: of[0], 2: of[999]}, {1: of[0], 2: of[1001]}, {1: of[1000], 2: of[0]},
                  {1: of[0]}, {1: of[0], 2: {}}, {1: of[0], 2: {"heavy": {"fence": 1000}}}):
        assert _judge(test, DONE, windows=wrong).status == "failed"
    # Of several the least; each of them must have been seen.
    test = _test(mores=(More((1, 2), (3, 4), "sync", 1000),))
    seen = {1: of[1], 2: of[0], 3: of[1001], 4: of[1000]}
    assert _judge(test, DONE, windows=seen).why == []
    for number, other in ((2, of[1]), (4, of[1001]), (4, of[999]), (1, {}), (3, {})):
        assert _judge(test, DONE, windows={**seen, number: other}).status == "failed"


def test_the_least_of_several_windows_counts() -> None:
    test = _test(equals=(Equal((1, 3), (2, 4), "kernel_instructions", 2),))
    one, disturbed = ({"kernel_instructions": n} for n in (1000, 3000))
    assert _judge(test, DONE, windows={1: one, 2: disturbed, 3: disturbed, 4: one}).why == []
    for wrong in ({1: one, 2: disturbed, 3: one, 4: disturbed}, {1: one, 2: one, 3: one}):
        assert _judge(test, DONE, windows=wrong).status == "failed"


def test_result_fits_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "OUT", tmp_path)
    attempts = [{"tests": ["t"], "ended_in": None, **record(Attempt())}]
    suite.write([_judge(_test(), DONE)], attempts, "check", 1.0)
    written = json.loads((tmp_path / "test.json").read_text())
    jsonschema.validate(written, schemafile.read(SCHEMAS / "test.json"))
    assert written["results"][0]["status"] == "passed"


def test_log_between_the_tests_is_a_failure_of_its_own() -> None:
    log = LOG + "[4] WARNING: CPU: 0 at late.c:1\n"
    assert verdict.stray("k", _test(), [_test()], LOG) == []
    (stray,) = verdict.stray("k", _test(), [_test()], log)
    assert stray.status == "failed" and "late.c" in stray.why[0]
    # So may be those of a test in which the guest ended by an excused fault, no others.
    cut = _test(name="u", allows=("at late",))
    begun = "[5] isolab: begin u\n[6] WARNING: CPU: 0 at {}.c:1\n"
    assert verdict.stray("k", _test(), [], begun.format("late"), cut) == []
    assert len(verdict.stray("k", _test(), [], begun.format("other"), cut)) == 1
    assert len(verdict.stray("k", _test(), [], begun.format("late"))) == 1
    # Late lines are the test's own to allow, until the next test begins.
    allows, other = _test(allows=("at late",)), _test(name="u", allows=("at late",))
    assert verdict.stray("k", allows, [allows], log) == []
    before = "[0] WARNING: CPU: 0 at late.c:1\n" + LOG
    assert verdict.stray("k", allows, [allows], before)
    of_u = LOG.replace(" t\n", " u\n")
    assert verdict.stray("k", other, [_test(), other], log + of_u)
    after = LOG + of_u + "[9] WARNING: CPU: 0 at late.c:1\n"
    assert verdict.stray("k", allows, [allows, _test(name="u")], after)


@pytest.mark.parametrize(("at", "jobs"), [
    (0, ["tuv", "t", "uv"]),
    (1, ["tuv", "u", "v"]),
    (2, ["tuv", "v"]),
    (3, ["tuv"]),  # behind the last one: all have their verdicts
])
def test_what_ran_beyond_an_excused_splat_runs_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at: int, jobs: list[str]
) -> None:
    """On arm64 the guest lives on."""
    def of(guest: Any) -> str:
        return "".join(n for n in "tuv" if f"run {n} " in guest.job)

    def boot(guest: Any) -> Outcome:
        names = of(guest)
        quiet, end = "[2] quiet\n", "[3] reboot: Power down\n"
        parts = [LOG.replace(" t\n", f" {n}\n").replace(end, "") for n in names] + [quiet + end]
        if len(booted) == 1:
            parts[at] = parts[at].replace(quiet, splat())
        return outcome("".join(parts), arm=True, stale=ASTRAY if len(booted) == 1 else frozenset(),
                       events=[{**DONE, "name": n} for n in names])

    booted = boots.planner(monkeypatch, tmp_path)([boot])
    attempts: list[Any] = []
    batch = [_test(name=n) for n in "tuv"]
    results = suite._run_batch(boots.KERNEL, batch, 1.0, Path("/nowhere"), attempts)
    assert [(r.test.name, r.status) for r in results] == [(n, "passed") for n in "tuv"]
    assert [of(guest) for guest in booted] == jobs
    assert [guest.threads for guest in booted] == ["", "single", ""][: len(jobs)]
    assert [a["excused"] for a in attempts] == [True, False, False][: len(jobs)]


def test_faults_keep_to_themselves() -> None:
    """One that is planted leaves RCU callbacks on an isolated CPU: no other test meets them."""
    tests = [_test(name=n, kernel=f"isolator{'-faults' * (n in 'bc')}") for n in "abcd"]
    assert [[t.name for t in batch] for batch in suite._batches(tests)] == [["a", "d"], ["b", "c"]]


def test_doorbell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest with one is another guest; whatever becomes of it, the generator is ended."""
    with_one, other = _test(name="a", doorbell=True), _test(name="b")
    assert suite._batches([with_one, other]) == [[with_one], [other]]
    did = []

    class Generator:
        def __init__(self, program: Path, socket: Path, *rest: object) -> None:
            self.socket = socket

        def begin(self) -> None:
            did.append("begin")

        def end(self) -> None:
            did.append("end")

    monkeypatch.setattr(suite.scopegenerator, "Generator", Generator)
    monkeypatch.setattr(suite.scopegenerator, "build", lambda: Path("generator"))
    with suite._doorbell(other) as socket:
        assert socket is None and not did
    with pytest.raises(OSError, match="no guest"), suite._doorbell(with_one) as socket:
        assert socket and socket.parent.is_dir() and did == ["begin"]
        raise OSError("no guest")
    assert socket and not socket.parent.exists() and did == ["begin", "end"]


def _sitting(monkeypatch: pytest.MonkeyPatch, says: dict[str, str], resume: bool | None,
             code: int) -> list[str]:
    """A suite of t, u and v; @says: what their results are.  The tests that were run."""
    ran: list[str] = []
    batch = [_test(name=n) for n in "tuv"]

    def run_batch(built: Any, tests: list[GuestTest], *rest: Any) -> list[verdict.Result]:
        ran.extend(t.name for t in tests)
        rest[2].append({"void": None, "excused": False, "ended_in": None})
        found = [verdict.Result(t, "rt", says.get(t.name, "passed"), 1.0) for t in tests]
        if "between" in says:
            found.append(verdict.Result(_test(name="kernel-log"), "rt", "failed", why=["a BUG"]))
        return found

    monkeypatch.setattr(suite, "_choose", lambda *_: [("rt", batch)])
    monkeypatch.setattr(suite, "_kernel", lambda _: boots.KERNEL)
    monkeypatch.setattr(suite, "_say_emulator", lambda _: None)
    monkeypatch.setattr(suite, "_run_batch", run_batch)
    monkeypatch.setattr(suite, "BATCH", 2)
    assert suite.main("full-rt", [], [], False, resume) == code
    return ran


def test_sittings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                  capsys: pytest.CaptureFixture[str]) -> None:
    """Each goes on with what has not passed, and no failure is forgotten."""
    monkeypatch.setattr(suite, "OUT", tmp_path)
    assert _sitting(monkeypatch, {"u": "failed", "v": "skipped"}, False, term.ERROR) == list("tuv")
    assert _sitting(monkeypatch, {}, True, term.PASS) == ["u", "v"]
    out = capsys.readouterr().out
    assert "in an earlier sitting" in out and ": u: " in out
    assert out.endswith("3 passed, 0 failed, 0 skipped\n")
    assert _sitting(monkeypatch, {}, True, term.PASS) == []
    kept = tmp_path / "sittings-full-rt.json"
    jsonschema.validate(json.loads(kept.read_text()), schemafile.read(SCHEMAS / "sittings.json"))
    # Of another program, of another kernel, without and begun anew.
    monkeypatch.setattr(sittings, "_source", lambda _: "another")
    assert _sitting(monkeypatch, {}, True, term.PASS) == list("tuv")
    monkeypatch.setattr(boots, "KERNEL", dataclasses.replace(boots.KERNEL, path=Path("/x/rt-2")))
    assert _sitting(monkeypatch, {}, True, term.PASS) == list("tuv")
    assert _sitting(monkeypatch, {}, None, term.PASS) == list("tuv")
    capsys.readouterr()
    assert _sitting(monkeypatch, {}, False, term.PASS) == list("tuv")
    assert ": u: " not in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "isolab.sittings", "version": 0}'])
def test_what_cannot_be_read_keeps_no_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                           text: str) -> None:
    monkeypatch.setattr(suite, "OUT", tmp_path)
    (tmp_path / "sittings-full-rt.json").write_text(text)
    assert _sitting(monkeypatch, {}, True, term.PASS) == list("tuv")


def test_what_is_no_tests_own_failure_keeps_no_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path
                                                    ) -> None:
    """A splat between the tests: what ran beside it shows nothing."""
    monkeypatch.setattr(suite, "OUT", tmp_path)
    assert _sitting(monkeypatch, {"between": ""}, False, term.ERROR) == list("tuv")
    assert _sitting(monkeypatch, {}, True, term.PASS) == list("tuv")
