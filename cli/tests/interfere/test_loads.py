# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator interfere: loads do what they say, and leave nothing."""

from __future__ import annotations

import functools
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clitest import PATIENCE_S, flat, valid
from processes import parents, worked
from waiting import comes, until

CPUS = sorted(os.sched_getaffinity(0))
CPU = str(CPUS[-1])
# How what a load has begun is known, whoever its parent is by now.
MARK = "ISOLATOR_INTERFERE_TEST"
SHORT = 1.5  # longer than who works may stand still
STRESS = 6  # the operations of a run of stress-ng, a second, count once it has ended

Interfere = Callable[..., dict[str, Any]]


def marked(mark: str) -> list[int]:
    """Who has this in its environment; what has ended has none."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def family(mark: str) -> set[int]:
    """They, and what descends from them: stress-ng writes its title over its environment."""
    found, parent_of = set(marked(mark)), parents()
    while more := {pid for pid, parent in parent_of.items() if parent in found} - found:
        found |= more
    return found


def gone(mark: str, place: Path, patience_s: float = PATIENCE_S) -> bool:
    """Nothing runs any more, and no file is left."""
    return comes(lambda: not marked(mark) and not any(place.iterdir()), patience_s)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where files of loads are."""
    path = tmp_path / "files"
    path.mkdir()
    path.chmod(0o777)
    return path


@pytest.fixture
def environment(place: Path) -> Iterator[dict[str, str]]:
    """That of a load; when a test ends nothing of it is left."""
    mark = str(place)
    yield {**os.environ, MARK: mark, "TMPDIR": str(place)}
    assert gone(mark, place)


@pytest.fixture
def interfere(isolator: Path, environment: dict[str, str]) -> Interfere:
    """The document, with the exit code and what was said beside it."""

    def run(load: str, *arguments: str, code: int = 0, cpus: str = CPU, seconds: float = SHORT,
            path: str | None = None) -> dict[str, Any]:
        done = subprocess.run(
            [isolator, "interfere", load, "-c", cpus, "-t", str(seconds), "--json", *arguments],
            env={**environment, **({"PATH": path} if path is not None else {})}, text=True,
            capture_output=True, check=False, timeout=PATIENCE_S)
        assert done.returncode == code, done.stderr
        document = valid("interfere", done.stdout) if done.stdout else {}
        assert not document or document["exit"] == code
        return {**document, "said": done.stderr}

    return run


def script(directory: Path, name: str, text: str) -> str:
    """A program of this name, which comes before any other; the PATH that has it."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{text}\n")
    (directory / name).chmod(0o755)
    return f"{directory}:{os.environ['PATH']}"


@pytest.mark.parametrize("load", ["cache", "cache:l1", "cache:l2", "stress:get"])
def test_loads_of_its_own(interfere: Interfere, load: str) -> None:
    """On each CPU it does something, and says what."""
    seconds = STRESS if load == "stress:get" else 2
    document = interfere(load, cpus=",".join(map(str, CPUS)), seconds=seconds)
    assert document["verdict"] == "ran" and document["seconds"] >= seconds
    [run] = document["loads"]
    assert run["state"] == "ran" and run["why"] is None and run["words"]
    assert [cpu["cpu"] for cpu in run["cpus"]] == CPUS
    for cpu in run["cpus"]:
        assert cpu["operations"] > 0
        assert cpu["per_second"] == pytest.approx(cpu["operations"] / document["seconds"], rel=0.01)


def test_several_at_once(interfere: Interfere) -> None:
    """Each has its own count, and the name that it was given."""
    document = interfere("cache:l1,cache:l2")
    assert [run["name"] for run in document["loads"]] == ["cache:l1", "cache:l2"]
    assert all(run["cpus"][0]["operations"] > 0 for run in document["loads"])


def test_size_by_topology(interfere: Interfere) -> None:
    """The level's size, as the kernel tells it."""
    caches = {}
    for index in Path(f"/sys/devices/system/cpu/cpu{CPU}/cache").glob("index*"):
        if (index / "type").read_text().strip() != "Instruction":
            size = (index / "size").read_text().strip()
            caches[f"l{(index / 'level').read_text().strip()}"] = int(size.removesuffix("K")) * 1024
    for level in ("l1", "l2"):
        if level in caches:
            run = interfere(f"cache:{level}")["loads"][0]
            assert run["cpus"][0]["bytes"] == caches[level]
            assert f"level {level[1]}" in run["words"]
        else:
            assert "no such cache" in interfere(f"cache:{level}", code=1)["said"]
    if caches:
        sizes = [interfere(load)["loads"][0]["cpus"][0]["bytes"]
                 for load in ("cache", "cache:memory")]
        available = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
        assert sizes[0] == caches[max(caches)]
        assert available and sizes[0] < sizes[1] <= min(2 * sizes[0],
                                                        int(available[1]) * 1024)


