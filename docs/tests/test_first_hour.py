# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command that docs/first-hour.md and the pages of SHOWING show is run, or listed."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from clitest import capture, unpack
from runtest import STOCK
from steps import ROOT

PAGE = ROOT / "docs/first-hour.md"
SHOWING = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs/commands.md")
ANY = "…"  # in a line: any text; a line of it alone: any lines
# Where a subcommand finds a recorded machine.
BY_ROOT = {"audit", "run", "restore", "shield"}
BY_PROC = {"why", "status"}
# What cannot be run here, by the guest test or step that does.
ELSEWHERE = {
    "tools/deb user": "make campaign, step deb-user",
    "make deb-kernel RT=1": "make campaign, step deb-kernel-rt",
    "apt install ./out/deb/*.deb": "tools/deb-test",
    "apt install ./out/deb/kernel/*.deb": "guest test deb",
    "isolator-kernel-default once && reboot": "guest test deb",
    "isolator-kernel-default on": "tools/tests/test_kernel_default.py",
    "isolator-kernel-default off && reboot": "tools/tests/test_kernel_default.py",
    "apt purge '~i~nisolator'": "test_the_purge below, tools/deb-test",
    "echo 3 > /proc/isolator/cpus": "guest test library",
    "taskset -c 3 ./spin": "guest test library",
}
SHOWN_ELSEWHERE = {
    "make deb": "tools/deb-test",
    "tools/deb user && sudo apt install ./out/deb/*.deb": "tools/deb-test",
    "make run": "docs/transcripts.md is its output",
    "make check": "docs/transcripts.md is its output", "make matrix": "make check, step matrix",
    "make hunt": "make check, step hunt", "make scope": "make check, step scope-live",
    "make scope-report": "guest test scope-proof",
    "make deb-kernel RT=1 && sudo apt install ./out/deb/kernel/*.deb": "guest test deb",
    "isolator-kernel-default once && sudo reboot": "guest test deb",
    "cc program.c $(pkg-config --cflags --libs libisolator)": "lib/tests/installed.sh",
    "isolator attach 4711 -c 3": "cli/tests/run/test_attach.py, guest test programs",
    "isolator status --live": "cli/tests/status/test_live.py",
    "taskset -c 3 sha256sum /dev/zero": "guest test shield",
}


@dataclass
class Shown:
    """One command of a page, with what it shows below."""

    machine: str
    command: str
    codes: list[int]
    lines: list[str] = field(default_factory=list)


def shown(text: str) -> list[Shown]:
    """The commands of `console` blocks, each with the machine that a comment names before it."""
    found: list[Shown] = []
    blocks = re.findall(r"(<!-- machine: [^>]*-->\n)?```console\n(.*?)^```$", text,
                        re.MULTILINE | re.DOTALL)
    for comment, block in blocks:
        match = re.match(r"<!-- machine: (\w+)(?:, exit ([\d or]+))? -->", comment)
        assert match, f"no machine is named for: {block}"
        codes = [int(code) for code in re.findall(r"\d+", match[2] or "0")]
        for line in block.splitlines():
            if line.startswith(("$ ", "# ")):
                found.append(Shown(match[1], line[2:], codes))
            else:
                found[-1].lines.append(line)
    return found


def agrees(pattern: list[str], lines: list[str]) -> bool:
    """Are @lines as @pattern, which may have ANY, says?"""
    text = "".join(
        r"(?:.*\n)*?" if line.strip() == ANY else
        ".*".join(re.escape(part) for part in line.split(ANY)) + r"\n" for line in pattern)
    return re.fullmatch(text, "".join(f"{line.rstrip()}\n" for line in lines)) is not None


class Machines:
    """Recorded machines, and this one."""

    def __init__(self, program: Path, directory: Path) -> None:
        self.program, self.directory = program, directory
        self.root = directory / "stock"
        files = {path: text for path, (text, _) in capture("good").items()}
        for path, content in {**files, **STOCK}.items():
            if isinstance(content, str):
                place = self.root / path.lstrip("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(content)
        for fixture in ("busy", "forbidden"):
            unpack(fixture, directory / fixture)
        (directory / "control").symlink_to("/bin/true")
        self.own = directory / "own"
        self.own.mkdir()

    def compile(self, command: str) -> tuple[int, list[str]]:
        """The same where libisolator-dev is installed: what was built here stands for it."""
        subprocess.run([ROOT / "tools/build", "lib/libisolator.so.0.1.0"], check=True)
        line = command.replace("/usr/share/doc/libisolator-dev/", f"{ROOT}/lib/")
        build = ROOT / "build/host"
        done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, cwd=self.own, timeout=120, check=False, env={
                                  **os.environ, "LD_LIBRARY_PATH": str(build / "lib"),
                                  "PKG_CONFIG_PATH": str(build / "meson-uninstalled")})
        return done.returncode, done.stdout.splitlines()

    def run(self, command: str, machine: str) -> tuple[int, list[str]]:
        """The exit code and the output of @command there."""
        words = shlex.split(command)
        assert words[0] == "isolator", command
        here: list[str | Path] = [self.program, words[1]]
        rest = words[2:]
        if machine == "stock":
            assert words[1] in BY_ROOT, command
            # shield has commands of its own, before any option.
            after = 1 if words[1] == "shield" else 0
            here += [*rest[:after], "--root", self.root, *rest[after:]]
        elif machine == "here":
            last = str(max(os.sched_getaffinity(0)))
            here += [last if word == "3" else word for word in rest]
        else:
            assert words[1] in BY_PROC, command
            here += ["--proc", self.directory / machine, *rest]
        if "/dev/zero" in words:
            here = ["timeout", "--signal=INT", "5", *here]  # who reads the page types Ctrl-C
        done = subprocess.run(here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              cwd=self.directory, timeout=120, check=False,
                              env={**os.environ, "NO_COLOR": "1"})
        return done.returncode, done.stdout.splitlines()


