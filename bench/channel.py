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
from isolator_report import schemafile
from rounds import ERROR, INCONCLUSIVE, Peer, judge, moved, picture, summary, table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

OUT = ROOT / "out/bench-channel.json"
BUILD = ROOT / "build/bench"
ROUNDS_LEAST = 15
LIMIT_S = 120

FLOOR = Peer("floor", "", "bare sequence word (floor)")
ISOLATOR = Peer("isolator", "", "isolator_post, isolator_poll")
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

Writes out/bench-channel.json (bench/schema/channel.json) and docs/bench-channel.md
and .svg.  Exit codes: 0 passed, 1 error, 2 the channel is slower than 1.05 floors,
3 inconclusive: the floor differs from itself by more than that.
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
    return {"cpu": facts.get("model name", platform.machine()), "kernel": platform.release(),
            "virtual": "yes" if virtual else "not known" if "flags" not in facts else "no"}


def version(package: str) -> str:
    """The installed version of a Debian package."""
    return run(["dpkg-query", "-W", "-f", "${Version}", package]) if package else ""


def row(peer: Peer, samples: list[dict[str, float]]) -> dict[str, object]:
    """A peer's part of the result."""
    return {"name": peer.name, "about": peer.about, "package": peer.package,
            "version": version(peer.package), **summary(samples)}


def rounds(program: Path, count: int, cpus: str) -> dict[str, list[dict[str, float]]]:
    """All samples by name; the second floor is measured apart from the first."""
    entries = [("floor", FLOOR), ("isolator", ISOLATOR), ("floor2", FLOOR),
               *((peer.name, peer) for peer in [*PAUSING, *PEERS])]
    samples: dict[str, list[dict[str, float]]] = {name: [] for name, _ in entries}
    for number in range(count):
        # Neither floor nor channel always follows the same neighbour.
        turned = entries[number % len(entries):] + entries[:number % len(entries)]
        for name, peer in turned if number % 2 else reversed(turned):
            samples[name].append(measure(program, peer, cpus))
        print(f"round {number + 1} of {count}: floor {samples['floor'][-1]['ns_p50']:.0f} and "
              f"{samples['floor2'][-1]['ns_p50']:.0f} ns, isolator "
              f"{samples['isolator'][-1]['ns_p50']:.0f} ns", flush=True)
    return samples


def page(result: dict[str, object], rows: list[dict[str, object]], said: str) -> str:
    """docs/bench-channel.md."""
    where: dict[str, str] = result["machine"]  # type: ignore[assignment]
    load: dict[str, float] = result["load"]  # type: ignore[assignment]
    clear: list[str] = result["channel"]["not_clear"]  # type: ignore[index]
    beside = ("The interval of every queue is clear of the channel's." if not clear else
              f"Not clear of the channel's interval: {', '.join(clear)}.")
    strange: list[int] = result["channel"]["moved_rounds"]  # type: ignore[index]
    pausing: list[dict[str, float]] = result["channel"]["pausing"]  # type: ignore[index]
    ours = float(result["channel"]["isolator_ns_p50"]) / pausing[0]["ns_p50"]  # type: ignore[index]
    ratio = pausing[1]["ns_p50"] / pausing[0]["ns_p50"]
    places = ("" if not strange else f"""
In the rounds {', '.join(map(str, strange))} something took less than half its own median. Two CPUs
that share one core are that near, and a host may put virtual CPUs there for a while; what is
measured one after the other is then not comparable. These rounds count in all columns, the
column min is theirs, and the ratio to the floor is another one there.
""")
    return f"""<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- written by tools/bench channel -->
# The channel beside other queues

![p50 of the round trip](bench-channel.svg)

{table(rows)}

The table shows ns for a round trip of 56 bytes between two processes, each pinned to one CPU,
with rings of 1024. p50 and min are of batches of 32 trips, p99 of single trips; the last column
is a stream in one direction. All are medians of {result['rounds']} interleaved rounds; spread is
(most - least) / median of the rounds' p50.
The floor is one word there and back, without payload, checks or callback. It uses as many lines
as a ring has, because the time of a single line depends on where its address lies in the cache.
All sides poll without a pause, except where the table says so. {beside}

{said[0].upper() + said[1:]}.
A loop that pauses while it waits has another floor: with a pause in the caller's loop the channel
takes {ratio:.3f} of that one, without a pause {ours:.3f}. The verdict is about loops without.
{places}
{where['cpu']}, CPUs {result['cpus']}, Linux {where['kernel']}, virtual machine:
{where['virtual']}; load before {load['before']:.1f}, after {load['after']:.1f};
{str(result['when'])[:10]}. If there was a load before, other programs used the same CPUs; then
min and p50 mean something, p99 does not.

Packages: {', '.join(f"{r['package']} {r['version']}" for r in rows if r['package'])}.
The table leaves out queues that Debian does not package, and libxenium-dev, whose reclamation
keeps lists in memory of each thread, which the other process does not have.
"""


def main() -> int:
    """Measure, write, judge."""
    parser = argparse.ArgumentParser(
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
    samples = rounds(program, arguments.rounds, arguments.cpus)
    floor, second, ours = (row(peer, samples[name]) for name, peer in (
        ("floor", FLOOR), ("floor2", FLOOR), ("isolator", ISOLATOR)))
    peers = sorted((row(peer, samples[peer.name]) for peer in PEERS),
                   key=lambda peer: float(str(peer["ns_p50"])))
    pausing = [row(peer, samples[peer.name]) for peer in PAUSING]
    code, said = judge(float(str(floor["ns_p50"])), float(str(second["ns_p50"])),
                       float(str(ours["ns_p50"])))
    highest = ours["interval"][1]  # type: ignore[index]
    result: dict[str, object] = {
        "schema": "isolator.bench.channel",
        "version": 1,
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "load": {"before": before, "after": os.getloadavg()[0]},
        "cpus": arguments.cpus,
        "rounds": arguments.rounds,
        "channel": {
            "floor_ns_p50": floor["ns_p50"],
            "floor2_ns_p50": second["ns_p50"],
            "isolator_ns_p50": ours["ns_p50"],
            "ratio": round(float(str(ours["ns_p50"])) / float(str(floor["ns_p50"])), 4),
            "floor": floor,
            "floor2": second,
            "isolator": ours,
            "pausing": pausing,
            "peers": peers,
            "moved_rounds": moved(samples),
            "not_clear": [peer["name"] for peer in peers
                          if peer["interval"][0] <= highest],  # type: ignore[index]
        },
        "verdict": {"code": code, "text": said},
    }
    jsonschema.validate(result, schemafile.read(HERE / "schema/channel.json"))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(result, indent=1) + "\n")
    shown = [floor, ours, *pausing, *peers]
    print(table(shown))
    if not arguments.no_docs:
        (ROOT / "docs/bench-channel.md").write_text(page(result, shown, said))
        (ROOT / "docs/bench-channel.svg").write_text(
            picture(shown, "A round trip of 56 bytes between two processes"))
    print(said)
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.TimeoutExpired as late:
        print(f"bench channel: {late}", file=sys.stderr)
        sys.exit(ERROR)
