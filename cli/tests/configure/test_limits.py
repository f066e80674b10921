# SPDX-License-Identifier: GPL-2.0-or-later
"""isolator configure, and what is said where the kernel has no Isolator."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from clitest import CLI, ROOT, open_to_all, valid

LIMITS = "deadline_ns 1000000000\nspin_ns 100000000\nperf refuse\nmsr refuse\n"
STATUS = "version 1\nallowed {allowed}\nisolated {isolated}\n"
TOTAL = ("deferred 0 excluded 0 queued 0 missed 0 immediate 0 refused 0 planned 0 "
         "uncounted_callbacks 0")


def _machine(root: Path, text: str, allowed: str = "", isolated: str = "",
             kernel: bool = True) -> Path:
    """A machine with four CPUs, three of them online, and this file."""
    cpus, proc = root / "sys/devices/system/cpu", root / "proc/isolator"
    for directory in (root / "etc", cpus, proc):
        directory.mkdir(parents=True)
    (root / "etc/isolator.conf").write_text(text)
    (cpus / "possible").write_text("0-3\n")
    (cpus / "online").write_text("0-2\n")
    if kernel:
        (proc / "limits").write_text(LIMITS)
        (proc / "cpus").write_text(f"{allowed}\n")
        (proc / "status").write_text(STATUS.format(allowed=allowed, isolated=isolated) + "".join(
            f"cpu {cpu} isolated mask 0x7 got 0x7f depth 1 deadline_ns 1000000000 spin_ns 100000000"
            " yield_ns 500000 batch_ns 0 auto_tick 1 owner 1 user 1 started_ns 1\n"
            for cpu in isolated))
        (proc / "stats").write_text("".join(f"cpu {cpu} total {TOTAL}\n" for cpu in isolated))
        (proc / "senders").write_text("")
    return root


class Done:
    """What the command said of @root."""

    def __init__(self, isolator: Path, root: Path, *arguments: str,
                 **environment: str) -> None:
        self.run = subprocess.run([isolator, "configure", "--root", root, *arguments],
                                  capture_output=True, text=True, check=False,
                                  env={**os.environ, **environment})
        self.code, self.out, self.said = self.run.returncode, self.run.stdout, self.run.stderr

    def now(self, root: Path) -> list[str]:
        """What the kernel has."""
        return [(root / "proc/isolator" / name).read_text() for name in ("limits", "cpus")]


def test_applied(rules: Path, tmp_path: Path) -> None:
    """The kernel gets it, and it is read back."""
    root = _machine(tmp_path / "root", "# mine\n\n cpus=2-3 # two\ndeadline = 10 s\nmsr = queue\n")
    done = Done(rules, root, "--json")
    assert done.code == 0 and not done.said
    document = valid("configure", done.out)
    assert document["isolator"] and document["mode"] == "apply"
    assert [[s[k] for k in ("name", "line", "wanted", "before", "now")]
            for s in document["settings"]] == [
        ["deadline", 4, "10000000000", "1000000000", "10000000000"],
        ["spin", None, "100000000", "100000000", "100000000"],
        ["perf", None, "refuse", "refuse", "refuse"],
        ["msr", 5, "queue", "refuse", "queue"],
        ["cpus", 3, "2-3", "none", "2-3"]]
    assert done.now(root) == [
        "deadline_ns 10000000000\nspin_ns 100000000\nperf refuse\nmsr queue\n", "2-3\n"]
    # Once more: nothing to do, and the kernel agrees.
    done = Done(rules, root, "--show")
    assert done.code == 0 and "cpus      2-3       line 3\n" in done.out
    done = Done(rules, root, "--clear")
    assert done.code == 0 and done.now(root) == [LIMITS, "\n"]
    done = Done(rules, root, "--show")
    assert done.code == 2 and "cpus      2-3       line 3; the kernel has none\n" in done.out


def test_manual_sample(rules: Path, tmp_path: Path) -> None:
    """The page shows what is really printed."""
    root = _machine(tmp_path / "root", "# Two.\n\ncpus = 2-3\ndeadline = 10s\n")
    page = (CLI / "man/isolator-configure.1").read_text().replace("\\-", "-")
    sample = re.search(r"^# isolator configure\n(.*?)\.EE", page, re.MULTILINE | re.DOTALL)
    assert sample and Done(rules, root).out == sample[1]


def test_delivered_file(isolator: Path, tmp_path: Path) -> None:
    """What the package brings is right, allows nobody anything, and shows the kernel's values."""
    text = (CLI.parent / "packaging/isolator.conf").read_text()
    root = _machine(tmp_path / "root", text)
    assert Done(isolator, root, "--show").code == 0
    # With each comment's line in force too.
    told = re.sub(r"^#([a-z-]+ = )", r"\1", text, flags=re.MULTILINE)
    assert told.count("\n") == text.count("\n") and told != text
    done = Done(isolator, _machine(tmp_path / "told", told), "--show", "--json")
    assert done.code == 0, done.said
    assert all(s["line"] for s in valid("configure", done.out)["settings"])


