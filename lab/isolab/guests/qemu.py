# SPDX-License-Identifier: GPL-2.0-or-later
"""Which QEMU runs the guests, and how."""

import dataclasses
import functools
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import term
from . import kvm, machine, packages

# One thread for all CPUs, which take turns.  By itself a turn lasts 100 ms, and a guest whose CPUs
# are busy gets stalls of RCU from that.  With a clock that follows the instructions a turn ends
# where a timer is due.  An instruction takes 2 ns, more than a host needs; idle, time passes as
# ever.
SINGLE = "single"
_TURNS = "shift=1,sleep=on"


@dataclass(frozen=True)
class Emulator:
    """A QEMU and the arguments that precede the guest's own."""

    name: str
    command: tuple[str, ...]
    version: str
    threads: str
    cpu: str = "max"
    tells_stale: bool = False  # it lets a plugin read memory

    @property
    def misnames(self) -> bool:
        """Does it tell a plugin a wrong CPU where one thread emulates several?

        From QEMU 9 on that is the one for which the code was translated, which all then share.
        """
        return int(self.version.partition(".")[0]) >= 9

    def accel(self, use_kvm: bool, icount: bool = False, threads: str = "") -> list[str]:
        if use_kvm:
            return ["-accel", "kvm", "-cpu", "host"]
        how = SINGLE if icount else threads or self.threads
        clock = ["-icount", "shift=0,sleep=off" if icount else _TURNS] if how == SINGLE else []
        return ["-accel", f"tcg,thread={how}", *clock, "-cpu", self.cpu]


def _version(command: tuple[str, ...]) -> str:
    text = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"version (\S+)", text.stdout)
    return found.group(1) if found else "unknown"


def _unpacked(root: Path, target: str) -> tuple[str, ...]:
    """A QEMU below @root, run with the loader and libraries that lie there."""
    loader = root / "usr" / "lib64" / "ld-linux-x86-64.so.2"
    if not loader.exists():
        loader = root / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    libs = f"{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu"
    data = root / "usr" / "share"
    return (
        str(loader),
        "--library-path",
        libs,
        str(root / "usr/bin" / f"qemu-system-{target}"),
        "-L",
        str(data / "qemu"),
        "-L",
        str(data / "seabios"),
        "-L",
        str(root / "usr/lib/ipxe/qemu"),
    )


def _newer(target: str) -> Emulator:
    of = machine.MACHINES[target]
    into = packages.unpack(of.unpacked, "trixie", (of.package,),
                           "ISOLAB_QEMU=system takes the installed one")
    command = _unpacked(into, target)
    return Emulator("trixie", command, _version(command), "multi", of.cpu, tells_stale=True)


def _system(target: str) -> Emulator:
    of = machine.MACHINES[target]
    path = shutil.which(f"qemu-system-{target}")
    if not path:
        raise term.LabError(f"qemu-system-{target} is missing: apt-get install {of.package}")
    # QEMU 7.2 under thread=multi executes stale translations of patched kernel text.
    return Emulator("system", (path,), _version((path,)), "single", of.cpu)


@functools.cache
def pick(target: str = "x86_64") -> Emulator:
    """ISOLAB_QEMU: trixie (default) or system; ISOLAB_THREADS: multi or single."""
    which = os.environ.get("ISOLAB_QEMU", "trixie")
    if which not in ("trixie", "system"):
        raise term.LabError("ISOLAB_QEMU must be trixie or system")
    found = _newer(target) if which == "trixie" else _system(target)
    threads = os.environ.get("ISOLAB_THREADS", found.threads)
    return dataclasses.replace(found, threads=threads)


@functools.cache
def kvm_usable() -> bool:
    return kvm.usable()


class Qmp:
    """The few QMP commands that the lab needs."""

    def __init__(self, path: Path, timeout: float = 10) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        until = time.monotonic() + timeout
        while True:
            try:
                self.socket.connect(str(path))
                break
            except OSError as e:
                if time.monotonic() > until:
                    raise term.LabError(f"QEMU opens no QMP socket: {e}") from e
                time.sleep(0.02)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: object) -> Any:
        self.file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if "return" in answer or "error" in answer:
                return answer.get("return")

    def close(self) -> None:
        self.file.close()
        self.socket.close()


def pin(qmp: Qmp, host_cpus: Sequence[int] = ()) -> list[int]:
    """Pins each vCPU's thread to a host CPU; returns the host CPUs in vCPU order.

    @host_cpus are those to choose from; none: all that this process may use.
    """
    host = sorted(host_cpus or os.sched_getaffinity(0))
    pinned = []
    for cpu in qmp.ask("query-cpus-fast"):
        to = host[int(cpu["cpu-index"]) % len(host)]
        os.sched_setaffinity(int(cpu["thread-id"]), {to})
        pinned.append(to)
    return pinned


def go_first(process: int, priority: int = 1) -> bool:
    """Whatever else runs on this machine waits for the emulator's threads; False: not allowed."""
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(priority))
    except PermissionError:
        return False
    return True


def devices_first(qmp: Qmp, priority: int) -> bool:
    """The same, and what serves the devices before the first CPU, where that was pinned to.

    Each CPU has to have one of the host's: it waits for the others by spinning.
    """
    cpus = [int(cpu["thread-id"]) for cpu in qmp.ask("query-cpus-fast")]
    status = Path(f"/proc/{cpus[0]}/status").read_text()
    process = int(re.findall(r"^Tgid:\s*(\d+)$", status, re.MULTILINE)[0])
    if not go_first(process, priority):
        return False
    for thread in map(int, os.listdir(f"/proc/{process}/task")):
        if thread not in cpus:
            os.sched_setaffinity(thread, os.sched_getaffinity(cpus[0]))
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority + 1))
    return True
