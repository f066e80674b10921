# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace is read back with Perfetto's own description of it."""

import pytest
import report_documents as documents
from isolator_report.document import Result, nanoseconds
from isolator_report.errors import InvalidResult, ReportError
from isolator_report.perfetto_trace import export
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import BuiltinClock, Trace, TrackEvent


def read(raw: bytes) -> tuple[dict[int, tuple[str, ...]], list[tuple[int, int, int, str]], Trace]:
    """Names of the tracks from the outside in; slices: track, begin, end, name."""
    trace = Trace()
    assert trace.ParseFromString(raw) == len(raw)
    names: dict[int, tuple[str, ...]] = {}
    open_: dict[int, tuple[int, str]] = {}
    slices = []
    last = 0
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in names
            names[track.uuid] = (*names.get(track.parent_uuid, ()), track.name)
        elif packet.HasField("track_event"):
            event = packet.track_event
            assert packet.timestamp >= last and event.track_uuid in names
            last = packet.timestamp
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                assert event.track_uuid not in open_  # nothing overlaps on a track
                open_[event.track_uuid] = packet.timestamp, event.name
            else:
                begin, name = open_.pop(event.track_uuid)
                slices.append((event.track_uuid, begin, packet.timestamp, name))
    assert not open_
    return names, slices, trace


def test_tracks_and_times() -> None:
    """A track for each CPU and cause; an outlier begins when it says, and ends once known."""
    values = [5000] * 3000
    values[100], values[2000] = 400_000, 150_000
    result = documents.attributed(values)
    names, slices, trace = read(export(result))
    assert set(names.values()) == {("CPU 1",), ("CPU 1", "outlier"), ("CPU 1", "interrupt"),
                                   ("CPU 1", "ipi")}
    found = {(names[track][-1], end - begin): (begin, end, name)
             for track, begin, end, name in slices}
    assert sorted(found) == [("interrupt", 75_000), ("interrupt", 200_000), ("ipi", 37_500),
                             ("ipi", 100_000), ("outlier", 150_000), ("outlier", 400_000)]
    attribution = result.data["attribution"]
    begin, end, name = found["outlier", 400_000]
    assert begin == nanoseconds(attribution["outliers"][0]["at"]) and name == "400.0 us"
    assert end == nanoseconds(result.series[0].data["top"][0]["at"])
    assert found["ipi", 100_000][::2] == (begin, "flush_tlb_func")
    snapshot = trace.packet[0].clock_snapshot
    assert snapshot.primary_trace_clock == BuiltinClock.BUILTIN_CLOCK_REALTIME
    clocks = {clock.clock_id: clock.timestamp for clock in snapshot.clocks}
    top = result.series[0].data["top"][0]
    assert clocks == {BuiltinClock.BUILTIN_CLOCK_REALTIME: nanoseconds(top["at"]),
                      BuiltinClock.BUILTIN_CLOCK_MONOTONIC: top["monotonic_ns"]}
    assert trace.packet[1].trace_packet_defaults.timestamp_clock_id == \
        BuiltinClock.BUILTIN_CLOCK_REALTIME
    notes = {note.name: note.string_value or note.int_value for packet in trace.packet
             for note in packet.track_event.debug_annotations if packet.track_event.name
             == "flush_tlb_func"}
    assert notes["sender"] == "gcc" and notes["stack"] == "smp_call\nflush_tlb"


def test_without_causes_the_largest_values() -> None:
    """On the one track of each CPU."""
    one = documents.result(documents.lognormal(3000, 1))
    names, slices, _ = read(export(one))
    assert set(names.values()) == {("CPU 1",), ("CPU 1", "outlier")}
    assert len(slices) == documents.TOP
    # Measured from outside: no CPU is known, none is invented.
    one.series[0].data["cpu"] = None
    names, slices, _ = read(export(one))
    assert set(names.values()) == {("latency",), ("latency", "outlier")}
    assert len(slices) == documents.TOP


def test_overlapping_outliers() -> None:
    """Longer than the distance between them: they lie on tracks beside each other."""
    values = [5000] * 3000
    values[100:103] = [3_000_000, 2_500_000, 1_800_000]
    names, slices, _ = read(export(documents.attributed(values)))
    assert ("CPU 1", "outlier (2)") in names.values()
    assert sum(names[track][-1].startswith("outlier") for track, *_ in slices) == 3


def test_nothing_to_draw() -> None:
    """Says why."""
    with pytest.raises(ReportError, match="nothing to draw"):
        export(documents.result([]))


@pytest.mark.parametrize("change", [{"cpu": 2**53}, {"value_ns": 2**64 - 1}, {"cpu": -2**40}])
def test_what_no_trace_holds(change: dict[str, int]) -> None:
    """Numbers that the schema takes, and a field of Perfetto does not."""
    data = documents.changed(documents.attributed([50_000] * 40 + [300_000]),
                             lambda data: data["attribution"]["outliers"][0].update(change))
    with pytest.raises(InvalidResult, match="no trace can hold"):
        export(Result(data, "x"))
