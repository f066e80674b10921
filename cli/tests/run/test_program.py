# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator run: the program, and the report."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from clitest import PATIENCE_S, ROOT, valid
from runtest import CGROUP, GOVERNOR, OWN, STOCK, Done, Lay, command, running, tree


@pytest.mark.parametrize(("script", "code", "signalled"), [
    ("exit 0", 0, None), ("exit 1", 1, None), ("exit 77", 77, None), ("exit 255", 255, None),
    ("kill -TERM $$", 143, 15), ("kill -KILL $$", 137, 9), ("kill -SEGV $$", 139, 11)])
def test_exit_status(isolator: Path, lay: Lay, script: str, code: int,
                     signalled: int | None) -> None:
    """The program's own, or 128 and its signal; its output is its own."""
    root = lay(STOCK)
    before = tree(root)
    done = Done(isolator, root, "--", "sh", "-c", f"echo out; echo err >&2; {script}")
    assert (done.code, done.document["status"], done.document["signal"]) == (code, code, signalled)
    assert done.out == "out\n" and "\nerr\n" in done.said
    assert tree(root) == before


@pytest.mark.parametrize(("program", "code", "why"), [
    ("/nowhere/at/all", 127, "No such file"), ("/etc/passwd", 126, "Permission denied"),
    ("no-such-program", 127, "No such file"), ("/etc", 126, "Permission denied")])
def test_program_that_cannot_run(isolator: Path, lay: Lay, program: str, code: int,
                                 why: str) -> None:
    """As a shell says it, before anything is changed."""
    root = lay(STOCK)
    before = tree(root)
    done = Done(isolator, root, "--", program)
    assert done.code == code and f"cannot run {program}: {why}" in done.said
    assert "settings" not in done.said and tree(root) == before and not done.document


