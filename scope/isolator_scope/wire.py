# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers to and from bytes, little-endian."""

import functools
import struct

from .frame import ProtocolError


@functools.cache
def form(layout: str) -> struct.Struct:
    """Little-endian integers; made once for each layout."""
    return struct.Struct("<" + layout)


class Input:
    """Reads a payload from its beginning; too short is a ProtocolError."""

    def __init__(self, payload: bytes) -> None:
        self._payload, self._at = payload, 0

    def take(self, layout: str) -> tuple[int, ...]:
        """Integers, little-endian."""
        one = form(layout)
        if self._at + one.size > len(self._payload):
            raise ProtocolError(f"it ends after {len(self._payload)} bytes, too early")
        values = one.unpack_from(self._payload, self._at)
        self._at += one.size
        return values

    def one(self, layout: str) -> int:
        """A single integer."""
        return self.take(layout)[0]

    def raw(self, size: int) -> bytes:
        """The next bytes as they are."""
        if self._at + size > len(self._payload):
            raise ProtocolError(f"it ends after {len(self._payload)} bytes, too early")
        self._at += size
        return self._payload[self._at - size:self._at]

    def end(self) -> None:
        """There must be no more."""
        if self._at != len(self._payload):
            raise ProtocolError(f"{len(self._payload) - self._at} bytes too many")


def pack(layout: str, *values: int) -> bytes:
    """ValueError for a value out of its range, as all encoders have it."""
    try:
        return form(layout).pack(*values)
    except struct.error as error:
        raise ValueError(str(error)) from error
