# SPDX-License-Identifier: GPL-2.0-or-later
"""What a boot is good for: every rule that throws one away or excuses its end, as a table."""

from pathlib import Path
from typing import Any

import pytest
from isolab import term
from isolab.guests import observer, qemu
from isolab.guests.guest import ENDED, Outcome
from isolab.guests.kernel import Kernel
from isolab.judge import attempt, jobs, readings
from isolab.judge.attempt import judge
from isolab.judge.jobs import CONFIGS
from isolab.paths import TOP

STOCK, TUNED, ISOLATOR = CONFIGS
# Which CPU executed a breakpoint that memory did not hold, and where.
STALE = frozenset({(0, "schedule+0x0"), (0, "__schedule+0x0"), (1, "wake_up+0x0"), (2, "a module")})
# As the kernel prints it where the CPU executed what memory no longer holds.
OOPS = """[   20.0] isolab: begin x
[   23.9] Oops: int3: 0000 [#1] PREEMPT_RT SMP NOPTI
[   23.9] CPU: {cpu} UID: 0 PID: 7 Comm: {comm} Not tainted 6.12
[   23.9] RIP: 0010:{rip}+0x1/0x10
[   23.9] Code: c0 74 08 0f 1f 80 00 00 00 00 {byte} <1f> 44 00 00 41 56
[   23.9] Call Trace:
[   23.9]  {rip}+0x1/0x10
[   23.9] Kernel panic - not syncing: Fatal exception
"""


def oops(cpu: int = 0, comm: str = "hackbench", rip: str = "schedule", byte: str = "0f") -> str:
    return OOPS.format(cpu=cpu, comm=comm, rip=rip, byte=byte)


def outcome(console: str = "", **more: Any) -> Outcome:
    return Outcome(**{"ours": True, "stale": STALE, "console": console, **more})


def event(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"event": kind, "name": name, "returned": True, "seconds": 0.1, "exit": 0, **more}


def window(number: int, entries: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "window": number, "seconds": 2.0, "kernel_entries": entries, "tick_entries": 0,
        "kernel_instructions": 0, "tick_kernel_instructions": 0, "tick_kernel_instructions_max": 0,
        "user_instructions": 10**9, "user_instructions_per_second_min": 4 * 10**8, "ticks": 0,
        "taken_ns": 0, "stood_still_ns": 0, "delivered_after_ns": None, "probes": 6,
        "probes_seen": 6, "kicks_of_others": 0,
        "entries_by_vector": {"sysvec_call_function": entries} if entries else {}, "log": [],
        **more,
    }


HRES = "  .hres_active    : {}\n"
DISABLED = "[ 0.2] APIC timer disabled due to verification failure\ntsc\n"
NO_CLOCKS = event("run", "facts", out=f"waited_for_clocks 80\n{DISABLED}{HRES.format(0)}")
NOT_READY = [
    event("task", "spinner", returned=False, last="start: Device or resource busy"),
    event("died", "spinner", out="exit 1"),
]
READY = event("task", "spinner", last="ready")
QEMU_SAYS = "qemu-system-x86_64: system/physmem.c:1: f: Assertion `a < b' failed."


@pytest.mark.parametrize(
    ("log", "more", "excused"),
    [
        (oops(), {}, True),
        (oops(rip="__schedule"), {}, True),
        (oops(cpu=1, rip="wake_up"), {}, True),
        (oops(cpu=1), {}, False),
        (oops(cpu=3), {}, False),
        # Where a module lies is not known.
        (oops(cpu=2).replace("/0x10\n", "/0x10 [ext4]\n", 1), {}, True),
        (oops().replace("/0x10\n", "/0x10 [ext4]\n", 1), {}, False),
        (oops(cpu=2), {}, False),
        (oops().replace("CPU: 0 ", ""), {}, False),
        # Here Isolator may wrongly have deferred the sync: memory held the int3 as it was executed.
        (oops(), {"stale": frozenset()}, False),
        (oops(rip="wake_up"), {}, False),
        (oops().replace("+0x1/", "+0x2/"), {}, False),
        (oops(rip="wake_up") + oops(), {}, False),
        (oops() + oops(rip="wake_up"), {}, True),
        # The next switch of the key has put one there, when the Oops is printed.
        (oops(byte="cc"), {}, True),
        (oops(byte="cc"), {"stale": frozenset()}, False),
        # Nothing says where.
        ("[ 1.0] Oops: int3: 0000 [#1]\n[ 1.0] CPU: 0 UID: 0\n", {}, False),
        (oops().replace("RIP: ", ""), {}, False),
        (oops().replace("RIP: ", "") + oops(), {}, False),
        # Reported, and kills nothing.
        ("", {}, False),
        ("", {"qemu_log": f"a warning\n{QEMU_SAYS}\n"}, True),
        ("", {"qemu_log": "qemu-system-x86_64: a warning\n"}, False),
        (f"{QEMU_SAYS}\n", {}, False),  # the guest may print anything
    ],
)
def test_an_end_is_excused_by_proof_only(log: str, more: dict[str, Any], excused: bool) -> None:
    found = judge(outcome(log, died=ENDED, **more))
    assert found.excused == excused
    assert bool(found.void) == excused and (found.ended != ENDED) == excused


