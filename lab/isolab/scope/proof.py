# SPDX-License-Identifier: GPL-2.0-or-later
"""isolab scope-proof: does `make scope` show every mechanism, and does Ctrl-C end all of it?"""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
from isolator_scope import headless

from .. import term
from ..paths import OUT, TOP
from .cells import RUNS
from .live import opened

# Each process that comes of it has this in its environment.
TOKEN = "ISOLAB_SCOPE_PROOF"
# A kernel may have to be built, and another guest to be waited for.
SHOWN_S, ANSWERED_S, ENDED_S, GONE_S = 1500.0, 90.0, 60.0, 5.0
MECHANISMS = {line for run in RUNS for line in run.lines}
PAGE = re.compile(r"^(http://\S+/\?token=\S+)$", re.MULTILINE)


def processes(token: str) -> list[str]:
    """Those that have it in their environment, but for this one."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (
                entry.name.isdigit()
                and int(entry.name) != os.getpid()
                and f"{TOKEN}={token}".encode() in (entry / "environ").read_bytes().split(b"\0")
            ):
                found.append(f"{entry.name} {(entry / 'comm').read_text().strip()}")
    return found


def end(token: str) -> None:
    """Kills them: what was left behind is a failure, and none of the next one's business."""
    for line in processes(token):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(line.split()[0]), signal.SIGKILL)


def wait(true: Callable[[], Any], seconds: float) -> Any:
    """What it says at last: false when it never was true."""
    until = time.monotonic() + seconds
    while not (said := true()) and time.monotonic() < until:
        time.sleep(0.2)
    return said


async def answering(address: str, seconds: float) -> tuple[set[str], set[str]]:
    """Which mechanisms have answers by the page's websocket, and by its document."""
    told: set[str] = set()
    where, key = opened(address)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds), aiohttp.ClientSession(headers=key) as session:
            async with session.ws_connect(f"{where}ws") as socket:
                async for message in socket:
                    rows = message.json().get("lines", [])
                    told = {row["name"] for row in rows if row["count"]}
                    if told >= MECHANISMS:
                        break
            async with session.get(f"{where}api/document") as answer:
                document = await answer.json()
            series = [row for part in document["parts"] for row in part["series"]]
            return told, {row["name"] for row in series if row["samples"]}
    return told, set()


def _check(name: str, ok: bool, why: str = "") -> bool:
    word = term.colour("passed ", "32") if ok else term.colour("failed ", "31")
    print(f"{word} {name}{'' if ok else f': {why}'}", flush=True)
    return ok


def _run(process: subprocess.Popen[bytes], log: Path, token: str, temporary: Path) -> list[bool]:
    def shown() -> str | None:
        found = PAGE.search(log.read_text(errors="replace"))
        return found[1] if found else "" if process.poll() is None else "ended"

    address = wait(shown, SHOWN_S)
    if not address or address == "ended":
        return [_check("the page's address is printed", False, log.read_text()[-1500:])]
    checks = [_check("the page's address is printed", True)]
    for name, found in zip(
        ("websocket", "document"), asyncio.run(answering(address, ANSWERED_S)), strict=True
    ):
        missing = ", ".join(sorted(MECHANISMS - found))
        checks.append(_check(f"every mechanism answers, by its {name}", not missing, missing))
    there = processes(token)
    checks.append(
        _check("guest, generator and page are processes of it", len(there) > 3, str(there))
    )
    os.killpg(process.pid, signal.SIGINT)
    ended = wait(lambda: process.poll() is not None, ENDED_S)
    checks.append(_check("Ctrl-C ends it", ended, f"not in {ENDED_S:.0f} s"))
    gone = wait(lambda: not processes(token), GONE_S)
    checks.append(_check("no process of it is left", gone, str(processes(token))))
    end(token)  # a recording that is written to is read for ever
    left = [str(path.relative_to(temporary)) for path in temporary.rglob("*")]
    checks.append(_check("no temporary file of it is left", not left, str(left)))
    said = re.search(r"recorded in (\S+)", log.read_text(errors="replace"))
    account = asyncio.run(headless.load(Path(said[1]))).account if said else None
    whole = account is not None and account.triggers > 0 and not account.doubts()
    doubts = account.doubts() if account else "no recording"
    checks.append(_check("its recording is whole", whole, str(doubts)))
    return checks


def main() -> int:
    token = uuid.uuid4().hex
    log = OUT / "scope" / "proof.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="isolab-proof-") as temporary:
        with open(log, "wb") as out:
            process = subprocess.Popen(["make", "scope", "KERNEL=nort", "PORT=0"], cwd=TOP,
                                       env={**os.environ, TOKEN: token, "TMPDIR": temporary},
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       start_new_session=True)
        try:
            checks = _run(process, log, token, Path(temporary))
        finally:
            end(token)
            process.wait()
    failed = checks.count(False)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return term.ERROR if failed else term.PASS
