# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the archives that initramfs.py writes."""


def unpack(data: bytes) -> dict[str, tuple[int, bytes]]:
    """Mode and content of each entry of a newc archive."""
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, length = fields[1], fields[6], fields[11]
        name = data[at + 110 : at + 110 + length - 1].decode()
        if name == "TRAILER!!!":
            return found
        at += (110 + length + 3) // 4 * 4
        found[name] = mode, data[at : at + size]
        at += (size + 3) // 4 * 4