ASTRAY = frozenset({(1, "el0_svc+0x14"), (0, "el0_da+0x20")})
# As arm64's kernel prints it where the CPU went on as if it were still in user mode.
SPLAT = """[   20.0] isolab: begin x
[    4.4] ------------[ cut here ]------------
[    4.4] WARNING: CPU: {cpu} PID: 52 at ct_isolator+0x50/0x60
[    4.4] CPU: {cpu} UID: 0 PID: 52 Comm: x Not tainted 6.12.117 #1
[    4.4] lr : isolator_local_off+0xa8/0xe8
[    4.4] Call trace:
[    4.4]  ct_isolator+0x50/0x60
[    4.4]  do_el0_svc+0x70/0x100
[    4.4]  {entry}+0x28/0x1c0
[    4.4] ---[ end trace 0000000000000000 ]---
"""


def splat(cpu: int = 1, entry: str = "el0_svc") -> str:
    return SPLAT.format(cpu=cpu, entry=entry)


@pytest.mark.parametrize(
    ("log", "more", "excused"),
    [
        (splat(), {}, True),
        (splat(0, "el0_da"), {}, True),
        (splat() + splat(0), {}, True),
        (splat(0), {}, False),
        (splat(entry="el0_da"), {}, False),
        (splat(entry="el0_svc_compat"), {}, False),
        (splat(0) + splat(), {}, False),  # only the first may be no consequence of another
        (splat(entry="el0_ia") + splat(), {}, False),
        (splat().replace("[    4.4]  el0_svc", "[    4.4] lr : el0_svc"), {}, False),
        (splat().replace("CPU: 1 ", ""), {}, False),
        # What no wrong way through an entry explains.
        (splat().replace("ct_isolator", "isolator_ioctl"), {}, False),
        (splat().replace("WARNING: CPU: 1 PID: 52 at ct_isolator",
                         "BUG: KASAN: slab-use-after-free in ct_isolator"), {}, False),
        ("[    4.3] BUG: KASAN: slab-use-after-free in isolator_ioctl\n" + splat(), {}, False),
        (splat().replace("ct_isolator", "rcu_is_cpu_rrupt_from_idle"), {}, True),
        (splat(), {"stale": frozenset()}, False),
        (splat(), {"stale": frozenset({(1, "el0_svc_common+0x14")})}, False),
        (splat(), {"arm": False}, False),
        ("", {}, False),  # executed, and without a consequence
        ("", {"qemu_log": QEMU_SAYS}, True),
    ],
)
def test_on_arm64_a_splat_is_excused_by_proof_only(log: str, more: dict[str, Any], excused: bool
                                                   ) -> None:
    found = judge(outcome(log, **{"arm": True, "stale": ASTRAY, **more}))
    assert found.excused == excused == bool(found.void)


def test_what_comes_before_an_excused_splat_counts() -> None:
    seen = judge(outcome("[ 1.0] fine\n" + splat(), arm=True, stale=ASTRAY))
    assert "fine" in seen.log and "WARNING" not in seen.log and "el0_svc+0x14" in str(seen.void)


def test_what_was_left_ahead_of_an_excused_end_is_not() -> None:
    events = [event("run", "a", left=True)]
    found = judge(outcome(oops(), died=ENDED, events=events))
    assert found.excused and "a left" in (found.ended or "")
    assert attempt.broken([attempt.record(found)])
    assert attempt.judge(outcome(oops(), died=ENDED, events=events), ["a"]).ended is None
    assert judge(outcome(oops(), died=ENDED, events=events, ours=False)).ended is None


def test_what_the_agent_cannot_do_is_a_failure() -> None:
    events = [{"event": "problem", "name": "agent", "text": "cannot run on CPUs 7"}]
    assert "CPUs 7" in (judge(outcome(events=events)).ended or "")
    assert judge(outcome(events=events, ours=False)).ended is None


