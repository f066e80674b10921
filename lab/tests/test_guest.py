# SPDX-License-Identifier: GPL-2.0-or-later
"""Who waits for whom: guests of one tree, guests of one machine; and how one is emulated."""

import fcntl
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from isolab.guests import guest, qemu, stuck
from isolab.guests.kernel import Kernel


def _free(path: Path) -> bool:
    with open(path, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _nothing_runs(monkeypatch: pytest.MonkeyPatch, tree: Path, machine: Path,
                  command: Any, qemu: Any) -> None:
    """guest.boot() with @qemu in place of an emulator, and these two folders as its own."""
    monkeypatch.setattr(guest, "BUILD", tree)
    monkeypatch.setattr(guest, "cache", lambda: machine)
    monkeypatch.setattr(guest, "_command", command)
    monkeypatch.setattr(guest, "_qemu", qemu)
    monkeypatch.setattr(guest.observer, "stale", lambda *_: frozenset())


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

    _nothing_runs(monkeypatch, tree, machine, command, qemu)
    kernel = Kernel("isolator-nort", tmp_path)
    outcome = guest.boot(guest.Guest(kernel, "", observe=False), tmp_path / "boot")
    assert outcome.whole and not guest.Outcome().whole
    assert seen == {"build": (False, True), "run": (False, False)}
    assert _free(tree / "guest.lock") and _free(machine / "guest.lock")


@pytest.mark.parametrize(
    ("version", "asked", "watched", "runs"),
    [
        ("10.0.13", "single", {"observe": True}, "multi"),
        ("10.0.13", "single", {"observe": False, "section": True}, "multi"),
        ("10.0.13", "single", {"observe": False, "park": "code=1-2"}, "multi"),
        ("10.0.13", "single", {"observe": False, "ranges": "1 2\n"}, "multi"),
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


@pytest.mark.parametrize("watched", [
    {}, {"observe": True}, {"section": True}, {"ranges": "1 2\n"}, {"ways": "1-2"},
    {"park": "code=1-2"},
])
def test_what_a_plugin_looks_at_is_emulated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, watched: dict[str, Any]
) -> None:
    emulator = qemu.Emulator("trixie", ("qemu",), "10.0", "multi")
    monkeypatch.setattr(guest.qemu, "pick", lambda _: emulator)
    monkeypatch.setattr(guest.qemu, "kvm_usable", lambda: True)
    monkeypatch.setattr(guest.initramfs, "with_job", lambda *_: tmp_path / "initrd")
    for plugin in ("arguments", "section_arguments", "coverage_arguments", "ways_arguments",
                   "park_arguments", "stale_arguments"):
        monkeypatch.setattr(guest.observer, plugin, lambda *_: ["-plugin", "x"])
    wanted = {"observe": False, "want_kvm": True, **watched}
    command, accel = guest._command(guest.Guest(Kernel("x", tmp_path), "", **wanted), tmp_path)
    assert accel.endswith("tcg,thread=multi" if watched else "kvm")
    assert ("-plugin" in command) == bool(watched)


def test_limits_are_of_the_time_that_the_emulator_had() -> None:
    def later(**delayed: float) -> stuck.Moment:
        return stuck.Moment(140.0, delayed)

    begin = stuck.Moment(100.0, {"main": 2.0, "tcg": 50.0})
    assert stuck.had(begin, later(main=2.0, tcg=50.0)) == 40.0
    assert stuck.had(begin, later(main=2.0, tcg=80.0)) == 10.0
    # The one that waits now is not the one that has waited most before, or it is new.
    assert stuck.had(begin, later(main=32.0, tcg=50.0)) == 10.0
    assert stuck.had(begin, later(main=2.0, tcg=50.0, new=30.0)) == 10.0
    # It is not waited for without end.
    assert stuck.had(begin, later(main=42.0, tcg=50.0)) == 40.0 / stuck.PATIENCE
    # The thread that had waited most has ended.
    assert stuck.had(begin, later(main=2.0)) == 40.0


def test_the_host_tells_how_long_a_process_waited() -> None:
    delayed = stuck.moment(os.getpid()).delayed
    assert str(os.getpid()) in delayed and max(delayed.values()) > 0
    assert stuck.moment(2**22 + 1).delayed == {}


def test_a_guest_without_a_cpu_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stuck, "_delayed", lambda pid: {"tcg": time.monotonic()})
    monkeypatch.setattr(stuck, "tell", lambda pid, monitor: "somewhere")
    outcome = guest.Outcome()
    kernel: Any = None
    with subprocess.Popen(["sleep", "100"]) as process:
        guest._follow(guest.Guest(kernel, "", boot_s=0.1), process,
                      guest._Reports(tmp_path / "report"), outcome, lambda event: None)
    assert outcome.seconds >= stuck.PATIENCE * 0.1
    assert outcome.died and "no agent within 0 s of boot, besides" in outcome.died


@pytest.mark.parametrize(("config", "late"), [
    ("CONFIG_ISOLATOR=y\nCONFIG_PREEMPT_RT=y\n", True),
    ("CONFIG_ISOLATOR=y\nCONFIG_PREEMPT=y\n", False),
])
def test_who_prints_from_a_thread_prints_late(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: str, late: bool
) -> None:
    def qemu(_: guest.Guest, __: list[str], where: Path, *___: object) -> int:
        (where / "qemu.log").write_text("")
        return 0

    (tmp_path / "config").write_text(config)
    (tmp_path / "cache").mkdir()
    _nothing_runs(monkeypatch, tmp_path, tmp_path / "cache",
                  lambda *_: (["true"], "emulation"), qemu)
    kernel = Kernel("x", tmp_path)
    assert guest.boot(guest.Guest(kernel, "", observe=False), tmp_path / "boot").late is late


@pytest.mark.parametrize(("config", "patient"), [
    ("CONFIG_ISOLATOR=y\nCONFIG_CSD_LOCK_WAIT_DEBUG=y\n", True),
    ("CONFIG_ISOLATOR=y\n# CONFIG_CSD_LOCK_WAIT_DEBUG is not set\n", False),
    ("CONFIG_CSD_LOCK_WAIT_DEBUG=y\n", False),
    ("", False),
])
def test_a_kernel_with_every_check_has_more_time_for_a_call(
    config: str, patient: bool, tmp_path: Path
) -> None:
    if config:
        (tmp_path / "config").write_text(config)
    assert bool(guest._patience(Kernel("x", tmp_path))) is patient
