# SPDX-License-Identifier: GPL-2.0-or-later
"""A suite in several sittings: what passed on the same kernel by the same test is not run again.

A failure stays in the report until --restart, also if the test passes in a later sitting.
"""

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema
from isolator_report import schemafile

from . import header, record, term
from .guests.kernel import Kernel
from .header import GuestTest
from .judge.attempt import Record
from .judge.verdict import Result
from .paths import SCHEMAS, digest

VERSION = 1
# So many tests share a guest at most: those of one that is ended before its last run again.
BATCH = 8


@functools.cache
def _shared() -> str:
    """What the programs of guest tests have in common."""
    files = [*header.TESTS.parent.glob("*.[ch]"), *header.TESTS.glob("*.h")]
    return digest(*(f.read_bytes() for f in sorted(files)))


def _source(test: GuestTest) -> str:
    """What it passed by: its program, and what such programs share."""
    directories = (header.TESTS, header.DISTRO_TESTS, header.ARM64_TESTS)
    files = [f for d in directories for f in d.glob(f"{test.name}.*")]
    return digest(_shared(), *(f.read_bytes() for f in sorted(files)))


class Sittings:
    """@resume: go on; else the suite begins anew, and what was kept of it goes."""

    def __init__(self, path: Path, resume: bool) -> None:
        self.path = path
        self.commit = record.commit()
        self.kept: list[dict[str, Any]] = []
        self.failed: list[dict[str, Any]] = []
        self.attempts: list[Record] = []
        self.kernels: set[str] = set()  # of this sitting
        if not resume:
            path.unlink(missing_ok=True)
        elif path.is_file():
            self._load(path.read_text())

    def _load(self, text: str) -> None:
        try:
            old = json.loads(text)
            jsonschema.validate(old, schemafile.read(SCHEMAS / "sittings.json"))
        except (json.JSONDecodeError, jsonschema.ValidationError) as error:
            said = str(error).splitlines()[0]
            term.say(f"{self.path} is not of this version: all tests run again: {said}")
            return
        self.kept, self.failed, self.attempts = old["kept"], old["failed"], old["attempts"]

    def begin(self, built: Kernel) -> list[Record]:
        """The boots of this kernel in earlier sittings."""
        self.kernels.add(built.key)
        return [{k: v for k, v in a.items() if k != "kernel"}
                for a in self.attempts if a["kernel"] == built.key]

    def passed(self, test: GuestTest, spec: str, built: Kernel) -> Result | None:
        """Its verdict, if it has passed already."""
        wanted = {"name": test.name, "kernel": built.key, "source": _source(test)}
        for one in self.kept:
            if wanted.items() <= one.items():
                said = f"in an earlier sitting, {one['when']}, at {one['commit']}"
                return Result(test, spec, "passed", one["seconds"], [said])
        return None

    def add(self, built: Kernel, batch: list[GuestTest], results: list[Result],
            attempts: list[Record]) -> None:
        """One batch and its boots.  What failed and is no test's own: all of it runs again."""
        about = {"when": record.head("test")["when"], "commit": self.commit,
                 "kernel": built.key}
        names = {test.name for test in batch}
        bad = [r for r in results if r.status == "failed"]
        self.failed += [{**about, "name": r.test.name, "why": r.why[:3]} for r in bad]
        if all(r.test.name in names for r in bad):
            self.kept += [
                {**about, "name": r.test.name, "source": _source(r.test), "seconds": r.seconds}
                for r in results if r.status == "passed"
            ]
        self.attempts += [{**a, "kernel": built.key} for a in attempts]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".tmp")
        new.write_text(json.dumps({
            "schema": "isolab.sittings", "version": VERSION, "kept": self.kept,
            "failed": self.failed, "attempts": self.attempts,
        }, indent=1) + "\n")
        new.replace(self.path)

    def text(self) -> list[str]:
        """What failed on these kernels, in this sitting or in one before."""
        return [f"failed {one['when']} at {one['commit']}: {one['name']}: {'; '.join(one['why'])}"
                for one in self.failed if one["kernel"] in self.kernels]
