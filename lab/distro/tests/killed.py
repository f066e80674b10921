#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: killed
# cpus: 4
# kernel: distro
# timeout: 300
# about: after SIGKILL of isolator run at any moment isolator restore puts all back
import os
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import snapshot
from machine import ISOLATOR, check, document, done, isolator, note, same, until

ROUNDS = 6
JOURNALS = Path("/run/isolator")

seed = int(os.environ.get("SEED") or time.time_ns() % 1000000)
note(f"seed {seed}")
chance = random.Random(seed)
snapshot.noise()
before = snapshot.take()


def command(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([ISOLATOR, *arguments], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def start() -> subprocess.Popen[bytes]:
    """A run, as soon as it has a journal."""
    process = command("run", "-c", "1", "--rest", "2", "--policy", "fifo", "--", "sleep", "3600")
    if not until(JOURNALS.exists):
        check(False, "there is a journal")
        done()
    return process


def sleepers() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == b"sleep\x003600\x00":
                found.append(str(path))
        except OSError:
            continue
    return found


def kill(process: subprocess.Popen[bytes], whole: float) -> float:
    """At some moment while it does what took @whole before; when it was."""
    moment = chance.uniform(0, 1.3 * whole)
    time.sleep(moment)  # sleep: to any moment
    process.kill()
    process.wait()
    return moment


def put_back(what: str) -> bool:
    """By isolator restore; was there anything?"""
    changed = snapshot.differences(before, snapshot.take())
    lines = [path.read_text().count("\n") for path in JOURNALS.glob("run.*")]
    restored = isolator("restore")
    check(restored.returncode == 0, f"{what}: {len(changed)} differences, journal of {lines} "
          "lines: restored", restored.stdout, restored.stderr)
    check(until(lambda: not sleepers(), 5), f"{what}: the program is gone")
    # The kernel warns if it may not make a worker, as who wants it is to be killed.
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    warned = "workqueue: Interrupted when creating a worker thread" in log
    same(before, what, "/proc/sys/kernel/tainted: " if warned else "")
    return bool(changed)


def take_time(what: Callable[[], object]) -> float:
    began = time.monotonic()
    what()
    return time.monotonic() - began


# Nobody disturbs this one.
process = start()
changing_s = take_time(lambda: until(sleepers))
process.terminate()
restoring_s = take_time(process.wait)
same(before, "undisturbed")
process = start()
until(sleepers)
process.kill()
process.wait()
restore_s = take_time(lambda: command("restore").wait())
same(before, "restored")
note(f"{changing_s:.3f} s to change, {restoring_s:.3f} s to restore, {restore_s:.3f} s by restore")

left = 0
for _ in range(ROUNDS):
    left += put_back(f"killed {kill(start(), changing_s):.3f} s after the journal's beginning")
for _ in range(ROUNDS // 2):
    process = start()
    until(sleepers)
    process.terminate()
    left += put_back(f"killed {kill(process, restoring_s):.3f} s after SIGTERM")
for _ in range(ROUNDS // 2):
    process = start()
    until(sleepers)
    process.kill()
    process.wait()
    moment = kill(command("restore"), restore_s)
    left += put_back(f"restore killed after {moment:.3f} s")
check(left >= ROUNDS, f"{left} of {2 * ROUNDS} left something to be restored")
check(document("restore", "--json")["journals"] == [], "nothing is left to be restored")
done()
