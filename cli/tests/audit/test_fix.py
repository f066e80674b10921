# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator audit: --fix, the journal and its undo, --output and what becomes of archives."""

from __future__ import annotations

import fcntl
import gzip
import io
import json
import os
import random
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clitest import NOBODY, schema

SCHEMA = schema("audit")
CPU = "/sys/devices/system/cpu"
THP = "/sys/kernel/mm/transparent_hugepage/defrag"
EVENTS = "/sys/kernel/tracing/set_event"
GOVERNOR = f"{CPU}/cpu1/cpufreq/scaling_governor"
IRQ = "/proc/irq/24/smp_affinity_list"

Lay = Callable[..., Path]
Changes = dict[str, str | bytes | None]

# Of each kind of setting one, and one that no write mends.
WRONG: Changes = {
    GOVERNOR: "powersave\n", THP: "[always] defer madvise never\n", IRQ: "2\n",
    EVENTS: "sched:sched_switch\nirq:irq_handler_entry\n", "/proc/isolator/cpus": "1-2\n",
    "/sys/kernel/tracing/kprobe_events": "p:kprobes/a\\b do_exit x=\t$stack0\n",
}
LEFT: Changes = {"/proc/self/limits": "Max realtime priority  0  0\n"}
FIXED = {GOVERNOR: "performance\n", THP: "madvise\n", IRQ: "0\n", EVENTS: "\n",
         "/proc/isolator/cpus": "1-3\n", "/sys/kernel/tracing/kprobe_events": "\n"}


Restore = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def restore(isolator: Path) -> Restore:
    """Puts back what journals note."""

    def run(root: Path, program: Path = isolator, code: int = 0,
            **how: Any) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([program, "restore", "--root", root], check=False, text=True,
                              capture_output=True, **how)
        assert done.returncode == code, done.stderr
        return done

    return run


def audit(isolator: Path, root: Path, *arguments: str,
          codes: tuple[int, ...] = (0, 2, 3), **how: Any) -> dict[str, Any]:
    """The document, with the exit code and what was said beside it."""
    done = subprocess.run(
        [isolator, "audit", "--json", "-c", "1-3", "--root", root, *arguments],
        capture_output=True, text=True, check=False, **how)
    assert done.returncode in codes, done.stderr
    document: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"findings": []}
    if done.stdout:
        SCHEMA.validate(document)
    return {**document, "code": done.returncode, "said": " ".join(done.stderr.split())}


def outcomes(document: dict[str, Any]) -> dict[str, Any]:
    """What became of each finding, by its path."""
    return {f["path"]: f["outcome"] for f in document["findings"]}


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    """All files with their content and mode."""
    return {str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode)
            for path in root.rglob("*") if path.is_file()}


def journal(root: Path) -> list[list[str]]:
    """Its lines, in fields."""
    lines = (root / "run/isolator/journal").read_text().splitlines()
    assert lines[0] == "isolator-journal 1"
    return [line.split("\t") for line in lines[1:]]


def test_fix_and_undo(isolator: Path, restore: Restore, lay: Lay) -> None:
    """All that a write mends is mended, noted, and put back to the byte."""
    root = lay({**WRONG, **LEFT})
    before = tree(root)
    document = audit(isolator, root, "--fix")
    assert outcomes(document) == {**dict.fromkeys(WRONG, "fixed"), "/proc/self/limits": None}
    assert document["code"] == 2
    after = tree(root)
    assert {p: after[p[1:]][0].decode() for p in FIXED} == FIXED
    assert set(after) - set(before) == {"run/isolator/journal"}
    assert {p for p in before if before[p] != after[p]} == {p[1:] for p in FIXED}
    lines = journal(root)
    assert [line[0] for line in lines] == ["set"] * len(WRONG)
    noted = {line[1]: line[2:] for line in lines}
    assert noted[GOVERNOR] == ["powersave", "powersave\\012"]
    assert noted[THP] == ["always", "[always] defer madvise never\\012"]
    assert noted[EVENTS][0] == "sched:sched_switch\\012irq:irq_handler_entry"
    assert (root / "run/isolator").stat().st_mode & 0o777 == 0o700
    # Mended, it has nothing more to do, and does not touch the journal.
    again = audit(isolator, root, "--fix")
    assert outcomes(again) == {"/proc/self/limits": None} and tree(root) == after
    restore(root)
    assert tree(root) == before and not (root / "run/isolator").exists()
    restore(root)
    assert tree(root) == before


