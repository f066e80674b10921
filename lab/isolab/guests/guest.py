# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots one guest, follows its reports, and says how it ended."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import lock, term
from ..paths import BUILD, cache
from . import arm64, distro, dmesg, initramfs, observer, qemu, stuck, wires
from .kernel import Kernel
from .machine import ARM64

Event = dict[str, Any]
ENDED = "the guest ended before its job did"
STOPPED = "it was told to end"
# What a guest knows the port as that orders come on; QEMU's address of it is in _command().
ORDERS = "/dev/ttyS3"


def _alone(directory: Path, where: str) -> contextlib.AbstractContextManager[None]:
    """One guest at a time of those that have @directory in common."""
    return lock.held(directory / "guest.lock", f"another guest runs {where}")


@dataclass
class Guest:
    """What to boot."""

    kernel: Kernel
    job: str
    cpus: int = 2
    smt: int = 1  # CPUs a core
    append: str = ""
    memory: str = "1G"
    observe: bool = True
    heavy: bool = False
    boot_s: float = 30  # until the agent says that it is up; limits are as stuck.over() counts
    silence_s: float = 60  # the longest time without a report
    total_s: float = 600
    want_kvm: bool = False
    icount: bool = False  # time follows instructions: the same path, the same count
    undisturbed: bool = False  # ahead of all else on the host, where that is allowed
    doorbell: Path | None = None  # the socket of a generator whose triggers it answers
    orders: Path | None = None  # a socket to be made, over which ORDERS come (x86_64)
    threads: str = ""  # of its emulation: single, or as the emulator is run by default
    stop: threading.Event | None = None  # set: it is ended, whatever it does
    host_cpus: tuple[int, ...] = ()  # that its CPUs have of the host; none: all of ours
    spare_port: bool = False  # a serial port more, with an interrupt of its own
    wires: str = ""  # a generator on the GPIO lines of an arm64 guest: wires.py
    extra: Path | None = None  # the kernel's selftests, for those guests that run them
    files: dict[str, bytes] = field(default_factory=dict)  # programs for a distribution's guest
    section: bool = False  # blocks of quiet sections of the kernel are counted
    ranges: str = ""  # of text that the plugin coverage looks at; none: it is not loaded
    ways: str = ""  # options of the plugin that tells what ran on these; none: it is not loaded
    park: str = ""  # options of the plugin that parks the isolated CPU; none: it is not loaded
    resets: bool = False  # the emulator tells of a reset by a triple fault


@dataclass
class Outcome:
    """What came of it."""

    events: list[Event] = field(default_factory=list)
    windows: dict[int, observer.Window] = field(default_factory=dict)
    observer_end: observer.Window | None = None
    console: str = ""
    whole: bool = False  # the guest is over: more of its console does not come
    died: str | None = None  # why the guest did not come to its end
    ours: bool = False  # its kernel has Isolator
    arm: bool = False  # its machine is arm64
    late: bool = False  # its kernel leaves printing to a thread: what it said last may be missing
    # Which CPU executed text of the kernel that memory did not hold, and where: name+0xN.
    stale: frozenset[tuple[int, str]] = frozenset()
    covered: list[tuple[int, int]] = field(default_factory=list)  # observer.covered()
    dropped: int | None = None  # of those; None: it has not told
    ways: dict[str, int] = field(default_factory=dict)  # observer.ways()
    sections: list[dict[str, Any]] = field(default_factory=list)  # observer.sections()
    qemu_log: str = ""
    findings: list[dmesg.Finding] = field(default_factory=list)
    boot_seconds: float = 0
    seconds: float = 0
    accel: str = ""

    def event(self, kind: str, name: str) -> Event | None:
        return next((e for e in self.events if e["event"] == kind and e["name"] == name), None)


def back(event: Event) -> bool:
    """Has a command come back, and with another word than that it could not be done?"""
    answer = event.get("answer")
    return bool(event.get("returned")) and not (isinstance(answer, dict) and "error" in answer)


def how(event: Event) -> str:
    """How a command ended that came back: by its exit code, or by a signal."""
    code = event["exit"]
    return f"signal {event['signal']}" if code is None else f"exit {code}"


def monitor() -> Path:
    """The QMP socket: not below the tree, whose path may be too long for one."""
    return Path(tempfile.gettempdir()) / f"isolab-{os.getpid()}.qmp"


def _watched(guest: Guest) -> bool:
    """Does a plugin look at it?  There is none without emulation."""
    return bool(guest.observe or guest.section or guest.ranges or guest.ways or guest.park)


def _threads(guest: Guest, emulator: qemu.Emulator) -> str:
    """Of its emulation: not one where a plugin would then count what other CPUs do."""
    threads = guest.threads or emulator.threads
    misled = threads == qemu.SINGLE and _watched(guest) and emulator.misnames
    return "multi" if misled else threads


