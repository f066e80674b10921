# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest's large JSON on its way to the host, compressed.

Some hundred outliers are half a megabyte; on PREEMPT_RT the kernel takes so many interrupts of
the port of reports for a fault of it.
"""

import base64
import gzip
import json
from typing import Any

from .guest import Outcome

# Of unpack(): nothing came, or not all of it.
ERRORS = (ValueError, OSError, EOFError)


def lines(name: str, path: str) -> list[str]:
    """Of a job: the file @path is sent as @name."""
    return [
        f"run pack.{name} 30000 gzip -c {path} | base64 >{path}.packed",
        f"whole {name} {path}.packed",
    ]


def unpack(outcome: Outcome, name: str) -> Any:
    """What was sent as @name."""
    parts = [e["text"] for e in outcome.events if e["event"] == "part" and e["name"] == name]
    return json.loads(gzip.decompress(base64.b64decode("".join(parts))))
