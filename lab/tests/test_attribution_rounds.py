# SPDX-License-Identifier: GPL-2.0-or-later
"""Windows of isolab attribution that are made again, and guests that end it."""

import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from injections import MS, OFFSET, made_window
from isolab import term
from isolab.guests.guest import Guest, Outcome
from isolab.judge.attempt import Attempt
from isolab.rivals import attribution, schedule


def _part(numbers: Iterable[int], *taken: int) -> attribution.Part:
    """The outlier of 4 ms in each says of 3 that they were the host's."""
    windows = [
        {**made_window(), "number": number, "taken_ns": ns}
        for number, ns in zip(numbers, taken, strict=True)
    ]
    at = datetime.datetime.fromtimestamp((OFFSET + 1_050_000_000) / 1e9, datetime.UTC)
    causes = [{"kind": "hardware", "ns": 3 * MS}, {"kind": "timer", "ns": MS}]
    outlier = {"at": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "causes": causes}
    said = {"seen": 1, "looked": 1, "outliers": [outlier]}
    return attribution.Part(windows, {"verdict": "measured", "attribution": said}, 1.0, [])


def test_windows_that_show_the_host_are_made_again() -> None:
    limit = attribution.TAKEN_NS + 3 * MS
    assert attribution.taken(_part((1, 2, 3), 0, limit, limit - 1)) == [2]
    assert attribution.taken(None) == []


@pytest.mark.parametrize(
    ("disturbed", "boots", "left"), [(0, 1, 0), (2, 3, 0), (99, attribution.MAX_ROUNDS, 3)]
)
def test_they_are_made_again_until_they_are_quiet(
    monkeypatch: pytest.MonkeyPatch, disturbed: int, boots: int, left: int
) -> None:
    """The first windows of so many boots are disturbed."""
    booted: list[list[int]] = []

    def guest(_: Any, share: list[schedule.Window], number: int, threads: str) -> Any:
        booted.append([w.number for w in share])
        ns = attribution.TAKEN_NS + 3 * MS if number <= disturbed else 0
        return _part([w.number for w in share], *[ns] * len(share)), Attempt()

    monkeypatch.setattr(attribution, "_guest", guest)
    windows = [schedule.Window(i, ()) for i in (1, 2, 3)]
    parts, attempts, still = attribution._all(None, windows)  # type: ignore[arg-type]
    assert len(booted) == len(parts) == len(attempts) == boots
    assert len(still) == left
    assert all(part == [1, 2, 3] for part in booted)


def test_what_did_nothing_is_made_again_and_never_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def guest(_: Any, share: list[schedule.Window], number: int, threads: str) -> Any:
        part = _part([w.number for w in share], *[0] * len(share))
        for window in part.windows:
            window["injected"] = [
                {"cause": "hog", "happened": False, "error": "no thread", "evidence": {}}
            ]
            window["injected"][0]["happened"] = window["number"] == 2 and number == 2
        return part, Attempt()

    monkeypatch.setattr(attribution, "_guest", guest)
    windows = [schedule.Window(i, ("hog",)) for i in (1, 2)]
    _, attempts, left = attribution._all(None, windows)  # type: ignore[arg-type]
    assert set(attempts[0]["failed"]) == {"1", "2"} and left == windows[:1]
    assert attribution.fruitless(attempts[:1], [1]) == ["window 1: hog did not happen: no thread"]
    assert attribution.fruitless(attempts[: attribution.MAX_IDLE], []) == []
    # Too often, though it happened at last.
    assert attribution.fruitless(attempts[: attribution.MAX_IDLE + 1], []) == [
        "window 1: hog did not happen: no thread, 3 times"
    ]


def _lossy() -> attribution.Part:
    """One outlier of two was lost."""
    part = _part((1, 2), 0, 0)
    part.document["attribution"]["seen"] = 2
    return part


