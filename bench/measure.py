# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator measure beside cyclictest and oslat, in five parts.

exact    one recorded series of wake-ups fed to both: equal histograms of 1 us
latency  isolator measure latency and cyclictest in turn: p50 and p99
guest    the same in a guest whose time follows its instructions: no host is in it
noise    isolator measure noise and oslat in turn: gaps over 10 us
cost     instructions a sample, user and kernel, counted from outside in one guest
"""

import argparse
import contextlib
import datetime
import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import comparison
import jsonschema
import pairs
import rivals
from channel import machine, version
from isolator_report import schemafile
from isolator_report.parser import Parser
from pairs import ROUNDS_LEAST, Bar
from rounds import ERROR, EXCEEDED, INCONCLUSIVE, PASS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = ROOT / "out"
BUILD = ROOT / "build/host/cli"
FILE = "measure-bench.json"
MINUTES = 30
SAMPLES = 5000
GAP_SECONDS = 2
# The one that says most about a run with several ends.
WORST = (ERROR, EXCEEDED, INCONCLUSIVE, PASS)
EXACT = "cli/tests/measure/test_latency.py::test_same_histogram_as_cyclictest"
LATENCY_BARS = (Bar("p50_ns", "ns", 1000.0), Bar("p99_ns", "ns"))
# Without a host cyclictest repeats itself to some ns: less than what the kernel's own way into
# idle and out of it makes of another thread's timers.
GUEST_BARS = (Bar("p50_ns", "ns", 1000.0), Bar("p99_ns", "ns", 1000.0))
NOISE_BARS = (Bar("gaps_per_s", "a second"), Bar("lost_us_per_s", "us a second"))

EXAMPLES = f"""examples:
  tools/bench measure                       all five, about 20 minutes
  tools/bench measure --only latency --rounds 40 --cpu 1
  tools/bench measure --no-docs             leave docs/ as it is

