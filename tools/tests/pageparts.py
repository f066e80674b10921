# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools/page-parts installs, for tests."""

import subprocess
from pathlib import Path

import pytest
from steps import ROOT, SKIPPED


def page_parts(what: str, *words: str) -> Path:
    """Where it is; where npm's registry is out of reach the test is skipped, without @what."""
    done = subprocess.run([ROOT / "tools/page-parts", *words], capture_output=True, text=True,
                          check=False)
    if done.returncode == SKIPPED:
        pytest.skip(f"no {what}: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])
