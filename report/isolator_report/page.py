# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as one page of HTML that needs nothing else."""

from collections.abc import Sequence
from html import escape
from typing import Any

from . import drawing, shape
from .document import Result, Series
from .duration import marked, time
from .parts import causes, folded, ranked, table
from .shell import shell

GOOD = {"measured", "passed"}


def _verdict(result: Result) -> str:
    data = result.data
    kind = "good" if data["verdict"] in GOOD else "bad"
    lost = result.invalid
    more = f'<p class="bad">Not a result: {escape(lost)}</p>' if lost else ""
    if data["early"]:
        more += "<p>A signal ended it before its time.</p>"
    if data["verdict"] == "running":
        more += "<p>Written while it ran: it has not ended, or was killed.</p>"
    rows = [[escape(row["name"]), marked(row["limit_ns"]), marked(row["value_ns"], "not known"),
             "decides" if row["hard"] else "warns",
             f'<span class="{"good" if row["result"] == "held" else "bad"}">'
             f'{row["result"]}</span>'] for row in data["limits"]]
    judged = "<h3>Limits</h3>" + table(("of", "limit", "value", "", ""), rows, " nn") \
        if rows else ""
    return (f'<div class="verdict {kind}"><b>{escape(data["verdict"])}</b> '
            f'(exit {data["exit"]}): {escape(data["words"])}{more}</div>{judged}')


def _marks(one: Series) -> list[tuple[str, float]]:
    return [(f"p{row['percent']:g}", row["value_ns"]) for row in one.data["percentiles"]
            if row["value_ns"] is not None and row["percent"] in (50.0, 99.0, 99.99)]


def _percentiles(rows: Sequence[Series]) -> str:
    """One under the other; a bound that is not there says what it takes."""
    lines = []
    for one in rows:
        for row in one.data["percentiles"]:
            needs = f'<span class="dim">takes {row["needs"]:,} samples</span>'
            lines.append([escape(one.key[0]), f"p{row['percent']:g}",
                          marked(row["value_ns"], '<span class="dim">too few samples</span>'),
                          marked(row["upper_ns"], needs)])
        lines.append([escape(one.key[0]), "max", marked(one.data["max"]), "exact"])
    return table(("part", "percentile", "value", "upper bound, 95 %"), lines, "  nn")


def _counts(rows: Sequence[Series]) -> str:
    lines = []
    for one in rows:
        data = one.data
        mark = '<span class="good">yes</span>' if data["complete"] else \
            '<span class="bad">no: samples were lost uncounted</span>'
        lines.append([escape(one.key[0]), *(f"{data[key]:,}" for key in (
            "triggers", "samples", "overflow", "missing")), mark, marked(data["min"]),
            marked(data["mean"])])
    return table(("part", "triggers", "samples", "above the histogram", "missing", "complete",
                  "min", "mean"), lines, " nnnn nn")


def _top(rows: Sequence[Series], outliers: Sequence[dict[str, Any]]) -> str:
    found = []
    for one in rows:
        for row in one.data["top"]:
            why = "not looked at" if row["outlier"] is None else causes(outliers[row["outlier"]])
            found.append((row["value_ns"], [
                escape(one.key[0]), marked(row["value_ns"]), escape(row["at"]),
                f"{row['trigger']:,}", why]))
    if not found:
        return '<p class="dim">It has no largest values with their times.</p>'
    return folded(("part", "value", "when (UTC)", "trigger", "causes"),
                  [row for _, row in sorted(found, key=lambda row: -row[0])], " n n")


def _settings(data: dict[str, Any]) -> str:
    rows = [[escape(row["name"]), escape(row["asked"] or "–"),
             escape(row["got"]) if row["got"] is not None else "cannot be read",
             '<span class="good">yes</span>' if row["held"] else '<span class="bad">no</span>',
             escape(row["note"] or "")] for row in data["settings"]]
    return table(("setting", "asked", "read back", "held", ""), rows)


