# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/bench-channel.md: a part for each processor on which the channel was measured."""

import re
from pathlib import Path
from typing import Any

from rounds import picture, table

PAGE = "bench-channel.md"
HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- written by tools/bench channel -->
# The channel beside other queues

`tools/bench channel` measures on the processor that it runs on, and replaces that one's part of
this page. Compare rows of one part, not of two.

The tables show ns for a round trip of 56 bytes between two processes, each pinned to one CPU,
with rings of 1024. p50 and min are of batches of 32 trips, p99 of single trips; the last column
is a stream in one direction. All are medians of interleaved rounds; spread is
(most - least) / median of the rounds' p50.
The floor is one word there and back, without payload, checks or callback. It uses as many lines
as a ring has, because the time of a single line depends on where its address lies in the cache,
in two ways: the next line for each batch, and for each trip. The floor is the faster of both.
The verdict is the median of the channel's p50 by that of the floors before and after it, round by
round. All sides poll without a pause, except where the table says so.

The tables leave out queues that Debian does not package, and libxenium-dev, whose reclamation
keeps lists in memory of each thread, which the other process does not have.
If there was a load before, other programs used the same CPUs; then min and p50 mean something,
p99 does not.
"""


def processor(where: dict[str, str]) -> str:
    """The name of a part.  A host may give a virtual machine only half of a model's name."""
    if where["family"] == "not known":
        return where["cpu"]
    return f"{where['cpu']} (family {where['family']}, model {where['model']})"


def slug(name: str) -> str:
    """The same as part of a file's name."""
    return "-".join(re.findall(r"[a-z0-9]+", re.sub(r"\((r|tm)\)", "", name.lower())))


def part(result: dict[str, Any], rows: list[dict[str, Any]], said: str) -> str:
    """The part of one processor, without its heading."""
    where, load, found = result["machine"], result["load"], result["channel"]
    clear: list[str] = found["not_clear"]
    beside = ("The interval of every queue is clear of the channel's." if not clear else
              f"Not clear of the channel's interval: {', '.join(clear)}.")
    ours = found["isolator_ns_p50"] / found["pausing"][0]["ns_p50"]
    ratio = found["pausing"][1]["ns_p50"] / found["pausing"][0]["ns_p50"]
    inboxes = " and ".join(
        f"{row['ns_p50'] / found['floor_ns_p50']:.3f} ({lanes})"
        for row, lanes in zip(found["inboxes"], ("one lane", "eight"), strict=True))
    away: list[int] = found["moved_rounds"]
    places = ("" if not away else f"""
Left out: the rounds {', '.join(map(str, away))} of {result['rounds'] + len(away)}, in which the
floor was more than a quarter away from its median. A host may move virtual CPUs to other cores,
between which a line takes another time.
""")
    return f"""
![p50 of the round trip](bench-channel-{slug(processor(where))}.svg)

{table(rows)}

{said[0].upper() + said[1:]}.
{beside}
The inbox takes {inboxes} of the floor.
Its receiver does not know the slot of the answer, so nothing fetches that ahead.
A loop that pauses while it waits has another floor: with a pause in the caller's loop the channel
takes {ratio:.3f} of that one, without a pause {ours:.3f}. The verdict is about loops without.
{places}
CPUs {result['cpus']}, {result['rounds']} rounds, Linux {where['kernel']}, virtual machine:
{where['virtual']}; load before {load['before']:.1f}, after {load['after']:.1f};
{result['when'][:10]}.

Packages: {', '.join(f"{r['package']} {r['version']}" for r in rows if r['package'])}.
"""


def parts(page: str) -> dict[str, str]:
    """The parts that a page has, by the name of their processor."""
    pieces = re.split(r"^## (.*)$", page, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def write(docs: Path, result: dict[str, Any], rows: list[dict[str, Any]], said: str) -> None:
    """The part of this processor, with its picture; the others stay as they are."""
    path = docs / PAGE
    name = processor(result["machine"])
    all_parts = parts(path.read_text()) if path.exists() else {}
    all_parts[name] = "\n" + part(result, rows, said).strip("\n") + "\n"
    path.write_text(HEAD + "".join(f"\n## {one}\n\n{text.strip(chr(10))}\n"
                                   for one, text in sorted(all_parts.items())))
    (docs / f"bench-channel-{slug(name)}.svg").write_text(
        picture(rows, f"A round trip of 56 bytes between two processes, {name}"))
