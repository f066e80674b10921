# SPDX-License-Identifier: GPL-2.0-or-later
"""A tracer that is a file: isolator measure as it reads what a test writes there."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from clitest import PATIENCE_S, waits
from latencytest import CPU, document_of
from waiting import until

TRACING = "sys/kernel/tracing"
NOISE = ("noise", "--method", "osnoise")
# When a line is of: they are written once the command looks.
NOW, BEFORE, AFTER = "@now", "@before", "@after"


def line(text: str, at: str = NOW) -> str:
    """As the tracer writes it."""
    return f"           <...>-861     [{CPU:03}] d.h.. {at}: {text}\n"


def begin(isolator: Path, root: Path, what: str, *arguments: str) -> subprocess.Popen[str]:
    """One that has set its settings."""
    run = subprocess.Popen([isolator, "measure", what, "-t", "3600", "-c", str(CPU), "--root",
                            root, *arguments],
                           text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # All are set when it is waiting for what the tracer sees.
    until(lambda: list((root / TRACING / "instances").glob("*/current_tracer"))
          and waits(run.pid), run.poll)
    return run


def look(isolator: Path, root: Path, lines: list[str], what: str, *arguments: str,
         codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """What it makes of lines that come as it looks, and that it has read when it ends."""
    run = begin(isolator, root, what, "--json", *arguments)
    pipe = root / TRACING / f"per_cpu/cpu{CPU}/trace_pipe"
    now = time.monotonic()
    text = "".join(lines)
    # Of times that no busy machine moves to the other side of the begin or the end.
    for at, second in ((NOW, now + 600), (BEFORE, now - 3600), (AFTER, now + 7200)):
        text = text.replace(at, f"{second:12.6f}")
    pipe.write_text(text)
    until(lambda: _place(run.pid, pipe) == pipe.stat().st_size, run.poll)
    run.send_signal(signal.SIGINT)
    out, error = run.communicate(timeout=PATIENCE_S)
    return document_of(run.returncode, out, error, codes)


def _place(pid: int, file: Path) -> int:
    """How far the process has read the file; -1 before it has opened it."""
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        if entry.resolve() == file.resolve():
            return int(Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text().split()[1])
    return -1
