# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator watch: what it finds between two looks at recorded machines."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from clitest import CLI, PATIENCE_S, closed
from watchtest import (
    EXCEEDED,
    INCONCLUSIVE,
    INTERRUPTS,
    PASS,
    SOFTIRQS,
    Counts,
    Files,
    Looks,
    add,
    change,
    later,
    lay,
    row,
)


def test_x86(looks: Looks, x86: Files) -> None:
    """Rates, classes, routes, whose choice, and the exact fix with its undo."""
    document = looks.json(x86, later(x86, {
        "LOC": {0: 500, 1: 2000}, "RES": {0: 4}, "CAL": {1: 2}, "TLB": {1: 6}, "36": {1: 10},
        "42": {1: 8}, "24": {0: 2}}, {"TIMER": {0: 3, 1: 20}, "NET_RX": {1: 2}}), "c=1")
    assert document["protected"] == {
        "cpus": [1], "unseen": [], "reasons": [{"reason": "option", "cpus": [1]}],
        "unclear": None}
    assert document["housekeeping"] == [0] and document["kernel"].startswith("6.18.")
    assert [r["label"] for r in document["interrupts"]] == \
        ["LOC", "36", "42", "TLB", "CAL", "RES", "24"]
    assert document["classes"] == {"device": 20, "timer": 2500, "resched": 4, "call": 2, "tlb": 6}
    assert document["class_hits"] == {"device": 18, "timer": 2000, "call": 2, "tlb": 6}
    assert document["hits_per_second"] == 1013.0
    assert document["cpus"][0] == {
        "cpu": 1, "protected": True, "interrupts": 2026, "rate": 1013.0, "softirqs": 22,
        "classes": {"device": 18, "timer": 2000, "call": 2, "tlb": 6}}
    path = "/proc/irq/42/smp_affinity_list"
    assert row(document, "42")["route"] == {
        "asked": "0-1", "goes": "1", "should": "0", "choice": "anybody", "unread": None,
        "thread": None}
    assert row(document, "42")["advice"] == {
        "remedy": "write", "why": "its affinity names CPU 0-1", "fix": f"echo 0 > {path}",
        "undo": f"echo 0-1 > {path}"}
    # It goes elsewhere by chance: its affinity names the CPU.
    assert row(document, "24")["hits"] == 0
    assert row(document, "24")["advice"]["fix"] == "echo 0 > /proc/irq/24/smp_affinity_list"
    managed = row(document, "36")
    assert managed["route"]["choice"] == "driver" and managed["route"]["should"] is None
    assert managed["advice"]["remedy"] == "boot"
    assert managed["advice"]["fix"] == "boot with isolcpus=managed_irq,1"
    assert row(document, "LOC")["route"] is None
    # This kernel has no nohz_full: to boot with it would do nothing.
    assert row(document, "LOC")["advice"]["fix"] == "boot a kernel with CONFIG_NO_HZ_FULL=y"
    assert row(document, "RES")["advice"] is None  # it hit no protected CPU
    assert row(document, "NET_RX", "softirqs")["advice"]["fix"] == \
        "isolator shield set --interrupts 1"


def test_arm64_with_threads(looks: Looks, arm64: Files) -> None:
    """IPIs by their words, one timer and PMU for each CPU, and handlers in threads."""
    document = looks.json(arm64, later(arm64, {
        "3": {2: 10}, "IPI0": {3: 4}, "IPI1": {2: 2}, "44": {2: 1}, "IPI4": {0: 1},
        "IPI5": {3: 1}, "IPI3": {2: 1}, "43": {0: 2}, "47": {1: 6}, "51": {2: 3}}))
    assert document["protected"]["reasons"] == [
        {"reason": "isolcpus", "cpus": [2, 3]}, {"reason": "nohz_full", "cpus": [3]}]
    assert document["class_hits"] == {
        "device": 3, "timer": 10, "resched": 4, "call": 2, "work": 1, "nmi": 1, "other": 1}
    assert row(document, "3")["route"] is None and row(document, "44")["route"] is None
    serial = row(document, "43")
    assert serial["advice"]["fix"] == "echo 0-1 > /proc/irq/43/smp_affinity_list"
    assert serial["route"]["thread"] == {"tid": "311", "name": "irq/43-uart-pl0", "cpus": "0-3"}
    # The interrupt is where it should be, but not the thread that does its work.
    network = row(document, "47")
    assert network["route"]["thread"]["cpus"] == "3" and network["hits"] == 0
    assert network["advice"] == {
        "remedy": "command", "why": "the thread of its handler, irq/47-s-virtio, may run on CPU 3",
        "fix": "taskset -pc 0-1 312", "undo": "taskset -pc 3 312"}
    queue = row(document, "51")
    assert queue["route"]["choice"] == "driver" and queue["advice"]["remedy"] == "advice"
    assert "it is the queue of CPU 2 only" in queue["advice"]["why"]
    assert document["irqbalance"]
    text = looks.text(arm64, later(arm64, {"43": {3: 2}}))
    assert "moves with it: irq/43-uart-pl0 (311)" in text
    assert "irqbalance is running and may override" in text