def built() -> Path:
    """The command, built now where that was not done yet."""
    subprocess.run([ROOT / "tools/build", "cli/isolator"], check=True)
    return ROOT / "build/host/cli/isolator"


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Machines:
    """They go on from command to command, as the page does."""
    return Machines(built(), tmp_path_factory.mktemp("machines"))


def test_first_hour(machines: Machines) -> None:
    """In the page's order: each command prints what the page shows."""
    commands = shown(PAGE.read_text())
    assert len(commands) > 12
    for one in commands:
        if one.machine == "another":
            assert one.command in ELSEWHERE, f"nobody runs: {one.command}"
            assert not one.lines
            continue
        if one.machine == "library":
            code, lines = machines.compile(one.command)
        else:
            code, lines = machines.run(one.command, one.machine)
        assert code in one.codes, f"{one.command}: exit code {code}\n" + "\n".join(lines)
        assert agrees(one.lines, lines), f"{one.command} prints:\n" + "\n".join(lines)
    assert set(ELSEWHERE) <= {one.command for one in commands}, "a list of what is not shown"


def test_agrees() -> None:
    """The comparison finds another word, a line too many and a line too few."""
    page = ["a … c", ANY, "end"]
    assert agrees(page, ["a b c", "1", "2", "end"]) and agrees(page, ["a  c", "end"])
    assert not agrees(page, ["a b d", "end"]) and not agrees(page, ["a b c"])
    assert not agrees(page, ["a b c", "end", "more"]) and not agrees(["a", "b"], ["a"])


def shown_commands() -> list[str]:
    """The lines of blocks without a language, on the pages of SHOWING."""
    lines = []
    for page in SHOWING:
        # Fences in turn begin and end a block.
        parts = re.split(r"^```(.*)\n", page.read_text(), flags=re.MULTILINE)
        blocks = [parts[i + 1] for i in range(1, len(parts) - 1, 4) if not parts[i]]
        lines += [re.sub(r"\s{2,}#.*", "", line).strip() for block in blocks
                  for line in block.splitlines()]
    return [line.removeprefix("sudo ") for line in dict.fromkeys(lines) if line]


def test_shown_commands(machines: Machines) -> None:
    """Each does something here, or is listed by who runs it."""
    commands = shown_commands()
    assert len(commands) > 20
    for program in ("spin", "server"):
        (machines.directory / program).symlink_to("/bin/true")
    for line in commands:
        if line in SHOWN_ELSEWHERE:
            continue
        name = line.split()[1] if line.startswith("isolator ") else ""
        command = line.replace("FILE", str(machines.directory / "saved"))
        if name == "watch":
            command = re.sub(r"( -t \d+)?$", " -n 1 -t 1", command)
        if name in ("measure", "prove"):
            command += " -t 1"
        machine = "stock" if name in BY_ROOT else "busy" if name in BY_PROC else "here"
        if name in ("prove", "measure", "watch"):
            machine = "here"
        assert name, f"nobody runs: {line}"
        code, lines = machines.run(command, machine)
        # 2 and 3 are verdicts about this machine, 124 is what timeout ends with.
        assert code in (0, 2, 3, 124), f"{line}: exit code {code}\n" + "\n".join(lines)
        assert lines, f"{line} prints nothing"
    assert set(SHOWN_ELSEWHERE) <= set(commands), "a list of what is not shown"


PACKAGES = {
    "tools": ["isolator", "isolator-report", "libisolator0"],
    "kernel": ["isolator-boot", "linux-image-6.12.48-isolator-cloud-amd64"],
}


@pytest.mark.parametrize("installed", [
    [], ["tools"], ["kernel"], ["tools", "kernel"]], ids=lambda parts: "+".join(parts) or "none")
def test_the_purge(tmp_path: Path, installed: list[str]) -> None:
    """The page's lines as they stand, for an apt that knows only what is installed."""
    ours = [name for part in installed for name in PACKAGES[part]]
    (tmp_path / "status").write_text("\n".join(
        f"Package: {name}\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n"
        f"Maintainer: nobody\nDescription: a package\n" for name in [*ours, "unrelated"]))
    for place in ("state/lists/partial", "cache/archives/partial", "etc", "log"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "apt.conf").write_text(
        f'Dir::State "{tmp_path}/state";\nDir::State::status "{tmp_path}/status";\n'
        f'Dir::Cache "{tmp_path}/cache";\nDir::Etc "{tmp_path}/etc";\n'
        f'Dir::Log "{tmp_path}/log";\nAPT::Get::Simulate "true";\n')
    lines = [one.command for one in shown(PAGE.read_text()) if one.command.startswith("apt purge")]
    assert lines
    gone: set[str] = set()
    for line in lines:
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False,
                              env={**os.environ, "APT_CONFIG": str(tmp_path / "apt.conf")})
        assert done.returncode == 0, f"{line}: {done.stderr}"
        gone |= set(re.findall(r"^Purg (\S+)", done.stdout, re.MULTILINE))
    assert gone == set(ours)
