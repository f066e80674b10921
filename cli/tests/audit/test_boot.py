# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator audit --fix --boot: what the next boot gets, and isolator restore."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from audittest import CPU, SCHEMA, Changes, Lay
from clitest import NOBODY, ROOT, valid
from runtest import tree
from waiting import until

GRUB, DROP_IN = "/etc/default/grub", "/etc/default/grub.d/isolator.cfg"
CONFIG = "/boot/grub/grub.cfg"
NOTES = "/var/lib/isolator/boot"
WANTED = "nohz_full=1-3 isolcpus=domain,managed_irq,1-3 rcu_nocbs=1-3"

# A kernel without Isolator, booted without any of it.
STOCK: Changes = {
    "/proc/isolator/status": None, "/proc/isolator/cpus": None,
    "/proc/cmdline": "ro tsc=reliable\n", f"{CPU}/nohz_full": "\n", f"{CPU}/isolated": "\n",
}
WITH_GRUB: Changes = {
    **STOCK, GRUB: 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX="net.ifnames=0"\n',
    "/etc/default/grub.d/init-select.cfg": "# Debian's own\n",
    CONFIG: "\tlinux /vmlinuz root=/dev/sda1 ro net.ifnames=0 quiet\n",
}
HEAD = "# Written by isolator audit --fix --boot; isolator restore takes it away.\n"
LINE = "console=serial0,115200 root=PARTUUID=1234 rootwait"
WITH_PI: Changes = {**STOCK, "/boot/firmware/cmdline.txt": LINE + "\n",
                    "/boot/firmware/config.txt": "arm_64bit=1\n"}


def changed(before: dict[str, tuple[bytes, int]], root: Path) -> set[str]:
    after = tree(root)
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}


def update_grub(root: Path, more: str = "") -> Path:
    """A program that does what grub-mkconfig does with these files, after @more."""
    program = root.parent / "update-grub"
    program.write_text(f"""#!/bin/sh
echo run >> {root.parent}/log
{more}
. {root}{GRUB}
for x in {root}/etc/default/grub.d/*.cfg; do [ ! -e "$x" ] || . "$x"; done
printf '\\tlinux /vmlinuz root=/dev/sda1 ro %s %s\\n' "$GRUB_CMDLINE_LINUX" \\
    "$GRUB_CMDLINE_LINUX_DEFAULT" > {root}{CONFIG}
""")
    program.chmod(0o755)
    return program


def audit(isolator: Path, root: Path, *arguments: str, update: Path | None = None, code: int = 2,
          cpus: str = "1-3", prefix: tuple[str, ...] = (), **how: Any) -> dict[str, Any]:
    """What is said of the next boot, with the outcomes, and what was said beside it."""
    with_update = ["--update-grub", str(update)] if update else []
    done = subprocess.run([*prefix, isolator, "audit", "--json", "-c", cpus, "--root", root,
                           *arguments, *with_update], capture_output=True, text=True, check=False,
                          **how)
    assert done.returncode == code, done.stderr
    if not done.stdout:
        return {"said": " ".join(done.stderr.split())}
    document: dict[str, Any] = json.loads(done.stdout)
    SCHEMA.validate(document)
    outcomes = {f["id"]: f["outcome"] for f in document["findings"]}
    return {**(document["boot"] or {}), "outcomes": outcomes,
            "said": " ".join(done.stderr.split())}


def restore(isolator: Path, root: Path, update: Path | None = None, code: int = 0) -> str:
    """All journals, as text; and the same as a document that the schema allows."""
    command: list[str | Path] = [isolator, "restore", "--root", root]
    if update:
        command += ["--update-grub", update]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    again = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    valid("restore", again.stdout)
    return done.stdout + " ".join(done.stderr.split())


def words(root: Path, path: str = CONFIG) -> list[str]:
    return (root / path[1:]).read_text().split()


