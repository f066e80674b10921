# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/build: who wants a source tree waits for who may write in it."""

import fcntl
import hashlib
import os
import pathlib
import signal
import subprocess

import pytest
from waiting import PATIENCE_S

TOP = pathlib.Path(__file__).parents[2]
CACHE = pathlib.Path(os.environ.get("ISOLATOR_CACHE") or pathlib.Path.home() / ".cache/isolator")


@pytest.fixture
def cache(tmp_path: pathlib.Path) -> pathlib.Path:
    """A cache of its own: nobody builds in it, and the kernel's source is there."""
    sources = CACHE / "kernel" / "src"
    if not any(sources.glob("*/.unpacked")):
        pytest.skip("no kernel source in the cache: kernel/build unpacks it")
    cache = tmp_path / "kernel"
    cache.mkdir()
    (cache / "src").symlink_to(sources)
    return cache


def test_the_source_waits_for_a_build(cache: pathlib.Path) -> None:
    checkout = hashlib.sha256(f"{TOP / 'kernel'}\n".encode()).hexdigest()[:8]
    with (cache / f"{checkout}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(
            [TOP / "kernel" / "build", "--flavour", "rt", "--source"],
            stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "ISOLATOR_CACHE": str(cache.parent)},
        ) as build:
            assert build.stderr
            said = build.stderr.readline()
            os.killpg(build.pid, signal.SIGKILL)  # the shell, and what it waits for
    assert "waiting for another build in this tree" in said
    assert not (cache / "tree").exists()


def test_the_stock_source_waits_for_nobody(cache: pathlib.Path) -> None:
    """It stays as it was unpacked, beside builds too."""
    with (cache / "stock-yes.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        got = subprocess.run(
            [TOP / "kernel" / "build", "--flavour", "rt", "--stock", "--source"],
            capture_output=True, text=True, timeout=PATIENCE_S,
            env={**os.environ, "ISOLATOR_CACHE": str(cache.parent)},
        )
    assert got.returncode == 0, got.stderr
    assert "waiting" not in got.stderr
    assert (pathlib.Path(got.stdout.splitlines()[-1]) / "Makefile").exists()
