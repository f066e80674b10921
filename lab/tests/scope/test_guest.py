# SPDX-License-Identifier: GPL-2.0-or-later
"""The generator beside a guest, and what a guest for it asks for."""

import os
from pathlib import Path

import pytest
from isolab import term
from isolab.guests.kernel import Kernel
from isolab.scope import generator as scopegenerator
from isolab.scope import target as scopeguest
from processes import gone

# A program that says and does what a generator does as far as it is begun and ended.
FAKE = """#!/bin/sh
printf 'resolution 60 ns; and so on\\ntargets connect to %s\\n' "$2"
echo secret > "$2.token"
printf 'hosts connect to 127.0.0.1:4711 with the token in %s\\n' "$2.token"
exec sleep 600
"""


@pytest.fixture(name="generator")
def _generator(tmp_path: Path) -> scopegenerator.Generator:
    program = tmp_path / "program"
    program.write_text(FAKE)
    program.chmod(0o755)
    return scopegenerator.Generator(program, tmp_path / "lines", tmp_path / "log", 0, "127.0.0.1:0")


def test_a_generator_keeps_its_port_when_it_is_begun_again(
    generator: scopegenerator.Generator,
) -> None:
    generator.begin()
    assert generator.alive() and generator.address == ("127.0.0.1", 4711, "secret")
    assert generator.floor.startswith("resolution 60 ns")
    generator.kill()
    assert not generator.alive()
    generator.begin()
    assert generator.alive()
    generator.end()
    assert not generator.alive()
    assert generator.said().count("hosts connect to") == 2


def test_a_generator_that_does_not_begin_says_why(generator: scopegenerator.Generator) -> None:
    generator.program.write_text("#!/bin/sh\necho no room here >&2\nexit 1\n")
    with pytest.raises(term.LabError, match="no room here"):
        generator.begin()
    assert not generator.alive()


def test_what_a_generator_leaves_is_ended_by_force(
    generator: scopegenerator.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of the lines that does not end by itself."""
    monkeypatch.setattr(scopegenerator, "ENDS_S", 0.3)
    monkeypatch.setattr(scopegenerator, "KEEPER", "stuck-keeper")
    keeper = generator.program.parent / "stuck-keeper"
    up = keeper.with_name("up")
    keeper.write_text(f"#!/bin/sh\n: > '{up}'\nwhile :; do sleep 0.1; done\n")
    keeper.chmod(0o755)
    generator.program.write_text(
        FAKE.replace("printf 'hosts", f"'{keeper}' &\nwhile [ ! -e '{up}' ]; do sleep 0.05; done\n"
                     "printf 'hosts")
    )
    generator.begin()
    assert generator.keeper
    found = generator.keeper
    generator.socket.touch()
    generator.end()
    assert generator.keeper is None and not generator.socket.exists()
    assert not generator.token.exists()
    # Nobody waits for it here: at most its name is left, once it has died of it.
    assert gone(found, 10)


@pytest.mark.parametrize(
    ("ours", "poll", "guest", "generator"),
    [
        ({0, 1}, True, (0,), 1),
        ({0, 1}, False, (0, 1), 1),
        ({0, 1, 2, 3}, True, (0, 1, 2), 3),
        ({0, 1, 2, 3}, False, (0, 1, 2), 3),
        ({5}, True, (5,), 5),
    ],
)
def test_what_spins_has_a_cpu_for_itself(monkeypatch: pytest.MonkeyPatch, ours: set[int],
                                         poll: bool, guest: tuple[int, ...],
                                         generator: int) -> None:
    """The generator, and of two CPUs not the task that polls."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: ours)
    assert scopeguest.host_cpus(poll) == (guest, generator)


def test_cpus_that_share_one_do_not_go_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One would spin for the other, which never gets there."""
    (tmp_path / "config").write_text("")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with pytest.raises(term.LabError, match="share"):
        scopeguest.ScopeGuest(Kernel("rt", tmp_path), "x", poll=True, undisturbed=True)


def test_one_polls_on_a_cpu_that_can_be_isolated(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("")
    with pytest.raises(term.LabError, match="cannot isolate"):
        scopeguest.ScopeGuest(Kernel("stock-rt", tmp_path), "x", poll=False, kernel_poll=True)
    (tmp_path / "config").write_text("CONFIG_ISOLATOR=y\n")
    with pytest.raises(term.LabError, match="cannot poll on one CPU"):
        scopeguest.ScopeGuest(Kernel("rt", tmp_path), "x", poll=True, kernel_poll=True)


def test_threads_are_handed_on(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("")
    for threads, boot_s in (("", scopeguest.UP_S), ("single", 5 * scopeguest.UP_S)):
        guest = scopeguest.ScopeGuest(Kernel("rt", tmp_path), "x", threads=threads)
        guest.generator = scopegenerator.Generator(tmp_path, tmp_path, tmp_path, 0, "h:0")
        guest._orders = tmp_path
        assert (guest.asked().threads, guest.asked().boot_s) == (threads, boot_s)


def test_a_guest_that_was_not_read_is_not_taken_for_a_good_one(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("")
    guest = scopeguest.ScopeGuest(Kernel("rt", tmp_path), "x")
    with pytest.raises(term.LabError, match="does not end"):
        guest.__exit__(None, None, None)
    guest._over = True
    guest.__exit__(None, None, None)
    guest._failed = OSError("no space left")
    with pytest.raises(term.LabError, match="no space left"):
        guest.__exit__(None, None, None)
    guest.__exit__(OSError, OSError("another"), None)  # reported already


def test_a_kernel_that_cannot_isolate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("CONFIG_PREEMPT_RT=y\n")
    with pytest.raises(term.LabError, match="cannot isolate"):
        scopeguest.ScopeGuest(Kernel("stock-rt", tmp_path), "x", isolate=True)
