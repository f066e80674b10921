# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's command line: python3 -m isolab."""

import argparse
import os
import signal
import sys

from isolator_report.parser import Parser

from . import term
from .guests import machine

EXAMPLES = """examples:
  tools/isolab run                           the comparison: out/run.json, out/run.html
  tools/isolab run --arch arm64              the same on arm64: out/run-arm64.json, .html
  tools/isolab matrix                        the whole matrix: out/matrix.json, .html
  tools/isolab matrix static-keys 28         two rows of it
  tools/isolab matrix --arch arm64           the same on arm64: out/matrix-arm64.json, .html
  tools/isolab hunt --minutes 5              a short hunt: out/hunt.json
  tools/isolab scope-proof                   does make scope show all, and end in order?
  tools/isolab test                          the guest tests of make check
  tools/isolab test --kernel debug --only 'sleep-*'
  tools/isolab test --suite check-arm64      the same tests on arm64
  tools/isolab test --list                   what there is, run nothing
  tools/isolab attribution                   are injected causes named? out/attribution.json
  tools/isolab rtla                          does rtla name them too? out/rtla.json
  tools/isolab instants --kind tlb           every instant, every order: out/instants.json
  tools/isolab flow --kernel arm64-rt        what may run ahead of the synchronisation
  tools/isolab scope                         triggers from outside: out/scope-rt.json
  tools/isolab scope-live                    isolator-scope's page, of a guest that answers
  tools/isolab scope-report                  each mechanism, loaded or not: out/scope-report.html
  tools/isolab cost kernel                   what it costs, in instructions
  tools/isolab cost kernel --arch arm64      the same on arm64: out/bench-arm64.json
  tools/isolab cost sample                   what a sample costs: out/measure-cost.json
  tools/isolab live                          its latencies beside cyclictest's, no host in them

exit codes: 0 pass, 1 error, 2 a claim does not hold, 3 inconclusive, 77 skipped
environment: ISOLAB_QEMU=trixie|system, ISOLAB_THREADS=multi|single, ISOLATOR_CACHE;
arm64: ISOLAB_CPU=cortex-a72|cortex-a57|neoverse-n1|max, ISOLAB_GIC=3|2
"""

PREEMPTION = "rt: PREEMPT_RT; nort: PREEMPT"