def test_program_that_goes_meanwhile(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """What only its start shows ends the same way; all goes back."""
    root, program = lay(STOCK), tmp_path / "program"
    before = tree(root)
    program.write_text("#!/nowhere/interpreter\n")
    program.chmod(0o755)
    done = Done(isolator, root, "--", program)
    assert done.code == 127 and f"cannot run {program}: No such file" in done.words
    assert "settings" in done.said and tree(root) == before and not done.document


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1"])
def test_signal(isolator: Path, lay: Lay, name: str) -> None:
    """It is passed on, and then all goes back."""
    root = lay(STOCK)
    before = tree(root)
    number = signal.Signals[f"SIG{name}"]
    with running(isolator, root) as process:
        assert tree(root) != before
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 128 + number
        assert process.stderr and f"ended by signal {number:d}" in process.stderr.read()
    assert tree(root) == before and not (root / "run/isolator").exists()


def test_signal_that_the_program_minds(isolator: Path, lay: Lay) -> None:
    """It ends when it likes; what it makes of the signal is its own."""
    root = lay(STOCK)
    before = tree(root)
    process = subprocess.Popen(
        command(isolator, root, "--", "sh", "-c",
                 "trap 'echo caught; exit 5' TERM; echo began; while :; do sleep 0.05; done"),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout and process.stdout.readline() == "began\n"
    process.terminate()
    assert process.wait(PATIENCE_S) == 5 and process.stdout.read() == "caught\n"
    assert tree(root) == before


def test_ignored_signals_stay_ignored(isolator: Path, lay: Lay) -> None:
    """As nohup(1) wants it: not passed on either, to a program that would mind."""
    # Of two the one that is not ignored is passed on, and comes after the other would have.
    program = ("import os, signal\n"
               "signal.signal(signal.SIGHUP, lambda *_: print('passed on'))\n"
               "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n"
               "os.kill(os.getppid(), signal.SIGHUP); os.kill(os.getppid(), signal.SIGTERM)\n"
               "signal.sigwait({signal.SIGTERM}); print('alive')")
    done = subprocess.run(
        ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh",
         *command(isolator, lay(STOCK), "--", "python3", "-c", program)],
        capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, "alive\n")


def test_report_of_interrupts(isolator: Path, lay: Lay) -> None:
    """What came to the CPU meanwhile, by class; nothing of other CPUs, or of before."""
    root = lay(STOCK)
    later = str(STOCK["/proc/interrupts"])
    for old, new in ((" 5  IR", "12  IR"), ("100   Local", "130   Local"),
                     (":          9 ", ":        999 ")):
        assert old in later
        later = later.replace(old, new)
    soft = str(STOCK["/proc/softirqs"]).replace(" 4\n         RCU", "10\n         RCU")
    done = Done(isolator, root, "--", "sh", "-c",
                f'printf %s "$1" > {root}/proc/interrupts; printf %s "$2" > {root}/proc/softirqs',
                "sh", later, soft)
    assert [(i["label"], i["class"], i["count"]) for i in done.document["interrupts"]] == [
        ("24", "device", 7), ("LOC", "timer", 30)]
    assert [(i["label"], i["count"]) for i in done.document["softirqs"]] == [("TIMER", 6)]
    # A rate only of a run of 0.1 s and more.
    assert re.search(r"^  interrupts: 37(, \d+\.\d a second)?$", done.said, re.M)
    assert "          30  timer         LOC, Local timer interrupts\n" in done.said
    assert "           7  device        24, IR-PCI-MSIX nvme0q0\n" in done.said
    assert "           6  TIMER\n" in done.said and done.document["switches"]["voluntary"] >= 0


def test_what_remains(isolator: Path, lay: Lay) -> None:
    """What no setting changes is told with what would; what was changed is not."""
    root = lay({**STOCK, "/sys/class/dmi/id/sys_vendor": "QEMU\n", "/proc/self/limits":
                "Limit  Soft Limit  Hard Limit  Units\nMax realtime priority  0  0\n"})
    done = Done(isolator, root, "--", "true")
    remains = {f["id"] for f in done.document["remains"]}
    assert {"boot.nohz-full", "boot.isolcpus", "kernel.isolator", "boot.rcu-nocbs"} == remains
    assert "boot.nohz-full: the tick interrupts the CPU" in done.said
    assert "fix: boot with nohz_full=3" in done.said


def test_malloc(isolator: Path, lay: Lay) -> None:
    """It keeps its memory, unless the user has other plans."""
    root = lay(STOCK)
    echo = ["--", "sh", "-c", 'echo "$MALLOC_TRIM_THRESHOLD_ $MALLOC_MMAP_MAX_"']
    plain = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    assert Done(isolator, root, *echo, env=plain).out == "-1 0\n"
    assert Done(isolator, root, "--keep-malloc", *echo, env=plain).out == " \n"
    assert Done(isolator, root, *echo, env={**plain, "MALLOC_MMAP_MAX_": "7"}).out == "-1 7\n"


@pytest.mark.skipif(not ROOT, reason="only root can become another user")
def test_user(isolator: Path, lay: Lay) -> None:
    """The program runs as who called sudo, or as --user says, and cannot go back."""
    root = lay(STOCK)
    show = ["--", "sh", "-c", "id -u; id -g; id -G; echo $HOME $USER; "
            "grep ^CapEff /proc/self/status"]
    nobody = "65534\n65534\n65534\n/nonexistent nobody\nCapEff:\t0000000000000000\n"
    assert Done(isolator, root, "--user", "nobody", *show, extra_groups=[0, 4]).out == nobody
    assert Done(isolator, root, "--user", "65534", *show).out == nobody
    sudo = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"}
    done = Done(isolator, root, *show, env=sudo)
    assert done.out == nobody and done.document["user"] == "nobody"
    sudo["SUDO_UID"] = "54321"
    assert Done(isolator, root, *show, env=sudo).out.startswith("54321\n65534\n65534\n")
    del sudo["SUDO_GID"]
    assert "give --user" in Done(isolator, root, *show, env=sudo).said
    assert Done(isolator, root, "--user", "root", *show, env=sudo).out.startswith("0\n")
    done = Done(isolator, root, "--user", "no-such-user", "--", "true")
    assert done.code == OWN and 'no user "no-such-user"' in done.said


def test_rest(isolator: Path, lay: Lay) -> None:
    """More CPUs for the program: they are in its partition, but not made quiet."""
    root = lay(STOCK)
    done = Done(isolator, root, "--rest", "1-2", "--", "sh", "-c",
                f"cat {root}{CGROUP}/isolator.*/cpuset.cpus; cat {root}{GOVERNOR.format(2)}")
    assert done.out == "1-3\npowersave\n" and done.document["rest"] == [1, 2]


def test_isolator_is_found(isolator: Path, lay: Lay) -> None:
    """A kernel that has it does more, unless it shall not."""
    assert not Done(isolator, lay(STOCK), "--", "true").document["isolator"]
    done = Done(isolator, lay({**STOCK, "/dev/isolator": ""}, "other"), "--no-isolation", "--",
                "true")
    assert done.document["isolator"] and "only these settings are applied" in done.words


def test_few_words(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """Five lines of its own at most; all with -v, and in the file of -o."""
    root = lay(STOCK)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([isolator, "run", "--root", root, "-c", "3", *arguments, "--",
                               "echo", "it ran"], capture_output=True, text=True, check=True,
                              timeout=PATIENCE_S)

    few = run()
    lines = few.stderr.splitlines()
    assert few.stdout == "it ran\n" and len(lines) <= 5 and max(map(len, lines)) <= 100
    assert "19 of 19 settings, 2 threads moved, in a partition" in lines[0]
    assert "exit status 0" in lines[1]
    assert "findings of isolator audit -c 3 remain; run -v lists them" in few.stderr
    all_of_it = run("-v").stderr
    for words in ("settings: ", "threads of the kernel: ", "softirqs: ", "what remains:"):
        assert words in all_of_it and words not in few.stderr
    run("-o", str(tmp_path / "report"))
    assert "what remains:" in (tmp_path / "report").read_text()
    both = run("-o", "-", "--json").stdout
    assert both.startswith("it ran\n{") and valid("run", both.removeprefix("it ran\n"))


def test_what_lies_where_json_goes(isolator: Path, lay: Lay, tmp_path: Path) -> None:
    """Said before anything changes if it is no ordinary file; one is replaced by a whole one."""
    root = lay(STOCK)
    before = tree(root)
    victim, link, fifo, other = (tmp_path / name for name in ("victim", "link", "fifo", "other"))
    victim.write_text("precious")
    link.symlink_to(victim)
    os.mkfifo(fifo)

    def run(path: Path, code: int, *program: str) -> str:
        done = subprocess.run([isolator, "run", "--root", root, "-c", "3", "--json", "-o", path,
                               "--", *program], capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S)
        assert done.returncode == code and tree(root) == before
        return done.stdout + done.stderr

    for path in (link, fifo, Path("/dev/full")):
        said = run(path, OWN, "echo", "it ran")
        assert f"{path} is not an ordinary file" in said and "it ran" not in said
    other.hardlink_to(victim)
    run(other, 127, "/nowhere/program")
    assert other.read_text() == "precious"
    (tmp_path / "other.new").symlink_to(victim)
    run(other, 0, "cat", str(other))
    assert victim.read_text() == "precious" and valid("run", other.read_text())
    assert {path.name for path in tmp_path.iterdir()} == {"root", "victim", "link", "fifo", "other"}


@pytest.mark.parametrize(("arguments", "why"), [
    ([], "missing argument PROGRAM"), (["--", "true"], "missing option -c"),
    (["-c", "x", "--", "true"], "is not a list of CPUs"),
    (["-c", "9", "true"], "9 not online"),
    (["-c", "3", "--rest", "3", "true"], "must not name a CPU of --cpu"),
    (["-c", "3", "--rest", "7", "true"], "--rest: 7 not online"),
    (["-c", "0-3", "true"], "no CPU of"),
    (["-c", "3", "--rest", "0-2", "true"], "no CPU of"),
    (["-c", "3", "--priority", "5", "true"], "--priority needs --policy fifo or rr"),
    (["-c", "3", "--policy", "fifo", "--priority", "100", "true"], "from 1 to 99"),
    (["-c", "3", "--policy", "fifo", "--priority", "0", "true"], "at least 1"),
    (["-c", "3", "--policy", "idle", "true"], "is not one of other|fifo|rr"),
    (["-c", "3", "-o", "/nowhere/x", "true"], "-o /nowhere/x: No such file"),
    (["-c", "3", "--json", "true"], "--json needs --output"),
    (["-c", "3", "--user", "no-such-user", "true"], "no user"),
])
def test_wrong_arguments(isolator: Path, lay: Lay, arguments: list[str], why: str) -> None:
    """Said, with what is right, and nothing is changed."""
    root = lay(STOCK)
    before = tree(root)
    done = subprocess.run([isolator, "run", "--root", root, *arguments], capture_output=True,
                          text=True, check=False)
    assert done.returncode == OWN and why in done.stderr
    assert tree(root) == before
