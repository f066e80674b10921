# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator measure latency: on this machine, which it does not change, and on clocks of its own."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from clitest import CLI, NOBODY, PATIENCE_S, Build, Terminal, flat, valid
from latencytest import (
    CPU,
    MISSING,
    feed,
    first_series,
    histogram_of,
    measured,
    packed,
    setting,
)
from waiting import until

MS = 1_000_000
FED_SAMPLES = int(os.environ.get("ISOLATOR_FED_SAMPLES", "100000000"))


@pytest.fixture(scope="module")
def clockwork(build: Build) -> Path:
    """The command with a clock of its own."""
    return build("clockwork", ("fakes/clock.c",), "-Wl,--wrap=clock_gettime",
                 "-Wl,--wrap=clock_nanosleep")


def test_a_first_look(isolator: Path) -> None:
    """Without options, without root, in 5 seconds: percentiles, a histogram, what is lost."""
    done = subprocess.run([isolator, "measure", "latency"], capture_output=True, text=True,
                          check=True, timeout=PATIENCE_S, **NOBODY)
    took = re.match(r"timed wake-ups by nanosleep, ([\d.]+) s, random phase", done.stdout)
    # Whoever else runs on the CPUs makes it later, not worse.
    assert took and float(took[1]) >= 5, done.stdout
    assert not done.stderr
    assert re.search(r" lost: policy other, not fifo 90: .*ulimit -r 90", flat(done.stdout))
    for cpu in os.sched_getaffinity(0):
        assert re.search(rf"^ *{cpu} +\d{{4,}} ", done.stdout, re.M), done.stdout
    assert re.search(r"^ +\S+ [num]?s +\d+ \*{50}$", done.stdout, re.M)
    assert "bars are logarithmic" in done.stdout and "takes 29956 samples" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("measured: ")
    assert "\033" not in done.stdout


def test_document(isolator: Path) -> None:
    """Account, encoding and settings agree; nothing of this process is changed."""
    before = os.sched_getaffinity(0), os.sched_getscheduler(0)
    document = measured(isolator, "-t", "1", "--seed", "7", "--method", "timerfd")
    assert (os.sched_getaffinity(0), os.sched_getscheduler(0)) == before
    assert document["verdict"] == "measured" and not document["early"]
    assert document["method"] == "timerfd" and document["phase"] == {"kind": "random", "seed": 7}
    assert 1 <= document["seconds"] < PATIENCE_S
    series = first_series(document)
    # 200 us on average, of 1 s: three sigmas are below 1 %.
    assert series["complete"] and 4900 < series["triggers"] < 5100
    assert series["samples"] + series["overflow"] + series["missing"] == series["triggers"]
    hist = histogram_of(document)
    assert hist.get_total_count() == series["samples"]
    top = [entry["value_ns"] for entry in series["top"]]
    assert len(top) >= 100 and top == sorted(top, reverse=True) and top[0] == series["max"]
    assert max(m for m in series["timeline"]["maxima"] if m is not None) == series["max"]
    assert sum(series["timeline"]["counts"]) == series["samples"]
    for found in series["percentiles"]:
        if found["value_ns"] is None:
            assert series["triggers"] * (100 - found["percent"]) < 100.001
            continue
        # The library rounds to a rank where this takes the next one; in the tail they lie apart.
        above = int(series["triggers"] * (100 - found["percent"]) / 100 + 1e-9)
        near = hist.get_value_at_percentile(100 * (1 - above / series["triggers"]))
        assert 0.98 * near <= found["value_ns"] <= 1.02 * near
        assert (found["upper_ns"] is None) == (series["triggers"] < found["needs"])
        assert found["upper_ns"] is None or found["upper_ns"] >= found["value_ns"]
    assert [p["percent"] for p in series["percentiles"]][-1] == 99.9999
    assert series["percentiles"][-1]["needs"] == 2995731
    assert setting(document, "affinity")["held"] and setting(document, "timer_slack")["held"]
    assert all(setting(document, name) for name in ("policy", "memory", "observer"))
    assert document["machine"]["findings"]
    assert document["machine"]["host"] == socket.gethostname()
    assert document["instrument"]["clock"] == "monotonic" and document["instrument"]["note"]


