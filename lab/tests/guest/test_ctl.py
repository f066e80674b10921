# SPDX-License-Identifier: GPL-2.0-or-later
"""What asks a spinner: one line, or an error, and not without end."""

import ctypes
import errno
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from isolab.paths import LAB

LINE = 64


@pytest.fixture(name="ctl", scope="module")
def _ctl(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    built = tmp_path_factory.mktemp("ctl") / "ctl.so"
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-shared",
                    "-fPIC", "-o", built, LAB / "guest" / "ctl.c"], check=True)
    library = ctypes.CDLL(str(built))
    library.spinner_number.restype = ctypes.c_longlong
    return library


def _ask(ctl: ctypes.CDLL, path: Path, ms: int) -> tuple[int, bytes]:
    answer = ctypes.create_string_buffer(b"old\n", LINE)
    error = ctl.spinner_ask(str(path).encode(), b"status", answer, LINE, ctypes.c_long(ms))
    return error, answer.value


@pytest.mark.parametrize(
    ("parts", "closes", "error", "answer"),
    [
        ([b'{"tid":7}\n'], False, 0, b'{"tid":7}'),
        ([b'{"ti', b'd":7}\nmore'], False, 0, b'{"tid":7}'),
        ([b'{"ti'], True, -errno.EPIPE, b'{"ti'),
        ([], True, -errno.EPIPE, b""),
        ([], False, -errno.ETIMEDOUT, b""),
        ([b'{"ti'], False, -errno.ETIMEDOUT, b'{"ti'),
        ([b"x" * LINE], False, -errno.EMSGSIZE, b"x" * (LINE - 1)),
    ],
)
def test_one_line_or_an_error(ctl: ctypes.CDLL, tmp_path: Path, parts: list[bytes], closes: bool,
                              error: int, answer: bytes) -> None:
    path = tmp_path / "s"
    asked: list[bytes] = []
    over = threading.Event()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            with server.accept()[0] as client:
                asked.append(client.recv(100))
                for part in parts:
                    client.sendall(part)
                    over.wait(0.05)
                if not closes:
                    over.wait(30)

        thread = threading.Thread(target=serve)
        thread.start()
        begin = time.monotonic()
        said = _ask(ctl, path, 8000 if error == -errno.ETIMEDOUT else 20000)
        took = time.monotonic() - begin
        over.set()
        thread.join()
    assert said == (error, answer) and asked == [b"status\n"] and took < 20


def test_nobody_there(ctl: ctypes.CDLL, tmp_path: Path) -> None:
    assert _ask(ctl, tmp_path / "s", 1000) == (-errno.ENOENT, b"")


def test_the_number_behind_a_key(ctl: ctypes.CDLL) -> None:
    for key, value in ((b"tid", 7), (b"loops", 2**40), (b"pid", -1)):
        assert ctl.spinner_number(b'{"tid":7,"loops":1099511627776}', key) == value
