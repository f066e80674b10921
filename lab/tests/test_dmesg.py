# SPDX-License-Identifier: GPL-2.0-or-later
import re
from collections.abc import Callable

import pytest
from isolab import header
from isolab.guests import dmesg

HEALTHY = """[    0.000000] Command line: console=ttyS0 panic=-1 oops=panic nokaslr
[    0.498140] kasan: KernelAddressSanitizer initialized
[    0.500000] kcsan: enabled early
[    1.0] clocksource: Switched to clocksource tsc
[    1.5] capability: warning: `stress-ng-cap' uses 32-bit capabilities (legacy support in use)
[    1.6]     ok 5 isolator_test_section_overdue
[    2.0] reboot: Power down
"""


def test_healthy_log_has_no_finding() -> None:
    assert dmesg.scan(HEALTHY) == []


def test_each_kind_of_trouble_is_found() -> None:
    for line in (
        "WARNING: CPU: 1 PID: 7 at kernel/smp.c:815",
        "BUG: sleeping function called from invalid context at x.c:1",
        "rcu: INFO: rcu_preempt self-detected stall on CPU",
        "watchdog: BUG: soft lockup - CPU#1 stuck for 22s!",
        "INFO: task kworker/1:1:33 blocked for more than 122 seconds.",
        "WARNING: possible circular locking dependency detected",
        "Kernel panic - not syncing: Fatal exception",
        "general protection fault, probably for non-canonical address",
        "Oops: 0002 [#1] PREEMPT_RT SMP NOPTI",
        "BUG: KASAN: slab-use-after-free in isolator_restore+0x10/0x20",
        "BUG: KCSAN: data-race in isolator_note_queued / isolator_note_taken",
        "isolator: CPU 1 is overdue in its quiet section, entered from x+0x1/0x2: it has promised",
        "NOHZ tick-stop error: local softirq work is pending, handler #80!!!",
        "No irq handler for 1.35",
        "unexpected IRQ trap at vector 2f",
        "Uhhuh. NMI received for unknown reason 20 on CPU 1.",
        "Spurious APIC interrupt (vector 0xFF) on CPU#1, should never happen.",
        "SMP: failed to stop secondary CPUs 1",
        "** 812 printk messages dropped **",
        "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    ):
        assert [f.line for f in dmesg.scan(f"[ 1.0] fine\n[ 2.0] {line}\n")] == [2], line


def test_log_is_cut_by_command() -> None:
    log = (
        "[1] isolab: begin a\n[2] one\n[3] isolab: end a\n"
        "[4] isolab: begin ab\n[5] two\n[6] isolab: end ab\n[7] isolab: begin c\n[8] last\n"
    )
    assert "one" in dmesg.between(log, "a") and "two" not in dmesg.between(log, "a")
    assert "two" in dmesg.between(log, "ab")
    assert "last" in dmesg.between(log, "c")
    assert dmesg.between(log, "d") == ""
    assert "one" not in dmesg.outside(log, "a") and "two" in dmesg.outside(log, "a")
    assert dmesg.outside(log, "d") == log


def _splat(trace: str) -> str:
    return (
        "[    0.7] ------------[ cut here ]------------\n"
        "[    0.7] WARNING: CPU: 0 PID: 0 at rt_mutex_pre_schedule+0x94/0xd0\n"
        f"[    0.7] Call Trace:\n[    0.7]  {trace}\n"
        "[    0.7] ---[ end trace 0000000000000000 ]---\n"
    )


def test_only_the_self_tests_own_splat_is_passed_over() -> None:
    self_test = _splat("locking_selftest+0x1ee2/0x2380")
    assert dmesg.scan(self_test) == []
    assert dmesg.scan(_splat("start_kernel+0x582/0x750"))
    found = dmesg.scan(self_test + "[ 1.0] BUG: sleeping function called\n")
    assert [f.line for f in found] == [6]


def _sleeping(disabled_at: str) -> str:
    return (
        "[   15.2] BUG: sleeping function called from invalid context at spinlock_rt.c:48\n"
        f"[   15.2] Preemption disabled at:\n[   15.2] [<ffffffffa000cb38>] {disabled_at}\n"
        "[   15.2] Call Trace:\n[   15.2]  <TASK>\n[   15.2]  rt_spin_lock+0x4c/0x140\n"
        "[   15.2]  </TASK>\n"
    )


def _arm64(log: str) -> str:
    """As that kernel writes it: no marks, and in a warning's trace the function itself."""
    log = re.sub(r"Call Trace:\n\[[ .\d]+\]  <TASK>\n", "Call trace:\n", log)
    log = re.sub(r"(at (preempt_count_sub\S+)\n.*\n.*Call trace:\n)", r"\1[   15.1]  \2\n", log)
    return log.replace(" </TASK>", " ret_from_fork+0x10/0x20")


@pytest.mark.parametrize("of", [str, _arm64])
def test_only_scftortures_own_defect_is_passed_over(of: Callable[[str], str]) -> None:
    own = of(_sleeping("scftorture_invoker+0x508/0x7a9 [scftorture]"))
    assert dmesg.scan(own) == []
    ours = of(_sleeping("isolator_yield+0x10/0x20"))
    begin = own.count("\n") + 1
    assert [f.line for f in dmesg.scan(own + ours + own)] == [begin, begin + 3]


def _slept(pid: int, disabled_at: str) -> str:
    return (
        f"[   15.0] BUG: scheduling while atomic: scftorture_invo/{pid}/0x00000002\n"
        f"[   15.0] Preemption disabled at:\n[   15.0] [<ffffffffa0010b38>] {disabled_at}\n"
        "[   15.0] Call Trace:\n[   15.0]  <TASK>\n[   15.0]  __schedule_bug+0x99/0xc0\n"
        "[   15.0]  </TASK>\n"
    )


def _miscounted(pid: int, caller: str, what: str = "val > preempt_count()") -> str:
    return (
        "[   15.1] ------------[ cut here ]------------\n"
        f"[   15.1] DEBUG_LOCKS_WARN_ON({what})\n"
        f"[   15.1] WARNING: CPU: 0 PID: {pid} at preempt_count_sub+0x62/0xa0\n"
        f"[   15.1] CPU: 0 UID: 0 PID: {pid} Comm: scftorture_invo Tainted: G        W\n"
        f"[   15.1] Call Trace:\n[   15.1]  <TASK>\n[   15.1]  {caller}+0x302/0x7a9\n"
        "[   15.1]  </TASK>\n[   15.1] ---[ end trace 0000000000000000 ]---\n"
    )


INVOKER = "scftorture_invoker+0x508/0x7a9 [scftorture]"


@pytest.mark.parametrize("log, lines", [
    (_slept(100, INVOKER) + _miscounted(100, "scftorture_invoker"), []),
    # Of another thread, of another caller, another count, and without the sleep.
    (_slept(102, INVOKER) + _miscounted(100, "scftorture_invoker"), [9, 10, 12]),
    (_slept(100, INVOKER) + _miscounted(100, "isolator_yield"), [9, 10, 12]),
    (_slept(100, INVOKER) + _miscounted(100, "scftorture_invoker", "x"), [9, 10, 12]),
    (_miscounted(100, "scftorture_invoker"), [2, 3, 5]),
    (_slept(100, "isolator_yield+0x10/0x20"), [1, 4]),
])
def test_only_scftortures_own_sleep_is_passed_over(log: str, lines: list[int]) -> None:
    assert [f.line for f in dmesg.scan(log)] == lines
    assert bool(dmesg.scan(_arm64(log))) is bool(lines)


def _offloaded(thread: str) -> str:
    return (
        "[    0.4] WARNING: suspicious RCU usage\n"
        "[    0.4] kernel/rcu/tree_plugin.h:27 Unsafe read of RCU_NOCB offloaded state!\n"
        f"[    0.4] Call Trace:\n[    0.4]  {thread}\n[    0.4]  </TASK>\n"
    )


def test_only_the_rcu_threads_own_look_is_passed_over() -> None:
    own = _offloaded("rcu_cpu_kthread+0xe4/0x1e0")
    assert dmesg.scan(own) == [] == dmesg.scan(_arm64(own))
    other = _offloaded("isolator_rcu_quiesce+0x10/0x20")
    assert [f.line for f in dmesg.scan(own + other + own)] == [6, 8]


@pytest.mark.parametrize("of", [str, _arm64])
def test_no_other_report_passes_as_the_rcu_threads_own(of: Callable[[str], str]) -> None:
    """The thread is in the trace of what follows another's look, or of what is said amid it."""
    look = _offloaded("isolator_rcu_quiesce+0x10/0x20")
    trace = (
        "[    0.5] Call Trace:\n[    0.5]  <TASK>\n[    0.5]  rcu_cpu_kthread+0xe4/0x1e0\n"
        "[    0.5]  </TASK>\n"
    )
    bug = "[    0.5] BUG: KASAN: slab-use-after-free in isolator_end+0x10/0x20\n" + trace
    amid = look[: look.rindex("[    0.4]")] + bug
    for log, lines in (
        (look + bug, [1, 3, 6, 7]),
        (amid, [1, 3, 5, 6]),
        (look + trace, [1, 3, 6]),
    ):
        assert [f.line for f in dmesg.scan(of(log))] == lines, log


@pytest.mark.parametrize("said", [
    "isolator: CPU 3 is overdue", "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "Oops: general protection fault, probably for address", "unreferenced object 0xffff888",
    "Call Trace:",
])
@pytest.mark.parametrize("splat", [
    _splat("locking_selftest+0x1ee2/0x2380"), _sleeping(INVOKER), _slept(100, INVOKER),
    _offloaded("rcu_cpu_kthread+0xe4/0x1e0"),
])
def test_a_known_splat_hides_nothing_that_another_cpu_says(splat: str, said: str) -> None:
    head, end = splat.rstrip("\n").rsplit("\n", 1)
    found = dmesg.scan(f"{head}\n[    9.0] {said}\n{end}\n")
    assert [f.text for f in found] == [f"[    9.0] {said}"]


def _race(first: str, caller: str) -> str:
    line = "[    9.0] " + "=" * 66 + "\n"
    return (
        f"{line}[    9.0] BUG: KCSAN: data-race in {first} / tick_do_update_jiffies64\n"
        "[    9.0] read to 0xffff of 8 bytes by task 1 on cpu 0:\n"
        f"[    9.0]  {caller}+0x1/0x2\n{line}"
    )


def test_only_races_with_a_part_of_ours_count() -> None:
    assert dmesg.scan(_race("ktime_get", "do_syscall_64")) == []
    found = dmesg.scan(_race("ktime_get", "do_syscall_64") + _race("isolator_note_queued", "x"))
    assert [f.line for f in found] == [7]
    assert dmesg.scan(_race("ktime_get", "isolator_watch_tick"))


def test_a_stock_race_hides_nothing_that_another_cpu_says() -> None:
    race = _race("ktime_get", "do_syscall_64")
    assert dmesg.scan(race) == []
    at = race.index("[    9.0] read")
    amid = race[:at] + _splat("start_kernel+0x582/0x750") + race[at:]
    assert [f.line for f in dmesg.scan(amid)] == [2, 4, 5]


def test_only_a_worker_that_was_refused_to_the_killed_is_passed_over() -> None:
    word = '[   67.5] workqueue: Interrupted when creating a worker thread "kworker/u16:0"\n'
    splat = (
        "[   67.5] ------------[ cut here ]------------\n"
        "[   67.5] WARNING: CPU: 2 PID: 4 at kernel/cgroup/{}:1356 update_parent+0x9/0xb2\n"
        "[   67.5] Call Trace:\n[   67.5]  update_prstate+0x265/0x530\n"
        "[   67.5] ---[ end trace 0000000000000000 ]---\n"
    )
    assert dmesg.scan(word + splat.format("cpuset.c")) == []
    assert [f.line for f in dmesg.scan(splat.format("cpuset.c"))] == [2, 3]
    assert [f.line for f in dmesg.scan(word + splat.format("cgroup.c"))] == [3, 4]
    twice = word + splat.format("cpuset.c") + splat.format("cgroup.c")
    assert [f.line for f in dmesg.scan(twice)] == [8, 9]


ASKED = "[   12.5] sysrq: Show backtrace of all active CPUs\n"
USER = "[   12.5] RIP: 0033:0x4483df\n[   12.5] R10: 01 R11: 02 R12: 03\n[   12.5] FS:  3 GS:  0\n"
TRACE = "[   12.5] Call Trace:\n[   12.5]  <TASK>\n[   12.5]  dump+0x4f/0x60\n[   12.5]  </TASK>\n"


def _backtrace(cpu: int, then: str = TRACE, on: int | None = None) -> str:
    return (
        f"[   12.5] NMI backtrace for cpu {cpu}\n"
        f"[   12.5] CPU: {cpu if on is None else on} UID: 0 PID: 85 Comm: sh Not tainted 6.12 #1 \n"
        f"{then}"
    )


def test_backtraces_that_were_asked_for() -> None:
    whole = ASKED + _backtrace(0) + "[   12.5] Sending NMI from CPU 0 to CPUs 1:\n"
    whole += _backtrace(1, USER)
    assert dmesg.scan(whole) == [] and dmesg.scan(whole + whole) == []
    # A CPU that was in the kernel shows its registers before.
    assert dmesg.scan(ASKED + _backtrace(0) + _backtrace(1, USER + TRACE)) == []
    assert dmesg.scan(ASKED + "[   12.5] random: crng init done\n" + _backtrace(1)) == []
    # Another CPU's line amid one.
    amid = _backtrace(1, USER + TRACE).replace(
        "[   12.5] R10:", "[   12.5] eth0: up\n[   12.5] R10:"
    )
    assert "eth0" in amid and dmesg.scan(ASKED + amid) == []
    bad = amid.replace("eth0: up", "INFO: rcu: stall")
    assert len(dmesg.scan(ASKED + bad)) == 2
    # Asked for in another test, whose backtraces the console did not show.
    assert len(dmesg.scan(ASKED + "[   13.0] isolab: end t\n" + _backtrace(1))) == 1


def test_backtraces_of_arm64_that_were_asked_for() -> None:
    registers = (
        "[   12.5] Hardware name: linux,dummy-virt (DT)\n"
        "[   12.5] pstate: 40000000 (nZcv daif -PAN -UAO -TCO -DIT -SSBS BTYPE=--)\n"
        "[   12.5] pc : 00000000004018e8\n[   12.5] lr : 0000000000401924\n"
        "[   12.5] sp : 0000fffff16a9810\n"
        "[   12.5] x29: 0000fffff16a9810 x28: 0000ffff91321000 x27: 0000ffff91321038\n"
        "[   12.5] x8 : 00000000000000e6 x7 : 7f7f7f7f7f7f7f7f x6 : 78722e626e716f2e\n"
    )
    trace = "[   12.5] Call trace:\n[   12.5]  show_stack+0x18/0x30 (C)\n"
    assert dmesg.scan(ASKED + _backtrace(0, trace) + _backtrace(1, registers + trace)) == []
    assert len(dmesg.scan(ASKED + _backtrace(1, registers) + "[   12.5] x: what\n" + trace)) == 1
    assert len(dmesg.scan(_backtrace(1, registers + trace))) == 1
    # Of a CPU in user mode there is no trace; to see that takes no time.
    many = registers + registers.splitlines(keepends=True)[-2] * 24
    assert dmesg.scan(ASKED + _backtrace(1, many) + ASKED + _backtrace(0, trace)) == []
    oops = "[    1.0] Internal error: Oops: 0000000096000004 [#1] SMP\n"
    assert len(dmesg.scan(oops)) == 1
    assert len(dmesg.scan("[    1.0] Unable to handle kernel paging request at ffff\n")) == 1


def test_no_other_trace_is_passed_over() -> None:
    for log, lines in (
        # Nobody asked; or asked for one of each CPU.
        (_backtrace(0), [3]),
        (_backtrace(0) + ASKED, [3]),
        (ASKED + _backtrace(0) + _backtrace(0), [10]),
        # Of something else.
        (ASKED + TRACE, [2]),
        (ASKED + _backtrace(0, TRACE + TRACE), [8]),
        (ASKED + _backtrace(1, USER) + "[   12.6] CPU: 0 UID: 0 PID: 7\n" + TRACE, [8]),
        (ASKED + _backtrace(1, "[   12.6] x: what is this?\n" + TRACE), [5]),
        (ASKED + _backtrace(1, on=0), [4]),
        (ASKED + _backtrace(0) + _splat("start_kernel+0x582/0x750"), [9, 10]),
        (ASKED + _backtrace(1, USER) + "[   12.6] BUG: x\n" + TRACE, [7, 8]),
    ):
        assert [f.line for f in dmesg.scan(log)] == lines, log


def test_who_asks_for_backtraces_allows_no_others() -> None:
    asking = [t for t in header.tests() if t.name in ("always", "prove")]
    assert len(asking) == 2
    for test in asking:
        assert test.allows == (), test.name
