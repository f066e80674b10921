# SPDX-License-Identifier: GPL-2.0-or-later
"""The generator and a simulated target, built with sanitizers, and what a test starts of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig import Rig

HERE = Path(__file__).parent
GENERATOR, SCOPE = HERE.parent, HERE.parents[1]
COMPILE = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", '-DVERSION="0"', "-Wall", "-Wextra", "-Werror",
           "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-pthread",
           f"-I{GENERATOR}", f"-I{SCOPE}/frame", f"-I{SCOPE}/include", f"-I{SCOPE.parent}/cli"]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with `generator` and `target`."""
    directory = tmp_path_factory.mktemp("scope")
    sources = [*sorted(GENERATOR.glob("*.c")), *sorted((SCOPE / "frame").glob("*.c"))]
    subprocess.run([*COMPILE, "-o", directory / "generator", *sources], check=True)
    subprocess.run([*COMPILE, "-o", directory / "target", GENERATOR / "target/target.c",
                    GENERATOR / "ivshmem.c"], check=True)
    return directory


@pytest.fixture
def rig(programs: Path, tmp_path: Path) -> Iterator[Rig]:
    """A bench on which nothing runs yet; all that was started on it is ended."""
    bench = Rig(programs, tmp_path)
    yield bench
    bench.end()