def test_lost_tail(isolator: Path, tmp_path: Path) -> None:
    """cyclictest, oslat and jitterdebugger drop or fold what is beyond their last bucket."""
    tail = [100_000_000_000, 100_000_000_001, 250_000_000_000, 3_600_000_000_000]
    document = feed(isolator, tmp_path, [5000] * 10_000 + tail)
    series = first_series(document)
    assert series["overflow"] == 3 and series["samples"] == 10_001 and series["complete"]
    assert [entry["value_ns"] for entry in series["top"]][:5] == [*reversed(tail), 5000]
    assert series["max"] == tail[-1] and histogram_of(document).get_total_count() == 10_001
    assert next(p for p in series["percentiles"] if p["percent"] == 99.99)["value_ns"] == tail[2]
    assert series["mean"] == pytest.approx((5000 * 10_000 + sum(tail)) / 10_004)


def test_samples_lost_without_being_counted(build: Build, isolator: Path, tmp_path: Path) -> None:
    """rtla dropped most samples of many CPUs, and did not say so: here such a run is invalid."""
    leaky = build("leaky", ("fakes/lost_sample.c",), "-Wl,--wrap=series_record")
    document = measured(leaky, "-t", "0.3", "--limit", "max=100s", codes=(3,))
    assert document["verdict"] == "invalid" and not first_series(document)["complete"]
    assert "values were lost uncounted" in document["words"]
    # What is known to be missing is told, and makes no limit hold.
    values = [5000] * 4000 + [MISSING] * 8
    document = feed(isolator, tmp_path, values, "--limit", "p99.9=1ms", codes=(3,))
    series = first_series(document)
    assert series["complete"] and series["missing"] == 8 and series["triggers"] == 4008
    assert document["verdict"] == "inconclusive"
    assert document["limits"][0]["result"] == "cannot say"
    assert feed(isolator, tmp_path, values, "--limit", "p99=1ms")["verdict"] == "passed"