def test_thread_without_a_number(looks: Looks, arm64: Files) -> None:
    """No thread has such a directory, and its name gets into no command."""
    files = {**{name: file for name, file in arm64.items() if not name.startswith("/proc/312/")},
             **{name.replace("/proc/312/", "/proc/312;id/"): file
                for name, file in arm64.items() if name.startswith("/proc/312/")}}
    network = row(looks.json(files, later(files, {"47": {1: 6}})), "47")
    assert network["route"]["thread"] is None and ";" not in json.dumps(network)


def test_capture_does_not_reach_the_terminal(looks: Looks, arm64: Files) -> None:
    """Wherever it puts control characters: in names, labels or values."""
    table = arm64[INTERRUPTS][0]
    [serial] = [line for line in table.splitlines() if line.lstrip().startswith("43:")]
    hostile = serial.replace("43:", "43\033[2J:") + "\n"
    files = {**change(arm64, __proc__interrupts=table + hostile),
        "/proc/irq/24\033]0;x\007/smp_affinity_list": ("3\n", 0o644),
        "/proc/irq/25\u009b/smp_affinity_list": ("3\n", 0o644)}
    now = later(files, {"47": {1: 6}, "43\033[2J": {3: 9}})
    text = looks.text(files, now)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    document = looks.json(files, now)
    assert not any("\033" in r["label"] for r in document["interrupts"])


def test_threads_of_no_rt_kernel(looks: Looks, arm64: Files) -> None:
    """Elsewhere nobody looks through all processes; with threadirqs they are looked for."""
    plain = change(arm64, __sys__kernel__realtime=None)
    assert row(looks.json(plain, later(plain, {"47": {1: 6}})), "47")["route"]["thread"] is None
    asked = change(plain, __proc__cmdline="ro threadirqs isolcpus=2-3\n")
    assert row(looks.json(asked, later(asked, {"47": {1: 6}})), "47")["route"]["thread"]


def test_fix_and_undo_do_what_they_say(looks: Looks, x86: Files, tmp_path: Path) -> None:
    """After the fix nothing is to be done; the undo brings the old text back."""
    now = later(x86, {"42": {1: 8}})
    advice = row(looks.json(x86, now, "c=1"), "42")["advice"]
    path = "/proc/irq/42/smp_affinity_list"
    machine = lay(now, tmp_path / "machine")

    def type_in(command: str) -> Files:
        subprocess.run(["sh", "-c", command.replace("> /", f"> {machine}/")], check=True)
        return {**now, path: ((machine / path[1:]).read_text(), 0o644)}

    moved = row(looks.json(x86, type_in(advice["fix"]), "c=1"), "42")
    assert moved["route"]["asked"] == "0" and moved["route"]["goes"] == "1"
    assert moved["advice"]["fix"] == "none needed"  # it comes once more
    assert row(looks.json(x86, type_in(advice["undo"]), "c=1"), "42")["advice"] == advice


def test_wrap_of_32_bits(looks: Looks, x86: Files) -> None:
    """A count that wraps is what came, not what it fell by."""
    full = change(x86, __proc__interrupts=add(x86[INTERRUPTS][0],
                                              {"LOC": {1: 2**32 - 10 - 32678871}}))
    document = looks.json(full, later(full, {"LOC": {0: 1, 1: 1000}}), "c=1")
    assert row(document, "LOC")["count"] == 1001 and row(document, "LOC")["began"] == "before"
    assert document["hits"] == 1000


