# SPDX-License-Identifier: GPL-2.0-or-later
"""The arm64 guest: Debian's own kernel, the cross-built library and command."""

import inspect
import shutil
import subprocess
from pathlib import Path

from .. import lock, term
from ..paths import BUILD, LAB, TOP, cache, digest
from . import initramfs, packages
from .kernel import Kernel
from .machine import ARM64

NAME = "arm64"
# Where the cross compiler's package has the C and C++ libraries.
LIBRARIES = Path("/usr/aarch64-linux-gnu/lib")
SHARED = ("ld-linux-aarch64.so.1", "libc.so.6", "libgcc_s.so.1", "libm.so.6", "libstdc++.so.6")
# Suite and package, each alone.
KERNEL = ("bookworm-security", "linux-image-6.12-arm64")
BUSYBOX = ("bookworm", "busybox-static")
BUILT = BUILD / "arm64"
AGENT, GUEST = BUILD / "lab" / "arm64" / "agent", BUILD / "lab" / "arm64" / "tests"
# The driver of isolator-scope, built for Debian's kernel as its users would.
DRIVER = BUILD / "lab" / "arm64" / "scope" / "driver"
MODULE = "isolator_scope.ko"
# This machine cannot ask that busybox what it can do.
APPLETS = "run applets 10000 busybox --install -s /bin\n"
# Of the library's build, by their paths there: a program finds the library beside itself.
PARTS = (
    "libisolator.so.0",
    "preload/libisolator-preload.so",
    *(
        f"examples/{name}"
        for name in ("alloc", "channel", "inbox", "letters", "resource", "topology")
    ),
    *(
        f"tests/test-{name}"
        for name in ("alloc", "channel", "channel-stream", "errors", "inbox", "pool", "pool_users")
    ),
    *(f"tests/test-{name}" for name in ("start", "task", "tick", "topology")),
)


def _fetch(into: Path) -> None:
    """Kernel, busybox and what modules are built with into @into; all else is left out."""
    for suite, package in (KERNEL, BUSYBOX):
        name = f"{into.name}-{package}"
        tree = packages.unpack(name, suite, (package,), options=("--arch", NAME, "--alone"))
        if package == BUSYBOX[1]:
            shutil.copy(tree / "bin" / "busybox", into)
        else:
            (image,) = (tree / "boot").glob("vmlinuz-*")
            shutil.copy(image, into / "Image")
            (config,) = (tree / "boot").glob("config-*")
            shutil.copy(config, into / config.name)
            _fetch_headers(into, suite, config.name.removeprefix("config-"))
        with open(into / "packages", "a") as names:
            names.write((tree / ".packages").read_text())
        shutil.rmtree(tree)


def _fetch_headers(into: Path, suite: str, release: str) -> None:
    """Of that very kernel, with the tools for this machine."""
    version = release.removesuffix(f"-{NAME}")
    for package, arch in (
        (f"linux-headers-{release}", ("--arch", NAME)),
        (f"linux-headers-{version}-common", ("--arch", NAME)),
        (f"linux-kbuild-{version}", ()),
    ):
        tree = packages.unpack(
            f"{into.name}-{package}", suite, (package,), options=(*arch, "--alone")
        )
        shutil.copytree(tree / "usr", into / "headers", symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(tree)


def kernel() -> Kernel:
    """Debian's own; downloaded if this recipe never was."""
    sources = inspect.getsource(_fetch) + inspect.getsource(_fetch_headers)
    recipe = "\n".join([*KERNEL, *BUSYBOX, sources])
    into = cache() / f"arm64-{digest(recipe)}"
    with lock.held(cache() / "arm64.lock", "another fetches Debian's arm64 kernel"):
        if not into.is_dir():
            partial = into.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            _fetch(partial)
            partial.rename(into)
    return Kernel(NAME, into, arch="aarch64")


def build() -> None:
    """What runs in the guest, for its machine."""
    with initramfs.building(BUILD):
        done = subprocess.run([TOP / "tools" / "cross-build"], stdout=2, check=False)
        if done.returncode:
            raise term.LabError(
                "building the library and the command for arm64 failed, see above",
                code=done.returncode if done.returncode == term.SKIPPED else term.ERROR,
            )
        initramfs.make(LAB / "guest" / "agent", AGENT, "the guest agent", of=ARM64)
        initramfs.make(LAB / "arm64", GUEST, "the guest programs", of=ARM64)
        _build_driver(kernel())


def _build_driver(which: Kernel) -> None:
    """In a copy: what is made lies beside the sources.  Unchanged ones keep their time."""
    for name in ("driver", "include"):
        into = DRIVER.parent / name
        into.mkdir(parents=True, exist_ok=True)
        for source in (TOP / "scope" / name).iterdir():
            to = into / source.name
            if not to.exists() or to.read_bytes() != source.read_bytes():
                shutil.copy(source, to)
    (headers,) = (which.path / "headers" / "src").glob(f"linux-headers-*-{NAME}")
    done = subprocess.run(
        [
            *("make", "-s", "-C", f"{headers.as_posix().removesuffix(NAME)}common"),
            *(f"O={headers}", f"M={DRIVER}", f"ARCH={NAME}", f"CROSS_COMPILE={ARM64.cross}"),
            *("KCFLAGS=-Werror", "modules"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise term.LabError(f"building {MODULE} for arm64 failed:\n{done.stdout}")


def with_job(which: Kernel, job: str, target: Path) -> Path:
    """The initramfs of one boot."""
    archive = initramfs.skeleton(AGENT / "agent", which.path / "busybox", ("sh",))
    for name in SHARED:
        archive.file(f"lib/{name}", (LIBRARIES / name).read_bytes(), 0o755)
    archive.file("lab/bin/isolator", (BUILT / "isolator").read_bytes(), 0o755)
    for name in PARTS:
        archive.file(f"lab/built/{name}", (BUILT / "lib" / name).read_bytes(), 0o755)
    archive.file(f"lab/{MODULE}", (DRIVER / MODULE).read_bytes())
    archive.tree(GUEST / "root", "")
    # For isolator audit, where a distribution has it.
    for config in which.path.glob("config-*"):
        archive.file(f"boot/{config.name}", config.read_bytes())
    archive.file("job/job", (APPLETS + job).encode())
    target.write_bytes(archive.bytes())
    return target
