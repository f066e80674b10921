# SPDX-License-Identifier: GPL-2.0-or-later
"""Inputs to begin with for each harness in C, out of the tests' own data."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLI = ROOT / "cli/tests"
sys.path.insert(0, str(CLI))


def attribute() -> Iterator[bytes]:
    """Each event's format, and a page with two of it."""
    import tracegen

    for name in tracegen.EVENTS:
        text = tracegen.format_text(name)
        # As it is, and with a task's number that lies elsewhere in the record.
        for change, pid in ((text, 42), (text.replace(
                "field:int common_pid", "field:__data_loc int common_pid"), 12 << 16 | 8)):
            data = tracegen.framed(10, tracegen.record(name, pid)) * 2
            yield change.encode() + b"\0" + tracegen.page(1000, data)[:16 + len(data)]


def captures() -> Iterator[str]:
    """As they are."""
    for path in sorted((CLI / "captures").iterdir()):
        yield path.read_text()


def audit() -> Iterator[bytes]:
    """Whole machines, and a machine with one file more at a time."""
    for text in captures():
        yield text.encode()


def bundle() -> Iterator[bytes]:
    """What tar says of captures, with the note of a bundle and without."""
    for text in captures():
        for note in (b"isolator-audit 1\ncpus 1-3\nunreadable EACCES /proc/kallsyms\n", None):
            files = [(b"isolator-audit", note)] if note else []
            for part in text.split("\n==> ")[1:8]:
                head, _, rest = part.partition("\n")
                files.append((head.split()[0].lstrip("/").encode(), rest.encode()))
            yield b"drwxr-xr-x 0/0 0 1970-01-01 00:00 proc/\n" + b"".join(
                b"-rw-r--r-- 0/0 %d 1970-01-01 00:00 %s\n" % (len(data), name)
                for name, data in files) + b"\0" + b"".join(data for _, data in files)


def journal() -> Iterator[bytes]:
    """One of each kind of line."""
    yield (b"isolator-journal 1\n"
           b"run\t4711\t2-3\tcyclictest\n"
           b"set\t/proc/sys/kernel/watchdog_cpumask\t0-3\t0-3\\012\n"
           b"controller\t/sys/fs/cgroup\tcpuset\tcpu io\n"
           b"group\t/isolator-1\t/user.slice\t-\n"
           b"task\t812\t4000\t0-3\n"
           b"attach\t812\t4000\t0-3 0 0\n")
    yield (b"isolator-journal 1\n"
           b"shield\t400\t3 2-3 -\t-\n"
           b"shield-list\t/proc/irq/9/smp_affinity_list\t0-2\t0-3\\012\n"
           b"shield-task\t812\t4000\t0-3 0-2\n"
           b"shield\t500\t- - 1\t-\ntorn")
    yield (b"isolator-journal 1\n"
           b"boot\t/etc/default/grub.d/isolator.cfg\tnew\\012\told\\012\n"
           b"boot-file\t/boot/x\tnew\t-\nboot-directory\t/boot/d\t-\t-\n")


def proc() -> Iterator[bytes]:
    """The four files of each fixture."""
    for path in sorted((CLI / "fixtures").iterdir()):
        files = {head.split()[0]: text for head, _, text in (
            part.partition("\n") for part in path.read_text().split("==> ")[1:])}
        if "status" in files:
            yield "==> ".join(files.get(name) or "version 1\n" for name in (
                "status", "stats", "senders", "deliveries")).encode()


def lines() -> Iterator[bytes]:
    """Some for each; the first byte says for which."""
    yield from (b"\x00" + text for text in (b"0-3,8,12-13\n", b"f,00000000\n", b"1023", b""))
    for text in captures():
        for name in ("interrupts", "softirqs"):
            found = re.search(rf"\n==> /proc/{name}\S*\n(.*?)(\n==> |\Z)", text, re.DOTALL)
            if found:
                yield b"\x01" + found[1].encode() + b"\n"
    yield (b"\x01           CPU0  CPU2\n  0:   12  0  IO-APIC  2-edge  timer\n"
           b"LOC:  4294967295  1  Local timer interrupts\n")
    for line in (
            "  <idle>-0 [001] d.h.. 12.345678: irq_noise: local_timer:236 start 1.3 duration 90 ns",
            "  x-9 [001] ..... 2.000001: thread_noise:  sh:12 start 1.9 duration 100 ns",
            "  x-9 [001] ..... 2.000001: #5 inner/outer(us): 13/11 ts:1499801089.066 nmi-count:2",
            "  x-9 [001] d.h.. 2.000001: #1 context irq timer_latency 932 ns",
            "CPU:1 [LOST 42 EVENTS]"):
        yield b"\x02" + line.encode()
    yield from (b"\x03" + text for text in (b"QEMU", b"linux,dummy-virt\0", b"VMware, Inc."))


def frame() -> Iterator[bytes]:
    """The vectors of both codecs."""
    for one in json.loads((ROOT / "scope/tests/vectors.json").read_text())["good"]:
        yield bytes.fromhex(one["hex"])


SEEDS: dict[str, Callable[[], Iterator[bytes]]] = {
    "attribute": attribute, "audit": audit, "bundle": bundle, "frame": frame,
    "journal": journal, "lines": lines, "proc": proc}
