#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: signalled
# cpus: 4
# kernel: distro
# timeout: 180
# about: a signal to isolator run ends its program, and the machine is as it was
import signal
import subprocess
import time
from pathlib import Path

import snapshot
from machine import ISOLATOR, PATIENCE_S, check, done, running, same, until

snapshot.noise()
before = snapshot.take()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    with running("-c", "1-2", "--policy", "rr") as process:
        check(snapshot.differences(before, snapshot.take()), "the machine is another meanwhile")
        process.send_signal(number)
        code = process.wait(PATIENCE_S)
        check(code == 128 + number, f"{number.name}: {code}")
    same(before, number.name)
# In the middle of the changes, before there is a program.
for delay_ms in (5, 40, 120):
    early = subprocess.Popen([ISOLATOR, "run", "-c", "2", "--", "sleep", "60"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check(until(lambda: Path("/run/isolator").exists()), "there is a journal")
    time.sleep(delay_ms / 1000)  # sleep: to another moment
    early.terminate()
    code = early.wait(PATIENCE_S)
    check(code == 128 + signal.SIGTERM, f"SIGTERM {delay_ms} ms after the journal's begin: {code}")
    same(before, f"SIGTERM after {delay_ms} ms")
done()