def test_only_the_last_breakpoint_of_a_place_is_told_of(tmp_path: Path) -> None:
    """One that memory held came after it: which of them killed the guest?"""
    built = Kernel("k", tmp_path)
    (tmp_path / "System.map").write_text("ffffffff81000000 T one\nffffffff81000010 T two\n")
    out = tmp_path / "stale.json"
    line = '{{"schema": "isolator.observer.stale", "vcpu": {}, "pc": "{:#x}", "memory": "{}"}}\n'
    one, two, module = 0xFFFFFFFF81000000, 0xFFFFFFFF81000015, 0xFFFFFFFFC0123456
    out.write_text(
        line.format(0, one, "e8")
        + line.format(1, one, "0f")
        + line.format(2, module, "0f")
        + line.format(0, two, "0f")
        + line.format(1, one, "cc")
        + line.format(3, one, "cc")
        + line.format(3, one, "e8")
        + line.format(1, two, "e8")[:40]
    )
    found = {(0, "one+0x0"), (0, "two+0x5"), (2, "a module"), (3, "one+0x0")}
    assert observer.stale(built, out) == found
    assert observer.stale(built, tmp_path / "none") == set()
    (tmp_path / "System.map").unlink()
    assert observer.stale(built, out) == {
        (0, hex(one)), (0, hex(two)), (2, "a module"), (3, hex(one))
    }  # fmt: skip


def test_a_kernel_without_isolator_defers_nothing() -> None:
    """Debian's has no symbols, so that any place will do."""
    for stale, void in (
        ({(0, "0xffffffff81000000")}, True),
        ({(0, "a module")}, True),
        ({(1, "0xffffffff81000000")}, False),
        (set(), False),
    ):
        found = judge(outcome(oops(), died=ENDED, ours=False, stale=frozenset(stale)))
        assert bool(found.void) == void and not found.excused


@pytest.mark.parametrize(
    ("facts", "ours", "other"),
    [
        (HRES.format(1), None, None),
        (f"{DISABLED}{HRES.format(1)}", None, None),
        (f"{DISABLED}{HRES.format(0)}", "void", "void"),
        (f"[ 0.2] APIC frequency too slow, disabling apic timer\n{HRES.format(0)}", "void", "void"),
        (f"waited_for_clocks 80\ntsc-early\n{HRES.format(0)}", "void", "void"),
        # Nothing says that the host did it: with Isolator it may be Isolator's doing.
        (f"waited_for_clocks 80\ntsc\n{HRES.format(0)}", "ended", "void"),
        (HRES.format(0), "ended", "void"),
    ],
)
def test_clocks(facts: str, ours: str | None, other: str | None) -> None:
    for isolates, expected in ((True, ours), (False, other)):
        found = judge(outcome("[1] x\n", events=[event("run", "facts", out=facts)], ours=isolates))
        assert ("void" if found.void else "ended" if found.ended else None) == expected
        assert not found.excused and found.log == "[1] x\n"
        assert bool(attempt.clocks(facts, isolates)) == bool(expected)


def test_what_an_excused_boot_complained_of_before_counts() -> None:
    before = "[   10.0] WARNING: CPU: 1 PID: 3 at kernel/isolator/core.c:1\n"
    said = attempt.record(judge(outcome(before + oops(), died=ENDED)))
    assert said["excused"] and len(said["kernel_log"]) == 1
    assert attempt.broken([said]) == [f"attempt 1: kernel log: {before.strip()}"]
    assert attempt.broken([attempt.record(judge(outcome(oops(), died=ENDED)))]) == []
    of_qemu = judge(outcome(before, died=ENDED, qemu_log=QEMU_SAYS))
    assert attempt.broken([attempt.record(of_qemu)])


