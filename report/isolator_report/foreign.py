# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of other programs as documents: cyclictest, oslat, jitterdebugger, rtla.

What they did not write is not known, and nothing is made up for it: a tail that was cut
off is `overflow`, of which only the largest value is known.  Marked by method "fed", the
setting `imported` and the last line.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from . import build
from .document import MOST, NS, Result, stamp
from .errors import InvalidResult, ReportError
from .histogram import HIGHEST, Histogram

US = 1000
ALWAYS = ("when each value was measured, so that there is no timeline and no cause",
          "what was asked of the threads and of the machine, and whether it held",
          "what the instrument itself adds")


@dataclass
class Column:
    """One histogram of another program; counts by value in ns."""

    name: str
    cpu: int
    counts: dict[int, int]
    values: int  # how many it says that it took
    least: int | None
    most: int | None
    mean: float | None
    over: int = 0  # of these, those in its last bucket which holds all above


@dataclass
class Foreign:
    """What is common to all formats."""

    program: str
    measure: str
    columns: list[Column]
    resolution: int
    began: int | None = None
    ended: int | None = None
    kernel: str | None = None
    command: str | None = None
    unknown: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def _number(value: Any, what: str) -> int:
    """A count or a time of a foreign file."""
    if isinstance(value, bool) or not isinstance(value, int | str) or \
            not re.fullmatch(r"\d{1,18}", str(value)):
        raise ReportError(f"{what} is {json.dumps(value)[:40]}, not a number")
    return int(value)


def _mean(value: Any, unit: int) -> float | None:
    """Its `avg`, which it leaves as nan or -nan without values."""
    return value * unit if isinstance(value, int | float) and abs(value) < MOST else None


def _counts(histogram: Any, unit: int, where: str) -> dict[int, int]:
    if not isinstance(histogram, dict):
        raise ReportError(f"{where}: no histogram")
    return {_number(key, f"{where}: a bucket") * unit: _number(count, f"{where}: bucket {key}")
            for key, count in histogram.items()}


def _end(row: dict[str, Any], key: str, where: str, unit: int) -> int | None:
    """Its `min` or `max`, if it has one."""
    return _number(row[key], f"{where}: {key}") * unit if key in row else None


def _when(text: Any) -> int | None:
    """Nanoseconds since 1970 of a date as in mail; None: it is none that a clock of Linux has."""
    try:
        found = int(parsedate_to_datetime(str(text)).timestamp()) * NS
    except (ValueError, OverflowError):
        return None
    return found if 0 <= found < MOST // 2 else None


def _rt_tests(data: dict[str, Any], program: str) -> Foreign:
    """cyclictest and oslat.  The colon is a part of the keys cmdline: and rt_test_version:."""
    command = str(data["cmdline:"])
    oslat = program == "oslat"
    nanoseconds = data.get("resolution_in_ns") == 1
    unit = 1 if nanoseconds else US
    columns = []
    for number, row in data.get("thread", {}).items():
        where = f"thread {number}"
        counts = _counts(row.get("histogram"), unit, where)
        most = _end(row, "max", where, unit)
        over = 0
        if oslat and counts and most is not None and most > max(counts):
            # Its last bucket holds its own values and all above: none can be told apart.
            over = counts.pop(max(counts))
        values = sum(counts.values()) + over if oslat else _number(
            row.get("cycles"), f"{where}: cycles")
        columns.append(Column(
            "gap" if oslat else "latency", _number(row.get("cpu", number), f"{where}: cpu"),
            counts, values, _end(row, "min", where, unit), most, _mean(row.get("avg"), unit), over))
    sysinfo = data.get("sysinfo", {})
    found = Foreign(f"{program} {data['rt_test_version:']}", "noise" if oslat else "latency",
                    columns, unit, _when(data.get("start_time")), _when(data.get("end_time")),
                    sysinfo.get("release"), command)
    if not oslat and not re.search(r"--(latency|default-system|laptop)", command):
        found.unknown.append("whether /dev/cpu_dma_latency was held at 0: cyclictest asks for it "
                             "and does not read it back")
    if data.get("return_code"):
        found.warnings.append(f"it ended with exit status {data['return_code']}")
    return found


