# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual generator and a simulated target, as programs of their own."""

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from steps import ROOT
from waiting import until

SCOPE = ROOT / "scope"
GENERATOR = SCOPE / "generator"
# It keeps a CPU busy: whatever else runs here goes first, in its own group of the scheduler too.
BEHIND = ["sh", "-c", "echo 10 2>/dev/null >/proc/self/autogroup; exec nice -n 10 \"$@\"", "sh"]


def build(directory: Path, *flags: str) -> None:
    """`generator` and `target` in @directory, compiled with @flags too."""
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", '-DVERSION="0"', "-O1", "-pthread", *flags,
               *(f"-I{folder}" for folder in (GENERATOR, SCOPE / "frame", SCOPE / "include",
                                              ROOT / "cli"))]
    subprocess.run([*command, "-o", directory / "generator", *GENERATOR.glob("*.c"),
                    *(SCOPE / "frame").glob("*.c")], check=True)
    subprocess.run([*command, "-o", directory / "target", GENERATOR / "target/target.c",
                    GENERATOR / "ivshmem.c"], check=True)


@contextlib.contextmanager
def virtual(directory: Path, lines: list[str], *words: str,
            log: Path | None = None) -> Iterator[tuple[str, str]]:
    """Where hosts connect, and the file with the token.

    `lines` and `log` are the target's, as it takes them.
    """
    generator, target = directory / "generator", directory / "target"
    build(directory)
    socket, told = directory / "lines.sock", directory / "told"
    with told.open("w") as out, contextlib.ExitStack() as stack:
        def begin(*command: object) -> None:
            process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=out,
                                       start_new_session=True)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        begin(*BEHIND, generator, "--socket", socket, "--listen", "127.0.0.1:0", "--rounds", "100",
              *words)
        where = said(told, r"hosts connect to (127.0.0.1:\d+)")
        begin(target, "--socket", socket, *(word for line in lines for word in ("--line", line)),
              *(("--log", log) if log else ()))
        said(told, "(answers)")
        yield where, f"{socket}.token"


def said(told: Path, pattern: str) -> str:
    """What a program says there before long."""
    return until(lambda: re.findall(pattern, told.read_text()), told.read_text)[0]
