# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers by which triggers and guest tests describe themselves."""

import itertools
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from . import term
from .guests import machine
from .paths import LAB

_LINE = re.compile(r"^(?:#|//|/?\s*\*)\s*([\w-]+):\s*(.*?)\s*$")
_NAME = re.compile(r"^(?:#|//|/?\s*\*)\s*name:")
_COMMENT = re.compile(r"^(?:#(?!!)|//|\s*\*)")
_EMPTY = re.compile(r"^(?:#|//|\s*\*/?)\s*$")
_BOTH_KEYS = ("name", "about", "timeout", "cpus", "memory", "append", "arch")
TRIGGER_KEYS = (*_BOTH_KEYS, "row", "class", "kind", "notick", "user", "in", "needs", "absent")
TEST_KEYS = (
    *_BOTH_KEYS, "kernel", "smt", "alone", "coverage", "ways", "section", "icount", "doorbell",
    "wires", "ends", "long", "once", "windows", "observe", "equal", "more", "skips", "dmesg",
    "leaves",
)
CLASSES = ("defer", "exclude", "queue", "quiesce", "yield", "remote", "refuse", "immediate")
KINDS = ("script", "program", "self")
USES = ("run", "check")
WIRES = ("bare", "tree")
SECTIONS = ("quiet", "stray")
NEEDS_SPINNER = ("signal-task",)  # asks it how many handlers ran
# Ours out of a package, beside Debian's, which is booted as well.
PACKAGED = "distro-deb"
KERNELS = (
    "isolator", "isolator-faults", "isolator-debug", "any", "distro", "distro-stock",
    "distro-isolator", PACKAGED, "arm64",
)
# What "observe:" may name beside a vector and a kind (guests/machine.py): all entries; calls that
# Isolator did not send.
COUNTERS = {"any": "kernel_entries", "others": "kicks_of_others"}
# Costly instructions that "more:" may name: those of lab/observer/heavy.h.
HEAVY = ("locked", "serialising", "fence", "sync")
TESTS = LAB / "guest" / "tests"
DISTRO_TESTS = LAB / "distro" / "tests"
ARM64_TESTS = LAB / "arm64" / "tests"
SUFFIXES = (".c", ".sh", ".py")


def _comment(path: Path) -> tuple[list[str], list[str]]:
    """The comment that has the name: the paragraph of it, and the lines behind."""
    lines = path.read_text().splitlines()
    at = next((i for i, line in enumerate(lines) if _NAME.match(line)), None)
    if at is None:
        raise term.LabError(f'{path}: the header has no line "name:"; see docs/lab.md')
    first = at
    while first and _COMMENT.match(lines[first - 1]) and "SPDX" not in lines[first - 1]:
        first -= 1
    comment = list(itertools.takewhile(_COMMENT.match, lines[first:]))
    empty = next((i for i, line in enumerate(comment) if _EMPTY.match(line)), len(comment))
    return comment[:empty], comment[empty:]


def read(path: Path, known: Collection[str]) -> dict[str, list[str]]:
    """The header's keys, none but those of @known; a key that stands twice has two values."""
    found: dict[str, list[str]] = {}
    keys, rest = _comment(path)
    for line in keys:
        match = _LINE.match(line)
        if match and match[1] in known:
            if not match[2]:
                raise term.LabError(f'{path}: "{match[1]}:" says nothing')
            found.setdefault(match[1], []).append(match[2])
        elif not line.startswith("# shellcheck "):
            raise term.LabError(f'{path}: no line "key: value" of a header: {line}')
    for match in filter(None, map(_LINE.match, rest)):
        if match[1] in known:
            raise term.LabError(f'{path}: "{match[1]}:" stands behind the header')
    return found


def _one(keys: dict[str, list[str]], path: Path, name: str, default: str | None = None) -> str:
    values = keys.get(name) or ([default] if default is not None else [])
    if not values:
        raise term.LabError(f'{path}: the header has no line "{name}:"; see docs/lab.md')
    if len(values) > 1:
        raise term.LabError(f'{path}: "{name}:" stands {len(values)} times')
    return values[0]


def _yes(keys: dict[str, list[str]], path: Path, name: str, default: str = "no") -> bool:
    return _choice(_one(keys, path, name, default), ("yes", "no"), path) == "yes"


def _choice(value: str, allowed: tuple[str, ...], path: Path) -> str:
    if value not in allowed:
        raise term.LabError(f"{path}: {value} is none of {', '.join(allowed)}")
    return value


