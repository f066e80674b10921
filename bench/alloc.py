# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/bench-alloc.md and .svg, from what bench-alloc measured."""

from pathlib import Path
from typing import Any

from rounds import picture

SHOWN = (16, 64, 1024, 16384)  # bytes, in the picture


def table(found: dict[str, Any]) -> str:
    """Every pattern and size, ours beside malloc's, as a table in Markdown."""
    lines = ["| pattern | bytes | allocator | pair, ns | least … most | p99.99 of alloc | "
             "worst alloc | worst free | faults |",
             "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in found["results"]:
        pair = row["pair_ns"]
        lines.append(
            f"| {row['pattern']} | {row['bytes'] or 'mixed'} | {row['allocator']} | "
            f"{pair['median']:.1f} | {pair['min']:.1f} … {pair['max']:.1f} | "
            f"{row['alloc']['p9999_ns']:.0f} | {row['alloc']['worst_of_round_median_ns']:.0f} | "
            f"{row['free']['worst_of_round_median_ns']:.0f} | {row['page_faults']} |")
    return "\n".join(lines)


def bars(found: dict[str, Any]) -> list[dict[str, object]]:
    """The rows of the picture."""
    return [
        {"name": row["allocator"], "about": f"{row['allocator']}, {row['pattern']} of "
         f"{row['bytes']} bytes", "ns_p50": row["pair_ns"]["median"],
         "interval": [row["pair_ns"]["min"], row["pair_ns"]["max"]]}
        for row in found["results"]
        if row["bytes"] in SHOWN and row["pattern"] in ("pair", "replace")
    ]


def write(found: dict[str, Any], docs: Path) -> None:
    """Both files, below @docs."""
    title = "An allocation and a free of it"
    (docs / "bench-alloc.svg").write_text(
        picture(bars(found), title, "median of the rounds, their least and most"))
    (docs / "bench-alloc.md").write_text(f"""<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- written by tools/bench -->
# The pool beside malloc

![An allocation and a free](bench-alloc.svg)

{table(found)}

Times are in ns. A pair is an allocation and its free: the median of {found['rounds']} rounds of
{found['operations']} pairs, both allocators in turn, with the least and the most of the rounds.
Worst is the median over the rounds of the longest call of a round; p99.99 is of all calls. Both
include {found['timer_ns']:.0f} ns for reading the counter. malloc is that of libc, set neither to
trim nor to map; first touches of memory are not counted. Something else on this machine
interrupted the worst calls. What a call takes by itself is its count of instructions, which does
not grow with the pool (`tools/unit-test` counts them).
""")
