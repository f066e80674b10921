# SPDX-License-Identifier: GPL-2.0-or-later
"""Drawing and judging a hunt."""

import itertools
import json
from pathlib import Path
from typing import Any

import boots
import pytest
from boots import FINE, OVER, WARNING, Boot, of_job
from isolab import catalogue, header, hunt, stressors, term
from isolab.guests import machine
from isolab.guests.guest import ENDED, Guest, Outcome
from test_attempt import event, oops
from test_boots import hunted


@pytest.fixture(autouse=True)
def _no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("fork", "vm", "sysfs", "pipe")
    monkeypatch.setattr(stressors, "of_class", lambda cls: names)


def _draw(seed: int, n: int) -> list[hunt.Slice]:
    return list(itertools.islice(hunt.slices(seed), n))


def test_a_seed_repeats_a_hunt() -> None:
    assert _draw(7, 30) == _draw(7, 30)
    assert _draw(7, 30) != _draw(8, 30)


def test_every_kind_is_drawn() -> None:
    kinds = {part.about.split(":")[0].split(",")[0] for part in _draw(1, 200)}
    assert {"stress-ng", "triggers"} <= kinds


def test_what_writes_to_files_of_the_kernel_is_no_root() -> None:
    for part in _draw(3, 200):
        if "sysfs" in part.about:
            assert "su -s /bin/sh nobody" in part.command


def test_a_machine_is_not_asked_for_what_it_lacks() -> None:
    lacking = {t.name for t in header.triggers() if machine.ARM64.name not in t.arch}

    def drawn(of: machine.Machine) -> set[str]:
        assert hunt.selftests.names(of)
        parts = itertools.islice(hunt.slices(3, of), 500)
        mixes = (p.about.removesuffix(" (any CPU)") for p in parts if p.about.startswith("trig"))
        return {name for about in mixes for name in about.partition(": ")[2].split(", ")}

    assert drawn(machine.X86_64) & lacking
    assert drawn(machine.ARM64) and not drawn(machine.ARM64) & lacking


def _part(**changes: Any) -> dict[str, Any]:
    part: dict[str, Any] = {
        "about": "x", "kernel_entries": 0, "entries_by_vector": {}, "missed": 0, "returned": True,
        "exit": 0, "seconds": 5.0, "refused": False, "killed": [],
        "killed_without": None, "answers": [],
        "longest_wait_s": 1.5,
        "stood_still_s": 0.2, "delivered_after_s": None, "deliveries": [], "unaccounted": [],
        "kernel_log": [], "causes": [], "probes": 2, "probes_seen": 2, "user_per_s": 4 * 10**8,
        "control": 5, "kicks_of_others": 0, "ticks": 3, "tick_kernel_instructions_max": 10**6,
        "window_s": 5.0,
    }
    return part | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel_entries": 1, "entries_by_vector": {"sysvec_call_function": 1}},
        {"missed": 1},
        {"missed": None},
        {"returned": False, "exit": None},
        {"killed": ["a"], "killed_without": False},
        {"longest_wait_s": 1.51},
        {"longest_wait_s": None},
        {"unaccounted": ["queued"]},
        {"kernel_log": ["WARNING: x"]},
        {"probes_seen": 0},
        {"probes": 0, "probes_seen": 0},
        {"user_per_s": 0},
        {"control": 0},
        {"control": None},
        {"ticks": 503},
        {"tick_kernel_instructions_max": 5 * 10**7 + 1},
        # The kernel's list has more of them than the window: one was ahead of it.
        {"deliveries": ["cpu 1 deadline_miss kind call"]},
    ],
)
def test_each_fault_is_named(changes: dict[str, Any]) -> None:
    assert not hunt.faults(_part())
    assert hunt.faults(_part(**changes))


# As it was: one request waited 1.02 s, and its deadline delivered it.
KEPT = {"missed": 1, "kernel_entries": 1, "longest_wait_s": 1.02, "stood_still_s": 1.01,
        "delivered_after_s": 1.01,
        "entries_by_vector": {"sysvec_call_function_single": 1},
        "deliveries": ["cpu 1 deadline_miss kind call"]}
# And on arm64, beside builds, where the sender span for D_spin.
KEPT_SPINNING = KEPT | {
    "longest_wait_s": 0.100106512, "stood_still_s": 0.685, "delivered_after_s": 0.685,
    "entries_by_vector": {"generic_smp_call_function_single_interrupt": 1},
}


