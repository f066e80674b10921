# SPDX-License-Identifier: GPL-2.0-or-later
"""What isolab matrix makes of its boots: which cells, which are tried again, what is remembered."""

import json
from pathlib import Path
from typing import Any

import boots
import pytest
from boots import CAUSES, PAGE, clockless, good, hangs, of_job, other, panics, unseen
from isolab import header, hunt, term
from isolab.guests.guest import ENDED, Guest, Outcome
from isolab.judge import attempt, claims, jobs
from isolab.matrix import cells as matrixcells
from isolab.matrix import matrix
from test_attempt import oops

# More was deferred than any sender asked for.
UNACCOUNTED = CAUSES.replace("end cpu 1 total deferred 0", "end cpu 1 total deferred 9")


@pytest.fixture(name="boots")
def _boots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    return boots.planner(monkeypatch, tmp_path)


def mute(found: Outcome, name: str) -> Outcome:
    """The task stands still: the commands come back, with the word that it does not answer."""
    for e in found.events:
        if e["name"] == f"end.{name}":
            found.windows.pop(e["answer"]["window"])
            e["answer"] = {"error": "the spinning thread does not answer"}
    return found


def in_matrix(tmp_path: Path, column: str) -> tuple[list[Any], dict[str, Any]]:
    said = json.loads((tmp_path / "matrix.json").read_text())
    cells = {r["name"]: r["cells"][column] for r in said["rows"] if column in r["cells"]}
    return said["columns"][column]["attempts"], cells


@pytest.mark.parametrize("name", ["static-keys", "sibling-munmap"])
@pytest.mark.parametrize("what", [hangs, mute, unseen])
def test_matrix_fails_where_an_isolated_core_hangs(
    boots: Any, tmp_path: Path, name: str, what: Any
) -> None:
    """No window, no cell: that it came back in a later guest, or in none, excuses nothing."""

    def bad(guest: Guest) -> Outcome:
        return what(of_job(guest.job), name)

    for those in ([bad, good], [bad, bad, bad, bad, good], [bad]):
        boots(those)
        assert matrix.main([name], ["isolator"], ["rt"], False, False) == term.EXCEEDED
        attempts, cells = in_matrix(tmp_path, "isolator-rt")
        why = "window not closed" if what is unseen else "did not come back"
        assert attempts[0]["ended"].startswith(f"{name}: ") and why in attempts[0]["ended"]
        assert bool(cells) == (good in those)
        assert len(attempts) == (len(those) if good in those else attempt.MAX_BOOTS)


def test_matrix_tries_stock_again_where_it_hangs(boots: Any, tmp_path: Path) -> None:
    """What was measured before stays; of stock nothing is claimed by its end."""
    names = ["kprobe", "static-keys"]

    def bad(guest: Guest) -> Outcome:
        found = other(guest)
        return hangs(found, names[1]) if any(e["name"] == names[1] for e in found.events) else found

    boots([bad, other])
    assert matrix.main(names, ["stock"], ["rt"], False, False) == term.PASS
    attempts, cells = in_matrix(tmp_path, "stock-rt")
    assert [a["measured"] for a in attempts] == [1, 1] and not any(a["ended"] for a in attempts)
    boots([bad])
    assert matrix.main(names, ["stock"], ["rt"], False, False) == term.INCONCLUSIVE
    assert set(in_matrix(tmp_path, "stock-rt")[1]) == {names[0]}


