# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator measure noise, hardware, rtc, and timerlat: here, and with tracers that are files."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clitest import PATIENCE_S, flat, valid
from latencytest import CPU, document_of, setting
from tracertest import AFTER, BEFORE, NOISE, TRACING, begin, line, look
from waiting import until

SETTINGS = {
    "available_tracers": "timerlat osnoise hwlat nop\n",
    "tracing_thresh": "0\n",
    "osnoise/cpus": "0-3\n",
    "osnoise/period_us": "2000000\n",
    "osnoise/runtime_us": "1500000\n",
    "osnoise/stop_tracing_us": "100\n",
    "osnoise/stop_tracing_total_us": "0\n",
    "osnoise/timerlat_period_us": "4000\n",
    "osnoise/options": "DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_IRQ_DISABLE \n",
    f"osnoise/per_cpu/cpu{CPU}/timerlat_fd": "",
    "hwlat_detector/mode": "none [round-robin] per-cpu\n",
    "hwlat_detector/width": "500000\n",
    "hwlat_detector/window": "1000000\n",
    f"per_cpu/cpu{CPU}/trace_pipe": "",
}
# A machine that was set by a file of ours shows a choice without its brackets.
Machine = Callable[..., Path]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """machine(FILES): a root with a tracefs that has these files too, None for none."""

    def run(changes: dict[str, str | None] | None = None) -> Path:
        files: dict[str, str | None] = {**SETTINGS, **(changes or {})}
        (tmp_path / TRACING / "instances").mkdir(parents=True)
        (tmp_path / "run").mkdir()
        for name, text in files.items():
            if text is None:
                continue
            file = tmp_path / TRACING / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path

    return run


def _settings(root: Path) -> dict[str, str]:
    return {name: (root / TRACING / name).read_text() for name in SETTINGS
            if "trace_pipe" not in name}


def _restored(root: Path) -> None:
    assert _settings(root) == {name: text for name, text in SETTINGS.items()
                               if "trace_pipe" not in name}
    assert not list((root / TRACING / "instances").iterdir())
    assert not (root / "run/isolator").exists()


def _measure(isolator: Path, what: str, *arguments: str | Path, codes: tuple[int, ...] = (0,),
             environment: dict[str, str] | None = None) -> dict[str, Any]:
    done = subprocess.run([isolator, "measure", what, "-c", str(CPU), "--json", *arguments],
                          capture_output=True, text=True, check=False, timeout=PATIENCE_S,
                          env={**os.environ, **(environment or {})})
    return document_of(done.returncode, done.stdout, done.stderr, codes)


