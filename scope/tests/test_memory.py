# SPDX-License-Identifier: GPL-2.0-or-later
"""A long run takes no more memory than a short one."""

import os
import subprocess
import sys
from pathlib import Path

from scope_simulated import ENVIRONMENT, simulated

TRIGGERS = int(os.environ.get("ISOLATOR_SCOPE_TRIGGERS", "60000"))
MIB = 1 << 20

# The figures are of a process that does nothing else.
HOST = """
import asyncio, os, sys
from pathlib import Path
from isolator_scope.instrument import Instrument
from isolator_scope.link import Target
from isolator_scope.protocol import SetFrequency, SetPacket, Start

def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

async def run(path, port, triggers):
    host = Instrument(Path(path), live=True)
    link = host.connect(Target("127.0.0.1", port))
    task = asyncio.create_task(host.measure())
    await link.connected.wait()
    for message in (SetFrequency(200_000), SetPacket(100), Start(triggers)):
        await link.command(message)
    found = []
    while len(found) < 10:
        await asyncio.sleep(0.01)  # sleep: between two looks
        if host.account.triggers >= triggers * (len(found) + 1) // 10:
            found.append(rss())
    print(*found, host.account.triggers)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    host.close()

asyncio.run(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


def test_memory_is_bounded(tmp_path: Path) -> None:
    """RSS at 100 % is at most 1 MiB above that at 10 %."""
    with simulated("--speed", "0", "--missing", "0.001", "--late", "0.001", "--stray", "0.001",
                   "--spike", "0.01") as (where, _):
        done = subprocess.run(
            [sys.executable, "-c", HOST, str(tmp_path / "a.scope"), where.rsplit(":", 1)[1],
             str(TRIGGERS)], env=ENVIRONMENT, capture_output=True, text=True,
            timeout=600 + TRIGGERS / 500)
    assert done.returncode == 0, done.stderr
    *rss, triggers = (int(word) for word in done.stdout.split())
    print("RSS in KiB at 10 %, 20 %, …:", *(one // 1024 for one in rss))
    assert triggers == TRIGGERS and abs(rss[-1] - rss[0]) <= MIB, rss