def test_matrix_goes_on_after_what_did_not_come_back(boots: Any, tmp_path: Path) -> None:
    """Its cell says so, and nothing else is claimed of that guest."""
    names = ["kprobe", "static-keys"]

    def lost(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        for e in found.events:
            if e["name"] == names[0]:
                e["returned"] = False
        return found

    boots([lost, good])
    assert matrix.main(names, ["isolator"], ["rt"], False, False) == term.EXCEEDED
    attempts, cells = in_matrix(tmp_path, "isolator-rt")
    assert [a["measured"] for a in attempts] == [1, 1] and not any(a["ended"] for a in attempts)
    assert [cells[name]["returned"] for name in names] == [False, True]
    (claim,) = json.loads((tmp_path / "matrix.json").read_text())["broken"]
    assert "kprobe: did not come back" in claim


def test_matrix_forgets_no_boot_of_a_kernel_whose_cells_it_keeps(
    boots: Any, tmp_path: Path
) -> None:
    def interrupted(guest: Guest) -> Outcome:
        raise KeyboardInterrupt

    def measured(names: list[str], resume: bool = False) -> int:
        return matrix.main(names, ["isolator"], ["rt"], False, resume)

    boots([panics, interrupted])
    with pytest.raises(KeyboardInterrupt):
        measured(["kprobe", "static-keys"])
    boots([good])
    assert measured(["kprobe", "static-keys"], resume=True) == term.EXCEEDED
    assert len(in_matrix(tmp_path, "isolator-rt")[0]) == 2
    # One of the two again: the other cell stays, and what was seen when it was made.
    boots([good])
    assert measured(["kprobe"]) == term.EXCEEDED
    # All of them again: nothing is left of what was before.
    boots([good])
    assert measured(["kprobe", "static-keys"]) == term.PASS
    assert len(in_matrix(tmp_path, "isolator-rt")[0]) == 1
    # A cell that cannot be made again is not the old one.
    boots([clockless])
    assert measured(["kprobe"]) == term.INCONCLUSIVE
    assert set(in_matrix(tmp_path, "isolator-rt")[1]) == {"static-keys"}


@pytest.mark.parametrize(
    "told",
    [
        ("causes.static-keys", "out", UNACCOUNTED),
        ("causes.static-keys", "out", CAUSES.replace("longest_ns 0", "longest_ns 1600000000")),
        ("causes.static-keys", "out", CAUSES.replace("longest_ns 0", "")),
        ("end.static-keys", "answer", {**PAGE, "missed": 1, "window": jobs.TRIGGER}),
    ],
)
def test_matrix_judges_what_an_excused_boot_did_before(boots: Any, told: Any) -> None:
    name, key, value = told

    def bad(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        found.console, found.died = oops(), ENDED
        for e in found.events:
            if e["name"] == name:
                e[key] = value
        return found

    boots([bad, good])
    assert matrix.main(["static-keys"], ["isolator"], ["rt"], False, False) == term.EXCEEDED


AT_ONCE = "cpu 1 immediate kind call at_ns 9 waited_ns 0 callback nmi_cpu_backtrace caller f"
MISS = "cpu 1 deadline_miss kind call at_ns 9 waited_ns 1000000000 callback do_sync_core caller f"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{AT_ONCE}\n  f+0x1/0x2\n", None),
        (f"{AT_ONCE}\n{MISS}\n  g+0x1/0x2\n  h+0x3/0x4\n", f"{MISS}; g+0x1/0x2; h+0x3/0x4"),
        (None, "/proc/isolator/deliveries was not read"),
    ],
)
def test_matrix_wants_nothing_delivered_by_its_deadline_alone(
    boots: Any, tmp_path: Path, text: str | None, said: str | None
) -> None:
    """Between two windows, or in that of a row that may be interrupted: no cell shows it."""

    def told(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        for e in found.events:
            if e["name"] == "deliveries":
                e["text"] = text
        return found

    boots([told])
    code = matrix.main(["static-keys"], ["isolator"], ["rt"], False, False)
    assert code == (term.EXCEEDED if said else term.PASS)
    ((made,), of_row) = in_matrix(tmp_path, "isolator-rt")
    assert of_row["static-keys"]["misses"] == 0
    assert [text.endswith(said or "") for text in made["entered"]] == [True] * bool(said)


@pytest.mark.parametrize("inside", [True, False])
def test_matrix_has_a_miss_once(boots: Any, tmp_path: Path, inside: bool) -> None:
    """Of a window: as its trigger's, so that it is gone when that is measured again.

    Beside it: as the boot's, though the kernel's counts were read later, and have it.
    """

    def told(guest: Guest) -> Outcome:
        found = of_job(guest.job)
        for e in found.events:
            if e["name"] == "deliveries":
                e["text"] = f"{MISS}\n"
            if e["name"] == "causes.static-keys":
                begin, end = e["out"].split("end cpu", 1)
                e["out"] = f"{begin}end cpu{end.replace('missed 0', 'missed 1')}"
            if e["name"] == "end.static-keys":
                e["answer"] = {**e["answer"], "missed": int(inside)}
        return found

    boots([told])
    assert matrix.main(["static-keys"], ["isolator"], ["rt"], False, False) == term.EXCEEDED
    ((made,), of_row) = in_matrix(tmp_path, "isolator-rt")
    assert of_row["static-keys"]["misses"] == int(inside)
    assert [text.endswith(MISS) for text in made["entered"]] == [True] * (not inside)


@pytest.mark.parametrize("command", ["run", "matrix", "hunt"])
def test_what_was_asked_for_last_has_its_time_before_the_list_is_read(command: str) -> None:
    config = jobs.CONFIGS[-1]
    triggers = [t for t in header.triggers() if "run" in t.used_in][:2]
    job = {
        "run": lambda: jobs.job(config, triggers, 30.0),
        "matrix": lambda: matrixcells.job(config, triggers),
        "hunt": lambda: hunt._job([hunt.Slice("x", "true")] * 2),
    }[command]().splitlines()
    read = job.index("file deliveries /proc/isolator/deliveries")
    last = max(i for i, line in enumerate(job) if line.startswith("ctl end.") and i < read)
    ms = sum(int(line.split()[1]) for line in job[last:read] if line.startswith("sleep "))
    assert ms >= 1000 * claims.D_S + 200


def test_matrix_leaves_out_what_a_machine_lacks(boots: Any, tmp_path: Path) -> None:
    boots([good])
    names = ["static-keys", "mtrr-write"]
    assert matrix.main(names, ["isolator"], ["rt"], False, False, "arm64") == term.PASS
    said = json.loads((tmp_path / "matrix-arm64.json").read_text())
    assert said["arch"] == "arm64" and not (tmp_path / "matrix.json").exists()
    rows = {row["name"]: row for row in said["rows"]}
    assert set(rows["static-keys"]["cells"]) == {"isolator-rt"}
    assert not rows["static-keys"]["why_not"]
    (trigger,) = (t for t in header.triggers() if t.name == "mtrr-write")
    assert not rows["mtrr-write"]["cells"]
    assert rows["mtrr-write"]["why_not"] == f"arm64 lacks {trigger.needs}"
    cell = rows["static-keys"]["cells"]["isolator-rt"]
    assert cell["files"].startswith("matrix/arm64-isolator-rt-")
    # Of nothing nothing is claimed.
    with pytest.raises(term.LabError, match="nothing is left") as found:
        matrix.main(["mtrr-write"], ["isolator"], ["rt"], False, False, "arm64")
    assert found.value.code == term.SKIPPED
