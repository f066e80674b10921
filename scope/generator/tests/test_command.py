# SPDX-License-Identifier: GPL-2.0-or-later
"""The command isolator-generator: its words, its errors, what it leaves behind."""

import os
import re
import select
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from isolator_scope.protocol import Hello, Ping, Status
from rig import Rig
from waiting import PATIENCE_S

MANUAL = Path(__file__).parents[1] / "man/isolator-generator.1"


def test_help_and_manual(rig: Rig) -> None:
    """Both say the same options, in the same words."""
    said = rig.run("--help")
    assert said.returncode == 0 and not said.stderr
    listed = said.stdout.split("options:\n")[1].split("\n\n")[0]
    options = re.findall(r"^  -(\w), --([\w-]+)(?: ([\w:]+))?\s{2,}", listed, re.MULTILINE)
    texts = [" ".join(one.split()) for one in re.split(
        r"^  -\w, --[\w-]+(?: [\w:]+)?\s{2,}", listed, flags=re.MULTILINE)[1:]]
    manual = MANUAL.read_text().split(".SH OPTIONS")[1].split(".SH")[0]
    manual = re.sub(r"\\-", "-", manual)
    want = "\n"
    for (letter, name, argument), text in zip(options, texts, strict=True):
        head = f"-{letter}, --{name}"
        want += f'.TP\n.BI "{head} " {argument}\n' if argument else f'.TP\n.B "{head}"\n'
        want += f"{text}\n"
    assert manual == want
    assert len(options) == 9
    assert rig.run("--version").stdout == "isolator-generator 0\n"


@pytest.mark.parametrize(("arguments", "text"), [
    ([], "say where targets connect: --socket PATH"),
    (["--nonsense"], "unknown option --nonsense"),
    (["--socket"], "missing argument of --socket"),
    (["--socket", "x", "more"], 'unexpected argument "more"'),
    (["--socket", "x", "--cpu", "-1"], "--cpu needs a whole number"),
    (["--socket", "x", "--store", "5"], "--store needs a size"),
    (["--socket", "x", "--store", "65G"], "--store needs a size"),
    (["--socket", "x", "--rounds", "0"], "--rounds needs a whole number from 1 to 100000"),
    (["--socket", "x", "--listen", "localhost:1"], "--listen needs ADDRESS:PORT in numbers"),
    (["--socket", "x", "--listen", "0.0.0.0:0"], "a token is needed"),
    (["--socket", "x", "--listen", "[::]:0"], "a token is needed"),
    (["--socket", "/nonexistent/x", "--listen", "127.0.0.1:0"], "cannot serve at /nonexistent/x"),
    (["--socket", "/dev/null", "--listen", "127.0.0.1:0"], "/dev/null"),
    (["--socket", "y" * 200, "--listen", "127.0.0.1:0"], "name too long"),
    (["--socket", "x", "--token-file", "/nonexistent"], "cannot open /nonexistent"),
])
def test_errors(rig: Rig, arguments: list[str], text: str) -> None:
    """Exit code 1, one line that says what to do, and nothing is left."""
    said = rig.run(*arguments)
    assert said.returncode == 1
    assert text.lower() in said.stderr.lower()
    assert said.stderr.startswith("isolator-generator: ") and said.stderr.count("\n") == 1
    assert not Path("x").exists()


def test_tokens(rig: Rig) -> None:
    """A file that others can read, or that is empty, is no token."""
    token = rig.directory / "token"
    token.write_text("secret\n")
    token.chmod(0o644)
    assert "chmod 600" in rig.run("--socket", "x", "--token-file", str(token)).stderr
    token.write_text("\n")
    token.chmod(0o600)
    assert "1 to 255 characters" in rig.run("--socket", "x", "--token-file", str(token)).stderr


def test_own_token(rig: Rig) -> None:
    """Without --token-file one is made, for this user only, and used again by the next one."""
    generator = rig.generator()
    own = Path(f"{rig.lines}.token")
    assert own.read_text() == f"{rig.token}\n" and re.fullmatch("[0-9a-f]{32}", rig.token)
    assert own.stat().st_mode & 0o777 == 0o600
    for wrong in ("", "x" * 32):
        assert rig.host(Hello(token=wrong)).said.status == Status.REFUSED
    assert rig.host().said.status == Status.OK
    first = rig.token
    rig.stop(generator)
    rig.generator()
    assert rig.token == first


