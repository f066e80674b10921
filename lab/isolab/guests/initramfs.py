# SPDX-License-Identifier: GPL-2.0-or-later
"""Initramfs archives: a base that is made once, and a small one for each job."""

import contextlib
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .. import lock, term
from ..paths import BUILD, LAB, TOP, digest
from . import machine, packages, selftests
from .kernel import Kernel

LOAD_PACKAGES = ("stress-ng", "rt-tests")
LOAD_PROGRAMS = ("usr/bin/stress-ng", "usr/bin/hackbench", "usr/bin/cyclictest")
# Of these a guest has only what it needs: all are far more than the rest, and each boot unpacks
# what it has.
CHOSEN = ("lab/tests", "lab/triggers")
_NAMED = re.compile(rf"/({'|'.join(CHOSEN)})/([\w-]*)".encode())
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

    def copy(self, path: Path, name: str) -> None:
        self.file(name, path.read_bytes(), stat.S_IMODE(path.stat().st_mode))

    def tree(self, root: Path, at: str, but: tuple[str, ...] = ()) -> None:
        """@root as it is, without the folders @but in it."""
        for path in sorted(root.rglob("*")):
            if _below(path, root, but):
                continue
            name = f"{at}/{path.relative_to(root)}".lstrip("/")
            if path.is_symlink():
                self.link(name, os.readlink(path))
            elif path.is_dir():
                self.directory(name)
            else:
                self.copy(path, name)

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


def _below(path: Path, root: Path, folders: tuple[str, ...]) -> bool:
    return path.relative_to(root).as_posix().startswith(folders)


@contextlib.contextmanager
def building(build: Path) -> Iterator[None]:
    """One at a time makes anything below @build, which a fresh clone has not yet."""
    with lock.held(build / "lab.lock"):
        yield


