# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/build: who wants the source tree waits for who builds in it."""

import fcntl
import hashlib
import os
import pathlib
import signal
import subprocess

import pytest

TOP = pathlib.Path(__file__).parents[2]
CACHE = pathlib.Path(os.environ.get("ISOLATOR_CACHE") or pathlib.Path.home() / ".cache/isolator")


def test_the_source_waits_for_a_build(tmp_path: pathlib.Path) -> None:
    sources = CACHE / "kernel" / "src"
    if not any(sources.glob("*/.unpacked")):
        pytest.skip("no kernel source in the cache: kernel/build unpacks it")
    cache = tmp_path / "kernel"
    cache.mkdir()
    (cache / "src").symlink_to(sources)
    checkout = hashlib.sha256(f"{TOP / 'kernel'}\n".encode()).hexdigest()[:8]
    with (cache / f"{checkout}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(
            [TOP / "kernel" / "build", "--flavour", "rt", "--source"],
            stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "ISOLATOR_CACHE": str(tmp_path)},
        ) as build:
            assert build.stderr
            said = build.stderr.readline()
            os.killpg(build.pid, signal.SIGKILL)  # the shell, and what it waits for
    assert "waiting for another build in this tree" in said
    assert not (cache / "tree").exists()
