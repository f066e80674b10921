# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a guest's kernel log: what must not be there."""

import re
from dataclasses import dataclass

from . import races

# Each of these is a failure of the run that shows it.
BAD = re.compile(
    r"WARNING: |\bBUG: |\bOops\b|kernel BUG at|Kernel panic|general protection fault"
    r"|Internal error: |Unable to handle kernel"
    r"|INFO: rcu|rcu: INFO|self-detected stall|detected stalls|soft lockup|hard LOCKUP|hung_task"
    r"|blocked for more than|possible recursive locking|possible circular locking"
    r"|suspicious RCU usage|inconsistent lock state|Invalid wait context"
    r"|sleeping function called from invalid context|scheduling while atomic"
    r"|DEBUG_LOCKS_WARN_ON|ODEBUG:|KASAN:|KCSAN:|UBSAN:|csd: Detected non-responsive"
    r"|unreferenced object|using __this_cpu|using smp_processor_id|Call Trace:"
    r"|isolator: .*(warn|bug)|isolator: CPU \d+ is overdue"
    # Interrupts and softirqs that went astray.
    r"|NOHZ tick-stop error|No irq handler for|unexpected IRQ trap at vector"
    r"|NMI received for unknown reason|should never happen|failed to stop secondary CPUs"
    # What was said is not all here; kmemleak tells once how many it has found.
    r"|printk messages dropped|new suspected memory leaks",
    re.IGNORECASE,
)
# Says nothing about the kernel under test.
HARMLESS = re.compile(
    r"ommand line:|MP-BIOS bug: 8254|spectre|retbleed|mitigation|speculative"
    r"|unchecked MSR access error: |taints kernel|capability: warning: `"
    r"|kasan: KernelAddressSanitizer initialized|kcsan: (?:enabled|strict mode|selftest: )",
    re.IGNORECASE,
)


# On PREEMPT_RT the kernel's own locking self-tests warn, without Isolator too: they
# take rt_mutexes before there is a scheduler.  Only such a splat is passed over; what
# the self-tests find is the guest test `locking`.
_SPLAT = re.compile(r"^[^\n]*\[ cut here \]-+\n(?:(?!\[ cut here \]).)*?end trace [0-9a-f]+ \]---$",
                    re.MULTILINE | re.DOTALL)
_SELFTEST = ("rt_mutex_pre_schedule", "locking_selftest+")
# The last line of a kernel thread's trace; arm64 has no mark behind it.
_END = r"(?:</TASK>|ret_from_fork\+0x[\da-f]+/0x[\da-f]+)$"
# Up to there, and no other splat; what else another CPU says meanwhile stays, see _blank().
_SAME = rf"(?:(?!WARNING: |BUG: |{_END}).)*?"
# On PREEMPT_RT scftorture itself allocates and frees with preemption disabled (mended in
# Linux 6.13).  Passed over only where scftorture is what had disabled it.
_SCFTORTURE = re.compile(
    r"^[^\n]*BUG: (?:sleeping function called|scheduling while atomic: scftorture_)"
    rf"{_SAME}Preemption disabled at:\n[^\n]*scftorture_invoker\+{_SAME}{_END}",
    re.MULTILINE | re.DOTALL,
)
# Where two of its threads want one lock of the allocator, one does sleep there, and its count of
# preemption is wrong from then on.  Passed over only behind that, in the same thread.
_SLEPT = re.compile(r"BUG: scheduling while atomic: scftorture_\w*/(\d+)/")
_MISCOUNTED = "DEBUG_LOCKS_WARN_ON(val > preempt_count())\n"
# arm64's traces begin with the function itself.
_CALLER = re.compile(
    r"(?:<TASK>|Call trace:\n[^\n]* preempt_count_sub\+[^\n]*)\n[^\n]*?\b([a-z_]\w*)\+")
