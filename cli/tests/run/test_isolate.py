# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator run on a kernel with Isolator that is a directory."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from clitest import CLI
from runtest import DEVICE, OWN, STOCK, Done, Lay, asked, cleared, files, tree


def test_program_is_isolated(kernel: Path, lay: Lay) -> None:
    """The start is armed before the exec; the CPU is allowed meanwhile."""
    root = lay(files())
    before = cleared(root)
    done = Done(kernel, root, "--", "sh", "-c",
                f"echo $$; cat {root}/proc/isolator/cpus; head -1 {root}/{DEVICE}; "
                "sleep 2")  # sleep: twice as long as an answer is waited for
    assert done.code == 0, done.said
    pid, cpus, first = done.out.splitlines()
    assert cpus == "3"
    assert first == f"start {pid} 1 mask 7 flags 3 deadline 0 spin 0 yield 50000 batch 0"
    # It is not asked again: that would interrupt it.
    assert asked(root) == [first]
    assert cleared(root) == before
    isolation = done.document["isolation"]
    assert isolation["at_exec"] and isolation["counted"]
    assert isolation["tasks"] == [{"tid": int(pid), "name": "sh", "cpu": 3, "found": "exec",
                                   "state": "isolated", "error": None, "achieved": 7,
                                   "got": 0x7f}]
    cpu = isolation["cpus"][0]
    assert (cpu["cpu"], cpu["ticks"], cpu["yields"], cpu["planned"]) == (3, 7, 2, 4)
    assert cpu["ticked_by"] == ["entries", "batch"] and cpu["counts"]["queued"] == 9
    assert [(s["comm"], s["sibling"]) for s in cpu["senders"]] == [
        ("worker-1", True), ("insmod", False)]
    assert "isolation: the program, from its first instruction on" in done.said
    assert "ticked by: its own kernel entries, 7 times (the CPU was yielded 2 times)" in done.said
    assert "worker-1 asked for flush_tlb_func (kind call), a thread of the program itself" \
        in done.words


@pytest.mark.parametrize(("arguments", "want"), [
    (["--yield", "100"], "deadline 0 spin 0 yield 100000 batch 0"),
    (["--yield", "1ms"], "deadline 0 spin 0 yield 1000000 batch 0"),
    (["--batch", "20"], "deadline 0 spin 0 yield 50000 batch 20000000"),
    (["--batch", "0.5s"], "deadline 0 spin 0 yield 50000 batch 500000000"),
    (["--deadline", "2s"], "deadline 2000000000 spin 0 yield 50000 batch 0"),
    (["--deadline", "never"], f"deadline {2 ** 64 - 1} spin 0 yield 50000 batch 0"),
    (["--spin", "50"], "deadline 0 spin 50000000 yield 50000 batch 0")])
def test_times(kernel: Path, lay: Lay, arguments: list[str], want: str) -> None:
    """A bare number has the unit that the option names."""
    root = lay(files())
    done = Done(kernel, root, *arguments, "--", "true")
    assert done.code == 0 and asked(root)[0].endswith(want)
    isolation = done.document["isolation"]
    number = isolation["deadline_ns"] if isolation["deadline_ns"] != "never" else 2 ** 64 - 1
    assert want == (f"deadline {number} spin {isolation['spin_ns']} yield {isolation['yield_ns']} "
                    f"batch {isolation['batch_ns']}")


@pytest.mark.parametrize(("arguments", "flags"), [([], 3), (["--quarantine"], 7)])
def test_quarantine(kernel: Path, lay: Lay, arguments: list[str], flags: int) -> None:
    root = lay(files())
    done = Done(kernel, root, *arguments, "--", "true")
    assert done.code == 0 and f" flags {flags} " in asked(root)[0]
    assert done.document["isolation"]["quarantine"] == bool(arguments)


