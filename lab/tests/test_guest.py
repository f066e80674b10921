# SPDX-License-Identifier: GPL-2.0-or-later
"""Who waits for whom: guests of one tree, guests of one machine; and how one is emulated."""

import fcntl
from pathlib import Path
from typing import Any

import pytest
from isolab.guests import guest, qemu
from isolab.guests.kernel import Kernel


def _free(path: Path) -> bool:
    with open(path, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_what_a_guest_needs_is_built_while_another_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A build takes minutes; only the emulators disturb each other's clocks."""
    tree, machine = tmp_path / "tree", tmp_path / "machine"
    machine.mkdir()
    seen = {}

    def command(_: guest.Guest, where: Path) -> tuple[list[str], str]:
        seen["build"] = (_free(tree / "guest.lock"), _free(machine / "guest.lock"))
        return [str(where)], "emulation"

    def qemu(_: guest.Guest, __: list[str], where: Path, *___: object) -> int:
        seen["run"] = (_free(tree / "guest.lock"), _free(machine / "guest.lock"))
        (where / "qemu.log").write_text("")
        return 0

    monkeypatch.setattr(guest, "BUILD", tree)
    monkeypatch.setattr(guest, "cache", lambda: machine)
    monkeypatch.setattr(guest, "_command", command)
    monkeypatch.setattr(guest, "_qemu", qemu)
    monkeypatch.setattr(guest.observer, "stale", lambda *_: None)
    kernel = Kernel("isolator-nort", tmp_path)
    guest.boot(guest.Guest(kernel, "", observe=False), tmp_path / "boot")
    assert seen == {"build": (False, True), "run": (False, False)}
    assert _free(tree / "guest.lock") and _free(machine / "guest.lock")


@pytest.mark.parametrize(
    ("version", "asked", "watched", "runs"),
    [
        ("10.0.13", "single", {"observe": True}, "multi"),
        ("10.0.13", "single", {"observe": False, "section": True}, "multi"),
        ("10.0.13", "single", {"observe": False, "park": "code=1-2"}, "multi"),
        ("10.0.13", "single", {"observe": False}, "single"),
        ("7.2.22", "single", {"observe": True}, "single"),
        ("10.0.13", "", {"observe": True}, "multi"),
    ],
)
def test_one_thread_only_where_no_plugin_is_misled(
    version: str, asked: str, watched: dict[str, Any], runs: str
) -> None:
    emulator = qemu.Emulator("x", ("qemu",), version, "multi")
    kernel: Any = None
    assert guest._threads(guest.Guest(kernel, "", threads=asked, **watched), emulator) == runs
