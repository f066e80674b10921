# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast can the generator be?  For each rate: what was sent, how late, what was lost.

The target is simulated and answers on eleven lines, or not at all.  A rate is kept when at
least 99 % of the triggers that were due were sent and no record was lost.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scope"), str(Path(__file__).parent)]

from isolator_scope import protocol  # noqa: E402
from isolator_scope.protocol import (  # noqa: E402
    Kept,
    SetFrequency,
    SetLines,
    SetPacket,
    SetPatience,
    Start,
    Stop,
)
from rig import Rig  # noqa: E402

EXAMPLES = """examples:
  tools/build && tools/venv python3 scope/generator/tests/rates.py
  tools/venv python3 scope/generator/tests/rates.py --seconds 5 --no-target 1000 100000

Exit code: 0."""


def measure(rig: Rig, hertz: int, seconds: float, target: bool) -> str:
    """One line of the table."""
    generator = rig.generator()
    if target:
        rig.target(*(f"line{number},1" for number in range(11)))
    host = rig.host()
    host.order(SetFrequency(hertz * 1000), SetPacket(1000), SetPatience(10_000_000),
               SetLines((1 << 11) - 1), Start(0))
    # The frames are decoded afterwards: this program is slower than the generator.
    host.pump(0.2)
    data = bytearray()
    host.socket.settimeout(0.1)
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            data += host.socket.recv(1 << 20)
        except TimeoutError:
            continue
    host.send(Stop())
    for frame in host.reader.feed(bytes(data)):
        host.take(protocol.decode(frame))
    host.until(lambda: bool(host.states) and not host.states[-1].running, 20)
    state = host.states[-1]
    host.send(Kept(len(host.packets)))
    records = host.triggers()
    span = records[-1].at_ns - records[0].at_ns
    due = span * hertz / 1e9
    jitter = sorted(one.jitter_ns for one in records)
    host.close()
    rig.stop(generator)
    return (f"{hertz:9} {len(records) / span * 1e9:11.0f} {100 * len(records) / due:7.2f} "
            f"{jitter[len(jitter) // 2]:9} {jitter[len(jitter) * 99 // 100]:9} {jitter[-1]:11} "
            f"{state.unsent:8} {state.lost:6}")


def main() -> int:
    """A table, one rate a line."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hertz", nargs="*", type=int,
                        default=[1000, 10_000, 50_000, 100_000, 200_000, 400_000])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--no-target", action="store_true")
    arguments = parser.parse_args()
    print("       Hz  sent in 1 s  of due%  late p50       p99         max   unsent   lost")
    for hertz in arguments.hertz:
        with tempfile.TemporaryDirectory() as directory:
            programs = Path(directory) / "programs"
            programs.mkdir()
            built = ROOT / "build/host/scope/generator"
            (programs / "generator").symlink_to(built / "isolator-generator")
            (programs / "target").symlink_to(built / "target/isolator-target")
            rig = Rig(programs, Path(directory))
            print(measure(rig, hertz, arguments.seconds, not arguments.no_target), flush=True)
            rig.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
