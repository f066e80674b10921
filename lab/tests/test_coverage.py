# SPDX-License-Identifier: GPL-2.0-or-later
"""What of Isolator's code a guest has executed: found, added up, and judged."""

import json
from pathlib import Path

import pytest
from isolab.guests import observer
from isolab.guests.kernel import Kernel
from isolab.judge import coverage

MAP = """\
ffffffff81000000 T isolator_one
ffffffff81000040 t isolator_two
ffffffff81000060 t isolator_two.cold
ffffffff81000070 t kick
ffffffff81000080 T vfs_read
ffffffff810000c0 t kick
ffffffff810000d0 T end
"""
SOURCE = """\
static int isolator_two(int cpu)
{
\tif (isolator_one(cpu))
\t\treturn 0;
}

const struct cpumask *isolator_one(const struct cpumask *all,
\t\t\t\t   const struct cpumask *needed)
{
}

static void kick(void)
{
}

int isolator_declared(void);
"""
BASE = 0xFFFF_FFFF_8100_0000


@pytest.fixture
def found(tmp_path: Path) -> list[coverage.Function]:
    (tmp_path / "System.map").write_text(MAP)
    for name in ("gate.c", "gate_test.c"):
        (tmp_path / name).write_text(SOURCE if name == "gate.c" else SOURCE.replace("_o", "_t"))
    by_name = coverage.sources(tmp_path)
    assert by_name == {"isolator_one": "gate.c", "isolator_two": "gate.c", "kick": "gate.c"}
    return coverage.functions(Kernel("x", tmp_path), by_name)


def test_a_name_that_others_have_too_tells_nothing(found: list[coverage.Function]) -> None:
    assert [f.name for f in found] == ["isolator_one", "isolator_two", "isolator_two.cold"]
    assert coverage.ranges(found).splitlines()[1] == "ffffffff81000040 ffffffff81000060"


def test_blocks_add_up_once(found: list[coverage.Function]) -> None:
    """Two translations of one text overlap; what lies elsewhere counts for nobody."""
    blocks = [(BASE, BASE + 0x10), (BASE + 8, BASE + 0x20), (BASE + 0x80, BASE + 0x90)]
    (table,) = coverage.files(found, blocks)
    assert (table.executed, table.size, table.functions) == (0x20, 0x70, 2)
    assert table.never == ["isolator_two"]
    assert "28.6 % of    112 bytes,   1 of   2 functions; never: isolator_two" in (
        coverage.lines([table])[0])


def test_nothing_told_is_no_coverage(found: list[coverage.Function], tmp_path: Path) -> None:
    out = tmp_path / "coverage.json"
    assert coverage.judge(coverage.files(found, []), None)
    out.write_text(json.dumps({"schema": "isolator.observer.block", "version": 1,
                               "begin": hex(BASE), "end": hex(BASE + 4)}) + "\n")
    blocks, dropped = observer.covered(out)
    assert blocks == [(BASE, BASE + 4)] and dropped is None
    with out.open("a") as file:
        file.write('{"schema": "isolator.observer.blocks", "version": 1, "dropped": 0}\n')
    blocks, dropped = observer.covered(out)
    assert not coverage.judge(coverage.files(found, blocks), dropped)
    assert coverage.judge(coverage.files(found, []), dropped)
    assert coverage.judge(coverage.files(found, blocks), 3)