def _series(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {series["name"]: series for series in document["parts"][0]["series"]}


def test_gaps_here(isolator: Path) -> None:
    """By itself: a threshold that it found, no loss, seconds with what was lost of them."""
    document = _measure(isolator, "noise", "-t", "2")
    series = _series(document)
    assert list(series) == ["gap", "lost", "unseen"]
    assert document["method"] == "spin" and document["verdict"] == "measured"
    threshold = document["instrument"]["threshold_ns"]
    assert 100 <= threshold < 100_000
    assert setting(document, "policy")["got"] == "other"
    gap = series["gap"]
    assert gap["complete"] and not gap["missing"] and gap["triggers"] > 0
    assert gap["min"] >= threshold
    assert len(gap["top"]) == min(gap["triggers"], 128)
    for name in ("lost", "unseen"):
        assert series[name]["triggers"] >= 2 and series[name]["max"] <= 1_000_000_000
    # What the seconds lost is what the gaps are, but for one that went beyond the last.
    total = gap["mean"] * gap["samples"]
    lost = series["lost"]["mean"] * series["lost"]["samples"]
    assert lost <= total * 1.001 and lost >= total - gap["max"] - 1000


def test_one_cpu(isolator: Path) -> None:
    """Without -c one CPU is spun on, and what it is told for people."""
    done = subprocess.run([isolator, "measure", "noise", "-t", "1.1"], capture_output=True,
                          text=True, check=True, timeout=PATIENCE_S)
    rows = re.findall(r"^ *(\d+) +\d+ +\d+ ", done.stdout, re.M)
    assert rows == [str(CPU)]
    assert re.search(rf"^CPU {CPU}: lost \S+ % of the time, of one second at most", done.stdout,
                     re.M)
    assert "gap above" in done.stdout


def test_threshold(isolator: Path) -> None:
    """One that was given is taken, and nothing finer is counted."""
    document = _measure(isolator, "noise", "-t", "1", "--threshold", "50us")
    assert document["instrument"]["threshold_ns"] == 50_000
    assert (_series(document)["gap"]["min"] or 50_000) >= 50_000
    fine = _measure(isolator, "noise", "-t", "0.1", "--threshold", "1ns")
    assert "instrument's own" in setting(fine, "threshold")["note"]
    # Nothing above a second came to a thread in a second.
    assert _measure(isolator, "noise", "-t", "0.2", "--threshold", "5s", "--limit",
                    "max=5s")["verdict"] == "passed"


def test_a_limit_decides(isolator: Path, machine: Machine) -> None:
    """rtla ends with 0 when its threshold was hit."""
    _measure(isolator, "noise", "-t", "0.5", "--limit", "max=101ns", codes=(2,))
    root = machine()
    document = look(
        isolator, root, [line("sample_threshold: start 1.0 duration 60000 ns interference 1")],
        *NOISE, "--limit", "max=50us", codes=(2,))
    assert document["verdict"] == "exceeded" and document["limits"][0]["value_ns"] == 60_000
    _restored(root)


@pytest.mark.parametrize(("arguments", "words"), [
    (["noise", "-c", ",".join(map(str, range(os.cpu_count() or 1))), "--policy", "fifo"],
     "leave one out with -c"),
    (["noise", "--policy", "deadline"], "fifo, rr or other"),
    (["noise", "--method", "nanosleep"], "is not one of spin|osnoise"),
    (["noise", "--period", "1ms"], "not for noise"),
    (["noise", "--method", "spin", "--of", "1"], "--method osnoise"),
    (["noise", "--method", "osnoise", "--threshold", "100ns"], "at least 1us"),
    (["noise", "--of", "1", "--threshold", "10us"], "measures no gaps"),
    (["noise", "--method", "osnoise", "--policy", "fifo"], "kernel's thread measures"),
    (["latency", "--method", "spin"], "is not one of nanosleep|timerfd|timerlat"),
    (["latency", "--threshold", "1us"], "is for noise, hardware, not for latency"),
    (["latency", "--method", "timerlat", "--period", "50us"], "takes 100us to 1s"),
    (["latency", "--method", "timerlat", "--seed", "3"], "periodic"),
    (["latency", "--method", "timerlat", "--policy", "deadline"], "fifo, rr or other"),
    (["hardware", "--width", "1s"], "interrupts are off for this time"),
    (["hardware", "--threshold", "500ns"], "at least 1us"),
    (["hardware", "--policy", "fifo"], "not for hardware"),
    (["rtc", "--late", "missing"], "not for rtc"),
    (["rtc", "-c", "0,1"], "one reader"),
])
def test_what_does_not_go_together(isolator: Path, arguments: list[str], words: str) -> None:
    """Said before anything is set."""
    if "0,1" in arguments and len(os.sched_getaffinity(0)) < 2:
        arguments = ["rtc", "--late", "missing"]
        words = "real-time clock"
    done = subprocess.run([isolator, "measure", *arguments], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S)
    assert done.returncode == 1 and words in flat(done.stderr) and not done.stdout


@pytest.mark.parametrize(("what", "files", "words"), [
    (["noise", "--method", "osnoise"], {"available_tracers": None}, "CONFIG_FTRACE"),
    (["noise", "--method", "osnoise"], {"available_tracers": "nop\n"}, "CONFIG_OSNOISE_TRACER"),
    (["noise", "--of", "1"], {"osnoise/options": None}, "is older"),
    (["hardware"], {"available_tracers": "nop\n"}, "CONFIG_HWLAT_TRACER"),
    (["hardware"], {"hwlat_detector/mode": None}, "is older"),
    (["latency", "--method", "timerlat"], {"available_tracers": "hwlat\n"},
     "CONFIG_TIMERLAT_TRACER"),
])
def test_what_is_missing_is_said(isolator: Path, machine: Machine, what: list[str],
                                 files: dict[str, str | None], words: str) -> None:
    """hwlatdetect shows a traceback when its tracer is missing; here it is a result."""
    root = machine(files)
    document = _measure(isolator, what[0], *what[1:], "--root", root, codes=(77,))
    assert document["verdict"] == "skipped" and words in document["words"]
    assert not document["parts"] and not list((root / TRACING / "instances").iterdir())
    assert not (root / "run/isolator").exists()


def test_no_clock(isolator: Path) -> None:
    """The same of a device."""
    if Path("/dev/rtc0").exists():
        pytest.skip("this machine has /dev/rtc0")
    assert "/dev/rtc0 does not exist" in _measure(isolator, "rtc", codes=(77,))["words"]


def test_classes(isolator: Path, machine: Machine) -> None:
    """Counts and maxima by class, settings read back, all as it was afterwards."""
    root = machine()
    document = look(isolator, root, [
        line("irq_noise: before:1 start 1.0 duration 9999999 ns", BEFORE),
        line("irq_noise: local_timer:236 start 1.0 duration 1573 ns"),
        line("irq_noise: eth0:33 start 1.0 duration 7001 ns"),
        line("softirq_noise:   TIMER:1 start 1.0 duration 800 ns"),
        line("nmi_noise: start 1.0 duration 9 ns"),
        line("thread_noise: kworker/3:1:4711 start 1.0 duration 65000 ns"),
        line("sample_threshold: start 1.0 duration 66000 ns interference 3"),
        line("sample_threshold: start 1.0 duration 12000 ns interference 0"),
        line("1000000        190  99.98100       66     1      1   2    1      1"),
        line("irq_noise: after:1 start 1.0 duration 9999999 ns", AFTER),
    ], *NOISE)
    series = _series(document)
    assert {name: (s["triggers"], s["max"]) for name, s in series.items()} == {
        "noise": (2, 66000), "hw": (1, 12000), "nmi": (1, 9), "irq": (2, 7001),
        "softirq": (1, 800), "thread": (1, 65000), "lost": (1, 190_000)}
    assert document["instrument"]["clock"] == "tracer"
    assert document["instrument"]["threshold_ns"] == 1000
    assert setting(document, "cpus")["got"] == str(CPU)
    assert setting(document, "period_us")["held"]
    assert setting(document, "stop_tracing_us")["got"] == "0"
    _restored(root)


def test_of_a_program(isolator: Path, machine: Machine) -> None:
    """Its own threads and the idle one are no noise; the tracer's loop is off."""
    own = os.getpid()
    root = machine()
    document = look(isolator, root, [
        line(f"thread_noise: python:{own} start 1.0 duration 90000 ns"),
        line("thread_noise: swapper/1:0 start 1.0 duration 80000 ns"),
        line("thread_noise: other:999999999 start 1.0 duration 70000 ns"),
    ], "noise", "--of", str(own))
    series = _series(document)
    assert list(series) == ["nmi", "irq", "softirq", "thread"]
    assert (series["thread"]["triggers"], series["thread"]["max"]) == (1, 70000)
    assert setting(document, "workload")["asked"] == "NO_OSNOISE_WORKLOAD"
    assert document["instrument"]["threshold_ns"] is None
    _restored(root)


NAMES = ["x\ny", "a\n", "\nb", "\n\n\n", " duration 1 ns\n", "x\n => \ny", "\nCPU:1 [LOST 9",
         "\nabcdefghijklmn"]


def test_names_with_line_ends(isolator: Path, machine: Machine) -> None:
    """A task may call itself so, in the events that it makes and before others: all count."""
    def named(name: str, text: str) -> str:
        return f"{name:>16}-{line(text).partition('-')[2]}"

    series = _series(look(isolator, machine(), [
        *(named(name, text) for name in NAMES for text in (
            f"thread_noise: {name:>8}:861 start 1.0 duration 65000 ns",
            "irq_noise: eth0:33 start 1.0 duration 7001 ns",
            f"thread_noise: {name:>8}:861 start 1.0 duration 700 ns")),
        line("osnoise_sample: runtime=1000000 noise=190"),
        line("<stack trace>"), " => do_idle\n => cpu_startup_entry\n",
        line("1000000        190  99.98100       66     1      1   2    1      1"),
    ], *NOISE))
    assert [(series[name]["triggers"], series[name]["max"]) for name in ("thread", "irq")] == [
        (2 * len(NAMES), 65000), (len(NAMES), 7001)]
    assert not any(s["missing"] for s in series.values())


def test_events_that_are_not_understood(isolator: Path, machine: Machine) -> None:
    """They may have been anything: no limit holds then."""
    document = look(isolator, machine(), [
        line("thread_noise: x"), line("irq_noise: eth0:33 start 1.0 duration 71 ns"),
        line("1000000        190  99.98100       66     1      1   2    1      1"),
        line("irq_noise: eth0:33 begin 1.0 length 71 ns"),
    ], *NOISE, "--limit", "max=1ms", codes=(3,))
    series = _series(document)
    assert document["verdict"] == "inconclusive" and series["irq"]["max"] == 71
    assert all(s["missing"] == 2 for s in series.values())


def test_lost_events_are_missing(isolator: Path, machine: Machine) -> None:
    """What the ring has overwritten may have been anything: no limit holds then."""
    document = look(isolator, machine(), [
        line("irq_noise: eth0:33 start 1.0 duration 7001 ns"), f"CPU:{CPU} [LOST 12 EVENTS]\n",
    ], *NOISE, "--limit", "max=1ms", codes=(3,))
    assert document["verdict"] == "inconclusive"
    for series in document["parts"][0]["series"]:
        assert series["complete"] and series["missing"] >= 12


def test_a_tracer_that_is_silent(isolator: Path, machine: Machine) -> None:
    """It says something each second; if it does not, nothing was measured."""
    root = machine()
    document = _measure(isolator, "noise", "--method", "osnoise", "-t", "4", "--root", root,
                        "--limit", "max=1ms", codes=(3,))
    assert _series(document)["noise"]["missing"] == 1


def test_hardware(isolator: Path, stubborn: Path, machine: Machine) -> None:
    """The larger of both gaps of a window, NMIs apart; the settings in an order that goes."""
    root = machine()
    document = look(isolator, root, [
        line("#1     inner/outer(us):   12/13    ts:1500.000000012 count:1"),
        line("#2     inner/outer(us):   44/2     ts:1500.000000012 count:3 nmi-count:2"),
    ], "hardware", "--period", "200ms", "--width", "50ms", "--threshold", "11us")
    assert [setting(document, name)["got"] for name in ("window", "width", "tracing_thresh")] == [
        "200000", "50000", "11"]
    series = _series(document)
    assert (series["hw"]["triggers"], series["hw"]["max"]) == (1, 13_000)
    assert (series["nmi"]["triggers"], series["nmi"]["max"]) == (1, 44_000)
    assert document["instrument"]["resolution_ns"] == 1000
    _restored(root)
    # No width is larger than its window, not even for a moment; whatever they were before.
    for period, width in (("200ms", "50ms"), ("2s", "1s"), ("700ms", "600ms")):
        document = _measure(stubborn, "hardware", "-t", "0.2", "--root", root, "--period", period,
                            "--width", width)
        assert all(setting(document, name)["held"] for name in ("mode", "width", "window"))
        _restored(root)


def test_nothing_is_good(isolator: Path, machine: Machine) -> None:
    """No gap above the threshold: a limit holds, without a value."""
    root = machine()
    document = _measure(isolator, "hardware", "-t", "1", "--root", root, "--limit", "max=20us")
    assert document["verdict"] == "passed" and document["limits"][0]["value_ns"] is None
    # But nothing is known of what is finer.
    (root / TRACING / "instances").rmdir()
    (root / TRACING / "instances").mkdir()
    _measure(isolator, "hardware", "-t", "1", "--root", root, "--limit", "max=2us", codes=(3,))
    _restored(root)


def test_timerlat(isolator: Path, machine: Machine) -> None:
    """Interrupt, thread, and return to user mode: three series."""
    root = machine()
    document = look(isolator, root, [
        line("#1     context    irq timer_latency       932 ns"),
        line("#1     context thread timer_latency     11700 ns"),
        line("#1     context user-ret timer_latency     12800 ns"),
        line("#2     context    irq timer_latency       900 ns"),
    ], "latency", "--method", "timerlat", "--policy", "other", "--period", "2ms")
    assert {name: (s["triggers"], s["max"]) for name, s in _series(document).items()} == {
        "irq": (2, 932), "thread": (1, 11700), "user": (1, 12800)}
    assert setting(document, "timerlat_period_us")["got"] == "2000"
    assert setting(document, "policy")["got"] == "other"
    _restored(root)


def test_timerlat_without_its_file(isolator: Path, machine: Machine) -> None:
    """The thread cannot begin: an error, and all is as it was."""
    root = machine()
    (root / TRACING / f"osnoise/per_cpu/cpu{CPU}/timerlat_fd").unlink()
    done = subprocess.run([isolator, "measure", "latency", "--method", "timerlat", "-t", "1", "-c",
                           str(CPU), "--root", root], capture_output=True, text=True, check=False,
                          timeout=PATIENCE_S)
    assert done.returncode == 1 and "timerlat_fd: No such file" in flat(done.stderr)
    (root / TRACING / f"osnoise/per_cpu/cpu{CPU}/timerlat_fd").touch()
    _restored(root)


@pytest.mark.parametrize("name", ["tracing_thresh", "osnoise/cpus"])
def test_a_setting_that_does_not_hold(stubborn: Path, machine: Machine, name: str) -> None:
    """Read back, it is another one: invalid, nothing measured, all as it was."""
    root = machine()
    document = _measure(stubborn, "noise", "--method", "osnoise", "-t", "1", "--root", root,
                        "--threshold", "5us", codes=(3,),
                        environment={"IGNORED": f"/{TRACING}/{name}"})
    assert document["verdict"] == "invalid" and not document["parts"]
    assert not setting(document, Path(name).name)["held"]
    _restored(root)


def test_a_tracer_that_is_taken(stubborn: Path, machine: Machine) -> None:
    """Another program has it."""
    root = machine()
    done = subprocess.run([stubborn, "measure", "hardware", "-t", "1", "--root", root],
                          capture_output=True, text=True, check=False, timeout=PATIENCE_S,
                          env={**os.environ, "BUSY": "current_tracer"})
    assert done.returncode == 1 and "another program has a tracer" in flat(done.stderr)
    _restored(root)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal(isolator: Path, machine: Machine, number: signal.Signals) -> None:
    """It ends early, with its result, and all is as it was."""
    root = machine()
    run = begin(isolator, root, *NOISE, "--json")
    assert _settings(root)["osnoise/cpus"] == f"{CPU}\n"
    run.send_signal(number)
    out, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0 and valid("measure", out)["early"]
    _restored(root)


def test_it_is_killed(isolator: Path, machine: Machine) -> None:
    """Nothing can be done then; isolator restore does it."""
    root = machine()
    run = begin(isolator, root, *NOISE)
    run.kill()
    run.communicate(timeout=PATIENCE_S)
    assert _settings(root) != SETTINGS and list((root / TRACING / "instances").iterdir())
    subprocess.run([isolator, "restore", "--root", root], check=True, capture_output=True,
                   timeout=PATIENCE_S)
    _restored(root)


def test_after_one_that_was_killed(isolator: Path, machine: Machine) -> None:
    """The kernel has no timerlat beside an osnoise that was left: that goes first, and is named."""
    root = machine()
    run = begin(isolator, root, *NOISE)
    run.kill()
    run.communicate(timeout=PATIENCE_S)
    left = set((root / TRACING / "instances").iterdir())
    run = subprocess.Popen([isolator, "measure", "latency", "--method", "timerlat", "-t", "60",
                            "-c", str(CPU), "--root", root], text=True, stderr=subprocess.PIPE,
                           stdout=subprocess.DEVNULL)
    until(lambda: set((root / TRACING / "instances").iterdir()) - left, run.poll)
    now = set((root / TRACING / "instances").iterdir())
    run.terminate()
    _, said = run.communicate(timeout=PATIENCE_S)
    assert not now & left
    assert "(isolator measure) was killed" in said
    _restored(root)


def _read(pid: int) -> int:
    """Bytes that the process has read until now."""
    first = Path(f"/proc/{pid}/io").read_text().splitlines()[0]
    return int(first.removeprefix("rchar: "))


def test_a_tracer_that_never_pauses(isolator: Path, machine: Machine) -> None:
    """There is always more to read: the run ends all the same, and what is not read is missing."""
    if os.geteuid():
        pytest.skip("a device can be made by root only")
    root = machine({f"per_cpu/cpu{CPU}/trace_pipe": None})
    pipe = root / TRACING / f"per_cpu/cpu{CPU}/trace_pipe"
    pipe.parent.mkdir(parents=True)
    os.mknod(pipe, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    run = begin(isolator, root, *NOISE, "--json")
    # One that ends before it reads has missed nothing.
    until(lambda: _read(run.pid) > 1 << 20, run.poll)
    run.terminate()
    out, said = run.communicate(timeout=PATIENCE_S)
    assert run.returncode in (0, 3), said
    assert _series(valid("measure", out))["irq"]["missing"]
    _restored(root)


def test_somebody_else_changes_it(isolator: Path, machine: Machine) -> None:
    """What was measured from then on is not what was asked for."""
    root = machine()
    run = begin(isolator, root, *NOISE, "--json")
    (root / TRACING / "osnoise/cpus").write_text("2\n")
    run.terminate()
    out, said = run.communicate(timeout=PATIENCE_S)
    document = valid("measure", out)
    assert run.returncode == 3 and document["verdict"] == "invalid"
    assert "another program has changed it" in document["words"]
    # It is theirs: it stays, and all else is as before.
    assert 'osnoise/cpus: somebody has set it to "2" since, and so it stays' in said
    assert (root / TRACING / "osnoise/cpus").read_text() == "2\n"
    (root / TRACING / "osnoise/cpus").write_text(SETTINGS["osnoise/cpus"])
    _restored(root)
