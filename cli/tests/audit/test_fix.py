# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator audit --fix, the journal and its undo."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audittest import CPU, EVENTS, GOVERNOR, IRQ, LEFT, THP, WRONG, Lay, audit, outcomes
from clitest import NOBODY
from runtest import tree

FIXED = {GOVERNOR: "performance\n", THP: "madvise\n", IRQ: "0\n", EVENTS: "\n",
         "/proc/isolator/cpus": "1-3\n", "/sys/kernel/tracing/kprobe_events": "\n"}


Restore = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def restore(isolator: Path) -> Restore:
    """Puts back what journals note."""

    def run(root: Path, program: Path = isolator, code: int = 0,
            **how: Any) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([program, "restore", "--root", root], check=False, text=True,
                              capture_output=True, **how)
        assert done.returncode == code, done.stderr
        return done

    return run


def journal(root: Path) -> list[list[str]]:
    """Its lines, in fields."""
    lines = (root / "run/isolator/journal").read_text().splitlines()
    assert lines[0] == "isolator-journal 1"
    return [line.split("\t") for line in lines[1:]]


def test_fix_and_undo(isolator: Path, restore: Restore, lay: Lay) -> None:
    """All that a write mends is mended, noted, and put back to the byte."""
    root = lay({**WRONG, **LEFT})
    before = tree(root)
    document = audit(isolator, root, "--fix")
    assert outcomes(document) == {**dict.fromkeys(WRONG, "fixed"), "/proc/self/limits": None}
    assert document["code"] == 2
    after = tree(root)
    assert {p: after[p][0].decode() for p in FIXED} == FIXED
    assert set(after) - set(before) == {"/run/isolator/journal"}
    assert {p for p in before if before[p] != after[p]} == set(FIXED)
    lines = journal(root)
    assert [line[0] for line in lines] == ["change"] * len(WRONG)
    noted = {line[1]: line[2:] for line in lines}
    assert noted[GOVERNOR] == ["text performance", "powersave\\012"]
    assert noted[THP] == ["choice madvise", "[always] defer madvise never\\012"]
    assert noted[EVENTS] == ["text ", "sched:sched_switch\\012irq:irq_handler_entry\\012"]
    assert (root / "run/isolator").stat().st_mode & 0o777 == 0o700
    # Mended, it has nothing more to do, and does not touch the journal.
    again = audit(isolator, root, "--fix")
    assert outcomes(again) == {"/proc/self/limits": None} and tree(root) == after
    restore(root)
    assert tree(root) == before and not (root / "run/isolator").exists()
    restore(root)
    assert tree(root) == before


def test_fix_twice(isolator: Path, restore: Restore, lay: Lay) -> None:
    """What somebody has chosen between the two is put back, and no older value after it."""
    root = lay({GOVERNOR: "powersave\n"})
    audit(isolator, root, "--fix")
    (root / GOVERNOR[1:]).write_text("ondemand\n")
    assert audit(isolator, root, "--fix")["code"] == 0
    assert [line[3] for line in journal(root)] == ["powersave\\012", "ondemand\\012"]
    assert f'{GOVERNOR}: somebody has set it to "ondemand" since' in restore(root).stderr
    assert (root / GOVERNOR[1:]).read_text() == "ondemand\n"
    assert not (root / "run/isolator").exists()


def test_reason_of_a_refusal(stubborn: Path, lay: Lay) -> None:
    """It stands there to its end, where it says what helps."""
    root = lay({IRQ: "0-3\n"})
    done = subprocess.run([stubborn, "audit", "--fix", "--severity", "info", "--root", root],
                          text=True, check=False, capture_output=True,
                          env={**os.environ, "REFUSED": IRQ})
    assert "boot with isolcpus=managed_irq and these CPUs" in " ".join(done.stdout.split())


