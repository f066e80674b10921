# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of isolator-report."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from . import VERSION, terminal
from .document import Result, load
from .errors import ERROR, INCONCLUSIVE, PASS, ReportError, system
from .parser import Parser

STDOUT = Path("-")

EXAMPLES = """examples:
  isolator-report html run.json -o run.html
  isolator-report compare before/ after/
  isolator-report import cyclictest.json -o run.json

isolator-report COMMAND --help says more.
Exit codes: 0 done, 1 error, 2 B is worse (compare), 3 inconclusive or not a result."""


def say(words: object) -> None:
    """Of this program."""
    terminal.say("isolator-report", words)


def write(path: Path, content: str | bytes) -> None:
    """A whole file or none: written beside it, then renamed.  - is the standard output."""
    # Of a name that is no text, as a file may have, what is one.
    raw = content.encode(errors="replace") if isinstance(content, str) else content
    if path == STDOUT:
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
        return
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(raw)  # a device or a pipe
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(raw)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise ReportError(f"{path}: {problem.strerror}") from problem


def dump(data: object) -> str:
    """As JSON text, which may be looked at on a terminal."""
    return terminal.escaped(json.dumps(data, indent=1, ensure_ascii=False)) + "\n"


def html(arguments: argparse.Namespace) -> int:
    """isolator-report html."""
    from .page import page

    results = [load(path) for path in arguments.results]
    write(arguments.output, page(results))
    bad = [one for one in results if one.invalid]
    for one in bad:
        say(f"{one.source}: not a result: {one.invalid}")
    return INCONCLUSIVE if bad else PASS


def _side(paths: Sequence[Path]) -> list[Result]:
    """The documents of a file, or of a directory of them."""
    found: list[Result] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.json"))
            if not inside:
                raise ReportError(f"{path}: no *.json in it")
            found += [load(one) for one in inside]
        else:
            found.append(load(path))
    return found


def compare(arguments: argparse.Namespace) -> int:
    """isolator-report compare."""
    from . import compare as comparing
    from .compare_text import as_json, lines
    from .rounds import interleave

    if bool(arguments.run) == bool(arguments.results):
        raise ReportError("compare: give either A and B, or --run with two commands")
    if not arguments.run and len(arguments.results) != 2:
        raise ReportError("compare: give two files or directories, A and B")
    try:
        if arguments.run:
            first, second = arguments.run
            a, b = interleave(first, second, arguments.rounds, arguments.timeout, arguments.keep)
        else:
            a, b = (_side([path]) for path in arguments.results)
        kinds = {(one.data["measure"], one.data["method"]) for one in [*a, *b]}
        if len(kinds) > 1:
            raise comparing.Invalid("invalid: not the same was measured: " + ", ".join(
                sorted(" by ".join(kind) for kind in kinds)))
        found = comparing.compare([comparing.run_of(one) for one in a],
                                  [comparing.run_of(one) for one in b],
                                  arguments.margin / 100, arguments.part, arguments.series)
        found.notes += comparing.within(a[0], b[0]) if len(a) == len(b) == 1 else []
        differ = comparing.differences(a[0], b[0])
    except ReportError as problem:
        if not arguments.json:
            raise
        words = str(problem)
        found = comparing.Comparison("invalid", words, "separate", 0, arguments.margin / 100)
        differ = []
        say(words)
    if arguments.json:
        write(STDOUT, dump(as_json(found, differ)))
    else:
        terminal.show(lines(found, differ))
    return found.exit


def bring(arguments: argparse.Namespace) -> int:
    """isolator-report import."""
    from .foreign import read

    result, warnings = read(arguments.file, arguments.format)
    for words in warnings:
        say(f"{arguments.file}: {words}")
    write(arguments.output, dump(result.data))
    return INCONCLUSIVE if result.invalid else PASS


def perfetto(arguments: argparse.Namespace) -> int:
    """isolator-report perfetto."""
    from .perfetto_trace import export

    write(arguments.output, export(load(arguments.result)))
    return PASS


def merge(arguments: argparse.Namespace) -> int:
    """isolator-report merge."""
    from .merge import merge as together

    result = together(_side(arguments.results))
    write(arguments.output, dump(result.data))
    if result.invalid:
        say(result.data["words"])
    return INCONCLUSIVE if result.invalid else PASS


def advise(arguments: argparse.Namespace) -> int:
    """isolator-report advise."""
    from .advise import advise as about

    result = load(arguments.result)
    if result.invalid:
        raise _invalid(result)
    found = about(result, arguments.percent)
    if arguments.json:
        write(STDOUT, dump({
            "schema": "isolator.advice", "version": 1, "id": result.data["id"],
            "percent": arguments.percent, "series": [asdict(one) for one in found]}))
    else:
        for one in found:
            terminal.show([one.title, *(f"  {words}" for words in one.words)])
    return PASS if found and all(one.bound_ns is not None for one in found) else INCONCLUSIVE


def _invalid(result: Result) -> ReportError:
    from .errors import InvalidResult

    return InvalidResult(f"{result.source}: not a result: {result.invalid}")


