# SPDX-License-Identifier: GPL-2.0-or-later
"""In the guest: the same planted cause for isolator measure --why and for rtla's auto-analysis."""

import contextlib
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import machine

INJECT, RTLA = "/lab/bin/inject", "/lab/bin/rtla"
TRACING = Path("/sys/kernel/tracing")
OUTPUT = Path("/run/rtla.measure.json")
# Which is measured, and where all else runs, this too.
CPU, OTHER = 1, 0
# Above what the emulator's host takes where nothing happens; a cause takes twice as long and more.
THRESHOLD_US = 20000
AFTER_NS = 100_000_000
ROUNDS, ATTEMPTS = 3, 4
# Above the threads that measure: 90 and 95.
PRIORITY = 98
# What both should name, sizes, and what a cause is in words.
CAUSES: dict[str, tuple[str, int, str]] = {
    "hog": (r"inject", 60, "a FIFO 99 thread"),
    "irq": (r"irq/5-|ttyS2|serial", 131072, "a serial port, its handler's thread FIFO 98"),
    "softirq": (r"NET_RX|backlog_napi|ksoftirqd", 800, "packets, their threads FIFO 98"),
    "kworker": (r"kworker/1:|update_pages_handler", 196608, "bound work, its workers FIFO 98"),
    "irq-off": (r"hwlatd/1", 60, "the hwlat tracer's loop, interrupts off"),
}


# Of the kernel, which make it: ahead of what measures.
THREADS = {"irq": r"irq/5-", "softirq": r"(ksoftirqd|backlog_napi)/1\n", "kworker": r"kworker/1:"}


def put_ahead(pattern: str) -> None:
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if re.match(pattern, comm.read_text()):
                os.sched_setscheduler(int(comm.parent.name), os.SCHED_FIFO,
                                      os.sched_param(PRIORITY))
        except (OSError, ValueError):
            continue


def irq_off(ms: int) -> dict[str, Any]:
    """hwlat looks for @ms of each second, with interrupts off; twice."""
    own = TRACING / "instances" / "planted"
    own.mkdir()
    for path, value in ((TRACING / "hwlat_detector/mode", "per-cpu"),
                        (TRACING / "hwlat_detector/width", str(ms * 1000)),
                        (own / "tracing_cpumask", f"{1 << CPU:x}")):
        path.write_text(value)
    begin = time.monotonic_ns()
    (own / "current_tracer").write_text("hwlat")
    time.sleep(1.5)
    (own / "current_tracer").write_text("nop")
    own.rmdir()
    return {"happened": True, "from_ns": begin, "to_ns": time.monotonic_ns(), "took_ns": ms * 10**6}