@dataclass(frozen=True)
class Trigger:
    name: str
    row: str
    cls: str
    kind: str
    about: str
    notick: bool
    timeout_s: float
    cpus: int = 2
    memory: str = "1G"
    append: str = ""  # boot parameters: it gets a guest of its own kind
    user: bool = False  # run by somebody without privilege
    used_in: tuple[str, ...] = ()  # beside the matrix: run, check
    arch: tuple[str, ...] = machine.NAMES  # machines that have what it needs
    needs: str = ""  # what the other machines lack
    absent: tuple[str, ...] = ()  # kernels without the facility: MACHINE-PREEMPTION

    def absent_on(self, of: machine.Machine) -> list[str]:
        """The preemption models whose kernels on @of have no such facility."""
        at = [word.rpartition("-") for word in self.absent]
        return [preemption for name, _, preemption in at if name == of.name]

    @property
    def rows(self) -> tuple[int, ...]:
        """The catalogue's rows that it realises, the main one first."""
        return tuple(int(word) for word in self.row.split(",") if word.strip().isdigit())

    @property
    def in_run_by_itself(self) -> bool:
        """Part of make run, and needs nothing of the task that it aims at but its number."""
        return "run" in self.used_in and self.kind != "self" and self.name not in NEEDS_SPINNER


@dataclass(frozen=True)
class Expect:
    """What the observer must have counted: in a window, entries of a vector or of COUNTERS."""

    window: int
    vector: str
    count: int


@dataclass(frozen=True)
class Equal:
    """Two sets of windows: of what the observer counted the least must be equal, within percents.

    The least: what else happens to a window, such as a call that was due, only adds to it.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    what: str
    percent: float


@dataclass(frozen=True)
class More:
    """Of a kind of costly instructions (HEAVY) some windows have so many more than others.

    Exactly, the least of each set: a thread that runs within a window only adds to it.
    """

    base: tuple[int, ...]
    windows: tuple[int, ...]
    kind: str
    count: int


@dataclass(frozen=True)
class GuestTest:
    name: str
    cpus: int
    kernel: str
    timeout_s: float
    about: str
    alone: bool  # wants a guest of its own
    ends: str | None  # the guest ends in the test; the log must match this
    allows: tuple[str, ...]  # lines of the kernel log that are wanted here
    append: str  # boot parameters; without "alone: no" it is alone then
    long: str  # yes: only in the full suites; hour: in none, as it is a step of its own
    expects: tuple[Expect, ...]
    equals: tuple[Equal, ...]
    mores: tuple[More, ...] = ()
    memory: str = "1G"
    once: bool = False  # make check runs it on its x86_64 kernel only
    icount: bool = False  # time follows instructions
    windows: int = 0  # windows of which the test itself says what each must hold
    smt: int = 1  # CPUs a core
    doorbell: bool = False  # of a generator, for the driver of isolator-scope
    wires: str = ""  # a generator on its GPIO lines, the driver's device in the tree or not
    coverage: bool = False  # tells what of Isolator's code it has executed
    ways: int = 0  # the window in which all that runs on the ways in and out is looked at
    section: str = ""  # of the kernel, quiet: nothing else ran in it; stray NAME...: that did
    arch: tuple[str, ...] = machine.NAMES  # machines that have what it needs
    skips: tuple[str, ...] = ()  # why it may be skipped, as it says so or a part of that
    leaves: bool = False  # its planted fault leaves a process that waits for good

    @property
    def reboots(self) -> bool:
        return self.ends == "reboot"

    @property
    def observed(self) -> bool:
        return bool(self.expects or self.equals or self.mores or self.windows)


def _name(path: Path) -> str:
    return path.stem if path.suffix in SUFFIXES else path.name


def _section(text: str, path: Path) -> str:
    kind, _, names = text.partition(" ")
    _choice(kind, ("", *SECTIONS), path)
    if names and kind != "stray":
        raise term.LabError(f"{path}: section: {kind} takes no names")
    return text


def _arch(keys: dict[str, list[str]], path: Path) -> tuple[str, ...]:
    words = _one(keys, path, "arch", " ".join(machine.NAMES)).split()
    return tuple(_choice(word, machine.NAMES, path) for word in words)


def _absent(keys: dict[str, list[str]], path: Path) -> tuple[str, ...]:
    """Kernels on which a trigger may say that the facility is missing."""
    names = tuple(f"{name}-{model}" for name in machine.NAMES for model in ("rt", "nort"))
    words = _one(keys, path, "absent", "").split()
    return tuple(_choice(word, names, path) for word in words)


def _needs(keys: dict[str, list[str]], path: Path) -> str:
    """What a machine that a trigger is not for lacks; a reader of a report asks for it."""
    needs = _one(keys, path, "needs", "")
    if bool(needs) != (len(_arch(keys, path)) < len(machine.NAMES)):
        raise term.LabError(
            f'{path}: "needs:" says what other machines than those of "arch:" lack; '
            "a header has both lines or neither"
        )
    return needs


def triggers() -> list[Trigger]:
    found = []
    for path in sorted((LAB / "triggers").glob("*")):
        if path.suffix not in (".c", ".sh"):
            continue
        keys = read(path, TRIGGER_KEYS)
        trigger = Trigger(
            name=_one(keys, path, "name"), row=_one(keys, path, "row"),
            cls=_choice(_one(keys, path, "class"), CLASSES, path),
            kind=_choice(_one(keys, path, "kind"), KINDS, path), about=_one(keys, path, "about"),
            notick=_yes(keys, path, "notick"),
            timeout_s=float(_one(keys, path, "timeout", "20").rstrip("s")),
            cpus=int(_one(keys, path, "cpus", "2")), memory=_one(keys, path, "memory", "1G"),
            append=_one(keys, path, "append", ""), user=_yes(keys, path, "user"),
            arch=_arch(keys, path), needs=_needs(keys, path), absent=_absent(keys, path),
            used_in=tuple(_choice(w, USES, path) for w in _one(keys, path, "in", "").split()),
        )
        if trigger.name != _name(path):
            raise term.LabError(f"{path}: name: {trigger.name} is not the file's name")
        found.append(trigger)
    return found


def _expects(values: list[str], path: Path) -> tuple[Expect, ...]:
    found = []
    for value in values:
        words = value.split()
        if len(words) != 3 or not words[0].isdigit() or not words[2].isdigit():
            raise term.LabError(f"{path}: observe: needs WINDOW VECTOR|any|others COUNT")
        if words[1] not in {*COUNTERS, *machine.KINDS, machine.UNKNOWN, *machine.KNOWN}:
            raise term.LabError(f"{path}: observe: no counter, kind or vector: {words[1]}")
        found.append(Expect(int(words[0]), words[1], int(words[2])))
    return tuple(found)


def _sets(words: list[str], wrong: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two sets of windows: WINDOW,... WINDOW,..."""
    sets = [word.split(",") for word in words]
    if not all(one.isdigit() for each in sets for one in each):
        raise term.LabError(wrong)
    first, second = (tuple(map(int, each)) for each in sets)
    return first, second