def test_a_count_that_fell_is_another_device(looks: Looks, x86: Files) -> None:
    """What it had before is neither subtracted nor shown as four billion interrupts."""
    now = add(x86[INTERRUPTS][0], {"36": {1: 5 - 8922431 if "8922431" in x86[INTERRUPTS][0]
                                           else 0}})
    document = looks.json(x86, change(x86, __proc__interrupts=now), "c=1")
    assert row(document, "36")["count"] == 5 and row(document, "36")["began"] == "restarted"
    assert "(restarted)" in looks.text(x86, change(x86, __proc__interrupts=now), "c=1")


def _without_cpu(table: str, cpu: int) -> str:
    """The table of a machine where @cpu, of two, is offline."""
    lines = []
    for line in table.splitlines():
        cells = re.split(r"(?<=\d)(?= )", line) if ":" in line else []
        if len(cells) < 3 or not cells[2].strip().isdigit():
            lines.append(line.replace(f"CPU{cpu}", "    ") if line.startswith("  ") and
                         "CPU" in line else line)
            continue
        numbers = re.findall(r" +\d+", line.split(":", 1)[1])[:2]
        del numbers[cpu]
        rest = re.sub(r"^( +\d+){2}", "", line.split(":", 1)[1])
        lines.append(line.split(":", 1)[0] + ":" + numbers[0] + rest)
    return "\n".join(lines) + "\n"


def test_a_cpu_that_comes_or_goes(looks: Looks, x86: Files) -> None:
    """Columns change; what a CPU did since power-on is not of this interval."""
    one = change(x86, __proc__interrupts=_without_cpu(x86[INTERRUPTS][0], 1))
    grown = later(x86, {"LOC": {0: 10, 1: 7}, "36": {1: 3}})
    document = looks.json(one, grown, "c=0", "limit=0")
    assert document["came_online"] == [1] and [c["cpu"] for c in document["cpus"]] == [0]
    assert document["count"] == 10 and document["hits"] == 10 and looks.code == EXCEEDED
    document = looks.json(one, grown, "c=1", "limit=0")
    assert document["protected"]["unseen"] == [1] and looks.code == INCONCLUSIVE
    assert "is protected, but its counts are not known" in looks.text(one, grown, "c=1")
    two = change(x86, __proc__interrupts=_without_cpu(
        later(x86, {"LOC": {0: 4}})[INTERRUPTS][0], 1))
    document = looks.json(x86, two, "c=0-1", "limit=100")
    assert document["went_offline"] == [1] and document["count"] == 4
    assert document["protected"]["unseen"] == [1] and looks.code == INCONCLUSIVE


def test_cpus_that_are_not_there(looks: Looks, x86: Files) -> None:
    """One that is isolated at boot and offline all the time hides nothing; one named does."""
    booted = change(x86, __sys__devices__system__cpu__isolated="1,5\n")
    assert looks.json(booted, later(booted, {"LOC": {0: 5}}), "limit=0")["hits"] == 0
    assert looks.code == PASS
    looks.json(booted, later(booted, {"LOC": {0: 5}}), "limit=0", "c=1,5")
    assert looks.code == INCONCLUSIVE


def test_rows_that_appear_and_vanish(looks: Looks, x86: Files) -> None:
    """New ones count from nothing; that one is gone is said, as its last counts are lost."""
    text = "".join(line for line in x86[INTERRUPTS][0].splitlines(True)
                   if not line.startswith(" 36:"))
    document = looks.json(change(x86, __proc__interrupts=text), x86, "c=1")
    came = row(document, "36")
    assert came["began"] == "appeared" and came["count"] > 8000000 and document["gone"] == []
    document = looks.json(x86, change(x86, __proc__interrupts=text), "c=1")
    assert document["gone"] == ["36"] and document["count"] == 0
    assert "Gone, with their last count: 36" in \
        looks.text(x86, change(x86, __proc__interrupts=text), "c=1")


def test_all_shows_what_is_silent(looks: Looks, x86: Files) -> None:
    """Where interrupts may come that did not come yet."""
    assert looks.json(x86, x86, "c=1")["interrupts"] == []
    document = looks.json(x86, x86, "c=1", "all")
    assert len(document["interrupts"]) == 33
    assert row(document, "26")["advice"]["remedy"] == "write"
    assert row(document, "28")["route"]["unread"].endswith("No such file or directory")
    assert row(document, "PIW")["class"] == "other"