@pytest.mark.parametrize("option", ["--yield", "--batch", "--deadline", "--spin"])
@pytest.mark.parametrize("value", ["", "0", "x", "1d", "-1", "1e3", "ms", "1e300s", "20m"])
def test_wrong_times(kernel: Path, lay: Lay, option: str, value: str) -> None:
    """Said, with an example, before anything is looked at."""
    root = lay(files())
    before = tree(root)
    done = Done(kernel, root, option, value, "--", "true")
    assert done.code == OWN and "is not a time" in done.said and tree(root) == before


@pytest.mark.parametrize("arguments", [["--no-isolation"], ["--no-settings"]])
def test_without_isolation(kernel: Path, lay: Lay, arguments: list[str]) -> None:
    """The kernel is asked for nothing, and no CPU is allowed."""
    root = lay(files())
    done = Done(kernel, root, *arguments, "--", "cat", root / "proc/isolator/cpus")
    assert done.code == 0 and asked(root) == [] and done.out == "\n"
    assert done.document["isolation"] is None and done.document["isolator"]
    assert "isolation: none" in done.said


def test_stock_kernel(kernel: Path, lay: Lay) -> None:
    """Times for isolation are said to do nothing."""
    done = Done(kernel, lay(STOCK), "--batch", "20", "--", "true")
    assert done.code == 0 and done.document["isolation"] is None
    assert "has no Isolator" in done.said


@pytest.mark.parametrize(("error", "fix"), [
    (errno.EPERM, "CAP_SYS_NICE"), (errno.EALREADY, "isolator detach"),
    (errno.ERANGE, "/proc/isolator/limits"), (errno.EOPNOTSUPP, "dmesg"),
    (errno.ENOTTY, "belongs to the kernel"), (errno.E2BIG, "belongs to the kernel"),
    (errno.EINVAL, "isolated already")])
def test_refused_before_the_program(kernel: Path, lay: Lay, error: int, fix: str) -> None:
    """It does not run, unless told to; all goes back."""
    root = lay(files())
    before = cleared(root)
    variables = {**os.environ, "ARM": str(error)}
    done = Done(kernel, root, "--", "echo", "ran", env=variables)
    assert done.code == OWN and not done.out and not done.document
    assert os.strerror(error) in done.words and fix in done.words and cleared(root) == before
    done = Done(kernel, root, "--best-effort", "--", "echo", "ran", env=variables)
    assert done.code == 0 and done.out == "ran\n" and fix in done.words
    assert done.document["isolation"]["tasks"][0]["state"] == "refused"
    assert done.document["isolation"]["cpus"][0]["state"] == "never"


def until_asked(root: Path, what: str, times: int = 1) -> str:
    """In a shell: until the kernel was asked for that so often."""
    return f"until [ $(grep -c '^{what} ' {root}/{DEVICE}) -ge {times} ]; do sleep 0.05; done"


REFUSALS = [
    (errno.ENOTUNIQ, "taskset"), (errno.EACCES, "/proc/isolator/cpus"),
    (errno.EBUSY, "last CPU"), (errno.EALREADY, "another task"), (errno.EAGAIN, "timer"),
    (errno.EINTR, "taken back"), (errno.ECANCELED, "isolator detach")]


def test_refused_by_the_start(kernel: Path, lay: Lay) -> None:
    """A program that is not isolated is ended, unless that is wanted; all goes back."""
    # A second of each is waiting: all at once, on machines of their own.
    with ThreadPoolExecutor(len(REFUSALS)) as pool:
        for one in [pool.submit(_refused, kernel, lay(files(), f"{error}/root"), error, fix)
                    for error, fix in REFUSALS]:
            one.result()


def _refused(kernel: Path, root: Path, error: int, fix: str) -> None:
    before = cleared(root)
    variables = {**os.environ, "START": str(error)}
    done = Done(kernel, root, "--", "sleep", "30", env=variables)
    assert done.code == OWN and os.strerror(error) in done.words and fix in done.words
    assert "the program is ended" in done.words and done.document["signal"] == 9
    assert cleared(root) == before
    # It ends when it was asked again; the answer is taken at its end.
    done = Done(kernel, root, "--best-effort", "--", "sh", "-c",
                f"{until_asked(root, 'start', 4)}; exit 4", env=variables)
    assert done.code == 4 and fix in done.words and cleared(root) == before
    task = done.document["isolation"]["tasks"][0]
    assert (task["state"], task["error"]) == ("refused", os.strerror(error))


