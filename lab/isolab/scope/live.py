# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab scope-live: a guest that answers, a generator that asks, and a page that shows both."""

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import term
from ..guests import kernel
from ..paths import OUT, TOP
from . import target

PROGRAM = TOP / "tools" / "isolator-scope"
KERNELS = ("rt", "nort", "stock-rt", "stock-nort")
HERTZ = 100
BEGINS_S, ENDS_S = 30.0, 10.0


def _ended(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def signals() -> Iterator[None]:
    """Whatever ends this, ends it as Ctrl-C does."""
    names = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {name: signal.signal(name, _ended) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def opened(address: str) -> tuple[str, dict[str, str]]:
    """Where a page is and what opens it, of the address that is printed."""
    place, _, token = address.partition("?token=")
    return place, {"Authorization": f"Bearer {token}"}


class Page:
    """isolator-scope serve, and what it can be asked."""

    def __init__(
        self, generator: tuple[str, int], listen: str, recording: Path, token: Path | None = None
    ) -> None:
        self.recording = recording
        self._log = recording.with_suffix(".log")
        with open(self._log, "w") as log:
            # In a session of its own: Ctrl-C is for us, who then end it in order.
            self._process = subprocess.Popen(
                [
                    PROGRAM, "serve", "--connect", "{}:{}".format(*generator),
                    *(("--token-file", token) if token else ()),
                    "--listen", listen, "-o", recording,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )  # fmt: skip
        assert self._process.stdout
        self.address = self._process.stdout.readline().strip()
        if not self.address.startswith("http"):
            self.end()
            raise term.LabError(f"the page cannot be served: {self.said()}")

    def said(self) -> str:
        """What it complained of."""
        return self._log.read_text().strip()

    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, name: str, *values: int) -> None:
        """A command to the generator, as the page's controls give it."""
        body = json.dumps({"name": name, "values": values}).encode()
        where, key = opened(self.address)
        request = urllib.request.Request(
            f"{where}api/command", body, {"Content-Type": "application/json", **key}
        )
        until = time.monotonic() + BEGINS_S
        while True:
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    said: dict[str, Any] = json.load(answer)
                break
            except urllib.error.HTTPError as e:
                # 503: its link to the generator is not made yet.
                if e.code != 503 or time.monotonic() > until:
                    raise term.LabError(f"{name}: {e.read().decode()}") from e
                time.sleep(0.2)
        if not said["ok"]:
            raise term.LabError(f"{name}: the generator says: {said['text']}")

    def end(self) -> None:
        """In order: the recording is whole."""
        if self.alive():
            self._process.terminate()
            try:
                self._process.wait(ENDS_S)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


def _wait(guest: target.ScopeGuest, page: Page, seconds: float | None) -> None:
    until = None if seconds is None else time.monotonic() + seconds
    while until is None or time.monotonic() < until:
        if not guest.running:
            raise term.LabError(f"the guest ended: {guest.outcome.died}; see {guest.where}")
        if not guest.generator.alive():
            raise term.LabError(f"the generator ended: {guest.generator.said()[-300:]}")
        if not page.alive():
            raise term.LabError(f"the page ended: {page.said()}")
        time.sleep(0.2)


def main(name: str, port: int, seconds: float | None) -> int:
    """Until Ctrl-C, or for @seconds."""
    if name not in KERNELS:
        raise term.LabError(f"--kernel must be one of {', '.join(KERNELS)}, not {name}")
    if not 0 <= port < 65536:
        raise term.LabError(f"--port must be 0 to 65535, not {port}")
    stock = name.startswith("stock-")
    with signals():
        try:
            built = kernel.build(name.removeprefix("stock-"), stock)
            term.say(f"kernel {built.name} {built.version}; booting a guest with the driver")
            where = OUT / "scope"
            where.mkdir(parents=True, exist_ok=True)
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            with target.ScopeGuest(built, "live", isolate=not stock) as guest:
                term.say(f"generator: {guest.generator.floor}")
                page = Page(guest.address[:2], f"127.0.0.1:{port}", where / f"live-{stamp}.scope",
                            guest.generator.token)
                try:
                    page.ask("frequency", HERTZ * 1000)
                    page.ask("start", 0)
                    term.say(f"{HERTZ} triggers a second; recorded in {page.recording}")
                    print(f"{page.address}\nCtrl-C ends it.", flush=True)
                    _wait(guest, page, seconds)
                finally:
                    page.end()
        except KeyboardInterrupt:
            term.say("ended")
    return term.PASS