def test_files_that_are_missing_or_unreadable(looks: Looks, x86: Files) -> None:
    """Softirqs and routes are not known then, and that is said; the rest is."""
    now = later(x86, {"42": {1: 8}, "41": {0: 1}})
    for softirqs, why in ((None, "No such file or directory"), ("what?\n", "Bad message")):
        document = looks.json(x86, change(now, __proc__softirqs=softirqs), "c=1")
        assert document["softirqs"] is None and document["cpus"][0]["softirqs"] is None
        assert document["unread"] == [{"path": SOFTIRQS, "why": why}]
        text = " ".join(looks.text(x86, change(now, __proc__softirqs=softirqs), "c=1").split())
        assert f"Cannot read softirqs: {looks.directory}" in text and why in text
    path = "/proc/irq/42/smp_affinity_list"
    broken = change(now, **{path.replace("/", "__"): "nonsense\n"})
    assert row(looks.json(x86, broken, "c=1"), "42")["route"] == {
        "asked": None, "goes": None, "should": None, "choice": None, "thread": None,
        "unread": f"{path}: no list of CPUs in it, or no driver uses it"}
    # A directory is what not even root can read.
    gone = change(now, **{path.replace("/", "__"): None})
    (looks.directory / f"now-{looks.number + 1}{path}").mkdir(parents=True)
    document = looks.json(x86, gone, "c=1")
    assert row(document, "42")["route"]["unread"] == f"{path}: Is a directory"
    assert row(document, "42")["advice"] is None and row(document, "41")["advice"]
    assert document["unread"] == [{"path": path, "why": "Is a directory"}]


def test_an_older_kernel_does_not_say_whose_choice(looks: Looks, x86: Files) -> None:
    """Before 6.12 the mode says nothing: the fix may fail, and it is said how."""
    for release, choice in (("6.1.0-44-amd64", "unsaid"), ("6.12.1", "anybody")):
        old = change(x86, __proc__sys__kernel__osrelease=release + "\n")
        found = row(looks.json(old, later(old, {"42": {1: 8}}), "c=1"), "42")
        assert found["route"]["choice"] == choice
        assert ("the write fails" in found["advice"]["why"]) == (choice == "unsaid")
        assert found["advice"]["fix"] == "echo 0 > /proc/irq/42/smp_affinity_list"
    state = {"__sys__kernel__debug__irq__irqs__42": "dstate: 0x1\n IRQD_AFFINITY_MANAGED\n"}
    told = change(x86, __proc__sys__kernel__osrelease="6.1.0\n", **state)
    assert row(looks.json(told, later(told, {"42": {1: 8}}), "c=1"), "42")["route"]["choice"] == \
        "driver"
    # Who is not root cannot read it, and nothing but this is lost: no word of it.
    hidden = looks.directory / f"now-{looks.number + 1}/sys/kernel/debug/irq/irqs/42"
    hidden.mkdir(parents=True)
    assert looks.json(x86, later(x86, {"42": {1: 8}}), "c=1")["unread"] == []
    bound = change(told, __sys__kernel__debug__irq__irqs__42="IRQD_PER_CPU\n")
    found = row(looks.json(bound, later(bound, {"42": {1: 8}}), "c=1"), "42")
    assert found["route"]["choice"] == "nobody"
    assert "it cannot move" in found["advice"]["why"]