def test_threshold_hit_with_exit_0(isolator: Path, tmp_path: Path) -> None:
    """rtla of 6.12 exits 0 after a threshold was hit."""
    values = [10_000] * 5000 + [60_000]
    document = feed(isolator, tmp_path, values, "--limit", "max=50us", codes=(2,))
    assert document["verdict"] == "exceeded" and "max is 60 us, limit 50 us" in document["words"]
    assert feed(isolator, tmp_path, values, "--limit", "max=60us")["verdict"] == "passed"
    assert feed(isolator, tmp_path, values, "--soft-limit", "max=50us")["limits"] == [
        {"name": "max", "limit_ns": 50_000, "hard": False, "value_ns": 60_000,
         "result": "exceeded"}]
    feed(isolator, tmp_path, values, "--limit", "p99.9=20us")
    feed(isolator, tmp_path, values, "--limit", "p50=9us", "--limit", "max=1s", codes=(2,))
    # Too few samples to say so of all that may come.
    few = feed(isolator, tmp_path, values, "--limit", "p99.99=100us", codes=(3,))
    assert few["verdict"] == "inconclusive" and "29956 samples" in few["words"]
    # On this machine, with the text.
    done = subprocess.run([isolator, "measure", "latency", "-c", str(CPU), "-t", "0.2",
                           "--limit", "max=0.001us"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "exceeded: max is " in done.stdout.splitlines()[-1]


def _device(where: Path, how: str) -> Path:
    """A root directory with a /dev/cpu_dma_latency that is not one."""
    (where / "dev").mkdir()
    device = where / "dev/cpu_dma_latency"
    if how == "file":
        device.touch()
    elif how == "pipe":
        os.mkfifo(device)
    elif how == "directory":
        device.mkdir()
    return where


@pytest.mark.parametrize("how", ["nothing", "pipe", "directory"])
def test_c_state_request_that_fails_silently(isolator: Path, tmp_path: Path, how: str) -> None:
    """latmus does not look whether its request was taken."""
    root = _device(tmp_path, how)
    document = measured(isolator, "-t", "0.2", "--dma-latency", "0", "--root", root, codes=(3,))
    latency = setting(document, "dma_latency")
    assert document["verdict"] == "invalid" and not latency["held"] and latency["got"] is None
    assert "/dev/cpu_dma_latency cannot" in document["words"] or (
        how == "pipe" and "does not take the request" in document["words"])


@pytest.mark.parametrize("obeys", [0, 1])
def test_c_state_request_that_is_not_obeyed(build: Build, tmp_path: Path, obeys: int) -> None:
    """Taken and not obeyed, from the beginning or later: what is read back counts."""
    deaf = build("deaf", ("fakes/dma_latency_ignored.c",), "-Wl,--wrap=pread64")
    document = measured(deaf, "-t", "0.2", "--dma-latency", "20", "--root",
                        _device(tmp_path, "file"), codes=(3,),
                        environment={"OBEYS": str(obeys)})
    latency = setting(document, "dma_latency")
    assert document["verdict"] == "invalid" and not latency["held"]
    assert latency["asked"] == "20 us" and latency["got"] == "2000000000 us"
    # From the beginning: nothing was measured in vain.
    assert len(document["parts"]) == obeys


@pytest.mark.parametrize("text", ["20", "20us", "0.02ms"])
def test_c_state_request_that_is_obeyed(isolator: Path, tmp_path: Path, text: str) -> None:
    """Written in the kernel's form, in microseconds, whatever unit it was given in."""
    root = _device(tmp_path, "file")
    document = measured(isolator, "-t", "0.2", "--dma-latency", text, "--root", root)
    assert setting(document, "dma_latency")["held"]
    assert (root / "dev/cpu_dma_latency").read_bytes() == struct.pack("=i", 20)


def _replay(clockwork: Path, where: Path, latencies: list[int], *arguments: str) -> dict[str, Any]:
    (where / "list").write_bytes(packed(latencies))
    return measured(clockwork, "--phase", "fixed", "--period", "1ms", *arguments,
                    environment={"CLOCKWORK": str(where / "list")})


def test_late_answer_folded(clockwork: Path, tmp_path: Path) -> None:
    """latmon counts an answer that is 1.5 ms late at a period of 1 ms as 0.5 ms."""
    latencies = [10_000] * 50 + [1_500_000] + [10_000] * 48
    series = first_series(_replay(clockwork, tmp_path, latencies, "--count", "100"))
    assert series["triggers"] == series["samples"] == 100 and series["complete"]
    # The trigger that it ran over is late by what is left, and told as the one it is.
    assert [(t["value_ns"], t["trigger"]) for t in series["top"]][:3] == [
        (1_500_000, 50), (500_000, 51), (10_000, 0)]
    series = first_series(_replay(clockwork, tmp_path, latencies, "--count", "100",
                                  "--late", "missing"))
    assert (series["triggers"], series["samples"], series["missing"]) == (100, 99, 1)
    assert [t["value_ns"] for t in series["top"]][:2] == [1_500_000, 10_000]


def test_wake_up_before_its_time(clockwork: Path, tmp_path: Path) -> None:
    """An unsigned underflow once filled rezolus' top bucket with latencies of centuries."""
    latencies = [10_000] * 50 + [2**64 - 300] + [10_000] * 49
    series = first_series(_replay(clockwork, tmp_path, latencies, "--count", "100"))
    assert series["max"] == 10_000 and series["missing"] == 1 and series["complete"]


def _cyclictest(where: Path, latencies: list[int]) -> tuple[Counter[int], int]:
    """What it counts in each us, and beyond."""
    library = where / "clockwork.so"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-DPRELOAD", "-O1", "-Wall", "-Werror", "-shared",
                    "-fPIC", "-o", library, CLI / "tests/fakes/clock.c"], check=True)
    (where / "list").write_bytes(packed(latencies))
    # --laptop: without a request to /dev/cpu_dma_latency of this machine.
    done = subprocess.run(["cyclictest", "--laptop", "-q", "-t1", "-i1000", "-h1000",
                           f"-l{len(latencies)}"], capture_output=True, text=True, check=True,
                          timeout=PATIENCE_S, env={**os.environ, "LD_PRELOAD": str(library),
                                                   "CLOCKWORK": str(where / "list")})
    counts = Counter({int(us): int(count) for us, count in
                      re.findall(r"^(\d{6}) (\d+)$", done.stdout, re.M) if int(count)})
    overflow = re.search(r"^# Histogram Overflows: (\d+)$", done.stdout, re.M)
    assert overflow
    return counts, int(overflow[1])