def _patience(kernel: Kernel) -> str:
    """A kernel with every check is slow: who waits for another CPU's call waits for long there."""
    slow = kernel.ours and kernel.has("CONFIG_CSD_LOCK_WAIT_DEBUG")
    return "smp.csd_lock_timeout=20000" if slow else ""


def _command(guest: Guest, where: Path) -> tuple[list[str], str]:
    machine = guest.kernel.machine
    arm = machine is ARM64
    if arm and (guest.spare_port or guest.orders):
        raise term.LabError(f"{guest.kernel.name}: the board has no place for that device")
    emulator = qemu.pick(guest.kernel.arch)
    threads = _threads(guest, emulator)
    use_kvm = guest.want_kvm and not _watched(guest) and not arm and qemu.kvm_usable()
    disk = guest.kernel.disk
    if guest.kernel.name == arm64.NAME:
        initrd = arm64.with_job(guest.kernel, guest.job, where / "initrd")
    elif disk:
        initrd = distro.with_job(guest.kernel, guest.job, where / "initrd", guest.files)
    else:
        initrd = initramfs.with_job(guest.kernel, guest.job, where / "initrd", guest.extra)
    command = [
        *emulator.command,
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-machine",
        # kexec refuses a seed that the kernel has not used up, and with nokaslr it uses none.
        # Tables that the interrupt controller has for messages outlive the kernel: without UEFI
        # the next one is not told, and loses its own text to them.
        f"{machine.board},dtb-randomness=off,its=off" if arm and disk else machine.board,
        *emulator.accel(use_kvm, guest.icount, threads),
        "-smp",
        f"{guest.cpus},threads={guest.smt}",
        "-m",
        guest.memory,
        "-kernel",
        str(guest.kernel.image),
        "-initrd",
        str(initrd),
        "-append",
        " ".join(filter(None, (machine.parameters, _patience(guest.kernel), guest.append))),
        "-serial",
        f"file:{where / 'console'}",
        "-qmp",
        f"unix:{monitor()},server=on,wait=off",
    ]
    # In QEMU 7.2 that board has one serial port; the other is a card.
    command += (
        [
            "-chardev",
            f"file,id=report,path={where / 'report'}",
            "-device",
            "pci-serial,chardev=report",
        ]
        if arm
        else ["-serial", f"file:{where / 'report'}"]
    )
    if guest.spare_port:
        command += [
            "-chardev",
            "null,id=spare",
            "-device",
            "isa-serial,iobase=0x3e8,irq=5,index=2,chardev=spare",
        ]
    if guest.orders:
        command += [
            "-chardev",
            f"socket,id=orders,path={guest.orders},server=on,wait=off",
            "-device",
            "isa-serial,iobase=0x2e8,irq=7,index=3,chardev=orders",
        ]
    if guest.doorbell:
        command += [
            "-chardev",
            f"socket,id=doorbell,path={guest.doorbell}",
            "-device",
            "ivshmem-doorbell,vectors=1,chardev=doorbell",
        ]
    if guest.wires:
        command += wires.arguments(command, guest.wires, where, monitor())
    if disk:
        # What the guest writes there is gone with it.
        command += ["-drive", f"file={disk},format=raw,if=virtio,snapshot=on"]
    if guest.observe:
        command += observer.arguments(guest.kernel, where / "observer.json", guest.heavy)
    if guest.section:
        command += observer.section_arguments(where / "section.json")
    if guest.ranges:
        (where / "ranges").write_text(guest.ranges)
        command += observer.coverage_arguments(where / "blocks.json", where / "ranges")
    elif guest.ways:  # not both: each tells of the blocks of its own
        command += observer.ways_arguments(where / "blocks.json", guest.ways)
    if guest.park:
        command += observer.park_arguments(where / "park.json", guest.park)
    if guest.resets:
        command += ["-d", "cpu_reset"]
    how = "single,icount" if guest.icount else threads
    accel = "kvm" if use_kvm else f"tcg,thread={how}"
    if accel == "tcg,thread=multi" and emulator.tells_stale:
        command += observer.stale_arguments(where / "stale.json")
    return command, f"QEMU {emulator.version} {accel}"