@pytest.mark.parametrize(("text", "line", "words"), [
    ("cpus\n", 1, 'is not a line "name = value"'),
    ("\n\ncpu = 1\n", 3, "the names are cpus, max-cpus"),
    ("cpus =\n", 1, "or none"),
    ("cpus = 1-\n", 1, "a list of CPUs such as 2-3"),
    ("cpus = 4\n", 1, "it has 0-3"),
    ("cpus = 0-3\n", 1, "but 1 must stay"),
    ("housekeeping = 3\ncpus = 1\n", 2, "leaves 2 of the online CPUs 0-2 for everything else, "
     "but 3 must stay (housekeeping)"),
    ("max-cpus = 1\ncpus = 1-2\n", 2, "has 2 CPUs, and max-cpus in line 1 is 1"),
    ("max-cpus = 0\n", 1, "from 1 on"),
    ("housekeeping = -1\n", 1, "from 1 on"),
    ("deadline = 10\n", 1, "a time with a unit from 1ms to 1h"),
    ("deadline = 2h\n", 1, "a time with a unit from 1ms to 1h"),
    ("deadline = nan s\n", 1, "a time with a unit from 1ms to 1h"),
    ("spin = 999us\n", 1, "a time with a unit from 1ms to 1s"),
    ("spin = 2s\n", 1, "a time with a unit from 1ms to 1s"),
    ("perf = yes\n", 1, "refuse or queue"),
    ("perf = queue\nmsr = queue\nperf = queue\n", 3, "is in line 1 already"),
])
def test_wrong_line(rules: Path, tmp_path: Path, text: str, line: int, words: str) -> None:
    """Which line, what it may be; the kernel gets nothing."""
    root = _machine(tmp_path / "root", text)
    for arguments in ([], ["--check"], ["--show"]):
        done = Done(rules, root, *arguments)
        assert done.code == 1 and not done.out
        assert f"/etc/isolator.conf:{line}: " in done.said and words in " ".join(done.said.split())
        assert done.now(root) == [LIMITS, "\n"]


