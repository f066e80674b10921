# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest whose mechanisms answer a generator's triggers, for as long as a host wants it.

    with ScopeGuest(kernel.build("rt"), "demo") as guest:
        guest.address              # where isolator-scope connects to
        guest.do("nproc")          # a command in the guest
        guest.delay("tasklet", 5000)
"""

import contextlib
import math
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from .. import term
from ..guests import guest, qemu
from ..guests.guest import Event, Guest, Outcome
from ..guests.kernel import Kernel
from ..judge import attempt, jobs
from ..paths import OUT
from . import generator

MODULE = "isolator_scope"
SYSFS = f"/sys/class/misc/{MODULE}"
# Where the trigger interrupts and all that is woken there runs; and where the poll task spins.
INTERRUPTED, POLLING = 0, 1
BOUND_US = 1_000_000  # of the driver's thread that polls
UP_S = 90.0
ANSWER_S = 20.0  # beyond a command's own time
END_S = 20.0


def host_cpus(poll: bool) -> tuple[tuple[int, ...], int]:
    """The host's CPUs for the guest's, and the generator's.

    With two, a task that polls takes turns with the guest's other CPU; without it the guest's
    second CPU is nearly idle, and goes before the generator.
    """
    ours = sorted(os.sched_getaffinity(0))
    if len(ours) == 2 and not poll:
        return tuple(ours), ours[-1]
    return (tuple(ours[:-1]) or tuple(ours)), ours[-1]


class ScopeGuest:
    """Guest, driver, tasks and generator; a context manager, which leaves nothing behind.

    @name: of its directory below out/scope.  @poll: the task that polls runs, which takes one of
    the host's CPUs.  @kernel_poll: the driver's own thread polls there instead, its CPU isolated.
    @isolate: the task's CPU is isolated, which takes an Isolator kernel.
    @undisturbed: ahead of all else on the host, where that is allowed; each of the guest's CPUs
    has to have one of the host's.  @listen: of the generator; port 0: any.  @seconds: how
    long it may live.  @append: kernel parameters.  @slower: by what every time is longer, for a
    kernel with checks.  @threads: of its emulation, as of any Guest.
    """

    def __init__(self, kernel: Kernel, name: str, *, poll: bool = True, isolate: bool = False,
                 kernel_poll: bool = False, undisturbed: bool = False,
                 listen: str = "127.0.0.1:0", seconds: float = math.inf, append: str = "",
                 slower: float = 1.0, threads: str = "") -> None:
        if (isolate or kernel_poll) and not kernel.ours:
            raise term.LabError(f"kernel {kernel.name} cannot isolate: take rt, nort or debug")
        if poll and kernel_poll:
            raise term.LabError("the task and the driver's thread cannot poll on one CPU")
        self.kernel, self.poll, self.isolate = kernel, poll, isolate
        self._kernel_poll = kernel_poll
        self._undisturbed = undisturbed
        self.where = OUT / "scope" / name
        self.outcome = Outcome()
        self.events: list[Event] = []
        self._listen, self._threads = listen, threads
        self._slower = slower * attempt.slower(threads)
        self._stack = contextlib.ExitStack()
        self._news = threading.Condition()
        self._stop = threading.Event()
        self._over = False
        self._failed: BaseException | None = None
        self._port: socket.socket | None = None
        self._number = 0
        self._seconds, self._append = seconds, append
        self._vcpus, self._cpu = host_cpus(poll or kernel_poll)
        if undisturbed and len(self._vcpus) < 2:
            raise term.LabError("the guest's CPUs share one of the host's: one waits for the other")

    # Its life.

    def __enter__(self) -> "ScopeGuest":
        try:
            self._begin()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._end(orderly=kind is None)
        if kind is not None:
            return
        # Of one that was not read to its end the outcome says nothing, good or bad.
        if self.running or self._failed:
            why = self._failed or "it does not end"
            raise term.LabError(f"the guest was not read to its end: {why}; see {self.where}")

    def _begin(self) -> None:
        self.where.mkdir(parents=True, exist_ok=True)
        # Not below the tree, whose path may be too long for a socket.
        directory = Path(tempfile.mkdtemp(prefix="isolab-scope-"))
        self._stack.callback(shutil.rmtree, directory, ignore_errors=True)
        self._orders = directory / "orders"
        log = self.where / "generator.log"
        log.unlink(missing_ok=True)
        self.generator = generator.Generator(
            generator.build(), directory / "lines", log, self._cpu, self._listen
        )
        self._stack.callback(self.generator.end)
        self.generator.begin()
        self._thread = threading.Thread(target=self._boot, daemon=True)
        self._thread.start()
        self._stack.callback(self._thread.join, END_S)
        self._stack.callback(self._stop.set)
        self._wait("orders", guest.ORDERS, math.inf)
        self._port = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._stack.callback(self._port.close)
        self._port.connect(str(self._orders))
        facts = self.do(jobs.CLOCKS, 60)
        if lost := attempt.clocks(facts, self.kernel.ours):
            code = term.INCONCLUSIVE if lost.void else term.ERROR
            raise term.LabError(f"{lost.over}; try again", code)
        self.load()
        self.start_tasks()
        if self._undisturbed:
            self._go_first()

    def begin_generator(self) -> None:
        """Again, after it was killed."""
        self.generator.begin()
        if self._undisturbed:
            self.generator.go_first()

    def _go_first(self) -> None:
        """The guest before the generator: what it does on the generator's CPU is short."""
        qmp = qemu.Qmp(guest.monitor())
        try:
            first = qemu.devices_first(qmp, 2) and self.generator.go_first()
        finally:
            qmp.close()
        if not first:
            term.say("the guest shares this host with what else runs: no real-time right")

    def asked(self) -> Guest:
        """What is booted."""
        return Guest(self.kernel, f"cpus {INTERRUPTED}\norders {guest.ORDERS}\n",
                     append=self._append, observe=False, boot_s=UP_S * self._slower,
                     silence_s=math.inf, total_s=self._seconds, doorbell=self.generator.socket,
                     orders=self._orders, stop=self._stop, host_cpus=self._vcpus,
                     threads=self._threads)

    def _boot(self) -> None:
        try:
            self.outcome = guest.boot(self.asked(), self.where, self._on_event)
        except BaseException as e:
            self._failed = e
        with self._news:
            self._over = True
            self._news.notify_all()

    def _on_event(self, event: Event) -> str | None:
        if event["event"] == "problem":
            term.say(f"guest: {event['text']}")
        with self._news:
            self.events.append(event)
            self._news.notify_all()
        return None

    def _end(self, orderly: bool = False) -> None:
        if orderly and self.running and self._port:
            with contextlib.suppress(OSError):
                self._port.sendall(b"done\n")
                self._thread.join(END_S * self._slower)
        self._stack.close()

    @property
    def running(self) -> bool:
        return not self._over

    @property
    def address(self) -> tuple[str, int, str]:
        """Where a host connects to the generator, and the token."""
        return self.generator.address

    # What it is told.

    def _wait(self, kind: str, name: str, seconds: float) -> Event:
        until = time.monotonic() + seconds
        with self._news:
            while True:
                for event in self.events:
                    if event["event"] in kind.split() and event["name"] == name:
                        self.events.remove(event)
                        return event
                if self._over:
                    raise term.LabError(
                        f"the guest ended: {self._failed or self.outcome.died}; see {self.where}"
                    )
                left = until - time.monotonic()
                if left <= 0:
                    raise term.LabError(f"the guest does not answer ({name}); see {self.where}")
                self._news.wait(min(left, 1.0))

    def _order(self, line: str) -> None:
        if not self._port or "\n" in line:
            raise term.LabError(f"this cannot be ordered: {line!r}")
        try:
            self._port.sendall(line.encode() + b"\n")
        except OSError as e:
            raise term.LabError(f"the guest takes no orders: {e}; see {self.where}") from e

    def run(self, command: str, seconds: float = 30.0) -> Event:
        """A shell command in the guest, one line; how it ended: `exit`, `out`, `seconds`."""
        self._number += 1
        name, seconds = f"order-{self._number}", seconds * self._slower
        self._order(f"run {name} {int(seconds * 1000)} {command}")
        event = self._wait("run", name, seconds + ANSWER_S)
        if not event["returned"]:
            raise term.LabError(f"in the guest not done in {seconds:.0f} s: {command}")
        return event

    def do(self, command: str, seconds: float = 30.0) -> str:
        """The same; what it said.  LabError: it failed."""
        event = self.run(command, seconds)
        if event["exit"] != 0:
            raise term.LabError(f"in the guest failed: {command}: {event['out']}")
        return str(event["out"] or "")

    def start(self, name: str, command: str) -> None:
        """In the background, until kill()."""
        self._order(f"start {name} {command}")

    def kill(self, name: str, seconds: float = 5.0) -> Event:
        """How it ended: event "died" if it had ended before."""
        seconds *= self._slower
        self._order(f"kill {name} {int(seconds * 1000)}")
        return self._wait("killed died", name, seconds + ANSWER_S)

    # The driver, its knobs, its tasks.

    def load(self) -> None:
        """Its interrupt, and its thread that may run anywhere, on the CPU that is interrupted."""
        # From the beginning: one that is moved comes once more where it was.
        self.do(f"echo {1 << INTERRUPTED:x} >/proc/irq/default_smp_affinity")
        own = ""
        if self._kernel_poll:
            # As long as may be: a busy host lets a CPU stand for most of it.
            self.do(f"echo {POLLING} >/proc/isolator/cpus; "
                    f"echo spin_ns {BOUND_US}000 >/proc/isolator/limits")
            own = f" poll_cpu={POLLING} poll_bound_us={BOUND_US}"
        self.do(f"modprobe {MODULE}{own}", 60)
        self._bind()

    def _bind(self) -> None:
        self.do(f"for p in $(pidof {MODULE}); do taskset -p {1 << INTERRUPTED:x} $p; done")

    def unload(self) -> None:
        """No task may have its file open."""
        self.do(f"modprobe -r {MODULE}", 60)

    def start_tasks(self, delay_us: int = 0) -> None:
        """The one that waits and the one that polls, which is late by @delay_us if asked."""
        late = f" --delay {delay_us}" if delay_us else ""
        if self.isolate:
            self.do(f"echo {POLLING} >/proc/isolator/cpus")
        self.start("user", f"exec /lab/bin/scope-task --cpu {INTERRUPTED}")
        if self.poll:
            self.start(
                "poll",
                f"exec /lab/bin/scope-task --poll --cpu {POLLING}{late}"
                f"{' --isolate' if self.isolate else ''}",
            )
        else:
            self.map({"poll": -1})
        there = f"[ $(pidof scope-task | wc -w) = {len(self._tasks)} ]"
        began = self.run(
            f"n=0; until {there} || [ $n = 40 ]; do sleep 0.05; n=$((n + 1)); done; "
            f"sleep 0.3; {there}"
        )
        if began["exit"] != 0:
            ends = ", ".join(str(event["out"]) for event in self.stop_tasks())
            raise term.LabError(f"tasks did not begin: {ends}")

    @property
    def _tasks(self) -> tuple[str, ...]:
        return ("user", "poll") if self.poll else ("user",)

    def stop_tasks(self) -> list[Event]:
        """How the one that waits ended, and the one that polls."""
        return [self.kill(name) for name in self._tasks]

    def mechanisms(self) -> set[str]:
        """Those that have a line."""
        return {name for name, line in self.counts("lines").items() if line >= 0}

    def counts(self, kind: str) -> dict[str, int]:
        """The driver's own, by mechanism; @kind: answered, overruns, lines or delays."""
        said = self.do(f"cd {SYSFS}/{kind} && grep . *")
        return {name: int(n) for name, _, n in (line.partition(":") for line in said.split())}

    def map(self, lines: Mapping[str, int]) -> None:
        """Mechanisms to these lines; -1: to none."""
        gone = [f"echo -1 >{name}" for name, line in lines.items() if line < 0]
        there = [f"echo {line} >{name}" for name, line in lines.items() if line >= 0]
        self.do(" && ".join([f"cd {SYSFS}/lines", *gone, *there]))
        self._bind()

    def delay(self, mechanism: str, us: int) -> None:
        """Planted from now on; 0: none.  Of "poll" it is start_tasks()'s."""
        self.do(f"echo {us} >{SYSFS}/delays/{mechanism}")