def test_program_that_ends_at_once(kernel: Path, lay: Lay) -> None:
    """It was quicker than the answer: no error of anybody's."""
    root = lay(files())
    done = Done(kernel, root, "--", "true", env={**os.environ, "START": str(errno.ESRCH)})
    assert done.code == 0 and "it ended before it began" in done.said


def test_nobody_ticks(kernel: Path, lay: Lay) -> None:
    """The report says so, and what helps where something was due."""
    for missed, words in ((0, "nobody, and nothing"),
                            (2, "nobody: it entered the kernel too rarely; --preload")):
        root = lay(files(missed, ticks=0, planned=0), f"root{missed}")
        done = Done(kernel, root, "--", "true")
        assert f"ticked by: {words}" in done.words
        cpu = done.document["isolation"]["cpus"][0]
        assert cpu["counts"]["missed"] == missed == len(cpu["deliveries"])
        assert all((b["comm"], b["waited_ns"]) == ("worker-1", 1000300000)
                   for b in cpu["deliveries"])
        assert done.words.count(" deadline miss, waited 1 s: worker-1 asked for") == missed


@pytest.mark.parametrize(("ticks", "entries", "planned", "who", "words"), [
    (7, 7, 0, ["entries"], "its own kernel entries, 7 times (the CPU was yielded 2 times)"),
    (7, 1, 4, ["program", "entries", "batch"], "its own calls of isolator_tick(3), 6 times; "
     "its own kernel entries, 1 time (the CPU was yielded 2 times); the batches, 4 planned"),
    (7, 0, 0, ["program"],
     "its own calls of isolator_tick(3), 7 times (the CPU was yielded 2 times)"),
    (6, 7, 0, ["entries"], "its own kernel entries, 7 times (the CPU was yielded 2 times)"),
    (7, None, 0, ["entries"], "its own kernel entries, 7 times (the CPU was yielded 2 times)"),
    (0, 0, 0, [], "nobody, and nothing that waited reached its deadline")])
def test_who_ticks(kernel: Path, lay: Lay, ticks: int, entries: int | None, planned: int,
                   who: list[str], words: str) -> None:
    """What the program asked for is told from what it did for something else."""
    done = Done(kernel, lay(files(0, ticks, planned, entries)), "--", "true")
    cpu = done.document["isolation"]["cpus"][0]
    assert (cpu["ticks"], cpu["entries"], cpu["ticked_by"]) == (ticks, entries, who)
    assert f" ticked by: {words}" in done.words


THREAD = """\
thread() {{
    mkdir -p {root}/proc/$$/task/$1 {root}/proc/$1
    echo "$2" > {root}/proc/$1/comm
    printf '%s (%s) S 0 0 0 0 -1 0 0 0 0 0 0 1 0 0 20 0 1 0 %s 0 0\\n' $1 "$2" $4 > \
{root}/proc/$1/stat
    printf 'Name:\\t%s\\nCpus_allowed_list:\\t%s\\nMems_allowed:\\t1\\n' "$2" $3 > \
{root}/proc/$1/status
}}
gone() {{ rm -r {root}/proc/$$/task/$1 {root}/proc/$1; }}
"""


@pytest.fixture
def look(looked: Path, lay: Lay, tmp_path: Path) -> str:
    """In a shell: until the command has looked at all threads."""
    return f"{looked} {tmp_path}/root/proc/$$/task"


def run_threads(kernel: Path, root: Path, script: str, *arguments: str, **how: Any) -> Done:
    """A program with threads, which are files."""
    return Done(kernel, root, "--rest", "1-2", *arguments, "--", "sh", "-c",
                THREAD.format(root=root) + script, **how)


