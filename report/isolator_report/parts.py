# SPDX-License-Identifier: GPL-2.0-or-later
"""Pieces of a page: tables, causes."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from .duration import marked, time

SHOWN = 25  # rows of a long table, before the rest is folded away


def result(kind: str, verdict: str, facts: Mapping[str, str], body: str) -> str:
    """What every page begins with: the verdict, good, mid or bad; then of what it is.

    `facts` are text: machine, kernel, command, date; each figure in `body` takes them along.
    """
    about = escape("; ".join(f"{name}: {value}" for name, value in facts.items()))
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
                   for name, value in facts.items())
    return (f'<div data-about="{about}"><div class="verdict {kind}">{verdict}</div>'
            f'<dl class="about">{rows}</dl>{body}</div>')


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: str = "") -> str:
    """`numbers` has an n for each column of numbers."""
    kinds = [' class="n"' if mark == "n" else "" for mark in numbers.ljust(len(head))]
    body = "".join("<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in
                                    zip(kinds, row, strict=True)) + "</tr>" for row in rows)
    first = "".join(f'<th scope="col"{kind}>{escape(cell)}</th>'
                    for kind, cell in zip(kinds, head, strict=True))
    return f'<div class="scroll" tabindex="0"><table><tr>{first}</tr>{body}</table></div>'


def folded(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: str = "") -> str:
    """A table of which only the first rows are open."""
    said = table(head, rows[:SHOWN], numbers)
    if len(rows) > SHOWN:
        said += (f"<details><summary>{len(rows) - SHOWN} more</summary>"
                 f"{table(head, rows[SHOWN:], numbers)}</details>")
    return said


def bar(share: float) -> str:
    """Of 1 at most."""
    return f'<span class="bar" style="width:{max(100 * share, 1):.0f}px"></span>'


def with_stack(words: str, stack: Sequence[str]) -> str:
    """The stack folded away."""
    if not stack:
        return f"<div>{escape(words)}</div>"
    calls = escape("\n".join(stack))
    return f"<details><summary>{escape(words)}</summary><pre>{calls}</pre></details>"


def causes(outlier: dict[str, Any]) -> str:
    """Of one outlier."""
    said = []
    for cause in outlier["causes"]:
        text = f"{time(cause['ns'])} {cause['kind']}"
        if cause["who"]:
            text += f": {cause['who']}"
        if cause["pid"] is not None:
            text += f" ({cause['pid']})"
        if cause["sender"]:
            text += f", from {cause['sender']}"
        if cause["sender_cpu"] is not None:
            text += f" on CPU {cause['sender_cpu']}"
        said.append(with_stack(text, cause["stack"]))
    rest = outlier["value_ns"] - outlier["explained_ns"]
    if rest > 0:
        said.append(f'<div class="dim">{time(rest)} not explained</div>')
    return "".join(said)


def ranked(attribution: dict[str, Any]) -> str:
    """The causes of all outliers, and what the search for them cost and lost."""
    overhead = attribution["overhead"]
    cost = "; what looking costs was not measured"
    if overhead is not None:
        cost = (f"; looking costs: p50 {time(overhead['on_p50_ns'])} with, "
                f"{time(overhead['off_p50_ns'])} without; p99 "
                f"{time(overhead['on_p99_ns'])} with, {time(overhead['off_p99_ns'])} "
                "without")
    said = (f"<p>{attribution['seen']:,} values above {time(attribution['threshold_ns'])}, "
            f"{attribution['looked']:,} looked into, {attribution['lost']:,} trace events lost "
            f"(source: {attribution['source']}){escape(cost)}.</p>")
    most = max((row["total_ns"] for row in attribution["causes"]), default=1) or 1
    return said + table(
        ("cause", "who", "times", "in all", "worst", "when (UTC)", "share"),
        [[escape(row["kind"]), escape(row["who"] or "–"), f"{row['count']:,}",
          marked(row["total_ns"]), marked(row["worst_ns"]), escape(row["worst_at"]),
          bar(row["total_ns"] / most)] for row in attribution["causes"]], "  nnn")
