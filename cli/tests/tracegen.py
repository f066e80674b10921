# SPDX-License-Identifier: GPL-2.0-or-later
"""Trace recordings out of lists of events: ring pages and formats as x86_64 kernels have them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGE_DATA = 4080
MISSED = 1 << 31
STORED = 1 << 30
_DELTA_MOST = (1 << 27) - 1

# Type, size and sign of what a letter stands for; s: a text elsewhere in the record.
_TYPES = {"i": ("int", 4, 1), "u": ("unsigned int", 4, 0), "l": ("long", 8, 1),
          "p": ("void *", 8, 0), "s": ("__data_loc char[]", 4, 0),
          "m": ("__data_loc cpumask_t", 4, 0)}
_VECTORS = ("local_timer", "reschedule", "call_function", "call_function_single", "irq_work",
            "thermal_apic")
# Each event's fields: a name, and a letter or the size of a text.
EVENTS: dict[str, dict[str, str | int]] = {
    "sched/sched_switch": {"prev_comm": 16, "prev_pid": "i", "prev_prio": "i", "prev_state": "l",
                           "next_comm": 16, "next_pid": "i", "next_prio": "i"},
    "sched/sched_waking": {"comm": 16, "pid": "i", "prio": "i", "target_cpu": "i"},
    "sched/sched_migrate_task": {"comm": "s", "pid": "i", "prio": "i", "orig_cpu": "i",
                                 "dest_cpu": "i"},
    "irq/irq_handler_entry": {"irq": "i", "name": "s"},
    "irq/irq_handler_exit": {"irq": "i", "ret": "i"},
    "irq/softirq_entry": {"vec": "u"},
    "irq/softirq_exit": {"vec": "u"},
    "irq/tasklet_entry": {"tasklet": "p", "func": "p"},
    "irq/tasklet_exit": {"tasklet": "p", "func": "p"},
    **{f"irq_vectors/{v}_{end}": {"vector": "i"} for v in _VECTORS for end in ("entry", "exit")},
    "ipi/ipi_entry": {"reason": "p"},
    "ipi/ipi_exit": {"reason": "p"},
    "ipi/ipi_raise": {"target_cpus": "m", "reason": "p"},
    "ipi/ipi_send_cpu": {"cpu": "u", "callsite": "p", "callback": "p"},
    "ipi/ipi_send_cpumask": {"cpumask": "m", "callsite": "p", "callback": "p"},
    "csd/csd_queue_cpu": {"cpu": "u", "callsite": "p", "func": "p", "csd": "p"},
    "csd/csd_function_entry": {"func": "p", "csd": "p"},
    "csd/csd_function_exit": {"func": "p", "csd": "p"},
    "workqueue/workqueue_queue_work": {"work": "p", "function": "p", "workqueue": "s",
                                       "req_cpu": "i", "cpu": "i"},
    "workqueue/workqueue_execute_start": {"work": "p", "function": "p"},
    "workqueue/workqueue_execute_end": {"work": "p", "function": "p"},
    "timer/hrtimer_expire_entry": {"hrtimer": "p", "now": "l", "function": "p"},
    "timer/hrtimer_expire_exit": {"hrtimer": "p"},
    "timer/timer_expire_entry": {"timer": "p", "now": "p", "function": "p", "baseclk": "p"},
    "timer/timer_expire_exit": {"timer": "p"},
    "exceptions/page_fault_user": {"address": "p", "ip": "p", "error_code": "p"},
    "power/cpu_idle": {"state": "u", "cpu_id": "u"},
    "power/cpu_frequency": {"state": "u", "cpu_id": "u"},
    "nmi/nmi_handler": {"handler": "p", "delta_ns": "l", "handled": "i"},
    "ftrace/kernel_stack": {"size": "i", "caller": 64},
    "ftrace/print": {"ip": "p", "buf": 0},
}
_IDS = {name: 5 + n for n, name in enumerate(EVENTS)}
_BY_NAME = {name.split("/")[1]: name for name in EVENTS}
_HEAD = (("unsigned short", "common_type", 0, 2, 0), ("unsigned char", "common_flags", 2, 1, 0),
         ("unsigned char", "common_preempt_count", 3, 1, 0), ("int", "common_pid", 4, 4, 1))
_HEADER_PAGE = (
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
    f"\tfield: char data;\toffset:16;\tsize:{PAGE_DATA};\tsigned:0;\n")


def _layout(name: str) -> tuple[list[tuple[str, str | int, int]], int]:
    """Each field's name, kind and offset, and the size of all."""
    at, fields = 8, []
    for key, kind in EVENTS[name].items():
        align = _TYPES[kind][1] if isinstance(kind, str) else 8 if key == "caller" else 1
        at = (at + align - 1) // align * align
        fields.append((key, kind, at))
        at += _TYPES[kind][1] if isinstance(kind, str) else kind
    return fields, at


def format_text(name: str) -> str:
    lines = [f"name: {name.split('/')[1]}\nID: {_IDS[name]}\nformat:\n"]
    lines += [f"\tfield:{t} {n};\toffset:{o};\tsize:{s};\tsigned:{g};\n"
              for t, n, o, s, g in _HEAD]
    lines.append("\n")
    for key, kind, at in _layout(name)[0]:
        if isinstance(kind, str):
            declared, size, signed = _TYPES[kind]
            lines.append(f"\tfield:{declared} {key};\toffset:{at};\tsize:{size};"
                         f"\tsigned:{signed};\n")
        elif key == "caller":
            lines.append(f"\tfield:unsigned long {key}[8];\toffset:{at};\tsize:64;\tsigned:0;\n")
        else:
            lines.append(f"\tfield:char {key}[{kind or ''}];\toffset:{at};\tsize:{kind};"
                         "\tsigned:0;\n")
    return "".join(lines) + '\nprint fmt: ""\n'