def test_fix_twice(isolator: Path, restore: Restore, lay: Lay) -> None:
    """The oldest value is the one that is put back."""
    root = lay({GOVERNOR: "powersave\n"})
    before = tree(root)
    audit(isolator, root, "--fix")
    (root / GOVERNOR[1:]).write_text("ondemand\n")
    assert audit(isolator, root, "--fix")["code"] == 0
    assert [line[2] for line in journal(root)] == ["powersave", "ondemand"]
    restore(root)
    assert tree(root) == before


def test_fix_nothing(isolator: Path, lay: Lay) -> None:
    """Where nothing is to be mended there is no journal; notes are not mended unasked."""
    root = lay({f"{CPU}/intel_pstate/no_turbo": "0\n"})
    before = tree(root)
    assert outcomes(audit(isolator, root, "--fix")) == {f"{CPU}/intel_pstate/no_turbo": None}
    assert tree(root) == before and not (root / "run").exists()
    document = audit(isolator, root, "--fix", "--severity", "info")
    assert document["code"] == 0 and document["findings"][0]["outcome"] == "fixed"


@pytest.mark.parametrize(("variable", "outcome", "now", "noted"), [
    ("IGNORED", "ignored", "powersave\n", 0), ("OTHER", "ignored", "7\n", 1),
    ("REFUSED", "refused", "Input/output error", 0)])
def test_setting_that_does_not_stick(
        stubborn: Path, restore: Restore, lay: Lay, variable: str, outcome: str, now: str,
        noted: int) -> None:
    """It is reported, and only what changed is noted."""
    root = lay({GOVERNOR: "powersave\n"})
    before = tree(root)
    document = audit(stubborn, root, "--fix", env={**os.environ, variable: GOVERNOR})
    assert document["code"] == 2 and outcomes(document) == {GOVERNOR: outcome}
    assert document["findings"][0]["now"] == now
    assert (root / "run/isolator/journal").exists() == bool(noted)
    assert not noted or len(journal(root)) == noted
    text = subprocess.run([stubborn, "audit", "--fix", "--root", root], text=True, check=False,
                          capture_output=True, env={**os.environ, variable: GOVERNOR}).stdout
    assert ("not fixed: Input" if variable == "REFUSED" else "not fixed: it is still ") in text
    restore(root)
    assert tree(root) == before


def test_undo_that_does_not_stick(isolator: Path, restore: Restore, stubborn: Path,
                                  lay: Lay) -> None:
    """It is reported, and stays noted until it does."""
    root = lay({GOVERNOR: "powersave\n", IRQ: "2\n"})
    before = tree(root)
    audit(isolator, root, "--fix")
    done = restore(root, stubborn, code=1, env={**os.environ, "IGNORED": GOVERNOR})
    assert "1 failed and stay in the journal" in done.stdout
    assert f'{GOVERNOR} was set to "powersave" again, but shows "performance' in done.stderr
    assert [line[1] for line in journal(root)] == [GOVERNOR]
    assert (root / IRQ[1:]).read_text() == "2\n"
    restore(root)
    assert tree(root) == before


def test_managed_interrupt(stubborn: Path, lay: Lay) -> None:
    """A driver that keeps its interrupt is named as the reason."""
    document = audit(stubborn, lay({IRQ: "2\n"}), "--fix", env={**os.environ, "REFUSED": IRQ})
    assert "its driver manages it; boot with isolcpus=managed_irq" in document["findings"][0]["now"]


def test_fix_without_privilege(isolator: Path, lay: Lay) -> None:
    """A file that may not be written is reported; without a journal nothing is changed."""
    root = lay({GOVERNOR: "powersave\n"})
    before = tree(root)
    root.chmod(0o555)
    document = audit(isolator, root, "--fix", codes=(1,), **NOBODY)
    assert "nothing was changed: run it as root" in document["said"]
    assert outcomes(document)[GOVERNOR] is None and tree(root) == before
    os.chown(root, NOBODY["user"], NOBODY["group"])
    root.chmod(0o755)
    (root / GOVERNOR[1:]).chmod(0o444)
    document = audit(isolator, root, "--fix", **NOBODY)
    assert document["code"] == 2 and outcomes(document)[GOVERNOR] == "refused"
    finding = next(f for f in document["findings"] if f["path"] == GOVERNOR)
    assert finding["now"] == "Permission denied: run it as root"
    assert not (root / "run/isolator").exists()


