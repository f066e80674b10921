# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests compile no kernel: one that asks for it fails, instead of taking minutes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from isolab.guests import kernel


@pytest.fixture(scope="session", autouse=True)
def _no_kernel_is_built() -> Iterator[None]:
    # Not the tests' own monkeypatch, which they may undo.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "TOP", Path("/nowhere/in-a-unit-test"))
        yield
