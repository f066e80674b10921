# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel GRUB starts beside one with Isolator: Debian's own grub-mkconfig, in a chroot."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from isolab import term
from isolab.guests import packages

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lab" / "distro"))
import grubmenu  # noqa: E402

PACKAGING = ROOT / "packaging" / "kernel"
NEEDS = ("grub2-common", "dash", "coreutils", "sed", "grep", "mawk", "findutils", "dpkg",
         "gettext-base")
# A disk that is not there: all that is asked of it.
PROBE = """#!/bin/sh
case "$*" in
*target=device*) echo /dev/vda1 ;;
*target=fs_uuid*) echo 1234-abcd ;;
*target=fs*) echo ext2 ;;
*target=abstraction* | *target=partuuid*) ;;
*) echo hd0 ;;
esac
"""
STOCK, OLDER = "6.12.117+deb12-cloud-amd64", "6.1.0-40-cloud-amd64"
NEWER = "6.12.200+deb12-cloud-amd64"
OURS, OURS_OLD, OURS_RT = (
    "6.12.117-isolator-cloud", "6.12.90-isolator-cloud", "6.12.117-isolator-cloud-rt")


class Machine:
    """A directory that is a machine's root, as far as GRUB's scripts look."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        script = 'mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
        return subprocess.run(
            ["unshare", "-rm", "sh", "-c", script, self.root, *command],
            capture_output=True, text=True, check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"})

    def kernels(self, *releases: str) -> None:
        for old in (self.root / "boot").glob("*-*"):
            old.unlink()
        for release in releases:
            (self.root / "boot" / f"vmlinuz-{release}").write_text("kernel")
            (self.root / "boot" / f"initrd.img-{release}").write_text("initrd")

    def settings(self, text: str) -> None:
        (self.root / "etc/default/grub").write_text(text)

    def update(self) -> str:
        done = self.run("update-grub")
        assert done.returncode == 0, done.stderr
        return self.menu

    @property
    def menu(self) -> str:
        return (self.root / "boot/grub/grub.cfg").read_text()

    def choose(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("isolator-kernel-default", *words)

    def boots(self) -> str:
        listed = self.run("grub-editenv", "/boot/grub/grubenv", "list").stdout
        entry = grubmenu.boots(self.menu, grubmenu.environment(listed))
        assert entry, self.menu
        return entry.release


@pytest.fixture(name="chroot", scope="module")
def _chroot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        unpacked = packages.unpack("grub-bookworm", "bookworm", NEEDS)
    except term.LabError as e:
        if e.code != term.SKIPPED:
            raise
        pytest.skip(f"no grub-mkconfig: {e}")
    root = tmp_path_factory.mktemp("grub") / "root"
    shutil.copytree(unpacked, root, symlinks=True)
    for name in ("dev", "proc", "tmp", "boot/grub", "etc/default/grub.d"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "usr/bin/awk").symlink_to("mawk")
    probe = root / "usr/sbin/grub-probe"
    probe.unlink()
    probe.write_text(PROBE)
    probe.chmod(0o755)
    shutil.copy(PACKAGING / "isolator-kernel-default", root / "usr/sbin/")
    done = Machine(root).run("true")
    if done.returncode:
        pytest.skip(f"no mount namespace of one's own here: {done.stderr}")
    return root


@pytest.fixture(name="machine")
def _machine(chroot: Path) -> Iterator[Machine]:
    shutil.copy(PACKAGING / "grub.cfg", chroot / "etc/default/grub.d/isolator-kernel.cfg")
    machine = Machine(chroot)
    machine.settings("GRUB_DEFAULT=0\nGRUB_TIMEOUT=5\n")
    yield machine
    shutil.rmtree(chroot / "var/lib/isolator-boot", ignore_errors=True)
    shutil.rmtree(chroot / "boot/grub")
    (chroot / "boot/grub").mkdir()


def test_the_highest_version_would_be_ours(machine: Machine) -> None:
    """Without the file: this is why there is one."""
    (machine.root / "etc/default/grub.d/isolator-kernel.cfg").unlink()
    machine.kernels(STOCK, OURS)
    machine.update()
    assert machine.boots() == OURS


@pytest.mark.parametrize(
    ("there", "boots"),
    [
        ((STOCK, OURS), STOCK),
        ((STOCK, OLDER, OURS_OLD, OURS, OURS_RT), STOCK),
        ((OLDER, OURS_OLD, OURS_RT), OLDER),
        ((NEWER, OURS, OLDER), NEWER),
        ((f"{NEWER}.dpkg-new", STOCK, OURS), STOCK),
    ],
)
def test_the_newest_other_kernel_is_the_default(
    machine: Machine, there: tuple[str, ...], boots: str
) -> None:
    machine.kernels(*there)
    machine.update()
    assert machine.boots() == boots


@pytest.mark.parametrize("there", [(STOCK,), (STOCK, OLDER), (OURS,), (OURS, OURS_RT, OURS_OLD)])
def test_alone_nothing_is_said(machine: Machine, there: tuple[str, ...]) -> None:
    machine.kernels(*there)
    with_it = machine.update()
    (machine.root / "etc/default/grub.d/isolator-kernel.cfg").unlink()
    assert machine.update() == with_it
    assert grubmenu.default(with_it) == "0"


@pytest.mark.parametrize("submenu", ["true", "y", "yes", "false"])
def test_without_a_submenu(machine: Machine, submenu: str) -> None:
    machine.settings(f"GRUB_DISABLE_SUBMENU={submenu}\n")
    machine.kernels(STOCK, OURS)
    assert (">" in grubmenu.default(machine.update())) == (submenu == "false")
    assert machine.boots() == STOCK
    assert machine.choose("once").returncode == 0
    assert machine.boots() == OURS


@pytest.mark.parametrize("chosen", ["2", "saved", "'Some title'"])
def test_the_administrators_choice_stays(machine: Machine, chosen: str) -> None:
    machine.settings(f"GRUB_DEFAULT={chosen}\n")
    machine.kernels(STOCK, OURS)
    with_it = machine.update()
    refused = machine.choose("on")
    assert refused.returncode == 1 and "GRUB_DEFAULT is" in refused.stderr
    assert not (machine.root / "var/lib/isolator-boot").exists()
    (machine.root / "etc/default/grub.d/isolator-kernel.cfg").unlink()
    assert machine.update() == with_it


def test_on_and_off(machine: Machine) -> None:
    machine.kernels(STOCK, OURS_OLD, OURS, NEWER)
    before = machine.update()
    assert machine.boots() == NEWER
    on = machine.choose("on")
    assert on.returncode == 0, on.stderr
    assert machine.boots() == OURS
    assert f"GRUB starts:           {OURS}\n" in on.stdout and "here:           on" in on.stdout
    # It stays so with a newer stock kernel, and follows a newer one of ours.
    newest = "6.12.300-isolator-cloud"
    machine.kernels(STOCK, OURS, NEWER, newest, "6.12.301+deb12-cloud-amd64")
    machine.update()
    assert machine.boots() == newest
    machine.kernels(STOCK, OURS_OLD, OURS, NEWER)
    off = machine.choose("off")
    assert off.returncode == 0 and "here:           off" in off.stdout
    assert machine.menu == before


def test_once(machine: Machine) -> None:
    machine.kernels(STOCK, OURS_OLD, OURS, OLDER)
    before = machine.update()
    done = machine.choose("once")
    assert done.returncode == 0, done.stderr
    assert f"at the next boot only: {OURS}\n" in done.stdout
    assert machine.boots() == OURS and machine.menu == before
    assert machine.choose("once", OURS_OLD).returncode == 0
    assert machine.boots() == OURS_OLD
    assert machine.choose("off").returncode == 0
    assert machine.boots() == STOCK
    wrong = machine.choose("once", "6.99")
    assert wrong.returncode == 1
    assert f"no kernel 6.99 in /boot/grub/grub.cfg; there are: {OURS} " in wrong.stderr


def test_errors(machine: Machine) -> None:
    none = machine.choose("once")
    assert none.returncode == 1 and "not started by GRUB" in none.stderr
    machine.kernels(STOCK)
    machine.update()
    for word in ("on", "once"):
        none = machine.choose(word)
        assert none.returncode == 1 and "no kernel with Isolator" in none.stderr
    assert not (machine.root / "var/lib/isolator-boot").exists()
    assert "Isolator: none" in machine.choose().stdout
    assert machine.choose("maybe").returncode == 1
    assert machine.choose("--help").stdout.startswith("usage: isolator-kernel-default")


def test_on_that_did_not_help_is_taken_back(machine: Machine) -> None:
    machine.kernels(NEWER, OURS)
    late = machine.root / "etc/default/grub.d/zz.cfg"
    late.write_text("GRUB_DEFAULT=0\n")
    try:
        before = machine.update()
        done = machine.choose("on")
        assert done.returncode == 1 and "did not become" in done.stderr
        assert not (machine.root / "var/lib/isolator-boot/default").exists()
        assert machine.menu == before
    finally:
        late.unlink()