def test_links_lead_nowhere(isolator: Path, restore: Restore, lay: Lay, tmp_path: Path) -> None:
    """Whatever links a capture holds: no file outside is read or written."""
    root = lay({GOVERNOR: None, IRQ: None})
    outside = tmp_path / "outside"
    outside.write_text("powersave\n")
    (root / GOVERNOR[1:]).symlink_to(outside)
    (root / IRQ[1:]).symlink_to("../" * 30 + str(outside)[1:])
    assert audit(isolator, root, "--fix", "--severity", "info")["findings"] == []
    (root / GOVERNOR[1:]).unlink()
    (root / GOVERNOR[1:]).write_text("powersave\n")
    (root / "run").symlink_to(tmp_path)
    assert audit(isolator, root, "--fix", codes=(1,))["code"] == 1
    assert outside.read_text() == (root / GOVERNOR[1:]).read_text() == "powersave\n"
    assert not (tmp_path / "isolator").exists()


def test_journal_is_one_at_a_time(isolator: Path, lay: Lay) -> None:
    """Two that change settings would note each other's."""
    root = lay({GOVERNOR: "powersave\n"})
    (root / "run/isolator").mkdir(parents=True)
    with (root / "run/isolator/journal").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        document = audit(isolator, root, "--fix", codes=(1,))
    assert "another isolator command is changing settings" in document["said"]
    assert (root / GOVERNOR[1:]).read_text() == "powersave\n"


@pytest.mark.parametrize("tail", ["set\t/proc/x\tol", "", "isolator-jour"])
def test_journal_that_a_crash_cut_off(isolator: Path, restore: Restore, lay: Lay,
                                      tail: str) -> None:
    """What was not noted whole was not changed: it is dropped, the rest put back."""
    root = lay({GOVERNOR: "powersave\n", IRQ: "2\n"})
    before = tree(root)
    path = root / "run/isolator/journal"
    if tail.startswith("isolator"):
        path.parent.mkdir(parents=True)
        path.write_text(tail)
    else:
        audit(isolator, root, "--fix")
        (root / IRQ[1:]).write_text("3\n")
        with path.open("a") as out:
            out.write(tail)
    audit(isolator, root, "--fix")
    assert all(len(line) == 4 for line in journal(root))
    restore(root)
    assert tree(root) == before


@pytest.mark.parametrize("text", [
    "isolator-journal 2\n", "something else\n", "isolator-journal 1\nset\0\n"])
def test_journal_of_another_kind(isolator: Path, restore: Restore, lay: Lay, text: str) -> None:
    """It is not touched, and nothing is changed without one."""
    root = lay({GOVERNOR: "powersave\n"})
    path = root / "run/isolator/journal"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert "move it away" in audit(isolator, root, "--fix", codes=(1,))["said"]
    assert "move it away" in " ".join(restore(root, code=1).stderr.split())
    assert path.read_text() == text and (root / GOVERNOR[1:]).read_text() == "powersave\n"


def test_journal_with_what_cannot_be_put_back(isolator: Path, restore: Restore, lay: Lay) -> None:
    """That stays, in its order; the rest is put back."""
    root = lay(WRONG)
    before = tree(root)
    audit(isolator, root, "--fix")
    lines = (root / "run/isolator/journal").read_text().splitlines(keepends=True)
    (root / EVENTS[1:]).unlink()
    lines[2:2] = ["set\t/a\\9\tb\tc\n", "frobnicate\t/x\ty\tz\n"]
    (root / "run/isolator/journal").write_text("".join(lines))
    done = restore(root, code=1)
    assert f"{EVENTS}: No such file" in done.stderr and "3 failed" in done.stdout
    left = (root / "run/isolator/journal").read_text().splitlines(keepends=True)
    assert left == [lines[0], lines[2], lines[3], next(x for x in lines if EVENTS in x)]
    have = tree(root)
    assert {p: v for p, v in before.items() if p != EVENTS[1:]} == {
        p: v for p, v in have.items() if not p.startswith("run/")}


def test_standard_output(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """-o - prints the archive alone, which is what -o FILE writes."""
    root = lay({**WRONG, **LEFT})
    audit(isolator, root, "-o", str(tmp_path / "audit.tar"))
    done = subprocess.run([isolator, "audit", "--root", root, "-o", "-"], capture_output=True,
                          check=False, cwd=tmp_path)
    assert done.stdout == (tmp_path / "audit.tar").read_bytes() and not done.stderr
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
    assert all(tree(root)[name][0] == (tmp_path / "unpacked" / name).read_bytes()
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


BAD = "it is cut off, a header of it has changed, or it is no tar archive"
FOREIGN = "no file of a capture"


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
    assert words in document["said"] and "save it anew" in document["said"]


def test_without_tar(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """It is named, whether a bundle is read or written, and nothing is left."""
    bundle, empty = tmp_path / "a.tar", {**os.environ, "PATH": str(tmp_path / "none")}
    said = audit(isolator, lay(), "--save", str(bundle), codes=(1,), env=empty)["said"]
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
