# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of the scope protocol: magic, version, length, sequence, checksum.

docs/scope-protocol.md specifies them; scope/frame/ is the same in C.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = 0x50435349  # "ISCP"
VERSION = 1
PAYLOAD_MAX = 65536
HEAD = struct.Struct("<IBBHIII")
_CHECKED = HEAD.size - 4  # bytes of the head that the checksum covers
_MARK = MAGIC.to_bytes(4, "little")


class ProtocolError(Exception):
    """What came is not the protocol; on TCP the connection has to be closed."""


@dataclass(frozen=True)
class Frame:
    """One frame whose checksum was right."""

    type: int
    sequence: int
    payload: bytes = b""


def encode_frame(frame: Frame) -> bytes:
    """Its bytes.  Raises ValueError for a payload that is too long."""
    if len(frame.payload) > PAYLOAD_MAX:
        raise ValueError(f"a payload of {len(frame.payload)} bytes; {PAYLOAD_MAX} is the most")
    head = HEAD.pack(MAGIC, VERSION, frame.type, 0, len(frame.payload), frame.sequence, 0)
    crc = zlib.crc32(frame.payload, zlib.crc32(head[:_CHECKED]))
    return head[:_CHECKED] + crc.to_bytes(4, "little") + frame.payload


class FrameReader:
    """Cuts a stream of bytes into frames.

    With `resync` (a serial line) what is no frame is skipped and counted, and so are frames
    that never came; without (TCP) it is a ProtocolError, after which the reader is of no use.
    """

    def __init__(self, resync: bool = False) -> None:
        self.resync = resync
        self.skipped = 0  # bytes that belong to no frame
        self.missed = 0  # frames, told by the sequence
        self._next: int | None = None if resync else 0
        self._buffer = bytearray()

    def restart(self) -> None:
        """The peer's sequence begins anew: a HELLO was sent on a serial line."""
        self._next = None

    def abandon(self) -> None:
        """Give up a frame that was begun and does not go on; for a serial line, after 1 s."""
        if self._buffer:
            self._skip(1)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that end within `data`, each as it is asked for.

        So what came whole before the peer went wrong counts: ProtocolError comes after it.
        """
        self._buffer += data
        return iter(self._take, None)

    def _skip(self, count: int) -> None:
        self.skipped += count
        del self._buffer[:count]

    def _bad(self, why: str) -> None:
        if not self.resync:
            raise ProtocolError(why)
        self._skip(1)

    def _find_mark(self) -> bool:
        """Is there a head that begins with the magic at the beginning of the buffer?"""
        while True:
            begin = bytes(self._buffer[:4])
            if begin == _MARK[:len(begin)]:
                return len(self._buffer) >= HEAD.size
            self._bad("no magic where a frame should begin")
            at = self._buffer.find(_MARK[:1])
            self._skip(len(self._buffer) if at < 0 else at)

    def _take(self) -> Frame | None:
        while self._find_mark():
            _, version, kind, flags, length, sequence, crc = HEAD.unpack_from(self._buffer)
            if version != VERSION or flags or length > PAYLOAD_MAX:
                self._bad(f"a frame of version {version}, flags {flags:#x}, {length} bytes")
                continue
            if len(self._buffer) < HEAD.size + length:
                return None
            payload = bytes(self._buffer[HEAD.size:HEAD.size + length])
            if zlib.crc32(payload, zlib.crc32(self._buffer[:_CHECKED])) != crc:
                self._bad("a frame whose checksum is wrong")
                continue
            self._follow(sequence)
            del self._buffer[:HEAD.size + length]
            return Frame(kind, sequence, payload)
        return None

    def _follow(self, sequence: int) -> None:
        if self._next is not None and sequence != self._next:
            if not self.resync:
                raise ProtocolError(f"frame {sequence} came where {self._next} was due")
            self.missed += (sequence - self._next) & 0xFFFFFFFF
        self._next = (sequence + 1) & 0xFFFFFFFF