@pytest.mark.parametrize(("texts", "reason", "cpus"), [
    ({"__proc__isolator__status": "version 1\nallowed 0-1\nisolated 1\ncpu 1 x\n"}, "isolator",
     [1]),
    ({"__sys__fs__cgroup__cpuset_o_cpus_o_isolated": "1\n"}, "cpuset", [1]),
    ({"__sys__fs__cgroup__a__cpuset_o_cpus_o_partition": "root\n",
      "__sys__fs__cgroup__a__b__cpuset_o_cpus_o_partition": "isolated\n",
      "__sys__fs__cgroup__a__b__cpuset_o_cpus_o_effective": "1\n",
      "__sys__fs__cgroup__c__cpuset_o_cpus_o_partition": "isolated invalid (x)\n",
      "__sys__fs__cgroup__c__cpuset_o_cpus_o_effective": "0\n"}, "cpuset", [1]),
    ({"__sys__devices__system__cpu__isolated": "1\n"}, "isolcpus", [1]),
    ({"__proc__cmdline": "ro isolcpus=managed_irq,domain,1 quiet\n"}, "isolcpus", [1]),
    ({"__proc__cmdline": "nohz_full=0-1\n"}, "nohz_full", [0, 1]),
    ({"__sys__devices__system__cpu__nohz_full": "1\n"}, "nohz_full", [1]),
    ({"__run__isolator__shield": "isolator-journal 1\nshield\t1\t0 1 -\t-\n"}, "shield", [1]),
])
def test_protected_by(looks: Looks, x86: Files, texts: dict[str, str], reason: str,
                      cpus: list[int]) -> None:
    """Each of those who may say that a CPU shall be left alone."""
    files = change(x86, **texts)
    document = looks.json(files, later(files, {"LOC": {0: 1, 1: 1}}))
    assert document["protected"]["cpus"] == cpus
    assert document["protected"]["reasons"] == [{"reason": reason, "cpus": cpus}]
    # Whoever names CPUs asks nobody else for more.
    document = looks.json(files, later(files, {"LOC": {0: 1, 1: 1}}), "c=0")
    assert document["protected"]["cpus"] == [0]


def test_parameters_that_are_not_understood(looks: Looks, x86: Files) -> None:
    """Where the kernel does not show what it made of them, that is said."""
    files = change(x86, __proc__cmdline="isolcpus=0-N:1/2\n",
                   __sys__devices__system__cpu__isolated=None)
    assert looks.json(files, files)["protected"]["unclear"] == "isolcpus"
    assert "Cannot parse the boot parameter isolcpus" in looks.text(files, files)
    shown = change(files, __sys__devices__system__cpu__isolated="1\n")
    assert looks.json(shown, shown)["protected"]["unclear"] is None


@pytest.mark.parametrize(("label", "texts", "remedy", "fix"), [
    ("LOC", {"__sys__devices__system__cpu__nohz_full": "\n"}, "boot", "boot with nohz_full=1"),
    ("LOC", {"__sys__devices__system__cpu__nohz_full": "1\n"}, "advice", "the tick already"),
    ("LOC", {"__proc__isolator__status": "version 1\nallowed 1\nisolated \n"}, "command",
     "isolator run -c 1 -- PROGRAM"),
    ("LOC", {"__proc__isolator__status": "version 1\nallowed 1\nisolated 1\n"}, "advice",
     "isolator why"),
    ("RES", {}, "command", "isolator shield set --processes 1"),
    ("CAL", {}, "advice", "stop what causes it: isolator audit -c 1 (kernel"),
    ("TLB", {}, "advice", "lock and touch"),
    ("IWI", {}, "advice", "isolator audit -c 1"),
    ("NMI", {}, "advice", "stop the program that counts"),
    ("NMI", {"__proc__sys__kernel__nmi_watchdog": "1\n"}, "write",
     "echo 0 > /proc/sys/kernel/nmi_watchdog"),
    ("TRM", {}, "advice", "read the kernel log"),
    ("HYP", {}, "advice", "isolator audit -c 1"),
    ("RCU", {}, "boot", "boot with rcu_nocbs=1"),
    ("RCU", {"__proc__cmdline": "rcu_nocbs=1\n"}, "advice", "another CPU already frees"),
    ("RCU", {"__sys__devices__system__cpu__nohz_full": "1\n"}, "advice", "another CPU already"),
    ("SCHED", {}, "boot", "boot with isolcpus=domain,1"),
    ("SCHED", {"__sys__fs__cgroup__cpuset_o_cpus_o_isolated": "1\n"}, "advice",
     "the scheduler already moves no tasks"),
    ("TIMER", {"__proc__sys__kernel__timer_migration": "0\n"}, "write",
     "echo 1 > /proc/sys/kernel/timer_migration"),
    ("HRTIMER", {}, "advice", "boot a kernel with CONFIG_NO_HZ_FULL=y"),
    ("NET_TX", {}, "command", "isolator shield set --interrupts 1"),
    ("BLOCK", {}, "command", "isolator shield set --processes 1"),
    ("TASKLET", {}, "command", "isolator shield set --interrupts 1"),
])
def test_what_helps(looks: Looks, x86: Files, label: str, texts: dict[str, str], remedy: str,
                    fix: str) -> None:
    """Of each kind; a write or a command has its undo, words have none."""
    files = change(x86, **texts)
    softirq = f"{label}:" in x86[SOFTIRQS][0]
    more: Counts = {label: {1: 4}}
    now = later(files, {}, more) if softirq else later(files, more)
    found = row(looks.json(files, now, "c=1"), label, "softirqs" if softirq else "interrupts")
    assert found["advice"]["remedy"] == remedy and found["advice"]["fix"].startswith(fix)
    assert "CPUS" not in json.dumps(found["advice"])
    if remedy in ("write", "command", "boot"):
        assert found["advice"]["undo"] and found["advice"]["undo"] != found["advice"]["fix"]