def test_thread_by_name(kernel: Path, lay: Lay, look: str) -> None:
    """It is pinned when it appears, and isolated; others are left alone."""
    root = lay(files())
    done = run_threads(kernel, root, f"thread 9001 other 1-2 5; {look}; "
                       f"thread 9002 control 1-2 6; {until_asked(root, 'start 9002')}; {look}; "
                       f"cat {root}/proc/9002/status {root}/proc/9001/status",
                       "--thread", "control=3")
    assert done.code == 0, done.said
    assert [line.split()[1] for line in asked(root)] == ["9002"]
    assert asked(root)[0].split()[2] == "2"  # at once, and waited for
    assert [line for line in done.out.splitlines() if "allowed" in line] == [
        "Cpus_allowed_list:\t3", "Mems_allowed:\t1", "Cpus_allowed_list:\t1-2", "Mems_allowed:\t1"]
    isolation = done.document["isolation"]
    assert not isolation["at_exec"]
    assert [(t["tid"], t["name"], t["found"], t["state"]) for t in isolation["tasks"]] == [
        (9002, "control", "name", "isolated")]
    assert "isolation of CPU 3: thread 9002 (control)" in done.said


def test_thread_that_pins_itself(kernel: Path, lay: Lay, look: str) -> None:
    """Only one that names such a CPU alone; the next one when that is gone."""
    root = lay(files())
    done = run_threads(kernel, root, "thread 9001 a 1-3 5; thread 9002 b 3 6; "
                       f"{until_asked(root, 'start 9002')}; {look}; thread 9003 c 3 7; "
                       f"{look}; grep -c ^start {root}/{DEVICE}; gone 9002; "
                       f"{until_asked(root, 'start 9003')}; {look}; "
                       f"thread 9002 d 2 8; {look}")
    assert done.code == 0 and done.out == "1\n", done.said  # as long as the first one has it
    assert [line.split()[1] for line in asked(root)] == ["9002", "9003"]
    assert [(t["name"], t["found"], t["state"]) for t in done.document["isolation"]["tasks"]] == [
        ("b", "affinity", "gone"), ("c", "affinity", "isolated")]


def test_thread_that_is_refused(kernel: Path, lay: Lay, look: str) -> None:
    """Said once, and the program goes on."""
    root = lay(files())
    done = run_threads(kernel, root, f"thread 9002 b 3 6; {until_asked(root, 'start 9002')}; "
                       f"{look}; {look}; exit 3",
                       env={**os.environ, "START": str(errno.ENOTUNIQ)})
    assert done.code == 3 and done.words.count("was refused: ") == 1
    assert len(asked(root)) == 1 and "taskset" in done.said


def test_refusals_without_end(stubborn: Path, lay: Lay, look: str) -> None:
    """However many threads a program makes: some are reported and kept, the rest is counted."""
    many = ("for i in $(seq {0} {1}); do thread $i control 1-2 $i; done; {look}; "
            "for i in $(seq {0} {1}); do gone $i; done; ")
    done = run_threads(stubborn, lay(files()), many.format(9001, 9060, look=look) +
                       many.format(9101, 9160, look=look), "--thread", "control=3",
                       env={**os.environ, "DENIED": "status"})
    assert done.code == 0 and done.words.count("cannot be pinned to CPU 3: ") == 20, done.said
    assert "100 more threads were refused" in done.words
    isolation = done.document["isolation"]
    assert {t["state"] for t in isolation["tasks"]} == {"refused"}
    assert (len(isolation["tasks"]), isolation["tasks_dropped"]) == (100, 20)
    assert isolation["tasks"][-1]["tid"] > 9100


def test_no_thread(kernel: Path, lay: Lay, look: str) -> None:
    """That none was found is said."""
    root = lay(files())
    done = run_threads(kernel, root, f"mkdir -p {root}/proc/$$/task; {look}", "--thread",
                       "control=3")
    assert done.code == 0 and "no thread was named for it" in done.words
    assert done.document["isolation"]["cpus"][0]["state"] == "never"


def test_thread_on_a_stock_kernel(kernel: Path, lay: Lay) -> None:
    """It is pinned at least."""
    root = lay(STOCK)
    status = f"{root}/proc/9002/status"
    done = run_threads(kernel, root, "thread 9002 control 1-2 6; "
                       f"until grep -q 'list:.3$' {status}; do sleep 0.05; done; cat {status}",
                       "--thread", "control=3")
    assert "Cpus_allowed_list:\t3" in done.out