def record(name: str, pid: int, /, **values: Any) -> bytes:
    """An event's bytes, as they stand in the ring."""
    fields, size = _layout(name)
    data = bytearray(size)
    struct.pack_into("<HBBi", data, 0, _IDS[name], 0, 0, pid)
    assert set(values) <= {key for key, _, _ in fields}, values
    for key, kind, at in fields:
        value = values.get(key, 0)
        if key == "caller":
            data[at:] = b"".join(struct.pack("<Q", address) for address in value or ())
        elif key == "buf":
            data += str(value).encode() + b"\0"
        elif kind in ("s", "m"):
            more = (str(value).encode() + b"\0" if kind == "s"
                    else struct.pack("<Q", sum(1 << cpu for cpu in value or ())))
            struct.pack_into("<I", data, at, len(more) << 16 | len(data))
            data += more
        elif isinstance(kind, int):
            data[at:at + kind] = str(value or "").encode()[:kind].ljust(kind, b"\0")
        else:
            size = _TYPES[kind][1]
            data[at:at + size] = (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")
    return bytes(data)


def framed(delta: int, data: bytes) -> bytes:
    """With its head, and more time than fits into it before."""
    data += b"\0" * (-len(data) % 4)
    extend = b""
    if delta > _DELTA_MOST:
        extend = struct.pack("<II", 30 | (delta & _DELTA_MOST) << 5, delta >> 27)
        delta = 0
    if len(data) <= 112:
        return extend + struct.pack("<I", len(data) // 4 | delta << 5) + data
    return extend + struct.pack("<II", delta << 5, len(data) + 4) + data


def page(ns: int, data: bytes, missed: int | None = None, full: int = PAGE_DATA) -> bytes:
    """A page that begins at @ns; @missed events before it, -1: an unknown number."""
    commit, end = len(data), b""
    if missed is not None:
        commit |= MISSED
        if missed >= 0:
            commit |= STORED
            end = struct.pack("<Q", missed)
    return struct.pack("<QQ", ns, commit) + (data + end).ljust(full, b"\0")


def pages(events: Iterable[tuple[int, bytes | int]], room: int = PAGE_DATA - 8) -> bytes:
    """Of (time, record); a number instead of a record: so many were overwritten there."""
    out, data, begin, last = b"", b"", None, 0
    missed: int | None = None
    for ns, what in events:
        if isinstance(what, int):
            if begin is not None:
                out += page(begin, data, missed)
            data, begin, missed = b"", None, what
            continue
        if begin is not None and len(data) + len(what) + 24 > room:
            out += page(begin, data, missed)
            data, begin, missed = b"", None, None
        if begin is None:
            begin = last = ns
        data += framed(ns - last, what)
        last = ns
    return out + (page(begin, data, missed) if begin is not None else b"")


@dataclass
class Recording:
    """Events of the CPUs that are measured, and of those that are not."""

    symbols: dict[str, int] = field(default_factory=dict)
    comms: dict[int, str] = field(default_factory=dict)
    rings: dict[tuple[str, int], list[tuple[int, bytes | int]]] = field(default_factory=dict)
    room: int = PAGE_DATA - 8

    def symbol(self, name: str) -> int:
        """The address of a function, the same each time."""
        return self.symbols.setdefault(name, 0xffffffff81000000 + 0x1000 * len(self.symbols))

    def event(self, cpu: int, ns: int, pid: int, name: str, where: str = "", /,
              **values: Any) -> None:
        ring = self.rings.setdefault((where, cpu), [])
        ring.append((ns, record(_BY_NAME[name], pid, **values)))

    def lose(self, cpu: int, ns: int, count: int = -1) -> None:
        self.rings.setdefault(("", cpu), []).append((ns, count))

    def switch(self, cpu: int, ns: int, before: tuple[str, int, int], after: tuple[str, int, int],
               state: int = 0, where: str = "") -> None:
        """From the task (COMM, PID, PRIO) to another one."""
        self.event(cpu, ns, before[1], "sched_switch", where, prev_comm=before[0],
                   prev_pid=before[1], prev_prio=before[2], prev_state=state,
                   next_comm=after[0], next_pid=after[1], next_prio=after[2])

    def write(self, directory: Path) -> Path:
        for name in EVENTS:
            file = directory / "events" / name / "format"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(format_text(name))
        (directory / "events/header_page").write_text(_HEADER_PAGE)
        (directory / "kallsyms").write_text(
            "".join(f"{address:016x} t {name}\n" for name, address in self.symbols.items()))
        (directory / "printk_formats").write_text('0x1000 : "Function call interrupts"\n')
        (directory / "saved_cmdlines").write_text(
            "".join(f"{pid} {comm}\n" for pid, comm in self.comms.items()))
        for (where, cpu), events in self.rings.items():
            file = directory / where / f"per_cpu/cpu{cpu}/trace_pipe_raw"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(pages(sorted(events, key=lambda e: e[0]), self.room))
        return directory
