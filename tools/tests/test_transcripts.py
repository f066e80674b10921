# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/transcripts needs no environment of the lab's."""

import os
import subprocess
import sys

from steps import ROOT

LOADED = """
import runpy
runpy.run_path("tools/transcripts")
from isolab import table
"""


def test_it_finds_its_modules() -> None:
    """Called by itself, as its help says; the table is the lab's."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
