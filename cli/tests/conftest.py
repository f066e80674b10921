# SPDX-License-Identifier: GPL-2.0-or-later
"""The isolator command for tests: built anew, with sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CLI = Path(__file__).resolve().parent.parent

# build(NAME, FILES, OPTION...): a program of the command's parts and some files of these
# tests; with main=False without the command's own main().
Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles such that each test also looks for wrong accesses."""
    subprocess.run([CLI.parent / "tools/install-packages", "cli"], check=True)
    directory = tmp_path_factory.mktemp("cli")
    # Whoever runs a test, with or without privilege, runs the programs.
    for path in [directory, *directory.parents][:4]:
        path.chmod(path.stat().st_mode | 0o055)

    def run(name: str, files: tuple[str, ...] = (), *options: str, main: bool = True) -> Path:
        sources = [s for s in sorted((CLI / "src").glob("*.c")) if main or s.name != "main.c"]
        sources += [CLI / "tests" / file for file in files]
        subprocess.run(
            ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-g",
             "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
             f"-I{CLI.parent}/kernel/include/uapi", *options, "-o", directory / name, *sources],
            check=True)
        return directory / name

    return run


@pytest.fixture(scope="session")
def isolator(build: Build) -> Path:
    """The command itself."""
    return build("isolator")


@pytest.fixture(scope="session")
def good() -> dict[str, tuple[str, int]]:
    """The well-configured machine: each file's text and mode, by its path."""
    files: dict[str, tuple[str, int]] = {}
    for part in (CLI / "tests/captures/good").read_text().split("\n==> ")[1:]:
        head, _, text = part.partition("\n")
        path, _, mode = head.partition(" ")
        files[path] = (text + "\n" if text else "", int(mode or "644", 8))
    return files


@pytest.fixture
def lay(good: dict[str, tuple[str, int]], tmp_path: Path) -> Callable[..., Path]:
    """lay(CHANGES, WHERE): that machine with other files, None for no such file."""

    def run(changes: dict[str, str | bytes | None] | None = None, where: str = "root") -> Path:
        root = tmp_path / where
        files: dict[str, tuple[str | bytes | None, int]] = {**good}
        for name, new in (changes or {}).items():
            files[name] = (new, good.get(name, ("", 0o644))[1])
        for name, (text, mode) in files.items():
            if text is None:
                continue
            file = root / name[1:]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
            file.chmod(mode)
        for path in [tmp_path, *tmp_path.parents][:4]:
            path.chmod(path.stat().st_mode | 0o055)
        return root

    return run
