# SPDX-License-Identifier: GPL-2.0-or-later
"""How much stack the programs of a BPF object take, by the deepest way of calls through each.

Linux 6.12 lets all functions on a way have 512 bytes together, 6.18 lets each have as many:
a machine of today does not tell.
"""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

MOST = 512
STEP = 16  # what a function takes is rounded up to that
# Of an instruction: its class, and whole codes.
LOAD, STORE = (1,), (2, 3)
MOVE, ADD, CALL, WIDE = 0xBF, 0x07, 0x85, 0x18
FRAME, TO_FUNCTION = 10, 1  # a register; whom a call goes to


def _readelf(what: str, path: Path) -> list[list[str]]:
    text = subprocess.run(["readelf", "-W", what, path], capture_output=True, text=True,
                          check=True).stdout
    return [re.sub(r"\[\s*(\d+)\]", r"\1", line).split() for line in text.splitlines()]


class Functions:
    """Of an object: what each takes by itself, and whom it calls."""

    def __init__(self, path: Path) -> None:
        self.own: dict[str, int] = {}
        self.calls: dict[str, set[str]] = {}
        code = {row[0]: (row[1], int(row[4], 16)) for row in _readelf("-S", path)
                if len(row) > 7 and row[2] == "PROGBITS" and "AX" in row}
        found = [(row[7], row[6], int(row[1], 16), int(row[2], 0)) for row in _readelf("-s", path)
                 if len(row) > 7 and row[3] == "FUNC" and row[6] in code]
        places = {(code[section][0], at): name for name, section, at, _ in found}
        moved: dict[tuple[str, int], str] = {}
        section = ""
        for row in _readelf("-r", path):
            if row[:2] == ["Relocation", "section"]:
                section = row[2].strip("'").removeprefix(".rel")
            elif len(row) > 4 and row[1].endswith("0a"):  # R_BPF_64_32: a call
                moved[section, int(row[0], 16)] = row[4]
        data = path.read_bytes()
        for name, number, at, size in found:
            section, offset = code[number]
            self._read(name, data[offset + at:offset + at + size], section, at, places, moved)

    def _read(self, name: str, code: bytes, section: str, at: int,
              places: dict[tuple[str, int], str], moved: dict[tuple[str, int], str]) -> None:
        lowest, place = 0, 0
        copies: dict[int, int] = {}  # of the frame's address, by register: where it was taken
        self.calls[name] = set()
        while place < len(code):
            kind, registers, offset, number = struct.unpack_from("<BBhi", code, place)
            to, source = registers & 15, registers >> 4
            if (kind & 7 in STORE and to == FRAME) or (kind & 7 in LOAD and source == FRAME):
                lowest = min(lowest, offset)
            elif kind == MOVE and source == FRAME:
                copies[to] = place
            elif kind == ADD and copies.get(to) == place - 8:
                lowest = min(lowest, number)
            elif kind == CALL and source == TO_FUNCTION:
                symbol = moved.get((section, at + place), "")
                # A function by its name, or by its distance: from here, or in .text.
                if symbol and not symbol.startswith("."):
                    self.calls[name].add(symbol)
                else:
                    base = 0 if symbol else at + place
                    self.calls[name].add(places[symbol or section, base + 8 * (number + 1)])
            place += 16 if kind == WIDE else 8
        self.own[name] = -lowest

    def deepest(self, name: str) -> int:
        """Bytes that it and those below it take."""
        return (max(self.own[name], 1) + STEP - 1) // STEP * STEP + max(
            (self.deepest(other) for other in self.calls[name]), default=0)
