# SPDX-License-Identifier: GPL-2.0-or-later
"""A load of isolab scope-report, in its guest, until SIGTERM: scopeload NAME CPU[,CPU...] BEGUN

They are those of the experiment that it repeats, which isolator interfere has not.  Each CPU has a
process of its own; the file BEGUN is there once each has done something.  At the end one JSON
object says what was done.
"""

import ctypes
import json
import mmap
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

LOOK_S = 0.2
AWAITED = {signal.SIGTERM, signal.SIGCHLD}
FILES, FUNCTIONS = 16, 6
FRAMES = 50
FILE_SIZE = 8 << 20
PR_SET_PDEATHSIG = 1

# Loops, branches and structures: what an optimiser has to think about.
FUNCTION = """
struct {name} {{ struct {name} *next; unsigned long key[{keys}]; char text[{chars}]; }};
unsigned long walk_{name}(struct {name} *list, const char *text, unsigned long n)
{{
	unsigned long sum = sizeof(*list);
	for (; list; list = list->next) {{
		for (unsigned long i = 0; i < {keys}; i++)
			if (list->key[i] % {modulus} == n)
				sum += list->key[i] * i;
			else
				sum ^= (unsigned long)text[i % {chars}] << (i & 7);
		switch (sum % 4) {{
		case 0: memcpy(list->text, text, {chars}); break;
		case 1: snprintf(list->text, {chars}, "%lu", sum); break;
		case 2: list->key[n % {keys}] = strlen(list->text); break;
		default: sum = sum * 31 + n; break;
		}}
	}}
	return sum;
}}
"""

# Does it once more on its CPU, and says how many operations that was.
Once = Callable[[], int]


def run(*words: str) -> None:
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           check=False)
    if ended.returncode:
        raise OSError(f"{words[0]} ended with {ended.returncode}: {ended.stderr.strip()[-160:]}")


def compile_files(scratch: Path, cpu: int) -> Once:
    """As the build of a kernel: many short processes, with page faults, files, new memory."""
    sources = []
    for number in range(FILES):
        # Each function a bit different from all others.
        text = "".join(FUNCTION.format(name=f"f{i}", keys=3 + i % 13, chars=8 + i % 9,
                                       modulus=3 + (i + number) % 11) for i in range(FUNCTIONS))
        sources.append(scratch / f"cpu{cpu}-{number}.c")
        sources[-1].write_text("#include <stdio.h>\n#include <string.h>\n" + text)

    def once() -> int:
        sources.append(sources.pop(0))
        run("cc", "-pipe", "-O2", "-c", "-o", f"{scratch}/cpu{cpu}.o", str(sources[-1]))
        return 1

    return once


def decode(scratch: Path, cpu: int) -> Once:
    clip = str(scratch / f"cpu{cpu}.avi")
    run("ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=640x360:rate=25",
        "-frames:v", str(FRAMES), "-c:v", "mjpeg", "-q:v", "5", clip)

    def once() -> int:
        run("ffmpeg", "-nostdin", "-v", "error", "-xerror", "-threads", "1", "-i", clip, "-f",
            "null", "-")
        return FRAMES

    return once


def copy_over_net(scratch: Path, cpu: int) -> Once:
    """A file by TCP to this machine itself, from the disk and back, a connection each time."""
    origin, copy = scratch / f"cpu{cpu}", scratch / f"cpu{cpu}.copy"
    origin.write_bytes(os.urandom(FILE_SIZE))
    listener = socket.create_server(("127.0.0.1", 0))

    def send() -> None:
        with socket.create_connection(listener.getsockname()) as to, origin.open("rb") as file:
            to.sendfile(file)

    def once() -> int:
        sender = threading.Thread(target=send)
        sender.start()
        with listener.accept()[0] as came, copy.open("wb") as file:
            while chunk := came.recv(1 << 16):
                file.write(chunk)
        sender.join()
        if copy.stat().st_size != FILE_SIZE:
            raise OSError(f"{copy.stat().st_size} bytes of {FILE_SIZE} came")
        return FILE_SIZE

    return once


# What makes it, what it is, the program that it wants and the package of that, and what it counts.
LOADS: dict[str, tuple[Callable[[Path, int], Once], str, str, str, str]] = {
    "compile": (compile_files, f"cc -O2 on {FILES} files, again and again", "cc", "gcc libc6-dev",
                "files compiled"),
    "netcopy": (copy_over_net, f"a file of {FILE_SIZE >> 20} MiB by TCP over the loopback device",
                "python3", "python3", "bytes received"),
    "media": (decode, f"ffmpeg decodes a clip of {FRAMES} frames, again and again", "ffmpeg",
              "ffmpeg", "frames decoded"),
}


def child(load: str, scratch: Path, cpu: int, count: memoryview) -> int:
    """A process on @cpu, for ever, which adds to @count; its number."""
    parent, pid = os.getpid(), os.fork()
    if pid:
        return pid
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.sched_setaffinity(0, {cpu})
        once = LOADS[load][0](scratch, cpu)
        while os.getppid() == parent:
            count[0] += once()
    except OSError as e:
        (scratch / "failed").write_text(str(e))
    os._exit(1)


def measure(load: str, cpus: list[int], begun: Path, row: dict[str, Any]) -> None:
    counts = memoryview(mmap.mmap(-1, 8 * len(cpus))).cast("Q")
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        pids = [child(load, scratch, cpu, counts[i : i + 1]) for i, cpu in enumerate(cpus)]
        while not (came := signal.sigtimedwait(AWAITED, LOOK_S)):
            if all(counts):
                begun.touch()
        failed = scratch / "failed"
        if came.si_signo != signal.SIGTERM:
            row["state"] = "failed"
            row["why"] = failed.read_text() if failed.exists() else "one of its processes ended"
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    row["cpus"] = [{"cpu": cpu, "operations": n} for cpu, n in zip(cpus, counts, strict=True)]


def main() -> None:
    load, cpus = sys.argv[1], [int(cpu) for cpu in sys.argv[2].split(",")]
    _, words, program, package, operation = LOADS[load]
    row: dict[str, Any] = {"state": "ran", "why": None, "words": words, "operation": operation,
                           "cpus": []}
    if shutil.which(program):
        measure(load, cpus, Path(sys.argv[3]), row)
    else:
        row.update(state="absent", why=f"there is no {program}: apt install {package}")
    print(json.dumps({"loads": [row]}))


if __name__ == "__main__":
    main()
