# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator prove on this machine, which it does not change; doubles are in spin.c."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from clitest import PATIENCE_S, ROOT, Build, Terminal, closed, valid
from processes import gone
from waiting import until

CPU = max(os.sched_getaffinity(0))
CODES = {"quiet": 0, "not quiet": 2, "inconclusive": 3, "skipped": 77}


def _start(isolator: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([isolator, "prove", "--plain", "-c", str(CPU), *arguments],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _seconds(pid: int) -> float:
    """How long @pid was in user mode."""
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])
    return ticks / os.sysconf("SC_CLK_TCK")


def _spinner(pid: int) -> int:
    """The process that @pid has put on the CPU, once it is well in its window."""
    def found() -> int:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children and _seconds(int(children[0])) > 1 else 0

    spinner = until(found)
    assert os.sched_getaffinity(spinner) == {CPU}
    return spinner


@pytest.fixture
def spinners() -> Iterator[list[int]]:
    """To be filled with those that would spin on if a test fails."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _settings() -> list[object]:
    """What of this process and of the machine it must not touch."""
    paths = [*Path("/proc/irq").glob("*/smp_affinity"), *Path("/proc/sys/kernel").glob("sched_*"),
             Path("/proc/sys/kernel/perf_event_paranoid"), Path("/proc/sys/kernel/nmi_watchdog")]
    return [os.sched_getaffinity(0), os.sched_getscheduler(0), os.nice(0),
            {path: path.read_bytes() for path in paths if path.is_file()}]


def test_one_second(isolator: Path) -> None:
    """A verdict, a valid record, nothing changed."""
    before = _settings()
    process = _start(isolator, "-t", "1", "--json")
    out, error = process.communicate(timeout=PATIENCE_S)
    assert not error and _settings() == before
    document = valid("prove", out)
    assert process.returncode == document["exit"] == CODES[document["verdict"]]
    # No machine that runs tests is quiet without isolation, unless it was made so.
    assert document["verdict"] != "skipped" and document["words"].startswith(document["verdict"])
    assert 0.9 < document["seconds"] < PATIENCE_S and not document["early"]
    assert document["how"] in ("fifo", "nice", "ordinary") and document["isolation"] is None
    assert 0 < document["gaps"]["least_ns"] <= document["gaps"]["longest_ns"]
    states = {i["name"]: i["state"] for i in document["instruments"]}
    assert states["Isolator"] == "absent"
    for name in ("interrupts", "page faults", "context switches", "gaps"):
        assert states[name] == "counts", (name, document["instruments"])
    for instrument in document["instruments"]:
        if instrument["state"] == "counts":
            assert instrument["before"] > 0 and instrument["after"] > 0
        for key in ("before", "after"):
            assert instrument[key] == sum(c[key] for c in instrument["classes"])


def test_a_sleep_without_a_switch(build: Build) -> None:
    """The deliberate switch is made all the same: the instrument was seen to count."""
    hasty = build("hasty", ("fakes/early_wakeup.c",), "-Wl,--wrap=nanosleep")
    process = _start(hasty, "-t", "0.1", "--json")
    document = valid("prove", process.communicate(timeout=PATIENCE_S)[0])
    [switches] = [i for i in document["instruments"] if i["name"] == "context switches"]
    assert switches["state"] == "counts" and switches["before"] > 0 and switches["after"] > 0


def test_interrupts_are_those_of_the_kernel(isolator: Path) -> None:
    """No more than /proc/interrupts counts from before to after the command."""
    def count() -> int:
        lines = Path("/proc/interrupts").read_text().splitlines()
        column = lines[0].split().index(f"CPU{CPU}")
        return sum(int(line.split()[column + 1]) for line in lines[1:]
                   if len(line.split()) > column + 1 and line.split()[column + 1].isdigit()
                   and line.split()[0] not in ("ERR:", "MIS:"))
    before = count()
    out, _ = _start(isolator, "-t", "0.5", "--json").communicate(timeout=PATIENCE_S)
    most = count() - before
    one = next(i for i in valid("prove", out)["instruments"] if i["name"] == "interrupts")
    assert one["before"] + one["window"] + one["after"] <= most
    assert {"window", "before", "after"} <= set(one["classes"][0])


def test_schema_is_closed(isolator: Path) -> None:
    """A key that is missing or unknown is not valid."""
    out, _ = _start(isolator, "-t", "0.1", "--json").communicate(timeout=PATIENCE_S)
    closed("prove", valid("prove", out))


def test_last_line_is_the_verdict(isolator: Path) -> None:
    """As text: a line for each instrument, the verdict last, without a terminal no colour."""
    process = _start(isolator, "-t", "0.2")
    out, error = process.communicate(timeout=PATIENCE_S)
    last = out.splitlines()[-1]
    verdict = next(v for v in CODES if last.startswith(f"{v}: CPU {CPU}, "))
    assert process.returncode == CODES[verdict] and "\033" not in out + error
    assert "not isolated, by --plain" in out.splitlines()[0]
    assert len(last) <= 100
    for name in ("interrupts", "softirqs", "kernel instructions", "SMI", "gaps"):
        assert any(line.startswith(f"  {name} ") for line in out.splitlines())


@pytest.mark.parametrize(("wrong", "why"), [
    (["-c", "8191"], "-c: 8191 not online; online are "),
    (["-c", "0-1"], "-c: give one CPU; run isolator prove once for each"),
    (["-c", str(CPU), "--threshold", "1001ms"], "--threshold: at most 1s")])
def test_wrong_words(isolator: Path, wrong: list[str], why: str) -> None:
    """Said before anything is put on a CPU."""
    done = subprocess.run([isolator, "prove", *wrong], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S)
    assert done.returncode == 1 and not done.stdout
    assert " ".join(done.stderr.split()).startswith(f"isolator prove: {why}")


def test_a_threshold_makes_gaps_decide(isolator: Path) -> None:
    """Given, a pause above it is one that came, also in a virtual machine."""
    out, _ = _start(isolator, "-t", "0.5", "--json",
                    "--threshold", "1").communicate(timeout=PATIENCE_S)
    document = valid("prove", out)
    gaps = next(i for i in document["instruments"] if i["name"] == "gaps")
    assert gaps["state"] == "counts" and gaps["note"] is None
    assert document["gaps"]["threshold_ns"] == 1000
    assert gaps["window"] == document["gaps"]["count"]
    assert gaps["saw"] == (gaps["window"] > 0)


def test_interrupted(isolator: Path) -> None:
    """Ctrl-C ends the window, and what was seen still gets its verdict."""
    process = _start(isolator, "-t", "600", "--json")
    spinner = _spinner(process.pid)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=PATIENCE_S)
    document = valid("prove", out)
    assert document["early"] and document["seconds"] < PATIENCE_S and not error
    assert process.returncode == document["exit"] and gone(spinner, PATIENCE_S)


def test_killed(isolator: Path, spinners: list[int]) -> None:
    """The spinner does not outlive who watches."""
    process = _start(isolator, "-t", "600")
    spinners.append(_spinner(process.pid))
    process.kill()
    process.wait()
    assert gone(spinners[0], PATIENCE_S)
    spinners.clear()


def test_spinner_killed(isolator: Path) -> None:
    """That is an error, said."""
    process = _start(isolator, "-t", "600")
    os.kill(_spinner(process.pid), signal.SIGKILL)
    _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1 and "killed by signal 9" in error


def test_another_affinity(isolator: Path) -> None:
    """Bound to the CPU itself it cannot watch, and says so."""
    done = subprocess.run(["taskset", "-c", str(CPU), isolator, "prove", "--plain", "-c",
                           str(CPU)], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "must watch from another" in " ".join(done.stderr.split())


def test_isolator_that_does_not_isolate(isolator: Path, laid_out: Path) -> None:
    """Where there is a kernel with Isolator, that it cannot isolate is an error."""
    if Path("/dev/isolator").exists():
        pytest.skip("this kernel has Isolator, and may well isolate")
    done = subprocess.run([isolator, "prove", "-c", str(CPU), "--proc", laid_out / "busy"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cannot isolate CPU" in done.stderr


def test_progress(isolator: Path) -> None:
    """On a terminal the time that passed is shown, and is gone when the verdict comes."""
    terminal = Terminal(24, 200, {"TERM": "xterm", "NO_COLOR": "1"}, isolator, "prove", "--plain",
                        "-c", str(CPU), "-t", "600")
    terminal.until("s\033[K")
    assert f"CPU {CPU}: 1 of 600 s" in terminal.text
    assert terminal.end(b"\x03") in CODES.values()
    assert terminal.text.rindex("\r\033[K") < terminal.text.rindex(" s in user mode")
    assert terminal.after == terminal.before


def test_others_are_warned_of(isolator: Path) -> None:
    """Before it begins: a thread that never sleeps keeps others from the CPU, where it may."""
    for words, told in ((["-t", "0.1"], ROOT), (["-t", "0.1", "--json"], False)):
        process = _start(isolator, *words)
        _, error = process.communicate(timeout=PATIENCE_S)
        warning = f"a SCHED_FIFO thread takes CPU {CPU} for 0.1 s: tasks that are bound to it wait"
        assert (warning in " ".join(error.split())) == told