def test_shown_only(isolator: Path, lay: Lay) -> None:
    """Without both options nothing is written, and the difference is shown."""
    root = lay(WITH_GRUB)
    before = tree(root)
    program = update_grub(root)
    for arguments in ([], ["--fix"]):
        boot = audit(isolator, root, *arguments, update=program)
        assert (boot["loader"], boot["path"], boot["state"]) == ("grub", DROP_IN, "shown")
        assert " ".join(boot["parameters"]) == WANTED and boot["why"] is None
        assert boot["diff"].splitlines()[:3] == ["--- /dev/null", f"+++ {DROP_IN}",
                                                 "@@ -0,0 +1,2 @@"]
        assert f'+GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {WANTED}"' in boot["diff"]
        assert boot["outcomes"]["boot.isolcpus"] is None
    assert changed(before, root) == set() and not (root.parent / "log").exists()
    said = audit(isolator, root, "--boot", code=1)["said"]
    assert "--boot needs --fix" in said
    text = subprocess.run([isolator, "audit", "-c", "1-3", "--root", root], capture_output=True,
                          text=True, check=False).stdout
    assert "--fix --boot writes this and runs update-grub" in text and "    +GRUB_CMDLINE" in text


def test_nothing_wanted(isolator: Path, lay: Lay) -> None:
    """No finding, or none of that severity: nothing is written."""
    root = lay({GRUB: "\n"})
    before = tree(root)
    assert "loader" not in audit(isolator, root, "--fix", "--boot", code=0)
    root = lay(WITH_GRUB, "other")
    assert "loader" not in audit(isolator, root, "--fix", "--boot", "--severity", "error", code=0)
    assert changed(before, root.parent / "root") == set()


def test_grub(isolator: Path, lay: Lay) -> None:
    """Written, read back, run, told; and taken back to the byte."""
    root = lay(WITH_GRUB)
    before = tree(root)
    program = update_grub(root)
    boot = audit(isolator, root, "--fix", "--boot", update=program)
    assert boot["state"] == "written" and boot["why"] is None
    assert all(boot["outcomes"][f"boot.{name}"] == "pending"
               for name in ("nohz-full", "isolcpus", "rcu-nocbs"))
    assert changed(before, root) == {DROP_IN, CONFIG, NOTES}
    assert set(WANTED.split()) <= set(words(root)) and "net.ifnames=0" in words(root)
    assert (root / DROP_IN[1:]).stat().st_mode & 0o777 == 0o644
    # Once more: it stands there, and nothing is noted twice.
    noted = (root / NOTES[1:]).read_text()
    assert audit(isolator, root)["state"] == "stands"
    assert audit(isolator, root, "--fix", "--boot", update=program)["state"] == "stands"
    assert (root / NOTES[1:]).read_text() == noted
    said = restore(isolator, root, program)
    assert f"{NOTES} (isolator audit --fix --boot, from the next boot on): 1 restored" in said
    assert changed(before, root) == set()
    assert not (root / "var/lib/isolator").exists()
    assert "Nothing to restore" in restore(isolator, root, program)


def test_other_cpus_later(isolator: Path, lay: Lay) -> None:
    """What is wanted anew replaces the old value, what is not asked of stays; one restore."""
    root = lay({**WITH_GRUB, "/etc/default/grub.d/50-x.cfg": "# isolcpus=7\n"})
    before = tree(root)
    program = update_grub(root)
    audit(isolator, root, "--fix", "--boot", update=program)
    drop_in = root / DROP_IN[1:]
    drop_in.write_text(drop_in.read_text().replace(WANTED, "mce=off " + WANTED))
    mine = drop_in.read_text()
    audit(isolator, root, "--fix", "--boot", update=program, cpus="2")
    assert "isolcpus=domain,managed_irq,2" in words(root)
    assert not set(WANTED.split()) & set(words(root)) and "mce=off" in words(root)
    # What the administrator has made of the file is no thing of ours.
    assert "somebody changed it after" in restore(isolator, root, program, code=1)
    assert drop_in.read_text() == mine
    drop_in.write_text(mine.replace("mce=off ", ""))
    restore(isolator, root, program)
    assert changed(before, root) == set()


