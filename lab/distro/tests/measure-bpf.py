#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: measure-bpf
# cpus: 4
# kernel: distro
# timeout: 300
# brings: isolator-bpf
# about: isolator-bpf counts what the kernel and the one who provokes it count, and leaves nothing
import contextlib
import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import snapshot
from machine import check, done, has_isolator, note, same, until
from measuring import AS_USER, Document, make_user, valid

BPF, PROVOKE = "/lab/bin/isolator-bpf", "/lab/bin/provoke"
CPU, OTHER = 1, 0
OUTPUT = Path("/run/isolab.bpf.json")
PINNED = Path("/sys/fs/bpf")
FAULTS = Path("/sys/kernel/tracing/instances/isolab-faults")
# Emulated, the kernel takes half a minute to verify the programs.
PATIENCE_S = 150.0
RARE = 0.001  # of all events, that came amid the same program
SYS_BPF = 321
NEXT_ID = {"program": 11, "map": 12, "link": 31}  # commands of bpf(2)

if not os.path.exists(BPF):
    print("1..0 # SKIP isolator-bpf was not built: tools/install-packages bpf, on the host")
    sys.exit(77)

libc = ctypes.CDLL(None, use_errno=True)


def kept() -> set[str]:
    """All of BPF that the kernel has."""
    found = {f"pinned {path.name}" for path in PINNED.iterdir()} if PINNED.is_dir() else set()
    for kind, command in NEXT_ID.items():
        number = 0
        while True:
            attributes = ctypes.create_string_buffer(struct.pack("III", number, 0, 0))
            if libc.syscall(SYS_BPF, command, attributes, 12):
                break
            number = struct.unpack("III", attributes.raw[:12])[1]
            found.add(f"{kind} {number}")
    return found


def nothing_is_left(what: str) -> None:
    """The kernel takes a moment to let go of a program."""
    check(until(lambda: not kept() - had, 10), f"{what}: no program, map or link is left",
          kept() - had)
    same(before, what)


def run(*words: str, who: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*who, BPF, *words], capture_output=True, text=True, check=False,
                          timeout=PATIENCE_S)


@contextlib.contextmanager
def counting_faults() -> Iterator[None]:
    """The kernel's trace counts page faults too: /proc/vmstat has only those that it resolved."""
    FAULTS.mkdir()
    try:
        (FAULTS / "events/exceptions/enable").write_text("1")
        yield
    finally:
        (FAULTS / "events/exceptions/enable").write_text("0")
        FAULTS.rmdir()


def counters() -> dict[str, int]:
    """What the kernel itself has counted on CPU."""
    found = {}
    for name in ("interrupts", "softirqs"):
        lines = Path(f"/proc/{name}").read_text().splitlines()
        at = lines[0].split().index(f"CPU{CPU}") + 1
        for line in lines[1:]:
            words = line.split()
            if len(words) > at and words[at].isdigit():
                found[words[0].rstrip(":")] = int(words[at])
    stats = (FAULTS / f"per_cpu/cpu{CPU}/stats").read_text().splitlines()
    numbers = {name: int(value) for name, value in
               (line.split(": ") for line in stats) if value.isdigit()}
    found["fault"] = sum(numbers[name] for name in ("entries", "overrun", "dropped events"))
    return found


