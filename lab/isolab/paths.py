# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things lie."""

import os
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
LAB = TOP / "lab"
BUILD = TOP / "build"
OUT = TOP / "out"
SCHEMAS = LAB / "schema"


def cache() -> Path:
    """The cache that all checkouts of this machine share."""
    root = os.environ.get("ISOLATOR_CACHE") or str(Path.home() / ".cache" / "isolator")
    path = Path(root)
    path.mkdir(parents=True, exist_ok=True)
    return path