def injected(cause: str, size: int) -> dict[str, Any]:
    """Makes it once; when it was."""
    if cause == "irq-off":
        return irq_off(size)
    process = subprocess.Popen([INJECT, "--program", "sleep", "--cpu", str(CPU), "--settle", "500",
                                cause, str(size)], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    # Some begin only when it has prepared.
    while cause in THREADS and process.poll() is None:
        put_ahead(THREADS[cause])
        time.sleep(0.05)
    said, _ = process.communicate(timeout=60)
    try:
        found: dict[str, Any] = json.loads(said)["injected"][0]
    except (ValueError, LookupError):
        return {"happened": False, "error": f"{process.returncode}: {said}"}
    found["took_ns"] = found["to_ns"] - found["from_ns"]
    return found


def utc_ns(text: str) -> int:
    """2026-11-22T06:15:00.123456789Z"""
    seconds = datetime.datetime.fromisoformat(text[:19] + "+00:00").timestamp()
    return int(seconds) * 10**9 + int(text[20:29])


def meets(made: dict[str, Any], due_ns: int, value_ns: int) -> bool:
    """Was a trigger, due then, waited for while it was made?  It may have been due before."""
    return bool(made["from_ns"] <= due_ns + value_ns and due_ns <= made["to_ns"] + AFTER_NS)


def isolator(cause: str, size: int) -> dict[str, Any]:
    """What isolator measure says of the worst that came while it was made."""
    OUTPUT.unlink(missing_ok=True)
    process = subprocess.Popen(
        ["taskset", "-c", f"{OTHER},{CPU}", machine.ISOLATOR, "measure", "latency",
         "-c", str(CPU), "-t", "6", "--why", f"{THRESHOLD_US}us", "--late", "missing",
         "--limit", f"max={THRESHOLD_US}us", "--output", str(OUTPUT)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    machine.until(lambda: OUTPUT.exists() or process.poll() is not None)
    made = injected(cause, size)
    said, _ = process.communicate(timeout=60)
    found = json.loads(OUTPUT.read_text())
    offset = time.time_ns() - time.monotonic_ns()
    during = [e for e in (found["attribution"] or {"outliers": []})["outliers"]
              if made["happened"] and
              meets(made, utc_ns(e["at"]) - offset, e["value_ns"])]
    if not during:
        return {"named": None, "exit": process.returncode, "made": made, "said": said[-600:]}
    worst = max(during, key=lambda e: e["value_ns"])
    first: dict[str, Any] = worst["causes"][0] if worst["causes"] else {"who": None, "ns": 0}
    named = re.search(CAUSES[cause][0], str(first["who"])) and first["ns"] * 2 >= worst["value_ns"]
    return {"named": bool(named), "exit": process.returncode, "made": made,
            "said": json.dumps({**worst, "causes": worst["causes"][:3]})[:1500]}


def analysed(cause: str, text: str) -> bool | None:
    """Is what rtla gives the most time, or the thread that it says was in the way, the cause?"""
    if "hit stop tracing, analyzing it" not in text:
        return None
    total = re.search(r"latency: +([\d.]+) us \(100%\)", text)
    shares = [(float(us), name) for name, us in
              re.findall(r"^ +(\S.*?):\d+ +([\d.]+) us *$", text, re.MULTILINE)]
    blocking = re.search(r"Blocking thread:\n +(\S+?):\d+ *$", text, re.MULTILINE)
    us, name = max(shares, default=(0.0, ""))
    if total and us * 2 >= float(total[1]):
        return bool(re.search(CAUSES[cause][0], name))
    return bool(blocking and re.search(CAUSES[cause][0], blocking[1]))


def ended(process: subprocess.Popen[str]) -> bool:
    return process.poll() is not None


def ready(process: subprocess.Popen[str]) -> bool:
    """It takes signals only when all is set up and it measures; or it has ended."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = re.search(r"^SigCgt:\s*(\S+)", status, re.MULTILINE)
    return ended(process) or bool(caught and int(caught[1], 16) >> (signal.SIGINT - 1) & 1)


class Stop:
    """When its trace stops, which is at the first value above the threshold."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.at_ns: int | None = None
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()

    def _watch(self) -> None:
        state = TRACING / "instances/timerlat_top/tracing_on"
        while self.process.poll() is None:
            with contextlib.suppress(OSError):
                if state.read_text() == "0\n":
                    self.at_ns = time.monotonic_ns()
                    return
            time.sleep(0.005)

    def within(self, made: dict[str, Any]) -> bool:
        self.thread.join()
        return bool(made["happened"] and self.at_ns and
                    made["from_ns"] <= self.at_ns <= made["to_ns"] + AFTER_NS)


def rtla(cause: str, size: int) -> dict[str, Any]:
    """What its analysis says; it ends at the first value above the threshold."""
    said = ""
    for attempt in range(1, ATTEMPTS + 1):
        process = subprocess.Popen(
            ["taskset", "-c", f"{OTHER},{CPU}", RTLA, "timerlat", "top", "-c", str(CPU), "-q",
             "-a", str(THRESHOLD_US), "-d", "30s"],
            cwd="/run", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        machine.until(partial(ready, process))
        time.sleep(1)
        stop = Stop(process)
        made = injected(cause, size)
        if not machine.until(partial(ended, process), 5):
            process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
        # What the host did before or after is not asked for.
        if stop.within(made):
            return {"named": analysed(cause, said), "exit": process.returncode, "made": made,
                    "attempts": attempt, "said": said[-2500:]}
    return {"named": None, "exit": process.returncode, "made": made, "attempts": ATTEMPTS,
            "said": said[-2500:]}


def main() -> None:
    os.sched_setaffinity(0, {OTHER})
    target = subprocess.Popen(["taskset", "-c", str(CPU), "sleep", "3600"])
    tools: dict[str, Callable[[str, int], dict[str, Any]]] = {"isolator": isolator, "rtla": rtla}
    causes = []
    for cause, (pattern, size, about) in CAUSES.items():
        rounds = []
        for number in range(ROUNDS):
            order = list(tools)[:: 1 if number % 2 == 0 else -1]
            rounds.append({tool: tools[tool](cause, size) for tool in order})
            for tool in order:
                print(f"{cause} {size}: {tool}: {rounds[-1][tool]['named']}", flush=True)
        causes.append({"name": cause, "about": about, "size": size, "names": pattern,
                       "rounds": rounds})
    target.kill()
    target.wait()
    version = subprocess.run([RTLA, "--version"], capture_output=True, text=True, check=False)
    Path(sys.argv[1]).write_text(json.dumps({
        "threshold_us": THRESHOLD_US, "causes": causes,
        "rtla": (version.stdout + version.stderr).strip().splitlines()[:1]}))


if __name__ == "__main__":
    main()
