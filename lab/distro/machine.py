# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the distribution guest share: TAP, the command, and waiting."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import snapshot

# These tests add users, change settings and end programs of the machine that they run on.
if Path(sys.argv[0]).resolve().parent == Path(__file__).resolve().parent / "tests":
    sys.exit("this test runs only in a guest of the lab: tools/isolab test --suite distro")

ISOLATOR = os.environ.get("ISOLATOR", "/lab/bin/isolator")
PATIENCE_S = 60.0

_count = 0
_bad: list[str] = []


def check(good: object, what: str, *why: object) -> bool:
    """One line of TAP; @why only if it is not good."""
    global _count
    _count += 1
    if not good:
        _bad.append(what)
    print(f"{'ok' if good else 'not ok'} {_count} - {what}")
    for line in why if not good else ():
        for part in str(line).splitlines():
            print(f"# {part}")
    sys.stdout.flush()
    return bool(good)


def note(text: str) -> None:
    for line in text.splitlines():
        print(f"# {line}", flush=True)


def done() -> NoReturn:
    # Of what is printed the end is kept.
    note("\n".join(f"failed: {what}" for what in _bad))
    print(f"1..{_count}", flush=True)
    sys.exit(bool(_bad or not _count))


def same(before: snapshot.Snapshot, what: str, known: str = "") -> None:
    """The machine is as @before, but for what is @known; and no test begins on one that is not."""
    left = [line for line in snapshot.settled(before) if not known or not line.startswith(known)]
    if not check(not left, f"{what}: all is as before", *left[:40]):
        done()


def isolator(*arguments: str, **how: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ISOLATOR, *arguments], capture_output=True, text=True, check=False,
                          timeout=PATIENCE_S, **how)


def document(*arguments: str) -> dict[str, Any]:
    """What a command with --json says."""
    done_ = isolator(*arguments)
    found: dict[str, Any] = json.loads(done_.stdout)
    return found


@contextlib.contextmanager
def running(*arguments: str, script: str = "exec sleep 60") -> Iterator[subprocess.Popen[str]]:
    """isolator run, once its program has begun; killed in the end if it still lives."""
    process = subprocess.Popen(
        [ISOLATOR, "run", *arguments, "--", "sh", "-c", f"echo began $$; {script}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        if not line.startswith("began "):
            _, said = process.communicate(timeout=PATIENCE_S)
            check(False, "the program of isolator run began", said)
            done()
        yield process
    finally:
        process.kill()
        process.communicate()


def until(what: Callable[[], object], patience_s: float = PATIENCE_S) -> bool:
    stop = time.monotonic() + patience_s
    while not what():
        if time.monotonic() > stop:
            return False
        time.sleep(0.01)
    return True


def read(path: str) -> str:
    return Path(path).read_text().strip()


def has_isolator() -> bool:
    """One of the lab's own kernels, which are small: not all settings of Debian's are there."""
    return os.path.exists("/proc/isolator")


def there(path: str) -> bool:
    """Is it?  If not, that is said: what is left out must be seen."""
    found = os.path.exists(path)
    if not found:
        note(f"not on this kernel: {path}")
    return found


def write(path: str, value: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, value.encode())
    except OSError as e:
        raise OSError(e.errno, f"{e.strerror}: {value!r} to", path) from e
    finally:
        os.close(fd)


def put_aside(path: Path) -> None:
    """What was printed and counted until now, for the same test after a reboot."""
    path.write_text(json.dumps([_count, _bad, Path("/proc/self/fd/1").read_text()]))


def carry_on(path: Path) -> None:
    """All of that once more, and the count goes on."""
    global _count, _bad
    _count, _bad, text = json.loads(path.read_text())
    print(text, end="", flush=True)


def groups() -> list[str]:
    """The cgroups that a run has made."""
    return sorted(str(p) for p in Path(snapshot.CGROUPS).glob("isolator.*"))