def _jitterdebugger(data: dict[str, Any]) -> Foreign:
    """results.json; values of 1 ms (1000 buckets) and more are in no bucket."""
    sysinfo = data.get("sysinfo", {})
    unit = _number(sysinfo.get("resolution_in_ns", US), "resolution_in_ns")
    columns = []
    for cpu, row in data["cpu"].items():
        where = f"cpu {cpu}"
        columns.append(Column(
            "latency", _number(cpu, "a cpu"), _counts(row.get("histogram"), unit, where),
            _number(row.get("count"), f"{where}: count"),
            _end(row, "min", where, unit), _end(row, "max", where, unit),
            _mean(row.get("avg"), unit)))
    return Foreign(f"jitterdebugger (file version {data.get('version', 1)})", "latency", columns,
                   max(unit, 1), None, None, sysinfo.get("release"))


def _rtla(text: str) -> Foreign:
    """What `rtla timerlat hist` and `rtla osnoise hist` print."""
    head = re.search(r"^# RTLA (timerlat|osnoise) histogram", text, re.MULTILINE)
    names = re.search(r"^Index\s+(\S.*)$", text, re.MULTILINE)
    if head is None or names is None:
        raise ReportError("no table of rtla: it begins with `# RTLA timerlat histogram`, and "
                          "has a line `Index`")
    unit = 1 if re.search(r"^# Time unit is nanoseconds", text, re.MULTILINE) else US
    titles = names[1].split()
    rows: dict[int, list[int]] = {}
    summary: dict[str, list[str]] = {}
    for line in text[names.end():].splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "ALL:":  # the sums over all CPUs that newer ones add
            break
        key, values = words[0].rstrip(":"), words[1:]
        if len(values) != len(titles):
            raise ReportError(f"a line of {len(values)} columns, Index has {len(titles)}: "
                              f"{line.strip()[:60]}")
        if key.isdecimal():
            rows[_number(key, "a bucket")] = [_number(value, f"bucket {key}") for value in values]
        else:
            summary[key] = values
    if "count" not in summary:
        raise ReportError("the lines below the histogram (over, count, min, avg, max) are missing: "
                          "it ends too early, or --no-summary was given")
    columns = []
    for place, title in enumerate(titles):
        kind, _, cpu = title.partition("-")

        def said(key: str, place: int = place) -> int | None:
            value = summary.get(key, ["-"] * len(titles))[place]
            return _number(value, key) * unit if value != "-" else None

        mean = said("avg")
        columns.append(Column(
            "gap" if head[1] == "osnoise" else kind.lower(), _number(cpu, f"column {title}"),
            {value * unit: row[place] for value, row in rows.items() if row[place]},
            _number(summary["count"][place], "count"), said("min"), said("max"),
            None if mean is None else float(mean)))
    length = re.search(r"^# Duration:\s+(?:(\d+) )?(\d+):(\d+):(\d+)", text, re.MULTILINE)
    found = Foreign(f"rtla {head[1]} hist", "noise" if head[1] == "osnoise" else "latency",
                    columns, unit)
    if length:
        days, hours, minutes, seconds = (_number(word or 0, "Duration") for word in length.groups())
        found.began = 0
        found.ended = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * NS
    found.unknown.append("how many samples the tracer dropped: older versions of rtla do not "
                         "count them")
    steps = sorted(rows)
    if head[1] == "osnoise" and len(steps) > 1:
        step = min(b - a for a, b in zip(steps, steps[1:], strict=False)) * unit
        found.resolution = max(found.resolution, step)
    return found


def _series(column: Column, warnings: list[str]) -> dict[str, Any]:
    """One column, with what its histogram lost."""
    where = f"{column.name} on CPU {column.cpu}"
    inside = sum(column.counts.values())
    if inside + column.over > column.values:
        raise InvalidResult(f"{where}: the buckets hold {inside}, it says that it took "
                            f"{column.values}: not a result")
    over = column.values - inside
    if over:
        share = over / column.values
        largest = "" if column.most is None else f"; of these only the largest is known, " \
            f"{column.most / US:g} us"
        warnings.append(f"{where}: the tail is lost: {over} of {column.values} values "
                        f"({share:.3g} of all) are above its histogram{largest}")
    known = {value: count for value, count in column.counts.items() if value <= HIGHEST}
    over += inside - sum(known.values())
    histogram = Histogram(known)
    least, most = column.least, column.most
    if known:
        # Some print min and max in whole units, cut, others the exact ones.
        least = min(known) if least is None else min(least, histogram.end(min(known)))
        most = max(known) if most is None else max(most, max(histogram.counts))
    if not column.values:
        least = most = None
    return build.series(column.name, column.cpu, histogram, overflow=over, least=least, most=most,
                        mean=column.mean if column.values else None)