def make(
    directory: Path, out: Path, what: str, *targets: Path, of: machine.Machine = machine.X86_64
) -> None:
    """Builds @what, the whole of @directory or only some @targets, in @out."""
    compilers = (f"CC={of.cross}gcc", f"CXX={of.cross}g++") if of.cross else ()
    done = subprocess.run(
        ["make", "-s", f"-j{len(os.sched_getaffinity(0))}", "-C", str(directory), f"O={out}",
         f"ARCH={of.name}", *compilers, *map(str, targets)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )
    if done.returncode:
        raise term.LabError(f"building {what} failed:\n{done.stdout}")


def _fetch(name: str, wanted: tuple[str, ...], of: machine.Machine, *options: str) -> Path:
    """Packages of Debian's for another machine lie beside those for this one."""
    foreign = of is not machine.X86_64
    return packages.unpack(
        f"{name}-{of.debian}" if foreign else name, "bookworm", wanted,
        options=(*(("--arch", of.debian) if foreign else ()), *options),
    )


def load_tree(of: machine.Machine = machine.X86_64) -> Path:
    """stress-ng, hackbench and cyclictest with their libraries, from Debian's packages."""
    return _fetch("load", LOAD_PACKAGES, of)


def busybox(of: machine.Machine) -> Path:
    """The machine's own; another one's of the same release, which has the same applets."""
    if of is not machine.X86_64:
        return _fetch("busybox", ("busybox-static",), of, "--alone") / "bin" / "busybox"
    found = shutil.which("busybox")
    if not found:
        raise term.LabError("busybox is missing: apt-get install busybox-static")
    return Path(found)


def libraries(root: Path, program: Path, triplet: str) -> list[Path]:
    """The shared libraries of @program and theirs, all from @root; its loader is one of them.

    They are read, as what runs on another machine cannot be asked.
    """
    found: dict[str, Path] = {}
    left = [program]
    while left:
        said = subprocess.run(["readelf", "-d", str(left.pop())], capture_output=True, text=True,
                              check=True).stdout
        for name in re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", said):
            if name in found:
                continue
            places = (root / base / triplet / name for base in ("lib", "usr/lib"))
            found[name] = next((place for place in places if place.exists()), root / name)
            if not found[name].exists():
                raise term.LabError(f"{program}: no {name} below {root}")
            left.append(found[name])
    return list(found.values())


def scripted(of: machine.Machine, init: Path) -> Archive:
    """What a guest begins with whose process 1 is the shell script @init."""
    archive = Archive()
    for name in ("bin", "dev"):
        archive.directory(name)
    archive.device("dev/console", 5, 1)
    archive.file("bin/busybox", busybox(of).read_bytes(), 0o755)
    archive.link("bin/sh", "busybox")
    archive.file("init", init.read_bytes(), 0o755)
    return archive


def cross_compiler(of: machine.Machine) -> None:
    """What compiles for @of is installed, if that is another machine than this one."""
    if not of.cross:
        return
    done = subprocess.run(
        [TOP / "tools" / "install-packages", "--optional", of.name], stdout=2, check=False
    )
    if done.returncode:
        raise term.LabError(
            f"what compiles for {of.name} is missing, see above",
            code=done.returncode if done.returncode == term.SKIPPED else term.ERROR,
        )


def base(kernel: Kernel) -> Path:
    """The archive that every guest of @kernel unpacks first."""
    with building(BUILD):
        return _base(kernel)


def _built(of: machine.Machine) -> Path:
    return BUILD / "lab" if of is machine.X86_64 else BUILD / "lab" / of.name


def _base(kernel: Kernel) -> Path:
    of = kernel.machine
    native = of is machine.X86_64
    built = _built(of)
    guest, agent = built / "guest", built / "agent"
    programs = guest / "root" / "lab" / "bin"
    cross_compiler(of)
    make(LAB / "guest", guest, "the guest programs", of=of)
    make(LAB / "guest" / "agent", agent, "the guest agent", of=of)
    make(LAB / "guest" / "cost", programs, "what measures costs in a guest", of=of)
    make(LAB / "guest" / "causes", programs, "the guest's causes", of=of)
    if native:  # what parks a CPU knows the ways into the kernel of that machine only
        make(LAB / "guest" / "instants", programs, "the guest's requests")
    shell = busybox(of)
    load = load_tree(of)
    root = guest / "root"
    parts = [agent / "agent", *sorted(
        p for p in root.rglob("*") if p.is_file() and not _below(p, root, CHOSEN))]
    key = digest(
        *(str(path.relative_to(TOP)).encode() + path.read_bytes() for path in parts),
        kernel.key, (load / ".packages").read_text(), Path(__file__).read_text())
    target = BUILD / "initramfs" / f"{kernel.name}-{key}.cpio"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    for old in target.parent.glob(f"{kernel.name}-{'[0-9a-f]' * len(key)}.cpio"):
        old.unlink()
    here = busybox(machine.X86_64)
    applets = subprocess.run([here, "--list"], capture_output=True, text=True, check=True)
    archive = skeleton(agent / "agent", shell, tuple(applets.stdout.split()))
    loader = Path(of.loader)
    real = load / "lib" / of.triplet / loader.name
    archive.file(of.loader, real.read_bytes(), 0o755)
    seen = {loader.name}
    for program in LOAD_PROGRAMS:
        archive.file(program, (load / program).read_bytes(), 0o755)
        for library in libraries(load, load / program, of.triplet):
            if library.name not in seen:
                seen.add(library.name)
                archive.file(f"lib/{of.triplet}/{library.name}", library.read_bytes(), 0o755)
    archive.tree(root, "", CHOSEN)
    for name, path in kernel.modules().items():
        archive.file(f"lib/modules/{name}", path.read_bytes())
    partial = target.with_suffix(".partial")
    partial.write_bytes(archive.bytes())
    partial.rename(target)
    return target


def named(job: str, root: Path) -> list[Path]:
    """Of CHOSEN below @root what the job names, and what that names itself; a folder: all of it."""
    found: set[Path] = set()
    texts = [job.encode()]
    while texts:
        for folder, name in _NAMED.findall(texts.pop()):
            place = root / folder.decode()
            for path in (place / name.decode(),) if name else place.iterdir():
                if path.is_file() and path not in found:
                    found.add(path)
                    texts.append(path.read_bytes())
    return sorted(found)


def overlay(job: str, root: Path, extra: Path | None = None) -> bytes:
    """What is laid over the base: the job of one boot, what it needs of @root, and @extra as the
    kernel's selftests."""
    archive = Archive()
    archive.file("job/job", job.encode())
    for path in named(job, root):
        archive.copy(path, str(path.relative_to(root)))
    if extra:
        archive.tree(extra, selftests.GUEST)
    return archive.bytes()


def with_job(kernel: Kernel, job: str, target: Path, extra: Path | None = None) -> Path:
    """The base and, laid over it, what one boot has besides."""
    with open(target, "wb") as out, open(base(kernel), "rb") as first:
        shutil.copyfileobj(first, out)
        out.write(overlay(job, _built(kernel.machine) / "guest" / "root", extra))
    return target
