# SPDX-License-Identifier: GPL-2.0-or-later
"""The index of a recording: a directory beside it, from which any of its times is found at once.

It can be deleted: it is made again from the recording.  `marks` relates times to places in the
recording; `columns-LEVEL-LINES` holds the coarse columns of the trail for good; `checkpoint` is
the account as it was at a place of the recording.  All have rows of one size, in the order of
time, so that nothing of them is in memory.
"""

import fcntl
import json
import mmap
import os
import re
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .records import LINES_MAX
from .trail import LEVELS, RING, Row, Trail, empty, heard

VERSION = 1
COARSE = 3  # the finest level that is kept; finer ones are read out of the recording
MOST = 1 << 27  # bytes of a checkpoint, unpacked
OWN = os.O_CLOEXEC | os.O_NOFOLLOW
LAG = 64  # columns: what comes that late is in no column any more
MARK = struct.Struct("<qqqq")  # host's time, place in the recording, trigger, clock's offset
COLUMN = struct.Struct("<qqqIII")  # maximum, minimum, sum, count, late, missing
EACH = 1_000_000_000  # ns between marks
LATEST = 10_000_000_000  # ns: the longest patience, and so how late an afterthought may be


class Rows:
    """A file of rows of one size whose first number ascends."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | OWN, 0o644)
        self.count = os.fstat(self._file).st_size // size
        self._map: mmap.mmap | None = None

    def cut(self, count: int) -> None:
        """Only the first ones are valid."""
        self.count = min(self.count, count)
        os.ftruncate(self._file, self.count * self.size)

    def add(self, row: bytes) -> None:
        """The next one."""
        os.write(self._file, row)
        self.count += 1

    def row(self, number: int) -> bytes:
        """One of them."""
        at = number * self.size
        if self._map is None or len(self._map) < at + self.size:
            self._map = mmap.mmap(self._file, self.count * self.size, prot=mmap.PROT_READ)
        return self._map[at:at + self.size]

    def first(self, number: int) -> int:
        """What a row is found by."""
        return int(struct.unpack_from("<q", self.row(number))[0])

    def find(self, wanted: int) -> int:
        """The first row from there on."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.first(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def close(self) -> None:
        """No more."""
        if self._map is not None:
            self._map.close()
        os.close(self._file)


