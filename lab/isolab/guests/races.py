# SPDX-License-Identifier: GPL-2.0-or-later
"""KCSAN's reports: which races are ours.

KCSAN finds races all over a stock kernel.  One is ours if a function of Isolator takes part in it,
as one of the two or as a caller; or if one of the two is a function of Linux that a patch changes.
Which these are is read from the patches.  One that the compiler has put into its caller goes by
the caller's name: there only the other side, and what Isolator's own functions do, tells.

Linux's own races in functions that a patch changes, or that Isolator calls, are in LINUX, by pair.
"""

import functools
import itertools
import re
from collections.abc import Iterator

from .. import term
from ..paths import TOP

PATCHES = TOP / "kernel" / "patches"
OWN = (TOP / "kernel" / "isolator", TOP / "kernel" / "arch")
# A hunk that begins behind a label names that, not the function.
BEHIND = {
    ("kernel/sched/core.c", "out"): "select_fallback_rq",
    ("kernel/stop_machine.c", "unlock"): "cpu_stop_queue_two_works",
    ("block/blk-mq.c", "select_cpu"): "blk_mq_hctx_next_cpu",
    ("kernel/workqueue.c", "retry"): "__queue_work",
    ("mm/memcontrol.c", "retry_reclaim"): "mem_cgroup_handle_over_high",
    ("net/core/dev.c", "try_rps"): "get_rps_cpu",
}

# Linux's own, between two functions of which no patch changes one, or in such a one, whoever calls
# them.  With each, why Linux may have it.
LINUX = {
    frozenset(("hrtimer_wakeup", "schedule_hrtimeout_range_clock")):
        "the sleeper looks at t.task without a lock; its state decides whether it sleeps",
    frozenset(("__hrtimer_run_queues", "hrtimer_active")):
        "base->running is read without the lock, and again if the sequence count has changed",
    frozenset(("tmigr_active_up",)):
        "CPUs that become active set the group event's ignore flag without a lock, to the same",
}

_FILE = re.compile(r"^\+\+\+ [^/]+/(\S+)")
_HUNK = re.compile(r"^@@ [^@]* @@ ?(.*)$")
_LABEL = re.compile(r"^(\w+):\s*$")
_SYSCALL = re.compile(r"^(?:COMPAT_)?SYSCALL_DEFINE\d\((\w+)")
_NAME = re.compile(r"(\w+)\(")
_COMMENT = re.compile(r"\s*(?:/\*|//|\*(?:\s|/|$))")

_TITLE = re.compile(r"BUG: KCSAN: .* in (.*)$", re.MULTILINE)
_ACCESS = re.compile(r" to 0x[0-9a-f]+ of \d+ bytes by ")
_FRAME = re.compile(r"^(?:\[[^]\n]*\])*\s+(?:\? )?(\+-> reordered to: )?([\w.]+)\+0x", re.MULTILINE)
_TRAILER = "Reported by Kernel Concurrency Sanitizer"
# They work on the data of whoever calls them.
_HELPER = re.compile(
    r"_*(?:rb|timerqueue|llist|list|plist|find|bitmap|cpumask)_|_*(?:mem|str)[a-z]+$"
)


def _defined(line: str) -> str | None:
    """The function whose definition @line begins at the left margin; None: another thing."""
    if syscall := _SYSCALL.match(line):
        return f"sys_{syscall[1]}"
    named = _NAME.search(line)
    if not named or line.startswith("#") or re.search(r"[;={]\s*$", line):
        return None
    return named[1]


def _touched(patch: str) -> Iterator[tuple[str, str]]:
    """File and function of each changed line that is code; the function LABEL: where unknown."""
    file, inside, body = "", None, False
    for line in patch.splitlines():
        if named := _FILE.match(line):
            file = named[1]
        if line.startswith(("diff ", "--- ", "+++ ")) or line == "-- ":
            body = False
        elif hunk := _HUNK.match(line):
            body, inside = True, hunk[1] if _LABEL.match(hunk[1]) else _defined(hunk[1])
        elif body:
            kind, code = line[:1], line[1:]
            if code.startswith(("}", "#define")):
                inside = None
            elif re.match(r"[A-Za-z_]", code) and not _LABEL.match(code):
                inside = _defined(code)
            elif code.startswith("#") or not code.strip() or _COMMENT.match(code):
                continue
            if kind in ("+", "-") and inside:
                yield file, inside


def changed(patch: str) -> set[str]:
    """The functions in which @patch changes what runs."""
    found = set()
    for file, function in _touched(patch):
        if label := _LABEL.match(function):
            if (file, label[1]) not in BEHIND:
                raise term.LabError(
                    f"{file}: a patch changes what is behind the label {label[1]}: "
                    "lab/isolab/guests/races.py must name the function"
                )
            function = BEHIND[file, label[1]]
        found.add(function)
    return found


def labels() -> set[tuple[str, str]]:
    """Behind which labels our patches change something."""
    return {
        (file, label[1])
        for path in PATCHES.glob("*/*.patch")
        for file, function in _touched(path.read_text())
        if (label := _LABEL.match(function))
    }


@functools.cache
def patched() -> frozenset[str]:
    """The functions in which our patches change what runs, and those of our own files."""
    paths = list(PATCHES.glob("*/*.patch"))
    own = {
        name
        for directory in OWN
        for path in directory.rglob("*.c")
        for line in path.read_text().splitlines()
        if re.match(r"[a-z]", line) and (name := _defined(line))
    }
    return frozenset(own).union(*(changed(path.read_text()) for path in paths))


def _base(symbol: str) -> str:
    """As the source calls it: without what the compiler and the system calls' macros add."""
    return re.sub(r"^__(?:do|se|x64|ia32|arm64)_sys_", "sys_", symbol.partition(".")[0])


def _racing(report: str) -> set[str]:
    """The two, and where one of their accesses was executed late."""
    title = _TITLE.search(report)
    found = {re.split(r"[+ ]", name)[0] for name in title[1].split(" / ")} if title else set()
    for stack in _ACCESS.split(report)[1:]:
        frames = _FRAME.findall(stack)
        found |= {name for late, name in frames if late}
        own = (
            name
            for late, name in frames
            if not late and (_base(name) in patched() or not _HELPER.match(name))
        )
        found |= set(itertools.islice(own, 1))
    return {_base(name) for name in found}


def ours(report: str) -> bool:
    """Whether a report of KCSAN, from line to line, is of a race of ours."""
    said = report.partition(_TRAILER)[0]
    title = _TITLE.search(said)
    if title and frozenset(title[1].strip().split(" / ")) in LINUX:
        return False
    return "isolator" in said or bool(_racing(said) & patched())