@pytest.mark.parametrize(
    ("what", "isolates", "compared"),
    [
        # (the boot, of ours: what judges it; of another: what judges it)
        ({}, "good", "good"),
        ({"events": [NO_CLOCKS], "died": "no high-resolution mode"}, "void", "void"),
        ({"died": "no report for 75 s"}, "ended", "void"),
        ({"died": ENDED}, "ended", "void"),
        ({"events": NOT_READY}, "ended", "void"),
        # A task that had been ready, and ended well, says nothing of one that was started later.
        ({"events": [READY, event("died", "spinner", out=""), *NOT_READY]}, "ended", "void"),
        # Mostly the task has ended by the time it is to be killed, as it was told to.
        ({"events": [event("died", "spinner", out="")]}, "good", "good"),
        ({"events": [event("killed", "spinner", exit=None, signal=15)]}, "good", "good"),
        ({"events": [event("died", "spinner", exit=1, out="x")]}, "ended", "good"),
        ({"events": [event("died", "spinner", exit=None, signal=11)]}, "ended", "good"),
        ({"events": [event("killed", "spinner", returned=False)]}, "ended", "good"),
        (
            {"events": [event("died", "spinner"), event("killed", "spinner", returned=False)]},
            "ended",
            "good",
        ),
        # It may be slow to die, but not live on.
        ({"events": [event("killed", "load-stress", returned=False)]}, "good", "good"),
        ({"events": [event("killed", "load-hackbench", left=True)]}, "ended", "good"),
        # A process stuck in the kernel fails a boot of ours only.
        ({"events": [event("run", "x", left=True)]}, "ended", "good"),
        ({"events": [event("run", "x", returned=False)]}, "good", "good"),
        ({"events": [event("run", n, returned=False) for n in "abc"]}, "good", "void"),
        ({"events": [event("run", n, returned=False) for n in "ab"]}, "good", "good"),
        ({"events": [event("ctl", n, answer={"error": "x"}) for n in "abc"]}, "good", "void"),
    ],
)
def test_which_boots_are_thrown_away(what: dict[str, Any], isolates: str, compared: str) -> None:
    for config, expected in ((ISOLATOR, isolates), (STOCK, compared), (TUNED, compared)):
        found = readings.judge(config, outcome(ours=config.isolates, **what))
        said = "void" if found.void else "ended" if found.ended else "good"
        assert said == expected, config.name
        assert not found.excused


def test_a_task_that_does_not_start_says_why() -> None:
    said = "the spinner did not become ready: start: Device or resource busy"
    before = [READY, event("died", "spinner", out="of the first")]
    assert attempt.not_ready(outcome(events=[*before, *NOT_READY])) == f"{said} exit 1"
    assert attempt.not_ready(outcome(events=[*before, NOT_READY[0]])) == said
    assert attempt.not_ready(outcome(events=[*before, READY])) is None


def test_only_what_may_leaves_processes_behind() -> None:
    two = outcome(ours=True, events=[event("run", "a", left=True), event("run", "b", left=True)])
    assert "a left" in (attempt.judge(two).ended or "")
    assert "b left" in (attempt.judge(two, ["a"]).ended or "")
    assert attempt.judge(two, ["a", "b"]).ended is None


@pytest.mark.parametrize(("ticks", "void"), [(101, True), (100, False)])
def test_tuned_is_worth_something_with_its_tick_stopped(ticks: int, void: bool) -> None:
    quiet = window(jobs.QUIET, ticks, entries_by_vector={attempt.TIMERS[0]: ticks})
    windows = {jobs.QUIET: quiet}
    assert bool(readings.judge(TUNED, outcome(ours=False, windows=windows)).void) == void
    assert not readings.judge(STOCK, outcome(ours=False, windows=windows)).void
    assert not readings.judge(ISOLATOR, outcome(windows=windows)).void


def test_more_than_one_excuse_concludes_nothing() -> None:
    excused = attempt.record(judge(outcome(oops(), died=ENDED)))
    clocks = attempt.record(judge(outcome(events=[NO_CLOCKS])))
    assert attempt.excused_too_often([excused, clocks, clocks]) is None
    assert attempt.excused_too_often([excused, clocks, excused])
    assert attempt.excused_too_often([excused, excused], 2) is None
    assert attempt.excused_too_often([excused, excused, excused], 2)
    # And one is repeated where the excuse cannot be had.
    assert attempt.threads([excused]) == "single" and attempt.threads([excused, clocks]) == "single"
    assert attempt.threads([clocks]) == "" and attempt.threads([]) == ""
    assert attempt.slower("single") > 1 and attempt.slower("") == 1
    # A turn of 100 ms is a stall of RCU where four CPUs are busy.
    emulator = qemu.Emulator("trixie", ("qemu",), "10.0", "multi")
    assert "-icount" in emulator.accel(False, threads=attempt.threads([excused]))
    assert "-icount" not in emulator.accel(False, threads=attempt.threads([]))


