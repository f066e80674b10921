# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 -m sim: a simulated generator that listens, for demonstrations."""

import argparse
import asyncio
import contextlib
import sys

from isolator_scope.errors import ERROR, reason

from .generator import Generator, Link
from .model import OFFERED, Faults, Target


async def serve(arguments: argparse.Namespace) -> int:
    """Until it is interrupted."""
    faults = Faults(missing=arguments.missing, late=arguments.late, stray=arguments.stray,
                    spike=arguments.spike, sustained=arguments.sustained)
    for words in arguments.delay:
        name, _, microseconds = words.partition("=")
        faults.delay[name] = int(float(microseconds) * 1000)
    names = ("", "") if arguments.bare else OFFERED
    made = Generator(Target(arguments.seed, names, faults), Link(), arguments.speed)
    try:
        port = await made.listen(port=arguments.port)
    except (OSError, OverflowError) as problem:
        print(f"sim: cannot listen on 127.0.0.1:{arguments.port}: {reason(problem)}; name "
              "another port with --port, 0 for any that is free", file=sys.stderr)
        return ERROR
    print(f"a simulated generator listens on 127.0.0.1:{port}", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await made.close()
    return 0


def main() -> int:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(
        prog="python3 -m sim", description=__doc__,
        epilog="examples:\n  tools/venv env PYTHONPATH=scope:report python3 -m sim --port 2350",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=2350, help="0: any (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is drawn")
    parser.add_argument("--speed", type=float, default=1.0, help="0: as fast as it can")
    parser.add_argument("--delay", metavar="NAME=US", action="append", default=[],
                        help="a mechanism that takes so much longer")
    parser.add_argument("--sustained", metavar="HZ", type=float, default=float("inf"),
                        help="above this, interrupts merge")
    parser.add_argument("--bare", action="store_true", help="a target without its driver")
    for name in ("missing", "late", "stray", "spike"):
        parser.add_argument(f"--{name}", metavar="SHARE", type=float, default=0.0,
                            help="of the answers (default %(default)s)")
    with contextlib.suppress(KeyboardInterrupt):
        return asyncio.run(serve(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
