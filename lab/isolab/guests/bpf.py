# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator-bpf for a guest, and what it is to see there."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .. import term
from ..paths import BUILD, LAB, TOP
from . import initramfs

PACKAGES = TOP / "tools" / "install-packages"


def _run(*words: str | Path) -> str:
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise term.LabError(f"building isolator-bpf failed:\n{done.stdout}")
    return done.stdout


def lacking() -> str:
    """The packages that it takes and this machine has not; empty: it can be built."""
    return " ".join(_run(PACKAGES, "--list", "bpf").split())


def _build(into: Path) -> Path:
    if not (into / "build.ninja").exists():
        _run("meson", "setup", "--werror", "-Dbpf=enabled", into, TOP / "cli")
    _run("meson", "compile", "-C", into, "isolator-bpf")
    return into / "bpf" / "isolator-bpf"


def programs() -> dict[str, bytes]:
    """By their paths in a guest.  Where isolator-bpf cannot be built that is said."""
    guest = BUILD / "lab" / "guest"
    provoke = guest / "root" / "lab" / "bin" / "provoke"
    found = {}
    with initramfs.building(BUILD):
        initramfs.make(LAB / "guest", guest, "what isolator-bpf is to see", provoke)
        found["lab/bin/provoke"] = provoke.read_bytes()
        lack = lacking()
        if lack:
            term.say(f"the guest has no isolator-bpf: tools/install-packages bpf for {lack}")
        else:
            found["lab/bin/isolator-bpf"] = _build(BUILD / "lab" / "bpf").read_bytes()
    return found