def test_standard_input(isolator: Path, tmp_path: Path) -> None:
    """--file - reads it, and names no file that is there."""
    root = _machine(tmp_path / "root", "wrong\n")
    for text, code in (("cpus = 2\n", 0), ("cpus\n", 1)):
        done = subprocess.run([isolator, "configure", "--check", "--file", "-", "--root", root],
                              input=text, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert ("cpus      2" in done.stdout) == (not code)
        assert ("-:1: " in done.stderr) == bool(code)


def test_failure_as_json(rules: Path, tmp_path: Path) -> None:
    """A failure is a document, too, with what stderr says."""
    root = _machine(tmp_path / "root", "a = 1\ncpus = x\n")
    done = Done(rules, root, "--json")
    document = valid("configure", done.out)
    assert done.code == 1 and done.out.count("\n") == 1
    assert [f"isolator configure: {line}" for line in document["error"].split("\n")] == (
        done.said.splitlines())
    assert set(document) == {"schema", "version", "time", "error"}


def test_very_many_failures_as_json(rules: Path, tmp_path: Path) -> None:
    """The document has the first hundred, and says that there are more."""
    done = Done(rules, _machine(tmp_path / "root", "a = 1\n" * 150), "--json")
    lines = valid("configure", done.out)["error"].split("\n")
    assert len(done.said.splitlines()) == 150 and len(lines) == 101
    assert "conf:100:" in lines[99] and "standard error has all of it" in lines[100]


def test_all_wrong_lines(rules: Path, tmp_path: Path) -> None:
    """All are told at once."""
    done = Done(rules, _machine(tmp_path / "root", "a = 1\ncpus = x\nspin = 1\n"))
    assert re.findall(r"conf:(\d):", done.said) == ["1", "2", "3"]


@pytest.mark.parametrize("text", [None, b"cpus = 1\0\n"])
def test_no_file(rules: Path, tmp_path: Path, text: bytes | None) -> None:
    """None, or no text."""
    root = _machine(tmp_path / "root", "")
    if text:
        (root / "etc/isolator.conf").write_bytes(text)
    else:
        (root / "etc/isolator.conf").unlink()
    done = Done(rules, root)
    assert done.code == 1 and "/etc/isolator.conf: " in done.said
    assert done.now(root) == [LIMITS, "\n"]


@pytest.mark.parametrize("variable", ["REFUSE", "FORGET"])
@pytest.mark.parametrize("rule", ["deadline", "msr", "cpus"])
def test_kernel_does_not_take_it(rules: Path, tmp_path: Path, variable: str, rule: str) -> None:
    """What was given before goes back."""
    root = _machine(tmp_path / "root", "cpus = 1\ndeadline = 9 s\nspin = 1 ms\nmsr = queue\n", "2")
    done = Done(rules, root, **{variable: rule})
    assert done.code == 1 and f"{rule}: the kernel" in done.said and not done.out
    assert done.now(root) == [LIMITS, "2\n"]


def test_isolated(rules: Path, tmp_path: Path) -> None:
    """A CPU that is isolated stays allowed, unless told otherwise."""
    root = _machine(tmp_path / "root", "cpus = 1\n", "1-2", "2")
    done = Done(rules, root)
    assert done.code == 1 and "the isolated CPUs 2: end" in done.said and "--force" in done.said
    assert done.now(root) == [LIMITS, "1-2\n"]
    done = Done(rules, root, "--force")
    assert done.code == 0 and done.now(root) == [LIMITS, "1\n"]


@pytest.mark.skipif(not ROOT, reason="only root can become nobody")
def test_unprivileged(isolator: Path, tmp_path: Path) -> None:
    """Who may not write is told what helps."""
    root = _machine(tmp_path / "root", "cpus = 1\n")
    open_to_all(tmp_path)
    done = subprocess.run([isolator, "configure", "--root", root], capture_output=True, text=True,
                          check=False, user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1 and "nothing was changed: run it as root" in done.stderr


def test_one_mode(isolator: Path) -> None:
    """They exclude each other."""
    done = subprocess.run([isolator, "configure", "--check", "--show"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and "at most one of them" in done.stderr


MENU = """set default="0"
menuentry 'Debian GNU/Linux' --class debian {
	linux	/boot/vmlinuz-6.12.95-isolator root=/dev/vda1
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'x' {
	menuentry 'Debian GNU/Linux, with Linux 6.12.95-isolator' --class debian {
	}
	menuentry 'Debian GNU/Linux, with Linux 6.12.95-isolator (recovery mode)' {
	}
	menuentry 'Debian GNU/Linux, with Linux 6.12.9-isolator' --class debian {
	}
}
menuentry 'UEFI Firmware Settings' {
}
"""


def _install(root: Path, version: str, text: str, image: bool = True) -> None:
    (root / "boot").mkdir(exist_ok=True)
    (root / f"boot/config-{version}").write_text(f"CONFIG_X86=y\n{text}\nCONFIG_Z=y\n")
    if image:
        (root / f"boot/vmlinuz-{version}").write_text("")


@pytest.mark.parametrize(("command", "code"), [
    (["configure"], 77), (["configure", "--show"], 77), (["configure", "--check"], 0),
    (["attach", "1", "-c", "1"], 1),
    (["run", "-v", "-c", "1", "--best-effort", "--", "true"], None)])
def test_stock_kernel(isolator: Path, tmp_path: Path, command: list[str], code: int | None) -> None:
    """It is said at once, with an installed kernel that has Isolator and how to boot it."""
    root = _machine(tmp_path / "root", "cpus = 1\n", kernel=False)
    (root / "proc/1").mkdir()
    (root / "proc/1/stat").write_text(f"1 (init) S{' 0' * 49}\n")
    (root / "proc/1/status").write_text("Name:\tinit\nTgid:\t1\nCpus_allowed_list:\t0-3\n")

    def said() -> str:
        done = subprocess.run([isolator, command[0], "--root", root, *command[1:]],
                              capture_output=True, text=True, check=False)
        assert code is None or done.returncode == code, done.stderr
        return done.stderr

    def words() -> str:
        return " ".join(said().split())

    running = os.uname().release
    if command[1:] == ["--check"]:
        assert said() == ""  # it needs no kernel
        return
    none = f"this kernel has no Isolator ({running}), and neither has any other in /boot"
    assert none in words()
    _install(root, "6.1-cloud", "# CONFIG_ISOLATOR is not set")
    _install(root, "6.13-gone", "CONFIG_ISOLATOR=y", image=False)
    assert none in words()
    _install(root, "6.12.9-isolator", "CONFIG_ISOLATOR=y")
    assert "6.12.9-isolator has, which is installed. To use it, reboot and choose it" in words()
    _install(root, "6.12.95-isolator", "CONFIG_ISOLATOR=y")
    (root / "boot/grub").mkdir()
    (root / "boot/grub/grub.cfg").write_text(MENU)
    assert "6.12.95-isolator has, which is installed. To boot it once, as root:" in words()
    # A line of its own, that can be copied.
    assert ("  grub-reboot 'Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux "
            "6.12.95-isolator' && reboot\n") in said()
    # What steers a terminal is no title's and no version's.
    _install(root, "6.99\033[2J\xe2\x9b", "CONFIG_ISOLATOR=y")
    (root / "boot/grub/grub.cfg").write_text(
        MENU.replace("Advanced", "\033]0;owned\a\x9b2JAdvanced"))
    assert "6.12.95-isolator has, which is installed. To use it, reboot and choose it" in words()
    assert not {*said()} & {"\033", "\a", "\x9b"}


def test_units(tmp_path: Path) -> None:
    """The service takes for no failure what the command says of a stock kernel."""
    unit: dict[str, Any] = dict(
        line.split("=", 1) for line in
        (CLI.parent / "packaging/debian/isolator.service").read_text().splitlines() if "=" in line)
    assert unit["SuccessExitStatus"] == "77"
    for name in ("ExecStart", "ExecReload", "ExecStop"):
        assert unit[name].startswith("/usr/bin/isolator configure")