def _identify(text: str, asked: str | None) -> tuple[str, Any]:
    """Whose file it is, and its content where it is JSON."""
    if text.lstrip().startswith("{"):
        try:
            data = json.loads(text)
        except json.JSONDecodeError as problem:
            raise ReportError(f"not JSON at line {problem.lineno}: {problem.msg}; "
                              "it may end too early") from problem
        except (ValueError, RecursionError) as problem:
            raise ReportError("a number without end, or nested so") from problem
        if "cmdline:" in data and "rt_test_version:" in data:
            program = str(data["cmdline:"]).split()[0].rpartition("/")[2] \
                if str(data["cmdline:"]).split() else "nothing"
            if program not in ("cyclictest", "oslat"):
                raise ReportError(f"written by {program}: of rt-tests, cyclictest and oslat have a "
                                  "histogram to import")
            kind = program
        elif isinstance(data.get("cpu"), dict):
            kind = "jitterdebugger"
        elif data.get("schema"):
            raise ReportError(f"already a document ({str(data['schema'])[:40]}): nothing to import")
        else:
            raise ReportError("JSON of neither cyclictest, oslat nor jitterdebugger (there is no "
                              "`cmdline:` with its colon, and no `cpu`)")
    else:
        data, kind = None, "rtla"
    if asked not in (None, kind):
        raise ReportError(f"it looks like a file of {kind}, not of {asked}")
    return kind, data


def convert(text: str, source: str, asked: str | None = None) -> tuple[Result, list[str]]:
    """The document, and the warnings which are also in it."""
    try:
        return _convert(text, asked)
    except (AttributeError, KeyError, TypeError) as problem:
        raise ReportError(f"{source}: not as its program writes it: {repr(problem)[:200]}") \
            from problem
    except ReportError as problem:
        raise type(problem)(f"{source}: {problem}") from problem


def _convert(text: str, asked: str | None) -> tuple[Result, list[str]]:
    kind, data = _identify(text, asked)
    if kind == "rtla":
        found = _rtla(text)
    elif kind == "jitterdebugger":
        found = _jitterdebugger(data)
    else:
        found = _rt_tests(data, kind)
    if not found.columns:
        raise ReportError("it has no histogram of any CPU")
    keys = [(column.name, column.cpu) for column in found.columns]
    if len(set(keys)) != len(keys):
        raise ReportError("two of its threads were on one CPU: they cannot be told apart; "
                          "run it with one thread per CPU (-S)")
    warnings = list(found.warnings)
    rows = [_series(column, warnings) for column in found.columns]
    seconds = (found.ended - found.began) / NS if found.began is not None and \
        found.ended is not None else 0.0
    began = found.began
    if not began:
        found.unknown.append("when it was measured: 1970 stands for it")
    unknown = [*ALWAYS, *found.unknown]
    lost = any(row["overflow"] for row in rows)
    words = (f"measured: imported from {found.program}"
             + ("; the tail is lost" if lost else "") + f"; not known: {'; '.join(unknown)}")
    settings = [build.setting("imported", found.program, "; ".join(warnings) or None)]
    if found.command is not None:
        settings.append(build.setting("command", found.command))
    stamped = stamp(began or 0)
    result = build.document(
        measure=found.measure, method="fed", words=words, kernel=found.kernel or "not known",
        identifier=build.identity(text), began=stamped,
        seconds=seconds, parts=[build.part("quiet", stamped, seconds, rows)],
        clock="tracer" if kind == "rtla" else "monotonic", resolution=float(found.resolution),
        note=f"values are cut to whole {found.resolution} ns: each may be up to that much larger; "
             "what the instrument adds was not stated: 0 stands for it",
        settings=settings, time=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    return result, [*warnings, *(f"not known: {text}" for text in unknown)]


def read(path: Path, asked: str | None = None) -> tuple[Result, list[str]]:
    """A file of another program."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not text"
        raise ReportError(f"{path}: {reason}") from problem
    return convert(text, str(path), asked)
