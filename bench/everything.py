# SPDX-License-Identifier: GPL-2.0-or-later
"""All benchmarks, one after the other, in one file: out/bench.json.

kernel     instructions of the patched kernel, counted from outside: tools/isolab cost kernel
channel    round trips between two processes, beside other queues
allocator  isolator_alloc() and isolator_free() beside malloc() and free()
tick       isolator_tick() with nothing due, beside one load
measure    isolator measure beside cyclictest and oslat
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import alloc
import jsonschema
from isolator_report import schemafile
from isolator_report.parser import Parser
from rounds import ERROR, EXCEEDED, INCONCLUSIVE, PASS

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out"
BUILD = ROOT / "build/host"
MINUTES = 30
NO_DOCS = "--no-docs"
# The one that says most about a run with several ends.
WORST = (ERROR, EXCEEDED, INCONCLUSIVE, PASS)

EXAMPLES = """examples:
  tools/bench                        everything, about 25 minutes when the kernels are built
  tools/bench tick                   only this one
  tools/bench --no-docs              leave docs/ as it is
  tools/bench channel --rounds 31    channel and measure have options of their own:
  tools/bench measure --help         see their --help

Exit codes: 0 every goal is met, 1 error, 2 a goal is not met, 3 inconclusive.
"""


class BenchError(Exception):
    """One of the benchmarks failed."""


def call(command: list[str | Path], codes: tuple[int, ...] = (PASS,)) -> int:
    """Run a command whose output is for people; its exit code, one of those allowed."""
    code = subprocess.run(command, cwd=ROOT, check=False, timeout=MINUTES * 60).returncode
    if code not in codes:
        raise BenchError(f"{' '.join(map(str, command))} failed ({code})")
    return code


def read(path: Path) -> Any:
    """A JSON file that a benchmark has written."""
    return json.loads(path.read_text())


def program(name: str, options: list[str]) -> int:
    """One that has options of its own, and writes its own page in docs/."""
    return call([sys.executable, f"bench/{name}.py", *options], (PASS, EXCEEDED, INCONCLUSIVE))


def measure_kernel(_options: list[str]) -> tuple[int, Any]:
    """Writes out/bench.json itself, the rest is added to it."""
    code = call(["tools/isolab", "cost", "kernel"], (PASS, EXCEEDED, INCONCLUSIVE))
    return code, None


def measure_channel(options: list[str]) -> tuple[int, Any]:
    """With its table and picture in docs/."""
    code = program("channel", options)
    return code, read(OUT / "bench-channel.json")["channel"]


def measure_allocator(options: list[str]) -> tuple[int, Any]:
    """With its table and picture in docs/."""
    call(["tools/build", "bench/bench-alloc"])
    path = OUT / "bench-alloc.json"
    call([BUILD / "bench/bench-alloc", "--tuned", "--json", path])
    found = read(path)
    jsonschema.validate(found, schemafile.read(ROOT / "bench/schema/alloc.json"))
    print(alloc.table(found))
    if NO_DOCS not in options:
        alloc.write(found, ROOT / "docs")
    return PASS, found


def measure_tick(_options: list[str]) -> tuple[int, Any]:
    """ns, on any kernel: with nothing due a tick does not enter it."""
    call(["tools/build", "bench/bench-tick"])
    done = subprocess.run([BUILD / "bench/bench-tick"], cwd=ROOT, capture_output=True,
                          text=True, check=False, timeout=MINUTES * 60)
    if done.returncode:
        raise BenchError(f"bench-tick failed ({done.returncode}): {done.stderr.strip()}")
    found = json.loads(done.stdout)
    jsonschema.validate(found, schemafile.read(ROOT / "bench/schema/tick.json"))
    print(f"a tick with nothing due: {found['isolator_ns_p50']} ns, one load "
          f"{found['floor_ns_p50']} and {found['floor2_ns_p50']} ns")
    return PASS, found


def measure_measuring(options: list[str]) -> tuple[int, Any]:
    """With its page in docs/; of each part what it came to."""
    code = program("measure", options)
    parts = read(OUT / "measure-bench.json")["parts"]
    return code, {name: {key: part[key] for key in ("code", "commit", "when")}
                  for name, part in parts.items()}


BENCHMARKS: dict[str, Callable[[list[str]], tuple[int, Any]]] = {
    "kernel": measure_kernel,
    "channel": measure_channel,
    "allocator": measure_allocator,
    "tick": measure_tick,
    "measure": measure_measuring,
}
PROGRAMS = ("channel", "measure")  # what follows these names is theirs


def main() -> int:
    """Measure what is asked for, write, say the worst."""
    parser = Parser(
        prog="tools/bench", description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=list(BENCHMARKS), metavar="NAME",
                        help="only this one: " + ", ".join(BENCHMARKS))
    parser.add_argument(NO_DOCS, action="store_true", help="do not write docs/")
    given = sys.argv[1:]
    own: list[str] = []
    if given and given[0] in PROGRAMS:
        given, own = given[:1], given[1:]
        if {"-h", "--help"} & set(own):
            return program(given[0], own)
    arguments = parser.parse_args(given)
    options = [NO_DOCS] if arguments.no_docs else own
    OUT.mkdir(exist_ok=True)
    codes = []
    found: dict[str, Any] = {}
    for name, benchmark in BENCHMARKS.items():
        if arguments.name not in (None, name):
            continue
        print(f"\n{name}", flush=True)
        code, result = benchmark(options)
        codes.append(code)
        if result is not None:
            found[name] = result
    path = OUT / "bench.json"
    report = read(path) if path.exists() else None
    if report:
        report.update(found)
        jsonschema.validate(report, schemafile.read(ROOT / "lab/schema/bench.json"))
        path.write_text(json.dumps(report, indent=1) + "\n")
        print(f"\n{path.relative_to(ROOT)} has: costs, goals, "
              f"{', '.join(name for name in BENCHMARKS if name in report)}")
    else:
        print("\nout/bench.json is written once the kernel's part has been measured")
    return min(codes, key=WORST.index)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BenchError, subprocess.TimeoutExpired, OSError) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        sys.exit(ERROR)
