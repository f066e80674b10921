# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of a page that shows what isolator-bpf counted."""

from __future__ import annotations

from html import escape
from typing import Any

from . import drawing, shape
from .counted import STEPS, Counted
from .document import NS
from .parts import bar, causes, folded, ranked, table, time, with_stack


def _words(one: Counted) -> str:
    """The verdict as a sentence."""
    data = one.data
    limit = data["limit_ns"]
    if data["verdict"] == "running":
        return "written while it ran: it has not ended, or was killed"
    if data["verdict"] == "inconclusive":
        return "not everything could be counted"
    if limit is None:
        return "counted; no limit was given"
    side = "above" if data["verdict"] == "exceeded" else "within"
    return (f"the longest that was taken from a task at one stretch, {shape.time(one.worst_ns)}, "
            f"is {side} the limit of {shape.time(limit)}")


def _verdict(one: Counted) -> str:
    data = one.data
    more = "".join(f"<p>{escape(line)}</p>" for line in (data["notes"] or "").splitlines())
    if one.invalid:
        more = f'<p class="bad">Not a result: {escape(one.invalid)}</p>' + more
    if data["early"]:
        more += "<p>A signal ended it before its time.</p>"
    exit_ = "" if data["exit"] is None else f" (exit {data['exit']})"
    return (f'<div class="verdict {"good" if data["verdict"] == "passed" else "bad"}">'
            f"<b>{escape(data['verdict'])}</b>{exit_}: {escape(_words(one))}{more}</div>")


def _lost(one: Counted, row: dict[str, Any]) -> str:
    """What tasks lost on a CPU: in words, and by length."""
    data = one.data
    whose = "tasks" if data["of"] is None else f"process or thread {data['of']}"
    if not row["count"]:
        return f"<p>Nothing was taken from {whose}.</p>"
    share = row["total_ns"] / max(data["seconds"] * NS, 1)
    bins = {place: count for place, count in enumerate(row["histogram"]) if count}
    threshold = data["attribution"]["threshold_ns"]
    chart = drawing.histogram(
        [drawing.Curve(f"CPU {row['cpu']}", bins, row["worst_ns"], [("threshold", threshold)])],
        f"CPU {row['cpu']}: losses by length", STEPS, "losses")
    return (f"<p>Taken from {whose}: {row['count']:,} times, {time(row['total_ns'])} in all "
            f"({100 * share:.3f} % of the time), {time(row['worst_ns'])} at most at one stretch, "
            f"at {escape(row['worst_at'] or '–')}.</p><figure>{chart}"
            '<figcaption class="readout dim" aria-live="polite">Arrow keys or the pointer read '
            "a bucket.</figcaption></figure>")


def _wanted(row: dict[str, Any]) -> str:
    """Who sent, queued or woke the longest."""
    if not row["sender"]:
        return "–"
    where = "" if row["sender_cpu"] is None else f" on CPU {row['sender_cpu']}"
    return with_stack(f"{row['sender']}{where}", row["stack"])


def _sources(one: Counted, cpu: int) -> str:
    rows = one.sources(cpu)
    if not rows:
        return '<p class="dim">Nothing else ran there.</p>'
    length = max(one.data["seconds"] * NS, 1)
    most = max(row["total_ns"] for row in rows) or 1
    return folded(
        ("what", "who", "times", "in all", "of the time", "longest", "when (UTC)",
         "who wanted the longest", ""),
        [[escape(row["kind"]), escape(row["who"] or "–"), f"{row['count']:,}",
          time(row["total_ns"]), f"{100 * row['total_ns'] / length:.3f} %", time(row["worst_ns"]),
          escape(row["worst_at"] or "–"), _wanted(row), bar(row["total_ns"] / most)]
         for row in rows], "  nnnn")


def _excesses(one: Counted) -> str:
    rows = one.data["attribution"]["excesses"]
    if not rows:
        return '<p class="dim">None.</p>'
    return folded(
        ("CPU", "loss", "length", "when it began (UTC)", "its parts"),
        [[str(row["cpu"]), f"{row['trigger']:,}", time(row["value_ns"]), escape(row["at"]),
          causes(row)] for row in rows], "nnn")


def _account(data: dict[str, Any]) -> str:
    cost, account = data["cost"], data["account"]
    each = "not known" if cost["event_ns"] is None else shape.time(cost["event_ns"])
    runs = "the kernel did not measure them"
    if cost["runs"]:
        runs = (f"{cost['runs']:,} in {cost['run_seconds']:.3g} s, "
                f"{shape.time(cost['run_ns'] / cost['runs'])} each")
    rows = [
        ["kernel", data["kernel"]],
        ["events on these CPUs", f"{cost['events']:,}, {each} each: "
         f"{cost['percent']:.3f} % of their time"],
        ["runs of programs on all CPUs", runs],
        ["not counted", f"{account['uncounted']:,} that found no place, {account['missed']:,} "
         "amid the same program"],
        ["counted as (others)", f"{account['crowded']:,}, as the table was full"],
        ["begins or ends without the other", f"{account['unmatched']:,}"],
        ["switches not reported", f"{account['unseen']:,}"],
        ["not noted", f"{account['without_sender']:,} senders, {account['without_stack']:,} "
         "stacks"],
    ]
    return table(("", ""), [[escape(a), escape(b)] for a, b in rows])


def counted(one: Counted, number: int, several: bool) -> str:
    """All of one result; `number` keeps the places of a page apart."""
    data = one.data
    head = f"<h2>{escape(one.source)}</h2>" if several else ""
    places = {f"r{number}-cpu-{cpu}": cpu for cpu in data["cpus"]}
    links = "".join(f'<a href="#{place}">CPU {cpu}</a>' for place, cpu in places.items())
    links += "".join(f'<a href="#r{number}-{name}">{name}</a>'
                     for name in ("causes", "losses", "account"))
    said = [f'<section tabindex="-1">{head}<p class="dim">{escape(data["began"] or "–")}, '
            f"{data['seconds']:.1f} s</p><nav>{links}</nav>{_verdict(one)}</section>"]
    for place, cpu in places.items():
        said.append(f'<section tabindex="-1" id="{place}"><h2>CPU {cpu}</h2>'
                    f"{_lost(one, one.losses[cpu])}<h3>All that had the CPU</h3>"
                    f"{_sources(one, cpu)}</section>")
    for name, title, body in (
            ("causes", "Causes of long losses, ranked", ranked(data["attribution"])),
            ("losses", "The longest losses", _excesses(one)),
            ("account", "What looking cost, and what was counted", _account(data))):
        said.append(f'<section tabindex="-1" id="r{number}-{name}"><h2>{title}</h2>{body}'
                    "</section>")
    return "".join(said)
