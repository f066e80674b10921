# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as one page of HTML that needs nothing else."""

from collections.abc import Sequence
from html import escape
from typing import Any

from . import drawing, shape
from .axis import Axis, place
from .document import Result, Series
from .duration import marked, time
from .parts import causes, folded, ranked, result, table
from .shell import shell

GOOD = {"measured", "passed"}
FEW = 3  # quantities: of more the sections are folded


def _verdict(one: Result) -> tuple[str, str]:
    """Its kind, and its words."""
    data = one.data
    kind = "good" if data["verdict"] in GOOD else "mid" if data["verdict"] == "running" else "bad"
    lost = one.invalid
    words = data["words"].removeprefix(f"{data['verdict']}: ")
    more = '<p class="bad">Not a result' + (
        "" if lost == data["words"] else f": {escape(lost)}") + ".</p>" if lost else ""
    if data["early"]:
        more += "<p>A signal ended it before its time.</p>"
    if data["verdict"] == "running":
        more += "<p>Written while it ran: it has not ended, or was killed.</p>"
    return kind, (f'<b>{escape(data["verdict"])}</b> (exit {data["exit"]}): '
                  f"{escape(words)}{more}")


def _judged(data: dict[str, Any]) -> str:
    rows = [[escape(row["name"]), marked(row["limit_ns"]),
             marked(row["value_ns"], "not known", row["limit_ns"]),
             "decides" if row["hard"] else "warns",
             f'<span class="{"good" if row["result"] == "held" else "bad"}">'
             f'{row["result"]}</span>'] for row in data["limits"]]
    return "<h3>Limits</h3>" + table(("of", "limit", "value", "weight", "result"), rows, " nn") \
        if rows else ""


def _method(data: dict[str, Any]) -> str:
    seed = data["phase"]["seed"]
    return (f"{data['measure']} by {data['method']}, phase {data['phase']['kind']}"
            + (f", seed {seed}" if seed is not None else ""))


def _facts(data: dict[str, Any]) -> dict[str, str]:
    """Of what it is, for the head and for each figure."""
    machine = data["machine"]
    known = {True: " (a virtual machine)", False: "", None: " (virtual or not is not known)"}
    processor = (machine["cpu"] or "processor not known") + known[machine["virtual"]]
    return {"machine": ", ".join(filter(None, (machine.get("host"), processor))),
            "kernel": f"Linux {data['kernel']}" if data["kernel"] != "not known" else "not known",
            "command": data.get("command") or "not known",
            "measured": _method(data),
            "date": f"{data['began'][:19].replace('T', ' ')} UTC, for {data['seconds']:.1f} s",
            "run": data["id"]}


def _limits(data: dict[str, Any], name: str) -> list[tuple[str, float]]:
    """Those that a series of that name is judged by, for a drawing: name and ns."""
    found = [(row["name"].rpartition("/"), row["limit_ns"]) for row in data["limits"]]
    return [(f"limit {of}", float(ns)) for (line, _, of), ns in found if line in ("", name)]


def _known(one: Series) -> dict[str, float | None]:
    """Values of a series by name."""
    return {"min": one.data["min"], "max": one.data["max"],
            **{f"p{row['percent']:g}": row["value_ns"] for row in one.data["percentiles"]}}


NAMES = ("min", "p50", "p99", "p99.9", "max")


