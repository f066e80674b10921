# SPDX-License-Identifier: GPL-2.0-or-later
"""out/run.json as one page that needs nothing else."""

import html
import math
from typing import Any

from isolator_report import svg
from isolator_report.shell import shell

from . import table

COLOURS = {"stock": svg.BAD, "tuned": svg.MID, "isolator": svg.GOOD}
TITLES = {"stock": "Linux as it comes", "tuned": "Linux, best known tuning", "isolator": "Isolator"}
STYLE = "table .dim{font-size:12px}"


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


def _picture(configs: dict[str, Any]) -> str:
    """For each thing that happened, how often each configuration's task was interrupted."""
    names = list(configs)
    rows: list[tuple[str, list[dict[str, Any] | None]]] = [
        ("nothing at all (quiet)", [c["quiet"] for c in configs.values()]),
        ("load only", [c["load"] for c in configs.values()]),
    ]
    if "isolator" in configs:
        rows.append(("30 s, task never ticks", [c.get("no_tick") for c in configs.values()]))
    first = configs[names[0]]["triggers"]
    rows += [(t["name"], [c["triggers"][i] for c in configs.values()]) for i, t in enumerate(first)]
    most = max([2, *(w["kernel_entries"] for _, ws in rows for w in ws if w)])
    left, width, bar, gap = 190, 700, 7, 7
    step = bar * len(names) + gap
    height = step * len(rows) + 50
    scale = width / math.log10(most + 1)
    out = [svg.opened(left + width + 80, height, "interruptions by event and configuration")]
    for power in range(int(math.log10(most)) + 1):
        x = left + scale * math.log10(10**power + 1)
        out += [
            svg.line(f"M{x:.0f} 22V{height - 22}"),
            svg.text(x, 15, f"{10**power:,}", fill=svg.INK, size=11),
        ]
    for r, (label, windows) in enumerate(rows):
        y = 28 + r * step
        out.append(svg.text(left - 8, y + step / 2, label, "end", svg.INK))
        for i, (name, window) in enumerate(zip(names, windows, strict=True)):
            if window is None:
                continue
            n = window["kernel_entries"]
            top = y + i * bar
            if n:
                long = max(2, scale * math.log10(n + 1))
                out.append(svg.bar(left, top, long, bar - 1, COLOURS[name], title=f"{name}: {n}"))
            else:
                out.append(
                    f'<circle cx="{left + 3}" cy="{top + 3}" r="3" fill="none" stroke-width="1.5" '
                    f'stroke="{COLOURS[name]}"><title>{name}: none</title></circle>'
                )
    note = "interruptions of the task while this happened (logarithmic); a ring: none"
    out += [svg.text(left, height - 5, note, "start", svg.INK, 11), "</svg>"]
    return "".join(out)


def _table(configs: dict[str, Any]) -> str:
    names = list(configs)
    head = "".join(f"<th>{n}</th>" for n in names)
    rows = []
    for i, trigger in enumerate(configs[names[0]]["triggers"]):
        cells, last = [], configs[names[-1]]["triggers"][i]
        for name in names:
            t = configs[name]["triggers"][i]
            state = "" if t["worked"] and t["returned"] else ' <span class="bad">failed</span>'
            cells.append(
                f"<td>{t['kernel_entries']:,}{state} "
                f'<span class="dim">{html.escape(table.vectors(t))}; '
                f"{t['seconds']:.2f} s</span></td>"
            )
        missed = "" if last["missed"] is None else last["missed"]
        hold = "" if last["longest_wait_s"] is None else f"{last['longest_wait_s'] * 1000:.1f} ms"
        rows.append(
            f'<tr title="{html.escape(trigger["about"])}"><td>{trigger["name"]}</td>'
            f'<td>{trigger["class"]}</td>{"".join(cells)}<td class="n">{missed}</td>'
            f'<td class="n">{hold}</td><td>{last["outcome"]}</td></tr>'
        )
    return (
        f"<table><tr><th>event</th><th>class</th>{head}<th>misses</th><th>longest wait</th>"
        f"<th>outcome</th></tr>{''.join(rows)}</table>"
    )


def _verdict(report: dict[str, Any]) -> str:
    if report["inconclusive"] and not report["broken"]:
        return f'<p class="bad">Inconclusive: {html.escape(report["inconclusive"])}</p>'
    if not report["judged"] and not report["broken"]:
        return "<p>Part of a run only: the claims were not judged.</p>"
    if not report["broken"]:
        return '<p class="good">Every claim of this run holds.</p>'
    items = "".join(f"<li>{html.escape(b)}</li>" for b in report["broken"])
    return f'<p class="bad">What does not hold:</p><ul>{items}</ul>'


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
    if not configs:
        body = _verdict(report)
    else:
        body = (
            f"{_cards(configs)}{_verdict(report)}<h2>What happened on the rest of the "
            "machine, and how often "
            f"it reached the core</h2>{_picture(configs)}<h2>In figures</h2>{_table(configs)}"
            f"{_attempts(configs)}"
        )
    said = (
        "<p>One task fills one CPU core and asks the kernel for nothing. The other core runs a "
        "heavy load and, one after another, everything below. Each time the kernel took the core "
        "from the task was counted from outside the machine, by the emulator "
        f"({html.escape(report['emulator'])}): counts, not times.</p>{body}"
        f'<p class="dim">{html.escape(report["when"])}, {html.escape(report["host"])}. The same '
        "as data: <code>out/run.json</code>, also inside this page.</p>"
    )
    return shell("Isolator: one core, three kernels", said,
                 heading="How often is a busy core interrupted?", style=STYLE, data=("run", report))
