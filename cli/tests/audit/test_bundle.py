# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator audit --output and --root: what is saved, and what becomes of damaged archives."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import subprocess
import tarfile
from pathlib import Path

import pytest
from audittest import CPU, GOVERNOR, LEFT, WRONG, Lay, audit, outcomes
from clitest import NOBODY
from runtest import tree


def test_standard_output(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """-o - prints the archive alone, which is what -o FILE writes."""
    root = lay({**WRONG, **LEFT})
    audit(isolator, root, "-o", str(tmp_path / "audit.tar"))
    done = subprocess.run([isolator, "audit", "-c", "1-3", "--root", root, "-o", "-"],
                          capture_output=True, check=False, cwd=tmp_path)

    def members(archive: bytes) -> dict[str, bytes]:
        """What is in it; the directories above have the time at which they were packed."""
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            return {entry.name: content.read() for entry in tar
                    if (content := tar.extractfile(entry))}

    written = (tmp_path / "audit.tar").read_bytes()
    assert members(done.stdout) == members(written) and not done.stderr
    assert not (tmp_path / "-").exists()
    done = subprocess.run([isolator, "audit", "--root", root, "-o", "-", "--json"],
                          capture_output=True, check=False)
    assert done.returncode == 1 and not done.stdout


def test_save(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """A bundle, unpacked or not, is judged as the machine was, and holds nothing else."""
    root = lay({**WRONG, **LEFT, "/proc/512/comm": "irqbalance\n",
                "/dev/cpu_dma_latency": b"\x05\0\0\0"})
    (root / "proc/kcore").write_text("secret")
    (root / "proc/sys/vm/stat_interval").chmod(0)
    bundle = tmp_path / "audit.tar"
    tmp_path.chmod(0o777)
    live = audit(isolator, root, "--output", str(bundle), **NOBODY)
    assert bundle.stat().st_mode & 0o777 == 0o600
    with tarfile.open(bundle) as tar:
        names = [entry.name for entry in tar if not entry.isdir()]
        note = tar.extractfile("isolator-audit")
        assert note and note.read().decode().splitlines() == [
            "isolator-audit 1", "cpus 1-3", "unreadable EACCES /proc/sys/vm/stat_interval",
            "unreadable EACCES /sys/module/kfence/parameters/sample_interval"]
        tar.extractall(tmp_path / "unpacked", filter="tar")
    assert len(names) == len(set(names)) and "proc/512/comm" in names
    assert "proc/kcore" not in names and "proc/311/comm" not in names
    assert all(tree(root)["/" + name][0] == (tmp_path / "unpacked" / name).read_bytes()
               for name in names if name != "isolator-audit")
    assert live["findings"] and any(f["id"] == "audit.unread" for f in live["findings"])
    for what in (bundle, tmp_path / "unpacked"):
        judged = audit(isolator, what)
        assert judged["findings"] == live["findings"] and judged["checks"] == live["checks"]
    second = tmp_path / "second.tar"
    audit(isolator, bundle, "--output", str(second))
    with tarfile.open(second) as tar:
        assert [entry.name for entry in tar if not entry.isdir()] == names
    done = subprocess.run([isolator, "audit", "--root", second, "--json"], capture_output=True,
                          check=False)
    assert json.loads(done.stdout)["chosen"] == "capture"
    assert json.loads(done.stdout)["findings"] == live["findings"]


def test_save_comes_before_fix(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """The bundle tells what was found, not what was made of it."""
    root = lay({GOVERNOR: "powersave\n"})
    bundle = tmp_path / "audit.tar"
    assert audit(isolator, root, "--fix", "--output", str(bundle))["code"] == 0
    assert outcomes(audit(isolator, bundle)) == {GOVERNOR: None}
    root = lay({GOVERNOR: "powersave\n"}, "unsaved")
    audit(isolator, root, "--fix", "--output", "/dev/full", codes=(1,))
    assert (root / GOVERNOR[1:]).read_text() == "powersave\n"


def test_bundle_cannot_be_fixed_or_written(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """Said, and nothing is left."""
    root = lay({GOVERNOR: "powersave\n"})
    bundle = tmp_path / "audit.tar"
    audit(isolator, root, "--output", str(bundle))
    whole = bundle.read_bytes()
    said = audit(isolator, bundle, "--fix", codes=(1,))["said"]
    assert "--fix changes a machine" in said and bundle.read_bytes() == whole
    said = audit(isolator, root, "--output", str(tmp_path / "no/a.tar"), codes=(1,))["said"]
    assert "--output" in said and "No such file" in said


def test_what_lies_where_a_bundle_is_saved(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """It is replaced if it is an ordinary file; nothing is followed, or waited for."""
    root = lay({GOVERNOR: "powersave\n"})
    victim, link, fifo, other = (tmp_path / name for name in ("victim", "link", "fifo", "other"))
    victim.write_text("precious")
    victim.chmod(0o644)
    link.symlink_to(victim)
    os.mkfifo(fifo)
    for name in (link, fifo, Path("/dev/full")):
        said = audit(isolator, root, "--output", str(name), codes=(1,))["said"]
        assert f"{name} is not an ordinary file" in said
    assert victim.read_text() == "precious" and link.is_symlink() and fifo.is_fifo()
    other.hardlink_to(victim)
    (tmp_path / "other.new").symlink_to(victim)
    audit(isolator, root, "--output", str(other))
    assert victim.read_text() == "precious" and tarfile.is_tarfile(other)
    assert other.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"root", "victim", "link", "fifo", "other"}


def test_long_names(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """Paths of more than the 100 bytes that tar's first headers had."""
    name = "/sys/fs/cgroup/" + "a" * 80 + "/" + "b" * 200 + "/cpuset.cpus.partition"
    above = "/sys/fs/cgroup/" + "a" * 80 + "/cpuset.cpus.partition"
    root = lay({name: "isolated invalid (x)\n", above: "member\n"})
    bundle = tmp_path / "audit.tar"
    live = audit(isolator, root, "--output", str(bundle))
    assert outcomes(live) == {name: None}
    assert audit(isolator, bundle)["findings"] == live["findings"]
    with tarfile.open(bundle) as tar:
        assert name[1:] in tar.getnames()


def _tar(*members: tuple[str, bytes, bytes]) -> bytes:
    """An archive of names, types and contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.size = kind, len(data)
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = "/etc/shadow"
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _endless() -> bytes:
    """The header of a file of 8 GB."""
    info = tarfile.TarInfo("proc/cmdline")
    info.size = 8**11 - 1
    return info.tobuf(tarfile.USTAR_FORMAT)


def _bomb() -> bytes:
    """A file of 8 GB of which two bytes are stored, as GNU's tar has sparse ones."""
    info = tarfile.TarInfo("proc/cmdline")
    info.size, info.type = 2, tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"%011o\0%011o\0" % (8**11 - 3, 2)
    header[483:495] = b"%011o\0" % (8**11 - 1)
    header[148:156] = b" " * 8
    header[148:155] = b"%06o\0" % sum(header)
    return bytes(header) + b"x\n" + bytes(510) + _tar(NOTE)


NOTE = ("isolator-audit", tarfile.REGTYPE, b"isolator-audit 1\ncpus 1-3\n")
ONLINE = (f"{CPU[1:]}/online", tarfile.REGTYPE, b"0-3\n")


BAD = "it is cut off, a header of it has changed, or it is not a tar archive"
FOREIGN = "does not belong to a capture"


@pytest.mark.parametrize(("data", "words"), [
    (b"", "cut off, or no tar archive"), (b"\0" * 10240, "no note"),
    (b"x" * 4096, "no tar archive"), (_tar(ONLINE), "no note"),
    (_tar(NOTE)[:700], "cut off"), (_tar(NOTE, ONLINE)[:1024], "cut off"),
    (_endless() + _tar(NOTE), BAD), (_bomb(), "holds too much"),
    (gzip.compress(_tar(NOTE)), "no tar archive"),
    (gzip.compress(_tar(NOTE)) + bytes(512), BAD),
    (_tar(NOTE, ONLINE).replace(b"online", b"onlime"), BAD),
    (_tar(NOTE, ("../../x", tarfile.REGTYPE, b"")), FOREIGN),
    (_tar(NOTE, ("a/..", tarfile.REGTYPE, b"")), FOREIGN),
    (_tar(NOTE, ("/proc/cmdline", tarfile.REGTYPE, b"")), FOREIGN),
    (_tar(NOTE, ("proc/cmd\nline", tarfile.REGTYPE, b"")), FOREIGN),
    *((_tar(NOTE, ("proc/cmdline", kind, b"")), FOREIGN)
      for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE,
                   tarfile.FIFOTYPE)),
    (_tar(("isolator-audit", tarfile.REGTYPE, b"isolator-audit 9\n")), "no version"),
    (_tar(("isolator-audit", tarfile.REGTYPE, b"")), "no version"),
    (_tar(("isolator-audit", tarfile.REGTYPE, b"isolator-audit 1\nunreadable X /a\n")),
     "says nothing")])
def test_damaged_bundle(isolator: Path, tmp_path: Path, data: bytes, words: str) -> None:
    """Each kind of damage is an error that says what it is."""
    bundle = tmp_path / "bundle"
    bundle.write_bytes(data)
    document = audit(isolator, bundle, codes=(1,))
    assert words in document["said"] and "save it again" in document["said"]


def test_without_tar(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """It is named, whether a bundle is read or written, and nothing is left."""
    bundle, empty = tmp_path / "a.tar", {**os.environ, "PATH": str(tmp_path / "none")}
    said = audit(isolator, lay(), "--output", str(bundle), codes=(1,), env=empty)["said"]
    assert "tar is not installed" in said and not list(tmp_path.glob("a.tar*"))
    bundle.write_bytes(_tar(NOTE, ONLINE))
    said = audit(isolator, bundle, codes=(1,), env=empty)["said"]
    assert "tar is not installed" in said


def test_bundle_of_another_archiver(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """Directories, and names that begin with ./, are what other archivers write."""
    bundle = tmp_path / "a.tar"
    root = lay({GOVERNOR: "powersave\n"})
    (root / "isolator-audit").write_text("isolator-audit 1\nnewer than this\n")
    subprocess.run(["tar", "--format=ustar", "-cf", bundle, "-C", root, "."], check=True)
    assert outcomes(audit(isolator, bundle)) == {GOVERNOR: None}


def test_damage_anywhere(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """Bytes changed, lost or doubled: an answer or an error, no crash, no wrong access."""
    chance = random.Random("bundle")
    bundle = tmp_path / "audit.tar"
    audit(isolator, lay({**WRONG, **LEFT}), "--output", str(bundle))
    whole = bundle.read_bytes()
    codes = set()
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(damaged))
            if chance.random() < 0.6:
                damaged[at] = chance.choice(b"\0 019-,/[]\xff\n")
            elif chance.random() < 0.5:
                del damaged[at:at + chance.choice([1, 30, 512])]
            else:
                damaged[at:at] = damaged[at:at + chance.choice([1, 512, 1024])]
        if chance.random() < 0.2:
            del damaged[chance.randrange(len(damaged)):]
        bundle.write_bytes(damaged)
        done = subprocess.run([isolator, "audit", "--root", bundle], capture_output=True,
                              check=False)
        codes.add(done.returncode)
        assert done.returncode in (0, 1, 2, 3), done.stderr.decode()
        assert b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr
        assert (done.returncode in (1, 3)) == done.stderr.startswith(b"isolator audit: ")
    assert {1, 2} <= codes


def test_damaged_note_of_a_directory(isolator: Path, lay: Lay) -> None:
    """It counts there as in a bundle."""
    root = lay()
    (root / "isolator-audit").write_text("nothing\n")
    assert "no version" in audit(isolator, root, codes=(1,))["said"]