def test_no_window_counts_of_a_guest_that_lost_outliers() -> None:
    whole = _part((1, 2), 0, 0)
    assert attribution.incomplete(whole) is attribution.incomplete(None) is None
    assert attribution.spoilt(whole) == set()
    assert attribution.incomplete(_lossy()) == "of 2 outliers, 1 were looked into and 1 kept"
    assert attribution.spoilt(_lossy()) == {1, 2}


@pytest.mark.parametrize(("lossy", "boots", "left"), [(1, 2, 0), (99, 2, 2)])
def test_such_a_guest_is_made_again_once_and_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lossy: int, boots: int,
    left: int,
) -> None:
    monkeypatch.setattr(attribution, "_guest", lambda _b, _w, number, _t: (
        _lossy() if number <= lossy else _part((1, 2), 0, 0), Attempt()))
    windows = [schedule.Window(i, ()) for i in (1, 2)]
    _, attempts, still = attribution._all(None, windows)  # type: ignore[arg-type]
    assert len(attempts) == boots and len(still) == left
    assert [bool(a["incomplete"]) for a in attempts] == [i < lossy for i in range(boots)]
    assert capsys.readouterr().err.count("incomplete: ") == min(lossy, boots)
    assert attribution.too_lossy(attempts) is bool(left)


def test_what_did_nothing_in_a_guest_that_lost_outliers_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = _lossy()
    part.windows[0]["injected"] = [
        {"cause": "hog", "happened": False, "error": "no thread", "evidence": {}}
    ]
    monkeypatch.setattr(attribution, "_guest", lambda *_: (part, Attempt()))
    windows = [schedule.Window(i, ("hog",)) for i in (1, 2)]
    _, attempts, left = attribution._all(None, windows)  # type: ignore[arg-type]
    assert attribution.fruitless(attempts, [w.number for w in left]) == []


def test_void_guests_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "_guest", lambda *_: (None, Attempt("no clocks")))
    windows = [schedule.Window(1, ())]
    parts, attempts, left = attribution._all(None, windows)  # type: ignore[arg-type]
    assert not parts and left == windows
    assert len(attempts) == attribution.MAX_VOID
    # What is excused, once; what its log says counts.
    for found in (Attempt("x", excused=True), Attempt("x", log="[1] BUG: y\n")):
        monkeypatch.setattr(attribution, "_guest", lambda *_, found=found: (None, found))
        with pytest.raises(term.LabError):
            attribution._all(None, windows)  # type: ignore[arg-type]


@pytest.mark.parametrize(("ran", "asked"), [
    ("single", ["", "single", ""]),
    # The observer would be misled by one thread, so the guest has several: its times are good.
    ("multi", ["", "single"]),
])
def test_an_excused_guest_is_repeated_with_one_thread(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ran: str, asked: list[str]
) -> None:
    """That says whether the kernel lives; the windows are then made as ever."""
    emulated: list[str] = []

    def boot(guest: Guest, where: Path, on_event: Any) -> Outcome:
        emulated.append(guest.threads)
        where.mkdir(parents=True)
        died = "x" if len(emulated) == 1 else None
        log = "qemu-system-x86_64: a.c:1: f: Assertion `a' failed." if died else ""
        accel = f"QEMU 10.0.13 tcg,thread={ran if guest.threads else 'multi'}"
        return Outcome(ours=True, died=died, qemu_log=log, accel=accel)

    monkeypatch.setattr(attribution, "boot", boot)
    monkeypatch.setattr(attribution, "document", lambda _: _part(()).document)
    monkeypatch.setattr(attribution, "read_windows", lambda *_: [])
    monkeypatch.setattr(attribution, "OUT", tmp_path)
    parts, attempts, _ = attribution._all(None, [schedule.Window(1, ())])  # type: ignore[arg-type]
    assert emulated == asked and len(parts) == 1
    assert [bool(a["void"]) for a in attempts] == [True] * (len(asked) - 1) + [False]
