# SPDX-License-Identifier: GPL-2.0-or-later
"""Windows around unmodified programs: what the observer counted beside what the test says."""

import json
from typing import Any

import pytest
from isolab.guests.kernel import KICK
from isolab.judge import windows

OWN = {"entry_SYSCALL_64": 7, "exc_page_fault": 2}


def claim(number: int, **more: object) -> str:
    values = {"window": number, "name": f"p{number}", "ticked_by": "batch", "least": 0, "most": 3,
              "by": None, "least_user": 1000, "planned": 3, **more}
    return f"# window {json.dumps(values)}\n"


def window(**more: object) -> dict[str, Any]:
    return {"seconds": 6.04, "entries_by_vector": {**OWN, "sysvec_reschedule_ipi": 3},
            "user_instructions_per_second_min": 5_000_000, "probes": 10, "probes_seen": 10,
            "kicks_of_others": 0, **more}


def test_what_is_expected_is_found() -> None:
    out = "ok 1 - something\n" + claim(1) + claim(2, least=1, most=None)
    end = {"asked_in_vain": 0}
    rows, bad = windows.judge(2, out, {1: window(), 2: window()}, end)
    assert not bad
    assert rows[0]["interruptions"] == 3 and rows[0]["system_calls"] == 7
    assert rows[0]["page_faults"] == 2 and rows[0]["vectors"] == "reschedule_ipi 3"
    head, first, _ = windows.table(rows)
    assert head.startswith("program") and first.split()[:3] == ["p1", "batch", "6.0"]


def broken(expected: int = 1, out: str | None = None, vain: int = 0, **more: object) -> list[str]:
    return windows.judge(expected, claim(1) if out is None else out, {1: window(**more)},
                         {"asked_in_vain": vain})[1]


def test_each_guard() -> None:
    assert broken() == []
    one_more = {**OWN, "sysvec_reschedule_ipi": 3, "sysvec_apic_timer_interrupt": 1}
    (text,) = broken(entries_by_vector=one_more)
    assert "p1: 4 interruptions, not at most 3: " in text and "apic_timer_interrupt 1" in text
    assert "not at least 5" in broken(out=claim(1, least=5, most=None))[0]
    # Planned ones come by one vector: as many of another are not what was planned.
    assert broken(out=claim(1, by="sysvec_reschedule_ipi")) == []
    (text,) = broken(out=claim(1, by="sysvec_call_function_single"))
    assert "other than sysvec_call_function_single: {'sysvec_reschedule_ipi': 3}" in text
    # Those that were planned but found a system call do not pay for as many that were not.
    kick = claim(1, by=KICK, most=101)
    kicked = {**OWN, KICK: 3}
    assert broken(out=kick, entries_by_vector=kicked) == []
    (text,) = broken(out=kick, entries_by_vector=kicked, kicks_of_others=1)
    assert text == "p1: 1 calls of other CPUs that Isolator did not send, not 0"
    assert "None calls of" in broken(out=kick, entries_by_vector=kicked, kicks_of_others=None)[0]
    assert broken(out=claim(1), kicks_of_others=7) == []
    control = claim(1, least_others=1)
    assert broken(out=control, kicks_of_others=1) == []
    assert "of other senders, not at least 1" in broken(out=control)[0]
    assert "of other senders, not at least 1" in broken(out=control, kicks_of_others=None)[0]
    assert broken(misplaced=0) == []
    assert broken(misplaced=3) == ["p1: 3 ways into the kernel lead by no slot of its vectors"]
    # An exception that is no page fault is nothing that a program asks for.
    assert broken(entries_by_vector={"exc_general_protection": 4})
    assert "2 page faults, not at most 1" in broken(out=claim(1, most_faults=1))[0]
    assert broken(out=claim(1, most_faults=2)) == []
    assert "did not take 1 marks" in broken(vain=1)[0]
    assert "missed probes: 9 of 10" in broken(probes_seen=9)[0]
    assert "missed probes: 0 of 0" in broken(probes=0, probes_seen=0)[0]
    assert "with 999 user" in broken(user_instructions_per_second_min=999)[0]
    assert "with None user" in broken(user_instructions_per_second_min=None)[0]
    assert "1 windows, not 2" in broken(expected=2)[0]
    assert "0 windows, not 1" in broken(out="ok 1 - fine\n")[0]
    assert "saw no window 2" in broken(out=claim(2))[0]


@pytest.mark.parametrize("own", [OWN, {"el0_svc": 7, "el0_da": 1, "el0_ia": 1}])
def test_each_machine_has_entries_that_the_program_makes_itself(own: dict[str, int]) -> None:
    """Also where a test says nothing of who may interrupt, as that of the packages."""
    out = claim(1, most=0)
    said = json.loads(out.removeprefix("# window "))
    del said["by"]
    out = f"# window {json.dumps(said)}\n"
    rows, bad = windows.judge(1, out, {1: window(entries_by_vector=own)}, None)
    assert not bad
    assert (rows[0]["interruptions"], rows[0]["system_calls"], rows[0]["page_faults"]) == (0, 7, 2)
    assert broken(out=out, entries_by_vector={**own, "ipi_handler": 1})
