# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings: what came from the generator, appended as it came, each with the host's time.

A file begins with MAGIC.  Then entries: u32 length of the content, u32 CRC-32 of what
follows it, u64 host's time in ns since 1970, u8 kind, content; little-endian.  Each entry is
one write(): a program that is killed leaves at most one torn entry, the last one, which is
cut off and counted when the file is opened again.
"""

import fcntl
import json
import os
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from .errors import Inconclusive, ScopeError

MAGIC = b"ISCOPREC\x01\0\0\0"
HEAD = struct.Struct("<IIQB")
SEALED = struct.Struct("<QB")  # of the head, what the checksum covers beside the content
MOST = 1 << 20  # bytes of a content
CHUNK = 1 << 18
TIME_BITS = 62  # of a time in ns: until 2116


class Kind(IntEnum):
    """What an entry holds."""

    FRAME = 0  # from the generator, as received
    COMMAND = 1  # to the generator, as sent; never a HELLO, which has the token
    NOTE = 2  # JSON: connected, cut, cut off, ended


@dataclass(frozen=True)
class Entry:
    """One entry, and where it begins and ends."""

    at: int
    kind: int
    content: bytes
    begin: int
    end: int

    def note(self) -> dict[str, Any]:
        """The content of a NOTE; of one that is no JSON nothing."""
        try:
            data = json.loads(self.content)
            json.dumps(data, ensure_ascii=False).encode()  # ValueError: half a character
        except (ValueError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}


def pack(kind: int, content: bytes, at: int) -> bytes:
    """An entry's bytes."""
    sealed = SEALED.pack(at, kind)
    crc = zlib.crc32(content, zlib.crc32(sealed))
    return struct.pack("<II", len(content), crc) + sealed + content


class Reader:
    """Reads from the beginning as far as entries are whole; more may be appended meanwhile.

    Or from `at` on, where an entry begins.  Of a long recording only a piece is in memory.
    """

    def __init__(self, path: Path, at: int = 0) -> None:
        self.path = path
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as problem:
            raise ScopeError(f"{path}: {problem.strerror}") from problem
        head = self._file.read(len(MAGIC))
        if head != MAGIC:
            self._file.close()
            raise ScopeError(f"{path}: not a recording of isolator-scope")
        self._buffer = bytearray()
        self._place = 0  # in the buffer
        self.good = max(len(MAGIC), at)  # the file is whole up to here
        self._file.seek(self.good)

    def close(self) -> None:
        """No more is read."""
        self._file.close()

    @property
    def size(self) -> int:
        """Of the file, in bytes."""
        return os.fstat(self._file.fileno()).st_size

    def _have(self, count: int) -> bool:
        while len(self._buffer) - self._place < count:
            del self._buffer[:self._place]
            self._place = 0
            more = self._file.read(max(CHUNK, count - len(self._buffer)))
            if not more:
                return False
            self._buffer += more
        return True

    def next(self) -> Entry | None:
        """The next whole entry; None: there is none (yet)."""
        if not self._have(HEAD.size):
            return None
        length, crc, at, kind = HEAD.unpack_from(self._buffer, self._place)
        if length > MOST or at >> TIME_BITS or not self._have(HEAD.size + length):
            return None
        start = self._place + HEAD.size
        content = bytes(self._buffer[start:start + length])
        if zlib.crc32(content, zlib.crc32(SEALED.pack(at, kind))) != crc:
            return None
        self._place = start + length
        begin, self.good = self.good, self.good + HEAD.size + length
        return Entry(at, kind, content, begin, self.good)

    def __iter__(self) -> Iterator[Entry]:
        while (entry := self.next()) is not None:
            yield entry

    def rest(self) -> int:
        """Bytes after the last whole entry."""
        return self.size - self.good

    def torn(self) -> bool:
        """Is the rest one entry that was being written, or zeros that were never written?

        Else the file is damaged further up, and what follows must not be cut off.
        """
        rest = self.rest()
        if rest <= HEAD.size:
            return True
        self._file.seek(self.good)
        raw = self._file.read(min(rest, MOST + HEAD.size))
        self._file.seek(self.good)
        self._buffer.clear()
        self._place = 0
        if rest <= len(raw) and not any(raw):
            return True
        length = int(HEAD.unpack_from(raw)[0])
        return length <= MOST and rest <= HEAD.size + length


def seal(path: Path, place: int) -> int | None:
    """A checksum of the bytes before that place; None: the file is shorter."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < place:
                return None
            begin = file.read(CHUNK)[:place]
            file.seek(max(place - CHUNK, 0))
            return zlib.crc32(file.read(place - max(place - CHUNK, 0)), zlib.crc32(begin))
    except OSError:
        return None


def being_written(path: Path) -> bool:
    """Does a program hold it open for writing?"""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


class Recording:
    """A file that is appended to; new, or gone on with.

    `cut` is how many bytes of a torn entry were cut off.  Only one program writes at a time.
    `known`: up to there it was read before, and is whole.
    """

    def __init__(self, path: Path, known: int = 0) -> None:
        self.path, self._known = path, known
        self.cut = self.written = self.synced = 0  # bytes
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as problem:
            raise ScopeError(f"{path}: {problem.strerror}") from problem
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(self._file)
            raise ScopeError(f"{path}: another program writes it; take another file") from problem
        try:
            self._prepare()
        except BaseException:
            os.close(self._file)
            raise
        self.written = os.fstat(self._file).st_size

    def _prepare(self) -> None:
        size = os.fstat(self._file).st_size
        if size < len(MAGIC) and MAGIC.startswith(os.pread(self._file, size, 0)):
            os.ftruncate(self._file, 0)
            self._write(MAGIC)
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(self._file)
                os.fsync(folder)  # its name, too
            finally:
                os.close(folder)
            return
        reader = Reader(self.path, self._known)
        try:
            for _ in reader:
                pass
            self.cut = reader.rest()
            if self.cut and not reader.torn():
                raise Inconclusive(f"{self.path}: damaged at byte {reader.good}; it can be "
                                   "replayed up to there, record to another file")
            if self.cut:
                os.ftruncate(self._file, reader.good)
                self.note(event="cut off", bytes=self.cut)
        finally:
            reader.close()

    def _write(self, data: bytes) -> None:
        done = os.write(self._file, data)
        if done != len(data):  # the disk is full in the middle of it
            os.ftruncate(self._file, os.fstat(self._file).st_size - done)
            raise ScopeError(f"{self.path}: no space left on the disk")

    def append(self, kind: int, content: bytes, at: int | None = None) -> None:
        """One entry, with the host's time `at`, or now."""
        data = pack(kind, content, time.time_ns() if at is None else at)
        try:
            self._write(data)
        except OSError as problem:
            raise ScopeError(f"{self.path}: {problem.strerror}") from problem
        self.written += len(data)

    def note(self, at: int | None = None, /, **words: Any) -> None:
        """What happened, as JSON; now, or at the host's time `at`."""
        self.append(Kind.NOTE, json.dumps(words).encode(), at)

    def sync(self) -> None:
        """All that was appended is on the disk when this returns."""
        upto = self.written
        try:
            os.fdatasync(self._file)
        except OSError as problem:
            raise ScopeError(f"{self.path}: {problem.strerror}") from problem
        self.synced = upto

    def close(self) -> None:
        """Synced and given up."""
        if self._file >= 0:
            try:
                self.sync()
            finally:
                os.close(self._file)
                self._file = -1
