# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/deb-kernel-twice, with a tools/deb-kernel that builds nothing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[1]
# It packs what IT says, and writes down how it was called.
STUB = """#!/bin/sh
set -eu
echo "$ISOLATOR_CACHE ${CCACHE_DIR-} ${CCACHE_RECACHE-} $*" >>calls
while [ "$1" != --output ]; do shift; done
mkdir -p "$2"
for name in image headers; do eval "$IT" >"$2/linux-$name.deb"; done
"""


def _twice(where: Path, what: str, *arguments: str) -> tuple[int, list[str], list[str]]:
    """Its exit code, the last lines it said, and the calls."""
    (where / "tools").mkdir()
    shutil.copy(TOOLS / "deb-kernel-twice", where / "tools")
    (where / "tools/deb-kernel").write_text(STUB)
    (where / "tools/deb-kernel").chmod(0o755)
    environment = {**os.environ, "IT": what, "ISOLATOR_CACHE": "here"}
    environment.pop("CCACHE_DIR", None)
    done = subprocess.run([where / "tools/deb-kernel-twice", *arguments], cwd=where, text=True,
                          capture_output=True, check=False, env=environment)
    return done.returncode, done.stdout.splitlines(), (where / "calls").read_text().splitlines()


@pytest.mark.parametrize(("option", "anew"), [([], "yes"), (["--cached"], "")])
def test_equal(tmp_path: Path, option: list[str], anew: str) -> None:
    """The second is built elsewhere, compiled anew, and its tree goes."""
    code, said, calls = _twice(tmp_path, "echo $name", *option, "--flavour", "cloud")
    assert code == 0 and said[-1] == "2 passed, 0 failed"
    work = tmp_path / "build/deb-kernel-twice"
    assert calls == [f"here   --flavour cloud --output {work}/first",
                     f"{work}/a/longer/path here/ccache-deb {anew} --flavour cloud "
                     f"--output {work}/second"]
    assert not (work / "a").exists()


def test_one_differs(tmp_path: Path) -> None:
    """It is named, with what shows the difference."""
    code, said, _ = _twice(tmp_path, '[ $name = image ] || echo "$ISOLATOR_CACHE"')
    assert code == 1 and said[-1] == "1 passed, 1 failed"
    assert any(line.startswith("not equal: linux-headers.deb") and "diffoscope" in line
               for line in said)
    assert (tmp_path / "build/deb-kernel-twice/a").exists()


def test_a_build_fails(tmp_path: Path) -> None:
    """Nothing is said to be equal."""
    code, said, calls = _twice(tmp_path, '[ "$ISOLATOR_CACHE" = here ] || exit 3')
    assert code == 3 and len(calls) == 2 and not any("passed" in line for line in said)
