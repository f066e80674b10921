# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict on a guest test, by what it printed, its guest logged and the observer counted."""

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any

from ..guests import dmesg
from ..guests.guest import ENDED, Event, Outcome, how
from ..header import PACKAGED, GuestTest
from . import attempt, counted, coverage, sections, windows

# How a reboot ends, which a header says in short, as its guest is run in another way.  A panic has
# no short name: any would do then.
REBOOTS = "reboot: Restarting system"
# QEMU's word for a reset that nobody asked for.
TRIPLE_FAULT = "Triple fault"
_PLAN = re.compile(r"^1\.\.[1-9]\d*$", re.MULTILINE)
_NOT_OK = re.compile(r"^(?:not ok|Bail out!).*", re.MULTILINE)


@dataclass
class Result:
    test: GuestTest
    kernel: str
    status: str = "failed"  # passed, failed, skipped
    seconds: float = 0
    why: list[str] = field(default_factory=list)
    out: str = ""
    log: list[str] = field(default_factory=list)  # the kernel's, where it has what must not be
    windows: list[dict[str, Any]] = field(default_factory=list)
    covered: list[coverage.File] = field(default_factory=list)

    def blame(self, log: str, found: list[dmesg.Finding]) -> None:
        """It failed by what the kernel's @log has that must not be there, if it has anything."""
        self.why += [f"kernel log: {f.text}" for f in found[:5]]
        if found:
            self.log = dmesg.around(log, found[0])

    def fail(self, why: list[str]) -> None:
        self.why += why
        if why:
            self.status = "failed"

    def json(self) -> dict[str, Any]:
        return {
            "name": self.test.name, "kernel": self.kernel, "status": self.status,
            "seconds": round(self.seconds, 3), "why": self.why, "out": self.out,
            "windows": self.windows,
            **({"coverage": [f.json() for f in self.covered]} if self.covered else {}),
        }


def _skipped(result: Result) -> None:
    said = re.search(r"# SKIP (.*)", result.out, re.IGNORECASE)
    reason = said.group(1) if said else "it did not say why"
    may = any(allowed in reason for allowed in result.test.skips)
    result.why.append(reason if may else f"it may not be skipped for this: {reason}")
    result.status = "skipped" if may else "failed"


def _told(event: Event, out: str) -> list[str]:
    """What a test's exit code and output say against it; one that passed has printed its plan."""
    bad = _NOT_OK.findall(out)
    if event["exit"] != 0:
        return [how(event), *bad]
    return bad if bad or _PLAN.search(out) else ["exit 0, but no plan: 1..N"]


def judge(test: GuestTest, result: Result, outcome: Outcome, event: Event | None) -> None:
    """Fills @result from what the guest reported and logged."""
    log = dmesg.between(outcome.console, test.name)
    ending = re.compile(REBOOTS if test.reboots else test.ends) if test.ends else None
    allowed = [re.compile(a) for a in (*test.allows, *([ending.pattern] if ending else []))]
    if ending:
        result.seconds = outcome.seconds
        result.out = event["out"] or "" if event else ""
        if event:
            result.why.append(f"the guest did not end; the test came back with {event['exit']}")
        if outcome.died != ENDED and not event:
            result.why.append(f"the guest did not come to its end: {outcome.died}")
        if TRIPLE_FAULT in outcome.qemu_log:
            result.why.append("a triple fault ended the guest")
        # Where a thread prints, a reset comes before that: QEMU tells of the other kind.
        if not ending.search(log) and not (log and test.reboots and outcome.late):
            result.why.append(
                f'the guest did not end as it should: no "{ending.pattern}" in its log'
            )
    elif event and not log:
        result.why.append("the kernel log has no mark of the test: it could not be scanned")
    elif not event:
        result.why.append(f"no verdict: {outcome.died}")
        result.out = outcome.console[-3000:]
    else:
        result.seconds, result.out = event["seconds"], event["out"] or ""
        if not event["returned"]:
            result.why.append(f"not done within its time; it hangs in: {event.get('hang')}")
        elif event["exit"] == 77:
            _skipped(result)
        else:
            result.why += _told(event, result.out)
    logged = [f for f in dmesg.scan(log) if not any(a.search(f.text) for a in allowed)]
    result.blame(log, logged)
    # Where its guest ended later, by what is excused, nobody else asks.
    if event and outcome.ours:
        behind = attempt.left(Outcome(events=[event]), [test.name] if test.leaves else [])
        result.why += [behind] if behind else []
    # Where a stock kernel runs as well, the slots are not its own: the windows tell for themselves.
    if test.kernel != PACKAGED:
        result.why += counted.misplaced(outcome.observer_end)
    if event and event["exit"] == 0:
        if test.leaves and not event.get("left"):
            result.why.append("its fault left no process behind that waits, as its header says")
        result.why += counted.judge(test, outcome.windows)
        if test.section:
            result.why += sections.judge(test.section, result.out, outcome.sections)
    if test.windows and event and result.status != "skipped":
        result.windows, bad = windows.judge(
            test.windows, result.out, outcome.windows, outcome.observer_end
        )
        result.why += bad
    # The reason of one that was skipped is no complaint.
    if result.status != "skipped" or len(result.why) > 1:
        result.status = "failed" if result.why else "passed"


def stray(kernel: str, of: GuestTest, ran: list[GuestTest], log: str,
          cut: GuestTest | None = None) -> list[Result]:
    """What the kernel log complains about between the tests: nobody's, so a failure of its own.

    A line may come late: what a test allows is allowed until the next one begins.  @cut: in
    which the guest ended; it is run again, but what it logged beyond that counts.
    """
    if cut:
        log = dmesg.without(log, cut.name, cut.allows)
    for test in ran:
        log = dmesg.without(log, test.name, test.allows)
        log = dmesg.outside(log, test.name)
    found = dmesg.scan(log)
    if not found:
        return []
    test = dataclasses.replace(of, name="kernel-log", about="between the tests")
    result = Result(test, kernel)
    result.blame(log, found)
    return [result]


def end(kernel: str, of: GuestTest, ended: str | None) -> list[Result]:
    """A guest whose tests all have their verdict, and that did not end well: no test's failure."""
    if not ended:
        return []
    test = dataclasses.replace(of, name="guest-end", about="behind the last test")
    return [Result(test, kernel, why=[ended])]