def test_closed_windows_are_judged_whatever_comes_after() -> None:
    """The constructions of a silent hang: four such boots of five were no failure once."""
    windows = {1: window(1, 7), 2: window(2), 100: window(100, 3)}
    hang = outcome(windows=windows, died="no report for 75 s")
    said = attempt.record(readings.judge(ISOLATOR, hang), attempt.entered(hang))
    texts = attempt.broken([said])
    assert "attempt 1: the guest ended: no report for 75 s" in texts
    assert any("window 1: 7 kernel entries" in t for t in texts)
    assert any("window 100: 3 kernel entries" in t for t in texts)
    assert not any("window 2" in t for t in texts)
    # In one that is void they count as well.
    void = outcome(oops(), windows=windows, died=ENDED)
    texts = attempt.broken([attempt.record(judge(void), attempt.entered(void))])
    assert len(texts) == 2 and all("kernel entries" in t for t in texts)
    assert len(attempt.entered(void, {100})) == 1


def test_breaches_of_closed_windows_count_too() -> None:
    ends = [event("ctl", f"end.{n}", answer={"window": n, "missed": n % 2}) for n in (1, 2, 101)]
    void = outcome(oops(), events=ends, died=ENDED)
    assert attempt.entered(void) == ["window 1: 1 deadline misses", "window 101: 1 deadline misses"]
    assert attempt.entered(void, {101}) == ["window 1: 1 deadline misses"]


@pytest.mark.parametrize("number", [4, 5])
def test_nothing_else_may_come_in_a_control(number: int) -> None:
    own = {"exc_int3": 5, "entry_SYSCALL_64": 5}
    good = {n: window(n, 10, entries_by_vector=own) for n in (4, 5)}
    assert attempt.entered(outcome(windows=good)) == []
    more = window(number, 11, entries_by_vector={**own, "sysvec_reschedule_ipi": 1})
    (text,) = attempt.entered(outcome(windows={**good, number: more}), {4, 5})
    assert text == f"window {number}, of the control: {{'sysvec_reschedule_ipi': 1}}"


def test_times_of_a_guest_with_one_thread_are_no_result() -> None:
    lived, died = judge(outcome("[1] x\n")), judge(outcome(died=ENDED))
    emulated = "QEMU 10.0.13 tcg,thread="
    single = outcome(accel=f"{emulated}single")
    assert attempt.timed(lived, outcome(accel=f"{emulated}multi")) is lived
    assert attempt.timed(lived, outcome(accel="QEMU 10.0.13 kvm")) is lived
    void = attempt.timed(lived, single)
    assert void.void and not void.excused and void.log == "[1] x\n"
    # But that it lives is one.
    assert attempt.timed(died, single).ended == ENDED


def test_demand() -> None:
    good = attempt.record(judge(outcome("[1] fine\n")))
    dead = attempt.record(judge(outcome(died=ENDED)))
    warned = attempt.record(judge(outcome("[1] WARNING: CPU: 0 at x.c:1\n")))
    excused = attempt.record(judge(outcome(oops(), died=ENDED)))
    attempt.demand("x", [good], True)
    attempt.demand("x", [excused], True)
    for bad, ours in ((dead, True), (warned, True), (warned, False)):
        with pytest.raises(term.LabError) as error:
            attempt.demand("x", [bad], ours)
        assert error.value.code == term.ERROR
    with pytest.raises(term.LabError) as error:
        attempt.demand("x", [excused, excused], True)
    assert error.value.code == term.INCONCLUSIVE
    # A stock kernel that died is no base, whatever its log says; alive its log counts.
    died = outcome("[1] WARNING: CPU: 0 at x.c:1\n", ours=False, died=ENDED)
    void = attempt.record(attempt.judge_base(died))
    assert void["void"] == ENDED
    attempt.demand("x", [void], False)


def test_a_log_reaches_the_end_of_its_guest() -> None:
    whole = {"whole": True}
    for log in ("", "[1] x\n", "[1] reboot: Restarting system\n"):
        found = judge(outcome(log, **whole))
        assert found.ended and "Power down" in found.ended and not found.void
        # One that still runs, or that died, did not come to its end.
        assert not judge(outcome(log)).over
        assert judge(outcome(log, died=ENDED, **whole)).ended == ENDED
        assert not judge(outcome(log, ours=False, **whole)).over
    assert not judge(outcome("[1] x\n[2] reboot: Power down\n", **whole)).over


def test_nobody_else_decides() -> None:
    """The rules stand here alone: no other file of the lab asks why a guest ended to excuse it."""
    for path in sorted((TOP / "lab" / "isolab").rglob("*.py")):
        if path.name == "attempt.py":
            continue
        text = path.read_text()
        for word in ("emulator_fault", "hres_active\\", "emulator fault", "qemu_log)"):
            assert word not in text, f"{path.name}: {word}"
