#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""From Python, by ctypes: what can be kept from interrupting, and what cannot.

The interpreter allocates with nearly each operation, and CPython takes a lock around
itself.  What helps: the collector off and what is there frozen, arrays of fixed size, no
other Python thread that computes.  What remains is measured and printed here.
"""

import array
import ctypes
import gc
import os
import resource
import sys
import time

MASK_ALL = 7
TICK_ALL = 7


def load() -> ctypes.PyDLL:
    """The library; PyDLL keeps the interpreter's lock, as these calls do not wait."""
    library = ctypes.PyDLL(os.environ.get("ISOLATOR_LIBRARY", "libisolator.so.0"))
    library.isolator_start.argtypes = [ctypes.c_uint]
    library.isolator_tick_now.argtypes = [ctypes.c_uint]
    library.isolator_strerror.argtypes = [ctypes.c_int]
    library.isolator_strerror.restype = ctypes.c_char_p
    return library


def usage() -> tuple[int, int]:
    """Page faults of this thread, and how often it was pre-empted."""
    now = resource.getrusage(resource.RUSAGE_THREAD)
    return now.ru_minflt + now.ru_majflt, now.ru_nivcsw


def main() -> int:
    """A loop that computes into an array, and ticks once a millisecond."""
    library = load()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    samples = array.array("d", bytes(8 * 4096))
    gc.collect()
    gc.freeze()
    gc.disable()

    achieved = library.isolator_start(MASK_ALL)
    if achieved < 0:
        print("not isolated:", library.isolator_strerror(achieved).decode())
    else:
        print(f"isolated: mask {achieved:#x}")
    collections = [generation["collections"] for generation in gc.get_stats()]
    before = usage()
    rounds = 0
    next_tick = begin = time.monotonic_ns()
    while (now := time.monotonic_ns()) - begin < 300_000_000:
        samples[rounds % 4096] = now - begin
        rounds += 1
        if achieved >= 0 and now >= next_tick:
            # A call of ctypes costs about a microsecond; the look at the page that C
            # makes in one load would cost as much from here.
            library.isolator_tick_now(TICK_ALL)
            next_tick = now + 1_000_000
    after = usage()
    if achieved >= 0:
        library.isolator_stop()
    gc.enable()
    collected = [generation["collections"] for generation in gc.get_stats()] != collections
    print(f"{rounds} rounds; {after[0] - before[0]} page faults, "
          f"pre-empted {after[1] - before[1]} times; "
          f"the collector {'ran' if collected else 'did not run'}")
    return 1 if collected or not rounds else 0


if __name__ == "__main__":
    sys.exit(main())