def _machine(data: dict[str, Any]) -> str:
    machine, instrument = data["machine"], data["instrument"]
    floor = instrument["floor_ns"]
    rows = [["kernel", data["kernel"]], ["command line", machine["cmdline"] or "not known"],
            ["processor", machine["cpu"] or "not known"],
            ["virtual machine", {True: "yes", False: "no", None: "not known"}[machine["virtual"]]],
            ["clock source", machine["clocksource"] or "not known"],
            ["CPUs online", "not known" if machine["online"] is None else
             ", ".join(map(str, machine["online"]))],
            ["method", f"{data['measure']} by {data['method']}, phase {data['phase']['kind']}"
             + (f", seed {data['phase']['seed']}" if data["phase"]["seed"] is not None else "")],
            ["clock of the instrument", instrument["clock"]
             + (f" ({instrument['note']})" if instrument["note"] else "")],
            ["its resolution", f"{instrument['resolution_ns']:g} ns"],
            ["its floor", f"min {floor['min']} ns, p50 {floor['p50']} ns, max {floor['max']} ns: "
             "what it measures where nothing else happens"],
            ["its threshold", time(instrument["threshold_ns"])
             if instrument["threshold_ns"] is not None else "none"]]
    said = table(("", ""), [[escape(a), escape(b)] for a, b in rows])
    findings = [[escape(row["severity"]), escape(row["id"]), escape(row["path"] or "–"),
                 escape(row["value"] or "–")] for row in machine["findings"] or []]
    none = "Not known: it was not asked." if machine["findings"] is None else "Nothing."
    said += "<h3>What isolator audit says of the measured CPUs</h3>"
    return said + (table(("severity", "finding", "where", "value"), findings) if findings
                   else f'<p class="dim">{none}</p>')


def _group(rows: Sequence[Series], data: dict[str, Any], label: str) -> str:
    """One quantity on one CPU: quiet and loaded on top of each other."""
    place = rows[0].place
    outliers = data["attribution"]["outliers"] if data["attribution"] else []
    loads = {one.key[0]: one.part["load"] for one in rows}
    curves = [drawing.Curve(one.key[0] + (f" ({loads[one.key[0]]})" if loads[one.key[0]] else ""),
                            drawing.rebin(one.histogram), one.data["max"], _marks(one))
              for one in rows]
    said = [f'<section tabindex="-1" id="{label}"><h2>{escape(place)}</h2>']
    for one in rows:
        found = shape.diagnose(one.histogram, one.data["overflow"], one.data["max"],
                               int(max(data["instrument"]["resolution_ns"], 1)))
        said.append(f"<p><b>{escape(one.key[0])}</b>: {escape(found.words)}.</p>")
    said += ["<figure>", drawing.histogram(curves, f"{place}: samples by value"),
             '<figcaption class="readout dim" aria-live="polite">Arrow keys or the pointer read '
             "a bucket.</figcaption></figure>", _percentiles(rows), _counts(rows)]
    for number, one in enumerate(rows):
        line = one.data["timeline"]
        said.append(f"<h3>Maxima over time, {escape(one.key[0])}</h3>"
                    + drawing.timeline(line["interval_ns"], line["maxima"],
                                       f"{one.title}: maxima over time", number % 2))
    said += ["<h3>Largest values</h3>", _top(rows, outliers), "</section>"]
    return "".join(said)


def _result(result: Result, number: int, several: bool) -> str:
    data = result.data
    groups: dict[tuple[str, int | None], list[Series]] = {}
    for one in result.series:
        groups.setdefault(one.key[1:], []).append(one)
    head = f"<h2>{escape(result.source)}</h2>" if several else ""
    labels = {key: f"r{number}-{key[0]}-{key[1]}".replace(" ", "-") for key in groups}
    links = "".join(f'<a href="#{escape(label)}">{escape(groups[key][0].place)}</a>'
                    for key, label in labels.items())
    links += "".join(f'<a href="#r{number}-{name}">{name}</a>' for name in (
        "causes", "settings", "machine"))
    return (f'<section tabindex="-1">{head}<p class="dim">{escape(data["began"])}, '
            f"{data['seconds']:.1f} s, run {data['id']}</p><nav>{links}</nav>{_verdict(result)}"
            "</section>"
            + "".join(_group(rows, data, escape(labels[key])) for key, rows in groups.items())
            + f'<section tabindex="-1" id="r{number}-causes"><h2>Causes, ranked</h2>'
            + (ranked(data["attribution"]) if data["attribution"] else
               '<p class="dim">Causes were not asked for.</p>') + "</section>"
            + f'<section tabindex="-1" id="r{number}-settings"><h2>Settings</h2>'
            + f"{_settings(data)}</section>"
            + f'<section tabindex="-1" id="r{number}-machine"><h2>Machine and instrument</h2>'
            + f"{_machine(data)}</section>")


def page(results: Sequence[Result]) -> str:
    """All results, one below the other."""
    measures = sorted({one.data["measure"] for one in results})
    body = "".join(_result(one, number, len(results) > 1) for number, one in enumerate(results))
    return shell(f"isolator measure: {', '.join(measures)}",
                 '<p class="dim">Keys: j and k go from section to section, d '
                 "turns light to dark; in a histogram the arrow keys, Home and End read its "
                 f"buckets.</p>{body}")