def _of(command: str) -> str:
    """The examples of one command, and what it ends with."""
    lines = EXAMPLES.splitlines()
    found = [line for line in lines if line.split()[:2] == ["tools/isolab", command]]
    codes = next(line for line in lines if line.startswith("exit codes"))
    return "\n".join(["examples:", *found, "", codes])


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="isolab", description=__doc__, epilog=EXAMPLES,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name: str, help: str) -> Parser:
        return commands.add_parser(name, help=help, description=help, epilog=_of(name),
                                   formatter_class=argparse.RawDescriptionHelpFormatter)

    run = add("run", help="stock, tuned and isolator side by side")
    run.add_argument("--config", action="append", choices=("stock", "tuned", "isolator"),
                     help="only this one (the claims are then not judged)")
    run.add_argument("--trigger", action="append", default=[], metavar="NAME",
                     help="only these triggers (the claims are then not judged)")
    run.add_argument("--seconds", type=float, default=30, help="length of the window without ticks")
    run.add_argument("--arch", default="x86_64", choices=machine.NAMES,
                     help="of the guests (x86_64); arm64: out/run-arm64.json, .html")
    run.add_argument("--preemption", default="rt", choices=("rt", "nort"),
                     help=f"{PREEMPTION} (rt)")
    matrix = add("matrix", help="every row of the catalogue, all configurations")
    matrix.add_argument(
        "rows", nargs="*", metavar="ROW", help="triggers by name, or numbers of docs/catalogue.md"
    )
    matrix.add_argument("--config", action="append", choices=("stock", "tuned", "isolator"),
                        help="only this one (all)")
    matrix.add_argument("--preemption", action="append", choices=("rt", "nort"),
                        help=f"{PREEMPTION} (both)")
    matrix.add_argument(
        "--sample", action="store_true", help="the rows of make check: out/matrix-sample.json"
    )
    matrix.add_argument(
        "--resume",
        action="store_true",
        help="keep the cells of out/matrix.json that the same kernel and trigger gave",
    )
    matrix.add_argument("--arch", default="x86_64", choices=machine.NAMES,
                        help="of the guests (x86_64); arm64: out/matrix-arm64.json, .html")
    hunt = add("hunt", help="soak an isolated core and name what reaches it")
    hunt.add_argument("--minutes", type=float, default=20, help="length of the hunt (20)")
    hunt.add_argument("--preemption", default="rt", choices=("rt", "nort"),
                      help=f"{PREEMPTION} (rt)")
    hunt.add_argument("--seed", type=int, help="repeat a hunt")
    hunt.add_argument("--arch", default="x86_64", choices=machine.NAMES,
                      help="of the guests (x86_64); arm64: out/hunt-arm64.json")
    test = add("test", help="tests in guests")
    test.add_argument(
        "--suite",
        default="check",
        help="check (default), check-arm64, full-rt, full-nort, "
        "full-debug, kasan, kcsan, distro, distro-check, full-distro, "
        "programs, deb, deb-rt, arm64-deb, arm64-deb-rt, arm64, full-arm64, arm64-debug, "
        "arm64-kasan, arm64-kcsan",
    )
    test.add_argument(
        "--kernel",
        action="append",
        default=[],
        help="rt, nort, debug, stock-rt, stock-nort, debug+kasan, debug+kcsan, "
        "distro-plain, distro-rt, distro-isolator-rt, distro-isolator-nort, distro-deb-cloud, "
        "distro-deb-cloud-rt or of another name that tools/deb-kernel was given, arm64, "
        "arm64-rt, arm64-nort, arm64-stock-rt and so on: built for that machine",
    )
    test.add_argument("--only", action="append", default=[], metavar="NAME",
                      help="only tests of this name; * stands for anything")
    test.add_argument("--list", action="store_true", help="name the tests, run none")
    sitting = test.add_mutually_exclusive_group()
    sitting.add_argument("--resume", dest="resume", action="store_true", default=None,
                         help="run a suite in sittings, of which each goes on where the last one "
                         "ended: what passed on the same kernel is not run again")
    sitting.add_argument("--restart", dest="resume", action="store_false", default=None,
                         help="begin a suite that is run in sittings again, with nothing kept")
    attribution = add(
        "attribution", help="causes injected in guests: does isolator measure --why name them?"
    )
    attribution.add_argument("--kernel", default="nort", choices=("nort", "rt"))
    attribution.add_argument("--seed", type=int, help="repeat an order")
    attribution.add_argument(
        "--sample",
        action="store_true",
        help="each cause once, as make check does: out/attribution-sample.json",
    )
    add("rtla", help="planted causes, named by isolator measure --why and by rtla: out/rtla.json")
    scope = add(
        "scope", help="the scope's driver and generator: rates, account, order, planted delays"
    )
    scope.add_argument("--kernel", default="rt", choices=("rt", "nort"))
    scope.add_argument("--seed", type=int, help="repeat the times of the triggers")
    scope.add_argument("--sample", action="store_true",
                       help="shorter, as make check does: out/scope-rt-sample.json")
    live = add("scope-live", help="a guest, a generator and isolator-scope's page, until Ctrl-C")
    live.add_argument("--kernel", default="rt", help="rt (default), nort, stock-rt, stock-nort")
    live.add_argument("--port", type=int, default=8350, help="of the page (8350); 0: any")
    live.add_argument("--seconds", type=float, help="end by itself after so many")
    add("scope-proof", help="start make scope, query its data, end it by Ctrl-C")
    report = add(
        "scope-report",
        help="every mechanism, idle and under three loads, stock and isolated",
    )
    report.add_argument("--seconds", type=float, default=20, help="length of each run (20)")
    report.add_argument("--config", action="append", choices=("stock", "isolated"))
    report.add_argument("--load", action="append", choices=("idle", "compile", "netcopy", "media"))
    report.add_argument("--draw", action="store_true",
                        help="measure nothing: docs/scope-report.svg out of out/scope-report.json")
    instants = add(
        "instants", help="an isolated CPU parked at each instruction of entry and exit, in turn"
    )
    instants.add_argument("--kernel", default="nort", choices=("nort", "rt"))
    instants.add_argument("--every", type=int, default=1, metavar="N",
                          help="only one instruction of N (1: all)")
    instants.add_argument("--path", action="append", default=[], metavar="NAME",
                          help="only this way into the kernel")
    instants.add_argument("--kind", action="append", default=[], metavar="NAME",
                          help="only this request")
    instants.add_argument("--sample", action="store_true",
                          help="a few, as make check does: out/instants-sample.json")
    flow = add(
        "flow", help="arm64: all that may run on the way in and out calls nothing that is patched"
    )
    flow.add_argument("--kernel", default="arm64-nort", choices=("arm64-nort", "arm64-rt"))
    cost = add("cost", help="instructions, counted from outside")
    cost.add_argument("what", choices=["kernel", "sample"],
                      help="kernel: its paths; sample: one of isolator measure, and of cyclictest")
    cost.add_argument("--arch", default="x86_64", choices=machine.NAMES,
                      help="of the guests (x86_64), for kernel; arm64: out/bench-arm64.json")
    cost.add_argument("--preemption", default="rt", choices=("rt", "nort"),
                      help=f"for kernel; {PREEMPTION} (rt)")
    add("live", help="isolator measure latency and cyclictest in turn: out/measure-live.json")
    return parser