def test_preload(kernel: Path, lay: Lay, tmp_path: Path) -> None:
    """The program loads it, and nothing of that reaches what it executes; or that is said."""
    library = tmp_path / "libisolator-preload.so"
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{CLI.parent}/kernel/include/uapi",
                    f"-I{CLI.parent}/lib/include", "-o", library,
                    CLI.parent / "lib/preload/preload.c", CLI / "tests/fakes/device_file.c"],
                   check=True)
    # Isolated, and nothing due: magic, version, due, state, end, CPU.
    page = struct.pack("<6I", 0x4953304c, 1, 0, 1, 0, 3).ljust(4096, b"\0")
    script = ["--", "sh", "-c", "echo $LD_PRELOAD; echo ${ISOLATOR_PRELOAD-none}; "
              "ls -l /proc/self/fd | grep -c 'dev/isolator\\|memfd'; :"]
    root = lay({**files(), "/dev/isolator": page})
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = Done(kernel, root, "--preload", library, *script, env=plain)
    assert done.out == f"{library}\nnone\n0\n", done.said
    assert done.document["isolation"]["preload"] == {"loaded": True, "ticks": 0}
    assert "was not loaded" not in done.words
    done = Done(kernel, root, "--preload", "libno-such.so", *script,
                env={**plain, "LD_PRELOAD": "libother.so"})
    assert done.out.startswith("libno-such.so:libother.so\n")
    assert done.document["isolation"]["preload"] == {"loaded": False, "ticks": 0}
    assert "the preload library was not loaded" in done.words


def test_preload_is_kept_whole(kernel: Path, lay: Lay) -> None:
    """The program cannot cut off the memory that the command counts in."""
    root = lay(files())
    before = cleared(root)
    program = ("import os\nfd = int(os.environ['ISOLATOR_PRELOAD'].split()[1])\n"
               "for size in 0, 8192:\n"
               "    try: os.truncate(fd, size)\n"
               "    except OSError as error: print(error.errno)\n"
               "print(os.fstat(fd).st_size)")
    done = Done(kernel, root, "--preload", "libno-such.so", "--", "/usr/bin/python3", "-c", program)
    assert (done.code, done.out) == (0, f"{errno.EPERM}\n{errno.EPERM}\n4096\n"), done.said
    assert cleared(root) == before


@pytest.mark.parametrize(("arguments", "why"), [
    (["--thread", "x", "--rest", "1"], "is not NAME=CPU"),
    (["--thread", "=3", "--rest", "1"], "is not NAME=CPU"),
    (["--thread", "x=2-3", "--rest", "1"], "one CPU"),
    (["--thread", "x=y", "--rest", "1"], "is not NAME=CPU"),
    (["--thread", "sixteen-bytes-16=3", "--rest", "1"], "1 to 15 bytes"),
    (["--thread", "x=2", "--rest", "1"], "not in --cpu"),
    (["--thread", "x=3", "--thread", "y=3", "--rest", "1"], "another thread's already"),
    (["--thread", "x=3"], "--thread needs --rest"),
    (["--batch", "20", "--no-isolation"], "leave --no-isolation out"),
    (["--quarantine", "--no-isolation"], "leave --no-isolation out"),
    (["--preload", "/nowhere/x"], "--preload /nowhere/x: No such file")])
def test_wrong_arguments(kernel: Path, lay: Lay, arguments: list[str], why: str) -> None:
    """Said, with what is right, and nothing is changed."""
    root = lay(files())
    before = tree(root)
    done = subprocess.run([kernel, "run", "--root", root, "-c", "3", *arguments, "true"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == OWN and why in done.stderr and tree(root) == before


def test_not_the_device(isolator: Path, lay: Lay) -> None:
    """Whatever is found there is asked, and not believed."""
    done = Done(isolator, lay(files()), "--", "true")
    assert done.code == OWN and "/dev/isolator is not its device" in done.said
