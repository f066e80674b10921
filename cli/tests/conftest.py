# SPDX-License-Identifier: GPL-2.0-or-later
"""The isolator command, built for its tests, and the files that it reads."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from clitest import CLI, FIXTURES, Build, unpack

COMPILE = ["gcc", "-std=gnu11", "-D_GNU_SOURCE=", "-Wall", "-Wextra", "-Werror", "-O1", "-g",
           "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
           f"-I{CLI.parent}/kernel/include/uapi", f"-I{CLI.parent}/lib/include"]


@pytest.fixture(scope="session", autouse=True)
def signals() -> None:
    """As a shell's foreground has them: below nohup or "&" they are ignored, by children too."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """With sanitizers, such that each test also looks for wrong accesses."""
    subprocess.run([CLI.parent / "tools/install-packages", "cli"], check=True)
    directory = tmp_path_factory.mktemp("cli")
    # Whoever runs a test, with or without privilege, runs the programs.
    for path in [directory, *directory.parents][:4]:
        path.chmod(path.stat().st_mode | 0o055)
    # The command's files and the library's, of which some have the same names, once.
    for part in (CLI, CLI.parent / "lib"):
        (directory / part.name).mkdir()
        subprocess.run([*COMPILE, "-c", *sorted((part / "src").glob("*.c"))],
                       cwd=directory / part.name, check=True)

    def run(name: str, files: tuple[str, ...] = (), *options: str) -> Path:
        subprocess.run([*COMPILE, *options, "-o", directory / name,
                        *(CLI / "tests" / file for file in files), *directory.glob("*/*.o")],
                       check=True)
        return directory / name

    return run


@pytest.fixture(scope="session")
def isolator(build: Build) -> Path:
    """The command itself."""
    return build("isolator")


@pytest.fixture(scope="session")
def stubborn(build: Build) -> Path:
    """The command on a machine that does not take every setting."""
    return build("stubborn", ("stubborn.c",), "-Wl,--wrap=setting_write",
                 "-Wl,--wrap=setting_write_text")


@pytest.fixture(scope="session")
def kernel(build: Build) -> Path:
    """The command on a kernel with Isolator that is a directory (runtest.py)."""
    return build("kernel", ("kernel.c",), "-Wl,--wrap=device_start", "-Wl,--wrap=device_stop")


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with each fixture as one of the kernel's; to be copied."""
    directory = tmp_path_factory.mktemp("fixtures")
    for fixture in FIXTURES:
        unpack(fixture, directory / fixture)
    return directory


@pytest.fixture
def laid_out(unpacked: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(unpacked, tmp_path / "proc"))


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
