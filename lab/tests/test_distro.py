# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk of the distribution guest, and what is brought to it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from isolab import suite, term
from isolab.guests import distro, foreign, initramfs, machine, packaged
from isolab.guests.kernel import Kernel
from isolab.header import DISTRO_TESTS, GuestTest
from newc import unpack

MAKER = """#!/bin/sh
echo "$@" >>{log}
[ "$1" = --into ] && mkdir -p "$2/plain" && echo disk >"$2/root.ext2"
exit {code}
"""


@pytest.fixture(name="maker")
def _maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What makes the disk, but for the disk."""
    monkeypatch.setenv("ISOLATOR_CACHE", str(tmp_path / "cache"))
    maker = tmp_path / "maker"
    maker.write_text(MAKER.format(log=tmp_path / "log", code=0))
    maker.chmod(0o755)
    monkeypatch.setattr(distro, "MAKE", maker)
    return maker


def test_the_disk_is_made_once_for_a_recipe(
    maker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = distro.kernel("plain")
    assert first.disk and first.disk.read_text() == "disk\n" and first.disk.parent.is_dir()
    assert distro.kernel("plain") == first
    (call,) = (tmp_path / "log").read_text().splitlines()
    assert "systemd-sysv" in call and "plain=linux-image-6.12-amd64" in call
    monkeypatch.setattr(distro, "PACKAGES", (*distro.PACKAGES, "more"))
    assert distro.kernel("plain").disk != first.disk
    assert len((tmp_path / "log").read_text().splitlines()) == 2


def test_a_disk_with_more_has_a_place_of_its_own(maker: Path, tmp_path: Path) -> None:
    more = distro.image(("gcc", "ffmpeg"), {})
    assert more != distro.image() and more == distro.image(("gcc", "ffmpeg"), {})
    first, other = (tmp_path / "log").read_text().splitlines()
    assert first.endswith("gcc ffmpeg") and "linux-image" not in first
    assert "ffmpeg" not in other and "plain=linux-image-6.12-amd64" in other


def test_a_disk_of_another_machine_is_installed_there(
    maker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[tuple[Path, str]] = []

    def install(where: Path, kernel: Path, of: machine.Machine) -> None:
        assert kernel.parent == where and where.suffix == ".partial"
        installed.append((where, of.name))

    monkeypatch.setattr(foreign, "install", install)
    stock = packaged.stock(machine.ARM64)
    of_arm = distro.image((), stock, machine.ARM64)
    assert installed == [(of_arm.with_suffix(".partial"), "arm64")]
    assert distro.image((), stock, machine.ARM64) == of_arm and len(installed) == 1
    (call,) = (tmp_path / "log").read_text().splitlines()
    assert "--arch arm64" in call and "cloud=linux-image-6.12-cloud-arm64" in call
    # Who installs it belongs to the recipe.
    monkeypatch.setattr(foreign, "recipe", lambda: ["another"])
    assert distro.image((), stock, machine.ARM64) != of_arm and len(installed) == 2
    assert distro.image((), stock) != of_arm and len(installed) == 2


@pytest.mark.parametrize(("said", "why"), [
    ("isolab: second stage: done\n", ""),
    ("isolab: second stage: cannot mount the disk\n", "cannot mount the disk"),
    ("Kernel panic\n", "ended before its work did"),
])
def test_what_the_guest_that_installs_says(
    said: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("root.ext2", "debs.ext2"):
        (tmp_path / name).write_bytes(bytes(2 << 20))
    subprocess.run(["/sbin/mke2fs", "-q", "-F", tmp_path / "root.ext2"], check=True)
    (tmp_path / "cloud" / "modules").mkdir(parents=True)
    script = f"printf '%s' '{said}' >{tmp_path}/console"
    monkeypatch.setattr(foreign, "command", lambda where, kernel, of: ["sh", "-c", script])
    monkeypatch.setattr(initramfs, "busybox", lambda of: Path(__file__))
    if why:
        with pytest.raises(term.LabError, match=f"{why}.*console"):
            foreign.install(tmp_path, tmp_path / "cloud", machine.ARM64)
    else:
        foreign.install(tmp_path, tmp_path / "cloud", machine.ARM64)
    assert (tmp_path / "debs.ext2").exists() == bool(why)


def test_a_disk_that_failed_is_made_again(maker: Path, tmp_path: Path) -> None:
    good = maker.read_text()
    maker.write_text(good.replace("exit 0", "exit 1"))
    with pytest.raises(term.LabError, match="distribution guest failed"):
        distro.image()
    maker.write_text(good)
    # The recipe is another one now, and so is its place; nothing half-made is taken for whole.
    assert (distro.image() / "root.ext2").exists()
    assert [p.name for p in (tmp_path / "cache").glob("distro-*") if not p.suffix] == [
        distro.image().name
    ]


def test_unknown_kernel() -> None:
    with pytest.raises(term.LabError, match="no kernel distro-fast; .* plain, rt, isolator-"):
        distro.kernel("fast")


def test_what_comes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(directory: Path, out: Path, what: str, *targets: Path, of: machine.Machine) -> None:
        for path in targets or (out / "agent",):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(what)

    monkeypatch.setattr(initramfs, "make", make)
    monkeypatch.setattr(distro, "BUILD", tmp_path / "build")  # of a fresh clone: not there yet
    monkeypatch.setattr(initramfs, "busybox", lambda of: Path(__file__))
    module = tmp_path / "plain" / "modules" / "lib" / "modules" / "6" / "ext4.ko"
    module.parent.mkdir(parents=True)
    module.write_text("module")
    (tmp_path / "plain" / "modules" / "early").write_text("/lib/modules/6/ext4.ko\n")
    plain = Kernel("distro-plain", tmp_path / "plain")
    target = distro.with_job(plain, "true\n", tmp_path / "initrd")
    found = unpack(target.read_bytes())
    assert found["job/job"][1] == b"true\n"
    assert found["lib/modules/6/ext4.ko"][1] == b"module" and "early" in found
    assert found["lab/bin/isolator"] == (0o100755, b"the isolator command")
    for name in ("init", "bin/busybox", "lab/agent", "lab/tests/killed"):
        assert found[name][0] == 0o100755, name
    assert found["lab/tests/snapshot.py"][0] == 0o100644
    for name in ("init", "isolab.service", "lab/tests/killed"):
        assert b"SPDX" in found[name][1]
    schemas = {name: text for name, (_, text) in found.items() if name.startswith("lab/schema/")}
    assert len(schemas) == len(list(distro.SCHEMAS.iterdir())) > 13
    for name, text in schemas.items():
        assert set(re.findall(rb'"\$ref": "([^#"]*)#', text)) <= {b""}, name  # no file beside it


def test_what_comes_along_with_our_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(directory: Path, out: Path, what: str, *targets: Path, of: machine.Machine) -> None:
        for path in targets or (out / "agent", out / "control"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(what)

    monkeypatch.setattr(initramfs, "make", make)
    monkeypatch.setattr(distro, "BUILD", tmp_path)
    monkeypatch.setattr(initramfs, "busybox", lambda of: Path(__file__))
    module = tmp_path / "built" / "modules" / "lib" / "modules" / "6" / "dummy.ko"
    module.parent.mkdir(parents=True)
    module.write_text("module")
    (tmp_path / "built" / "config").write_text("CONFIG_ISOLATOR=y\n")
    ours = Kernel("distro-isolator-rt", tmp_path / "built")
    found = unpack(distro.with_job(ours, "", tmp_path / "initrd").read_bytes())
    # Nothing is loaded before the disk; the modules go there.
    assert found["early"][1] == b""
    assert found["disk/usr/lib/modules/6/dummy.ko"][1] == b"module"
    for name in ("bin/mark", "lib/libisolator-preload.so", "programs/control"):
        assert found[f"lab/{name}"][0] == 0o100755, name
    triggers = {n.rpartition("/")[2] for n in found if n.startswith("lab/triggers/")}
    assert {"static-keys", "affinity-task"} <= triggers
    # What runs inside of the spinner has no program of its own.
    assert not {"sibling-fork", "signal-task"} & triggers


def test_a_job_begins_when_the_boot_is_done() -> None:
    test = GuestTest("t", 4, "distro", 10, "a", False, None, (), "", "no", (), ())
    lines = suite._job([test], 1, "", settle=True).splitlines()
    settled = [i for i, line in enumerate(lines) if "is-system-running --wait" in line]
    assert settled and settled[0] < next(i for i, ln in enumerate(lines) if "/lab/tests/t" in ln)
    assert "systemctl" not in suite._job([test], 1, "")


def test_windows_have_their_time() -> None:
    test = GuestTest("t", 3, "distro", 10, "a", False, None, (), "", "no", (), (), windows=2)
    assert test.observed
    assert "run t 10000 exec" in suite._job([test], 1, "")
    lines = suite._job([test], 1, "", window_s=60)
    assert "env WINDOW_S 60\n" in lines and "run t 130000 exec" in lines


def test_a_slow_guest_is_told() -> None:
    """Its tests wait longer for what is to come, as their time limit is longer."""
    test = GuestTest("t", 3, "distro", 10, "a", False, None, (), "", "no", (), ())
    lines = suite._job([test], 10.0, "").splitlines()
    assert "env SLOWER 10" in lines and any(line.startswith("run t 100000 ") for line in lines)
    assert "SLOWER" not in suite._job([test], 1, "")


@pytest.mark.parametrize("test", sorted(p.name for p in DISTRO_TESTS.glob("*.py")))
def test_nothing_runs_outside_of_a_guest(test: str) -> None:
    """They add users and change settings: never those of the machine that the lab is on."""
    done = subprocess.run([sys.executable, DISTRO_TESTS / test], capture_output=True, text=True,
                          check=False, env={"PYTHONPATH": str(DISTRO_TESTS.parent)})
    assert done.returncode == 1 and "only in a guest of the lab" in done.stderr


def test_disks_that_nobody_uses_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(distro, "DISKS", 2)
    for at, key in enumerate("abcd"):
        disk = tmp_path / f"distro-{key * 12}"
        disk.mkdir()
        disk.with_suffix(".lock").touch()
        os.utime(disk, (at, at))
    (tmp_path / "distro-aaaaaaaaaaaa.partial").mkdir()
    os.utime(tmp_path / "distro-aaaaaaaaaaaa", (9, 9))  # used
    distro._prune(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "distro-aaaaaaaaaaaa", "distro-aaaaaaaaaaaa.lock", "distro-aaaaaaaaaaaa.partial",
        "distro-dddddddddddd", "distro-dddddddddddd.lock"]
