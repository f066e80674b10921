#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: watch-fix
# cpus: 4
# kernel: distro-stock
# timeout: 120
# about: isolator watch marks what hits a protected CPU; its fix, typed, works, and so does its undo
import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import snapshot
from machine import check, done, isolator, note, read, same, write

SCHEMA = json.loads(Path("/lab/schema/watch.json").read_text())
# The console's own port, whose interrupt comes as programs write to it.
PORT, IRQ = "/dev/ttyS0", "4"
AFFINITY = f"/proc/irq/{IRQ}/smp_affinity_list"
WATCH = ("watch", "-c", "1", "-n", "1", "--interval", "2", "--json")


@contextlib.contextmanager
def interrupts() -> Iterator[None]:
    """As long as this is not left."""
    stop, first = threading.Event(), threading.Event()

    def send() -> None:
        with open(PORT, "wb", buffering=0) as port:
            while not stop.is_set():
                port.write(b"." * 64 + b"\n")
                first.set()
                time.sleep(0.05)  # sleep: some interrupts a second

    sender = threading.Thread(target=send)
    sender.start()
    try:
        first.wait()
        yield
    finally:
        stop.set()
        sender.join()


def watched(*more: str, code: int = 0) -> dict[str, Any]:
    ended = isolator(*WATCH, *more)
    check(ended.returncode == code, f"watch {' '.join(more)}: {ended.returncode}", ended.stderr)
    found: dict[str, Any] = json.loads(ended.stdout)
    jsonschema.validate(found, SCHEMA)
    return found


def row(found: dict[str, Any]) -> dict[str, Any]:
    return next((r for r in found["interrupts"] if r["label"] == IRQ), {})


def typed(command: str) -> None:
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    check(ended.returncode == 0, f"typed: {command}", ended.stderr)


snapshot.noise()
before = snapshot.take()
old = read(AFFINITY)
write(AFFINITY, "1")
with interrupts():
    hit = row(watched())
    note(str(hit))
    if not check(hit.get("hits"), f"interrupt {IRQ} hits CPU 1: {hit.get('hits')}", hit):
        done()
    check(hit["class"] == "device" and hit["route"]["asked"] == "1", "it is routed there")
    advice = hit["advice"]
    check(advice["remedy"] == "write", f"what helps: {advice['fix']}", advice)
    exceeded = watched("--max-rate", "1", code=2)
    check(exceeded["limit"]["verdict"] == "exceeded", "more than a limit: exit 2")
    typed(advice["fix"])
    check("1" not in read(AFFINITY).replace("-", ","), f"its affinity is {read(AFFINITY)}")
    time.sleep(0.5)  # sleep: interrupts on their way come before the look
    left = row(watched())
    check(left.get("count") and not left["hits"],
          f"it goes on elsewhere: {left.get('count')}, and CPU 1 has {left.get('hits')}", left)
    if left.get("route", {}).get("thread"):
        check(not left["advice"], "nor does the thread of its handler go there", left)
    typed(advice["undo"])
    check(read(AFFINITY) == "1", "its undo takes that back")
    check(row(watched()).get("hits"), "and it comes again")
write(AFFINITY, old)
same(before, "in the end")
done()
