# SPDX-License-Identifier: GPL-2.0-or-later
"""An account as text, and a recording as CSV."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from isolator_report import duration

from .account import Account
from .document import titles
from .instrument import parse
from .protocol import Afterthought, Packet, Record, Stray, Trigger, Welcome
from .recording import Kind, Reader

PERCENTS = (50.0, 99.0, 99.9, 99.99)
HEAD = ("line", "triggers", "answered", "late", "missing", "strays", "min", "mean",
        *(f"p{one:g}" for one in PERCENTS), "max")


def _time(ns: float | None) -> str:
    return "-" if ns is None else "missing" if ns < 0 else duration.time(ns)


def table(account: Account) -> list[str]:
    """One row for each line that has anything to say."""
    rows = [HEAD]
    for name, line in zip(titles(account.lines), account.lines, strict=True):
        if not (line.triggers or line.strays):
            continue
        values = line.values
        rows.append((
            name, *(str(count) for count in (line.triggers, line.answered, line.late,
                                             line.missing, line.strays)),
            _time(values.least if values.count else None), _time(values.mean),
            *(_time(one) for one in values.said(PERCENTS, line.missing)),
            _time(values.most if values.count else None)))
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    return ["  ".join(cell.ljust(width) if not place else cell.rjust(width)
                      for place, (cell, width) in enumerate(zip(row, widths, strict=True))
                      ).rstrip() for row in rows]


CSV = ("record", "trigger", "at_ns", "jitter_ns", "line", "name", "state", "ns")


def rows(record: Record, names: list[str]) -> Iterator[tuple[object, ...]]:
    """The rows of one record.  A missing answer has no time."""
    def name(line: int) -> str:
        return names[line] if line < len(names) else ""

    if isinstance(record, Trigger):
        answers = {one.line: one for one in record.answers}
        for line in range(record.mask.bit_length()):
            if record.mask >> line & 1:
                one = answers.get(line)
                state = "missing" if one is None else "late" if one.late else "answered"
                yield ("trigger", record.trigger, record.at_ns, record.jitter_ns, line,
                       name(line), state, "" if one is None else one.ns)
    elif isinstance(record, Afterthought):
        yield ("afterthought", record.trigger, "", "", record.line, name(record.line), "late",
               record.ns)
    elif isinstance(record, Stray):
        yield ("stray", "", record.at_ns, "", record.line, name(record.line), "stray", "")
    else:
        yield ("gap", record.first, "", "", "", "", f"until {record.last}", "")


RECORDS = 200  # at once


def csv_text(path: Path) -> Iterator[str]:
    """A recording, record by record, some of them at a time."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(CSV)
    names: list[str] = []
    count = 0
    reader = Reader(path)
    try:
        for entry in reader:
            if entry.kind != Kind.FRAME:
                continue
            _, message = parse(entry.content, path)
            if isinstance(message, Welcome):
                names = [new or (names[place] if place < len(names) else "")
                         for place, new in enumerate(message.names)]
            elif isinstance(message, Packet):
                for record in message.records:
                    writer.writerows(rows(record, names))
                count += len(message.records)
                if count >= RECORDS:
                    count = 0
                    yield out.getvalue()
                    out.seek(0)
                    out.truncate()
    finally:
        reader.close()
    yield out.getvalue()