def _ours(clockwork: Path, where: Path, latencies: list[int]) -> tuple[Counter[int], int]:
    """The same of ours.  It counts triggers, cyclictest wake-ups: those run over come on top."""
    over = sum(latency // MS for latency in latencies)
    # With 5 digits buckets are 4 ns wide at 1 ms, and each begins with a us where one does.
    document = _replay(clockwork, where, latencies, "--late", "missing", "--digits", "5",
                       "--count", str(len(latencies) + over))
    series = first_series(document)
    assert series["missing"] == over and series["samples"] == len(latencies)
    hist = histogram_of(document)
    counts: Counter[int] = Counter()
    beyond = 0
    for index, count in enumerate(hist.counts):
        if not count:
            continue
        ns = hist.get_value_from_index(index)
        if ns >= 1000 * 1000:
            beyond += count
        else:
            counts[ns // 1000] += count
    return counts, beyond


def test_same_histogram_as_cyclictest(clockwork: Path, tmp_path: Path) -> None:
    """A recorded series, fed to both by their clocks, gives equal histograms of 1 us."""
    record = tmp_path / "record"
    measured(clockwork, "-t", "2", "--period", "1ms", "--phase", "fixed",
             environment={"CLOCKWORK_RECORD": str(record)})
    recorded = [value for value, in struct.iter_unpack("=Q", record.read_bytes())]
    assert len(recorded) > 100  # of 2000, less those that a busy machine ran over
    dice = random.Random(4)
    generated = [int(dice.lognormvariate(9, 1.2)) for _ in range(20_000)]
    for _ in range(50):
        generated[dice.randrange(len(generated))] = dice.randrange(1, 50) * 900_001
    for latencies in (recorded, generated):
        # Where a period ends exactly at a wake-up they may differ.
        latencies = [value + (value % MS == 0) for value in latencies]
        wanted = Counter(value // 1000 for value in latencies if value < MS)
        theirs, ours = _cyclictest(tmp_path, latencies), _ours(clockwork, tmp_path, latencies)
        assert ours == theirs
        assert ours == (wanted, sum(value >= MS for value in latencies))


def _look_after_kill(process: subprocess.Popen[bytes], path: Path, seconds: float) -> None:
    process.kill()
    process.wait()
    killed = time.time()
    document = valid("measure", path.read_text())
    assert document["verdict"] == "running" and document["exit"] == 3
    series = first_series(document)
    assert series["complete"] and series["samples"] > 500 * (seconds - 1)
    assert sum(series["timeline"]["counts"]) == series["samples"]
    # A second, and what a busy machine takes to write it.
    assert killed - path.stat().st_mtime < 6


def test_kill_loses_at_most_the_last_second(isolator: Path, tmp_path: Path) -> None:
    """SIGKILL at any moment: what was written is whole, and no older than that."""
    dice = random.Random(9)
    # Several at once, each killed at another moment from its first result on.
    runs = {tmp_path / f"{moment}": moment for moment in (dice.uniform(1.2, 4) for _ in range(4))}
    processes = {path: subprocess.Popen(
        [isolator, "measure", "latency", "-c", str(CPU), "--period", "1ms", "--output", path,
         "-t", "600"], stdout=subprocess.DEVNULL) for path in runs}
    began = dict.fromkeys(runs, 0.0)
    stop = time.monotonic() + PATIENCE_S
    try:
        while processes and time.monotonic() < stop:
            time.sleep(0.005)  # sleep: each is killed at its moment
            for path in list(processes):
                if not began[path]:
                    began[path] = time.monotonic() if path.exists() else 0.0
                elif time.monotonic() >= began[path] + runs[path]:
                    _look_after_kill(processes.pop(path), path, runs[path])
    finally:
        for process in processes.values():
            process.kill()
    assert not processes, "no result came"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_it_with_a_result(isolator: Path, tmp_path: Path,
                                      number: signal.Signals) -> None:
    """Early, with all that was seen, also where a trigger is far away."""
    path = tmp_path / "result"
    process = subprocess.Popen([isolator, "measure", "latency", "-c", str(CPU), "-t", "600",
                                "--json", "--output", path, "--period", "10s", "--phase", "fixed"],
                               stdout=subprocess.PIPE, text=True)
    until(path.exists)
    process.send_signal(number)
    out, _ = process.communicate(timeout=PATIENCE_S)
    document = valid("measure", out)
    assert process.returncode == 0 and document["early"] and first_series(document)["samples"] == 1
    written = valid("measure", path.read_text())
    assert written["id"] == document["id"] and written["verdict"] == "measured"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result"]


def _memory(pid: int) -> int:
    """Resident, in KiB."""
    found = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found
    return int(found[1])


def _written(path: Path) -> None:
    """A result has been begun and written since, twice: one of them after this was called."""
    def when() -> int:
        return path.stat().st_mtime_ns if path.exists() else 0

    seen = {when(), 0}
    for _ in range(2):
        until(lambda: when() not in seen)
        seen.add(when())


def test_memory_does_not_grow(plain: Path, tmp_path: Path) -> None:
    """RSS at 10 % and at 100 % of many samples differ by at most 1 MiB."""
    dice = random.Random(1)
    block = packed([int(dice.lognormvariate(9, 1.5)) for _ in range(100_000)])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen([plain, "measure", "latency", "-c", str(CPU), "--fed", pipe,
                                "--json", "--output", tmp_path / "result"],
                               stdout=subprocess.PIPE, text=True)
    out: list[str] = []
    reader = threading.Thread(target=lambda: out.append(process.communicate()[0]))
    reader.start()
    memory = []
    blocks = FED_SAMPLES // 100_000
    with pipe.open("wb") as feed:
        for number in range(blocks):
            feed.write(block)
            if number + 1 in (blocks // 10, blocks):
                feed.flush()
                _written(tmp_path / "result")
                memory.append(_memory(process.pid))
    reader.join(PATIENCE_S)
    document = valid("measure", out[0])
    assert first_series(document)["samples"] == blocks * 100_000 and document["exit"] == 0
    print(f"RSS of {FED_SAMPLES} samples: {memory} KiB")
    assert abs(memory[1] - memory[0]) <= 1024


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to be taken away")
def test_root_without_the_right(isolator: Path) -> None:
    """Root of a container is not told to be root."""
    confined = ["setpriv", "--bounding-set=-sys_nice,-sys_resource",
                "--inh-caps=-sys_nice,-sys_resource", "prlimit", "--rtprio=0"]
    for arguments in ([], ["--policy", "fifo"]):
        done = subprocess.run([*confined, isolator, "measure", "latency", "-c", str(CPU), "-t",
                               "0.1s", *arguments], capture_output=True, text=True, check=False)
        said = flat(done.stdout + done.stderr)
        assert "give it CAP_SYS_NICE, or" in said and "run it as root" not in said


def test_policy_that_is_not_allowed(isolator: Path) -> None:
    """Who asks for one gets it, or an error that says what helps; deadline names its partition."""
    for arguments, says in (
            (["--policy", "fifo"], r"--policy fifo, priority 90: .*: run it as root.*ulimit -r 90"),
            (["--priority", "50"], r"--policy fifo, priority 50: .*ulimit -r 50"),
            (["--policy", "deadline"], r"--policy deadline on CPU \d+: .*cpuset.cpus.partition")):
        done = subprocess.run([isolator, "measure", "latency", "-c", str(CPU), "-t", "0.1",
                               *arguments], capture_output=True, text=True, check=False,
                              **NOBODY)
        assert done.returncode == 1 and re.search(says, done.stderr), done.stderr
        assert not done.stdout
    document = measured(isolator, "-t", "0.1", "--policy", "other")
    assert setting(document, "policy") == {"name": "policy", "asked": "other", "got": "other",
                                           "held": True, "note": None}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is a root domain of its own")
def test_deadline_outside_its_partition(isolator: Path) -> None:
    """As root too: a thread that is bound to one CPU of several cannot have it."""
    done = subprocess.run([isolator, "measure", "latency", "-c", str(CPU), "-t", "0.1",
                           "--policy", "deadline"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cpuset.cpus.partition" in flat(done.stderr)


@pytest.mark.parametrize(("arguments", "says"), [
    (["latency", "-c", "8191"], "8191 not online; online are"),
    (["latency", "--period", "5us"], "--period: it must be from 10us"),
    (["latency", "--period", "11s"], "--period: it must be from 10us"),
    (["latency", "--priority", "100"], "--priority: it must be from 1 to 99"),
    (["latency", "--priority", "3", "--policy", "other"], "--priority needs fifo or rr"),
    (["latency", "--digits", "6"], "--digits: it must be from 2 to 5"),
    (["latency", "--limit", "mean=3us"], "is not max or a percentile"),
    (["latency", "--soft-limit", "p100=3us"], "is not max or a percentile"),
    (["latency", "--seed", "3", "--phase", "fixed"], "--seed needs --phase random"),
    (["latency", "--dma-latency", "3000000000"], "--dma-latency: at most"),
    (["latency", "--fed", "nowhere"], "nowhere: No such file"),
    (["tardiness"], 'unknown argument "tardiness"'),
    ([], "missing argument latency"),
])
def test_wrong_options(isolator: Path, arguments: list[str], says: str) -> None:
    """Each is an error that says what is right."""
    done = subprocess.run([isolator, "measure", *arguments], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and says in flat(done.stderr) and not done.stdout


def test_live(isolator: Path) -> None:
    """A terminal shows what was seen until now; Ctrl-C leaves the whole result on it."""
    terminal = Terminal(60, 160, {"TERM": "xterm", "NO_COLOR": "1"}, isolator, "measure",
                        "latency", "-c", str(CPU), "-t", "600")
    terminal.until("bars are logarithmic", 2)
    assert "measured: " not in terminal.text
    assert terminal.end(b"\x03") == 0
    assert "ended early" in terminal.text and "measured: " in terminal.text
    assert terminal.after == terminal.before


def test_schema_is_frozen() -> None:
    """Who reads results relies on these keys: another version for other ones."""
    schema = json.loads((CLI / "schema/measure.json").read_text())
    assert schema["properties"]["version"] == {"const": 1}
    # Optional, as earlier commands do not write it.
    assert set(schema["required"]) == set(schema["properties"]) - {"command"}
