# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets what `isolator measure … --why` named against what was injected."""

import datetime
from collections import Counter
from collections.abc import Iterable
from typing import Any

from .causes import BY_NAME, CAUSES

RECALL = 0.9
INVENTED = 0.05
NOTHING = "nothing"
CONTROL = "control"
NONE: frozenset[str] = frozenset()
# A control in which something happened by itself shows so outside too: by how the kernel was
# entered.  What is not here is taken for invented.
_TIMER, _CALL = "sysvec_apic_timer_interrupt", "sysvec_call_function"
ENTRIES: dict[str, tuple[str, ...]] = {
    "timer": (_TIMER,), "softirq": (_TIMER, _CALL, "irq_0x"), "interrupt": ("irq_0x",),
    "ipi": (_CALL, "sysvec_reschedule_ipi", "sysvec_irq_work"), "text patch": (_CALL,),
    "page fault": ("exc_page_fault",),
}
# The host takes a virtual CPU when it likes, which looks the same as an SMI from inside.  What
# the observer saw of it is known, and left out.
HOST = ("hardware", "hypervisor", "unknown")
# It does not see the host's own interrupts, nor what the emulator needs to enter the kernel and to
# leave it: 0.3 ms in quiet windows, 1 ms where the host is busy.  Less says nothing here.
FLOOR_NS = 1_000_000


def utc_ns(text: str) -> int:
    """2026-11-22T02:17:12.123456789Z in ns since 1970."""
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    moment = datetime.datetime.fromisoformat(seconds).replace(tzinfo=datetime.UTC)
    return int(moment.timestamp()) * 10**9 + int(fraction.ljust(9, "0") or 0)


def outliers(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = (document["attribution"] or {}).get("outliers", [])
    return [{**e, "at_ns": utc_ns(e["at"])} for e in found]


def seen(kind: str, entries: dict[str, int]) -> bool:
    """Did the observer see the CPU enter the kernel as it must for a cause of this kind?"""
    return any(name.startswith(ENTRIES.get(kind, ())) for name, n in entries.items() if n)


def within(
    window: dict[str, Any], found: Iterable[dict[str, Any]], begin_ns: int, end_ns: int
) -> list[dict[str, Any]]:
    """Those that begin in this part of the window, in the guest's CLOCK_MONOTONIC."""
    begin, end = (ns + window["realtime_offset_ns"] for ns in (begin_ns, end_ns))
    return [e for e in found if begin <= e["at_ns"] < end]


def spans(window: dict[str, Any]) -> list[tuple[int, int]]:
    """The part of the window that belongs to each injection: all of it to the only one."""
    made = window["injected"]
    middles = [(a["to_ns"] + b["from_ns"]) // 2 for a, b in zip(made, made[1:], strict=False)]
    edges = [window["open_ns"], *middles, window["close_ns"]]
    return list(zip(edges, edges[1:], strict=False))


def kinds(
    found: list[dict[str, Any]], taken_ns: int, besides: frozenset[str] = NONE
) -> dict[str, int]:
    """The time that each kind was said to have taken, the most first."""
    sums: Counter[str] = Counter()
    for outlier in found:
        parts: Counter[str] = Counter()
        for cause in outlier["causes"]:
            parts[cause["kind"]] += cause["ns"]
        for kind, ns in parts.items():
            if kind not in besides and not (kind in HOST and ns < FLOOR_NS):
                sums[kind] += ns
    for kind in HOST:
        less = min(sums[kind], taken_ns)
        taken_ns -= less
        sums[kind] -= less
        if sums[kind] < FLOOR_NS:
            del sums[kind]
    return dict(sums.most_common())


def untold_ns(window: dict[str, Any], found: list[dict[str, Any]]) -> int:
    """What the host took and no outlier says to be of the host: it stands in other causes' time."""
    inside = within(window, found, window["open_ns"], window["close_ns"])
    told = sum(c["ns"] for e in inside for c in e["causes"] if c["kind"] in HOST)
    return max(0, int(window["taken_ns"]) - told)


def judge(window: dict[str, Any], found: list[dict[str, Any]], rt: bool) -> dict[str, Any]:
    """One window: what was named, and which of its injections that is."""
    inside = within(window, found, window["open_ns"], window["close_ns"])
    taken = window["taken_ns"]
    named = kinds(inside, taken)
    tops = []
    hits = []
    for item, span in zip(window["injected"], spans(window), strict=False):
        cause = BY_NAME[item["cause"]]
        right = cause.named_by(rt)
        its = kinds(within(window, inside, *span), taken, frozenset(cause.brings) - right)
        tops.append(next(iter(its), NOTHING))
        hits.append(tops[-1] in right)
    return {
        "named": named,
        "tops": tops or [next(iter(named), NOTHING)],
        "hits": hits,
        "outliers": len(inside),
        "longest_ns": max((e["value_ns"] for e in inside), default=0),
        "invented": not window["injected"]
        and not all(seen(kind, window["entries"]) for kind in named),
    }


def confusion(windows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """By what was injected, and for controls: how often which kind came out on top."""
    table: dict[str, Counter[str]] = {name: Counter() for name in (*BY_NAME, CONTROL)}
    for window in windows:
        rows = [item["cause"] for item in window["injected"]] or [CONTROL]
        for row, top in zip(rows, window["judged"]["tops"], strict=True):
            table[row][top] += 1
    return {row: dict(counts.most_common()) for row, counts in table.items()}


def recall(windows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    made: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for window in windows:
        for item, hit in zip(window["injected"], window["judged"]["hits"], strict=True):
            made[item["cause"]] += 1
            named[item["cause"]] += hit
    return {
        c.name: {
            "injected": made[c.name],
            "named": named[c.name],
            "recall": round(named[c.name] / made[c.name], 4) if made[c.name] else None,
        }
        for c in CAUSES
    }


def controls(windows: list[dict[str, Any]]) -> dict[str, Any]:
    quiet = [w["judged"] for w in windows if not w["injected"]]
    bad = sum(w["invented"] for w in quiet)
    return {
        "windows": len(quiet), "invented": bad,
        "true": sum(bool(w["named"]) and not w["invented"] for w in quiet),
        "rate": round(bad / len(quiet), 4) if quiet else None,
        "longest_ns": max((w["longest_ns"] for w in quiet), default=0),
    }


def broken(found: dict[str, dict[str, Any]], quiet: dict[str, Any], sample: bool) -> list[str]:
    """What must hold and does not.

    Of a sample's few, only all causes together; one control of it is no 5 %, two are.
    """
    bad = []
    allowed = max(INVENTED * quiet["windows"], 1 if sample else 0)
    if sample:
        made = sum(r["injected"] for r in found.values())
        named = sum(r["named"] for r in found.values())
        if named < RECALL * made:
            bad.append(f"{named} of {made} injected causes were named, less than 90 %")
    else:
        bad += [
            f"{name}: {r['named']} of {r['injected']} were named, less than 90 %"
            for name, r in found.items()
            if r["named"] < RECALL * r["injected"]
        ]
    if quiet["invented"] > allowed:
        bad.append(f"{quiet['invented']} of {quiet['windows']} quiet windows were given a cause")
    return bad
