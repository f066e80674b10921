# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator measure latency on one CPU, and what is read from its document."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path
from typing import Any

from clitest import PATIENCE_S, valid
from hdrh.histogram import HdrHistogram

CPU = max(os.sched_getaffinity(0))
MISSING = 2**64 - 1


def packed(values: list[int]) -> bytes:
    return struct.pack(f"={len(values)}Q", *values)


def document_of(code: int, out: str, error: str, codes: tuple[int, ...]) -> dict[str, Any]:
    """What a run printed that ended by one of @codes, which is in there, too."""
    assert code in codes, (code, out, error)
    document: dict[str, Any] = valid("measure", out)
    assert document["exit"] == code
    return document


def measured(isolator: Path, *arguments: str | Path, codes: tuple[int, ...] = (0,),
             environment: dict[str, str] | None = None) -> dict[str, Any]:
    """The document; one CPU, unless told otherwise."""
    done = subprocess.run([isolator, "measure", "latency", "-c", str(CPU), "--json", *arguments],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})}, timeout=PATIENCE_S)
    return document_of(done.returncode, done.stdout, done.stderr, codes)


def feed(isolator: Path, where: Path, values: list[int], *arguments: str,
         codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    (where / "fed").write_bytes(packed(values))
    return measured(isolator, "--fed", where / "fed", *arguments, codes=codes)


def first_series(document: dict[str, Any]) -> dict[str, Any]:
    one: dict[str, Any] = document["parts"][0]["series"][0]
    return one


def histogram_of(document: dict[str, Any]) -> HdrHistogram:
    return HdrHistogram.decode(first_series(document)["histogram"]["data"].encode())


def setting(document: dict[str, Any], name: str) -> dict[str, Any]:
    """What was asked for and got."""
    one: dict[str, Any] = next(s for s in document["settings"] if s["name"] == name)
    return one
