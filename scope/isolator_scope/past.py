# SPDX-License-Identifier: GPL-2.0-or-later
"""What was long ago: columns and triggers out of a recording, at any time of it.

Its functions open the recording themselves, so that a thread can run them beside the account.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .bounds import read
from .frame import HEAD
from .index import COARSE, LATEST, Index
from .protocol import (
    ANSWER_LATE,
    Afterthought,
    Frame,
    Packet,
    ProtocolError,
    Record,
    Trigger,
)
from .recording import Entry, Kind, Reader
from .trail import BASE, COUNT, LATE, LEAST, MISSING, MOST, SUM, Row, Trail, empty

MOST_TRIGGERS = 500_000  # that one question reads; the page asks on


@dataclass(frozen=True)
class Place:
    """Where to begin reading, and how the generator's clock was related to the host's there."""

    path: Path
    at: int
    offset: int


def packet(entry: Entry) -> Packet | None:
    """Of an entry that is one."""
    if entry.kind != Kind.FRAME or len(entry.content) < HEAD.size:
        return None
    _, _, kind, _, _, sequence, _ = HEAD.unpack_from(entry.content)
    if kind != Packet.TYPE:
        return None
    try:
        message = read(Frame(kind, sequence, entry.content[HEAD.size:]))
    except ProtocolError:
        return None
    return message if isinstance(message, Packet) else None


def records(place: Place, since: int, until: int, most: int) -> Iterator[tuple[int, Record]]:
    """The host's time of its trigger, and the record; afterthoughts have the time before them.

    Of the triggers from `since` on no more than `most`.
    """
    reader, wall, triggers = Reader(place.path, place.at), since, 0
    try:
        for entry in reader:
            found = packet(entry)
            for record in found.records if found is not None else ():
                if isinstance(record, Trigger):
                    wall = record.at_ns + place.offset
                    triggers += wall >= since
                yield wall, record
            if wall > until + LATEST or triggers > most:
                return
    finally:
        reader.close()


def columns(place: Place, level: int, first: int, last: int, lines: int
            ) -> tuple[dict[int, Row], int]:
    """Of a fine level, and the last one that was read: at least the first."""
    each = BASE << 2 * level
    left = MOST_TRIGGERS
    found: dict[int, Row] = {}
    seen: dict[int, int] = {}  # the column of each trigger
    # As many again for what answers late of those.
    for wall, record in records(place, first * each, (last + 1) * each, 2 * MOST_TRIGGERS):
        if wall > (last + 1) * each + LATEST:
            break
        if isinstance(record, Trigger):
            index = wall // each
            if first <= index <= last:
                left -= 1
                if not left:
                    last = max(first, index - 1)
            if first <= index <= last:
                seen[record.trigger] = index
                _add(found.setdefault(index, [None] * lines), record)
        elif isinstance(record, Afterthought) and record.trigger in seen:
            row = found[seen[record.trigger]]
            if record.line < lines and (column := row[record.line]) is not None:
                column[MISSING] -= 1
                column[LATE] += 1
                _value(column, record.ns)
    return {index: row for index, row in found.items() if index <= last}, last


def _value(column: list[int], ns: int) -> None:
    column[MOST] = max(column[MOST], ns)
    column[LEAST] = ns if column[LEAST] < 0 else min(column[LEAST], ns)
    column[SUM] += ns
    column[COUNT] += 1


def _add(row: Row, record: Trigger) -> None:
    left = record.mask
    for answer in record.answers:
        left &= ~(1 << answer.line)
        if answer.line < len(row):
            column = row[answer.line]
            if column is None:
                column = row[answer.line] = empty()
            _value(column, answer.ns)
            column[LATE] += answer.flags & ANSWER_LATE
    for line in range(len(row)):
        if left >> line & 1:
            column = row[line]
            if column is None:
                column = row[line] = empty()
            column[MISSING] += 1


@dataclass
class Found:
    """A trigger of long ago."""

    trigger: int
    wall: int
    jitter: int
    mask: int
    answers: list[tuple[int, int, bool]]


def trigger(place: Place, since: int, until: int, number: int | None = None,
            line: int | None = None) -> Found | None:
    """The one of that number; or the one whose answer on that line, or on any, took longest.

    It reads on behind `until` only as long as something there may answer late.
    """
    best, worst = None, -1
    after = (-1, -1)  # of what came after its trigger: how long it took, whose it is
    numbers, unanswered = range(0), 0
    for wall, record in records(place, since, until, 2 * MOST_TRIGGERS):
        if wall > until and not unanswered:
            break
        if isinstance(record, Trigger) and since <= wall <= until:
            if number is not None and record.trigger != number:
                continue
            numbers = range(min(numbers.start or record.trigger, record.trigger),
                            max(numbers.stop, record.trigger + 1))
            unanswered += record.mask.bit_count() - len(record.answers)
            most = max((one.ns for one in record.answers if line in (None, one.line)), default=-1)
            if best is None or most > worst:
                best, worst = Found(record.trigger, wall, record.jitter_ns, record.mask, [
                    (one.line, one.ns, one.late) for one in record.answers]), most
        elif isinstance(record, Afterthought) and record.trigger in numbers:
            unanswered -= 1
            if best is not None and record.trigger == best.trigger:
                best.answers.append((record.line, record.ns, True))
            if line in (None, record.line):
                after = max(after, (record.ns, record.trigger))
    if number is None and after[0] > worst:
        return trigger(place, since, until, after[1])
    return best


def narrowed(index: Index, trail: Trail, since: int, until: int, line: int | None
             ) -> tuple[int, int]:
    """Of a stretch of time, the coarse column with the longest answer: all of it is not read."""
    each = BASE << 2 * COARSE
    first, last, kept = since // each, until // each, trail.span(COARSE)
    if until - since <= each:
        return since, until
    rows = dict(index.columns(COARSE, first, last)) | {
        number: trail.row(COARSE, number)
        for number in range(max(first, kept.start), min(last + 1, kept.stop))}
    _, best = max(((column[MOST], -number) for number, row in rows.items()
                   for place, column in enumerate(row)
                   if column is not None and line in (None, place)), default=(-1, 0))
    return (max(since, -best * each), min(until, -best * each + each - 1)) if best else \
        (since, until)


def at(index: Index, path: Path, wall: int) -> Place | None:
    """Where to begin for what was triggered from then on; None: the index has nothing."""
    place = index.place(wall)
    return None if place is None else Place(path, place, index.offset(wall))
