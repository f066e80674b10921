# SPDX-License-Identifier: GPL-2.0-or-later
"""What is undone of a change that somebody has changed since."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path

import pytest
from clitest import PATIENCE_S
from runtest import (
    GOVERNOR,
    IRQ,
    NUMA,
    SHELL,
    STOCK,
    Lay,
    cleared,
    files,
    restore,
    running,
    states,
    tree,
)
from waiting import until

ALLOWED = "/proc/isolator/cpus"
WORK_CPUS = "/sys/devices/virtual/workqueue/cpumask"
LIMITS = "deadline_ns 1000000000\nspin_ns 100000000\nperf refuse\nmsr refuse\n"


def configure(program: Path, root: Path, *arguments: str) -> None:
    """As isolator.service does, also to isolated CPUs."""
    subprocess.run([program, "configure", "--root", root, *arguments], check=True,
                   stdout=subprocess.DEVNULL, timeout=PATIENCE_S)


@pytest.mark.parametrize(("before", "rules_now", "written", "after", "kept"), [
    ("2\n", "", None, "2\n", 0),             # nothing has come between
    ("2\n", "cpus = 3\n", None, "3\n", 1),   # CPU 2 is revoked, CPU 3 allowed
    ("2\n", "cpus = 1-3\n", None, "1-3\n", 1),
    ("2\n", "cpus = 2-3\n", None, "2-3\n", 1),  # which the list was already
    ("2\n", "cpus = 1-2\n", None, "1-2\n", 0),
    ("2\n", "cpus = 3\n", "1,3\n", "1,3\n", 1),  # and by hand after that
    ("2\n", "", "1-3\n", "1-2\n", 0),
    ("2\n", "", "\n", "\n", 0),              # all are revoked
    ("\n", "", "1,3\n", "1\n", 0)])
def test_only_what_was_added(kernel: Path, rules: Path, lay: Lay, before: str, rules_now: str,
                             written: str | None, after: str, kept: int) -> None:
    """Revoked CPUs are not allowed again, and those that are allowed since stay."""
    root = lay({**files(), ALLOWED: before, "/proc/isolator/limits": LIMITS,
                f"{SHELL}/comm": "bash\n"})
    was = cleared(root)
    subprocess.run([kernel, "attach", "311", "-c", "3", "--root", root], check=True,
                   stdout=subprocess.DEVNULL)
    assert "3" in (root / ALLOWED[1:]).read_text()
    if rules_now:
        (root / "etc").mkdir(exist_ok=True)
        (root / "etc/isolator.conf").write_text(rules_now)
        configure(rules, root, "--force")
    if written is not None:
        (root / ALLOWED[1:]).write_text(written)
    done = subprocess.run([kernel, "detach", "311", "--root", root], capture_output=True, text=True,
                          check=True)
    assert (root / ALLOWED[1:]).read_text() == after
    assert (f"{ALLOWED}: CPU 3 stays there: isolator configure has allowed it since" in
            " ".join(done.stderr.split())) == bool(kept)
    now = cleared(root)
    assert {p for p in now if now[p] != was.get(p)} <= {ALLOWED, "/etc/isolator.conf"}


def test_what_a_service_allowed_is_told_to_all(kernel: Path, rules: Path, lay: Lay) -> None:
    """Also to a journal that waits for a run, and to one that a crash has cut off."""
    root = lay({**files(), ALLOWED: "0\n", "/proc/isolator/limits": LIMITS,
                "/etc/isolator.conf": "cpus = 0-1,3\n"})
    with running(kernel, root, cpu="3", seconds=600) as one, \
            running(kernel, root, cpu="2") as two:
        assert (root / ALLOWED[1:]).read_text() == "0,2-3\n"
        one.kill()
        one.wait(PATIENCE_S)
        with (root / "run/isolator/run.1").open("a") as journal:
            journal.write("change\t/proc/x\tte")
        configure(rules, root, "--force")
        two.terminate()
        two.wait(PATIENCE_S)
    document = restore(kernel, root)
    assert (root / ALLOWED[1:]).read_text() == "0-1,3\n" and document["failures"] == []
    assert not (root / "run/isolator").exists()


def test_what_a_service_allowed_outlasts_a_failure(
    stubborn: Path, lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is noted as long as the change is."""
    lines = (f"change\t{ALLOWED}\tadded 3-4\t\\012\n", f"allowed\t{ALLOWED}\t3\t-\n")
    root = lay({**STOCK, ALLOWED: "3-4\n",
                "/run/isolator/journal": f"isolator-journal 1\n{''.join(lines)}"})
    monkeypatch.setenv("DENIED", ALLOWED)
    assert restore(stubborn, root, code=1)["failures"]
    assert (root / "run/isolator/journal").read_text() == f"isolator-journal 1\n{''.join(lines)}"
    monkeypatch.delenv("DENIED")
    assert restore(stubborn, root)["failures"] == []
    assert (root / ALLOWED[1:]).read_text() == "3\n" and not (root / "run/isolator").exists()


def test_a_service_that_cannot_note_what_it_allows(rules: Path, lay: Lay) -> None:
    """Whoever undoes that journal would take the CPU out again: nothing is changed."""
    root = lay({**files(), ALLOWED: "2\n", "/proc/isolator/limits": LIMITS,
                "/etc/isolator.conf": "cpus = 2-3\n"})
    (root / "run/isolator/run.7").mkdir(parents=True)
    done = subprocess.run([rules, "configure", "--root", root], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S)
    assert done.returncode == 1 and "run.7: Is a directory" in " ".join(done.stderr.split())
    assert (root / ALLOWED[1:]).read_text() == "2\n"


