# SPDX-License-Identifier: GPL-2.0-or-later
"""Which of Isolator's own text a guest has executed, by its source files.

Functions are those that the compiler has left: one that it inlined counts as part of its caller.
Text ends where the next symbol begins, so a few bytes that align it count as not executed.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..guests.kernel import Kernel
from ..paths import TOP

SOURCES = TOP / "kernel" / "isolator"
# A function's head from the first column on, and the brace of its body.
_HEAD = re.compile(r"^[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\n\{", re.MULTILINE)
# What is there for tests only.
_OF_TESTS = re.compile(r"_test\.c$|^flood\.c$")


@dataclass
class Function:
    name: str
    file: str
    begin: int
    end: int
    executed: int = 0  # bytes


@dataclass
class File:
    name: str
    size: int = 0
    executed: int = 0
    functions: int = 0
    never: list[str] = field(default_factory=list)  # functions of which nothing was executed

    def json(self) -> dict[str, Any]:
        return {"file": self.name, "bytes": self.size, "executed": self.executed,
                "functions": self.functions, "never": self.never}


def sources(directory: Path = SOURCES) -> dict[str, str]:
    """By function, the file that has it."""
    return {
        name: str(path.relative_to(directory))
        for path in sorted(directory.rglob("*.c")) if not _OF_TESTS.search(path.name)
        for name in _HEAD.findall(path.read_text())
    }


def functions(kernel: Kernel, by_name: dict[str, str]) -> list[Function]:
    """In order, but for those whose name others have, too; the compiler may add a suffix to one."""
    addresses, names, _ = kernel.symbols
    uses = Counter(names)
    places = sorted(set(addresses))
    following = dict(zip(places, places[1:], strict=False))
    return [
        Function(name, by_name[own], address, following[address])
        for address, name in zip(addresses, names, strict=True)
        if (own := name.partition(".")[0]) in by_name and address in following and uses[name] == 1
    ]


def ranges(found: Iterable[Function]) -> str:
    """As the plugin coverage reads them."""
    return "".join(f"{f.begin:x} {f.end:x}\n" for f in found)


def files(found: list[Function], blocks: Iterable[tuple[int, int]]) -> list[File]:
    """How much of each file the @blocks, begin and end of each, have executed."""
    executed: set[int] = set()
    for begin, end in blocks:
        executed.update(range(begin, end))
    table: dict[str, File] = {}
    for function in found:
        function.executed = sum(a in executed for a in range(function.begin, function.end))
        of = table.setdefault(function.file, File(function.file))
        of.size += function.end - function.begin
        of.executed += function.executed
        # The compiler's parts of a function are no functions of their own.
        if "." not in function.name:
            of.functions += 1
            if not function.executed:
                of.never.append(function.name)
    return sorted(table.values(), key=lambda f: f.name)


def lines(table: list[File]) -> list[str]:
    """The table for a terminal."""
    rows = [*table, File("all", sum(f.size for f in table), sum(f.executed for f in table),
                         sum(f.functions for f in table), [n for f in table for n in f.never])]
    return [
        f"{f.name:24} {100 * f.executed / f.size:5.1f} % of {f.size:6} bytes, "
        f"{f.functions - len(f.never):3} of {f.functions:3} functions"
        + (f"; never: {', '.join(f.never)}" if f.never and f is not rows[-1] else "")
        for f in rows
    ]


def judge(table: list[File], dropped: int | None) -> list[str]:
    """What does not hold: the plugin came to its end, and saw something."""
    if dropped is None:
        return ["coverage: the plugin has not told what was executed"]
    bad = [f"coverage: {dropped} blocks had no place"] if dropped else []
    if not any(f.executed for f in table):
        bad.append("coverage: none of Isolator's code was executed")
    return bad
