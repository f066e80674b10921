# SPDX-License-Identifier: GPL-2.0-or-later
"""Windows in which causes were injected."""

from typing import Any

from isolab.rivals import naming

MS = 1_000_000
OFFSET = naming.utc_ns("2026-11-22T02:00:00.5Z")


def made_window(*made: str) -> dict[str, Any]:
    return {
        "number": 1,
        "open_ns": 1_000_000_000,
        "close_ns": 1_100_000_000,
        "realtime_offset_ns": OFFSET,
        "taken_ns": 0,
        "entries": {},
        "injected": [
            {
                "cause": name, "happened": True, "error": None, "evidence": {},
                "from_ns": 1_010_000_000 + 40_000_000 * i, "to_ns": 1_030_000_000 + 40_000_000 * i,
            }
            for i, name in enumerate(made)
        ],
    }
