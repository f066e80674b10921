# SPDX-License-Identifier: GPL-2.0-or-later
"""A simulated generator in a process of its own."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@contextlib.contextmanager
def simulated(*words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Where it listens, and its process; ended, if it is still there, at the end."""
    with subprocess.Popen([sys.executable, "-m", "sim", "--port", "0", *words], text=True,
                          stdout=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1], process
        finally:
            process.kill()