def test_drop_in_of_others(isolator: Path, lay: Lay) -> None:
    """One that this command has not written is never overwritten."""
    root = lay({**WITH_GRUB, DROP_IN: 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX mce=off"\n'})
    before = tree(root)
    for arguments, state in (([], "shown"), (["--fix", "--boot"], "refused")):
        boot = audit(isolator, root, *arguments, update=update_grub(root))
        assert boot["state"] == state and "this command has not written it" in boot["why"]
    assert changed(before, root) == set() and not (root.parent / "log").exists()


@pytest.mark.parametrize("old", ["isolcpus=2", "nohz_full=1-2 x", "rcu_nocbs=all"])
@pytest.mark.parametrize("where", [GRUB, "/etc/default/grub.d/50-x.cfg"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_parameter_that_stands_there(isolator: Path, lay: Lay, old: str, where: str,
                                     quote: str) -> None:
    """Another value is the administrator's: named, and nothing is done."""
    for variable in ("GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"):
        root = lay({**WITH_GRUB, where: f"A=1\n{variable}={quote}{old}{quote}\n"}, variable)
        before = tree(root)
        boot = audit(isolator, root, "--fix", "--boot", update=update_grub(root))
        assert boot["state"] == "refused" and f"{where} has {old.split()[0]} already" in boot["why"]
        assert boot["outcomes"]["boot.isolcpus"] == "refused"
        assert changed(before, root) == set() and not (root.parent / "log").exists()


def test_parameter_that_stands_there_as_wanted(isolator: Path, lay: Lay) -> None:
    """It is not written twice."""
    have, *rest = WANTED.split()
    root = lay({**WITH_GRUB, GRUB: f"GRUB_CMDLINE_LINUX={have}\n"})
    program = update_grub(root)
    audit(isolator, root, "--fix", "--boot", update=program)
    assert words(root).count(have) == 1 and set(rest) <= set(words(root))
    root = lay({**WITH_GRUB, GRUB: f'GRUB_CMDLINE_LINUX="{WANTED}"\n'}, "all")
    before = tree(root)
    assert audit(isolator, root, "--fix", "--boot", update=update_grub(root))["state"] == "stands"
    assert changed(before, root) == {CONFIG} and set(WANTED.split()) <= set(words(root))


def test_crash_before_update_grub(isolator: Path, lay: Lay) -> None:
    """The file stands, GRUB does not have it: both commands put that right."""
    for heal in (False, True):
        root = lay(WITH_GRUB, f"root{heal}")
        before = tree(root)
        killer = update_grub(root, "kill -9 $PPID; exit 1")
        audit(isolator, root, "--fix", "--boot", update=killer, code=-9)
        assert changed(before, root) == {DROP_IN, NOTES}
        program = update_grub(root)
        if heal:
            boot = audit(isolator, root, "--fix", "--boot", update=program)
            assert boot["state"] == "stands" and boot["outcomes"]["boot.isolcpus"] == "pending"
            assert set(WANTED.split()) <= set(words(root))
        restore(isolator, root, program)
        assert changed(before, root) == set()


def _until_changed(root: Path, first: dict[str, Any]) -> None:
    def changed() -> bool:
        try:
            return tree(root) != first
        except FileNotFoundError:  # it was renamed as we looked
            return True

    until(changed)


def _until_ended(program: Path) -> None:
    until(lambda: subprocess.run(["pgrep", "-f", str(program)], stdout=subprocess.DEVNULL,
                                 check=False).returncode)


def test_kill_at_any_moment(isolator: Path, lay: Lay) -> None:
    """After SIGKILL, restore puts all back."""
    chance = random.Random("boot")
    left = 0
    for number in range(15):
        root = lay(WITH_GRUB, f"root{number}")
        before = tree(root)
        # Every other one replaces what an earlier one has written.
        if number % 2:
            audit(isolator, root, "--fix", "--boot", update=update_grub(root), cpus="2")
        first = tree(root)
        program = update_grub(root, "sleep 0.05")  # sleep: some are killed meanwhile
        process = subprocess.Popen([isolator, "audit", "-c", "1-3", "--fix", "--boot", "--root",
                                    root, "--update-grub", program], stdout=subprocess.DEVNULL)
        _until_changed(root, first)
        time.sleep(chance.choice([0, 0.001, 0.01, 0.1]) * chance.random())  # sleep: to any moment
        process.kill()
        process.wait()
        # Its child may still run.
        _until_ended(program)
        left += changed(first, root) != set()
        # Nothing half-written is where GRUB reads.
        for path in (root / DROP_IN[1:]).parent.glob("*.cfg"):
            assert path.read_text().count('"') in (0, 2)
        restore(isolator, root, program)
        assert changed(before, root) == set()
    assert left >= 5


@pytest.mark.parametrize("how", ["missing", "fails", "ignored"])
def test_update_grub_that_does_not_help(isolator: Path, lay: Lay, how: str) -> None:
    """Nothing is changed, and the reason is said."""
    late: Changes = {"/etc/default/grub.d/zz.cfg": 'GRUB_CMDLINE_LINUX="mine"\n'}
    root = lay({**WITH_GRUB, **(late if how == "ignored" else {})})
    program = update_grub(root, "exit 3" if how == "fails" else "")
    if how == "ignored":
        subprocess.run([program], check=True)
    before = tree(root)
    if how == "missing":
        program = root / "none"
    boot = audit(isolator, root, "--fix", "--boot", update=program)
    assert boot["state"] == "refused" and changed(before, root) == set()
    assert {"missing": "apt install grub2-common", "fails": "failed with 3",
            "ignored": "no line of /boot/grub/grub.cfg has"}[how] in boot["why"]
    assert not (root / "var/lib/isolator").exists()


def test_update_grub_that_fails_the_second_time(isolator: Path, lay: Lay) -> None:
    """What GRUB may still have stays noted and is reported, until update-grub runs again."""
    first, *rest = WANTED.split()
    late: Changes = {"/etc/default/grub.d/zz.cfg":
                     f'GRUB_CMDLINE_LINUX="$(echo "$GRUB_CMDLINE_LINUX" | sed "s/{first}//")"\n'}
    root = lay({**WITH_GRUB, **late})
    before = tree(root)
    program = update_grub(root, f"[ $(wc -l < {root.parent}/log) = 1 ] || exit 3")
    boot = audit(isolator, root, "--fix", "--boot", update=program)
    assert boot["state"] == "refused"
    assert f"has {first}" in boot["why"] and "run isolator restore" in boot["why"]
    assert set(rest) <= set(words(root)) and changed(before, root) == {CONFIG, NOTES}
    restore(isolator, root, program, code=1)
    assert changed(before, root) == {CONFIG, NOTES}
    restore(isolator, root, update_grub(root))
    assert not set(rest) & set(words(root)) and changed(before, root) <= {CONFIG}


def test_grub_without_its_directory(isolator: Path, lay: Lay) -> None:
    """Debian's GRUB reads it; of another one it is said where the parameters go."""
    root = lay({**WITH_GRUB, "/etc/default/grub.d/init-select.cfg": None})
    before = tree(root)
    boot = audit(isolator, root, "--fix", "--boot", update=update_grub(root))
    assert boot["state"] == "refused" and "GRUB_CMDLINE_LINUX in /etc/default/grub," in boot["why"]
    assert changed(before, root) == set() and not (root / "var/lib/isolator").exists()


@pytest.mark.parametrize("where", ["etc", "var"])
def test_read_only(isolator: Path, lay: Lay, where: str) -> None:
    """In a mount namespace of its own: said, and nothing is left."""
    root = lay({**WITH_GRUB, "/var/lib/x": "", "/run/x": ""})
    before = tree(root)
    prefix = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
              f'mount --bind {root}/{where} {root}/{where} && '
              f'mount -o remount,bind,ro {root}/{where} && exec "$@"', "sh")
    boot = audit(isolator, root, "--fix", "--boot", update=update_grub(root), prefix=prefix,
                 code=1 if where == "var" else 2)
    if where == "var":
        assert "Read-only file system; nothing was changed: mount it writable" in boot["said"]
    else:
        assert "Read-only file system" in boot["why"] and "run this on the host" in boot["why"]
    assert changed(before, root) == set() and not (root / "var/lib/isolator").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_without_privilege(isolator: Path, lay: Lay) -> None:
    root = lay({**WITH_GRUB, "/var/lib/x": ""})
    before = tree(root)
    (root / "run/isolator").mkdir(parents=True)
    (root / "run/isolator").chmod(0o777)
    program = update_grub(root)
    said = audit(isolator, root, "--fix", "--boot", update=program, code=1, **NOBODY)["said"]
    assert "Permission denied; nothing was changed: run it as root" in said
    assert changed(before, root) == set()


@pytest.mark.parametrize(("file", "loader", "why"), [
    ("/boot/loader/loader.conf", "systemd-boot", "/etc/kernel/cmdline"),
    ("/boot/efi/loader/loader.conf", "systemd-boot", "/boot/efi/loader/entries"),
    ("/efi/loader/loader.conf", "systemd-boot", "/efi/loader/entries"),
    ("/boot/extlinux/extlinux.conf", "extlinux", "U_BOOT_PARAMETERS"),
    ("/etc/default/raspi-firmware", "raspi-firmware", "/etc/default/raspi-extra-cmdline"),
    ("/boot/firmware/x", "raspberry-pi", "the line of /boot/firmware/cmdline.txt"),
    ("/x", None, "no boot loader is known here")])
def test_others_are_named(isolator: Path, lay: Lay, file: str, loader: str | None,
                          why: str) -> None:
    """By hand: where; and nothing is written."""
    machine = WITH_PI if loader in ("raspi-firmware", "raspberry-pi") else STOCK
    root = lay({**machine, file: ""})
    before = tree(root)
    boot = audit(isolator, root)
    assert (boot["loader"], boot["path"], boot["state"]) == (loader, None, "shown")
    assert why in boot["why"] and boot["diff"] == ""
    boot = audit(isolator, root, "--fix", "--boot")
    assert boot["state"] == "refused" and changed(before, root) == set()
    text = subprocess.run([isolator, "audit", "-c", "1-3", "--root", root], capture_output=True,
                          text=True, check=False).stdout
    assert f"  wanted: {WANTED}\n  by hand: " in text


def test_drop_in_that_others_changed(isolator: Path, lay: Lay) -> None:
    """It is not removed, and stays noted, until it is gone."""
    root = lay(WITH_GRUB)
    before = tree(root)
    program = update_grub(root)
    audit(isolator, root, "--fix", "--boot", update=program)
    (root / DROP_IN[1:]).write_text("# mine now\n")
    said = restore(isolator, root, program, code=1)
    assert "somebody changed it after" in said
    assert (root / DROP_IN[1:]).read_text() == "# mine now\n"
    assert (root / NOTES[1:]).exists()
    (root / DROP_IN[1:]).unlink()
    restore(isolator, root, program)
    assert changed(before, root) == set()


def test_restore_without_update_grub(isolator: Path, lay: Lay) -> None:
    """It stays noted until GRUB has been told."""
    root = lay(WITH_GRUB)
    before = tree(root)
    audit(isolator, root, "--fix", "--boot", update=update_grub(root))
    assert "there is no update-grub" in restore(isolator, root, root / "none", code=1)
    failing = update_grub(root, "exit 1")
    assert "failed with 1" in restore(isolator, root, failing, code=1)
    assert set(WANTED.split()) <= set(words(root)) and not (root / DROP_IN[1:]).exists()
    restore(isolator, root, update_grub(root))
    assert changed(before, root) == set()


@pytest.mark.parametrize("text", ["something\n", "isolator-journal 1\nfrob\t/x\ty\tz\n",
                                  "isolator-journal 1\ngrub\t/x\n",
                                  "isolator-journal 1\ngrub\t/etc/shadow\tx\ty\n"])
def test_notes_that_are_damaged(isolator: Path, lay: Lay, text: str) -> None:
    """They stay, and are told."""
    root = lay({**WITH_GRUB, NOTES: text})
    assert "damaged" in restore(isolator, root, update_grub(root), code=1)
    assert (root / NOTES[1:]).read_text() == text
    if text.startswith("something"):
        said = audit(isolator, root, "--fix", "--boot", update=update_grub(root), code=1)["said"]
        assert "move it away" in said and not (root / DROP_IN[1:]).exists()


def test_bundle(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """It says the same of the next boot, and has no password of GRUB's in it."""
    root = lay({**WITH_GRUB, CONFIG: "password_pbkdf2 root grub.pbkdf2.sha512\n"})
    bundle = tmp_path / "audit.tar"
    live = audit(isolator, root, "--output", str(bundle))
    judged = audit(isolator, bundle)
    assert {k: judged[k] for k in ("loader", "path", "diff", "state")} == {
        k: live[k] for k in ("loader", "path", "diff", "state")}
    assert b"pbkdf2" not in bundle.read_bytes()


def test_links_lead_nowhere(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """No file outside is written."""
    root = lay(WITH_GRUB)
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "etc/default/grub.d").rename(root / "etc/grub.d")
    (root / "etc/default/grub.d").symlink_to(outside)
    (root / "var").symlink_to(outside)
    audit(isolator, root, "--fix", "--boot", update=update_grub(root), code=1)
    assert not any(outside.iterdir())


def modes(path: Path) -> tuple[int, int, int]:
    """What the file lets whom do."""
    status = path.lstat()
    return status.st_mode & 0o7777, status.st_uid, status.st_gid


@pytest.mark.parametrize("owner", [None, pytest.param(65534, marks=pytest.mark.skipif(
    not ROOT, reason="only root can give files away"))])
def test_replaced_with_its_permissions(isolator: Path, lay: Lay, owner: int | None) -> None:
    """A new version is the old one's owner's; nobody may do more with it than before."""
    root = lay(WITH_GRUB)
    program, drop_in = update_grub(root), root / DROP_IN[1:]
    audit(isolator, root, "--fix", "--boot", update=program)
    drop_in.chmod(0o640)
    if owner is not None:
        os.chown(drop_in, owner, owner)
    wanted = modes(drop_in)
    audit(isolator, root, "--fix", "--boot", update=program, cpus="2")
    assert "isolcpus=domain,managed_irq,2" in drop_in.read_text() and modes(drop_in) == wanted


@pytest.mark.parametrize("place", [DROP_IN, NOTES])
def test_link_is_not_replaced(isolator: Path, lay: Lay, place: str) -> None:
    """Whoever made it has the file elsewhere; a file in its place would be everybody's."""
    kept = "isolator-journal 1\n" if place == NOTES else HEAD + "# kept elsewhere\n"
    root = lay({**WITH_GRUB, "/srv/kept": kept})
    link = root / place[1:]
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to("/srv/kept")
    before = tree(root)
    boot = audit(isolator, root, "--fix", "--boot", update=update_grub(root),
                 code=1 if place == NOTES else 2)
    if place == NOTES:
        assert "Too many levels of symbolic links" in boot["said"]
    else:
        assert "does not replace" in boot["why"] and not (root / NOTES[1:]).exists()
    assert link.is_symlink() and changed(before, root) <= {CONFIG}


def test_link_later(isolator: Path, lay: Lay) -> None:
    """One that came after the change is left, and said."""
    root = lay(WITH_GRUB)
    program = update_grub(root)
    for cpus in ("2", "1-3"):
        audit(isolator, root, "--fix", "--boot", update=program, cpus=cpus)
    (root / DROP_IN[1:]).rename(root / "srv")
    (root / DROP_IN[1:]).symlink_to("/srv")
    said = restore(isolator, root, program, code=1)
    assert "does not replace" in said and (root / DROP_IN[1:]).is_symlink()
    assert "isolcpus=" in (root / "srv").read_text() and (root / NOTES[1:]).exists()
