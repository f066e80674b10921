# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's end of `make scope`, with a simulated generator in place of the guest."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from isolab import term
from isolab.scope import live as scopelive
from isolab.scope import proof as scopeproof
from scope_browser import parts
from scope_simulated import simulated
from waiting import PATIENCE_S, until


@pytest.fixture(name="page")
def _page(tmp_path: Path) -> Iterator[scopelive.Page]:
    parts()
    with simulated() as (where, _):
        host, _, port = where.rpartition(":")
        page = scopelive.Page((host, int(port)), "127.0.0.1:0", tmp_path / "a.scope")
        yield page
        page.end()


def test_what_the_page_is_asked_reaches_the_generator(page: scopelive.Page) -> None:
    # As scope-proof finds it among what `make scope` prints.
    assert scopeproof.PAGE.findall(f"text\n{page.address}\nCtrl-C ends it.\n") == [page.address]
    page.ask("frequency", 500_000)
    page.ask("start", 0)
    told, documented = asyncio.run(scopeproof.answering(page.address, 30))
    assert told == documented == scopeproof.MECHANISMS
    with pytest.raises(term.LabError, match="not a command"):
        page.ask("louder")
    with pytest.raises(term.LabError, match="the generator says"):
        page.ask("frequency", 0)
    page.end()
    assert not page.alive() and page.recording.stat().st_size > 0


def test_silence_is_no_answer(page: scopelive.Page) -> None:
    """Nothing was started: the proof must not take the names of lines for answers."""
    began = time.monotonic()
    assert asyncio.run(scopeproof.answering(page.address, 3)) == (set(), set())
    assert time.monotonic() - began < PATIENCE_S


def test_a_page_that_cannot_be_served_says_why(page: scopelive.Page, tmp_path: Path) -> None:
    taken = urlsplit(page.address).port
    with pytest.raises(term.LabError, match="take another"):
        scopelive.Page(("127.0.0.1", 1), f"127.0.0.1:{taken}", tmp_path / "b.scope")


@pytest.mark.parametrize(
    ("name", "port", "words"),
    [("fast", 0, "--kernel must be one of rt, nort"), ("rt", 65536, "--port must be 0 to 65535")],
)
def test_wrong_arguments(name: str, port: int, words: str) -> None:
    with pytest.raises(term.LabError, match=words):
        scopelive.main(name, port, None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_ends_it_in_order(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), scopelive.signals():
        os.kill(os.getpid(), number)
        until(lambda: False)
    assert signal.getsignal(number) == before


def test_a_process_that_is_left_is_found() -> None:
    """Also one in a session of its own, whose parent is gone."""
    token = uuid.uuid4().hex
    assert scopeproof.processes(token) == []
    orphan = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\ntime.sleep(60)"
    subprocess.run(
        [sys.executable, "-c", orphan], env={**os.environ, scopeproof.TOKEN: token}, check=True
    )
    assert len(scopeproof.wait(lambda: scopeproof.processes(token), PATIENCE_S)) == 1
    scopeproof.end(token)
    assert scopeproof.wait(lambda: not scopeproof.processes(token), PATIENCE_S)