def _equals(values: list[str], path: Path) -> tuple[Equal, ...]:
    found = []
    for value in values:
        words = value.split()
        wrong = f"{path}: equal: needs WINDOW,... WINDOW,... COUNTER PERCENT"
        if len(words) != 4:
            raise term.LabError(wrong)
        found.append(Equal(*_sets(words[:2], wrong), words[2], float(words[3])))
    return tuple(found)


def _mores(values: list[str], path: Path) -> tuple[More, ...]:
    found = []
    for value in values:
        words = value.split()
        wrong = f"{path}: more: needs WINDOW,... WINDOW,... {'|'.join(HEAVY)} COUNT"
        if len(words) != 4 or words[2] not in HEAVY or not words[3].isdigit():
            raise term.LabError(wrong)
        found.append(More(*_sets(words[:2], wrong), words[2], int(words[3])))
    return tuple(found)


def tests(directory: Path = TESTS) -> list[GuestTest]:
    found = []
    for path in sorted(directory.glob("*")):
        if path.suffix not in SUFFIXES:
            continue
        keys = read(path, TEST_KEYS)
        test = GuestTest(
            name=_one(keys, path, "name"),
            cpus=int(_one(keys, path, "cpus", "2")),
            kernel=_choice(_one(keys, path, "kernel"), KERNELS, path),
            timeout_s=float(_one(keys, path, "timeout", "30").rstrip("s")),
            about=_one(keys, path, "about"),
            alone=_yes(keys, path, "alone", "yes" if {"ends", "append"} & keys.keys() else "no"),
            ends=_one(keys, path, "ends", "") or None,
            allows=tuple(keys.get("dmesg", [])),
            append=_one(keys, path, "append", ""),
            long=_choice(_one(keys, path, "long", "no"), ("no", "yes", "hour"), path),
            expects=_expects(keys.get("observe", []), path),
            equals=_equals(keys.get("equal", []), path),
            mores=_mores(keys.get("more", []), path),
            memory=_one(keys, path, "memory", "1G"),
            once=_yes(keys, path, "once"),
            icount=_yes(keys, path, "icount"),
            windows=int(_one(keys, path, "windows", "0")),
            smt=int(_one(keys, path, "smt", "1")),
            doorbell=_yes(keys, path, "doorbell"),
            wires=_choice(_one(keys, path, "wires", ""), ("", *WIRES), path),
            coverage=_yes(keys, path, "coverage"),
            ways=int(_one(keys, path, "ways", "0")),
            section=_section(_one(keys, path, "section", ""), path),
            arch=_arch(keys, path),
            skips=tuple(keys.get("skips", [])),
            leaves=_yes(keys, path, "leaves"),
        )
        if test.name != _name(path):
            raise term.LabError(f"{path}: name: {test.name} is not the file's name")
        if test.observed and not test.alone:
            raise term.LabError(f"{path}: what is observed needs alone: yes; others have windows")
        if test.leaves and not (test.alone and test.kernel == "isolator-faults"):
            raise term.LabError(f"{path}: leaves: needs alone: yes and kernel: isolator-faults")
        found.append(test)
    return found