def test_fix_nothing(isolator: Path, lay: Lay) -> None:
    """Where nothing is to be mended there is no journal; notes are not mended unasked."""
    root = lay({f"{CPU}/intel_pstate/no_turbo": "0\n"})
    before = tree(root)
    assert outcomes(audit(isolator, root, "--fix")) == {f"{CPU}/intel_pstate/no_turbo": None}
    assert tree(root) == before and not (root / "run").exists()
    document = audit(isolator, root, "--fix", "--severity", "info")
    assert document["code"] == 0 and document["findings"][0]["outcome"] == "fixed"


@pytest.mark.parametrize(("variable", "outcome", "now", "noted"), [
    ("IGNORED", "ignored", "powersave\n", 0), ("OTHER", "ignored", "7\n", 2),
    ("REFUSED", "refused", "Input/output error", 0)])
def test_setting_that_does_not_stick(
        stubborn: Path, restore: Restore, lay: Lay, variable: str, outcome: str, now: str,
        noted: int) -> None:
    """It is reported, and only what changed is noted."""
    root = lay({GOVERNOR: "powersave\n"})
    before = tree(root)
    document = audit(stubborn, root, "--fix", env={**os.environ, variable: GOVERNOR})
    assert document["code"] == 2 and outcomes(document) == {GOVERNOR: outcome}
    assert document["findings"][0]["now"] == now
    assert (root / "run/isolator/journal").exists() == bool(noted)
    assert not noted or len(journal(root)) == noted
    text = subprocess.run([stubborn, "audit", "--fix", "--root", root], text=True, check=False,
                          capture_output=True, env={**os.environ, variable: GOVERNOR}).stdout
    assert f"not fixed: {'' if variable == 'REFUSED' else 'it is still '}{now.strip()}\n" in text
    assert "\n1 setting not fixed; the reason is above, at each\n" in text
    restore(root)
    assert tree(root) == before


def test_undo_that_does_not_stick(isolator: Path, restore: Restore, stubborn: Path,
                                  lay: Lay) -> None:
    """It is reported, and stays noted until it does."""
    root = lay({GOVERNOR: "powersave\n", IRQ: "2\n"})
    before = tree(root)
    audit(isolator, root, "--fix")
    done = restore(root, stubborn, code=1, env={**os.environ, "IGNORED": GOVERNOR})
    assert "1 failed and still noted" in done.stdout
    assert f'{GOVERNOR} was set to "powersave" again, but shows "performance' in done.stderr
    assert [line[1] for line in journal(root)] == [GOVERNOR]
    assert (root / IRQ[1:]).read_text() == "2\n"
    restore(root)
    assert tree(root) == before


def test_managed_interrupt(stubborn: Path, lay: Lay) -> None:
    """A driver that keeps its interrupt is named as the reason."""
    document = audit(stubborn, lay({IRQ: "2\n"}), "--fix", env={**os.environ, "REFUSED": IRQ})
    assert "its driver manages it; boot with isolcpus=managed_irq" in document["findings"][0]["now"]


def test_fix_without_privilege(isolator: Path, lay: Lay) -> None:
    """A file that may not be written is reported; without a journal nothing is changed."""
    root = lay({GOVERNOR: "powersave\n"})
    before = tree(root)
    root.chmod(0o555)
    document = audit(isolator, root, "--fix", codes=(1,), **NOBODY)
    assert "nothing was changed: run it as root" in document["said"]
    assert outcomes(document)[GOVERNOR] is None and tree(root) == before
    os.chown(root, NOBODY["user"], NOBODY["group"])
    root.chmod(0o755)
    (root / GOVERNOR[1:]).chmod(0o444)
    document = audit(isolator, root, "--fix", **NOBODY)
    assert document["code"] == 2 and outcomes(document)[GOVERNOR] == "refused"
    finding = next(f for f in document["findings"] if f["path"] == GOVERNOR)
    assert finding["now"] == "Permission denied: run it as root"
    assert not (root / "run/isolator").exists()


