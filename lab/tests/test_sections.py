# SPDX-License-Identifier: GPL-2.0-or-later
"""What the judge of quiet sections says of what the plugin has counted."""

from typing import Any

import pytest
from isolab.judge import sections

OUT = "ok 1 - polls\n# section 4096 256\n"


def seen(*strays: int, inside: int = sections.LEAST_BLOCKS, dropped: int = 0) -> dict[str, Any]:
    blocks = [{"pc": 4096, "n": inside, "name": "poll"}]
    blocks += [{"pc": pc, "n": 1, "name": "elsewhere"} for pc in strays]
    return {"vcpu": 1, "dropped": dropped, "blocks": blocks}


def test_quiet_and_stray() -> None:
    assert sections.judge("quiet", OUT, [seen()]) == []
    assert sections.judge("quiet", OUT, [seen(4096 + 255)]) == []
    assert sections.judge("stray", OUT, [seen(4095)]) == []
    assert sections.judge("stray elsewhere", OUT, [seen(4095)]) == []


@pytest.mark.parametrize(("wanted", "out", "what", "said"), [
    ("quiet", OUT, [seen(4095)], "outside of the section: elsewhere"),
    ("quiet", OUT, [seen(4096 + 256)], "outside of the section: elsewhere"),
    ("stray", OUT, [seen()], "nothing was seen"),
    ("stray _printk", OUT, [seen(4095)], "not seen to run outside of the section: _printk"),
    ("quiet", OUT, [seen(inside=5)], "5 blocks in the section"),
    ("quiet", OUT, [seen(dropped=3)], "3 blocks were not looked at"),
    ("quiet", OUT, [], "0 CPUs had"),
    ("quiet", "ok 1\n", [seen()], "told of 0 sections"),
])
def test_what_is_wrong(wanted: str, out: str, what: list[dict[str, Any]], said: str) -> None:
    found = sections.judge(wanted, out, what)
    assert len(found) == 1
    assert said in found[0]
