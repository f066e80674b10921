# SPDX-License-Identifier: GPL-2.0-or-later
"""The isolator command, built for its tests, and the files that it reads."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from clitest import CLI, COMPILE, FIXTURES, Build, capture, open_to_all, unpack
from watchtest import Files, Looks

# The objects, kept from one run of the tests to the next.
SANITIZED = CLI.parent / "build/sanitized"
PLAIN = CLI.parent / "build/host/cli/isolator"

# Programs that run without privilege look into directories of tests.  Each pytest that begins
# shuts the place that all have in common, so these have one of their own.
if "PYTEST_DEBUG_TEMPROOT" not in os.environ:
    os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.mkdtemp(prefix="t-")
    atexit.register(shutil.rmtree, os.environ["PYTEST_DEBUG_TEMPROOT"], ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def signals() -> None:
    """As a shell's foreground has them: below nohup or "&" they are ignored, by children too."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _ninja(directory: Path, options: list[str], *targets: str) -> None:
    """Build @targets of the command in @directory, what is there already not again."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two runs of the tests one builds
        if not (directory / "build.ninja").exists():
            subprocess.run(["meson", "setup", "--werror", *options, directory, CLI.parent],
                           check=True,
                           stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", directory, *targets], check=True,
                       stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """With sanitizers, such that each test also looks for wrong accesses."""
    subprocess.run([CLI.parent / "tools/install-packages", "build", "cli"],
                   check=True)
    parts = ["cli/isolator.p/main.c.o", "cli/libparts.a", "lib/libisolator.a"]
    _ninja(SANITIZED, ["--buildtype=debug", "-Doptimization=1", "-Dstrip=false", "-Db_lundef=false",
                       "-Db_sanitize=address,undefined", "-Dc_args=-fno-sanitize-recover=all"],
           *parts)
    directory = tmp_path_factory.mktemp("programs")
    open_to_all(directory)

    def run(name: str, files: tuple[str, ...] = (), *options: str) -> Path:
        subprocess.run([*COMPILE, *options, "-o", directory / name,
                        *(CLI / "tests" / file for file in files),
                        *(SANITIZED / part for part in parts), "-lm"], check=True)
        return directory / name

    return run


@pytest.fixture(scope="session")
def plain() -> Path:
    """The command as it is delivered."""
    subprocess.run([CLI.parent / "tools/build", "cli/isolator"], check=True,
                   stdout=subprocess.DEVNULL)
    return PLAIN


@pytest.fixture(scope="session")
def isolator(build: Build) -> Path:
    """The command itself."""
    return build("isolator")


@pytest.fixture(scope="session")
def stubborn(build: Build) -> Path:
    """The command on a machine that does not take every setting."""
    return build("stubborn", ("fakes/setting_refused.c",), "-Wl,--wrap=setting_write",
                 "-Wl,--wrap=setting_write_text")


@pytest.fixture(scope="session")
def kernel(build: Build) -> Path:
    """The command on a kernel with Isolator that is a directory (runtest.py)."""
    return build("kernel", ("fakes/isolator_kernel.c",), "-Wl,--wrap=device_start",
                 "-Wl,--wrap=device_stop")


@pytest.fixture(scope="session")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that ends once the command has looked at a file (looked.c)."""
    program = tmp_path_factory.mktemp("looked") / "looked"
    subprocess.run([*COMPILE, "-o", program, CLI / "tests/fakes/looked.c"], check=True)
    open_to_all(program.parent)
    return program


@pytest.fixture(scope="session")
def frail(build: Build) -> Path:
    """The command where calls fail, and signals come, just then (syscall_fails.c)."""
    return build("frail", ("fakes/syscall_fails.c",), *(
        f"-Wl,--wrap={call}" for call in ("close", "flock", "fsync", "ppoll", "rename")))


@pytest.fixture(scope="session")
def mortal(build: Build) -> Path:
    """The command that is killed before one change of a file (killed_at_change.c)."""
    return build("mortal", ("fakes/killed_at_change.c",), *(
        f"-Wl,--wrap={call}" for call in ("file_write_fd", "renameat", "unlinkat")))


@pytest.fixture(scope="session")
def rules(build: Build) -> Path:
    """The command on a kernel that keeps limits in a directory (kernel_limits.c)."""
    return build("rules", ("fakes/kernel_limits.c",), "-Wl,--wrap=rules_set")


@pytest.fixture(scope="session")
def interval(build: Build) -> Path:
    """What isolator watch shows of two looks (interval.c)."""
    return build("interval", ("watch/interval.c",), "-Wl,--wrap=main")


@pytest.fixture
def looks(interval: Path, tmp_path: Path) -> Looks:
    """Two looks, in a directory of their own."""
    return Looks(interval, tmp_path)


@pytest.fixture(scope="session")
def x86() -> Files:
    """A virtual machine, recorded."""
    return capture("watch-x86")


@pytest.fixture(scope="session")
def arm64() -> Files:
    """A board with PREEMPT_RT."""
    return capture("watch-arm64-rt")


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
    return capture("good")


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
        open_to_all(tmp_path)
        return root

    return run
