# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator-bpf on this machine: what is provoked is seen, named, and as often as others count."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from bpfstack import MOST, Functions
from bpftest import BUILD, CPU, OTHER, Counters, Scene
from clitest import CLI, NOBODY, PATIENCE_S, valid
from isolator_report.counted import Counted, check_any
from isolator_report.page import page

NESTED = "interrupt", "softirq", "timer", "ipi"


@pytest.fixture(scope="session")
def bpf() -> Path:
    """The command; not built: tools/bpf-test has said why."""
    path = BUILD / "bpf/isolator-bpf"
    if not path.exists():
        pytest.skip("isolator-bpf is not built here (meson: -Dbpf=enabled, by tools/bpf-test)")
    return path


@pytest.fixture(scope="session")
def live(bpf: Path) -> Path:
    """The same, where it may count."""
    done = subprocess.run([bpf, "noise", "-c", str(CPU), "-t", "0.1", "--json"],
                          capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    if CPU == OTHER:
        pytest.skip("it takes two CPUs: one to count on, and one to disturb it from")
    assert done.returncode == 0, done.stderr
    return bpf


@pytest.fixture(scope="session")
def provoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What does on a CPU what is to be seen there (provoke.c)."""
    path = tmp_path_factory.mktemp("bpf") / "provoke"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread", "-o",
                    path, Path(__file__).with_name("provoke.c")], check=True)
    return path


def _until_it_counts(process: subprocess.Popen[str], output: Path) -> None:
    """It writes there what it counts: once it does."""
    stop = time.monotonic() + PATIENCE_S
    while not output.exists():
        assert time.monotonic() < stop and process.poll() is None
        time.sleep(0.01)


@pytest.fixture(scope="session")
def scene(live: Path, provoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """One run for all tests that look at figures."""
    output = tmp_path_factory.mktemp("bpf") / "result.json"
    before = Counters.look()
    with subprocess.Popen([live, "noise", "-c", str(CPU), "-t", "5", "--threshold", "20us",
                           "--json", "--output", output, "--top", "50"],
                          stdout=subprocess.PIPE, text=True) as process:
        _until_it_counts(process, output)
        inner = Counters.look()
        done = subprocess.run([provoke, str(CPU), str(OTHER), "1.5"], capture_output=True,
                              text=True, check=True, timeout=PATIENCE_S)
        within = Counters.look().since(inner)
        assert process.poll() is None, "it was over before what it was to see"
        text, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, text
    outer = Counters.look().since(before)
    document = valid("bpf-noise", text)
    assert json.loads(output.read_text())["sources"] == document["sources"]
    return Scene(document, json.loads(done.stdout), within, outer)


def _run(bpf: Path, *arguments: str, before: list[str] | None = None,
         **who: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*(before or []), bpf, *arguments], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S, **who)


def _noise(bpf: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = _run(bpf, "noise", "-c", str(CPU), "--json", *arguments)
    assert done.returncode == code, (done.returncode, done.stderr)
    return valid("bpf-noise", done.stdout)


def _programs() -> int:
    """How many programs of ours the kernel has."""
    path = os.environ["PATH"] + ":/usr/sbin"  # where Debian has it, and only root looks
    listing = subprocess.run(["bpftool", "prog", "list", "--json"], capture_output=True, text=True,
                             check=True, env={**os.environ, "PATH": path})
    return sum(p.get("name") in ("switched", "softirq_begins") for p in json.loads(listing.stdout))


@pytest.mark.parametrize(("row", "kind", "names"), [
    ("LOC", "timer", ["local_timer"]),
    ("CAL", "ipi", ["call_function", "call_function_single"]),
    ("RES", "ipi", ["reschedule"]),
    ("NET_RX", "softirq", ["NET_RX"]),
    ("TIMER", "softirq", ["TIMER"]),
    ("SCHED", "softirq", ["SCHED"]),
    ("RCU", "softirq", ["RCU"]),
    ("pgfault", "page fault", ["user", "kernel"]),
])
def test_counts_as_the_kernel_does(scene: Scene, row: str, kind: str, names: list[str]) -> None:
    """Between what the kernel counted within the run, and around it."""
    if row not in scene.outer:
        pytest.skip(f"this kernel has no row {row}")
    count = scene.count(kind, *names)
    # Of page faults it tells no CPU: within, those of the program that was there.
    inner = scene.said["faults"] if row == "pgfault" else scene.inner[row]
    assert inner <= count <= scene.outer[row], (row, inner, count, scene.outer[row])
    if row in ("LOC", "NET_RX", "pgfault"):
        assert inner > 100, "too little came to compare"


def test_device_interrupts(scene: Scene) -> None:
    """All of them together, by number in /proc/interrupts and by name here."""
    inner, outer = (sum(n for row, n in rows.items() if row.isdigit())
                    for rows in (scene.inner, scene.outer))
    assert inner <= scene.count("interrupt") <= outer


def test_timers(scene: Scene) -> None:
    """The timer's function ran before each read of the program's that found it expired."""
    account = scene.document["account"]
    counted = scene.count("timer", "timerfd_tmrproc")
    # A kernel that does not report each switch does not report each timer then either.
    assert counted + account["unmatched"] + account["unseen"] >= scene.said["timer_runs"] > 100


def test_hog(scene: Scene) -> None:
    """It has as many stretches as it was switched out by that name."""
    hogs = scene.count("preemption", "hog") + scene.count("thread", "hog")
    # Some kernels do not report each switch, which is said. Once more as it ends, after it counted.
    unseen = scene.document["account"]["unseen"]
    assert 50 < scene.said["hog_named"] <= hogs + unseen, (hogs, unseen)
    assert hogs <= scene.said["hog_switched"] + 1, hogs
    # What interrupted it is in its own time, and not in what was counted for it.
    total, within = (sum(s["total_ns"] for kind in kinds for s in scene.sources(kind, *who))
                     for kinds, who in ((("preemption", "thread"), ("hog",)), (NESTED, ())))
    assert total <= scene.document["seconds"] * 1e9
    unknown = sum(s["total_ns"] for s in scene.document["sources"] if s["who"] == "(others)")
    assert total + within + unknown >= scene.said["hog_ns"] * 0.95 > 0
    assert scene.sources("preemption", "hog")[0]["stack"], "who woke it has a stack"


def test_preemptions(scene: Scene) -> None:
    """Who was switched out against its will lost it to somebody each time."""
    unseen = scene.document["account"]["unseen"]
    assert scene.count("preemption") + unseen >= scene.said["involuntary"] > 50, unseen


def test_calls_have_their_sender(scene: Scene) -> None:
    """membarrier on the other CPU calls this one."""
    calls = scene.sources("ipi", "ipi_mb")
    assert calls, [s["who"] for s in scene.sources("ipi")]
    assert 100 < calls[0]["count"] <= scene.said["calls"]
    assert calls[0]["sender"] == "caller" and calls[0]["sender_cpu"] == OTHER
    assert any("membarrier" in call for call in calls[0]["stack"])


def test_nothing_is_counted_twice(scene: Scene) -> None:
    """All that had the CPU fits into the time that there was; nested time is subtracted."""
    total = sum(s["total_ns"] for s in scene.document["sources"])
    assert total <= scene.document["seconds"] * 1e9 * 1.01
    for source in scene.document["sources"]:
        assert source["worst_ns"] <= max(source["total_ns"], 1)
        assert sum(source["histogram"]) == source["count"], source


def test_account(scene: Scene) -> None:
    """Every loss above the threshold came through, or was counted as lost."""
    attribution, account = scene.document["attribution"], scene.document["account"]
    assert account["complete"] and not account["uncounted"] and not account["missed"]
    assert attribution["seen"] == attribution["looked"] + attribution["lost"]
    assert attribution["source"] == "bpf" and attribution["threshold_ns"] == 20_000
    losses = scene.document["losses"][0]
    assert sum(losses["histogram"]) == losses["count"] >= attribution["seen"] > 0
    for excess in attribution["excesses"]:
        assert 20_000 <= excess["value_ns"] <= losses["worst_ns"]
        assert excess["explained_ns"] <= excess["value_ns"]
    assert scene.document["cost"]["event_ns"] < 20_000
    assert 0 < scene.document["cost"]["percent"] < 20


def test_a_full_ring_is_counted(live: Path, provoke: Path) -> None:
    """Each loss is told with its parts, into a ring that is far too small for that."""
    with subprocess.Popen([provoke, str(CPU), str(OTHER), "60"],
                          stdout=subprocess.DEVNULL) as process:
        document = _noise(live, "-t", "2", "--threshold", "1ns", "--ring", "4096")
        process.kill()
    attribution = document["attribution"]
    assert attribution["lost"] > 0
    assert attribution["seen"] == attribution["looked"] + attribution["lost"]
    assert attribution["seen"] == document["losses"][0]["count"]
    assert document["account"]["complete"], "all of it was counted"


def test_of(live: Path, provoke: Path) -> None:
    """What one process loses: its own threads are no cause, but for those that preempt it."""
    with subprocess.Popen([provoke, str(CPU), str(OTHER), "60"],
                          stdout=subprocess.DEVNULL) as process:
        document = _noise(live, "-t", "2", "--of", str(process.pid))
        process.kill()
    assert document["of"] == process.pid
    assert not [s for s in document["sources"] if s["kind"] == "thread" and s["who"] == "provoke"]
    assert any(s["kind"] == "preemption" and s["who"] == "hog" for s in document["sources"])
    assert document["losses"][0]["count"] > 100
    assert not _noise(live, "-t", "0.3", "--of", str(2**22 + 1))["losses"][0]["count"]


def test_limit(live: Path, provoke: Path) -> None:
    """A gate: the hog takes the CPU for 1 ms."""
    with subprocess.Popen([provoke, str(CPU), str(OTHER), "60"],
                          stdout=subprocess.DEVNULL) as process:
        assert _noise(live, "-t", "1", "--limit", "500us", code=2)["verdict"] == "exceeded"
        assert _noise(live, "-t", "0.5", "--limit", "10s")["verdict"] == "passed"
        process.kill()


def test_a_signal_ends_it(live: Path) -> None:
    """It tells what it has, and leaves no program behind; killed neither."""
    for number, code in ((signal.SIGTERM, 0), (signal.SIGKILL, -9)):
        with subprocess.Popen([live, "noise", "-c", str(CPU), "-t", "60", "--json"],
                              stdout=subprocess.PIPE, text=True) as process:
            stop = time.monotonic() + PATIENCE_S
            while not _programs():
                assert time.monotonic() < stop
            time.sleep(0.2)
            process.send_signal(number)
            text, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == code
        if code == 0:
            assert valid("bpf-noise", text)["early"]
        stop = time.monotonic() + PATIENCE_S
        while _programs():
            assert time.monotonic() < stop, "programs are left behind"


def test_same_causes_as_tracefs(live: Path, provoke: Path, tmp_path: Path) -> None:
    """isolator measure noise --why and this, beside it on the same run: the same main causes."""
    output = tmp_path / "result.json"
    # It begins when the other one counts, whose programs may take longer to load than it runs.
    measuring = ["sh", "-c", 'read _ && exec "$@"', "sh", str(BUILD / "isolator"), "measure",
                 "noise", "-c", str(CPU), "-t", "3", "--why", "300us", "--json"]
    with subprocess.Popen([provoke, str(CPU), str(OTHER), "120"],
                          stdout=subprocess.DEVNULL) as disturber:
        with subprocess.Popen(measuring, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as measure, \
                subprocess.Popen([live, "noise", "-c", str(CPU), "-t", "60", "--threshold", "300us",
                                  "--of", str(measure.pid), "--json", "--output", output],
                                 stdout=subprocess.PIPE, text=True) as counting:
            _until_it_counts(counting, output)
            text, errors = measure.communicate("\n", timeout=PATIENCE_S)
            counting.terminate()
            mine = valid("bpf-noise", counting.communicate(timeout=PATIENCE_S)[0])["attribution"]
        disturber.kill()
    theirs = valid("measure", text)["attribution"]
    if theirs is None:
        pytest.skip(f"the kernel's trace cannot be had: {errors.strip()}")
    mine, theirs = ([(c["kind"], c["who"]) for c in a["causes"]] for a in (mine, theirs))
    # On a busy machine there are others, and the one counts from a little before the other:
    # what is planted is among the first of both, and so is the half of them.
    both = set(mine[:6]) & set(theirs[:6])
    assert ("preemption", "hog") in both and len(both) >= 3, (mine, theirs)


def test_skips_by_name(bpf: Path) -> None:
    """Without the right: what is missing, what is lost, what helps."""
    done = _run(bpf, "noise", "-c", str(CPU), "-t", "0.1", **NOBODY)
    assert done.returncode == 77 and not done.stdout
    assert "skipped: " in done.stderr and "root" in done.stderr
    assert "isolator measure noise --why" in done.stderr


def test_skips_without_types(live: Path) -> None:
    """A kernel that does not describe its types: here, a place where they are hidden."""
    hide = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"]
    if subprocess.run([*hide, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no mount namespace of its own can be had here")
    done = _run(live, "noise", "-c", str(CPU), "-t", "0.1", before=hide)
    assert done.returncode == 77 and "CONFIG_DEBUG_INFO_BTF" in done.stderr, done.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (["noise"], "it needs -c LIST"),
    (["noise", "-c", "8000"], "not all of these CPUs are online"),
    (["noise", "-c", "x"], "--cpu wants a list"),
    (["noise", "-c", "0", "--threshold", "-1"], "--threshold wants a time"),
    (["noise", "-c", "0", "-t", "0"], "--time wants seconds"),
    (["noise", "-c", "0", "--nonsense"], "see isolator-bpf noise --help"),
    (["sound"], "there is no subcommand \"sound\"; see isolator-bpf --help"),
])
def test_wrong_words(bpf: Path, arguments: list[str], words: str) -> None:
    """An error says what to do."""
    done = _run(bpf, *arguments)
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert done.stderr.startswith("isolator-bpf")


def test_help_and_man(bpf: Path) -> None:
    """Both say the same options, and all exit codes."""
    page = (CLI / "man/isolator-bpf.1").read_text()
    options = _run(bpf, "manual-options", "noise").stdout
    assert options.count("\n") > 20 and options in page
    text = _run(bpf, "noise", "--help").stdout
    assert text.startswith("usage: isolator-bpf noise [")
    for code in ("0", "1", "2", "3", "77"):
        assert f"\n.TP\n.B {code}\n" in page and f"\n  {code} " in text
    assert "complete -F _isolator-bpf isolator-bpf" in _run(bpf, "completion", "bash").stdout
    assert _run(bpf, "--version").stdout.startswith("isolator-bpf ")


def test_nothing_has_to_be_installed(bpf: Path) -> None:
    """Both commands are static, and isolator has nothing of libbpf."""
    for path in (BUILD / "isolator", bpf):
        done = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True)
        assert "no dynamic section" in done.stdout
    assert b"libbpf" not in (BUILD / "isolator").read_bytes()


def test_isolator_report_reads_it(scene: Scene) -> None:
    """What it says holds together, and there is a page of it."""
    found = check_any(scene.document, "scene")
    assert isinstance(found, Counted) and not found.invalid
    assert "ipi_mb" in page([found])


def test_schema() -> None:
    """Its attribution is that of isolator.measure, which isolator-report reads."""
    mine, theirs = (json.loads((CLI / f"schema/{name}.json").read_text())["properties"]
                    ["attribution"] for name in ("bpf-noise", "measure"))
    assert mine["properties"] == theirs["properties"] and mine["required"] == theirs["required"]


def test_the_stack_is_enough_for_older_kernels(bpf: Path) -> None:
    """Linux 6.12 refuses programs that take more than 512 bytes, with all that they call."""
    functions = Functions(bpf.parent / "noise.bpf.o")
    depth = {name: functions.deepest(name) for name in functions.own}
    assert {"switched", "begin", "account", "nmi"} <= depth.keys()
    assert "account" in functions.calls["end"] and "keep" in functions.calls["switched"]
    assert depth["switched"] > functions.own["switched"] > 0
    assert max(depth.values()) <= MOST, depth