class _Reports:
    """Follows the file into which the guest's second serial port goes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0

    def new(self) -> list[Event]:
        try:
            with open(self.path, "rb") as f:
                f.seek(self.offset)
                data = f.read()
        except FileNotFoundError:
            return []
        end = data.rfind(b"\n") + 1
        self.offset += end
        events = []
        for line in data[:end].splitlines():
            try:
                events.append(json.loads(line))
            except json.JSONDecodeError:
                events.append(
                    {"event": "problem", "name": "report", "text": line.decode(errors="replace")}
                )
        return events


def _follow(
    guest: Guest,
    process: subprocess.Popen[bytes],
    reports: _Reports,
    outcome: Outcome,
    on_event: Callable[[Event], str | None],
) -> None:
    begin = last = stuck.moment(process.pid)
    up = False
    while True:
        ended = process.poll() is not None
        for event in reports.new():
            outcome.events.append(event)
            last = stuck.moment(process.pid)
            if event["event"] == "up":
                up = True
                outcome.boot_seconds = last.at - begin.at
            outcome.died = outcome.died or on_event(event)
        silent = ""
        if ended:
            break
        if guest.stop and guest.stop.is_set():
            outcome.died = STOPPED
        elif not up and stuck.over(begin, guest.boot_s, process.pid):
            silent = f"no agent within {guest.boot_s:.0f} s of boot"
        elif stuck.over(last, guest.silence_s, process.pid):
            silent = f"no report for {guest.silence_s:.0f} s"
        elif stuck.over(begin, guest.total_s, process.pid):
            outcome.died = f"not done within {guest.total_s:.0f} s"
        if silent:
            kept = stuck.waited(last if up else begin, stuck.moment(process.pid))
            outcome.died = (f"{silent}, besides {kept:.0f} s without a CPU of this host: "
                            f"{stuck.tell(process.pid, monitor())}")
        if outcome.died:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
            break
        time.sleep(0.02)
    outcome.seconds = time.monotonic() - begin.at


def _qemu(
    guest: Guest,
    command: list[str],
    where: Path,
    outcome: Outcome,
    on_event: Callable[[Event], str | None],
) -> int:
    """Runs QEMU to its end; its exit status."""
    with open(where / "qemu.log", "wb") as log, contextlib.ExitStack() as stack:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "QEMU_AUDIO_DRV": "none"},
        )
        # The guest's clocks suffer from what else runs here; where we may, we go first.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, process.pid, -10)
        try:
            try:
                qmp = qemu.Qmp(monitor())
                qemu.pin(qmp, guest.host_cpus)
                if guest.wires:
                    stack.enter_context(wires.Generator(qmp, monitor()))
                qmp.close()
                if guest.undisturbed and not qemu.go_first(process.pid):
                    term.say("the guest shares this host with what else runs: no real-time right")
            except (OSError, ValueError, term.LabError):
                if process.poll() is None:
                    raise
            _follow(guest, process, _Reports(where / "report"), outcome, on_event)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            monitor().unlink(missing_ok=True)
    return process.returncode


def boot(
    guest: Guest, where: Path, on_event: Callable[[Event], str | None] = lambda e: None
) -> Outcome:
    """Boots @guest with its files in @where and waits for its end.

    @on_event is told each report; a text that it returns ends the guest.
    """
    # From the files on: another lab in this tree would use the same.
    with _alone(BUILD, "from this tree"):
        return _boot(guest, where, on_event)


def _boot(guest: Guest, where: Path, on_event: Callable[[Event], str | None]) -> Outcome:
    where.mkdir(parents=True, exist_ok=True)
    for name in ("console", "report", "observer.json", "stale.json", "section.json",
                 "blocks.json", "park.json"):
        (where / name).unlink(missing_ok=True)
    ours = guest.kernel.ours
    outcome = Outcome(ours=ours, arm=guest.kernel.machine is ARM64,
                      late=ours and guest.kernel.has("CONFIG_PREEMPT_RT"))
    command, outcome.accel = _command(guest, where)
    (where / "command").write_text(" ".join(command) + "\n")
    # Two would disturb each other's clocks; what is built before disturbs them less.
    with _alone(cache(), "on this machine"):
        status = _qemu(guest, command, where, outcome, on_event)
    (where / "initrd").unlink(missing_ok=True)
    console = where / "console"
    outcome.console = (
        console.read_text(errors="replace").replace("\r", "") if console.exists() else ""
    )
    outcome.whole = True
    text = (where / "qemu.log").read_text(errors="replace").strip()
    if status and not outcome.died:
        outcome.died = f"QEMU ended with {status}: {text[-500:]}"
    if not outcome.died and not any(e["event"] == "end" for e in outcome.events):
        outcome.died = ENDED
    outcome.findings = dmesg.scan(outcome.console)
    outcome.qemu_log = text
    outcome.stale = observer.stale(guest.kernel, where / "stale.json")
    outcome.covered, outcome.dropped = observer.covered(where / "blocks.json")
    outcome.ways = observer.ways(where / "blocks.json")
    outcome.sections = observer.sections(guest.kernel, where / "section.json")
    if guest.observe:
        outcome.windows, outcome.observer_end = observer.read(guest.kernel, where / "observer.json")
    return outcome
