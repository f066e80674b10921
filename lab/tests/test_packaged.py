# SPDX-License-Identifier: GPL-2.0-or-later
"""The packages for the distribution guest: found, or said how they are made."""

import subprocess
from pathlib import Path

import pytest
from isolab import suite, term
from isolab.guests import distro, machine, packaged

RELEASE = "6.12.9-isolator-cloud"


@pytest.fixture(name="debs")
def _debs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kernel, user = tmp_path / "kernel", tmp_path / "user"
    kernel.mkdir()
    user.mkdir()
    monkeypatch.setattr(packaged, "KERNEL_DEBS", kernel)
    monkeypatch.setattr(packaged, "USER_DEBS", user)
    return kernel


def made(where: Path, *names: str) -> None:
    for name in names:
        (where / f"{name}_1_amd64.deb").write_text(name)


def test_missing_packages_say_how_they_are_made(debs: Path) -> None:
    with pytest.raises(term.LabError, match="make it with tools/deb-kernel --flavour cloud$") as e:
        distro.kernel("deb-cloud")
    assert e.value.code == term.SKIPPED
    with pytest.raises(term.LabError, match="tools/deb-kernel --flavour cloud --rt$"):
        packaged.debs("deb-cloud-rt")
    with pytest.raises(term.LabError, match="tools/deb-kernel --name laptop$"):
        packaged.debs("deb-laptop")
    with pytest.raises(term.LabError, match="--arch arm64 --flavour cloud --rt$"):
        packaged.debs("deb-cloud-arm64-rt")
    with pytest.raises(term.LabError, match="tools/deb-kernel --arch arm64 --flavour generic$"):
        packaged.debs("deb-arm64")
    assert packaged.debs("plain") == []


def test_of_what_machine_it_is(debs: Path) -> None:
    assert packaged.machine_of("deb-cloud-rt") is machine.X86_64
    assert packaged.machine_of("deb-cloud-arm64-rt") is machine.ARM64
    assert packaged.machine_of("deb-board") is machine.X86_64
    for package in ("linux-image-6.12.9-isolator-board", "linux-headers-6.12.9-isolator-board"):
        (debs / f"{package}_1_arm64.deb").write_text("")
    (debs / "isolator-boot_1_all.deb").write_text("")
    assert packaged.machine_of("deb-board") is machine.ARM64
    assert suite._machine("distro-deb-board") is machine.ARM64
    # Library and command are packed for this machine only.
    assert len(packaged.debs("deb-board")) == 3


def test_what_is_installed_together(debs: Path) -> None:
    rt = f"{RELEASE}-rt"
    made(debs, *(f"linux-{kind}-{r}" for kind in ("image", "headers") for r in (RELEASE, rt)))
    with pytest.raises(term.LabError, match="not one isolator-boot_"):
        packaged.debs("deb-cloud")
    made(debs, "isolator-boot")
    user = debs.parent / "user"
    made(user, "libisolator0", "libisolator-dev", "isolator-report")
    with pytest.raises(term.LabError, match=r"not one isolator_\*.deb .* tools/deb user"):
        packaged.debs("deb-cloud")
    made(user, "isolator")
    assert [p.name.partition("_")[0] for p in packaged.debs("deb-cloud")] == [
        f"linux-image-{RELEASE}", f"linux-headers-{RELEASE}", "isolator-boot",
        "libisolator0", "isolator"]
    assert packaged.debs("deb-cloud-rt")[0].name.startswith(f"linux-image-{rt}_")
    made(debs, "linux-image-6.12.10-isolator-cloud")
    with pytest.raises(term.LabError, match="more than one kernel -cloud") as e:
        packaged.debs("deb-cloud")
    assert e.value.code == term.ERROR