@pytest.mark.skipif(len(CPUS) < 2, reason="interrupts between CPUs want two")
@pytest.mark.parametrize(("load", "words"), [
    ("ipi", "membarrier, TLB shootdowns (mprotect, munmap) and wake-ups of threads there"),
    ("ipi:membarrier", "membarrier"), ("ipi:tlb", "TLB shootdowns (mprotect, munmap)"),
    ("ipi:wakeup", "wake-ups of threads there")])
def test_interrupts(interfere: Interfere, load: str, words: str) -> None:
    """Those that were asked for are made, and come where they shall."""
    document = interfere(load, "--to", CPU, cpus=str(CPUS[0]), seconds=4)
    [run] = document["loads"]
    [cpu] = run["cpus"]
    assert run["words"] == f"interrupts CPU {CPU} by {words}" and cpu["operations"] > 0
    came = run["interrupts"]
    assert came["cpus"] == [int(CPU)]
    assert came["calls"] + came["reschedules"] + came["tlb_shootdowns"] > 0


@pytest.mark.skipif(len(CPUS) < 2, reason="interrupts between CPUs want two")
def test_interrupts_among_all(interfere: Interfere) -> None:
    """Without --to, each of them interrupts the others."""
    run = interfere("ipi", cpus=",".join(map(str, CPUS)), seconds=4)["loads"][0]
    assert run["interrupts"]["cpus"] == CPUS
    assert all(cpu["operations"] for cpu in run["cpus"])


def test_interrupts_want_another_cpu(interfere: Interfere) -> None:
    for more in ([], ["--to", CPU]):
        assert "give it two CPUs" in interfere("ipi", *more, code=1)["said"]


def test_stress(interfere: Interfere) -> None:
    """stress-ng's own count of its operations: of one stressor, and of a class of them."""
    for load, words in (("stress:get", "stress-ng's get"), ("stress:cpu-cache", "cpu-cache")):
        [run] = interfere(load, seconds=6)["loads"]
        assert run["cpus"][0]["operations"] > 0 and words in run["words"]


def test_stress_ng_is_missing(interfere: Interfere, isolator: Path, tmp_path: Path) -> None:
    """Skipped by name, with the package; and the loads beside it are not begun."""
    (tmp_path / "empty").mkdir()
    document = interfere("cache,stress:cpu", code=77, path=str(tmp_path / "empty"))
    assert document["verdict"] == "skipped"
    assert [run["state"] for run in document["loads"]] == ["ready", "absent"]
    assert "apt install stress-ng" in document["loads"][1]["why"]
    done = subprocess.run([isolator, "interfere", "stress:cpu", "-c", CPU], capture_output=True,
                          env={**os.environ, "PATH": str(tmp_path / "empty")}, text=True,
                          check=False)
    assert done.returncode == 77 and not done.stdout
    assert "stress:cpu cannot run here: " in flat(done.stderr) and "stress-ng" in flat(done.stderr)


def test_list(isolator: Path, tmp_path: Path) -> None:
    """All loads, and why one cannot run."""
    for arguments in (["--list"], ["--list", "--json"]):
        done = subprocess.run([isolator, "interfere", *arguments], capture_output=True, text=True,
                              env={**os.environ, "PATH": str(tmp_path)}, check=True)
        if "--json" not in arguments:
            assert "cannot run here: stress-ng is not installed" in done.stdout
            continue
        document = valid("interfere", done.stdout)
        assert document["verdict"] == "listed"
        assert {run["name"]: run["state"] for run in document["loads"]} == {
            "cache": "ready", "ipi": "ready", "stress": "absent"}


def stress_ng(tmp_path: Path, runs: str) -> str:
    """One that has a class x of two stressors, and @runs for each; the PATH that has it."""
    return script(tmp_path / "bin", "stress-ng", 'case "$2" in *\\?) '
                  f'echo "class x stressors: one two";; *) {runs};; esac')