@pytest.mark.parametrize(
    "changes",
    [
        {"delivered_after_s": 0.06},  # it stood still, and not right before that
        {"delivered_after_s": None},
        {"kernel_entries": 2},
        {"longest_wait_s": None},
        {"missed": 0},
        # As many entries as misses, but of others.
        {"missed": 3, "kernel_entries": 3, "entries_by_vector": {
            "sysvec_call_function_single": 1, "sysvec_reschedule_ipi": 1,
            "sysvec_apic_timer_interrupt": 1}},
        {"entries_by_vector": {"sysvec_irq_work": 1}},
        {"kicks_of_others": 1},
        {"kicks_of_others": None},
        {"deliveries": [f"cpu 1 deadline_miss kind call at_ns {n}" for n in range(2)]},
    ],
)
def test_a_miss_is_the_hosts_only_as_long_as_the_cpu_stood_still(changes: dict[str, Any]) -> None:
    for kept in (KEPT, KEPT_SPINNING):
        assert hunt.kept_from_ticking(_part(**kept)) and not hunt.faults(_part(**kept))
    assert "host ran nothing" in hunt._text({
        "slices": [_part(**KEPT)], "seconds_hunted": 5.0, "seed": 1, "longest": [], "unknown": [],
    })
    assert hunt.faults(_part(**KEPT | changes))
    missed = _part(missed=1, deliveries=["cpu 1 deadline_miss kind thread"])
    assert [text.partition(": ")[2] for text in hunt.faults(missed)] == [
        "1 deadline misses; the host ran nothing of that CPU for 0.20 s at most",
        "missed: cpu 1 deadline_miss kind thread",
    ]


def test_a_slice_is_held_against_the_others() -> None:
    """A fifth of what is usual: a task that stands for most of a second passes for running else."""
    parts = [_part()] * 2 + [_part(user_per_s=8 * 10**7 - 1)]
    (said,) = hunt.broken({"slices": parts, "unknown": [], "attempts": []})
    assert "a second with 79999999 user instructions, not 80000000" in said
    assert not hunt.faults(_part(user_per_s=8 * 10**7), hunt.usual(parts))
    assert hunt.usual([]) == 0


def test_a_host_that_takes_the_cpu_too_often_leaves_no_result() -> None:
    assert not hunt.kept_too_often([_part(**KEPT)] + [_part()] * 3)
    assert not hunt.kept_too_often([_part(**KEPT)] * 2 + [_part()] * 18)
    assert hunt.kept_too_often([_part(**KEPT)] * 2 + [_part()] * 17)


@pytest.mark.parametrize(
    ("exit_code", "seconds", "out", "refused"),
    [
        (0, 5.0, "", False),
        (0, 0.3, '{"worked":true}\n', False),
        (2, 5.0, "stress-ng: error\n", False),
        (None, 15.0, "", False),
        (127, 0.1, "", True),
        (126, 3.0, "", True),
        (1, 0.1, "su: can't set groups", True),
        (1, 0.1, None, True),
        # Behind a "wait" nobody asks how it ended.
        (0, 0.1, "sh: /lab/triggers/x: not found\n", True),
        (0, 3.0, "sh: x: not found\n", False),
    ],
)
def test_what_has_not_begun(
    exit_code: int | None, seconds: float, out: str | None, refused: bool
) -> None:
    ran = {"exit": exit_code, "seconds": seconds, "out": out}
    assert hunt.refused(ran) == refused


@pytest.mark.parametrize(
    ("exit_code", "number", "out", "killed"),
    [
        (0, 0, "", set()),
        (1, 0, "killed me not, says it\n", set()),
        (None, 9, "", {hunt.WHOLE}),
        (None, 15, "", set()),
        (137, 0, "", {hunt.WHOLE}),
        (0, 0, "ok 1\nkilled membarrier_test\n", {"membarrier_test"}),
        (137, 0, "killed a\nkilled b\n", {"a", "b", hunt.WHOLE}),
    ],
)
def test_what_did_not_end_by_itself(
    exit_code: int | None, number: int, out: str, killed: set[str]
) -> None:
    assert hunt.killed({"exit": exit_code, "signal": number, "out": out}) == killed


KILLED = {"exit": None, "signal": 9}


def killed(*names: str) -> dict[str, Any]:
    """How a slice ends of which these parts were killed."""
    return {"exit": 0, "signal": 0, "out": "".join(f"killed {name}\n" for name in names)}