def test_managed_although_booted_so(looks: Looks, x86: Files) -> None:
    """What is on the kernel's command line already is not offered again."""
    for flags, fix in (("managed_irq,domain,1", "bring one of its other CPUs online"),
                       ("managed_irq,0", "boot with isolcpus=managed_irq,1"),
                       ("domain,1", "boot with isolcpus=managed_irq,1")):
        files = change(x86, __proc__cmdline=f"ro isolcpus={flags}\n")
        found = row(looks.json(files, later(files, {"36": {1: 8}}), "c=1"), "36")
        assert found["advice"]["fix"].startswith(fix)


def test_a_few_of_the_unread_are_named(looks: Looks, x86: Files) -> None:
    """In lines; the document has all of them."""
    numbers = [24, 26, 36, 41, 42, 43, 40]
    files = change(x86, **{f"__proc__irq__{n}__smp_affinity_list": None for n in numbers})
    for _ in range(2):
        for n in numbers:
            (looks.directory / f"now-{looks.number + 1}/proc/irq/{n}/smp_affinity_list").mkdir(
                parents=True)
        now = later(files, {str(n): {0: 1} for n in numbers})
        words = () if looks.number else ("json",)
        text = looks.text(files, now, "c=1", *words)
        assert text.count("Is a directory") == (14 if words else 5)
    assert "Cannot read 2 more files\n" in text


def test_no_cpu_left(looks: Looks, x86: Files) -> None:
    """All CPUs are protected: no affinity is offered that there cannot be."""
    found = row(looks.json(x86, later(x86, {"42": {1: 8}}), "c=0-1"), "42")
    assert found["route"]["should"] is None and found["advice"]["undo"] is None
    assert found["advice"]["fix"] == "no other CPU is left for it: protect fewer"


@pytest.mark.parametrize(("limit", "code"), [(3, EXCEEDED), (4, PASS), (0, EXCEEDED)])
def test_limit(looks: Looks, x86: Files, limit: int, code: int) -> None:
    """More than so many a second on one CPU; the document says what the exit code says."""
    document = looks.json(x86, later(x86, {"LOC": {0: 900, 1: 8}}), "c=1", f"limit={limit}")
    assert looks.code == code
    assert document["limit"] == {"hits_per_second": limit, "worst_cpu": 1,
                                 "verdict": {EXCEEDED: "exceeded", PASS: "pass"}[code]}


def test_limit_is_each_cpus_and_the_worst_is_named(looks: Looks, arm64: Files) -> None:
    """Not their sum, and not the first that exceeds it."""
    now = later(arm64, {"3": {2: 12, 3: 16}}, {"RCU": {2: 9000}})
    document = looks.json(arm64, now, "limit=8")
    assert looks.code == PASS and document["limit"]["worst_cpu"] == 3
    looks.json(arm64, now, "limit=5")
    assert looks.code == EXCEEDED


def test_a_limit_without_protected_cpus_is_inconclusive(looks: Looks, x86: Files) -> None:
    """It cannot be held where there is nothing to hold it."""
    document = looks.json(x86, later(x86, {"LOC": {0: 1}}), "limit=9")
    assert looks.code == INCONCLUSIVE and document["limit"]["worst_cpu"] is None
    assert "no CPU is protected (-c CPUS names" in looks.text(x86, x86, "limit=9")


def test_schema_is_closed(looks: Looks, x86: Files) -> None:
    """A key that is missing or unknown is not valid, at any depth."""
    closed("watch", looks.json(x86, later(x86, {"42": {1: 8}}, {"RCU": {1: 1}}), "c=1"))