def test_a_service_allows_nothing_amid_an_undo(rules: Path, lay: Lay) -> None:
    """Who undoes has the journals locked; what is then written is noted in what it leaves."""
    root = lay({**files(), ALLOWED: "2\n", "/proc/isolator/limits": LIMITS,
                "/etc/isolator.conf": "cpus = 2-3\n", "/run/isolator/journal":
                f"isolator-journal 1\nchange\t{ALLOWED}\tadded 3\t2\\012\n"})
    directory = os.open(root / "run/isolator", os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    with subprocess.Popen([rules, "configure", "--root", root],
                          stdout=subprocess.DEVNULL) as process:
        assert until(lambda: f"-> FLOCK  ADVISORY  WRITE {process.pid} " in
                     Path("/proc/locks").read_text())
        assert (root / ALLOWED[1:]).read_text() == "2\n"
        os.close(directory)
        assert process.wait(PATIENCE_S) == 0
    assert (root / ALLOWED[1:]).read_text() == "2-3\n"
    assert (root / "run/isolator/journal").read_text().endswith(f"allowed\t{ALLOWED}\t2-3\t-\n")


@pytest.mark.parametrize("how", ["TERM", "KILL"])
def test_what_others_have_set_stays(isolator: Path, lay: Lay, how: str) -> None:
    """It is named, and no longer noted; all else is put back."""
    root = lay(STOCK)
    before = tree(root)
    with running(isolator, root) as process:
        (root / NUMA[1:]).write_text("2\n")
        (root / GOVERNOR.format(3)[1:]).write_text("ondemand\n")
        process.send_signal(signal.Signals[f"SIG{how}"])
        said = process.communicate(timeout=PATIENCE_S)[1]
    if how == "KILL":
        document = restore(isolator, root)
        said = document["said"]
        assert states(document) == [("run.1", "restored")]
        assert document["journals"][0]["kept"] == 2 and document["journals"][0]["restored"] > 10
    words = " ".join(said.split())
    assert f'{NUMA}: somebody has set it to "2" since, and so it stays; before it was "1"' in words
    assert f'{GOVERNOR.format(3)}: somebody has set it to "ondemand" since' in words
    assert "something was not restored" not in words
    now = tree(root)
    assert {p for p in now if now[p] != before.get(p)} == {NUMA, GOVERNOR.format(3)}


def test_settings_that_two_runs_have(isolator: Path, lay: Lay) -> None:
    """What the second one has found as the first one set it is nobody's but that one's."""
    root = lay(STOCK)
    before = tree(root)
    with running(isolator, root, cpu="3") as one, running(isolator, root, cpu="2") as two:
        (root / NUMA[1:]).write_text("2\n")
        two.terminate()
        assert NUMA not in two.communicate(timeout=PATIENCE_S)[1]
        one.terminate()
        assert one.communicate(timeout=PATIENCE_S)[1].count(f"{NUMA}: somebody") == 1
    now = tree(root)
    assert {p for p in now if now[p] != before.get(p)} == {NUMA}


@pytest.mark.parametrize(("asked", "after"), [("d", "f"), ("5", "5"), ("0", "0")])
@pytest.mark.parametrize("shows", ["5", "d"])
def test_cpus_that_the_kernel_takes_out(
    isolator: Path, lay: Lay, asked: str, after: str, shows: str
) -> None:
    """Of an isolated partition: nobody has set that, and the kernel says what it was asked for."""
    root = lay({**STOCK, WORK_CPUS: f"{shows}\n", f"{WORK_CPUS}_requested": f"{asked}\n",
                "/run/isolator/journal":
                f"isolator-journal 1\nchange\t{WORK_CPUS}\tmask d\tf\\012\n"})
    assert states(restore(isolator, root)) == [("journal", "restored")]
    assert (root / f"{WORK_CPUS}_requested"[1:]).read_text() == f"{after}\n"


@pytest.mark.parametrize(("path", "kind", "wrote", "before", "now"), [
    (IRQ, "list", "0-2", "0-3", "1"), (WORK_CPUS, "mask", "d", "f", "5"),
    ("/sys/class/net/eth0/queues/rx-0/rps_cpus", "mask", "7", "f", "0"),
])
def test_fewer_cpus_are_somebodys(
    isolator: Path, lay: Lay, path: str, kind: str, wrote: str, before: str, now: str
) -> None:
    root = lay({**STOCK, path: f"{now}\n", "/run/isolator/journal":
                f"isolator-journal 1\nchange\t{path}\t{kind} {wrote}\t{before}\\012\n"})
    document = restore(isolator, root)
    assert states(document) == [("journal", "restored")] and document["journals"][0]["kept"] == 1
    assert f"{path}: somebody has set it" in " ".join(document["said"].split())
    assert (root / path[1:]).read_text() == f"{now}\n"


def test_notes_of_an_earlier_version(isolator: Path, lay: Lay) -> None:
    """They say what to write, and not what was set: that is written."""
    root = lay({**STOCK, IRQ: "0\n", "/run/isolator/journal":
                f"isolator-journal 1\nset\t{IRQ}\t0-3\t0-3\\012\n"})
    assert states(restore(isolator, root)) == [("journal", "restored")]
    assert (root / IRQ[1:]).read_text() == "0-3\n"


@pytest.mark.parametrize("line", ["change\t/proc/x\t0-3\t0-3", "change\t/proc/x\tadded x\t0-3",
                                  "allowed\t/proc/x\tx\t-"])
def test_damaged_lines(isolator: Path, lay: Lay, line: str) -> None:
    """They stay, and are named."""
    root = lay({**STOCK, "/run/isolator/journal": f"isolator-journal 1\n{line}\n"})
    assert "a line of it is damaged" in restore(isolator, root, code=1)["said"].replace("\n", " ")