def told(end: dict[str, Any] | None, console: str = FINE, left: bool = False,
         died: str | None = None) -> Boot:
    """A guest whose first slice ends so, or of which it is not known."""

    def boot(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        found.events = [e | (end or {}) if e["name"] == "slice.0" else e for e in found.events
                        if end is not None or e["name"] != "slice.0"]
        found.events += [event("killed", "spinner", left=True)] * left
        found.console, found.died = console, died
        return found

    return boot


@pytest.fixture(name="tried")
def _tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """What comes of a hunt whose first slice is killed, and of the same without isolation."""

    def tried(isolated: dict[str, Any], without: Boot) -> tuple[int, dict[str, Any], list[Guest]]:
        booted = boots.planner(monkeypatch, tmp_path)([told(isolated), without])
        code = hunted(monkeypatch, 2.5, 100.0)
        return code, json.loads((tmp_path / "hunt.json").read_text()), booted

    return tried


@pytest.mark.parametrize(("isolated", "without", "code", "said"), [
    (KILLED, KILLED, term.PASS, True),
    (KILLED, {"exit": 0, "signal": 0}, term.EXCEEDED, False),
    (KILLED, None, term.INCONCLUSIVE, None),
    (KILLED, {"returned": False, "exit": None}, term.INCONCLUSIVE, None),
    (killed("a"), killed("a"), term.PASS, True),
    (killed("a"), killed("a", "b"), term.PASS, True),
    # That another part is killed excuses nothing: this one ended.
    (killed("a"), killed("b"), term.EXCEEDED, False),
    (killed("a", "b"), killed("b"), term.EXCEEDED, False),
    (KILLED, killed("a"), term.EXCEEDED, False),
    # It may have ended before.
    (killed("a"), KILLED, term.INCONCLUSIVE, None),
    (killed("a"), killed("a") | KILLED, term.PASS, True),
])
def test_hunt_tries_what_was_killed_without_isolation(
    tried: Any, isolated: dict[str, Any], without: dict[str, Any] | None, code: int,
    said: bool | None
) -> None:
    """A load that hangs beside an isolated task, and only there, waits for what it lost."""
    exit_code, report, (_, plain) = tried(isolated, told(without))
    first = report["slices"][0]
    assert exit_code == code and first["killed"] and first["killed_without"] is said
    assert "--isolate" not in plain.job and f"{first['command']}\n" in plain.job
    assert report["boots"] == len(report["attempts"]) == 2


@pytest.mark.parametrize(("without", "code", "said"), [
    (told(KILLED, console=WARNING + OVER), term.EXCEEDED, "kernel log: [   30.0] WARNING"),
    (told(KILLED, console="[1] cut\n"), term.EXCEEDED, "its log does not reach its end"),
    (told(KILLED, left=True), term.EXCEEDED, "spinner left what cannot be killed"),
    (told(KILLED, console=oops(rip="elsewhere"), died=ENDED), term.EXCEEDED, ENDED),
    # An excuse is none for what was killed: it was not tried.
    (told(KILLED, console=oops(), died=ENDED), term.INCONCLUSIVE, None),
    (boots.clockless, term.INCONCLUSIVE, None),
])
def test_the_guest_without_isolation_is_judged_as_any_other(
    tried: Any, without: Boot, code: int, said: str | None
) -> None:
    """Its kernel is ours."""
    exit_code, report, _ = tried(KILLED, without)
    assert exit_code == code and bool(report["broken"]) == bool(said)
    assert any(said in text for text in report["broken"]) or not said
    assert report["slices"][0]["killed_without"] is (True if said else None)
    assert bool(report["attempts"][1]["void"]) != bool(said)


def test_what_the_triggers_of_a_slice_said() -> None:
    out = '{"worked":true,"outcome":"done"}\nx\n{"worked":false,"outcome":"done"}\n'
    ran = {"out": out, "exit": 0, "seconds": 5.0}
    assert hunt.answers(ran, 2) == [True, False]
    assert hunt.answers(ran, 4) == [True, False, False, False]  # the others crashed
    assert hunt.answers({**ran, "out": None}, 0) == []
    assert hunt.answers({**ran, "exit": hunt.KILLED}, 4) == [True, False]
    assert hunt.answers({**ran, "exit": 127, "out": None}, 4) == []


@pytest.mark.parametrize(("worked", "bad"), [(8, False), (6, False), (5, True), (0, True)])
def test_most_triggers_have_to_work(worked: int, bad: bool) -> None:
    answers = [True] * worked + [False] * (8 - worked)
    parts = [_part(answers=answers[:4]), _part(answers=answers[4:]), _part()]
    assert bool(hunt.broken({"slices": parts, "unknown": [], "attempts": []})) == bad


@pytest.mark.parametrize(("idle", "many", "bad"), [
    (0, 4, False), (1, 4, False), (2, 4, True), (4, 4, True), (3, 30, False), (4, 30, True)])
def test_most_slices_have_to_run(idle: int, many: int, bad: bool) -> None:
    parts = [_part(refused=i < idle) for i in range(many)]
    report = {"slices": parts, "unknown": [], "attempts": []}
    assert bool(hunt.broken(report)) == bad
    assert hunt.broken({**report, "slices": []}) == []


def _cause(callback: str, longest_ns: int = 0) -> dict[str, Any]:
    return {
        "kind": "call", "callback": callback, "sender": "sh", "longest_ns": longest_ns,
        "counts": {"queued": 2}, "stack": ["somewhere+0x1/0x2"],
    }


def test_unknown_callbacks_are_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "callbacks", lambda: {"do_sync_core": 1})
    parts = [_part(causes=[_cause(c) for c in ("do_sync_core", "-", "new_ipi", "new_ipi")])]
    (proposed,) = hunt.unknown(parts)
    assert proposed["callback"] == "new_ipi" and proposed["counts"] == {"queued": 4}
    assert proposed["stack"] and proposed["in"] == ["x"]


def test_the_longest_hold_comes_first() -> None:
    parts = [_part(causes=[_cause("a", 5), _cause("b", 9)]), _part(causes=[_cause("a", 7)])]
    assert [(c["callback"], c["longest_ns"]) for c in hunt.longest(parts)] == [("b", 9), ("a", 7)]