Writes out/{FILE} (bench/schema/measure.json), in which parts that do
not run now remain, and docs/bench-measure.md once it has all parts.
Exit codes: 0 all bars hold, 1 error, 2 one does not, 3 inconclusive: cyclictest
or oslat differs from itself by so much that the bar would not be seen missed.
"""

Part = tuple[int, dict[str, Any]]
Rounds = list[list[dict[str, Any]]]


def call(command: Sequence[str | Path], codes: tuple[int, ...] = (PASS,)) -> int:
    """Run a command whose output is for people; its exit code, one of those allowed."""
    code = subprocess.run(command, cwd=ROOT, check=False, timeout=MINUTES * 60).returncode
    if code not in codes:
        raise rivals.RivalError(f"{' '.join(map(str, command))} failed ({code})")
    return code


def build() -> Path:
    """The command, and the programs that it is set beside."""
    call(["tools/install-packages", "cli"])
    call(["tools/build", "cli/isolator"])
    return BUILD / "isolator"


def commit() -> str:
    """The last that changed the command, which is what was measured; with + if files differ."""
    def git(*words: str) -> str:
        return subprocess.run(["git", *words, "--", "cli"], cwd=ROOT, capture_output=True,
                              text=True, check=False).stdout.strip()
    return (git("log", "-1", "--format=%h") or "not known") + (
        "+" if git("status", "--porcelain") else "")


def policy() -> str:
    """fifo where that is allowed, else both measure as ordinary threads."""
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return "other"
    os.sched_setscheduler(0, *before)
    return "fifo"


def alternate(count: int, theirs: Callable[[], rivals.Figures],
              ours: Callable[[], rivals.Figures], name: str, key: str) -> Rounds:
    """@count rounds, each theirs, ours, ours, theirs."""
    found: Rounds = []
    for number in range(count):
        one = [{"program": program, "load": os.getloadavg()[0], **measure()}
               for program, measure in ((name, theirs), ("isolator", ours), ("isolator", ours),
                                        (name, theirs))]
        print(f"round {number + 1} of {count}: {key} "
              + ", ".join(f"{r['program']} {r[key]:.0f}" for r in one), flush=True)
        found.append(one)
    return found


def judged(bars: tuple[Bar, ...], found: Rounds, name: str) -> Part:
    """The verdict on each bar, with what it is made of."""
    results = [pairs.judge(bar, [(r[0][bar.name], r[1][bar.name], r[2][bar.name], r[3][bar.name])
                                 for r in found], name) for bar in bars]
    for result in results:
        print(result["text"])
    return min((r["code"] for r in results), key=WORST.index), {"bars": results, "rounds": found}


@contextlib.contextmanager
def awake(cpu: int) -> Iterator[None]:
    """The CPU does not idle meanwhile: a loop has it whenever nobody else wants it.

    A virtual CPU that halts is woken by its host, in tens of microseconds that change from minute
    to minute and are of neither program.
    """
    loop = ("import os, sys; cpu, parent = map(int, sys.argv[1:])\n"
            "os.sched_setaffinity(0, {cpu})\n"
            "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n"
            "while os.getppid() == parent: sum(range(10000))")
    spinner = subprocess.Popen([sys.executable, "-c", loop, str(cpu), str(os.getpid())])
    try:
        yield
        if spinner.poll() is not None:
            raise rivals.RivalError(f"the loop that keeps CPU {cpu} awake ended "
                                    f"({spinner.returncode})")
    finally:
        spinner.kill()
        spinner.wait()


def measure_exact(_arguments: argparse.Namespace) -> Part:
    """The test of the command that does it; its outcome."""
    report = ROOT / "build/bench-measure.xml"
    report.unlink(missing_ok=True)
    command = ["tools/venv", "pytest", "-q", f"--junitxml={report}", EXACT]
    call(command, (PASS, 1))
    case = next(ElementTree.parse(report).iter("testcase"), None)
    if case is None or case.find("skipped") is not None or case.find("error") is not None:
        raise rivals.RivalError(f"{EXACT} did not run")
    equal = case.find("failure") is None
    text = ("passed: the histograms are equal, count by count" if equal else
            "exceeded: the histograms differ")
    print(text)
    return (PASS if equal else EXCEEDED), {
        "test": EXACT, "equal": equal, "seconds": float(case.get("time", 0)), "text": text}


def measure_latency(arguments: argparse.Namespace) -> Part:
    """Same CPU, policy, priority, period."""
    isolator, cpu, main, how = build(), arguments.cpu, arguments.main, policy()
    with awake(cpu):
        found = alternate(
            arguments.rounds, lambda: rivals.cyclictest(cpu, main, SAMPLES, how),
            lambda: rivals.latency(isolator, cpu, SAMPLES, how), "cyclictest", "p50_ns")
    code, result = judged(LATENCY_BARS, found, "cyclictest")
    return code, {**result, "cpu": cpu, "policy": how, "samples": SAMPLES, "period_us": 1000}


def measure_guest(_arguments: argparse.Namespace) -> Part:
    """The same commands, one CPU, PREEMPT_RT."""
    call(["tools/isolab", "live"])
    written = json.loads((OUT / "measure-live.json").read_text())
    read = {"cyclictest": rivals.read_cyclictest, "isolator": rivals.read_latency}
    found = [[{"program": run["program"], **read[run["program"]](run["document"])}
              for run in one] for one in written["rounds"]]
    code, result = judged(GUEST_BARS, found, "cyclictest")
    return code, {**result, "cpu": 0, "policy": "fifo", "samples": written["samples"],
                  "period_us": 1000, "kernel": written["kernel"],
                  "emulator": written["emulator"]}


def measure_noise(arguments: argparse.Namespace) -> Part:
    """Same CPU and policy: other, as threads of real-time policies that spin are throttled."""
    isolator, cpu, main = build(), arguments.cpu, arguments.main
    found = alternate(arguments.rounds, lambda: rivals.oslat(cpu, main, GAP_SECONDS),
                      lambda: rivals.noise(isolator, cpu, GAP_SECONDS), "oslat", "gaps_per_s")
    code, result = judged(NOISE_BARS, found, "oslat")
    return code, {**result, "cpu": cpu, "policy": "other", "seconds": GAP_SECONDS,
                  "over_us": rivals.GAP_US}


def measure_cost(_arguments: argparse.Namespace) -> Part:
    """In a guest, by the lab's observer."""
    code = call(["tools/isolab", "cost", "sample"], (PASS, EXCEEDED, INCONCLUSIVE))
    if code == INCONCLUSIVE:
        return code, {"text": "inconclusive: no guest came to its end"}
    found = json.loads((OUT / "measure-cost.json").read_text())
    rows = {row["name"]: row for row in found["costs"]}
    text = "; ".join(f"{row['about']} takes {row['ratio']:.3f} of {row['base']}, at most 1 allowed"
                     for row in rows.values() if row["base"])
    word = "passed" if code == PASS else "exceeded"
    return code, {"text": f"{word}: {text}", "result": found}


