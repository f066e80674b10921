# SPDX-License-Identifier: GPL-2.0-or-later
"""KCSAN's reports: which are races of ours, and which functions the patches change."""

import pytest
from isolab import term
from isolab.guests import dmesg, races

LINE = "[    9.0] " + "=" * 66 + "\n"
UPSTREAM = ("ktime_get", "do_syscall_64")
OTHER = ("tick_do_update_jiffies64", "tick_handle_periodic")


def report(
    one: tuple[str, ...], other: tuple[str, ...] = OTHER, comm: str = "sh", more: str = ""
) -> str:
    """As the kernel prints it: the stacks of both, innermost function first."""

    def stack(of: tuple[str, ...], what: str) -> str:
        frames = "".join(f"[    9.0]  {name}+0x1b/0x2c0\n" for name in of)
        return f"[    9.0] {what} to 0xffff888004 of 8 bytes by task 7 on cpu 0:\n{frames}"

    first, second = sorted((one[0], other[0]))
    return (
        f"{LINE}[    9.0] BUG: KCSAN: data-race in {first} / {second}\n[    9.0] \n"
        f"{stack(one, 'write')}{more}[    9.0] \n{stack(other, 'read')}[    9.0] \n"
        "[    9.0] value changed: 0x0000000000000000 -> 0x0000000000000001\n[    9.0] \n"
        "[    9.0] Reported by Kernel Concurrency Sanitizer on:\n"
        f"[    9.0] CPU: 0 UID: 0 PID: 7 Comm: {comm} Not tainted 6.12.117 #1\n{LINE}"
    )


@pytest.mark.parametrize("pair", races.LINUX, ids=" ".join)
def test_a_race_of_linux_is_none_of_its_callers(pair: frozenset[str]) -> None:
    """Only between these two, and only as long as no patch changes one of them."""
    one, other = (sorted(pair) * 2)[:2]
    assert races.LINUX[pair] and not pair & races.patched()
    assert dmesg.scan(report((one, "isolator_yield"), (other, "isolator_yield"))) == []
    for name in pair:
        assert [f.line for f in dmesg.scan(report((name, "isolator_yield")))] == [2]
        assert dmesg.scan(report((name, "isolator_yield"), ("isolator_note_queued", "x")))


@pytest.mark.parametrize(
    "one",
    [
        ("isolator_note_queued", "x"),
        ("ktime_get", "isolator_watch_tick"),
        ("hrtimers_isolator_move", "x"),
        # Functions of Linux that a patch changes, by all names that a compiler gives them.
        ("smp_call_function_many_cond", "x"),
        ("rcu_barrier", "x"),
        ("rto_next_cpu.constprop.0", "x"),
        ("__queue_work", "queue_work_on"),
        ("cpu_stop_queue_two_works", "stop_two_cpus"),
        ("__se_sys_perf_event_open", "x64_sys_call"),
        ("__arm64_sys_perf_event_open", "invoke_syscall"),
        # Functions of Isolator whose names do not say so.
        ("reap", "process_one_work"),
        ("kick", "irq_work_single"),
        # What works on its caller's data is not who races.
        ("_find_next_and_bit", "find_new_ilb"),
        ("rb_insert_color", "timerqueue_add", "enqueue_hrtimer", "x"),
        ("_find_next_and_bit", "cpudl_find"),
    ],
)
def test_a_race_of_ours_is_found(one: tuple[str, ...]) -> None:
    assert [f.line for f in dmesg.scan(report(one))] == [2]
    assert [f.line for f in dmesg.scan(report(UPSTREAM) + report(OTHER, one))] == [18]


@pytest.mark.parametrize(
    "one",
    [
        UPSTREAM,
        # A caller whose own code a patch changes elsewhere: of Linux nearly all have one.
        ("exit_files", "do_exit"),
        ("__handle_irq_event_percpu", "handle_irq_event"),
        ("rb_insert_color", "timerqueue_add", "x", "enqueue_hrtimer"),
        # Beside what is changed, in the same file.
        ("do_nothing", "x"),
        ("multi_cpu_stop", "x"),
        ("kick_all_cpus_sync", "x"),
    ],
)
def test_a_race_of_linux_is_passed_over(one: tuple[str, ...]) -> None:
    assert dmesg.scan(report(one)) == []
    # Who ran, and on which kernel, says nothing.
    assert dmesg.scan(report(one, comm="isolator")) == []


