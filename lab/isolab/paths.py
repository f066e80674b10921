# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things lie."""

import hashlib
import os
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
LAB = TOP / "lab"
BUILD = TOP / "build"
OUT = TOP / "out"
SCHEMAS = LAB / "schema"


def digest(*parts: str | bytes) -> str:
    """The name of what was made from these, one behind the other."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode() if isinstance(part, str) else part)
    return whole.hexdigest()[:12]


def cache() -> Path:
    """The cache that all checkouts of this machine share."""
    root = os.environ.get("ISOLATOR_CACHE") or str(Path.home() / ".cache" / "isolator")
    path = Path(root)
    path.mkdir(parents=True, exist_ok=True)
    return path
