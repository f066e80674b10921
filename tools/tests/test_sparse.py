# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/sparse: what it takes for a fault, on each architecture, and what it leaves out aloud."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLEAN = "  CHECK   /tree/kernel/isolator/core.c\n  CHECK   /x/scope/driver/scope.c\n"
FAULTS = (
    "/tree/kernel/isolator/core.c:7:9: warning: context imbalance\n",
    "/tree/include/linux/isolator.h:7:9: error: bad type\n",
    "make[2]: *** [kernel/isolator/core.o] Error 1\n",
)


def sparse(at: Path, *words: str, said: dict[str, str], missing: str = "") -> tuple[int, str]:
    """What tools/sparse makes of what Kbuild says for each architecture; packages are @missing."""
    programs = {
        "tools/install-packages": f'[ "$1" != --list ] || echo "{missing}"',
        "kernel/build": "echo /tree",
        "kernel/make": f'case $* in *CHECK=sparse*) cat {at}/$1;; esac',
    }
    for name, line in programs.items():
        (at / name).parent.mkdir(exist_ok=True)
        (at / name).write_text(f"#!/bin/sh\n{line}\n")
        (at / name).chmod(0o755)
    shutil.copy(ROOT / "tools/sparse", at / "tools/sparse")
    for part in ("scope/driver", "scope/include", "cache/kernel"):
        (at / part).mkdir(parents=True, exist_ok=True)
    (at / "scope/driver/scope.c").touch()
    for arch in ("x86_64", "arm64"):
        (at / arch).write_text(said.get(arch, CLEAN))
    done = subprocess.run([at / "tools/sparse", *words], capture_output=True, text=True,
                          check=False, env={**os.environ, "ISOLATOR_CACHE": str(at / "cache")})
    return done.returncode, done.stdout + done.stderr


def test_clean_code_passes_on_both(tmp_path: Path) -> None:
    """Each architecture has objects of its own."""
    assert sparse(tmp_path, said={})[0] == 0
    assert {d.name for d in (tmp_path / "cache/kernel").glob("sparse-*")} == {
        "sparse-x86_64", "sparse-arm64"}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_a_fault_in_ours_fails(tmp_path: Path, arch: str, fault: str) -> None:
    """A warning, an error of a header, or a file that does not compile."""
    code, text = sparse(tmp_path, said={arch: CLEAN + fault})
    assert code == 1 and fault.strip() in text


def test_a_warning_of_linux_does_not(tmp_path: Path) -> None:
    """What the kernel has by itself is not ours."""
    other = "arch/arm64/kernel/vdso/vgetrandom.c:5:27: warning: symbol was not declared\n"
    assert sparse(tmp_path, said={"arm64": CLEAN + other})[0] == 0


@pytest.mark.parametrize("part", ["kernel/isolator", "scope/driver"])
def test_nothing_checked_fails(tmp_path: Path, part: str) -> None:
    """A run that looked at no file of a part is no pass."""
    said = "".join(line for line in CLEAN.splitlines(True) if part not in line)
    code, text = sparse(tmp_path, said={"arm64": said})
    assert code == 1 and f"arm64: it checked nothing of {part}" in text


def test_without_a_cross_compiler(tmp_path: Path) -> None:
    """Left out, and said; not if it was asked for by name."""
    fault = {"arm64": CLEAN + FAULTS[0]}
    code, text = sparse(tmp_path, said=fault, missing="gcc-aarch64-linux-gnu")
    assert code == 0 and "not as arm64 has it" in text
    assert sparse(tmp_path, "arm64", said=fault, missing="gcc-aarch64-linux-gnu")[0] == 1


def test_an_unknown_name(tmp_path: Path) -> None:
    """A name of no architecture is refused."""
    code, text = sparse(tmp_path, "mips", said={})
    assert code == 1 and "mips is not an architecture" in text
