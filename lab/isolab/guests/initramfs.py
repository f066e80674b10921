# SPDX-License-Identifier: GPL-2.0-or-later
"""Initramfs archives: a base that is made once, and a small one for each job."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .. import term
from ..paths import BUILD, LAB, TOP
from . import packages, selftests
from .kernel import Kernel

LOAD_PACKAGES = ("stress-ng", "rt-tests")
LOAD_PROGRAMS = ("usr/bin/stress-ng", "usr/bin/hackbench", "usr/bin/cyclictest")
DIRECTORIES = (
    "bin", "dev", "etc", "job", "lab", "lib", "proc", "root", "run", "sbin", "sys", "tmp", "usr",
    "usr/bin", "usr/lib", "usr/sbin", "var",
)


class Archive:
    """Writes the newc format that the kernel unpacks."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.ino = 0
        self.dirs: set[str] = set()

    def _entry(self, name: str, mode: int, data: bytes, rdev: tuple[int, int] = (0, 0)) -> None:
        self.ino += 1
        raw = name.encode() + b"\0"
        fields = (self.ino, mode, 0, 0, 1, 0, len(data), 0, 0, rdev[0], rdev[1], len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + raw
        self.parts.append(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))

    def directory(self, name: str) -> None:
        parent = os.path.dirname(name)
        if parent:
            self.directory(parent)
        if name and name not in self.dirs:
            self.dirs.add(name)
            self._entry(name, stat.S_IFDIR | 0o755, b"")

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        self.directory(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, data)

    def link(self, name: str, to: str) -> None:
        self.directory(os.path.dirname(name))
        self._entry(name, stat.S_IFLNK | 0o777, to.encode())

    def device(self, name: str, major: int, minor: int) -> None:
        self._entry(name, stat.S_IFCHR | 0o600, b"", (major, minor))

    def tree(self, root: Path, at: str) -> None:
        for path in sorted(root.rglob("*")):
            name = f"{at}/{path.relative_to(root)}".lstrip("/")
            if path.is_symlink():
                self.link(name, os.readlink(path))
            elif path.is_dir():
                self.directory(name)
            else:
                self.file(name, path.read_bytes(), stat.S_IMODE(path.stat().st_mode))

    def bytes(self) -> bytes:
        self._entry("TRAILER!!!", 0, b"")
        data = b"".join(self.parts)
        return data + bytes(-len(data) % 512)


