# SPDX-License-Identifier: GPL-2.0-or-later
"""The outliers of a result as a trace for ui.perfetto.dev: one track per CPU and cause.

Times are those of the wall clock.  A document says when an outlier began and how long each
cause took, not in which order the causes came: each is drawn from the beginning of the
outlier on.
"""

import heapq
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    BuiltinClock,
    Trace,
    TrackDescriptor,
    TrackEvent,
)

from .document import Result, Series
from .errors import InvalidResult, ReportError

SEQUENCE = 1  # of packets: all come from one writer
ROOT = 1  # uuid of the outermost track


class _Writer:
    """Packets of one trace."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.tracks: dict[tuple[object, ...], int] = {}
        self.events: list[tuple[int, int, int, str | None, dict[str, object]]] = []

    def clocks(self, wall: int, since_boot: int | None) -> None:
        """Both clocks at one moment, if both are known; times below are of the wall clock."""
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id = SEQUENCE
        snapshot = packet.clock_snapshot
        snapshot.primary_trace_clock = BuiltinClock.BUILTIN_CLOCK_REALTIME
        for number, at in ((BuiltinClock.BUILTIN_CLOCK_REALTIME, wall),
                           (BuiltinClock.BUILTIN_CLOCK_MONOTONIC, since_boot)):
            if at is None:
                continue
            clock = snapshot.clocks.add()
            clock.clock_id, clock.timestamp = number, at
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.sequence_flags = 1  # SEQ_INCREMENTAL_STATE_CLEARED
        packet.trace_packet_defaults.timestamp_clock_id = BuiltinClock.BUILTIN_CLOCK_REALTIME

    def track(self, *path: tuple[str, int]) -> int:
        """The track of this path of names, each with its rank among its neighbours."""
        parent = 0
        for depth in range(1, len(path) + 1):
            key = path[:depth]
            if key not in self.tracks:
                self.tracks[key] = ROOT + len(self.tracks)
                packet = self.trace.packet.add()
                packet.trusted_packet_sequence_id = SEQUENCE
                described = packet.track_descriptor
                described.uuid, described.name = self.tracks[key], path[depth - 1][0]
                described.sibling_order_rank = path[depth - 1][1]
                described.child_ordering = TrackDescriptor.EXPLICIT
                if parent:
                    described.parent_uuid = parent
            parent = self.tracks[key]
        return parent

    def slice(self, track: int, begin: int, end: int, name: str, **notes: object) -> None:
        """One bar."""
        self.events.append((begin, 1, track, name, notes))
        self.events.append((max(end, begin + 1), 0, track, None, {}))

    def finish(self) -> bytes:
        """The events in the order of time; where one ends as another begins, it ends first."""
        for at, begins, track, name, notes in sorted(self.events, key=lambda row: row[:3]):
            packet = self.trace.packet.add()
            packet.trusted_packet_sequence_id = SEQUENCE
            packet.timestamp = at
            event = packet.track_event
            event.track_uuid = track
            event.type = TrackEvent.TYPE_SLICE_BEGIN if begins else TrackEvent.TYPE_SLICE_END
            if name is not None:
                event.name = name
                event.categories.append("isolator")
            for key, value in notes.items():
                if value in (None, []):
                    continue
                note = event.debug_annotations.add()
                note.name = key
                if isinstance(value, int):
                    note.int_value = value
                elif isinstance(value, list):
                    note.string_value = "\n".join(value)
                else:
                    note.string_value = str(value)
        return bytes(self.trace.SerializeToString())


class _Lanes:
    """Beside each other: what begins while others last gets the first that is free."""

    def __init__(self) -> None:
        self._busy: list[tuple[int, int]] = []  # until when, which
        self._free: list[int] = []
        self._count = 0

    def take(self, begin: int, end: int) -> int:
        """Precondition: it begins no earlier than the one before."""
        while self._busy and self._busy[0][0] <= begin:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if not self._free:
            self._free.append(self._count)
            self._count += 1
        place = heapq.heappop(self._free)
        heapq.heappush(self._busy, (end, place))
        return place


def _outliers(result: Result, series: list[Series]) -> list[tuple[int, dict[str, Any]]]:
    """What is to be shown, and when it began: outliers with causes, else the largest values."""
    attribution = result.data["attribution"]
    if attribution and attribution["outliers"]:
        return [(result.nanoseconds(row["at"]), row) for row in attribution["outliers"]]
    # Of a value it is said when it was known.
    return [(result.nanoseconds(row["at"]) - row["value_ns"],
             {"cpu": one.data["cpu"], "line": (one.data["name"], number), "explained_ns": 0,
              "causes": [], **{key: row[key] for key in ("trigger", "value_ns")}})
            for number, one in enumerate(series) for row in one.data["top"]]


def export(result: Result) -> bytes:
    """The trace."""
    try:
        return _drawn(result)
    except (OverflowError, ValueError) as problem:
        raise InvalidResult(f"{result.source}: not a result: no trace can hold what it says: "
                            f"{problem}"[:300]) from problem


def _drawn(result: Result) -> bytes:
    """Overlapping outliers of a CPU get tracks of their own."""
    series = result.series
    rows = _outliers(result, series)
    if not rows:
        raise ReportError(f"{result.source}: it has neither outliers nor largest values with "
                          "their times: nothing to draw (imported results have none)")
    writer = _Writer()
    known = [row for one in series for row in one.data["top"]]
    if known:
        writer.clocks(result.nanoseconds(known[0]["at"]), known[0]["monotonic_ns"])
    else:
        writer.clocks(min(begin for begin, _ in rows), None)
    lanes: dict[tuple[object, ...], _Lanes] = {}

    def free(path: tuple[tuple[str, int], ...], begin: int, end: int) -> int:
        """A track of that name on which nothing else lies there."""
        place = lanes.setdefault(path, _Lanes()).take(begin, max(end, begin + 1))
        name = path[-1][0] + (f" ({place + 1})" if place else "")
        return writer.track(*path[:-1], (name, path[-1][1] + place))

    for begin, row in sorted(rows, key=lambda row: row[0]):
        end = begin + row["value_ns"]
        # Measured from outside the CPU may not be known: then each line has a track.
        cpu = row["line"] if row["cpu"] is None else (f"CPU {row['cpu']}", row["cpu"])
        writer.slice(free((cpu, ("outlier", 0)), begin, end), begin, end,
                     f"{row['value_ns'] / 1000:.1f} us", trigger=row["trigger"],
                     value_ns=row["value_ns"], explained_ns=row["explained_ns"])
        for cause in row["causes"]:
            until = begin + cause["ns"]
            track = free((cpu, (cause["kind"], 100)), begin, until)
            writer.slice(track, begin, until, cause["who"] or cause["kind"], kind=cause["kind"],
                         ns=cause["ns"], pid=cause["pid"], sender=cause["sender"],
                         sender_cpu=cause["sender_cpu"], stack=cause["stack"])
    return writer.finish()