def main() -> int:
    arguments = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        if arguments.command == "test":
            from . import suite

            return suite.main(arguments.suite, arguments.kernel, arguments.only, arguments.list,
                              arguments.resume)
        if arguments.command == "matrix":
            from .matrix import matrix

            return matrix.main(arguments.rows, arguments.config, arguments.preemption,
                               arguments.sample, arguments.resume, arguments.arch)
        if arguments.command == "hunt":
            from . import hunt

            return hunt.main(arguments.minutes, arguments.preemption, arguments.seed,
                             arguments.arch)
        if arguments.command == "attribution":
            from .rivals import attribution

            return attribution.main(arguments.kernel, arguments.seed, arguments.sample)
        if arguments.command == "scope":
            from .scope import check as scope

            return scope.main(arguments.kernel, arguments.seed, arguments.sample)
        if arguments.command == "instants":
            from .instants import check as instants

            return instants.main(arguments.kernel, arguments.every, arguments.sample,
                                 arguments.path, arguments.kind)
        if arguments.command == "flow":
            from .instants import flow

            return flow.main(arguments.kernel)
        if arguments.command == "rtla":
            from .rivals import rtla

            return rtla.main()
        if arguments.command == "run":
            from . import run

            return run.main(arguments.config, arguments.trigger, arguments.seconds,
                            arguments.arch, arguments.preemption)
        if arguments.command == "scope-live":
            from .scope import live as scopelive

            return scopelive.main(arguments.kernel, arguments.port, arguments.seconds)
        if arguments.command == "scope-proof":
            from .scope import proof as scopeproof

            return scopeproof.main()
        if arguments.command == "scope-report":
            from .scope import report as scopereport

            if arguments.draw:
                return scopereport.draw()
            return scopereport.main(arguments.config, arguments.load, arguments.seconds)
        if arguments.command == "live":
            from .rivals import live

            return live.main()
        from . import cost as kernel_cost
        from .rivals import cost as sample_cost

        if arguments.what == "kernel":
            return kernel_cost.main(arguments.arch, arguments.preemption)
        return sample_cost.main()
    except term.LabError as e:
        term.die(str(e), e.code)
    except KeyboardInterrupt:
        term.die("interrupted")
    except BrokenPipeError:
        if not (arguments.command == "test" and arguments.list):
            raise  # a guest's
        # Who read the list has gone, as head does: nothing is left to say, nor to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1


if __name__ == "__main__":
    sys.exit(main())
