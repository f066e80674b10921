# SPDX-License-Identifier: GPL-2.0-or-later
"""The licence check: what each place demands, and how a file says it."""

from pathlib import Path
from types import ModuleType

import pytest
import script

TAG = "SPDX-License-" + "Identifier"


@pytest.fixture(scope="module")
def spdx() -> ModuleType:
    """tools/spdx as a module; it has no .py in its name."""
    return script.load("spdx")


@pytest.mark.parametrize(
    ("path", "licence"),
    [
        ("kernel/include/uapi/linux/isolator.h", "GPL-2.0-only WITH Linux-syscall-note"),
        ("kernel/isolator/core.c", "GPL-2.0-only"),
        ("lib/isolator.c", "LGPL-2.1-or-later"),
        ("Makefile", "GPL-2.0-or-later"),
        ("LICENSES/GPL-2.0.txt", None),
    ],
)
def test_policy(spdx: ModuleType, path: str, licence: str | None) -> None:
    """The place decides the licence."""
    assert spdx.demanded(path) == licence


@pytest.mark.parametrize(
    "line",
    ["// {}: MIT", "/* {}: MIT */", "# {}: MIT", "<!-- {}: MIT -->", '"$comment": "{}: MIT"'],
)
def test_comment_styles(spdx: ModuleType, tmp_path: Path, line: str) -> None:
    """Every comment style in use is read."""
    path = tmp_path / "file"
    path.write_text(line.format(TAG) + "\nmore\n")
    assert spdx.named(path) == "MIT"


def test_missing_and_wrong(spdx: ModuleType, tmp_path: Path,
                           monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without a licence and one with the wrong one are both named."""
    monkeypatch.setattr(spdx, "ROOT", tmp_path)
    (tmp_path / "bare").write_text("nothing\n")
    (tmp_path / "wrong").write_text(f"# {TAG}: MIT\n")
    (tmp_path / "data.bin").write_text("nothing\n")
    (tmp_path / "data.bin.license").write_text(f"{TAG}: GPL-2.0-or-later\n")
    found = spdx.problems(["bare", "wrong", "data.bin"])
    assert [line.split(":")[0] for line in found] == ["bare", "wrong"]
