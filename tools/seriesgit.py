# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel part as mails: a repository with Debian's files as one commit, and what is on it.

Only the files that patches touch are in it: git am looks at no others.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from seriesform import CHANGED, Patch, Series, SeriesError, home

COVER = "0000-cover-letter.patch"
# Nobody's settings, and the same commits each time.
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_COMMITTER_NAME": "series", "GIT_COMMITTER_EMAIL": "series@isolator.example",
    "GIT_AUTHOR_NAME": "series", "GIT_AUTHOR_EMAIL": "series@isolator.example",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z", "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
    "LC_ALL": "C", "TZ": "UTC",
}
# Where a word of a diff may depend on git's version or on how much is in the repository.
DIFF = ["--abbrev=12", "--no-renames", "--diff-algorithm=myers"]
STAT = "--stat=78"


class Repository:
    """A repository in `tree`, with the pristine files of `paths` that there are as its base."""

    def __init__(self, tree: Path, pristine: Path, paths: list[str]) -> None:
        self.tree = tree
        tree.mkdir(parents=True)
        self.git("init", "-q", "-b", "series")
        for path in paths:
            if (pristine / path).is_file():
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(pristine / path, tree / path)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "Debian's source")
        self.git("tag", "base")
        self.base = set(self.git("ls-files").split())

    def git(self, *words: str, given: str | None = None) -> str:
        """What a command of git prints; SeriesError with what it says where it fails."""
        done = subprocess.run(["git", *words], cwd=self.tree, env=ENVIRONMENT, input=given,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise SeriesError(f"git {words[0]}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def apply(self, patch: Patch, files: dict[str, Path]) -> None:
        """A commit of `patch` with its new files."""
        try:
            if patch.diff:
                self.git("apply", "--index", "--whitespace=nowarn", "-", given=patch.diff)
        except SeriesError as error:
            raise SeriesError(f"{patch.name}.patch does not apply\n{error}") from error
        for place in patch.new:
            if (self.tree / place).exists():
                raise SeriesError(f"{place}: Debian has such a file already")
            (self.tree / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(files[place], self.tree / place)
        self.git("add", "-A")
        self.git("commit", "-q", "--cleanup=verbatim", "-F", "-", f"--author={patch.author}",
                 given=patch.message)

    def commits(self) -> list[str]:
        return self.git("rev-list", "--reverse", "base..series").split()

    def shown(self, commit: str, *paths: str) -> tuple[str, str]:
        """How many lines of `paths` a commit changes, and its diff of them."""
        if not paths:
            return "", ""
        between = [f"{commit}^", commit, "--", *paths]
        return (self.git("diff", STAT, "--summary", "--no-renames", *between),
                self.git("diff", *DIFF, *between))


def export(series: Series, pristine: Path, work: Path, mails: Path) -> Repository:
    """Writes the mails; `work` is a new folder for the repository that they were made in."""
    repository = Repository(work, pristine, [*series.changed(), *series.files])
    for patch in series.patches:
        repository.apply(patch, series.files)
    mails.mkdir(parents=True, exist_ok=True)
    for old in mails.glob("[0-9][0-9][0-9][0-9]-*.patch"):
        old.unlink()
    repository.git("format-patch", "-q", "--zero-commit", "--no-signature", "-n", *DIFF,
                   "-o", str(mails.resolve()), "base..series")
    for mail in mails.glob("*.patch"):
        # When it was made tells nothing: who sends it dates it.
        mail.write_text(re.sub(r"^Date: .*\n", "", mail.read_text(), count=1, flags=re.MULTILINE))
    number = len(series.patches)
    cover = series.cover
    (mails / COVER).write_text(
        f"From: {cover.author}\n"
        f"Subject: [PATCH {0:0{len(str(number))}}/{number}] {cover.subject}\n\n{cover.body}\n\n"
        + repository.git("shortlog", "-w72,2,4", "base..series")
        + repository.git("diff", "--stat=72", "--summary", "--no-renames", "base", "series"))
    return repository


def _slug(subject: str, taken: set[str]) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-")[:48].rstrip("-")
    return next(one for one in (name, *(f"{name}-{n}" for n in range(2, 1000)))
                if one not in taken)


def _cover(mail: Path, authors: set[str], before: Patch) -> Patch:
    """The cover letter, without what is counted; the one `before` where there is none."""
    if not mail.is_file():
        return before
    head, _, text = mail.read_text().partition("\n\n")
    sender = re.search(r"^From: (.*)$", head, re.MULTILINE)
    subject = re.search(r"^Subject: (?:\[[^]]*\] )?(.*(?:\n .*)*)", head, re.MULTILINE)
    if not subject or not sender:
        raise SeriesError(f"{mail.name}: wanted From: and Subject:")
    counted = "|".join(re.escape(name) for name in sorted(authors))
    return Patch("cover", sender[1], subject[1].replace("\n ", " "),
                 re.split(rf"^(?:{counted}) \(\d+\):$", text, flags=re.MULTILINE)[0].strip("\n"))


def brought_in(mails: Path, pristine: Path, work: Path, before: Series, kernel: Path) -> Series:
    """The series that is in `mails`, for a tree whose series was `before`.

    A patch keeps its name as long as it keeps its subject.  The new files stay in `work`.
    """
    letters = [one for one in sorted(mails.glob("[0-9]*.patch")) if one.name != COVER]
    if not letters:
        raise SeriesError(f"{mails}: no mails 0001-....patch in it")
    paths = sorted({path for one in letters for path in CHANGED.findall(one.read_text())})
    repository = Repository(work, pristine, paths)
    repository.git("am", "-q", *(str(one.resolve()) for one in letters))
    names = {patch.subject: patch.name for patch in before.patches}
    final = set(repository.git("ls-files").split())
    patches = list[Patch]()
    brought: dict[str, str] = {}
    for commit in repository.commits():
        author, _, text = repository.git("log", "-1", "--format=%an <%ae>%n%B",
                                         commit).partition("\n")
        subject, _, body = text.strip("\n").partition("\n\n")
        subject = subject.replace("\n", " ")
        taken = {patch.name for patch in patches} | set(names.values())
        name = names.pop(subject, "") or _slug(subject, taken)
        patch = Patch(name, author, subject, body)
        touched = repository.git("diff", "--name-only", "--no-renames", f"{commit}^",
                                 commit).split()
        for place in set(touched) - repository.base:
            if place in brought:
                raise SeriesError(f"{subject!r} changes {place}, which {brought[place]!r} "
                                  "brings: squash the change into that, new files are whole")
            home(kernel, place)
            brought[place] = subject
        patch.new = [place for place in touched if place in final - repository.base]
        patch.stat, patch.diff = repository.shown(
            commit, *(place for place in touched if place in repository.base))
        patches.append(patch)
    cover = _cover(mails / COVER, {patch.author.split(" <")[0] for patch in patches},
                   before.cover)
    return Series(before.head, cover, patches, {place: work / place for place in brought})
