# SPDX-License-Identifier: GPL-2.0-or-later
"""Round trips of the channel between two processes, beside a floor and other queues.

Each round runs everything once, one after the other, in another order each time; what
counts is the median over the rounds.
"""

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import processors
from isolator_report import schemafile
from isolator_report.parser import Parser
from rounds import (
    ERROR,
    INCONCLUSIVE,
    LIMIT,
    LIMITS,
    Peer,
    elsewhere,
    judge,
    summary,
    table,
)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

OUT = ROOT / "out/bench-channel.json"
BUILD = ROOT / "build/bench"
ROUNDS_LEAST = 15
LIMIT_S = 120

FLOOR = Peer("floor", "", "bare sequence word (floor)")
ISOLATOR = Peer("isolator", "", "isolator_post, isolator_poll")
INBOXES = [
    Peer("inbox", "", "isolator_inbox_poll, one poster"),
    Peer("inbox-8", "", "isolator_inbox_poll, one of eight"),
]
# Beside, for whoever waits with a pause: not what the verdict is about.
PAUSING = [
    Peer("floor-pause", "", "floor, pausing while it waits"),
    Peer("isolator-pause", "", "isolator, pausing while it waits"),
]
PEERS = [
    Peer("atomic_queue", "libatomic-queue-dev", "atomic_queue, SPSC"),
    Peer("boost-spsc", "libboost-dev", "boost::lockfree::spsc_queue"),
    Peer("ck_ring", "libck-dev", "ck_ring, SPSC"),
    Peer("concurrentqueue", "libconcurrentqueue-dev", "moodycamel ConcurrentQueue"),
    Peer("readerwriterqueue", "libreaderwriterqueue-dev", "moodycamel ReaderWriterQueue"),
    Peer("rte_ring", "libdpdk-dev", "DPDK rte_ring, SP/SC"),
    Peer("wfcqueue", "liburcu-dev", "liburcu wfcqueue"),
]

EXAMPLES = f"""examples:
  tools/bench channel                   {ROUNDS_LEAST} rounds on CPU 0 and 1, about a minute
  tools/bench channel --cpus 2,3 --rounds 31
  tools/bench channel --no-docs         leave docs/ as it is

Writes out/bench-channel.json (bench/schema/channel.json), and into docs/bench-channel.md
the part of this processor, with a picture; those of other processors stay.
Exit codes: 0 passed, 1 error, 2 the channel is slower than 1.05 floors (1.15 on AMD),
3 inconclusive: the floor differs from itself by more than 5 %, or the CPUs moved too often.
"""


def run(command: list[str | Path]) -> str:
    """The output of a command that must not fail."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False,
                          timeout=600)
    if done.returncode:
        sys.exit(f"bench channel: {' '.join(map(str, command))} failed ({done.returncode}):\n"
                 f"{(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


def build() -> Path:
    """libisolator and the measuring program."""
    run(["tools/install-packages", "build", "bench"])
    if not (BUILD / "build.ninja").exists():
        shutil.rmtree(BUILD, ignore_errors=True)
        run(["meson", "setup", "--werror", "-Dpeers=true", "-Dscope=false", BUILD, ROOT])
    run(["meson", "compile", "-C", BUILD, "channel-trip"])
    return BUILD / "bench/channel-trip"


def measure(program: Path, peer: Peer, cpus: str) -> dict[str, float]:
    """One run of one peer."""
    done = subprocess.run([program, "--cpus", cpus, peer.name], capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    if done.returncode:
        sys.exit(f"bench channel: {peer.name}: {done.stderr.strip() or done.returncode}")
    found = json.loads(done.stdout)
    del found["peer"]
    return {key: float(value) for key, value in found.items()}


def machine() -> dict[str, str]:
    """Where this ran."""
    facts = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", Path("/proc/cpuinfo").read_text(),
                            re.MULTILINE))
    virtual = "hypervisor" in facts.get("flags", "").split()
    return {"cpu": facts.get("model name", platform.machine()),
            "kernel": platform.release().split("-")[0],
            "virtual": "yes" if virtual else "not known" if "flags" not in facts else "no",
            "vendor": facts.get("vendor_id", "not known"),
            "family": facts.get("cpu family", "not known"),
            "model": facts.get("model", "not known")}


def version(package: str) -> str:
    """The installed version of a Debian package."""
    return run(["dpkg-query", "-W", "-f", "${Version}", package]) if package else ""


def row(peer: Peer, samples: list[dict[str, float]]) -> dict[str, object]:
    """A peer's part of the result."""
    return {"name": peer.name, "about": peer.about, "package": peer.package,
            "version": version(peer.package), **summary(samples)}


