# SPDX-License-Identifier: GPL-2.0-or-later
"""out/run.json as text for a terminal."""

from __future__ import annotations

from typing import Any

from . import term

SHORT = {
    "sysvec_apic_timer_interrupt": "timer",
    "sysvec_call_function": "call",
    "entry_SYSCALL_64": "syscall",
    "sysvec_call_function_single": "call1",
    "sysvec_reschedule_ipi": "resched",
    "exc_page_fault": "fault",
    "sysvec_irq_work": "irq_work",
    "exc_nmi": "nmi",
    "sysvec_reboot": "reboot",
}


def vectors(window: dict[str, Any], most: int = 3) -> str:
    """The entries by vector, in short: call 12, timer 3."""
    items = list(window["entries_by_vector"].items())
    text = ", ".join(f"{SHORT.get(name, name)} {n}" for name, n in items[:most])
    return text + (", ..." if len(items) > most else "")


def _cell(item: dict[str, Any] | None) -> str:
    if item is None:
        return ""
    text = f"{item['kernel_entries']:>6} {vectors(item)}"
    return text if item.get("worked", True) and item.get("returned", True) else text + " !"


def _rows(report: dict[str, Any]) -> list[tuple[str, ...]]:
    configs = report["configs"]
    first = next(iter(configs.values()))
    rows: list[tuple[str, ...]] = []
    for name in ("quiet", "load"):
        rows.append(
            (f"({name} window)", "", *(_cell(c[name]) for c in configs.values()), "", "", "", "")
        )
    for i, trigger in enumerate(first["triggers"]):
        items = [c["triggers"][i] for c in configs.values()]
        last = items[-1]
        hold = last["longest_hold_s"]
        rows.append(
            (
                trigger["name"],
                trigger["class"],
                *(_cell(t) for t in items),
                "" if last["breaches"] is None else str(last["breaches"]),
                "" if hold is None else f"{hold * 1000:.1f}",
                last["outcome"]
                if last["worked"] and last["returned"]
                else "NOT BACK"
                if not last["returned"]
                else "FAILED",
                "/".join(f"{t['seconds']:.2f}" for t in items),
            )
        )
    if "isolator" in configs:
        blank = [""] * (len(configs) - 1)
        rows.append(
            (
                "(30 s, no tick)",
                "",
                *blank,
                _cell(configs["isolator"]["no_tick"]),
                str(configs["isolator"]["no_tick"]["breaches"]),
                "",
                "",
                "",
            )
        )
    return rows


def text(report: dict[str, Any]) -> str:
    """The table and the summary."""
    configs = report["configs"]
    if not configs:
        return "no configuration was measured"
    head = (
        "trigger",
        "class",
        *(f"{n}: entries" for n in configs),
        "breaches",
        "hold ms",
        "outcome",
        "seconds",
    )
    rows = [head, *_rows(report)]
    widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * max(len(line) for line in lines))
    lines.append("")
    for name, c in configs.items():
        total = c["kernel_instructions"] + c["user_instructions"]
        code = "32" if c["kernel_entries"] == 0 else "33"
        lines.append(
            term.colour(
                f"{name:9} {c['kernel_entries']:>8} interruptions in {c['window_s']:.0f} s "
                f"({c['kernel_entries'] / max(c['window_s'], 0.1):.0f} a second); "
                f"{100 * c['kernel_instructions'] / max(total, 1):.2f} % of all instructions "
                "are the kernel's; "
                f"least user instructions in a second {c['user_instructions_per_second_min']:.2e}",
                code,
            )
        )
        for a in c["attempts"]:
            if a["void"]:
                lines.append(f"          attempt {a['attempt']} was void: {a['void']}")
    lines.append(
        "An interruption is an entry into the kernel that the task did not ask for, "
        "counted from outside "
        "the guest."
    )
    return "\n".join(lines)