def skeleton(agent: Path, busybox: Path, applets: tuple[str, ...]) -> Archive:
    """What every guest begins with: directories, the agent as process 1, a shell."""
    archive = Archive()
    for name in DIRECTORIES:
        archive.directory(name)
    archive.device("dev/console", 5, 1)
    archive.device("dev/null", 1, 3)
    archive.file("init", agent.read_bytes(), 0o755)
    archive.file("bin/busybox", busybox.read_bytes(), 0o755)
    for applet in applets:
        if applet != "busybox":
            archive.link(f"bin/{applet}", "/bin/busybox")
    archive.file("etc/passwd", b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
    archive.file("etc/group", b"root:x:0:\nnogroup:x:65534:\n")
    return archive


@contextlib.contextmanager
def building(build: Path) -> Iterator[None]:
    """One at a time makes anything below @build, which a fresh clone has not yet."""
    build.mkdir(exist_ok=True)
    with open(build / "lab.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make(directory: Path, out: Path, what: str, *targets: Path, cross: str = "") -> None:
    """Builds @what, the whole of @directory or only some @targets, in @out."""
    compilers = (f"CC={cross}gcc", f"CXX={cross}g++") if cross else ()
    done = subprocess.run(
        ["make", "-s", "-C", str(directory), f"O={out}", *compilers, *map(str, targets)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )
    if done.returncode:
        raise term.LabError(f"building {what} failed:\n{done.stdout}")


def load_tree() -> Path:
    """stress-ng, hackbench and cyclictest with their libraries, from Debian's packages."""
    return packages.unpack("load", "bookworm", LOAD_PACKAGES)


def _libraries(root: Path, program: Path) -> list[Path]:
    """The shared libraries of @program, all from @root."""
    loader = root / "lib64" / "ld-linux-x86-64.so.2"
    real = loader.resolve()
    if not real.is_file():
        real = root / "lib" / "x86_64-linux-gnu" / "ld-linux-x86-64.so.2"
    where = f"{root}/lib/x86_64-linux-gnu:{root}/usr/lib/x86_64-linux-gnu"
    text = subprocess.run([str(real), "--library-path", where, "--list", str(program)],
                          capture_output=True, text=True, check=True).stdout
    found = [
        Path(w[2])
        for w in (line.split() for line in text.splitlines())
        if len(w) > 2 and w[1] == "=>"
    ]
    return [*found, real]


def base(kernel: Kernel) -> Path:
    """The archive that every guest of @kernel unpacks first."""
    with building(BUILD):
        return _base(kernel)


def _base(kernel: Kernel) -> Path:
    guest, agent = BUILD / "lab" / "guest", BUILD / "lab" / "agent"
    make(LAB / "guest", guest, "the guest programs")
    make(LAB / "guest" / "agent", agent, "the guest agent")
    make(LAB / "guest" / "cost", guest / "root" / "lab" / "bin", "what measures costs in a guest")
    make(LAB / "guest" / "causes", guest / "root" / "lab" / "bin", "the guest's causes")
    make(LAB / "guest" / "instants", guest / "root" / "lab" / "bin", "the guest's requests")
    busybox = shutil.which("busybox")
    if not busybox:
        raise term.LabError("busybox is missing: apt-get install busybox-static")
    load = load_tree()
    key = hashlib.sha256()
    own = [agent / "agent", *sorted(p for p in (guest / "root").rglob("*") if p.is_file())]
    for path in own:
        key.update(str(path.relative_to(TOP)).encode() + path.read_bytes())
    for text in (kernel.path, (load / ".packages").read_text(), Path(__file__).read_text()):
        key.update(str(text).encode())
    target = BUILD / "initramfs" / f"{kernel.name}-{key.hexdigest()[:12]}.cpio"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    for old in target.parent.glob(f"{kernel.name}-*.cpio"):
        old.unlink()
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True)
    archive = skeleton(agent / "agent", Path(busybox), tuple(applets.stdout.split()))
    seen: set[str] = set()
    for program in LOAD_PROGRAMS:
        archive.file(program, (load / program).read_bytes(), 0o755)
        for library in _libraries(load, load / program):
            if library.name not in seen:
                seen.add(library.name)
                at = "lib64" if library.name.startswith("ld-linux") else "lib/x86_64-linux-gnu"
                archive.file(f"{at}/{library.name}", library.read_bytes(), 0o755)
    archive.tree(guest / "root", "")
    modules = kernel.path / "modules" / "lib" / "modules" / kernel.version
    if modules.is_dir():
        for path in sorted(modules.rglob("*")):
            if path.is_file() and path.name not in ("build", "source"):
                archive.file(
                    f"lib/modules/{kernel.version}/{path.relative_to(modules)}", path.read_bytes()
                )
    partial = target.with_suffix(".partial")
    partial.write_bytes(archive.bytes())
    partial.rename(target)
    return target


def overlay(job: str, extra: Path | None = None) -> bytes:
    """What is laid over the base: the job of one boot, and @extra as the kernel's selftests."""
    archive = Archive()
    archive.file("job/job", job.encode())
    if extra:
        archive.tree(extra, selftests.GUEST)
    return archive.bytes()


def with_job(kernel: Kernel, job: str, target: Path, extra: Path | None = None) -> Path:
    """The base and, laid over it, what one boot has besides."""
    with open(target, "wb") as out, open(base(kernel), "rb") as first:
        shutil.copyfileobj(first, out)
        out.write(overlay(job, extra))
    return target
