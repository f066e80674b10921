# SPDX-License-Identifier: GPL-2.0-or-later
"""The generator and a simulated target, built with sanitizers, and what a test starts of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rig import Rig
from scope_virtual import build

STRICT = ("-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=address,undefined",
          "-fno-sanitize-recover=all")


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with `generator` and `target`."""
    directory = tmp_path_factory.mktemp("scope")
    build(directory, *STRICT)
    return directory


@pytest.fixture
def rig(programs: Path, tmp_path: Path) -> Iterator[Rig]:
    """A bench on which nothing runs yet; all that was started on it is ended."""
    bench = Rig(programs, tmp_path)
    yield bench
    bench.end()