def _overview(of: Result) -> str:
    """All of it on one axis, before anything else."""
    rows = [one for one in of.series if one.data["max"]]
    if not rows:
        return ""
    known = [_known(one) for one in rows]
    limits = [_limits(of.data, one.data["name"]) for one in rows]
    every = [ns for row in known for ns in row.values() if ns] + \
        [ns for row in limits for _, ns in row]
    axis = Axis(place(min(every)) - 4, place(max(every)) + 4, 0, drawing.STRIP)
    judged = any(limits)
    lines = []
    for one, values, drawn in zip(rows, known, limits, strict=True):
        worst = {of.removeprefix("limit "): ns for of, ns in drawn}
        beyond = [name for name, ns in worst.items()
                  if (value := values.get(name)) is not None and value > ns]
        verdict = [] if not judged else [
            "–" if not worst else f'<span class="bad">{", ".join(beyond)} beyond</span>'
            if beyond else '<span class="good">held</span>'
            if all(values.get(name) is not None and not (name == "max" and one.data["missing"])
                   for name in worst) else "cannot say"]
        lines.append([escape(one.title), *(marked(values.get(name), beside=worst.get(name))
                                           for name in NAMES),
                      f"{one.data['missing']:,}", *verdict, drawing.strip(axis, values, drawn)])
    scale = f"{time(min(every))} to {time(max(every))}, logarithmic; dark: p50 to p99"
    return table(("what", *NAMES, "missing", *(["limit"] if judged else []), scale), lines,
                 " nnnnnn")


def _marks(one: Series) -> list[tuple[str, float]]:
    return [(f"p{row['percent']:g}", row["value_ns"]) for row in one.data["percentiles"]
            if row["value_ns"] is not None and row["percent"] in (50.0, 99.0, 99.99)]


def _percentiles(rows: Sequence[Series]) -> str:
    """One under the other; a bound that is not there says what it takes."""
    lines = []
    for one in rows:
        for row in one.data["percentiles"]:
            needs = f'<span class="dim">takes {row["needs"]:,} samples</span>'
            lines.append([escape(one.stretch), f"p{row['percent']:g}",
                          marked(row["value_ns"], '<span class="dim">too few samples</span>'),
                          marked(row["upper_ns"], needs)])
        lines.append([escape(one.stretch), "max", marked(one.data["max"]), "exact"])
    return table(("part", "percentile", "value", "upper bound, 95 %"), lines, "  nn")


