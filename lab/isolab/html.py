# SPDX-License-Identifier: GPL-2.0-or-later
"""out/run.json as one page that needs nothing else."""

import html
import math
from collections.abc import Sequence
from typing import Any

from isolator_report import parts, svg
from isolator_report.shell import shell

from . import record, table
from .judge import claims

COLOURS = {"stock": svg.BAD, "tuned": svg.MID, "isolator": svg.GOOD}
TITLES = {"stock": "Linux as it comes", "tuned": "Linux, best known tuning", "isolator": "Isolator"}
# What Isolator does with a source of that class (docs/how-it-works.md).
CLASSES = {
    "defer": "the core does it itself before its next kernel code",
    "exclude": "a core in user mode is left out",
    "queue": "it runs at the next tick or kernel entry; a sender that needs the result waits",
    "quiesce": "the core holds nothing back that one would have to ask it for",
    "yield": "the tick yields to a kernel thread, for a bounded time",
    "remote": "another core does it",
    "refuse": "the caller gets an error, or it is queued, as the administrator chose",
    "immediate": "it interrupts",
}
STYLE = "table .dim{font-size:12px}"
LEFT, WIDTH, RIGHT, BAR, GAP = 190, 640, 60, 7, 7
Window = dict[str, Any]


def _tick(c: dict[str, Any]) -> str:
    rate = table.ticking(c)
    return f" and {rate:,.0f} ticks a second (HZ {c['kernel']['hz']})" if rate else ""


def _cards(configs: dict[str, Any]) -> str:
    cards = []
    for name, c in configs.items():
        cards.append(
            f'<div class="card" style="border-color:{COLOURS[name]}"><b>{TITLES[name]}</b>'
            f'<div class="big" style="color:{COLOURS[name]}">{c["kernel_entries"]:,}</div>'
            f"interruptions in {c['window_s']:.0f} s, by {table.interrupting(c)} of "
            f"{len(c['triggers'])} triggers{_tick(c)}"
            f'<div class="dim">{html.escape(c["about"])}</div></div>'
        )
    return f'<div class="cards">{"".join(cards)}</div>'


def _legend(names: Sequence[str], x: float, y: float) -> list[str]:
    found = []
    for name in names:
        found += [svg.bar(x, y - 9, 10, 10, COLOURS[name]),
                  svg.text(x + 14, y, TITLES[name], "start", svg.INK, 11)]
        x += 30 + 6.4 * len(TITLES[name])
    return found


def _bar(name: str, window: Window, y: float, scale: float) -> str:
    n = window["kernel_entries"]
    if n:
        return svg.bar(LEFT, y, max(2, scale * math.log10(n + 1)), BAR - 1, COLOURS[name],
                       title=f"{name}: {n}")
    return (f'<circle cx="{LEFT + 3}" cy="{y + 3}" r="3" fill="none" stroke-width="1.5" '
            f'stroke="{COLOURS[name]}"><title>{name}: none</title></circle>')


def _events(configs: dict[str, Any]) -> list[tuple[str, list[Window | None]]]:
    """What happened, and the window of each configuration while it did."""
    rows: list[tuple[str, list[Window | None]]] = [
        ("nothing at all (quiet)", [c["quiet"] for c in configs.values()]),
        ("load only", [c["load"] for c in configs.values()]),
    ]
    if "isolator" in configs:
        window_s = configs["isolator"]["no_tick"]["window_s"]
        rows.append(
            (f"{window_s:.0f} s, task never ticks", [c.get("no_tick") for c in configs.values()])
        )
    first = next(iter(configs.values()))["triggers"]
    return rows + [
        (t["name"], [c["triggers"][i] for c in configs.values()]) for i, t in enumerate(first)
    ]


def _picture(configs: dict[str, Any]) -> str:
    """For each thing that happened, how often each configuration's task was interrupted."""
    names, rows = list(configs), _events(configs)
    most = max([2, *(w["kernel_entries"] for _, ws in rows for w in ws if w)])
    step = BAR * len(names) + GAP
    height = step * len(rows) + 66
    scale = WIDTH / math.log10(most + 1)
    out = [svg.opened(LEFT + WIDTH + RIGHT, height, "Interruptions by event and configuration")]
    for power in range(int(math.log10(most)) + 1):
        x = LEFT + scale * math.log10(10**power + 1)
        out += [
            svg.line(f"M{x:.0f} 22V{height - 40}"),
            svg.text(x, 15, f"{10**power:,}", fill=svg.INK, size=11),
        ]
    for r, (label, windows) in enumerate(rows):
        y = 28 + r * step
        out.append(svg.text(LEFT - 8, y + step / 2, label, "end", svg.INK))
        out += [_bar(name, window, y + i * BAR, scale)
                for i, (name, window) in enumerate(zip(names, windows, strict=True)) if window]
    if "isolator" in configs:
        out += [svg.line(f"M{LEFT} 22V{height - 40}", svg.BAD, ' stroke-dasharray="6 4"'),
                svg.text(LEFT - 8, 15, "limit of Isolator: none", "end", svg.BAD, 11)]
    note = "interruptions of the task while this happened (logarithmic); a ring: none"
    out += [svg.text(LEFT, height - 22, note, "start", svg.DIM, 11),
            *_legend(names, LEFT, height - 5), "</svg>"]
    return f"<figure>{''.join(out)}</figure>"


