# SPDX-License-Identifier: GPL-2.0-or-later
"""A result document of isolator measure: read, checked, taken apart."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from . import schemafile
from .errors import InvalidResult, ReportError
from .histogram import Histogram

SCHEMA, VERSION = "isolator.measure", 1
MOST = 1 << 64  # what a number is less than
DEEPEST = 64  # levels of a document
BUCKETS = 1 << 23  # with a value, of a document: they take a gigabyte
NS = 1_000_000_000


@cache
def validator(name: str) -> Any:
    """Of a schema that this version of the package reads.

    The command's schemas are packaged beside its own; in a checkout they are the command's files.
    """
    import jsonschema  # late: a server that begins again does not wait for it

    here = Path(__file__)
    places = here.parent, here.parent / "schema", here.parents[2] / "cli/schema"
    found = next(p for p in (place / f"{name}.json" for place in places) if p.exists())
    # 5.0 is an integer of JSON Schema, and none that anything here can shift or index with.
    types = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool))
    strict = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=types)
    return strict(schemafile.read(found))


def nanoseconds(stamp: str) -> int:
    """Since 1970, of a time stamp of a document, with or without a fraction."""
    whole, _, rest = stamp.rstrip("Z").partition(".")
    try:
        at = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
        found = int(at.timestamp()) * NS + int(rest.ljust(9, "0") if rest else 0)
    except ValueError as problem:
        raise InvalidResult(f"{stamp} is not a time") from problem
    if not 0 <= found < MOST // 2:
        raise InvalidResult(f"{stamp} is not a time that a clock of Linux has")
    return found


def stamp(ns: int) -> str:
    """The time stamp of nanoseconds since 1970."""
    return f"{datetime.fromtimestamp(ns // NS, UTC):%Y-%m-%dT%H:%M:%S}.{ns % NS:09d}Z"


@dataclass(frozen=True)
class Series:
    """One measured quantity on one CPU in one part."""

    part: dict[str, Any]
    data: dict[str, Any]
    external: bool = False  # measured from outside: of a load nothing is known but what was said

    @property
    def key(self) -> tuple[str, str, int | None]:
        """Part, name, CPU if it is known."""
        return self.part["name"], self.data["name"], self.data["cpu"]

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.place}, {self.stretch}"

    @property
    def stretch(self) -> str:
        """The part, for people: none is called quiet while nobody knows that."""
        return "load not known" if self.external and self.part["load"] is None \
            else str(self.part["name"])

    @property
    def place(self) -> str:
        """Name, and CPU if it is known."""
        cpu = self.data["cpu"]
        return self.data["name"] + ("" if cpu is None else f" on CPU {cpu}")

    @cached_property
    def histogram(self) -> Histogram:
        """Decoded."""
        return Histogram.decode(self.data["histogram"])

    @property
    def top(self) -> list[int]:
        """The largest values, the largest first."""
        return [row["value_ns"] for row in self.data["top"]]

    def problems(self) -> list[str]:
        """How it contradicts itself."""
        data, histogram = self.data, self.histogram
        counted = data["samples"] + data["overflow"] + data["missing"]
        timeline = data["timeline"]
        found = []
        if histogram.total != data["samples"]:
            found.append(f"the buckets hold {histogram.total}, samples says {data['samples']}")
        if data["complete"] != (counted == data["triggers"]):
            found.append(f"samples + overflow + missing is {counted}, triggers "
                         f"{data['triggers']}, and complete says {data['complete']}")
        if len(timeline["maxima"]) != len(timeline["counts"]):
            found.append("its timeline has not as many counts as maxima")
        elif timeline["counts"] and sum(timeline["counts"]) != data["samples"] + data["overflow"]:
            found.append(f"its timeline counts {sum(timeline['counts'])} values, not "
                         f"{data['samples'] + data['overflow']}")
        if self.top != sorted(self.top, reverse=True):
            found.append("its largest values are not in order")
        if (self.top and self.top[0] != data["max"]) or (
                histogram.total and (data["max"] is None or data["min"] is None)):
            found.append(f"its max, {data['max']}, is not its largest value")
        elif histogram.total:
            lows = list(histogram.counts)
            if data["max"] < lows[-1] or histogram.end(lows[0]) < data["min"]:
                found.append("its min and max do not hold what its buckets hold")
        return [f"{self.title}: {text}" for text in found]


@dataclass(frozen=True)
class Result:
    """A document that keeps to the schema and does not contradict itself."""

    data: dict[str, Any]
    source: str

    @cached_property
    def series(self) -> list[Series]:
        """All of all parts."""
        external = self.data["method"] == "external"
        return [Series(part, row, external) for part in self.data["parts"]
                for row in part["series"]]

    @property
    def invalid(self) -> str | None:
        """Why nothing may be concluded from it; None: something may."""
        if self.data["verdict"] == "invalid":
            return str(self.data["words"])
        lost = [one for one in self.series if not one.data["complete"]]
        return f"{lost[0].title}: samples were lost uncounted" if lost else None

    def nanoseconds(self, stamp: str) -> int:
        """As the function, of one of its time stamps."""
        try:
            return nanoseconds(stamp)
        except InvalidResult as problem:
            raise InvalidResult(f"{self.source}: not a result: {problem}") from problem


def _insane(one: Any) -> str:
    """Why no field holds a value; empty: one may."""
    if isinstance(one, int | float) and not abs(one) < MOST:  # NaN is not, either
        return str(one) if isinstance(one, float) else f"a number of {one.bit_length()} bits"
    for word in (one,) if isinstance(one, str) else one if isinstance(one, dict) else ():
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
            return "an unpaired surrogate"
    return ""


def sane(data: Any, source: str) -> None:
    """Raises when something in it is what no field holds, or it is nested without end."""
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        if not level:
            return
        for one in level:
            if words := _insane(one):
                raise ReportError(f"{source}: not a result: {words}, and no field holds that")
        level = [below for one in level if isinstance(one, dict | list)
                 for below in (one.values() if isinstance(one, dict) else one)]
    raise ReportError(f"{source}: not a result: nested deeper than {DEEPEST} levels")


def keeps_to(data: dict[str, Any], schema: str, version: int, source: str) -> None:
    """Is it a document of this version of the schema?  Else why not."""
    sane(data, source)
    said = data.get("version")
    if said != version:
        newer = isinstance(said, int) and said > version
        hint = "take a newer isolator-report" if newer else "measure it again"
        raise ReportError(f"{source}: version {str(said)[:40]} of {schema}, this program reads "
                          f"{version}: {hint}")
    from jsonschema.exceptions import best_match

    wrong = best_match(
        validator(schema.removeprefix("isolator.")).iter_errors(data))
    if wrong is not None:
        raise ReportError(f"{source}: {wrong.json_path}: {wrong.message[:200]}")


def contradictions(broken: list[str], source: str) -> None:
    """Raises what a document says against itself, if it does."""
    if broken:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        raise InvalidResult(f"{source}: not a result, it contradicts itself: {broken[0]}{more}")


def check(data: Any, source: str) -> Result:
    """A parsed document, or why it is none."""
    if not isinstance(data, dict):
        raise ReportError(f"{source}: not a result of isolator measure, but a JSON "
                          f"{type(data).__name__}")
    said = data.get("schema")
    if said != SCHEMA:
        sane(data, source)  # before it is cited
        hint = "isolator-report import reads those of other tools" if said is None else \
            f"it says {said}"[:200]
        raise ReportError(f"{source}: not a result of isolator measure (schema {SCHEMA}): {hint}")
    keeps_to(data, SCHEMA, VERSION, source)
    result = Result(data, source)
    keys = [one.key for one in result.series]
    # Two stretches of one name are two parts; within one part each series is one.
    for part in data["parts"]:
        inside = [(row["name"], row["cpu"]) for row in part["series"]]
        if len(set(inside)) != len(inside):
            raise InvalidResult(f"{source}: part {part['name']} has a series twice")
    if len(set(keys)) != len(keys):
        raise InvalidResult(f"{source}: a part is there twice")
    broken, filled = [], 0
    for one in result.series:
        try:
            broken += one.problems()
        except InvalidResult as problem:
            raise InvalidResult(f"{source}: {problem}") from problem
        filled += len(one.histogram.counts)
        if filled > BUCKETS:  # a few kilobytes can say so
            raise ReportError(f"{source}: its histograms have more than {BUCKETS} buckets with a "
                              "value: measure with fewer --digits, or fewer CPUs at once")
    outliers = data["attribution"]["outliers"] if data["attribution"] else []
    for one in result.series:
        for row in one.data["top"]:
            if row["outlier"] is not None and row["outlier"] >= len(outliers):
                broken.append(f"{one.title}: outlier {row['outlier']} is not there")
    contradictions(broken, source)
    return result


def decode(text: str, source: str) -> Any:
    """The JSON of a text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        cut = problem.pos >= len(text.rstrip()) or "Unterminated" in problem.msg
        raise ReportError(f"{source}: not JSON at line {problem.lineno}: {problem.msg}"
                          + ("; it ends too early: was the run killed while it wrote?"
                             if cut else "")) from problem
    except (ValueError, RecursionError) as problem:
        raise ReportError(f"{source}: not a result: a number without end, or nested so") \
            from problem


def parse(text: str, source: str) -> Result:
    """A document as text."""
    return check(decode(text, source), source)


def text_of(path: Path) -> str:
    """Of a file; - is the standard input."""
    try:
        return Path("/dev/stdin").read_text() if str(path) == "-" else path.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not text"
        raise ReportError(f"{path}: {reason}") from problem


def load(path: Path) -> Result:
    """A document in a file."""
    return parse(text_of(path), str(path))