def test_a_suite_without_its_packages_is_skipped(
    debs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(suite, "OUT", tmp_path / "out")
    assert suite.main("deb-rt", [], [], False) == term.SKIPPED
    said = capsys.readouterr().out
    assert "0 passed, 0 failed, 1 skipped" in said
    assert "make it with tools/deb-kernel --flavour cloud --rt" in said


def test_a_disk_with_room(tmp_path: Path) -> None:
    disk = tmp_path / "root.ext2"
    with open(disk, "wb") as file:
        file.truncate(8 << 20)
    subprocess.run(["/sbin/mke2fs", "-q", "-F", disk], check=True)
    roomy = packaged._roomy(disk)
    assert roomy.stat().st_size == disk.stat().st_size + (packaged.ROOM_MIB << 20)
    shown = subprocess.run(["/sbin/dumpe2fs", "-h", roomy], capture_output=True, text=True,
                           check=True).stdout
    blocks = {k: int(v) for k, _, v in (line.partition(":") for line in shown.splitlines())
              if k in ("Block count", "Block size")}
    assert blocks["Block count"] * blocks["Block size"] > packaged.ROOM_MIB << 20
    before = roomy.stat().st_mtime_ns
    assert packaged._roomy(disk) == roomy and roomy.stat().st_mtime_ns == before


def test_a_packaged_kernel_is_judged_as_ours(
    debs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By its own symbols and configuration, though Debian's kernel is booted first."""
    monkeypatch.setattr(packaged, "BUILD", tmp_path / "build")
    monkeypatch.setattr(packaged, "_roomy", lambda disk: disk)
    monkeypatch.setattr(packaged, "_of_this_source", lambda name: None)
    beside = tmp_path / "disk"
    (beside / packaged.STOCK / "modules").mkdir(parents=True)
    (beside / packaged.STOCK / "config").write_text("")

    def pack(name: str) -> None:
        root = tmp_path / "root"
        for part, text in (
            ("DEBIAN/control", f"Package: linux-image-{RELEASE}\nVersion: 1\n"
             "Architecture: amd64\nMaintainer: x <x@y.example>\nDescription: x\n"),
            (f"boot/System.map-{RELEASE}", f"ffffffff81000000 T {name}\n"),
            (f"boot/config-{RELEASE}", "CONFIG_ISOLATOR=y\n"),
        ):
            (root / part).parent.mkdir(parents=True, exist_ok=True)
            (root / part).write_text(text)
        deb = debs / f"linux-image-{RELEASE}_1_amd64.deb"
        subprocess.run(["dpkg-deb", "--build", root, deb], check=True, capture_output=True)

    pack("first")
    one = packaged.kernel("deb-cloud", "distro-deb-cloud", beside)
    assert one.ours and one.symbols[1] == ["first"]
    assert packaged.kernel("deb-cloud", "distro-deb-cloud", beside).path == one.path
    pack("second")
    other = packaged.kernel("deb-cloud", "distro-deb-cloud", beside)
    assert other.path != one.path and other.symbols[1] == ["second"]
    assert [p for p in one.path.parent.iterdir() if p.is_dir()] == [other.path]


@pytest.mark.parametrize(("told", "now", "same"), [
    ("k1\n--flavour\ncloud\n", "echo k1", True),
    ("k1\n", "echo as configured >&2; echo k1", True),
    ("k1\n--flavour\ncloud\n", "echo k2", False),
    ("k1\n", "echo k1; exit 1", False),
    ("k1\n", ":", False),
    (None, "echo k1", False),
])
def test_packages_of_another_source_are_not_judged(
    debs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: str | None, now: str,
    same: bool
) -> None:
    """What was made of an older tree would be told as shown by this one."""
    tool = tmp_path / "tools/deb-kernel"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/asked\n{now}\n')
    tool.chmod(0o755)
    monkeypatch.setattr(packaged, "TOP", tmp_path)
    if told is not None:
        (debs / "cloud.content").write_text(told)
    if same:
        packaged._of_this_source("deb-cloud")
        words = [*(told or "").split()[1:], "--content"]
        assert (tmp_path / "asked").read_text().split() == words
        return
    with pytest.raises(term.LabError, match="of another source: make them again with tools/deb-k"):
        packaged._of_this_source("deb-cloud")
