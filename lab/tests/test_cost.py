# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sample costs: read, and judged."""

from typing import Any

import pytest
from isolab import cost as kernel_cost
from isolab import term
from isolab.guests.guest import Outcome
from isolab.rivals import cost

HISTOGRAM = "# Total: 000002473\n# Histogram Overflows: 00027\n"
PLAIN = "T: 0 (  123) P:90 I:1000 C:    500 Min:      2 Act:    3 Avg:    3 Max:       9\n"
OURS = " CPU    samples  missing      min\n   0       2500        0  3.1 us  4.0 us\n"


def _found(**totals: float) -> list[dict[str, Any]]:
    """A start of 100 000 instructions, then so many a sample."""
    return [
        {"case": run.case.name, "round": run.round, "samples": run.samples,
         "user": 100_000 + 200 * run.samples, "entries": run.samples + 3,
         "kernel": int((totals.get(run.case.name.replace("-", "_"), 9000) - 200) * run.samples)}
        for run in cost.plan(3)
    ]


def test_samples_are_those_that_were_taken() -> None:
    assert cost.samples_of(HISTOGRAM) == 2500
    assert cost.samples_of(PLAIN) == 500
    assert cost.samples_of(OURS) == 2500
    with pytest.raises(term.LabError, match="no count"):
        cost.samples_of("WARN: nothing\n")
    # Samples that are missing were not slept for: such a run is no measure of a sample.
    with pytest.raises(term.LabError, match="no count"):
        cost.samples_of(OURS.replace("       0  3.1", "      12  3.1"))


def test_the_start_of_a_program_is_not_in_it() -> None:
    row = cost.costs(_found())[0]
    assert (row["user"], row["kernel"], row["total"], row["entries"]) == (200, 8800, 9000, 1)


@pytest.mark.parametrize(("ours", "met"), [(8999.0, True), (9000.0, True), (9001.0, False)])
def test_a_bar_that_is_missed_is_seen(ours: float, met: bool) -> None:
    rows = {row["name"]: row for row in cost.costs(_found(isolator=ours))}
    assert rows["isolator"]["met"] is met and rows["isolator-fixed"]["met"]
    assert rows["cyclictest"]["met"] is None
    assert ("exceeded: isolator" in cost.table(list(rows.values()))) is not met


def test_runs_alternate() -> None:
    runs = cost.plan(2)
    half = len(runs) // 2
    assert [(r.case, r.samples) for r in runs[:half]] == [
        (r.case, r.samples) for r in reversed(runs[half:])]
    assert len({r.window for r in runs}) == len(runs)
    text = cost.job(runs)
    assert all(f"mark begin {r.window};" in text and r.name in text for r in runs)


def test_a_run_that_failed_is_an_error() -> None:
    runs = cost.plan(1)
    events = [{"event": "run", "name": r.name, "exit": 0, "out": PLAIN} for r in runs]
    with pytest.raises(term.LabError, match="window is missing"):
        cost.windows(runs, Outcome(events=events))
    events[0]["exit"] = 1
    with pytest.raises(term.LabError, match="failed"):
        cost.windows(runs, Outcome(events=events))


@pytest.mark.parametrize(("looks", "met"), [(8000.0, True), (9000.0, False)])
def test_a_look_of_a_quiet_section_is_told_from_its_loop(looks: float, met: bool) -> None:
    kernel = {"section-none": 500.0, "section": 2000.0, "section-blanks": 5000.0,
              "section-looks": looks}
    costs = {"isolator": {case: {"kernel": {"least": n}} for case, n in kernel.items()}}
    found = kernel_cost.section(costs)
    assert found["enter_leave"] == 1500 and found["met"] is met
    assert found["look"] == (looks - 5000) / 1000


@pytest.mark.parametrize("arch", kernel_cost.HEAVY)
def test_a_goal_counts_what_is_costly_on_its_machine(arch: str) -> None:
    """The observer counts nothing of the other machine's, and 0 against 0 would tell nothing."""
    heavy = kernel_cost.HEAVY[arch]
    case = {"kernel": {"median": 100.0, "least": 100.0}, **{k: {"median": 1.0} for k in heavy}}
    names = ("getpid", "switch", "getpid-isolated", "flip", "flip-isolated")
    costs = {boot.name: dict.fromkeys(names, case) for boot in kernel_cost.BOOTS}
    for goal in kernel_cost._compare(costs, heavy):
        assert set(goal["heavy"]) == set(heavy)
        assert goal["ratio"] == 1 and goal["met"] in (None, True)
