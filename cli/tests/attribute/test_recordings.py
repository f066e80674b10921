# SPDX-License-Identifier: GPL-2.0-or-later
"""Causes of outliers, out of recorded traces: isolator attribute."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from attributetest import AT, IDLE, MS, SPIN, US, inside, spinning, storm, waiting
from clitest import CLI
from isolator_report import schemafile
from tracegen import Recording, record
from waiting import PATIENCE_S

MEASURE = schemafile.read(CLI / "schema/measure.json")
ATTRIBUTION = jsonschema.Draft202012Validator(
    {"$defs": MEASURE["$defs"], **MEASURE["properties"]["attribution"]})
Look = Callable[..., dict[str, Any]]
Outlier = tuple[int, int]


@pytest.fixture
def look(isolator: Path, tmp_path: Path) -> Look:
    """look(RECORDING, (FROM, TO)...): the attribution of these outliers on CPU 1."""

    def run(recording: Recording, *outliers: Outlier) -> dict[str, Any]:
        recording.rings.setdefault(("", 1), [])
        directory = recording.write(tmp_path / "trace")
        (tmp_path / "list").write_text("".join(
            f"1 {SPIN[1]} {n} {begin} {end} {end - begin}\n"
            for n, (begin, end) in enumerate(outliers)))
        done = subprocess.run(
            [isolator, "attribute", "--json", "--outliers", tmp_path / "list", directory],
            capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        ATTRIBUTION.validate(said)
        for outlier in said["outliers"]:
            assert outlier["explained_ns"] == sum(c["ns"] for c in outlier["causes"])
            assert outlier["explained_ns"] <= outlier["value_ns"]
        return said

    return run


def wake(recording: Recording, ns: int, by: int = 0) -> None:
    """The timer of the measuring thread: an interrupt of 3 us, then it runs."""
    inside(recording, ns, ns + 3 * US, by, "local_timer", vector=236)
    inside(recording, ns + US, ns + 2 * US, by, "hrtimer_expire", hrtimer=7,
           function=recording.symbol("hrtimer_wakeup"))
    recording.event(1, ns + 3 * US // 2, by, "sched_waking", comm=SPIN[0], pid=SPIN[1],
                    prio=SPIN[2], target_cpu=1)


def first(said: dict[str, Any], outlier: int = 0) -> dict[str, Any]:
    cause: dict[str, Any] = said["outliers"][outlier]["causes"][0]
    return cause


def short(cause: dict[str, Any]) -> tuple[str, str | None, int]:
    return cause["kind"], cause["who"], cause["ns"]


def test_an_interrupt(look: Look) -> None:
    trace = spinning()
    inside(trace, AT + US, AT + 41 * US, 100, "irq_handler", irq=24, name="eth0")
    said = look(trace, (AT, AT + 43 * US))
    assert short(first(said)) == ("interrupt", "eth0", 40 * US)
    assert said["outliers"][0]["explained_ns"] == 40 * US
    assert (said["seen"], said["looked"], said["lost"]) == (1, 1, 0)
    assert said["causes"] == [{"kind": "interrupt", "who": "eth0", "count": 1,
                               "total_ns": 40 * US, "worst_ns": 40 * US,
                               "worst_at": said["outliers"][0]["at"]}]


def test_what_is_nested_is_not_counted_twice(look: Look) -> None:
    trace = spinning()
    inside(trace, AT, AT + 50 * US, 100, "softirq", vec=3)
    inside(trace, AT + 10 * US, AT + 20 * US, 100, "irq_handler", irq=24, name="eth0")
    trace.event(1, AT + 15 * US, 100, "nmi_handler", handler=trace.symbol("perf_event_nmi_handler"),
                delta_ns=2 * US)
    said = look(trace, (AT, AT + 50 * US))
    assert [short(c) for c in said["outliers"][0]["causes"]] == [
        ("softirq", "NET_RX", 40 * US), ("interrupt", "eth0", 8 * US),
        ("interrupt", "perf_event_nmi_handler", 2 * US)]


def test_an_interrupt_that_began_before_the_outlier_counts_from_its_begin(look: Look) -> None:
    trace = spinning()
    inside(trace, AT - 30 * US, AT + 30 * US, 100, "irq_handler", irq=24, name="eth0")
    assert short(first(look(trace, (AT, AT + 30 * US)))) == ("interrupt", "eth0", 30 * US)


def test_a_kworker_with_its_function_and_who_queued_it(look: Look) -> None:
    trace = spinning()
    trace.comms[55] = "modprobe"
    worker = ("kworker/1:1", 77, 120)
    function = trace.symbol("vmstat_update")
    trace.event(0, AT - US, 55, "workqueue_queue_work", "senders", work=9, function=function,
                workqueue="events", req_cpu=1, cpu=1)
    trace.event(0, AT - US, 55, "kernel_stack", "senders", size=2,
                caller=[trace.symbol("__traceiter_workqueue_queue_work"), trace.symbol("queue")])
    trace.switch(1, AT, ("spin", 100, 120), worker, state=256)
    trace.event(1, AT + US, 77, "workqueue_execute_start", work=9, function=function)
    inside(trace, AT + 30 * US, AT + 32 * US, 77, "local_timer", vector=236)
    trace.event(1, AT + 90 * US, 77, "workqueue_execute_end", work=9, function=function)
    trace.switch(1, AT + 91 * US, worker, ("spin", 100, 120))
    said = look(trace, (AT, AT + 91 * US))
    cause = first(said)
    assert short(cause) == ("kworker", "vmstat_update", 87 * US)
    assert (cause["pid"], cause["sender"], cause["sender_cpu"]) == (77, "modprobe", 0)
    assert cause["stack"] == ["queue"]
    assert said["outliers"][0]["explained_ns"] == 91 * US


@pytest.mark.parametrize(("function", "kind"), [("flush_tlb_func", "ipi"),
                                                ("do_sync_core", "text patch")])
def test_a_call_from_another_cpu_and_its_sender(look: Look, function: str, kind: str) -> None:
    trace = spinning()
    trace.comms[55] = "mysqld"
    func = trace.symbol(function)
    trace.event(0, AT, 55, "csd_queue_cpu", "senders", cpu=1, callsite=0, func=func, csd=4242)
    trace.event(0, AT, 56, "csd_queue_cpu", "senders", cpu=2, callsite=0, func=func, csd=4242)
    inside(trace, AT + 2 * US, AT + 6 * US, 100, "call_function_single", vector=251)
    for ns, end in ((AT + 3 * US, "entry"), (AT + 4 * US, "exit")):
        trace.event(1, ns, 100, f"csd_function_{end}", func=func, csd=4242)
    said = look(trace, (AT, AT + 7 * US))
    (cause,) = said["outliers"][0]["causes"]
    assert short(cause) == (kind, function, 4 * US)
    assert (cause["sender"], cause["sender_cpu"]) == ("mysqld", 0)


def test_a_reschedule_and_who_sent_it(look: Look) -> None:
    trace = spinning()
    trace.comms[55] = "sh"
    trace.event(0, AT, 55, "ipi_send_cpu", "senders", cpu=1, callback=0)
    trace.event(0, AT, 56, "ipi_send_cpumask", "senders", cpumask=[1, 2], callback=1)
    inside(trace, AT + US, AT + 3 * US, 100, "reschedule", vector=253)
    cause = first(look(trace, (AT, AT + 4 * US)))
    assert (*short(cause), cause["sender"]) == ("ipi", "reschedule", 2 * US, "sh")


def test_an_interrupt_of_arm64_between_processors(look: Look) -> None:
    trace = spinning()
    trace.comms[55] = "sh"
    trace.event(0, AT, 55, "ipi_raise", "senders", target_cpus=[1], reason=0x1000)
    inside(trace, AT + US, AT + 3 * US, 100, "ipi", reason=0x1000)
    cause = first(look(trace, (AT, AT + 4 * US)))
    assert (*short(cause), cause["sender"]) == ("ipi", "Function call interrupts", 2 * US, "sh")


def test_a_page_fault(look: Look) -> None:
    trace = spinning()
    trace.event(1, AT + US, 100, "page_fault_user", address=4096, ip=1, error_code=6)
    inside(trace, AT + 5 * US, AT + 6 * US, 100, "local_timer", vector=236)
    cause = first(look(trace, (AT, AT + 50 * US)))
    assert short(cause) == ("page fault", "spin", 48 * US)


def test_a_page_fault_that_waits(look: Look) -> None:
    trace = spinning()
    trace.event(1, AT, 100, "page_fault_user", address=4096, ip=1, error_code=6)
    trace.switch(1, AT + 5 * US, SPIN, IDLE, state=2)
    trace.event(1, AT + 900 * US, 0, "sched_waking", comm="spin", pid=100, prio=98, target_cpu=1)
    trace.switch(1, AT + 910 * US, IDLE, SPIN)
    said = look(trace, (AT, AT + MS))
    assert short(first(said)) == ("page fault", "spin", 990 * US)


def test_migration(look: Look) -> None:
    trace = spinning()
    stopper = ("migration/1", 20, 0)
    trace.switch(1, AT, SPIN, stopper)
    trace.event(1, AT + 5 * US, 20, "sched_migrate_task", comm="spin", pid=100, prio=98,
                orig_cpu=1, dest_cpu=0)
    trace.switch(1, AT + 8 * US, stopper, IDLE, state=1)
    trace.switch(0, AT + 30 * US, ("cc", 5, 120), SPIN, where="senders")
    said = look(trace, (AT, AT + 31 * US))
    assert short(first(said)) == ("migration", "migration/1", 30 * US)


def test_preemption(look: Look) -> None:
    trace = spinning()
    hog = ("hog", 30, 49)
    trace.event(1, AT - US, 100, "sched_waking", comm="hog", pid=30, prio=49, target_cpu=1)
    trace.switch(1, AT, SPIN, hog)
    trace.switch(1, AT + 5 * MS, hog, SPIN, state=1)
    cause = first(look(trace, (AT, AT + 5 * MS)))
    assert (*short(cause), cause["pid"]) == ("preemption", "hog", 5 * MS, 30)


@pytest.mark.parametrize(("prio", "other", "who"), [
    (98, ("cc", 30, 120), "real-time limit"), (98, IDLE, "real-time limit"),
    (120, IDLE, "its group's limit")])
def test_throttling(look: Look, prio: int, other: tuple[str, int, int], who: str) -> None:
    trace = spinning()
    spin = ("spin", 100, prio)
    trace.switch(1, AT, spin, other)
    trace.switch(1, AT + 50 * MS, other, spin)
    assert short(first(look(trace, (AT, AT + 50 * MS)))) == ("throttling", who, 50 * MS)


def test_a_timer(look: Look) -> None:
    trace = spinning()
    inside(trace, AT + US, AT + 31 * US, 100, "local_timer", vector=236)
    inside(trace, AT + 2 * US, AT + 30 * US, 100, "hrtimer_expire", hrtimer=7,
           function=trace.symbol("slow_callback"))
    assert short(first(look(trace, (AT, AT + 32 * US)))) == ("timer", "slow_callback", 28 * US)


def test_an_idle_state_is_left(look: Look) -> None:
    trace = waiting()
    trace.event(1, AT + 80 * US, 0, "cpu_idle", state=0xffffffff, cpu_id=1)
    wake(trace, AT + 81 * US)
    trace.switch(1, AT + 90 * US, IDLE, SPIN)
    causes = look(trace, (AT, AT + 92 * US))["outliers"][0]["causes"]
    # Until the interrupt, and from it to the switch.
    assert [short(c) for c in causes if c["kind"] == "idle exit"] == [
        ("idle exit", "state 2", 81 * US), ("idle exit", None, 6 * US)]


def test_a_wake_up_that_comes_much_too_late_is_hardware(look: Look) -> None:
    trace = waiting()
    wake(trace, AT + 5 * MS)
    trace.switch(1, AT + 5 * MS + 4 * US, IDLE, SPIN)
    assert short(first(look(trace, (AT, AT + 5 * MS + 5 * US)))) == ("hardware", None, 5 * MS)


def test_a_section_without_interrupts_is_the_running_threads(look: Look) -> None:
    trace = Recording()
    trace.switch(1, AT - 10 * MS, SPIN, ("cc", 30, 120), state=1)
    wake(trace, AT + 400 * US, by=30)
    trace.switch(1, AT + 410 * US, ("cc", 30, 120), SPIN)
    cause = first(look(trace, (AT, AT + 411 * US)))
    assert (*short(cause), cause["pid"]) == ("thread", "cc", 407 * US, 30)


def test_a_thread_that_runs_on_after_the_wake_up(look: Look) -> None:
    """Of a lower priority, and there before: preemption was off."""
    trace = Recording()
    trace.switch(1, AT - 10 * MS, SPIN, ("cc", 30, 120), state=1)
    wake(trace, AT + US, by=30)
    trace.switch(1, AT + MS, ("cc", 30, 120), SPIN)
    assert first(look(trace, (AT, AT + MS)))["kind"] == "thread"


def test_a_gap_in_which_nothing_ran(look: Look) -> None:
    trace = spinning()
    trace.event(1, AT + 10 * MS, 100, "sched_waking", comm="x", pid=9, prio=120, target_cpu=1)
    assert short(first(look(trace, (AT, AT + 150 * US)))) == ("hardware", None, 150 * US)


def test_the_tick_after_a_pause_does_not_explain_it(look: Look) -> None:
    trace = spinning()
    inside(trace, AT + 2 * MS, AT + 2 * MS + 8 * US, 100, "local_timer", vector=236)
    said = look(trace, (AT, AT + 2 * MS + 9 * US))
    assert [short(c) for c in said["outliers"][0]["causes"]] == [
        ("hardware", None, 2 * MS), ("timer", "local_timer", 8 * US)]


def below(where: Path, stolen: int = 50, hot: int = 7) -> None:
    """Counts of the machine that was recorded, from below its kernel, and what idle states are."""
    cpu = where / "sys/devices/system/cpu/cpu1"
    for name, text in {
            where / "proc/stat": f"cpu  9 9 9 9 9 9 9 999 9 9\ncpu1 9 9 9 9 9 9 9 {stolen} 9 9\n",
            cpu / "thermal_throttle/core_throttle_count": f"{hot}\n",
            **{cpu / f"cpuidle/state{n}/{key}": f"{value}\n" for n, state in enumerate(
                (("POLL", 0), ("C1", 2), ("C6", 133))) for key, value in zip(
                    ("name", "latency"), state, strict=True)}}.items():
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(text)


def test_a_pause_that_the_hypervisor_counted(look: Look, tmp_path: Path) -> None:
    """As much as was stolen meanwhile, and no more; once, and of that CPU."""
    trace = spinning()
    tick = 1000 * MS // os.sysconf("SC_CLK_TCK")
    below(tmp_path / "trace")
    below(tmp_path / "trace/end", stolen=55)
    causes = [outlier["causes"][0] for outlier in look(
        trace, (AT, AT + 9 * tick), (AT + 10 * tick, AT + 15 * tick),
        (AT + 20 * tick, AT + 25 * tick))["outliers"]]
    assert sorted(map(short, causes)) == [
        ("hardware", None, 5 * tick), ("hardware", None, 9 * tick), ("hypervisor", None, 5 * tick)]


def test_a_pause_of_a_hot_processor(look: Look, tmp_path: Path) -> None:
    """It counts how often it was slowed down: each time explains one gap."""
    trace = spinning()
    below(tmp_path / "trace")
    below(tmp_path / "trace/end", hot=8)
    causes = [outlier["causes"][0] for outlier in look(
        trace, (AT, AT + MS), (AT + 5 * MS, AT + 6 * MS))["outliers"]]
    assert sorted(map(short, causes)) == [("hardware", None, MS), ("throttling", "heat", MS)]


def test_an_idle_state_by_the_drivers_word(look: Look, tmp_path: Path) -> None:
    """By its name, and for as long as it may take: what is longer is none of its doing."""
    for us, cause in ((250, ("idle exit", "C6", 251 * US)), (300, ("hardware", None, 300 * US))):
        trace = waiting()
        below(tmp_path / "trace")
        wake(trace, AT + us * US)
        trace.switch(1, AT + (us + 4) * US, IDLE, SPIN)
        assert short(first(look(trace, (AT, AT + (us + 5) * US)))) == cause


def test_a_change_of_the_frequency(look: Look) -> None:
    trace = spinning()
    trace.event(0, AT + 10 * US, 3, "cpu_frequency", "senders", state=1200000, cpu_id=1)
    assert first(look(trace, (AT, AT + 150 * US)))["kind"] == "frequency"


def test_two_causes(look: Look) -> None:
    trace = spinning()
    inside(trace, AT, AT + 40 * US, 100, "irq_handler", irq=24, name="eth0")
    inside(trace, AT + 40 * US, AT + 100 * US, 100, "softirq", vec=3)
    said = look(trace, (AT, AT + 100 * US))
    assert [short(c) for c in said["outliers"][0]["causes"]] == [
        ("softirq", "NET_RX", 60 * US), ("interrupt", "eth0", 40 * US)]


def test_a_software_interrupt_that_is_preempted(look: Look) -> None:
    """With PREEMPT_RT: what it is amid of stays its own."""
    trace = spinning()
    soft, hog = ("ksoftirqd/1", 19, 98), ("hog", 30, 49)
    trace.switch(1, AT, SPIN, soft)
    trace.event(1, AT, 19, "softirq_entry", vec=3)
    trace.switch(1, AT + 10 * US, soft, hog)
    trace.switch(1, AT + 30 * US, hog, soft, state=1)
    trace.event(1, AT + 70 * US, 19, "softirq_exit", vec=3)
    trace.switch(1, AT + 71 * US, soft, SPIN, state=1)
    said = look(trace, (AT, AT + 71 * US))
    assert [short(c) for c in said["outliers"][0]["causes"]] == [
        ("softirq", "NET_RX", 50 * US), ("preemption", "hog", 20 * US),
        ("softirq", "ksoftirqd/1", US)]


def test_what_was_overwritten_is_not_known(look: Look) -> None:
    trace = spinning()
    trace.lose(1, AT + 10 * US, 500)
    inside(trace, AT + 60 * US, AT + 61 * US, 100, "local_timer", vector=236)
    said = look(trace, (AT, AT + 62 * US), (AT + 59 * US, AT + 62 * US))
    assert said["lost"] == 500
    by_trigger = {e["trigger"]: e["causes"] for e in said["outliers"]}
    assert ("unknown", "lost", 60 * US) in [short(c) for c in by_trigger[0]]
    # Nothing is said to be the hardware's where something may have run.
    assert "hardware" not in [c["kind"] for e in said["outliers"] for c in e["causes"]]
    # After the gap all is known again.
    assert short(by_trigger[1][0]) in [("unknown", "lost", US), ("timer", "local_timer", US)]


def test_the_begin_of_what_was_lost(look: Look) -> None:
    """An end without a begin, after events that were overwritten."""
    trace = spinning()
    trace.lose(1, AT - 100 * US)
    trace.event(1, AT - 50 * US, 100, "sched_waking", comm="x", pid=9, prio=120, target_cpu=1)
    trace.event(1, AT + 30 * US, 100, "irq_handler_exit", irq=24, ret=1)
    said = look(trace, (AT, AT + 30 * US))
    assert "unknown" not in [c["kind"] for c in said["outliers"][0]["causes"]]


def test_before_the_trace_began_nothing_is_known(look: Look) -> None:
    trace = Recording()
    trace.lose(1, AT + MS)
    trace.switch(1, AT + 2 * MS, IDLE, SPIN)
    assert short(first(look(trace, (AT, AT + 100 * US)))) == ("unknown", "lost", 100 * US)


@pytest.mark.parametrize("seed", range(8))
def test_causes_are_never_more_than_the_outlier(look: Look, seed: int) -> None:
    """Checked by look() for each outlier."""
    dice = random.Random(1000 + seed)
    begins = [AT + dice.randrange(-6 * MS, 10 * MS) for _ in range(40)]
    look(storm(seed), *[(b, b + dice.randrange(1, 3 * MS)) for b in begins])


def test_time_that_does_not_fit_into_a_record(look: Look) -> None:
    """A time extend, and a record whose length does not fit either."""
    trace = spinning()
    trace.rings[("", 1)].append((AT - 9 * MS, record("ftrace/print", 100, buf="x" * 300)))
    begin = AT + 3600 * 1000 * MS
    inside(trace, begin, begin + 10 * US, 100, "irq_handler", irq=24, name="eth0")
    assert short(first(look(trace, (begin, begin + 10 * US)))) == ("interrupt", "eth0", 10 * US)