PARTS: dict[str, Callable[[argparse.Namespace], Part]] = {
    "exact": measure_exact,
    "latency": measure_latency,
    "guest": measure_guest,
    "noise": measure_noise,
    "cost": measure_cost,
}


def begun(path: Path) -> dict[str, Any]:
    """What an earlier run wrote, if it is of this version."""
    empty: dict[str, Any] = {"schema": "isolator.bench.measure", "version": 1, "parts": {}}
    if not path.exists():
        return empty
    found: dict[str, Any] = json.loads(path.read_text())
    same = (found.get("schema"), found.get("version")) == (empty["schema"], empty["version"])
    return found if same else empty


def arguments_of() -> argparse.Namespace:
    """The command line, checked."""
    allowed = sorted(os.sched_getaffinity(0))
    parser = Parser(
        prog="tools/bench measure", description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(PARTS), metavar="PART",
                        help="only this one: " + ", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=ROUNDS_LEAST,
                        help=f"of latency and noise; at least {ROUNDS_LEAST}, the default")
    parser.add_argument("--cpu", type=int, default=allowed[-1],
                        help="the measured CPU (default: the last one allowed)")
    parser.add_argument("--no-docs", action="store_true", help="do not write docs/")
    arguments = parser.parse_args()
    if arguments.rounds < ROUNDS_LEAST:
        parser.error(f"--rounds: at least {ROUNDS_LEAST}")
    others = [cpu for cpu in allowed if cpu != arguments.cpu]
    if arguments.cpu not in allowed:
        parser.error(f"--cpu: this process may use CPUs {', '.join(map(str, allowed))}")
    arguments.main = others[0] if others else arguments.cpu
    return arguments


def main() -> int:
    """Measure what is asked for, write, say the worst."""
    arguments = arguments_of()
    # Children that a shell started in the background ignore it, and measure on after a Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    OUT.mkdir(exist_ok=True)
    path = OUT / FILE
    codes = []
    for name, part in PARTS.items():
        if arguments.only and name not in arguments.only:
            continue
        print(f"\n{name}", flush=True)
        before = os.getloadavg()[0]
        code, result = part(arguments)
        codes.append(code)
        report = begun(path)
        report["parts"][name] = {
            "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "commit": commit(), "code": code,
            "load": {"before": before, "after": os.getloadavg()[0]}, **result}
        report["machine"] = machine()
        report["rt_tests"] = version("rt-tests")
        jsonschema.validate(report, schemafile.read(HERE / "schema/measure.json"))
        path.write_text(json.dumps(report, indent=1) + "\n")
    if not arguments.no_docs and set(report["parts"]) == set(PARTS):
        (ROOT / "docs/bench-measure.md").write_text(comparison.page(report))
    missing = [name for name in PARTS if name not in report["parts"]]
    print(f"\nout/{FILE}" + (f"; not measured yet: {', '.join(missing)}" if missing else ""))
    return min(codes, key=WORST.index)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (rivals.RivalError, subprocess.TimeoutExpired, OSError) as problem:
        print(f"bench measure: {problem}", file=sys.stderr)
        sys.exit(ERROR)
    except KeyboardInterrupt:
        sys.exit(ERROR)
