# SPDX-License-Identifier: GPL-2.0-or-later
"""An account as JSON, and back: what a server that starts again need not read."""

import base64
import zlib
from array import array
from typing import Any

from .account import Account, Chain, Lost
from .frame import Frame, FrameReader
from .protocol import Floor, Message, State, Welcome, decode, encode
from .runs import Line, Run
from .statistics import Statistics
from .trail import LEVELS, Level, Trail

PLAIN = ("sessions", "next_packet", "packets", "triggers", "lost_triggers", "lost_packets",
         "unreadable", "contradictions", "began", "ended", "_offset", "_last_trigger", "_before",
         "_unsent", "_complete", "_session_triggers", "_names", "_dropped")
OF_LINE = ("name", "answered", "late", "missing", "strays", "unsure")
OF_RUN = ("number", "name", "why", "at", "began", "ended", "first", "triggers", "lost",
          "worst_jitter", "expected")
OF_VALUES = ("count", "overflow", "sum", "least", "most")


def _pack(values: "array[int]") -> list[str]:
    return [values.typecode, base64.b64encode(zlib.compress(values.tobytes(), 1)).decode()]


def _unpack(told: list[str], size: int) -> "array[int]":
    found = array("Q" if told[0] == "Q" else "q")
    # One byte too many is no whole number, and a ValueError.
    found.frombytes(zlib.decompressobj().decompress(base64.b64decode(told[1]),
                                                    size * found.itemsize + 1))
    if len(found) != size:
        raise ValueError("an array of another size")
    return found


def _message(message: Message | None) -> str | None:
    return None if message is None else base64.b64encode(encode(message, 0)).decode()


def _read(told: str | None) -> Message | None:
    if told is None:
        return None
    frame: Frame | None = next(FrameReader().feed(base64.b64decode(told)), None)
    if frame is None:
        raise ValueError("a part of a message")
    return decode(frame)


def _values(values: Statistics) -> dict[str, Any]:
    line = values.timeline
    return {**{name: getattr(values, name) for name in OF_VALUES}, "counts": _pack(values.counts),
            "coarse": _pack(values.coarse), "top": values.top,
            "timeline": [line.interval, line.used, _pack(line.maxima), _pack(line.counts)]}


def _values_of(told: dict[str, Any]) -> Statistics:
    made = Statistics()
    for name in OF_VALUES:
        setattr(made, name, told[name])
    made.counts = _unpack(told["counts"], len(made.counts))
    made.coarse = _unpack(told["coarse"], len(made.coarse))
    made.top = [(one[0], one[1], one[2], one[3]) for one in told["top"]]
    line = made.timeline
    line.interval, line.used = told["timeline"][:2]
    line.maxima = _unpack(told["timeline"][2], len(line.maxima))
    line.counts = _unpack(told["timeline"][3], len(line.counts))
    return made


def _run(run: Run) -> dict[str, Any]:
    return {**{name: getattr(run, name) for name in OF_RUN}, "state": _message(run.state),
            "lines": [{**{name: getattr(line, name) for name in OF_LINE},
                       "values": _values(line.values)} for line in run.lines]}


def _run_of(told: dict[str, Any]) -> Run:
    state = _read(told["state"])
    return Run(**{name: told[name] for name in OF_RUN},
               state=state if isinstance(state, State) else None,
               lines=[Line(**{name: row[name] for name in OF_LINE},
                           values=_values_of(row["values"])) for row in told["lines"]])


def _chain(chain: Chain | None) -> list[Any] | None:
    return None if chain is None else [chain.trigger, chain.at, chain.wall, chain.jitter,
                                       chain.mask, chain.answers, chain.run.number]


def _chain_of(told: list[Any] | None, runs: dict[int, Run]) -> Chain | None:
    if told is None or told[6] not in runs:
        return None
    trigger, at, wall, jitter, mask, answers, run = told
    return Chain(trigger, at, wall, jitter, mask,
                 [(one[0], one[1], bool(one[2])) for one in answers], runs[run])


def _trail(trail: Trail) -> dict[str, Any]:
    return {"lines": trail.lines, "now": trail.now, "open": trail.open,
            "levels": [[_pack(level.stamp), [[_pack(kind) for kind in row] for row in level.rows]]
                       for level in trail.levels]}


def _trail_of(told: dict[str, Any]) -> Trail:
    made = Trail(told["lines"])
    made.now, made.open = told["now"], told["open"]
    if len(told["levels"]) != LEVELS:
        raise ValueError("a trail of other levels")
    for level, (stamp, rows) in zip(made.levels, told["levels"], strict=True):
        _fill(level, stamp, rows)
    return made


def _fill(level: Level, stamp: list[str], rows: list[list[list[str]]]) -> None:
    size = len(level.stamp)
    level.stamp = _unpack(stamp, size)
    level.rows = [[_unpack(kind, size) for kind in row] for row in rows]


def dump(account: Account) -> dict[str, Any]:
    """All of it."""
    return {**{name: getattr(account, name) for name in PLAIN},
            "welcome": _message(account.welcome), "floor": _message(account.floor),
            "state": _message(account.state), "runs": [_run(run) for run in account.runs],
            "gaps": [list(vars(gap).values()) for gap in account.gaps],
            "holes": list(account._holes), "recent": [_chain(one) for one in account.recent],
            "worst": [_chain(one) for one in account.worst], "trail": _trail(account.trail)}


def load(told: dict[str, Any]) -> Account:
    """What was dumped; ValueError, KeyError, TypeError: it is not that."""
    made = Account()
    for name in PLAIN:
        setattr(made, name, told[name])
    welcome, floor, state = (_read(told[name]) for name in ("welcome", "floor", "state"))
    made.welcome = welcome if isinstance(welcome, Welcome) else None
    made.floor = floor if isinstance(floor, Floor) else None
    made.state = state if isinstance(state, State) else None
    made.runs.clear()
    made.runs.extend(_run_of(one) for one in told["runs"])
    runs = {run.number: run for run in made.runs}
    made.gaps.extend(Lost(*one) for one in told["gaps"])
    made._holes.extend((one[0], one[1]) for one in told["holes"])
    for one in told["recent"]:
        if (chain := _chain_of(one, runs)) is not None:
            made.recent.append(chain)
            made._by_number[chain.trigger] = chain
    made.worst = [_chain_of(one, runs) for one in told["worst"]]
    made.trail = _trail_of(told["trail"])
    return made
