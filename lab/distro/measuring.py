# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of isolator measure share: its result, held to its schema, and a planted hog."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
from machine import ISOLATOR, PATIENCE_S, check, note, until

SCHEMAS = Path("/lab/schema")
USER = "isolab"
AS_USER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups")
# Debian's -rt kernel has the tracers of noise, its plain one has not.
TRACERS = {
    # Emulated, each turn of its loop takes more than 1 us: its ring would run over.
    "osnoise": ("noise", "--method", "osnoise", "--threshold", "100us"),
    "timerlat": ("latency", "--method", "timerlat"),
    "hwlat": ("hardware", "--period", "100ms"),
}
AVAILABLE = Path("/sys/kernel/tracing/available_tracers").read_text().split()
HOG = "planted-hog"

Document = dict[str, Any]


def make_user() -> None:
    subprocess.run(["useradd", "--create-home", USER], check=True)


def valid(text: str, what: str, schema: str = "measure") -> Document:
    """The result, if it is one."""
    try:
        found: Document = json.loads(text)
        jsonschema.validate(found, json.loads((SCHEMAS / f"{schema}.json").read_text()))
    except (ValueError, jsonschema.ValidationError) as e:
        check(False, f"{what}: a result as its schema says", str(e)[:2000], text[:500])
        return {}
    return found


def measured(*words: str, code: int = 0, user: bool = False) -> Document:
    """isolator measure to its end, with exit status @code."""
    command = [*(AS_USER if user else ()), ISOLATOR, "measure", *words, "--json"]
    what = f"{f'{USER}: ' if user else ''}measure {' '.join(words)}"
    ended = subprocess.run(command, capture_output=True, text=True, check=False,
                           timeout=PATIENCE_S)
    check(ended.returncode == code, f"{what}: {ended.returncode}", ended.stderr,
          ended.stdout[-900:])
    found = valid(ended.stdout, what) if ended.stdout else {}
    if check(found, f"{what}: it says what it found", ended.stderr):
        check(found["exit"] == ended.returncode, f"{what}: and its exit status", found["exit"])
        note(found["words"])
        for one in series(found):
            even = one["samples"] + one["overflow"] + one["missing"] == one["triggers"]
            check(even and one["complete"], f"{what}: {one['name']}: {one['triggers']} triggers, "
                  f"{one['samples']} samples, {one['missing']} missing", one)
    return found


def series(found: Document, part: int = -1) -> list[Document]:
    parts = found.get("parts") or []
    return list(parts[part]["series"]) if parts else []


def named(found: Document, name: str) -> Document:
    return next((one for one in series(found) if one["name"] == name), {})


def setting(found: Document, name: str) -> Document:
    return next((one for one in found.get("settings", []) if one["name"] == name), {})


def has(found: Document, *names: str) -> None:
    """All of these series have values."""
    for name in names:
        one = named(found, name)
        check(one.get("samples"), f"{name}: {one.get('samples')} samples, worst "
              f"{one.get('max')} ns", one or found)


def start(*words: str) -> subprocess.Popen[str]:
    """isolator measure, once its result is written for the first time: it measures."""
    output = Path("/run/isolab.measure.json")
    output.unlink(missing_ok=True)
    process = subprocess.Popen([ISOLATOR, "measure", *words, "--output", str(output)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not until(lambda: output.exists() or process.poll() is not None) or process.poll():
        process.kill()
        check(False, f"measure {' '.join(words)} begins", process.communicate()[1])
    return process


def _be_hog(cpu: int, ms: int, at: list[float]) -> None:
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
    Path("/proc/self/comm").write_text(HOG)
    for moment in at:
        time.sleep(max(0.0, moment - time.monotonic()))
        stop = time.monotonic() + ms / 1000
        while time.monotonic() < stop:
            pass


@contextlib.contextmanager
def hog(cpu: int, ms: int, times: int, first_s: float, apart_s: float) -> Iterator[None]:
    """One of FIFO 99 takes @cpu for @ms, @times, from @first_s on; over when this is left."""
    begin = time.monotonic() + first_s
    pid = os.fork()
    if not pid:
        try:
            _be_hog(cpu, ms, [begin + i * apart_s for i in range(times)])
            os._exit(0)
        finally:
            os._exit(1)
    try:
        yield
    finally:
        _, status = os.waitpid(pid, 0)
        check(not status, f"the hog took CPU {cpu} {times} times for {ms} ms", status)