# On PREEMPT_RT, with a CPU of rcu_nocbs= or nohz_full= and lockdep, a stock kernel's own RCU thread
# is taken for one that may be migrated.  Passed over only where that thread is who looks.
_NOCB = re.compile(
    rf"^[^\n]*WARNING: suspicious RCU usage\n{_SAME}Unsafe read of RCU_NOCB offloaded state!{_SAME}"
    rf" rcu_cpu_kthread\+{_SAME}{_END}",
    re.MULTILINE | re.DOTALL,
)
# A stock kernel warns where SIGKILL meets a task that makes a cpuset partition: it wants a new
# worker for the mask of unbound work, and whoever is to be killed gets none.  Passed over only
# behind the kernel's own word that this was it.
_INTERRUPTED = re.compile(
    r"^[^\n]*workqueue: Interrupted when creating a worker thread[^\n]*\n(?:[^\n]*\n){0,3}?"
    r"[^\n]*\[ cut here \]-+\n[^\n]*WARNING: [^\n]* at kernel/cgroup/cpuset\.c:"
    r"(?:(?!\[ cut here \]).)*?end trace [0-9a-f]+ \]---$",
    re.MULTILINE | re.DOTALL,
)
# KCSAN finds data races all over a stock kernel.  Only those that are ours are what a run is about,
# and what another CPU says amid a report.
_KCSAN = re.compile(
    r"^[^\n]*={60,}\n[^\n]*BUG: KCSAN: (?:(?!={60,}).)*={60,}$", re.MULTILINE | re.DOTALL
)
# Who writes l to sysrq-trigger asks for where each CPU is: its own registers come before its trace.
# Passed over only behind that, once a CPU, until the lab's next mark; the trace of anything else is
# one too many.
_ASKED = "sysrq: Show backtrace of all active CPUs\n"
# A line in one way only: that has three of these names, and there are a dozen such lines.
_OWN = (
    r"(?>[^\n]*\b(?:Tainted|Hardware name|Workqueue|Stopper|Code|R[A-Z\d]{2}|[FGC]S|CR2|DR[03]"
    r"|PKRU|pstate|(?:pc|lr|sp) |x[\d ]{2}): [^\n]*\n)"
)
# Another CPU may get a line in between.
_OTHER = rf"(?:(?![^\n]*(?i:{BAD.pattern}))[^\n]*\n)"
_BACKTRACE = re.compile(
    r"^[^\n]*(NMI backtrace for cpu (\d+)\n)[^\n]*\bCPU: \2 [^\n]*\n"
    rf"{_OWN}*(?:{_OTHER}{_OWN}+)?[^\n]*Call [Tt]race:$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Finding:
    line: int
    text: str


def _bad(log: str) -> list[Finding]:
    return [
        Finding(i, line.strip())
        for i, line in enumerate(log.splitlines(), 1)
        if BAD.search(line) and not HARMLESS.search(line)
    ]


def _blank(splat: re.Match[str]) -> str:
    """Without what is its own: its head, and its trace, once each.  Other CPUs may say more."""
    lines = splat.group().split("\n")
    bad = [i for i, line in enumerate(lines) if BAD.search(line)]
    own = ["Call Trace:", "BUG: " if bad and "BUG: " in lines[bad[0]] else "WARNING: "]
    kept = [""] * len(lines)
    for i in bad:
        if found := next((word for word in own if word.lower() in lines[i].lower()), None):
            own.remove(found)
        elif _MISCOUNTED.strip() not in lines[i]:
            kept[i] = lines[i]
    return "\n".join(kept)


def scan(log: str) -> list[Finding]:
    """The lines that must not be there."""

    def blank_known(splat: re.Match[str]) -> str:
        """Of a self-test; or of scftorture's count, whose sleep is in the log still."""
        if all(s in splat.group() for s in _SELFTEST):
            return _blank(splat)
        thread = re.search(r" PID: (\d+) Comm: scftorture_", splat.group())
        slept = _SLEPT.findall(splat.string[: splat.start()])
        caller = _CALLER.search(splat.group())
        good = (_MISCOUNTED in splat.group() and thread and thread[1] in slept
                and caller and caller[1] == "scftorture_invoker")
        return _blank(splat) if good else splat.group()

    def blank_stock_race(report: re.Match[str]) -> str:
        more = len(_bad(report.group())) > 1
        return report.group() if more or races.ours(report.group()) else _blank(report)

    def blank_asked(backtrace: re.Match[str]) -> str:
        before = backtrace.string[: backtrace.start()]
        _, asked, since = before.rpartition(_ASKED)
        good = asked and backtrace[1] not in since and "isolab: " not in since
        return _blank(backtrace) if good else backtrace.group()

    log = _NOCB.sub(_blank, _INTERRUPTED.sub(_blank, log))
    log = _SCFTORTURE.sub(_blank, _SPLAT.sub(blank_known, log))
    log = _KCSAN.sub(blank_stock_race, _BACKTRACE.sub(blank_asked, log))
    return _bad(log)


def around(log: str, first: Finding, most: int = 60) -> list[str]:
    """What the log says from a little before a finding on: a line alone rarely tells why."""
    return log.splitlines()[max(0, first.line - 4) : first.line - 4 + most]


def between(log: str, name: str) -> str:
    """The part of the log that belongs to one command of the job."""
    begin, end = log.find(f"isolab: begin {name}\n"), log.find(f"isolab: end {name}\n")
    if begin < 0:
        return ""
    return log[begin:] if end < begin else log[begin:end]


def outside(log: str, name: str) -> str:
    """The log without what belongs to one command of the job."""
    section = between(log, name)
    return log.replace(section, "", 1) if section else log


def without(log: str, name: str, allowed: tuple[str, ...]) -> str:
    """The log but for those lines that are wanted while one command runs, or until the next."""
    section = between(log, name)
    if not allowed or not section:
        return log
    wanted = re.compile("|".join(allowed))
    begin = log.index(section)
    after = log.find("isolab: begin ", begin + len(section))
    end = len(log) if after < 0 else after
    lines = log[begin:end].split("\n")
    kept = "\n".join("" if wanted.search(line) else line for line in lines)
    return log[:begin] + kept + log[end:]