class Index:
    """Of one recording, made while it is read or written."""

    def __init__(self, recording: Path) -> None:
        self.folder = recording.with_name(recording.name + ".index")
        self._own: tempfile.TemporaryDirectory[str] | None = None
        self._lock = self._locked()
        self.marks = Rows(self.folder / "marks", MARK.size)
        self._columns: dict[tuple[int, int], Rows] = {}
        self._done = [-1] * LEVELS  # of each level, the last column that is kept
        for path in sorted(self.folder.glob("columns-*-*")):
            found = re.fullmatch(r"columns-([0-9])-([0-9]{1,2})", path.name)
            if found and COARSE <= int(found[1]) < LEVELS and int(found[2]) <= LINES_MAX:
                self._rows(int(found[1]), int(found[2]))

    def _locked(self) -> int:
        """One program has it; others, and those that may not write here, make their own."""
        try:
            self.folder.mkdir(exist_ok=True)
            lock = -1 if self._leads_away() else os.open(
                self.folder / "lock", os.O_RDWR | os.O_CREAT | OWN, 0o644)
        except OSError:
            lock = -1
        if lock >= 0:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except OSError:
                os.close(lock)
        self._own = tempfile.TemporaryDirectory(prefix="isolator-scope-")
        self.folder = Path(self._own.name)
        return -1

    def _leads_away(self) -> bool:
        """Would what is written to it be written elsewhere?  It may have come with a recording."""
        return self.folder.is_symlink() or any(one.is_symlink() for one in self.folder.iterdir())

    def _rows(self, level: int, lines: int) -> Rows:
        key = level, lines
        if key not in self._columns:
            self._columns[key] = Rows(self.folder / f"columns-{level}-{lines}",
                                      8 + lines * COLUMN.size)
        return self._columns[key]

    def clear(self) -> None:
        """It is not of this recording, or not whole: from the beginning."""
        for rows in (self.marks, *self._columns.values()):
            rows.cut(0)
        self._done = [-1] * LEVELS
        (self.folder / "checkpoint").unlink(missing_ok=True)

    def mark(self, wall: int, place: int, trigger: int, offset: int) -> None:
        """Records of triggers from `wall` on begin at that place of the recording."""
        if not self.marks.count or wall - self.marks.first(self.marks.count - 1) >= EACH:
            self.marks.add(MARK.pack(wall, place, trigger, offset))

    def follow(self, trail: Trail) -> None:
        """Keep the columns that change no more."""
        if trail.now < 0:
            return
        for level in range(COARSE, LEVELS):
            now = trail.now >> 2 * level
            upto = now - LAG
            if upto <= self._done[level]:
                continue
            rows = self._rows(level, trail.lines)
            for index in range(max(self._done[level] + 1, now - RING + 1), upto + 1):
                row = trail.row(level, index)
                if any(map(heard, row)):
                    rows.add(struct.pack("<q", index) + b"".join(
                        COLUMN.pack(*(one or empty())) for one in row))
            self._done[level] = upto

    def columns(self, level: int, first: int, last: int) -> Iterator[tuple[int, Row]]:
        """Those that it keeps; `level` is a coarse one."""
        for (kept, _), rows in sorted(self._columns.items()):
            if kept != level:
                continue
            number = rows.find(first)
            while number < rows.count and (index := rows.first(number)) <= last:
                yield index, [one if heard(one) else None for one in
                              map(list, COLUMN.iter_unpack(rows.row(number)[8:]))]
                number += 1

    def place(self, wall: int) -> int | None:
        """Where to begin reading the recording for what was triggered from `wall` on."""
        number = self.marks.find(wall) - 1
        if not self.marks.count:
            return None
        return int(MARK.unpack(self.marks.row(max(number, 0)))[1])

    def offset(self, wall: int) -> int:
        """From the generator's clock to the host's, then."""
        number = self.marks.find(wall + 1) - 1
        return int(MARK.unpack(self.marks.row(max(number, 0)))[3]) if self.marks.count else 0

    def triggered(self, trigger: int) -> int | None:
        """About when a trigger was, by its number in the newest session that has it."""
        for number in range(self.marks.count - 1, -1, -1):
            row = MARK.unpack(self.marks.row(number))
            if row[2] <= trigger:
                return int(row[0])
        return None

    def save(self, place: int, seal: int, account: dict[str, Any]) -> None:
        """The account as it is at that place, whose last bytes have that checksum."""
        counts = {rows.path.name: rows.count for rows in (self.marks, *self._columns.values())}
        text = json.dumps({"version": VERSION, "place": place, "seal": seal, "rows": counts,
                           "done": self._done, "account": account})
        beside = self.folder / "checkpoint.new"
        beside.unlink(missing_ok=True)
        with beside.open("xb") as out:  # follows no link
            out.write(zlib.compress(text.encode(), 1))
        os.replace(beside, self.folder / "checkpoint")

    def restore(self) -> dict[str, Any] | None:
        """The last checkpoint; None: there is none that makes sense, and all is cleared."""
        try:
            found = json.loads(zlib.decompressobj().decompress(
                (self.folder / "checkpoint").read_bytes(), MOST))
            if found["version"] != VERSION:
                raise ValueError
            for rows in (self.marks, *self._columns.values()):
                rows.cut(int(found["rows"].get(rows.path.name, 0)))
            self._done = [int(one) for one in found["done"]]
            if len(self._done) != LEVELS:
                raise ValueError
        except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError,
                RecursionError, zlib.error):
            self.clear()
            return None
        return dict(found)

    def close(self) -> None:
        """No more."""
        for rows in (self.marks, *self._columns.values()):
            rows.close()
        if self._lock >= 0:
            os.close(self._lock)
        if self._own is not None:
            self._own.cleanup()
