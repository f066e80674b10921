# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of isolator-scope."""

import argparse
import asyncio
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from isolator_report import VERSION, terminal
from isolator_report.cli import STDOUT, dump, write
from isolator_report.document import Result
from isolator_report.errors import ReportError, system
from isolator_report.parser import Parser

from . import headless
from .document import About, Limit, document, duration, limit
from .errors import ERROR, ScopeError, say
from .link import PORT, Target, address
from .protocol import Message, SetBurst, SetDuty, SetFrequency, SetPacket, SetPatience, SetPhase
from .text import csv_text, table

LONGEST_TOKEN = 255  # bytes

EXAMPLES = """examples:
  isolator-scope serve --connect 192.0.2.7:2350
  isolator-scope record --connect 192.0.2.7 --time 24h -o night.scope --json
  isolator-scope report night.scope -o night.html

isolator-scope COMMAND --help says more.
Exit codes: 0 done, 1 error, 2 a limit is exceeded, 3 inconclusive or not a result,
77 nothing to measure."""


def token(path: Path | None) -> str:
    """Out of a file: arguments can be read by everybody."""
    if path is None:
        return ""
    try:
        with path.open("rb") as file:
            others = os.fstat(file.fileno()).st_mode & 0o077
            word = file.readline(LONGEST_TOKEN + 2).rstrip(b"\n")
    except OSError as problem:
        raise ScopeError(f"{path}: {problem.strerror}") from problem
    if others:
        raise ScopeError(f"{path} can be read by others: chmod 600 {path}")
    if not 0 < len(word) <= LONGEST_TOKEN or not word.isascii():
        raise ScopeError(f"{path}: its first line must be of 1 to {LONGEST_TOKEN} ASCII "
                         f"characters: openssl rand -hex 16 > {path}")
    return word.decode()


def target(arguments: argparse.Namespace) -> Target:
    """Of --connect and --token-file."""
    return Target(*address(arguments.connect, PORT), token(arguments.token_file))


def settings(arguments: argparse.Namespace) -> tuple[list[Message], tuple[tuple[str, str], ...]]:
    """Commands, and how a document names what was asked."""
    found: list[Message] = []
    asked: list[tuple[str, str]] = []

    def ask(message: Message, name: str, value: str) -> None:
        found.append(message)
        asked.append((name, value))

    if arguments.frequency is not None:
        millihertz = round(arguments.frequency * 1000)
        ask(SetFrequency(millihertz), "frequency", f"{millihertz / 1000:g} Hz")
    if arguments.duty is not None:
        ppm = round(arguments.duty * 10_000)
        ask(SetDuty(ppm), "duty", f"{ppm / 1e4:g} %")
    if arguments.packet is not None:
        ask(SetPacket(arguments.packet), "packet", f"{arguments.packet} records")
    if arguments.seed is not None:
        ask(SetPhase(1, arguments.seed), "phase", f"random, seed {arguments.seed}")
    elif arguments.fixed:
        ask(SetPhase(0, 0), "phase", "fixed")
    if arguments.burst is not None:
        count, _, gap = arguments.burst.partition(",")
        if not count.isdecimal() or len(count) > 9:
            raise ScopeError(f"{arguments.burst}: not a burst; say 8,100us")
        ns = duration(gap) if gap else 0
        ask(SetBurst(int(count), ns), "burst", f"{count} triggers, {ns} ns apart")
    if arguments.patience is not None:
        ns = duration(arguments.patience)
        ask(SetPatience(ns), "patience", f"{ns} ns")
    return found, tuple(asked)


def about(arguments: argparse.Namespace, asked: tuple[tuple[str, str], ...] = (),
          early: bool = False, doubts: Sequence[str] = ()) -> About:
    """What is told of the target."""
    return About(arguments.kernel, arguments.cpu, arguments.load, early, asked, tuple(doubts))


def made(instrument: headless.Instrument, limits: Sequence[Limit], told: About) -> Result:
    """The document of a recording; what is wrong with it is said of that."""
    try:
        return document(instrument.account, limits, told)
    except ReportError as problem:
        raise type(problem)(f"{instrument.path}: {problem}") from problem


def show(result: Result, lines: Sequence[str], json: bool) -> int:
    """Print it; its exit status."""
    if json:
        write(STDOUT, dump(result.data))
    else:
        terminal.show([*lines, result.data["words"]])
    return int(result.data["exit"])


