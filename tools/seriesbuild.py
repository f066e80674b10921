# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles what the series touches after each of its patches, with and without the option.

The option can be chosen from the patch on that brings its Kconfig.  Before that the objects are
compiled with it all the same: the files of that patch are there from the beginning.
"""

import re
import shutil
import subprocess
import time
from pathlib import Path

from seriesform import Patch, Series
from seriesgit import Repository

OPTION = "kernel/isolator/Kconfig"
MAKE = Path(__file__).parents[1] / "kernel/make"
FRAGMENTS = {"with": ["base", "x86_64", "nort", "isolator", "isolator-faults"],
             "without": ["base", "x86_64", "nort", "stock"]}
SAID = 25  # lines of a failed make


def _put(source: Path, target: Path) -> None:
    """Writes `target`, which may be a link to Debian's file, if it is not the same."""
    if target.is_file() and target.read_bytes() == source.read_bytes():
        return
    target.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def objects(tree: Path, places: list[str], option: bool) -> list[str]:
    """What is compiled of `places`: a file that others of its folder include, by those."""
    found = set()
    for place in places:
        path = tree / place
        # Of headers make knows who includes them.
        if path.suffix != ".c" or not path.is_file():
            continue
        if place.startswith("kernel/isolator/") and not option:
            continue
        include = re.compile(rf'^#\s*include "{re.escape(path.name)}"', re.MULTILINE)
        users = [other for other in path.parent.glob("*.c")
                 if include.search(other.read_text(errors="replace"))]
        found |= {str(user.relative_to(tree).with_suffix(".o")) for user in users or [path]}
    return sorted(found)


class Kernel:
    """The tree that the steps are made in, and below it the objects of each configuration."""

    def __init__(self, source: Path, kernel: Path) -> None:
        self.tree = source.parents[1] / "series" / source.name
        self.kernel = kernel
        self.source = source
        if not (self.tree / "Makefile").exists():
            shutil.rmtree(self.tree, ignore_errors=True)
            self.tree.mkdir(parents=True)
            subprocess.run(["cp", "-al", "-t", self.tree, *(
                one for one in source.iterdir() if not one.name.startswith("build-"))], check=True)

    def make(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """As kernel/build calls it."""
        return subprocess.run(
            [MAKE, "x86_64", "", "-C", str(self.tree), f"O={self.tree / f'build-{name}'}", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)

    def set_to(self, repository: Repository, places: list[str], option: Patch) -> None:
        """The tree as `repository` has it now, but with all of the `option`."""
        there = set(repository.git("ls-files").split())
        final = {*option.new, *re.findall(r"^\+\+\+ b/(\S+)", option.diff, re.MULTILINE)}
        for place in {*places, *there} - final:
            if place in there:
                _put(repository.tree / place, self.tree / place)
            elif (self.source / place).exists():
                _put(self.source / place, self.tree / place)
            else:
                (self.tree / place).unlink(missing_ok=True)

    def configure(self, name: str) -> subprocess.CompletedProcess[str]:
        folder = self.tree / f"build-{name}"
        folder.mkdir(exist_ok=True)
        fragments = folder / "fragments"
        fragments.write_text("".join((self.kernel / f"configs/{part}.config").read_text()
                                     for part in FRAGMENTS[name]))
        done = self.make(name, f"KCONFIG_ALLCONFIG={fragments}", "allnoconfig")
        has = "CONFIG_ISOLATOR=y" in (folder / ".config").read_text().splitlines()
        if done.returncode == 0 and has != (name == "with"):
            done.returncode, done.stdout = 1, f"CONFIG_ISOLATOR did not take: {folder}/.config"
        return done if done.returncode else self.make(name, "prepare")


def build(series: Series, source: Path, work: Path, kernel: Path) -> int:
    """Prints a line a step and configuration, and what fails; exit code 0 if nothing does."""
    places = [*series.changed(), *series.files]
    option = next(patch for patch in series.patches if OPTION in patch.new)
    last = Repository(work / "last", source, places)
    for patch in series.patches:
        last.apply(patch, series.files)
    trees = Kernel(source, kernel)
    for place in (*option.new, *re.findall(r"^\+\+\+ b/(\S+)", option.diff, re.MULTILINE)):
        _put(last.tree / place, trees.tree / place)
    repository = Repository(work / "steps", source, places)
    trees.set_to(repository, places, option)
    passed = failed = 0

    def result(what: str, began: float, done: subprocess.CompletedProcess[str]) -> None:
        nonlocal passed, failed
        seconds = time.monotonic() - began
        print(f"{'FAILED' if done.returncode else 'ok':8}{what} ({seconds:.0f} s)", flush=True)
        if done.returncode:
            print("\n".join(done.stdout.splitlines()[-SAID:]), flush=True)
            failed += 1
        else:
            passed += 1

    for name in FRAGMENTS:
        began = time.monotonic()
        result(f"{name}: configuration", began, trees.configure(name))
    for number, patch in enumerate(series.patches, 1):
        repository.apply(patch, series.files)
        trees.set_to(repository, places, option)
        for name in FRAGMENTS:
            began = time.monotonic()
            wanted = objects(trees.tree, places, name == "with")
            result(f"{number:2} {name}: {patch.subject}", began, trees.make(name, *wanted))
    began = time.monotonic()
    # With the option it is what the lab builds.
    result("without: all of it, linked", began, trees.make("without", "vmlinux"))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