def _waits(configs: dict[str, Any]) -> str:
    """How long what was held for the isolated task waited, and the limit; '' without one."""
    found = configs.get("isolator", {"triggers": []})["triggers"]
    rows = [(t["name"], t["longest_wait_s"]) for t in found if t["longest_wait_s"] is not None]
    if not rows:
        return ""
    most = max(claims.MAX_WAIT_S, *(s for _, s in rows)) * 1.05
    step, height = 16, 16 * len(rows) + 60
    out = [svg.opened(LEFT + WIDTH + RIGHT, height, "Longest wait for the isolated task")]
    ends = [0, *(claims.MAX_WAIT_S * part / 4 for part in range(1, 5))]
    for s in ends:
        x = LEFT + WIDTH * s / most
        out += [svg.line(f"M{x:.0f} 22V{height - 24}"),
                svg.text(x, 15, f"{s:g} s", fill=svg.INK, size=11)]
    for r, (name, s) in enumerate(rows):
        y, over = 26 + r * step, s > claims.MAX_WAIT_S
        out += [svg.text(LEFT - 8, y + 9, name, "end", svg.INK),
                svg.bar(LEFT, y, max(1.5, WIDTH * s / most), step - 5,
                        svg.BAD if over else COLOURS["isolator"], title=f"{s * 1000:.1f} ms")]
    x = LEFT + WIDTH * claims.MAX_WAIT_S / most
    out += [svg.line(f"M{x:.0f} 22V{height - 24}", svg.BAD, ' stroke-dasharray="6 4"'),
            svg.text(x, height - 8, f"limit: {claims.MAX_WAIT_S:g} s, the deadline", "end", svg.BAD,
                     11),
            svg.text(LEFT, height - 8, "what was held until the task's next tick, by event",
                     "start", svg.DIM, 11), "</svg>"]
    return ("<h2>How long the rest of the machine waited for the isolated task</h2>"
            f"<figure>{''.join(out)}</figure>")


def _table(configs: dict[str, Any]) -> str:
    names = list(configs)
    rows = []
    for i, trigger in enumerate(configs[names[0]]["triggers"]):
        cells, last = [], configs[names[-1]]["triggers"][i]
        for name in names:
            t = configs[name]["triggers"][i]
            state = "" if t["worked"] and t["returned"] else ' <span class="bad">failed</span>'
            by = html.escape(table.vectors(t))
            cells.append(f"{t['kernel_entries']:,}{state} <span class=\"dim\">"
                         f"{f'{by}; ' if by else ''}took {t['seconds']:.2f} s</span>")
        wait = last["longest_wait_s"]
        rows.append([
            f'<span title="{html.escape(trigger["about"])}">{trigger["name"]}</span>',
            f'<span title="{CLASSES.get(trigger["class"], "")}">{trigger["class"]}</span>', *cells,
            "" if last["missed"] is None else str(last["missed"]),
            "" if wait is None else f"{wait * 1000:.1f} ms", last["outcome"]])
    classes = {t["class"] for t in configs[names[0]]["triggers"]}
    words = "; ".join(f"<b>{one}</b>: {CLASSES[one]}" for one in CLASSES if one in classes)
    return (parts.table(("event", "class", *names, "misses", "longest wait", "outcome"), rows,
                        "  " + " " * len(names) + "nn")
            + f'<p class="dim">What Isolator does, by class. {words}.</p>')


def _verdict(report: dict[str, Any]) -> tuple[str, str]:
    """Its kind and its words."""
    if report["inconclusive"] and not report["broken"]:
        return "mid", f"<b>Inconclusive: {html.escape(report['inconclusive'])}</b>"
    if not report["judged"] and not report["broken"]:
        return "mid", "<b>Not judged</b>: part of a run only."
    if not report["broken"]:
        return "good", "<b>Every claim of this run holds.</b>"
    items = "".join(f"<li>{html.escape(b)}</li>" for b in report["broken"])
    return "bad", f"<b>What does not hold:</b><ul>{items}</ul>"


def _headline(configs: dict[str, Any]) -> str:
    """What it means, in a sentence a configuration."""
    said = []
    for name, c in configs.items():
        n, events = c["kernel_entries"], len(c["triggers"])
        often = "never interrupted" if not n else f"interrupted {n:,} time{'s' * (n != 1)}"
        said.append(f"{TITLES[name]}: {often} in {c['window_s']:.0f} s, by "
                    f"{table.interrupting(c)} of {events} events.")
    return "".join(f"<p>{one}</p>" for one in said)


def _attempts(configs: dict[str, Any]) -> str:
    items = [
        f"<li>{name}, attempt {a['attempt']}: {html.escape(a['void'])}</li>"
        for name, c in configs.items()
        for a in c["attempts"]
        if a["void"]
    ]
    return f"<h2>Void attempts</h2><ul>{''.join(items)}</ul>" if items else ""


def page(report: dict[str, Any]) -> str:
    configs = report["configs"]
    kind, verdict = _verdict(report)
    body = (
        "<p>One task fills one CPU core and asks the kernel for nothing. The other core runs a "
        "heavy load and, one after another, everything below. Each time the kernel took the core "
        "from the task was counted from outside the machine, by the emulator: counts, not times."
        "</p>"
    )
    if configs:
        body += (
            f"{_cards(configs)}<h2>What happened on the rest of the machine, and how often it "
            f"reached the core</h2>{_picture(configs)}{_waits(configs)}<h2>In figures</h2>"
            f"{_table(configs)}{_attempts(configs)}"
        )
    body += ('<p class="dim">The same as data: <code>out/run.json</code>, also inside this page.'
             "</p>")
    kernels = [c["kernel"].get("release", c["kernel"]["name"]) for c in configs.values()]
    said = parts.result(kind, verdict + _headline(configs), record.facts(report, kernels), body)
    return shell("Isolator: one core, three kernels", said,
                 heading="How often is a busy core interrupted?", style=STYLE, data=("run", report))