def test_links_lead_nowhere(isolator: Path, restore: Restore, lay: Lay, tmp_path: Path) -> None:
    """Whatever links a capture holds: no file outside is read or written."""
    root = lay({GOVERNOR: None, IRQ: None})
    outside = tmp_path / "outside"
    outside.write_text("powersave\n")
    (root / GOVERNOR[1:]).symlink_to(outside)
    (root / IRQ[1:]).symlink_to("../" * 30 + str(outside)[1:])
    assert audit(isolator, root, "--fix", "--severity", "info")["findings"] == []
    (root / GOVERNOR[1:]).unlink()
    (root / GOVERNOR[1:]).write_text("powersave\n")
    (root / "run").symlink_to(tmp_path)
    assert audit(isolator, root, "--fix", codes=(1,))["code"] == 1
    assert outside.read_text() == (root / GOVERNOR[1:]).read_text() == "powersave\n"
    assert not (tmp_path / "isolator").exists()


def test_journal_is_one_at_a_time(isolator: Path, lay: Lay) -> None:
    """Two that change settings would note each other's."""
    root = lay({GOVERNOR: "powersave\n"})
    (root / "run/isolator").mkdir(parents=True)
    with (root / "run/isolator/journal").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        document = audit(isolator, root, "--fix", codes=(1,))
    assert "another isolator command is changing settings" in document["said"]
    assert (root / GOVERNOR[1:]).read_text() == "powersave\n"


@pytest.mark.parametrize("tail", ["set\t/proc/x\tol", "", "isolator-jour"])
def test_journal_that_a_crash_cut_off(isolator: Path, restore: Restore, lay: Lay,
                                      tail: str) -> None:
    """What was not noted whole was not changed: it is dropped, the rest put back."""
    root = lay({GOVERNOR: "powersave\n", IRQ: "2\n"})
    before = tree(root)
    path = root / "run/isolator/journal"
    if tail.startswith("isolator"):
        path.parent.mkdir(parents=True)
        path.write_text(tail)
    else:
        audit(isolator, root, "--fix")
        (root / IRQ[1:]).write_text("3\n")
        before[IRQ] = (b"3\n", before[IRQ][1])  # as somebody has it by now
        with path.open("a") as out:
            out.write(tail)
    audit(isolator, root, "--fix")
    assert all(len(line) == 4 for line in journal(root))
    restore(root)
    assert tree(root) == before


@pytest.mark.parametrize("text", [
    "isolator-journal 2\n", "something else\n", "isolator-journal 1\nset\0\n"])
def test_journal_of_another_kind(isolator: Path, restore: Restore, lay: Lay, text: str) -> None:
    """It is not touched, and nothing is changed without one."""
    root = lay({GOVERNOR: "powersave\n"})
    path = root / "run/isolator/journal"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert "move it away" in audit(isolator, root, "--fix", codes=(1,))["said"]
    assert "move it away" in " ".join(restore(root, code=1).stderr.split())
    assert path.read_text() == text and (root / GOVERNOR[1:]).read_text() == "powersave\n"


def test_journal_with_what_cannot_be_put_back(isolator: Path, restore: Restore, lay: Lay) -> None:
    """That stays, in its order; the rest is put back."""
    root = lay(WRONG)
    before = tree(root)
    audit(isolator, root, "--fix")
    lines = (root / "run/isolator/journal").read_text().splitlines(keepends=True)
    (root / EVENTS[1:]).unlink()
    lines[2:2] = ["set\t/a\\9\tb\tc\n", "frobnicate\t/x\ty\tz\n"]
    (root / "run/isolator/journal").write_text("".join(lines))
    done = restore(root, code=1)
    assert f"{EVENTS}: No such file" in done.stderr and "3 failed" in done.stdout
    left = (root / "run/isolator/journal").read_text().splitlines(keepends=True)
    assert left == [lines[0], lines[2], lines[3], next(x for x in lines if EVENTS in x)]
    have = tree(root)
    assert {p: v for p, v in before.items() if p != EVENTS} == {
        p: v for p, v in have.items() if not p.startswith("/run/")}