def rounds(program: Path, count: int, cpus: str) -> dict[str, list[dict[str, float]]]:
    """All samples by name, of the rounds that count and of the others.

    The channel is between two runs of the floor.  Rounds in which the CPUs were elsewhere are
    made up for, up to twice as many in all.
    """
    block = [("floor", FLOOR), ("isolator", ISOLATOR), ("floor2", FLOOR)]
    entries = [(peer.name, peer) for peer in [*INBOXES, *PAUSING, *PEERS]]
    samples: dict[str, list[dict[str, float]]] = {name: [] for name, _ in [*block, *entries]}
    number = 0
    while number < 2 * count and number - len(moved(samples)) < count:
        # No queue always follows the same neighbour.
        at = number % (len(entries) + 1)
        turned = [*entries[:at], *block, *entries[at:]]
        for name, peer in turned if number % 2 else reversed(turned):
            samples[name].append(measure(program, peer, cpus))
        number += 1
        print(f"round {number}: floor {samples['floor'][-1]['ns_p50']:.0f} and "
              f"{samples['floor2'][-1]['ns_p50']:.0f} ns, isolator "
              f"{samples['isolator'][-1]['ns_p50']:.0f} ns", flush=True)
    return samples


def moved(samples: dict[str, list[dict[str, float]]]) -> list[int]:
    """The rounds that do not count."""
    if not samples["floor"]:
        return []
    return elsewhere(*([sample["ns_p50"] for sample in samples[name]]
                       for name in ("floor", "floor2")))


def main() -> int:
    """Measure, write, judge."""
    parser = Parser(
        prog="tools/bench channel", description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS_LEAST,
                        help=f"at least {ROUNDS_LEAST}, the default")
    parser.add_argument("--cpus", default="0,1", help="of the two processes (default 0,1)")
    parser.add_argument("--no-docs", action="store_true", help="do not write docs/")
    arguments = parser.parse_args()
    if arguments.rounds < ROUNDS_LEAST:
        parser.error(f"--rounds: a median needs at least {ROUNDS_LEAST}")
    if (os.cpu_count() or 1) < 2:
        print("bench channel: this machine has one CPU; two processes need two")
        return INCONCLUSIVE
    program = build()
    before = os.getloadavg()[0]
    where = machine()
    measured = rounds(program, arguments.rounds, arguments.cpus)
    strange = moved(measured)
    samples = {name: [sample for number, sample in enumerate(of_one, 1) if number not in strange]
               for name, of_one in measured.items()}
    kept = len(samples["floor"])
    if kept < ROUNDS_LEAST:
        print(f"bench channel: inconclusive: only in {kept} of {kept + len(strange)} rounds were "
              f"the CPUs in one place, {ROUNDS_LEAST} are needed; run it on CPUs that nobody moves")
        return INCONCLUSIVE
    floor, second, ours = (row(peer, samples[name]) for name, peer in (
        ("floor", FLOOR), ("floor2", FLOOR), ("isolator", ISOLATOR)))
    peers = sorted((row(peer, samples[peer.name]) for peer in PEERS),
                   key=lambda peer: float(str(peer["ns_p50"])))
    pausing = [row(peer, samples[peer.name]) for peer in PAUSING]
    inboxes = [row(peer, samples[peer.name]) for peer in INBOXES]
    early, between, late = ([sample["ns_p50"] for sample in samples[name]]
                            for name in ("floor", "isolator", "floor2"))
    code, said = judge(early, late, between, LIMITS.get(where["vendor"], LIMIT))
    highest = ours["interval"][1]  # type: ignore[index]
    result: dict[str, object] = {
        "schema": "isolator.bench.channel",
        "version": 2,
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": where,
        "load": {"before": before, "after": os.getloadavg()[0]},
        "cpus": arguments.cpus,
        "rounds": kept,
        "channel": {
            "floor_ns_p50": floor["ns_p50"],
            "floor2_ns_p50": second["ns_p50"],
            "isolator_ns_p50": ours["ns_p50"],
            "ratio": round(float(str(ours["ns_p50"])) / float(str(floor["ns_p50"])), 4),
            "floor": floor,
            "floor2": second,
            "isolator": ours,
            "inboxes": inboxes,
            "pausing": pausing,
            "peers": peers,
            "moved_rounds": strange,
            "not_clear": [peer["name"] for peer in peers
                          if peer["interval"][0] <= highest],  # type: ignore[index]
        },
        "verdict": {"code": code, "text": said},
    }
    jsonschema.validate(result, schemafile.read(HERE / "schema/channel.json"))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(result, indent=1) + "\n")
    shown = [floor, ours, *inboxes, *pausing, *peers]
    print(table(shown))
    if not arguments.no_docs:
        processors.write(ROOT / "docs", result, shown, said)
    print(said)
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.TimeoutExpired as late:
        print(f"bench channel: {late}", file=sys.stderr)
        sys.exit(ERROR)
