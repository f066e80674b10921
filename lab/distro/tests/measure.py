#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: measure
# cpus: 4
# kernel: distro-stock
# timeout: 300
# about: isolator measure on Debian's kernels: each method, its exit status, causes, who may what
import subprocess
import time

import snapshot
from machine import ISOLATOR, check, done, note, same
from measuring import (
    AS_USER,
    AVAILABLE,
    HOG,
    TRACERS,
    has,
    hog,
    make_user,
    measured,
    named,
    series,
    setting,
)

HOG_MS, HOGS = 20, 3

make_user()
snapshot.noise()
before = snapshot.take()

# What a thread of its own measures.
for method in ("nanosleep", "timerfd"):
    found = measured("latency", "-c", "1", "-t", "1", "--method", method)
    has(found, "latency")
    policy = setting(found, "policy")
    check(policy.get("held") and "fifo" in policy["got"], f"{method}: as FIFO", policy)
found = measured("noise", "-c", "1", "-t", "1")
has(found, "gap")
ticks = named(found, "gap").get("samples", 0)
check(ticks >= 100, f"noise: {ticks} gaps in a second in which the tick came 250 times")
found = measured("rtc", "-c", "1", "-t", "1")
check(found.get("method") == "rtc", "rtc: by the clock's interrupts", found)
has(found, "latency")
same(before, "threads")

# What the kernel's tracers measure, or that this kernel has none.
wanted = {"osnoise": ("noise", "irq", "lost"), "timerlat": ("irq", "thread", "user"),
          "hwlat": ()}
for tracer, words in TRACERS.items():
    if tracer in AVAILABLE:
        found = measured(*words, "-c", "1", "-t", "2")
        has(found, *wanted[tracer])
        check(found.get("instrument", {}).get("clock") == "tracer", f"{tracer}: told by it")
    else:
        found = measured(*words, "-c", "1", "-t", "2", code=77)
        check(f"without the tracer {tracer}" in found.get("words", ""), f"{tracer}: is named")
        check("CONFIG_" in found.get("words", ""), f"{tracer}: and what it takes")
    same(before, tracer)
note(f"tracers: {' '.join(AVAILABLE)}")
if "osnoise" in AVAILABLE:
    # The noise of somebody else: the tick comes to a program that knows nothing of it.
    program = subprocess.Popen(["taskset", "-c", "1", "sh", "-c", "while :; do :; done"])
    found = measured("noise", "-c", "1", "-t", "2", "--of", str(program.pid))
    program.kill()
    program.wait()
    has(found, "irq")
    check("gap" not in [s["name"] for s in series(found)], "noise --of: without a loop of its own")
    same(before, "noise --of")

# Exit statuses.
measured("latency", "-c", "1", "-t", "1", "--limit", "max=100s")
found = measured("latency", "-c", "1", "-t", "1", "--limit", "max=1ns", code=2)
check(found.get("verdict") == "exceeded", "a limit on max is exceeded")
found = measured("latency", "-c", "1", "--count", "1000", "--limit", "p99.99=10s", code=3)
check(found.get("verdict") == "inconclusive", "too few samples for a limit")
if "timerlat" in AVAILABLE:
    measured(*TRACERS["timerlat"], "-c", "1", "-t", "1", "--limit", "max=1ns", code=2)
found = measured("latency", "-c", "1", "-t", "1", "--dma-latency", "0")
check(setting(found, "dma_latency").get("held"), "dma_latency holds", found.get("settings"))
same(before, "limits")

# A planted cause.
began = time.monotonic()
with hog(1, HOG_MS, HOGS, first_s=4, apart_s=1):
    found = measured("latency", "-c", "1", "-t", "6", "--why", "8ms")
attribution = found.get("attribution") or {"outliers": [], "causes": []}
note(f"{time.monotonic() - began:.1f} s")
note(str(attribution["causes"]))
hit = [e for e in attribution["outliers"] if any(c["who"] and HOG in c["who"] and
                                                 c["ns"] >= e["value_ns"] / 2
                                                 for c in e["causes"][:1])]
# Of one pause those triggers that came due in it are an outlier each.
pauses = {e["at"][:19] for e in hit}
check(len(pauses) == HOGS, f"each of {HOGS} pauses by {HOG} is named first: {len(hit)} outliers",
      str(attribution)[:3000])
check(all(c["kind"] in ("preemption", "thread") for e in hit for c in e["causes"][:1]),
      "as a thread that was ahead")
check(attribution.get("overhead"), "what looking costs is told", attribution.get("overhead"))
same(before, "--why")

# An ordinary user: what is lost is said.
found = measured("latency", "-c", "1", "-t", "1", user=True)
policy = setting(found, "policy")
check(not policy.get("held", True) and policy["note"], f"user: {policy.get('note')}", policy)
found = measured("latency", "-c", "1", "-t", "1", "--why", "8ms", user=True)
causes = setting(found, "causes")
check(not causes.get("held", True) and "root" in str(causes["note"]), f"user: {causes.get('note')}",
      causes)
has(found, "latency")
measured("noise", "-c", "1", "-t", "1", user=True)
found = measured("latency", "-c", "1", "-t", "1", "--dma-latency", "0", code=3, user=True)
check("dma_latency" in found.get("words", ""), "user: what does not hold makes it invalid")
for tracer, words in TRACERS.items():
    found = measured(*words, "-c", "1", "-t", "1", code=77, user=True)
    check("root" in found.get("words", ""), f"user: {tracer}: it is for root", found.get("words"))
for words in (("latency", "--policy", "fifo"), ("rtc",)):
    ended = subprocess.run([*AS_USER, ISOLATOR, "measure", *words, "-c", "1", "-t", "1"],
                           capture_output=True, text=True, check=False, timeout=60)
    check(ended.returncode == 1 and "root" in ended.stderr,
          f"user: measure {' '.join(words)}: {ended.returncode}: {ended.stderr.strip()}",
          ended.stdout)
ended = subprocess.run([*AS_USER, ISOLATOR, "measure", "latency", "-c", "1", "-t", "1"],
                       capture_output=True, text=True, check=False, timeout=60)
check(ended.returncode == 0 and "lost" in ended.stdout, "user: for people too", ended.stdout)
same(before, "user")
done()