def test_stressor_that_does_nothing(interfere: Interfere, tmp_path: Path) -> None:
    """No success: it does no operation."""
    document = interfere("stress:x", code=3, path=stress_ng(tmp_path, "sleep 600"))
    assert document["verdict"] == "idle" and "it did nothing" in document["loads"][0]["why"]


def test_stressor_that_fails(interfere: Interfere, tmp_path: Path) -> None:
    """Its own words are passed on, whether it fails at once or later."""
    fails = "echo 'error: no such thing' >&2; exit 8"
    document = interfere("stress:x", code=1, path=stress_ng(tmp_path, fails), seconds=60)
    assert "stress-ng --one ended with 8: error: no such thing" in document["said"]
    (tmp_path / "n").write_text("")
    later = (f"n=$(cat {tmp_path}/n); echo x$n > {tmp_path}/n; "
             "[ ${#n} -ge 3 ] && { echo late >&2; exit 8; }; "
             'for w; do case $w in *.yaml) echo "bogo-ops: 5" > "$w";; esac; done')
    document = interfere("stress:x", code=1, path=stress_ng(tmp_path, later), seconds=60)
    assert document["verdict"] == "failed" and "ended with 8: late" in document["said"]
    document = interfere("stress:x", code=1, path=stress_ng(tmp_path, "exit 3"), seconds=60)
    assert "none of stress-ng's x runs here" in document["said"]


@pytest.mark.parametrize(("arguments", "words"), [
    (["bogus", "-c", CPU], 'unknown load "bogus"'),
    (["cache:l9", "-c", CPU], "may be followed by :"),
    (["ipi:x", "-c", CPU], "may be followed by :"), (["cache,", "-c", CPU], 'unknown load ""'),
    (["cache"], "missing option -c CPUS"), ([], "missing argument LOAD"),
    (["--list", "cache"], "leave the load out"),
    (["cache", "-c", "8000"], "-c: 8000 not online; online are "),
    (["cache", "-c", "x"], "list of CPUs"),
    (["ipi", "-c", CPU, "--to", "8000"], "--to: 8000 not online; online are "),
    (["cache", "-c", CPU, "-t", "0"], "a number alone is in s")])
def test_wrong_words(isolator: Path, environment: dict[str, str], arguments: list[str],
                     words: str) -> None:
    done = subprocess.run([isolator, "interfere", *arguments], capture_output=True, text=True,
                          check=False, env=environment, timeout=PATIENCE_S)
    assert done.returncode == 1 and words in flat(done.stderr) and not done.stdout
    assert done.stderr.startswith("isolator interfere: ")


@pytest.mark.skipif(len(CPUS) < 2, reason="there is no CPU to be left out")
def test_cpus_outside_the_affinity(isolator: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(["taskset", "-c", str(CPUS[0]), isolator, "interfere", "cache:l1", "-c",
                           f"{CPUS[0]},{CPU}"], capture_output=True, text=True, check=False,
                          env=environment)
    assert done.returncode == 1
    assert f"may not run on CPU {CPU}, but on {CPUS[0]}" in flat(done.stderr)


def test_where_it_runs(isolator: Path, environment: dict[str, str], place: Path) -> None:
    """Each process that works is on its CPU alone, and programs are, too."""
    process = subprocess.Popen([isolator, "interfere", "stress:get,cache:l1", "-c", CPU],
                               env=environment, stdout=subprocess.DEVNULL)
    seen: dict[str, set[int]] = {}

    def look() -> bool:
        for pid in family(str(place)):
            try:
                name = Path(f"/proc/{pid}/comm").read_text().strip()
                where = os.sched_getaffinity(pid)
            except (OSError, ProcessLookupError):
                continue
            if where == {int(CPU)}:
                seen.setdefault(name, set()).add(pid)
            # The command itself, those that keep the loads, and a program that is asked before.
            assert where == {int(CPU)} or name in ("isolator", "interfere") or (
                name == "stress-ng" and not seen)
        return {"stress-ng-get", "interfere"} <= set(seen)

    try:
        until(look, lambda: seen)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_S)