def _counts(rows: Sequence[Series]) -> str:
    lines = []
    for one in rows:
        data = one.data
        mark = '<span class="good">yes</span>' if data["complete"] else \
            '<span class="bad">no: samples were lost uncounted</span>'
        lines.append([escape(one.stretch), *(f"{data[key]:,}" for key in (
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
                escape(one.stretch), marked(row["value_ns"]), escape(row["at"]),
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
    return table(("setting", "asked", "read back", "held", "note"), rows)


def _machine(data: dict[str, Any]) -> str:
    machine, instrument = data["machine"], data["instrument"]
    floor = instrument["floor_ns"]
    rows = [["host", machine.get("host") or "not known"], ["kernel", data["kernel"]],
            ["command line", machine["cmdline"] or "not known"],
            ["processor", machine["cpu"] or "not known"],
            ["virtual machine", {True: "yes", False: "no", None: "not known"}[machine["virtual"]]],
            ["clock source", machine["clocksource"] or "not known"],
            ["CPUs online", "not known" if machine["online"] is None else
             ", ".join(map(str, machine["online"]))],
            ["method", _method(data)],
            ["clock of the instrument", instrument["clock"]
             + (f" ({instrument['note']})" if instrument["note"] else "")],
            ["its resolution", f"{instrument['resolution_ns']:g} ns"],
            ["its floor", f"min {floor['min']} ns, p50 {floor['p50']} ns, max {floor['max']} ns: "
             "what it measures where nothing else happens"],
            ["its threshold", time(instrument["threshold_ns"])
             if instrument["threshold_ns"] is not None else "none"]]
    said = table(("what", "value"), [[escape(a), escape(b)] for a, b in rows])
    findings = [[escape(row["severity"]), escape(row["id"]), escape(row["path"] or "–"),
                 escape(row["value"] or "–")] for row in machine["findings"] or []]
    none = "Not known: it was not asked." if machine["findings"] is None else "Nothing."
    said += "<h3>What isolator audit says of the measured CPUs</h3>"
    return said + (table(("severity", "finding", "where", "value"), findings) if findings
                   else f'<p class="dim">{none}</p>')


def _group(rows: Sequence[Series], data: dict[str, Any], label: str, folded_away: bool) -> str:
    """One quantity on one CPU: quiet and loaded on top of each other."""
    title = rows[0].place
    outliers = data["attribution"]["outliers"] if data["attribution"] else []
    curves = [drawing.Curve(one.stretch + (f" ({one.part['load']})" if one.part["load"] else ""),
                            drawing.rebin(one.histogram), one.data["max"], _marks(one),
                            one.data["overflow"] + one.data["missing"])
              for one in rows]
    limits = _limits(data, rows[0].data["name"])
    said = [f'<section tabindex="-1" id="{label}"><h2>{escape(title)}</h2>']
    for one in rows:
        found = shape.diagnose(one.histogram, one.data["overflow"], one.data["max"],
                               int(max(data["instrument"]["resolution_ns"], 1)), _known(one))
        said.append(f"<p><b>{escape(one.stretch)}</b>: {escape(found.words)}.</p>")
    if folded_away:
        said.append("<details><summary>histogram, percentiles, maxima over time</summary>")
    said += ["<figure>", drawing.histogram(curves, f"{title}: samples by value", limits),
             '<figcaption class="readout dim" aria-live="polite">Arrow keys or the pointer read '
             "a bucket.</figcaption></figure>", "<h3>How many are larger</h3><figure>",
             drawing.larger(curves, f"{title}: share of samples that are larger", limits),
             "</figure>", _percentiles(rows), _counts(rows)]
    # On one axis: what is calmer must not look worse.
    upright = drawing.span([one.data["timeline"]["maxima"] for one in rows], limits)
    for number, one in enumerate(rows):
        line = one.data["timeline"]
        said.append(f"<h3>Maxima over time, {escape(one.stretch)}</h3><figure>"
                    + drawing.timeline(line["interval_ns"], line["maxima"],
                                       f"{one.title}: maxima over time", number % 2, upright,
                                       limits) + "</figure>")
    said += ["<h3>Largest values</h3>", _top(rows, outliers),
             "</details>" if folded_away else "", "</section>"]
    return "".join(said)


def _result(of: Result, number: int, several: bool) -> str:
    data = of.data
    groups: dict[tuple[str, int | None], list[Series]] = {}
    for one in of.series:
        groups.setdefault(one.key[1:], []).append(one)
    head = f"<h2>{escape(of.source)}</h2>" if several else ""
    labels = {key: f"r{number}-{key[0]}-{key[1]}".replace(" ", "-") for key in groups}
    links = "".join(f'<a href="#{escape(label)}">{escape(groups[key][0].place)}</a>'
                    for key, label in labels.items())
    links += "".join(f'<a href="#r{number}-{name}">{name}</a>' for name in (
        "causes", "settings", "machine"))
    many = len(groups) > FEW
    body = (f'{_judged(data)}{_overview(of)}'
            f'<nav aria-label="{escape(f"{number + 1}: {of.source}")}">{links}</nav>'
            + "".join(_group(rows, data, escape(labels[key]), many)
                      for key, rows in groups.items())
            + f'<section tabindex="-1" id="r{number}-causes"><h2>Causes, ranked</h2>'
            + (ranked(data["attribution"]) if data["attribution"] else
               '<p class="dim">Causes were not asked for.</p>') + "</section>"
            + f'<section tabindex="-1" id="r{number}-settings"><h2>Settings</h2>'
            + f"{_settings(data)}</section>"
            + f'<section tabindex="-1" id="r{number}-machine"><h2>Machine and instrument</h2>'
            + f"{_machine(data)}</section>")
    return head \
        + result(*_verdict(of), _facts(data), body)


def page(results: Sequence[Result]) -> str:
    """All results, one below the other."""
    measures = sorted({one.data["measure"] for one in results})
    body = "".join(_result(one, number, len(results) > 1) for number, one in enumerate(results))
    return shell(f"isolator measure: {', '.join(measures)}",
                 f'{body}<p class="dim">Keys: j and k go from section to section, d '
                 "turns light to dark; in a histogram the arrow keys, Home and End read its "
                 "buckets.</p>")
