# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines as the target writes them, followed beside the generator and without it.

What a host's account says has to be this, sequence by sequence.  A process of its own follows
them (python3 -m isolab.scope.lines KEEPER): it says where it begins, and all that came when it is
told to end.
"""

import contextlib
import json
import mmap
import os
import select
import subprocess
import sys
from array import array
from pathlib import Path

from .. import term

# scope/include/scope_lines.h
SIZE, LINES, RING, PART = 1 << 20, 32, 1024, 8192
TRIGGER, RING_AT = 128, 64
WRAP = 1 << 32
LOOK_S = 0.01


def memory(keeper: int) -> mmap.mmap:
    """The server's memory; nobody notices that it is looked at."""
    for entry in Path(f"/proc/{keeper}/fd").iterdir():
        if "isolator-lines" in os.readlink(entry):
            with open(entry, "rb") as file:
                return mmap.mmap(file.fileno(), SIZE, prot=mmap.PROT_READ)
    raise term.LabError("the server of the lines has no memory of lines")


class Follower:
    """What is written to each line from now on, in its order."""

    def __init__(self, lines: mmap.mmap | bytearray) -> None:
        self._words = memoryview(lines).cast("I")
        self._heads = [self._words[PART * (line + 1) // 4] for line in range(LINES)]
        self.sequences = [array("I") for _ in range(LINES)]
        self.lost = [0] * LINES  # overwritten before this looked
        self.ahead = 0  # answers to a trigger that was not sent yet

    @property
    def trigger(self) -> int:
        """The last one's sequence."""
        return self._words[TRIGGER // 4]

    def look(self) -> None:
        """Takes what came since the last look."""
        for line in range(LINES):
            at = PART * (line + 1) // 4
            head, seen = self._words[at], self._heads[line]
            if head == seen:
                continue
            ring = self._words[at + RING_AT // 4 : at + RING_AT // 4 + RING].tolist()
            # The target may have come round while this was copied, and be writing the next.
            last = self.trigger
            upto = (self._words[at] - seen) % WRAP
            new = (head - seen) % WRAP
            gone = min(new, max(0, upto - RING + 1))
            self.lost[line] += gone
            came = [ring[(seen + i) % RING] for i in range(gone, new)]
            self.sequences[line].extend(came)
            self.ahead += sum((sequence - last) % WRAP in range(1, WRAP // 2) for sequence in came)
            self._heads[line] = head


class Lines:
    """All that was written from begin() to end()."""

    def __init__(self, keeper: int) -> None:
        self._keeper = keeper
        self._process: subprocess.Popen[str] | None = None
        self.sequences: list[list[int]] = [[] for _ in range(LINES)]
        self.lost = [0] * LINES
        self.ahead = 0

    @property
    def trigger(self) -> int:
        """The last one's sequence, now."""
        return Follower(memory(self._keeper)).trigger

    def begin(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "isolab.scope.lines", str(self._keeper)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert self._process.stdout
        if not self._process.stdout.readline():
            raise term.LabError("the lines cannot be followed")

    def end(self) -> None:
        assert self._process
        said, _ = self._process.communicate()
        found = json.loads(said)
        self.sequences, self.lost, self.ahead = found["sequences"], found["lost"], found["ahead"]
        self._process = None

    def stop(self) -> None:
        """Whatever it was doing."""
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None


def main() -> int:
    follower = Follower(memory(int(sys.argv[1])))
    # Before the guest, or a guest that is never idle lets it look too rarely.
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(3))
    print("follows", flush=True)
    while not select.select([sys.stdin], [], [], LOOK_S)[0]:
        follower.look()
    follower.look()
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    json.dump(
        {
            "sequences": [list(line) for line in follower.sequences],
            "lost": follower.lost,
            "ahead": follower.ahead,
        },
        sys.stdout,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