def _percent(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 50 <= value < 100:
        raise argparse.ArgumentTypeError(f"{word} is not a percentile from 50 to below 100")
    return value


def _positive(kind: Callable[[str], float], word: str, most: float) -> float:
    try:
        value = kind(word)
    except ValueError:
        value = 0
    if not 0 < value <= most:
        raise argparse.ArgumentTypeError(f"{word} is not a number above 0, at most {most:g}")
    return value


def parser() -> Parser:
    """All commands and options."""
    main_ = Parser(prog="isolator-report", description="Read what isolator measure wrote: show, "
                   "compare, merge, export, and import what other programs wrote.",
                   epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    main_.add_argument("-V", "--version", action="version",
                       version=f"isolator-report {VERSION}")
    command = main_.commands()

    def output(made: argparse.ArgumentParser, required: bool = False) -> None:
        made.add_argument("-o", "--output", metavar="FILE", type=Path, default=STDOUT,
                          required=required, help="write to FILE; -, standard output, "
                          + ("is allowed" if required else "is the default"))

    made = command("html", html, "one page of HTML that needs nothing else",
                   "  isolator-report html run.json -o run.html\n"
                   "  isolator-report html before.json after.json -o both.html")
    made.add_argument("results", metavar="RESULT", type=Path, nargs="+", help="a document")
    output(made, required=True)

    made = command(
        "compare", compare, "is B worse than A: effect sizes, noise floor, verdict",
        "  isolator-report compare before/ after/\n"
        "  isolator-report compare before.json after.json\n"
        '  isolator-report compare --rounds 20 --keep out --run "isolator measure latency -t 5s '
        '--json" \\\n      "isolator measure latency -t 5s --priority 90 --json"\n\n'
        "A and B are results, or directories of results of several runs.  One run of each says\n"
        "nothing of how far two runs of the same are apart: it is inconclusive.\n"
        "Exit codes: 0 pass, 2 fail, 3 inconclusive, 1 invalid or error.")
    made.add_argument("results", metavar="A B", type=Path, nargs="*",
                      help="each a document or a directory of documents")
    made.add_argument("--run", nargs=2, metavar=("CMD_A", "CMD_B"),
                      help="run both in turns (ABBA, BAAB, …); each prints a document, or writes "
                      "it to the file whose name replaces {}")
    made.add_argument("--rounds", metavar="N", type=lambda word: int(_positive(int, word, 500)),
                      default=10, help="rounds of four runs, with --run (default %(default)s)")
    made.add_argument("--timeout", metavar="SECONDS",
                      type=lambda word: _positive(float, word, 1e6), default=3600.0,
                      help="limit of one run (default %(default)s)")
    made.add_argument("--keep", metavar="DIR", type=Path,
                      help="keep the documents of --run in DIR/a and DIR/b")
    made.add_argument("--margin", metavar="PERCENT",
                      type=lambda word: _positive(float, word, 1000), default=5.0,
                      help="ignore differences up to this (default %(default)s)")
    made.add_argument("--part", choices=("quiet", "loaded"), help="only this part")
    made.add_argument("--series", metavar="NAME", help="only this series")
    made.add_argument("--json", action="store_true", help="schema isolator.compare, version 1")

    made = command("import", bring,
                   "a result of cyclictest, oslat, jitterdebugger or rtla as a document",
                   "  isolator-report import cyclictest.json -o run.json\n"
                   "  rtla timerlat hist -d 1m | isolator-report import /dev/stdin -o run.json")
    made.add_argument("file", metavar="FILE", type=Path, help="output of the other program")
    made.add_argument("--format", choices=("cyclictest", "oslat", "jitterdebugger", "rtla"),
                      help="expect this format; default: recognise it")
    output(made)

    made = command("perfetto", perfetto,
                   "the outliers as a trace for ui.perfetto.dev, one track per CPU and cause",
                   "  isolator-report perfetto run.json -o run.pftrace")
    made.add_argument("result", metavar="RESULT", type=Path, help="a document")
    output(made, required=True)

    made = command("merge", merge, "several runs or hours of the same as one document",
                   "  isolator-report merge hour-*.json -o night.json")
    made.add_argument("results", metavar="RESULT", type=Path, nargs="+",
                      help="a document or a directory of documents")
    output(made)

    made = command("advise", advise, "how long to run for a percentile with a bound, and whether "
                   "the run allows to conclude anything",
                   "  isolator-report advise run.json\n"
                   "  isolator-report advise run.json --percent 99.999\n\n"
                   "Exit codes: 0 there is a bound, 3 there is none yet, 1 error.")
    made.add_argument("result", metavar="RESULT", type=Path, help="a document")
    made.add_argument("--percent", metavar="P", type=_percent, default=99.9999,
                      help="the percentile (default %(default)s)")
    made.add_argument("--json", action="store_true", help="schema isolator.advice, version 1")
    return main_


def main(words: Sequence[str] | None = None) -> int:
    """Run; every error is one line that says what helps."""
    arguments = parser().parse_args(words)
    try:
        return int(arguments.run_command(arguments))
    except ReportError as problem:
        say(problem)
        return problem.status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return ERROR
    except OSError as problem:
        say(system(problem))
        return ERROR
    except KeyboardInterrupt:
        say("interrupted")
        return ERROR