@pytest.mark.parametrize("how", ["KILL", "TERM", "INT", "HUP"])
def test_end_at_any_moment(isolator: Path, environment: dict[str, str], place: Path,
                           how: str) -> None:
    """However the command ends, nothing runs on and no file is left."""
    chance = random.Random(how)

    def more(least: int) -> bool:
        return len(marked(str(place))) >= least

    # The command, and of each load who keeps it and who works.
    everybody = 1 + 4 + 1 + 3 * len(CPUS)
    # From before the first process to when all loads run, and a while later.
    for longest, least in ((0, 0), (0.05, 2), (0.2, 3), (0.2, everybody), (1, everybody)):
        process = subprocess.Popen([isolator, "interfere", "stress:get,cache:l2,ipi,cache:l1", "-c",
                                    ",".join(map(str, CPUS))], env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(functools.partial(more, least))
        time.sleep(longest * (0.5 + chance.random() / 2))  # sleep: to any moment
        process.send_signal(signal.Signals[f"SIG{how}"])
        process.wait(PATIENCE_S)
        if how != "KILL":
            # Already when it has ended.
            assert marked(str(place)) == [] and not any(place.iterdir())
        assert gone(str(place), place)


def keeper(process: subprocess.Popen[Any], work: int) -> int:
    """The process between the command and @work processes."""
    def children(pid: int) -> list[int]:
        return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    return until(lambda: next((child for child in children(process.pid)
                               if len(children(child)) == work), 0), "it does not begin")


def worker_of(process: subprocess.Popen[Any]) -> int:
    """The only process of its load, once that has worked for a while."""
    first = keeper(process, 1)
    worker = int(Path(f"/proc/{first}/task/{first}/children").read_text())
    until(lambda: worked(worker) >= os.sysconf("SC_CLK_TCK") / 5)
    return worker


def test_signal_ends_it_with_a_report(isolator: Path, environment: dict[str, str]) -> None:
    """Without a time that is the end of it; before its time, that is said."""
    for arguments, early in (([], False), (["-t", "600"], True)):
        process = subprocess.Popen([isolator, "interfere", "cache:l1", "-c", CPU, "--json",
                                    *arguments], env=environment, stdout=subprocess.PIPE, text=True)
        worker_of(process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
        document = valid("interfere", out)
        assert process.returncode == 0 and document["early"] == early
        assert document["loads"][0]["cpus"][0]["operations"] > 0


def test_process_that_is_killed(isolator: Path, environment: dict[str, str]) -> None:
    """A load that loses one of its processes has failed, and says so."""
    process = subprocess.Popen([isolator, "interfere", "cache:l1", "-c", CPU, "-t", "600"],
                               env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    os.kill(worker_of(process), signal.SIGKILL)
    out, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1 and "one of its processes was killed" in said
    assert out.splitlines()[-1].startswith("failed: ")


def test_keeper_that_is_killed(isolator: Path, environment: dict[str, str], place: Path) -> None:
    """What it kept ends, and the next load removes the files."""
    process = subprocess.Popen([isolator, "interfere", "stress:get", "-c", CPU, "-t", "600"],
                               env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    os.kill(keeper(process, 1), signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1 and "its keeper was killed" in said
    until(lambda: not marked(str(place)))
    assert len(list(place.iterdir())) == 1
    subprocess.run([isolator, "interfere", "stress:get", "-c", CPU, "-t", "0.1"], env=environment,
                   stdout=subprocess.DEVNULL, check=False)
    assert not any(place.iterdir())


def test_files_of_others_stay(interfere: Interfere, place: Path, tmp_path: Path) -> None:
    """A link by such a name is not followed, what is not this user's is left alone."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    link = place / "isolator-scratch.aaaaaa"
    link.symlink_to(outside)
    plain = place / "isolator-scratch.bbbbbb"
    plain.write_text("x")
    interfere("stress:get", seconds=STRESS)
    assert (outside / "kept").exists() and link.is_symlink() and plain.exists()
    link.unlink()
    plain.unlink()


def test_no_place_for_files(interfere: Interfere, isolator: Path, tmp_path: Path) -> None:
    done = subprocess.run([isolator, "interfere", "stress:get", "-c", CPU, "-t", "1"], text=True,
                          env={**os.environ, "TMPDIR": str(tmp_path / "none")},
                          capture_output=True, check=False)
    assert done.returncode == 1
    assert "no directory for files in" in flat(done.stderr) and "TMPDIR" in flat(done.stderr)
    assert not done.stdout
