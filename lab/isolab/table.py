# SPDX-License-Identifier: GPL-2.0-or-later
"""out/run.json as text for a terminal."""

from typing import Any

from . import term
from .guests import machine
from .judge import attempt

SHORT = {
    "sysvec_apic_timer_interrupt": "timer", "sysvec_call_function": "call",
    "entry_SYSCALL_64": "syscall", "sysvec_call_function_single": "call1",
    "sysvec_reschedule_ipi": "resched", "exc_page_fault": "fault", "sysvec_irq_work": "irq_work",
    "exc_nmi": "nmi", "sysvec_reboot": "reboot",
    **dict.fromkeys(machine.ARM64.kinds["timers"], "timer"), "el0_svc": "syscall",
    **dict.fromkeys(machine.ARM64.kinds["page_faults"], "fault"),
    "generic_smp_call_function_single_interrupt": "call", "ipi_handler": "resched",
    "irq_work_run": "irq_work", "el0_brk64": "breakpoint",
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


def _ticks(window: dict[str, Any]) -> str:
    """The entries that an isolated task asked for itself, and the longest one's instructions."""
    if window["missed"] is None:
        return ""
    most = window["tick_kernel_instructions_max"]
    return f"{window['tick_entries']}" + (f" ({most / 1000:.0f}k insn)" if most else "")


def _rows(report: dict[str, Any]) -> list[tuple[str, ...]]:
    configs = report["configs"]
    first = next(iter(configs.values()))
    rows: list[tuple[str, ...]] = []
    for name in ("quiet", "load"):
        rows.append(
            (
                f"({name} window)", "", *(_cell(c[name]) for c in configs.values()),
                _ticks(list(configs.values())[-1][name]), *[""] * 4,
            )
        )
    for i, trigger in enumerate(first["triggers"]):
        items = [c["triggers"][i] for c in configs.values()]
        last = items[-1]
        hold = last["longest_wait_s"]
        rows.append(
            (
                trigger["name"],
                trigger["class"],
                *(_cell(t) for t in items),
                _ticks(last),
                "" if last["missed"] is None else str(last["missed"]),
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
                f"({configs['isolator']['no_tick']['window_s']:.0f} s, no tick)",
                "",
                *blank,
                _cell(configs["isolator"]["no_tick"]),
                _ticks(configs["isolator"]["no_tick"]),
                str(configs["isolator"]["no_tick"]["missed"]),
                "",
                "",
                "",
            )
        )
    return rows


def ticking(c: dict[str, Any]) -> float | None:
    """How often its tick interrupts it, a second; None: it is stopped."""
    quiet = c["quiet"]
    rate = machine.count(quiet["entries_by_vector"], "timers") / max(quiet["window_s"], 0.001)
    return rate if rate > attempt.STOPPED_TICK_PER_S else None


def interrupting(c: dict[str, Any]) -> int:
    """How many triggers interrupt it, by more than its tick."""
    tick = set(attempt.TIMERS) if ticking(c) else set()
    return sum(bool(set(t["entries_by_vector"]) - tick) for t in c["triggers"])


def _beside(c: dict[str, Any]) -> str:
    """What the sum consists of.  A rate is the tick's alone: triggers come as often as we say."""
    rate = ticking(c)
    tick = f"the tick {rate:.0f} a second (HZ {c['kernel']['hz']}), " if rate else ""
    return f" ({tick}{interrupting(c)} of {len(c['triggers'])} triggers)"


def text(report: dict[str, Any]) -> str:
    """The table and the summary."""
    configs = report["configs"]
    if not configs:
        return "no configuration was measured"
    head = (
        "trigger", "class", *(f"{n}: entries" for n in configs), "own ticks", "missed", "wait ms",
        "outcome", "seconds",
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
                f"{name:9} {c['kernel_entries']:>8} interruptions in {c['window_s']:.0f} s"
                f"{_beside(c)}; {100 * c['kernel_instructions'] / max(total, 1):.2f} % of all "
                "instructions are the kernel's; "
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
