# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel part as it is edited: patches, new files as plain files, and the order of both.

A patch holds what changes in Debian's files.  The new files lie in folders of their own and are
whole there; the list of patches says with which one each is mailed.
"""

import functools
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

LINE = "6.12"
LICENCE = "SPDX-License-Identifier: GPL-2.0-only"
MAIL = re.compile(r"From: (?P<author>[^\n]+)\nSubject: \[PATCH\] (?P<subject>[^\n]+)\n\n"
                  r"(?P<body>.*?)\n---\n(?P<rest>.*)", re.DOTALL)
CHANGED = re.compile(r"^diff --git a/(\S+) b/\S+$", re.MULTILINE)


class SeriesError(Exception):
    """What is wrong with the series, and what mends it."""


@dataclass
class Patch:
    """One patch: its message, what it changes in Debian's files, the new files that it brings.

    `name` has no suffix; `stat` counts the lines of `diff`; `new` are places in the tree.
    """

    name: str
    author: str
    subject: str
    body: str
    stat: str = ""
    diff: str = ""
    new: list[str] = field(default_factory=list)

    @property
    def message(self) -> str:
        return f"{self.subject}\n\n{self.body}\n"

    def text(self) -> str:
        """The patch as a file."""
        changes = f"\n{self.stat}\n{self.diff}" if self.diff else ""
        return (f"From: {self.author}\nSubject: [PATCH] {self.subject}\n\n{self.body}\n---\n"
                f"{LICENCE}\n{changes}")


@dataclass
class Series:
    """All of it.  `head` is the comment of the list, `files` the content of the new files."""

    head: str
    cover: Patch
    patches: list[Patch]
    files: dict[str, Path]

    def changed(self) -> list[str]:
        """The files of Debian's that patches change."""
        return sorted({path for patch in self.patches for path in CHANGED.findall(patch.diff)})


def parse(name: str, text: str) -> Patch:
    """A patch's file; raises SeriesError where it has not the form that Patch.text() gives."""
    match = MAIL.fullmatch(text)
    if not match:
        raise SeriesError(f"{name}: wanted From:, Subject: [PATCH], a message, a line ---")
    stat, found, diff = match["rest"].partition("diff --git ")
    stat = stat.removeprefix(f"{LICENCE}\n").strip("\n")
    return Patch(name, match["author"], match["subject"], match["body"].strip("\n"),
                 stat + "\n" if stat else "", found + diff)


@functools.cache
def tops(kernel: Path) -> dict[str, str]:
    """Folders of new files, and their places in the tree: as kernel/source.sh has them."""
    said = subprocess.run(["sh", "-c", '. "$0"; echo $overlay_tops', kernel / "source.sh"],
                          check=True, capture_output=True, text=True).stdout
    return dict(pair.split(":") for pair in said.split())


def home(kernel: Path, place: str) -> Path:
    """Where the new file that is to be at `place` in the tree lies."""
    for folder, top in tops(kernel).items():
        if place.startswith(f"{top}/"):
            return kernel / folder / place.removeprefix(f"{top}/")
    raise SeriesError(f"{place}: no folder of kernel/ is for it; see overlay_tops in "
                      "kernel/source.sh")


def listed(text: str) -> tuple[str, list[tuple[str, list[str]]]]:
    """The list's comment, and the names of patches, each with its new files."""
    head, entries = "", list[tuple[str, list[str]]]()
    for line in text.splitlines(keepends=True):
        if line.startswith("#"):
            head += line
        elif line[0].isspace() and entries:
            entries[-1][1].append(line.strip())
        else:
            entries.append((line.strip().removesuffix(".patch"), []))
    return head, entries


def read(kernel: Path) -> Series:
    """The series as it is edited below `kernel`."""
    folder = kernel / "patches" / LINE
    head, entries = listed((folder / "series").read_text())
    patches = []
    for name, new in entries:
        patch = parse(f"{name}.patch", (folder / f"{name}.patch").read_text())
        patch.name, patch.new = name, new
        patches.append(patch)
    files = {f"{top}/{path.relative_to(kernel / base)}": path
             for base, top in tops(kernel).items()
             for path in sorted((kernel / base).rglob("*"))
             if path.is_file() and not path.name.endswith((".swp", "~"))}
    carried = [place for patch in patches for place in patch.new]
    for place in sorted(set(carried) ^ set(files)):
        raise SeriesError(
            f"{place}: name it in kernel/patches/{LINE}/series, below the patch that brings it"
            if place in files else
            f"{place}: kernel/patches/{LINE}/series names it, and it is not there")
    if twice := sorted(place for place in files if carried.count(place) > 1):
        raise SeriesError(f"{twice[0]}: two patches bring it")
    return Series(head, parse("cover", (folder / "cover").read_text()), patches, files)


def write(kernel: Path, series: Series) -> list[str]:
    """Makes what lies below `kernel` this series; returns which files that changed."""
    folder = kernel / "patches" / LINE
    entries = [f"{patch.name}.patch\n" + "".join(f"\t{place}\n" for place in patch.new)
               for patch in series.patches]
    wanted = {folder / "series": series.head + "".join(entries),
              folder / "cover": series.cover.text(),
              **{folder / f"{patch.name}.patch": patch.text() for patch in series.patches}}
    changed = []
    for path, text in wanted.items():
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)
            changed.append(path)
    for path in folder.glob("*.patch"):
        if path not in wanted:
            path.unlink()
            changed.append(path)
    homes = {home(kernel, place): source for place, source in series.files.items()}
    for path, source in homes.items():
        mode = source.stat().st_mode & 0o111
        if (not path.is_file() or path.read_bytes() != source.read_bytes()
                or bool(path.stat().st_mode & 0o111) != bool(mode)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source.read_bytes())
            path.chmod(0o755 if mode else 0o644)
            changed.append(path)
    for base in tops(kernel):
        for path in (kernel / base).rglob("*"):
            if path.is_file() and path not in homes:
                path.unlink()
                changed.append(path)
    return sorted(str(path.relative_to(kernel)) for path in changed)