def record(arguments: argparse.Namespace) -> int:
    """isolator-scope record."""
    limits = [limit(words) for words in arguments.limit]
    commands, asked = settings(arguments)
    seconds = None if arguments.time is None else duration(arguments.time) / 1e9
    plan = headless.Plan(
        target(arguments), arguments.output, seconds, arguments.triggers or 0, commands,
        tuple(arguments.lines.split(",")) if arguments.lines else (), arguments.calibrate,
        duration(arguments.wait) / 1e9, sys.stderr.isatty())
    outcome = asyncio.run(headless.record(plan))
    instrument = outcome.instrument
    result = made(instrument, limits, about(arguments, asked, outcome.early, outcome.doubts))
    if arguments.report is not None:
        from isolator_report.page import page

        write(arguments.report, page([result]))
    return show(result, table(instrument.account), arguments.json)


def load(arguments: argparse.Namespace, speed: float = 0.0) -> headless.Instrument:
    """The recording that is named."""
    return asyncio.run(headless.load(arguments.recording, speed, sys.stderr.isatty()))


def replay(arguments: argparse.Namespace) -> int:
    """isolator-scope replay."""
    limits = [limit(words) for words in arguments.limit]
    instrument = load(arguments, arguments.speed)
    for event in instrument.events:
        if event.event not in ("connected", "ended"):
            say(f"{event.event}: {event.words}")
    result = made(instrument, limits, about(arguments))
    return show(result, table(instrument.account), arguments.json)


def report(arguments: argparse.Namespace) -> int:
    """isolator-scope report."""
    from isolator_report.page import page

    result = made(load(arguments), (), about(arguments))
    write(arguments.output, page([result]))
    if result.data["exit"]:
        say(result.data["words"])
    return int(result.data["exit"])


def export(arguments: argparse.Namespace) -> int:
    """isolator-scope export."""
    if arguments.format == "csv":
        if arguments.output == STDOUT:
            sys.stdout.writelines(csv_text(arguments.recording))
            return 0
        beside = arguments.output.with_name(f".{arguments.output.name}.new")
        try:
            beside.unlink(missing_ok=True)
            with beside.open("x", newline="") as out:  # follows no link
                out.writelines(csv_text(arguments.recording))
            os.replace(beside, arguments.output)
        except OSError as problem:
            raise ScopeError(f"{arguments.output}: {problem.strerror}") from problem
        finally:
            beside.unlink(missing_ok=True)
        return 0
    result = made(load(arguments), (), about(arguments))
    write(arguments.output, dump(result.data))
    return int(result.data["exit"])


def serve(arguments: argparse.Namespace) -> int:
    """isolator-scope serve."""
    from .server import Options, run

    if bool(arguments.connect) == bool(arguments.replay):
        raise ScopeError("serve: give either --connect or --replay")
    host, port = address(arguments.listen, 8350)
    given = token(arguments.page_token_file)
    options = Options(host, port, given, arguments.parts)
    if options.local and not given:  # other users of this machine reach it, too
        options = Options(host, port, secrets.token_urlsafe(24), arguments.parts, secret=False)
    if arguments.compare is not None and not arguments.compare.is_file():
        raise ScopeError(f"{arguments.compare}: no such recording")
    if arguments.replay:
        return run(options, arguments.replay, None, arguments.speed, arguments.compare)
    return run(options, arguments.output, target(arguments), 0.0, arguments.compare)


def _number(kind: Callable[[str], float], least: float, most: float) -> Callable[[str], float]:
    def read(word: str) -> float:
        try:
            value = kind(word)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{word} is not a number from {least:g} to {most:g}")
        return value

    return read


def _connect(made: argparse.ArgumentParser, required: bool) -> None:
    made.add_argument("--connect", metavar="HOST[:PORT]", required=required,
                      help=f"address of the generator (default port {PORT})")
    made.add_argument("--token-file", metavar="FILE", type=Path,
                      help="file whose first line is the generator's token")


def _about(made: argparse.ArgumentParser) -> None:
    made.add_argument("--cpu", metavar="N", type=_number(int, 0, 65535),
                      help="note the target's interrupted CPU in the document")
    made.add_argument("--kernel", metavar="RELEASE", help="note the target's kernel")
    made.add_argument("--load", metavar="WORDS", help="note what else runs there")


def _limits(made: argparse.ArgumentParser) -> None:
    made.add_argument("--limit", metavar="[LINE/]WHAT=TIME", action="append", default=[],
                      help="max=1ms, p99.9=50us, irq/max=100us; exit code 2 if exceeded")
    made.add_argument("--json", action="store_true", help="schema isolator.measure, version 1")