def test_own_token_is_whole(rig: Rig) -> None:
    """What a start that was killed has left is not taken for it, or in the way of one."""
    own = Path(f"{rig.lines}.token")
    for left in ("3f\n", "3f", "3" * 31 + "\n", "3" * 33 + "\n", "x" * 32 + "\n"):
        own.write_text(left)
        own.chmod(0o600)
        said = rig.run("--socket", str(rig.lines), "--listen", "127.0.0.1:0", "--rounds", "1")
        assert said.returncode == 1 and "does not hold 32 digits" in said.stderr
        assert "remove it" in said.stderr and rig.keeper_gone()
    own.unlink()
    other = rig.directory / "other"
    other.touch()
    beside = Path(f"{own}.new")
    beside.symlink_to(other)
    rig.generator()
    assert re.fullmatch("[0-9a-f]{32}\n", own.read_text()) and own.stat().st_mode & 0o777 == 0o600
    assert not other.read_text() and not beside.is_symlink()


def test_what_lies_where_the_own_token_is(rig: Rig) -> None:
    """Nothing that another could have put there is taken for it."""
    own = Path(f"{rig.lines}.token")
    other = rig.directory / "other"
    other.write_text("known\n")
    other.chmod(0o600)

    def refused() -> str:
        said = rig.run("--socket", str(rig.lines), "--listen", "127.0.0.1:0", "--rounds", "1")
        assert said.returncode == 1 and rig.keeper_gone()
        return said.stderr

    own.symlink_to(other)
    assert "cannot open" in refused()
    own.unlink()
    own.write_text("known\n")
    own.chmod(0o644)
    assert "chmod 600" in refused()
    own.unlink()
    os.mkfifo(own, 0o600)
    assert "not made by this user" in refused()
    own.unlink()
    if os.geteuid() == 0:
        own.write_text("known\n")
        own.chmod(0o600)
        os.chown(own, 65534, 65534)
        assert "not made by this user" in refused()


def test_something_else_there(rig: Rig) -> None:
    """A file is not removed, a server that is none of ours is not believed."""
    rig.lines.write_text("precious")
    said = rig.run("--socket", str(rig.lines), "--listen", "127.0.0.1:0")
    assert said.returncode == 1 and "not a socket" in said.stderr
    assert rig.lines.read_text() == "precious"
    rig.lines.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(rig.lines))
        other.listen()
        other.settimeout(0.1)
        process = subprocess.Popen(
            [rig.programs / "generator", "--socket", str(rig.lines), "--listen", "127.0.0.1:0"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            try:
                connection, _ = other.accept()
                connection.sendall(b"\1" * 64)
                connection.close()
            except TimeoutError:
                continue
        assert process.stderr and "does not belong to an ivshmem server" in process.stderr.read()
        process.stderr.close()
        assert process.returncode == 1
    rig.lines.unlink()


def test_two_generators(rig: Rig) -> None:
    """The second one says which the first is."""
    first = rig.generator()
    said = rig.run("--socket", str(rig.lines), "--listen", "127.0.0.1:0")
    assert said.returncode == 1
    assert f"another generator, process {first.pid}, has these lines" in said.stderr
    busy = rig.run("--socket", "x", "--listen", f"127.0.0.1:{rig.port}")
    assert busy.returncode == 1 and "cannot listen" in busy.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_end(rig: Rig, number: signal.Signals) -> None:
    """A signal ends it with 0; the server of the lines goes with it, and its socket."""
    generator = rig.generator()
    assert rig.lines.is_socket() and rig.lines.stat().st_mode & 0o77 == 0
    generator.send_signal(number)
    assert generator.wait(PATIENCE_S) == 0
    assert rig.keeper_gone()


def test_killed_without_target(rig: Rig) -> None:
    """Nothing is left of a generator that was killed alone; of what was left, a new one gets on."""
    rig.kill(rig.generator())
    assert rig.keeper_gone()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(rig.lines))
    rig.generator()


def test_cpu_that_is_not_there(rig: Rig) -> None:
    """It says so, and goes on."""
    generator = rig.generator("--cpu", "1000")
    assert generator.stderr
    assert select.select([generator.stderr], [], [], PATIENCE_S)[0], "it says nothing"
    errors = generator.stderr.readline()
    assert "cannot be bound to CPU 1000" in errors and "Cpus_allowed_list" in errors
    rig.host().order(Ping())
    rig.stop(generator)


def test_calibrate(rig: Rig) -> None:
    """Says what it is, or that it cannot: with one CPU there is nobody to answer."""
    said = rig.run("--calibrate", "--rounds", "40")
    assert said.returncode == 0
    assert re.match(r"resolution \d+ ns; loop-back p50 \d+ p99 \d+ max \d+ ns; "
                    r"jitter p50 \d+ p99 \d+ max \d+ ns \(40 rounds\)\n", said.stdout)
    cpu = min(os.sched_getaffinity(0))
    alone = subprocess.run(["taskset", "-c", str(cpu), rig.programs / "generator", "--calibrate",
                            "--rounds", "40"], capture_output=True, text=True, check=False)
    assert alone.returncode == 3 and "no other CPU" in alone.stderr and not alone.stdout
