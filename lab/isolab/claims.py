# SPDX-License-Identifier: GPL-2.0-or-later
"""What isolab run must show; each text returned is a claim that does not hold."""

from __future__ import annotations

from typing import Any

MIN_TRIGGERS = 16
MIN_USER_PER_S = 10**6
MAX_KERNEL_SHARE = 0.05
MIN_NO_TICK_S = 30.0
MAY_REFUSE = ("perf-open", "affinity-task")


def _isolator(c: dict[str, Any]) -> list[str]:
    bad = [
        f"isolator: {name}: {window['kernel_entries']} kernel entries: "
        f"{window['entries_by_vector']}"
        for name, window in (
            ("quiet", c["quiet"]),
            ("load", c["load"]),
            ("no_tick", c["no_tick"]),
            *((t["name"], t) for t in c["triggers"]),
        )
        if window["kernel_entries"]
    ]
    for t in c["triggers"]:
        if t["breaches"] != 0:
            bad.append(f"isolator: {t['name']}: {t['breaches']} breaches")
        if t["outcome"] not in ("done", "waited", "refused"):
            bad.append(f"isolator: {t['name']}: outcome {t['outcome']}")
        if t["outcome"] == "refused" and t["name"] not in MAY_REFUSE:
            bad.append(f"isolator: {t['name']} was refused")
    for where, items in (("", c["triggers"]), (" in the no-tick window", c["no_tick"]["triggers"])):
        for t in items:
            if not t["worked"]:
                bad.append(f"isolator: {t['name']} did not work{where}: {t['detail'][:200]}")
            if not t["returned"]:
                bad.append(f"isolator: {t['name']} did not come back{where}")
    if len(c["triggers"]) < MIN_TRIGGERS:
        bad.append(f"isolator: only {len(c['triggers'])} triggers, not {MIN_TRIGGERS}")
    if c["quiet"]["tick_entries"]:
        bad.append(f"isolator: quiet: {c['quiet']['tick_entries']} ticks entered the kernel")
    if c["no_tick"]["window_s"] < MIN_NO_TICK_S or c["no_tick"]["ticks"]:
        bad.append(
            f"isolator: the no-tick window has {c['no_tick']['window_s']} s and "
            f"{c['no_tick']['ticks']} ticks"
        )
    if c["no_tick"]["breaches"] != 0:
        bad.append(f"isolator: no_tick: {c['no_tick']['breaches']} breaches")
    if c["user_instructions_per_second_min"] < MIN_USER_PER_S:
        bad.append(
            f"isolator: a second with only {c['user_instructions_per_second_min']} "
            "user instructions"
        )
    total = c["kernel_instructions"] + c["user_instructions"]
    if c["kernel_instructions"] > MAX_KERNEL_SHARE * total:
        bad.append(
            f"isolator: {100 * c['kernel_instructions'] / total:.1f} % of all instructions "
            "are the kernel's"
        )
    return bad


def broken(configs: dict[str, dict[str, Any]]) -> list[str]:
    """The claims that do not hold; the configurations that are missing are not judged."""
    bad: list[str] = []
    for name, c in configs.items():
        if not c["probes"] or c["probes"] != c["probes_seen"]:
            bad.append(
                f"{name}: the observer saw {c['probes_seen']} of {c['probes']} deliberate entries"
            )
        if name == "isolator":
            bad += _isolator(c)
            bad += [f"isolator: kernel log: {line}" for line in c["kernel_log"][:5]]
            # A kernel that complained and died is no void attempt like others.
            bad += [
                f"isolator: attempt {a['attempt']}: kernel log: {line}"
                for a in c["attempts"]
                if a["void"] and not a["void"].startswith("emulator fault")
                for line in a["kernel_log"][:3]
            ]
        elif not c["kernel_entries"]:
            bad.append(f"{name}: no kernel entry at all: the comparison shows nothing")
    return bad
