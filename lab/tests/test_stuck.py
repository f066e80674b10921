# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a guest is that does not go on."""

import os
import re
import socket
from pathlib import Path

from isolab.guests import stuck

LOOK = """\
CPU#0
RAX=0000000000000000 RBX=ffffffff82a10f40
RIP=ffffffff81234567 RFL=00000246 [---Z-P-] CPL=0 II=0 A20=1 SMM=0 HLT=0

CPU#1
RIP=ffffffff{} RFL=00000246 [---Z-P-] CPL=0 II=0 A20=1 SMM=0 HLT=1
"""


def test_places() -> None:
    """Lists each place once, and marks a halted CPU."""
    looks = [LOOK.format(at) for at in ("81000000", "81000004", "81000000")]
    assert stuck.places(looks) == (
        "CPU 0 at ffffffff81234567; CPU 1 at ffffffff81000000 halted, ffffffff81000004 halted")
    assert stuck.places(["\nCPU#0\n PC=ffff800080012340 X00=0000000000000000\n"]) == (
        "CPU 0 at ffff800080012340")


def test_an_emulator_that_does_not_answer(tmp_path: Path) -> None:
    """It is said, with what its threads do."""
    path = tmp_path / "monitor"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        said = stuck.tell(os.getpid(), path, timeout=0.2)
    assert "does not say where its CPUs are: timed out" in said
    assert re.search(r"; its threads: .* R \d+\.\d s", said)