def test_the_manual_shows_what_is_shown(looks: Looks, arm64: Files) -> None:
    """Its sample is what the command prints of such a machine."""
    page = (CLI / "man/isolator-watch.1").read_text()
    sample = page.split("# isolator watch \\-n 1\n", 1)[1].split(".EE", 1)[0]
    now = later(arm64, {"3": {0: 250, 1: 250, 2: 251, 3: 1}, "IPI0": {0: 40, 2: 3}, "36": {0: 80},
                        "43": {2: 6}, "51": {2: 2}}, {"TIMER": {0: 30, 2: 20}, "RCU": {1: 9}})
    want = looks.text(arm64, now, seconds=1)
    assert sample.replace("\\-", "-") == want


def test_screen(looks: Looks, arm64: Files) -> None:
    """One table, the chosen row, and what helps against it; as many lines as there are."""
    now = later(arm64, {"3": {2: 10}, "43": {3: 4}, "36": {0: 2}}, {"RCU": {3: 1}})

    def lines(*words: str) -> list[str]:
        return looks.text(arm64, now, *words).splitlines()

    shown = lines("screen=30x79")
    assert shown[0].startswith("isolator watch  ") and shown[0].endswith("  interrupts")
    assert shown[2].startswith("2 s: 7.0 hits a second, CPU 2: 5.0; protected: 2-3 (isolcpus, ")
    assert shown[3].startswith("  3 (arch_timer): each CPU has a timer for its tick")
    assert max(len(line) for line in shown[3:6]) <= 79  # folded, not cut
    assert [line for line in shown if line.startswith(">")][0].split()[3] == "3"
    shown = lines("screen=30x100", "down")
    assert "    echo 0-1 > /proc/irq/43/smp_affinity_list" in shown
    assert "    undo: echo 0-3 > /proc/irq/43/smp_affinity_list" in shown
    assert lines("screen=30x100", "down", "down", "down", "up") == shown
    assert any(line.startswith(">!") and " RCU " in line
               for line in lines("screen=30x100", "softirqs"))
    assert any(re.match(r">! +5.0 +5.0 +timer$", line)
               for line in lines("screen=30x100", "classes"))
    assert any(re.match(r">! +2 +5.0 .*protected", line)
               for line in lines("screen=30x100", "cpus"))
    # However few lines there are, the chosen row is among them.
    for rows in (1, 5, 11):
        assert any(line.startswith(">") and " 36 " in line
                   for line in lines(f"screen={rows}x100", "down", "down"))


def test_program_with_the_name_of_a_handler(looks: Looks, arm64: Files) -> None:
    """Its affinity is not the interrupt's, and no advice is given to change it."""
    stat, mode = arm64["/proc/312/stat"]
    files = {**arm64, "/proc/312/stat": (stat.replace(" 2129984 ", " 4194304 "), mode)}
    found = row(looks.json(files, later(files, {"47": {1: 6}})), "47")
    assert found["route"]["thread"] is None
    assert "312" not in json.dumps(found)


def test_partitions_without_end(looks: Looks, x86: Files) -> None:
    """Links in a capture that lead back are no cgroups: it ends, and says the same."""
    part = "/sys/fs/cgroup/{}cpuset.cpus.partition"
    files = {**x86, part.format("a/"): ("isolated\n", 0o644),
             "/sys/fs/cgroup/a/cpuset.cpus.effective": ("1\n", 0o644),
             part.format(""): ("root\n", 0o644)}
    for which in ("before", "now"):
        groups = looks.directory / f"{which}-1/sys/fs/cgroup"
        groups.mkdir(parents=True)
        for name in "xyz":
            (groups / name).symlink_to(".")
    document = looks.json(files, later(files, {"LOC": {0: 1}}), timeout=PATIENCE_S)
    assert document["protected"]["reasons"] == [{"reason": "cpuset", "cpus": [1]}]


def test_nothing_is_changed(looks: Looks, arm64: Files) -> None:
    """It looks, and writes to no file of the machine."""
    now = later(arm64, {"43": {3: 4}})
    looks.json(arm64, now)
    root = looks.directory / f"now-{looks.number}"
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}
    assert root / "proc/irq/43/smp_affinity_list" in before
    subprocess.run([looks.program, "1", root, root], capture_output=True, check=False)
    assert before == {p: (p.read_bytes(), p.stat().st_mtime_ns)
                      for p in root.rglob("*") if p.is_file()}
