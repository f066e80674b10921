# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator-bpf in a guest: there for the tests that ask for it, and said where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from isolab import header, term
from isolab.guests import bpf, initramfs


@pytest.fixture(name="packages")
def _packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What says which packages are missing; nothing is built."""

    def make(directory: Path, out: Path, what: str, *targets: Path) -> None:
        for path in targets:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(what)

    def build(into: Path) -> Path:
        program = into / "isolator-bpf"
        program.parent.mkdir(parents=True)
        program.write_text("program")
        return program

    script = tmp_path / "install-packages"
    monkeypatch.setattr(bpf, "PACKAGES", script)
    monkeypatch.setattr(bpf, "BUILD", tmp_path / "build")
    monkeypatch.setattr(bpf, "_build", build)
    monkeypatch.setattr(initramfs, "make", make)
    return script


def _say(script: Path, text: str) -> None:
    script.write_text(f'#!/bin/sh\n[ "$*" = "--list bpf" ] || exit 1\n{text}\n')
    script.chmod(0o755)


def test_it_is_brought(packages: Path) -> None:
    _say(packages, "exit 0")
    assert bpf.programs() == {
        "lab/bin/provoke": b"what isolator-bpf is to see",
        "lab/bin/isolator-bpf": b"program",
    }


def test_without_clang_it_is_said(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _say(packages, "printf 'bpftool\\nclang\\n'")
    assert list(bpf.programs()) == ["lab/bin/provoke"]
    assert "tools/install-packages bpf for bpftool clang" in "".join(capsys.readouterr())
    _say(packages, "echo broken; exit 1")
    with pytest.raises(term.LabError, match="broken"):
        bpf.programs()


def test_who_asks_for_it(tmp_path: Path) -> None:
    tests = {t.name: t.brings for t in header.tests(header.DISTRO_TESTS)}
    assert tests["measure-bpf"] == ("isolator-bpf",) and tests["measure"] == ()
    (tmp_path / "x.py").write_text(
        "# name: x\n# kernel: distro\n# about: a\n# brings: isolator-bfp\n"
    )
    with pytest.raises(term.LabError, match="isolator-bfp is none of isolator-bpf"):
        header.tests(tmp_path)
