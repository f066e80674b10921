#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""filter FILE: computes, makes objects, and writes its state to FILE every 10 ms.

SIGTERM ends it, SIGUSR1 is a wish for a report.
"""

import collections
import gc
import json
import math
import os
import signal
import sys
import time

WRITE_S = 0.01


class Filter:
    def __init__(self) -> None:
        self.over = False
        self.reports = 0
        self.rounds = 0
        self.writes = 0
        self.level = 0.0
        self.window: collections.deque[dict[str, float]] = collections.deque(maxlen=500)

    def on_signal(self, number: int, _frame: object) -> None:
        if number == signal.SIGTERM:
            self.over = True
        else:
            self.reports += 1

    def round(self) -> None:
        for i in range(50):
            sample = math.sin(self.rounds * 50 + i)
            self.level += 0.01 * (sample - self.level)
            self.window.append({"sample": sample, "level": self.level})
        # A cycle, for the collector.
        loop: list[object] = [self.window[-1]]
        loop.append(loop)
        self.rounds += 1

    def run(self, path: str) -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        last = written = time.monotonic()
        while not self.over:
            self.round()
            now = time.monotonic()
            assert now >= last, "time went backwards"
            last = now
            if now - written >= WRITE_S:
                written = now
                os.pwrite(file, f"{self.level:20.9f}\n".encode(), 0)
                self.writes += 1
        os.close(file)
        assert abs(self.level) < 1 and len(self.window) == 500


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: filter FILE", file=sys.stderr)
        return 1
    one = Filter()
    signal.signal(signal.SIGTERM, one.on_signal)
    signal.signal(signal.SIGUSR1, one.on_signal)
    print("ready", flush=True)
    one.run(sys.argv[1])
    print(json.dumps({"rounds": one.rounds, "reports": one.reports, "writes": one.writes,
                      "collections": sum(s["collections"] for s in gc.get_stats())}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