def test_what_is_said_beside_the_stacks() -> None:
    # Executed late: a barrier is missing where it came to pass.
    late = "[    9.0]   |\n[    9.0]   +-> reordered to: rcu_barrier+0x90/0x600\n"
    assert dmesg.scan(report(UPSTREAM, more=late))
    assert not dmesg.scan(report(UPSTREAM, more=late.replace("rcu_barrier", "x")))
    # One side is all there is, and the title has an offset.
    alone = (
        f"{LINE}[    9.0] BUG: KCSAN: data-race in {{0}}+0x1b/0x2c0\n[    9.0] \n"
        "[    9.0] race at unknown origin, with read to 0xffff of 8 bytes by task 7 on cpu 0:\n"
        f"[    9.0]  {{0}}+0x1b/0x2c0\n{LINE}"
    )
    assert dmesg.scan(alone.format("rcu_barrier")) and not dmesg.scan(alone.format("ktime_get"))
    assert dmesg.scan(alone.format("scope_irq").replace("/0x2c0", "/0x2c0 [isolator_scope]"))
    # A report that breaks off is not judged by what is there of it.
    whole = report(UPSTREAM)
    assert dmesg.scan(whole[: whole.index("Reported")])


def hunk(where: str, body: str) -> str:
    return (
        "diff --git a/kernel/x.c b/kernel/x.c\n--- a/kernel/x.c\n+++ b/kernel/x.c\n"
        f"@@ -1,7 +1,8 @@ {where}\n{body}-- \n2.39\n"
    )


@pytest.mark.parametrize(
    ("where", "body", "changed"),
    [
        ("int one(int a)", " \tint b;\n+\tb = a;\n", {"one"}),
        ("int one(int a,", "-\tint b;\n", {"one"}),
        ("void __init one(void)", " \tx();\n+\ty();\n }\n \n int two(void)\n", {"one"}),
        # The function that the hunk begins in is over before what is changed.
        ("int one(int a)", " }\n \n+static int two(void)\n+{\n+\treturn 0;\n+}\n", {"two"}),
        ("int one(int a)", " }\n \n+#include <x.h>\n+static DEFINE_MUTEX(m);\n", set()),
        ("int one(int a)", " \tx();\n }\n \n int two(int a,\n \tint b)\n {\n+\ty();\n", {"two"}),
        ("int one(int a)", " \tx();\n }\n static inline\n int two(int a)\n {\n-\ty();\n", {"two"}),
        ("int one(int a)", "+\tx();\n }\n \n int two(int a)\n {\n-\tx();\n", {"one", "two"}),
        # Definitions in which nothing runs, and words about it.
        ("struct one {", "+\tint a;\n", set()),
        ("extern int one(int a);", "+int two(int a);\n", set()),
        ("static int one[] = {", "+\t1,\n", set()),
        ("#define one(a)", "+\tx(a);\t\\\n", set()),
        ("int one(int a)", "+\t/* why */\n+\n", set()),
        ("int one(int a)", "+\t * why, at length\n", set()),
        ("SYSCALL_DEFINE2(one, int, a, int, b)", "+\tx();\n", {"sys_one"}),
        # A label within the hunk is in the same function.
        ("int one(int a)", " out:\n+\tx();\n", {"one"}),
    ],
)
def test_functions_that_a_patch_changes(where: str, body: str, changed: set[str]) -> None:
    assert races.changed(hunk(where, body)) == changed


def test_a_label_that_hides_the_function() -> None:
    with pytest.raises(term.LabError, match=r"kernel/x\.c: .* label out"):
        races.changed(hunk("out:", "+\tx();\n"))
    assert races.changed(hunk("out:", " }\n \n int one(int a)\n {\n+\tx();\n")) == {"one"}
    named = hunk("unlock:", "+\tx();\n").replace("kernel/x.c", "kernel/stop_machine.c")
    assert races.changed(named) == {"cpu_stop_queue_two_works"}


def test_our_patches() -> None:
    found = races.patched()
    assert 300 < len(found) < 800
    # One of each kind: static, inline, in a header, a system call, behind a label.
    assert found >= {
        "generic_smp_call_function_single_interrupt", "csd_lock_wait", "cpu_is_isolated",
        "sys_process_madvise", "__queue_work", "cpu_stop_queue_two_works", "select_fallback_rq",
        "get_rps_cpu", "do_exit", "vmstat_local_fold",
    }  # fmt: skip
    assert not found & {"do_nothing", "user_exit_callable", "__flush_work", "early_initcall", "if"}
    # What the table of labels says is needed.
    assert races.labels() == set(races.BEHIND)
