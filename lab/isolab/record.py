# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lab's reports have in common: how they begin, and how they are written."""

import json
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

import jsonschema
from isolator_report import schemafile

from .guests import machine, qemu
from .paths import OUT, SCHEMAS, TOP


def head(name: str) -> dict[str, Any]:
    """The first words of a report of the schema isolab.NAME."""
    return {
        "schema": f"isolab.{name}",
        "version": 1,
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def emulator(target: str = machine.X86_64.target) -> str:
    picked = qemu.pick(target)
    return f"QEMU {picked.version}, thread={picked.threads}"


def where(target: str = machine.X86_64.target) -> dict[str, str]:
    """On what it was measured, and by which command."""
    return {"host": platform.platform(), "emulator": emulator(target),
            "command": shlex.join(["tools/isolab", *sys.argv[1:]])}


def commit() -> str:
    """Of the tree that measures, with a + where it was changed; "": git knows none."""
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(TOP), *words], capture_output=True, text=True,
                              check=True).stdout.strip()
    try:
        return git("rev-parse", "--short", "HEAD") + "+" * bool(git("status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return ""


def facts(report: dict[str, Any], kernels: Iterable[str]) -> dict[str, str]:
    """Of a report, for the head of its page: @kernels are releases."""
    return {"machine": f"{report['emulator']} on {report['host']}",
            "kernel": ", ".join(dict.fromkeys(kernels)) or "none booted",
            "command": report.get("command", "not known"), "date": report["when"]}


def write(report: dict[str, Any], name: str | None = None) -> None:
    """Into out/NAME.json, or that of its schema, which it has to fit."""
    kind = report["schema"].removeprefix("isolab.")
    jsonschema.validate(report, schemafile.read(SCHEMAS / f"{kind}.json"))
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name or kind}.json").write_text(json.dumps(report, indent=1) + "\n")