def parser() -> Parser:
    """All commands and options."""
    main_ = Parser(prog="isolator-scope", description="Measure a machine's answers to interrupts "
                   "from outside: record what a generator notes, account for it, show it.",
                   epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    main_.add_argument("-V", "--version", action="version", version=f"isolator-scope {VERSION}")
    command = main_.commands()

    made = command("serve", serve, "a page with a live picture, and a recording of all of it",
                   "  isolator-scope serve --connect 192.0.2.7\n"
                   "  isolator-scope serve --replay night.scope --speed 10")
    _connect(made, False)
    made.add_argument("--replay", metavar="RECORDING", type=Path, help="show this recording")
    made.add_argument("--speed", metavar="X", type=_number(float, 0, 1e6), default=1.0,
                      help="speed of --replay; 0: as fast as possible (default %(default)g)")
    made.add_argument("-o", "--output", metavar="RECORDING", type=Path,
                      default=Path("isolator.scope"),
                      help="the recording; appended to if it exists (default %(default)s)")
    made.add_argument("--compare", metavar="RECORDING", type=Path,
                      help="the page can show the runs of this one beside its own")
    made.add_argument("--listen", metavar="HOST[:PORT]", default="127.0.0.1:8350",
                      help="address of the page (default %(default)s); one that other machines "
                      "reach needs --page-token-file")
    made.add_argument("--page-token-file", metavar="FILE", type=Path,
                      help="file whose first line is the page's token; without it the program "
                      "makes one, and prints it in the address")
    made.add_argument("--parts", metavar="DIR", type=Path,
                      help="directory of uPlot; tools/isolator-scope sets it")

    made = command("record", record, "a run without a page, for scripts and long runs",
                   "  isolator-scope record --connect 192.0.2.7 --time 10s -o run.scope\n"
                   "  isolator-scope record --connect 192.0.2.7 --triggers 60000 \\\n"
                   "      --frequency 200 --limit max=1ms -o run.scope --json")
    _connect(made, True)
    made.add_argument("-o", "--output", metavar="RECORDING", type=Path, required=True,
                      help="the recording; appended to if it exists")
    made.add_argument("-t", "--time", metavar="TIME", help="10s, 3m, 24h; default: until a signal")
    made.add_argument("-n", "--triggers", metavar="N", type=_number(int, 1, 2**63),
                      help="end after N triggers")
    made.add_argument("--frequency", metavar="HZ", type=_number(float, 0.001, 1e6),
                      help="rate of triggers, or of bursts")
    made.add_argument("--duty", metavar="PERCENT", type=_number(float, 0.0001, 99.9999),
                      help="share of a period in which the trigger line is high")
    made.add_argument("--packet", metavar="N", type=_number(int, 1, 1000),
                      help="records in a packet")
    phase = made.add_mutually_exclusive_group()
    phase.add_argument("--seed", metavar="N", type=_number(int, 0, 2**63 - 1),
                       help="random phase from this seed")
    phase.add_argument("--fixed", action="store_true", help="fixed phase")
    made.add_argument("--burst", metavar="N,TIME", help="triggers in each period, and their gap")
    made.add_argument("--patience", metavar="TIME", help="wait this long for an answer")
    made.add_argument("--lines", metavar="NAME,…", help="only these mechanisms")
    made.add_argument("--calibrate", metavar="N", type=_number(int, 0, 100_000), default=1000,
                      help="rounds of calibration before the run; 0: none (default %(default)s)")
    made.add_argument("--wait", metavar="TIME", default="10s",
                      help="keep trying this long to reach the generator (default %(default)s)")
    made.add_argument("--report", metavar="FILE", type=Path, help="also write a page of HTML")
    _about(made)
    _limits(made)

    made = command("replay", replay, "a recording once more, also one that is being written",
                   "  isolator-scope replay night.scope\n"
                   "  isolator-scope replay night.scope --limit irq/p99.9=50us --json")
    made.add_argument("recording", metavar="RECORDING", type=Path)
    made.add_argument("--speed", metavar="X", type=_number(float, 0, 1e6), default=0.0,
                      help="times the original speed; 0, the default: as fast as possible")
    _about(made)
    _limits(made)

    made = command("report", report, "a recording as one page of HTML that needs nothing else",
                   "  isolator-scope report night.scope -o night.html")
    made.add_argument("recording", metavar="RECORDING", type=Path)
    made.add_argument("-o", "--output", metavar="FILE", type=Path, required=True,
                      help="the page; - is standard output")
    _about(made)

    made = command("export", export, "a recording as CSV, or as a document for isolator-report",
                   "  isolator-scope export night.scope --format csv -o night.csv\n"
                   "  isolator-scope export night.scope | isolator-report advise -")
    made.add_argument("recording", metavar="RECORDING", type=Path)
    made.add_argument("--format", choices=("csv", "json"), default="json",
                      help="default %(default)s: schema isolator.measure, version 1")
    made.add_argument("-o", "--output", metavar="FILE", type=Path, default=STDOUT,
                      help="the document; default: -, standard output")
    _about(made)
    return main_


def main(words: Sequence[str] | None = None) -> int:
    """Run; every error is one line that says what helps."""
    arguments = parser().parse_args(words)
    try:
        return int(arguments.run_command(arguments))
    except (ScopeError, ReportError) as problem:
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
