# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator measure --with and --why: a load beside, and causes from the kernel's trace."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from clitest import NOBODY, PATIENCE_S, ROOT, flat, valid
from isolab.rivals import attribution
from processes import parents, worked
from waiting import until

CPU = max(os.sched_getaffinity(0))
# A load beside others must have worked in it, as the clock of CPU time has it.
LOADED_S = "5"


def _command(isolator: Path, *arguments: str) -> list[str | Path]:
    return [isolator, "measure", "latency", "-c", str(CPU), "--json", *arguments]


def _document(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return valid("measure", done.stdout)


def _measure(isolator: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    return _document(subprocess.run(_command(isolator, *arguments), capture_output=True, text=True,
                                    check=False, timeout=PATIENCE_S), code)


def _setting(document: dict[str, Any], name: str) -> dict[str, Any]:
    one: dict[str, Any] = next(s for s in document["settings"] if s["name"] == name)
    return one


def _children(pid: int) -> list[int]:
    """All that descend from @pid."""
    found = []
    for child, parent in parents().items():
        if parent == pid:
            found += [child, *_children(child)]
    return found


def _loaded(run: subprocess.Popen[str]) -> list[int]:
    """The keeper, and what it began, once that works and is measured beside."""
    def working() -> list[int]:
        children = _children(run.pid)
        # Before a load is ready nobody samples, and its end is an error.
        sampling = len(os.listdir(f"/proc/{run.pid}/task")) > 1
        return children if sampling and any(map(worked, children[1:])) else []

    return until(working, run.poll)


def test_a_load(isolator: Path) -> None:
    """A quiet part and a loaded one, of equal length, each whole."""
    document = _measure(isolator, "-t", "1", "--with", "cache:l1", "--limit", "max=10s")
    quiet, loaded = document["parts"]
    assert (quiet["name"], quiet["load"]) == ("quiet", None)
    assert (loaded["name"], loaded["load"]) == ("loaded", "cache:l1")
    for part in (quiet, loaded):
        assert part["series"][0]["complete"] and part["series"][0]["triggers"] > 4000
    assert _setting(document, "load")["held"] and document["verdict"] == "passed"
    assert document["attribution"] is None


def test_loads_that_cannot_be(isolator: Path) -> None:
    """One that does not exist is an error; one that cannot run here is a result."""
    done = subprocess.run(_command(isolator, "-t", "1", "--with", "nosuch"), capture_output=True,
                          text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 1 and "unknown load" in done.stderr and not done.stdout
    document = _measure(isolator, "-t", "1", "--with", "stress:nosuch", code=77)
    assert document["verdict"] == "skipped" and not document["parts"]
    done = subprocess.run(_command(isolator, "-t", "1", "--with-cpus", "0"), capture_output=True,
                          text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 1 and "--with-cpus needs --with" in done.stderr


def test_a_load_that_ends(isolator: Path) -> None:
    """Then the loaded part is none of that load's, whatever it measured."""
    run = subprocess.Popen(_command(isolator, "-t", LOADED_S, "--with", "cache:l1"), text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    children = _loaded(run)
    os.kill(children[-1], signal.SIGKILL)
    out, err = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 3, err
    document = valid("measure", out)
    assert document["verdict"] == "invalid" and "load cache:l1" in document["words"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_load_ends_too(isolator: Path, number: signal.Signals) -> None:
    """Whatever ends the command."""
    run = subprocess.Popen(_command(isolator, "-t", LOADED_S, "--with", "cache:l1"), text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    children = _loaded(run)
    run.send_signal(number)
    run.communicate(timeout=PATIENCE_S)
    until(lambda: not any(Path(f"/proc/{child}/fd").exists() for child in children))


def _with_causes(document: dict[str, Any]) -> None:
    """Skips only where nobody can have them; else the command must."""
    causes = _setting(document, "causes")
    if not causes["held"]:
        if not ROOT:
            pytest.skip("tracing is for root")
        _instances(0)
    assert causes["held"], causes["note"]


def test_causes(isolator: Path) -> None:
    """Each outlier counts, the worst have their causes, and the report has the cost of looking."""
    document = _measure(isolator, "-t", "3", "--period", "8ms", "--why", "1us")
    _with_causes(document)
    found = document["attribution"]
    assert found["source"] == "tracefs" and found["threshold_ns"] == 1000
    series = document["parts"][0]["series"][0]
    # All of them are above, or nearly: nobody wakes up in 1 us here.
    assert series["samples"] / 2 < found["seen"] <= series["triggers"]
    assert found["looked"] == found["seen"]
    overhead = found["overhead"]
    # Half a second of it without before, and half after: neither is of the run.
    assert document["seconds"] >= 2.9 and series["triggers"] < 440
    assert overhead["on_p50_ns"] > 0 and overhead["off_p99_ns"] >= overhead["off_p50_ns"] > 0
    assert len(document["parts"]) == 1
    # The list of the largest leads to them.
    places = [value["outlier"] for value in series["top"] if value["outlier"] is not None]
    assert places
    for value in series["top"]:
        if value["outlier"] is not None:
            outlier = found["outliers"][value["outlier"]]
            assert (outlier["trigger"], outlier["value_ns"]) == (
                value["trigger"], value["value_ns"])
    done = subprocess.run([isolator, "measure", "latency", "-c", str(CPU), "-t", "1", "--why",
                           "1us"], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert "looking for causes: p50" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("measured: ")


def test_the_worst_are_kept(isolator: Path) -> None:
    """As many as were asked for: none of those that were left out is longer."""
    document = _measure(isolator, "-t", "1", "--period", "4ms", "--why", "1us", "--worst", "8")
    _with_causes(document)
    found = document["attribution"]
    kept = [outlier["value_ns"] for outlier in found["outliers"]]
    assert len(kept) == 8 < found["looked"]
    top = [value["value_ns"] for value in document["parts"][0]["series"][0]["top"]]
    assert kept == top[:8]


@pytest.mark.parametrize(("options", "said"), [
    (["--worst", "5"], "--worst needs --why"),
    (["--why", "1us", "--worst", "65537"], "--worst: it must be from 1 to 65536"),
])
def test_the_worst_of_nothing(isolator: Path, options: list[str], said: str) -> None:
    done = subprocess.run([isolator, "measure", "latency", *options], capture_output=True,
                          text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 1 and said in flat(done.stderr)


def test_the_laboratory_asks_as_it_is_understood(isolator: Path, tmp_path: Path) -> None:
    """isolab attribution runs this command in a guest, where a wrong word costs all windows."""
    words = attribution.MEASURE.split()
    words = [str(isolator), *words[words.index("/lab/bin/isolator") + 1:]]
    for option, value in (("-c", str(CPU)), ("-t", "0.3"), ("--output", str(tmp_path / "result"))):
        words[words.index(option) + 1] = value
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    document = valid("measure", (tmp_path / "result").read_text())
    assert document["instrument"]["threshold_ns"] == attribution.THRESHOLD_US * 1000
    if _setting(document, "causes")["held"]:
        assert document["attribution"]["threshold_ns"] == attribution.THRESHOLD_US * 1000


# Without the machine's tracefs, of which the command has then one of its own; restore, too.
ALONE = ("unshare", "--mount", "sh", "-c",
         'for at in /sys/kernel/tracing /sys/kernel/debug; do while umount -l $at 2>/dev/null; do '
         ':; done; done; exec "$@"', "sh")


def _instances(pid: int) -> list[str]:
    """Those that the kernel has of this process, wherever tracefs is mounted."""
    done = subprocess.run([*ALONE, "sh", "-c", "mount -t tracefs nodev /sys/kernel/tracing && "
                           "ls /sys/kernel/tracing/instances"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        pytest.skip(f"there is no tracefs here: {done.stderr}")
    return [name for name in done.stdout.split() if str(pid) in name.split("-")]


@pytest.mark.skipif(not ROOT, reason="tracing is for root")
def test_killed_where_tracefs_is_not_mounted(isolator: Path) -> None:
    """What its private tracefs had made is found by restore, which sees no mount of it either."""
    _instances(0)
    run = subprocess.Popen([*ALONE, *_command(isolator, "-t", "600", "--why", "100us")], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: _instances(run.pid), run.poll)
    run.kill()
    run.wait()
    assert _instances(run.pid)
    done = subprocess.run([*ALONE, isolator, "restore", "--runs"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and f"(PID {run.pid}, " in done.stdout, done.stderr
    assert not _instances(run.pid)


@pytest.mark.skipif(not ROOT, reason="tracing is for root")
@pytest.mark.parametrize("what", [["hardware"], ["noise", "--method", "osnoise"],
                                  ["latency", "--method", "timerlat"]])
def test_tracers_where_tracefs_is_not_mounted(isolator: Path, what: list[str]) -> None:
    """They attach it, too; at most this kernel has no such tracer."""
    _instances(0)
    run = subprocess.Popen([*ALONE, isolator, "measure", *what, "-c", str(CPU), "-t", "1",
                            "--json"], stdout=subprocess.PIPE, text=True)
    out, _ = run.communicate(timeout=PATIENCE_S)
    document = valid("measure", out)
    assert document["verdict"] == "measured" or "built without the tracer" in document["words"]
    assert not _instances(run.pid)


def test_no_causes(isolator: Path) -> None:
    """Without root: said, and measured all the same."""
    done = subprocess.run(_command(isolator, "-t", "0.5", "--why", "1us"),
                          capture_output=True, text=True, check=False, timeout=PATIENCE_S, **NOBODY)
    document = _document(done)
    assert not _setting(document, "causes")["held"] and _setting(document, "causes")["note"]
    assert document["attribution"] is None and document["parts"][0]["series"][0]["triggers"] > 0


def test_tracers_tell_by_themselves(isolator: Path) -> None:
    """They have no outlier of a thread of ours."""
    done = subprocess.run([isolator, "measure", "noise", "--method", "osnoise", "--why", "1us"],
                          capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 1 and "--why is not for" in done.stderr
