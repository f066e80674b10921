#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: measure-killed
# cpus: 4
# kernel: distro-stock
# timeout: 300
# about: isolator measure leaves nothing behind, and what it leaves when killed is found and undone
import json
import signal
from pathlib import Path

import snapshot
from machine import PATIENCE_S, check, document, done, isolator, note, same
from measuring import AVAILABLE, TRACERS, measured, start

LONG = ("-c", "1", "-t", "3600")
RUNS = {
    **{name: (*words, *LONG) for name, words in TRACERS.items() if name in AVAILABLE},
    "--why": ("latency", *LONG, "--why", "100us"),
    "--dma-latency": ("latency", *LONG, "--dma-latency", "0"),
    "--with": ("latency", *LONG, "--with", "cache:l1", "--with-cpus", "2"),
}
# What ends with the process by itself, also when it is killed.
NOTHING = ("--dma-latency", "--with")
OUTPUT = Path("/run/isolab.measure.json")

snapshot.noise()
before = snapshot.take()


def killed(words: tuple[str, ...]) -> list[str]:
    """SIGKILL while it measures; what remains of it."""
    process = start(*words)
    process.kill()
    process.wait()
    return snapshot.settled(before, 1)


for name, words in RUNS.items():
    for number in (signal.SIGTERM, signal.SIGINT):
        process = start(*words)
        if name not in NOTHING:
            check(snapshot.differences(before, snapshot.take()), f"{name}: it is seen meanwhile")
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
        text = json.loads(OUTPUT.read_text())
        check(process.returncode == 0 and text["early"],
              f"{name}: {number.name}: {process.returncode}, its result is kept", text["words"],
              said)
        same(before, f"{name}: {number.name}")

for name, words in RUNS.items():
    left = killed(words)
    check(json.loads(OUTPUT.read_text())["verdict"] == "running", f"{name}: killed, it says so")
    note("\n".join(left[:10]))
    if name in NOTHING:
        check(not left, f"{name}: nothing is left", *left)
        continue
    check(left, f"{name}: something is left")
    found = document("audit", "-c", "1", "--json")["findings"]
    check(any(f["id"].startswith("trace.") and "isolator-" in str(f["path"]) for f in found),
          f"{name}: isolator audit finds it", [f["id"] for f in found])
    restored = isolator("restore")
    check(restored.returncode == 0 and "Nothing" not in restored.stdout,
          f"{name}: isolator restore: {restored.stdout.strip()}", restored.stderr)
    same(before, f"{name}: restored")

# The next run works, whatever was killed before, and clears it away.
tracing = [name for name in RUNS if name not in NOTHING]
for i, name in enumerate(tracing):
    for after in (name, tracing[(i + 1) % len(tracing)]):
        killed(RUNS[name])
        short = [w for w in RUNS[after] if w != "3600"]
        found = measured(*(w if w != "-t" else "--time=2" for w in short))
        check(found.get("verdict") == "measured", f"{after} after {name} was killed",
              found.get("words"))
        same(before, f"{after} after {name} was killed")
check(document("restore", "--json")["journals"] == [], "nothing is left to be restored")
done()
