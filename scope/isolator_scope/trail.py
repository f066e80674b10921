# SPDX-License-Identifier: GPL-2.0-or-later
"""What happened when: columns of 10 ms, and of 4, 16, 64, … times as long, newest kept.

A column holds the exact maximum of its time, at every level: what is seen zoomed in is
seen zoomed out.  The finest levels reach back seconds, the coarsest more than a day.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

BASE = 10_000_000  # ns
LEVELS = 8  # the coarsest column is 163.84 s
RING = 640  # columns of each level: 6.4 s, 25.6 s, …, 29 h
NONE = -1  # the maximum and the minimum of a column without a value

LARGEST = (1 << 63) - 1  # sum of a column: more does not fit

# A column of one line: maximum, minimum, sum, count, late, missing.
MOST, LEAST, SUM, COUNT, LATE, MISSING = range(6)

Row = list[list[int] | None]  # a column of all lines; None: nothing is known of that time


def empty() -> list[int]:
    """A column in which nothing was so far."""
    return [NONE, NONE, 0, 0, 0, 0]


def heard(column: list[int] | None) -> bool:
    """Was there a trigger for that line?"""
    return column is not None and bool(column[COUNT] or column[MISSING])


@dataclass(eq=False)  # each is one reader's own
class Cursor:
    """What a reader has seen: all columns of its level below `low`, as they were."""

    level: int
    low: int = 0


class Level:
    """A ring of columns; a slot counts only while its stamp is the column's number."""

    def __init__(self, lines: int) -> None:
        self.stamp = array("q", [-1]) * RING
        self.rows: list[list[array[int]]] = []
        self.widen(lines)

    def widen(self, lines: int) -> None:
        """As many lines as that; the new ones have had nothing so far."""
        for _ in range(len(self.rows), lines):
            row = [array("q", [0]) * RING for _ in range(6)]
            row[MOST], row[LEAST] = array("q", [NONE]) * RING, array("q", [NONE]) * RING
            self.rows.append(row)

    def slot(self, index: int) -> int:
        """Where column `index` is, emptied if it was another's; -1: it is too old."""
        slot = index % RING
        if self.stamp[slot] != index:
            if self.stamp[slot] > index:
                return -1
            self.stamp[slot] = index
            for row in self.rows:
                row[MOST][slot] = row[LEAST][slot] = NONE
                row[SUM][slot] = row[COUNT][slot] = row[LATE][slot] = row[MISSING][slot] = 0
        return slot

    def merge(self, index: int, line: int, more: list[int]) -> None:
        """Add a column's values to one of the same time."""
        slot = self.slot(index)
        if slot < 0:
            return
        row = self.rows[line]
        if more[MOST] > row[MOST][slot]:
            row[MOST][slot] = more[MOST]
        if more[LEAST] >= 0 and not 0 <= row[LEAST][slot] <= more[LEAST]:
            row[LEAST][slot] = more[LEAST]
        for kind in (SUM, COUNT, LATE, MISSING):
            row[kind][slot] = min(max(row[kind][slot] + more[kind], 0), LARGEST)

    def read(self, index: int, line: int) -> list[int] | None:
        """A column; None: nothing is known of that time."""
        slot = index % RING
        if self.stamp[slot] != index:
            return None
        return [values[slot] for values in self.rows[line]]


class Trail:
    """Columns of all lines.  Times are ns of the host's clock and go forward only.

    A level's column is added to the next level when it has ended, once; the columns that
    are open are added up when they are read.
    """

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.levels = [Level(lines) for _ in range(LEVELS)]
        self.now = -1  # the open column of level 0
        self.open = [empty() for _ in range(lines)]
        self.cursors: list[Cursor] = []

    def widen(self, lines: int) -> None:
        """More lines; what is known of the others stays."""
        for level in self.levels:
            level.widen(lines)
        self.open += [empty() for _ in range(lines - self.lines)]
        self.lines = lines

    def advance(self, at: int) -> None:
        """Time is `at`; what comes next belongs to its column."""
        index = at // BASE
        if index <= self.now:
            return
        before, self.now = self.now, index
        if before < 0:
            return
        for line, column in enumerate(self.open):
            if column[COUNT] or column[MISSING]:
                self.levels[0].merge(before, line, column)
                column[:] = (NONE, NONE, 0, 0, 0, 0)
        for level in range(LEVELS - 1):
            ended, begun = before >> 2 * level, index >> 2 * level
            if ended == begun:
                break
            for line in range(self.lines):
                column_ = self.levels[level].read(ended, line)
                if column_ is not None and (column_[COUNT] or column_[MISSING]):
                    self.levels[level + 1].merge(ended >> 2, line, column_)

    def value(self, line: int, ns: int, late: bool) -> None:
        """An answer in the open column."""
        column = self.open[line]
        if ns > column[0]:
            column[0] = ns
        if ns < column[1] or column[1] < 0:
            column[1] = ns
        column[2] += ns
        column[3] += 1
        if late:
            column[4] += 1

    def missing(self, line: int) -> None:
        """A trigger of the open column without an answer."""
        self.open[line][MISSING] += 1

    def found(self, line: int, at: int, ns: int) -> None:
        """What was missing of a trigger at `at` came late after all."""
        index = at // BASE
        change = [ns, ns, ns, 1, 1, -1]
        if index >= self.now:
            column = self.open[line]
            self.value(line, ns, True)
            column[MISSING] = max(column[MISSING] - 1, 0)  # its trigger may be of another column
            return
        self.levels[0].merge(index, line, change)
        for level in range(1, LEVELS):
            below = 2 * (level - 1)
            if index >> below >= self.now >> below:
                break  # it is added when that column ends
            self.levels[level].merge(index >> 2 * level, line, change)
        for cursor in self.cursors:
            cursor.low = min(cursor.low, index >> 2 * cursor.level)

    def read(self, level: int, index: int, line: int) -> list[int] | None:
        """A column, with what is open in it; None: nothing is known of that time."""
        found = self.levels[level].read(index, line)
        if index != self.now >> 2 * level:
            return found
        parts = [self.levels[below].read(self.now >> 2 * below, line) for below in range(level)]
        found = found or empty()
        for more in (*parts, self.open[line]):
            if more is not None:
                found[MOST] = max(found[MOST], more[MOST])
                if more[LEAST] >= 0:
                    found[LEAST] = min(found[LEAST], more[LEAST]) if found[LEAST] >= 0 \
                        else more[LEAST]
                for kind in (SUM, COUNT, LATE, MISSING):
                    found[kind] += more[kind]
        return found

    def row(self, level: int, index: int) -> Row:
        """A column of all lines."""
        return [self.read(level, index, line) for line in range(self.lines)]

    def span(self, level: int) -> range:
        """The columns of a level that can still be read."""
        now = self.now >> 2 * level if self.now >= 0 else -1
        return range(max(now - RING + 1, 0), now + 1)

    def since(self, cursor: Cursor) -> Iterator[tuple[int, Row]]:
        """The columns that changed since the cursor's last look, each with all its lines."""
        span = self.span(cursor.level)
        start = max(span.start, cursor.low)
        cursor.low = max(span.stop - 1, 0)  # the open one again, next time
        for index in range(start, span.stop):
            row = self.row(cursor.level, index)
            if any(map(heard, row)):
                yield index, row