def start(*words: str) -> subprocess.Popen[str]:
    """isolator-bpf noise, once it has written what it counts."""
    OUTPUT.unlink(missing_ok=True)
    process = subprocess.Popen([BPF, "noise", "-c", str(CPU), "-t", "3600", "--json", "--output",
                                str(OUTPUT), *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    if not until(lambda: OUTPUT.exists() or process.poll() is not None, PATIENCE_S) or \
            process.poll():
        process.kill()
        check(False, "isolator-bpf noise begins", process.communicate()[1])
        done()
    return process


def disturb(seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen([PROVOKE, str(CPU), str(OTHER), str(seconds)],
                            stdout=subprocess.PIPE, text=True)


make_user()
snapshot.noise()
before, had = snapshot.take(), kept()
note(f"of BPF the kernel has {len(had)} already")

# Wrong words, and somebody who may not.
ended = run("noise")
check(ended.returncode == 1 and "it needs -c LIST" in ended.stderr, "without a CPU: 1", ended)
ended = run("noise", "-c", str(CPU), "-t", "1", who=AS_USER)
check(ended.returncode == 77 and not ended.stdout and "skipped: " in ended.stderr, "user: 77",
      ended)
check("isolator measure noise --why" in ended.stderr, "user: what helps is said", ended.stderr)
wanted = "CONFIG_DEBUG_INFO_BTF" if has_isolator() else "be root"
check(wanted in ended.stderr, f"user: {wanted}", ended.stderr)
nothing_is_left("user")
if has_isolator():
    # Our kernels do not describe their types.
    ended = run("noise", "-c", str(CPU), "-t", "1")
    check(ended.returncode == 77 and not ended.stdout, "a kernel without BTF: 77", ended)
    check(wanted in ended.stderr and "isolator measure noise --why" in ended.stderr,
          "which is said, and what helps", ended.stderr)
    nothing_is_left("without BTF")
    done()

# One run with all of it.
with counting_faults():
    outer = counters()
    began = time.monotonic()
    process = start("--threshold", "500us", "--top", "20", "--limit", "1000s")
    note(f"{time.monotonic() - began:.1f} s until it had counted for a second")
    inner = counters()
    with disturb(3) as program:
        said = json.loads(program.communicate(timeout=PATIENCE_S)[0])
    inner = {row: count - inner.get(row, 0) for row, count in counters().items()}
    meanwhile = process.poll() is None and bool(kept() - had)
    check(meanwhile, "its programs are there meanwhile")
    process.send_signal(signal.SIGINT)
    text, errors = process.communicate(timeout=PATIENCE_S)
    outer = {row: count - outer.get(row, 0) for row, count in counters().items()}
found: Document = valid(text, "noise", "bpf-noise")
if not found:
    done()
# An emulated CPU is so long in one program that an interrupt in its middle may want the same one:
# seldom, and then the run has to say that it is inconclusive.
account, attribution = found["account"], found["attribution"]
verdict, code = ("inconclusive", 3) if account["missed"] else ("passed", 0)
check(process.returncode == code, f"within its limit it ends with {process.returncode}", errors)
note(json.dumps(said))
note(json.dumps({key: found[key] for key in ("kernel", "seconds", "account", "cost", "losses")}))
check(found["verdict"] == verdict and found["early"], f"SIGINT: its result is kept, {verdict}")
check(not found["notes"], "this kernel tells all", found["notes"])


def count(kind: str, *names: str) -> int:
    return sum(int(s["count"]) for s in found["sources"] if s["kind"] == kind and s["who"] in names)


for row, kind, names in (
        ("LOC", "timer", ("local_timer",)), ("RES", "ipi", ("reschedule",)),
        ("CAL", "ipi", ("call_function", "call_function_single")),
        ("NET_RX", "softirq", ("NET_RX",)), ("TIMER", "softirq", ("TIMER",)),
        ("SCHED", "softirq", ("SCHED",)), ("RCU", "softirq", ("RCU",))):
    number = count(kind, *names)
    check(inner[row] <= number <= outer[row],
          f"{row}: {number}, of the kernel {inner[row]} to {outer[row]}")
check(inner["LOC"] > 100 and inner["NET_RX"] > 20 and inner["CAL"] > 20, "enough to compare", inner)
number = count("page fault", "user", "kernel")
check(20 < said["faults"] <= inner["fault"] <= number <= outer["fault"],
      f"page faults: {number}, of the kernel {inner['fault']} to {outer['fault']}")
number = count("timer", "timerfd_tmrproc")
check(number >= said["timer_runs"] > 20, f"timers: {number}")
number = count("preemption", "hog") + count("thread", "hog")
check(20 < said["hog_named"] <= number <= said["hog_switched"] + 1, f"the hog ran {number} times")
calls = [s for s in found["sources"] if s["who"] == "ipi_mb"]
check(len(calls) == 1 and 20 < calls[0]["count"] <= said["calls"], "calls of the other CPU",
      calls or [s["who"] for s in found["sources"]])
for call in calls:
    check(call["sender"] == "caller" and call["sender_cpu"] == OTHER, "who called is named", call)
    check(any("membarrier" in function for function in call["stack"]), "by its stack", call)

# Nothing is lost, nothing twice.
check(account["complete"] == (not account["missed"]) and not account["crowded"]
      and not account["uncounted"] and account["missed"] <= RARE * found["cost"]["events"],
      f"all was counted but {account['missed']} of {found['cost']['events']}", account)
check(attribution["seen"] == attribution["looked"] > 0 == attribution["lost"],
      f"each of {attribution['seen']} losses above the threshold was told", attribution["lost"])
rows = [*found["sources"], *found["losses"]]
check(all(sum(row["histogram"]) == row["count"] for row in rows), "buckets hold what was counted")
total = sum(s["total_ns"] for s in found["sources"])
check(total <= found["seconds"] * 1e9, "and no more time than there was", total)
# A pause of the host falls on whoever runs: not each of the longest is the hog's.
named = [e for e in attribution["excesses"] if e["causes"] and e["causes"][0]["who"] == "hog"]
check(named and all(e["causes"][0]["kind"] in ("preemption", "thread") for e in named),
      f"of {len(attribution['excesses'])} longest losses {len(named)} are the hog's",
      attribution["excesses"][:5])
check(tuple(attribution["causes"][0][key] for key in ("kind", "who")) == ("preemption", "hog"),
      "it is the first cause of all", attribution["causes"][:3])
nothing_is_left("SIGINT")

# A limit; whose losses.
with disturb(PATIENCE_S) as program:
    ended = run("noise", "-c", str(CPU), "-t", "2", "--limit", "500us", "--json",
                "--of", str(program.pid))
    program.kill()
found = valid(ended.stdout, "--limit", "bpf-noise")
check(ended.returncode == 2 and found["verdict"] == "exceeded", "a limit is exceeded: 2",
      ended.stderr)
check(found["of"] == program.pid and found["losses"][0]["count"] > 20, "--of")
check(not [s for s in found["sources"] if s["kind"] == "thread" and s["who"] == "provoke"],
      "--of: what it runs itself is left out")
nothing_is_left("--limit")

# Killed, it leaves a result that says so, and nothing else.
process = start()
process.kill()
process.communicate()
check(json.loads(OUTPUT.read_text())["verdict"] == "running", "killed: its result says so")
nothing_is_left("killed")
done()
