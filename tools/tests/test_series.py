# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel part as mails: there and back, and what of it makes another kernel."""

import subprocess
from pathlib import Path

import pytest
import seriesform
import seriesgit
from seriesbuild import objects
from seriesform import SeriesError
from steps import ROOT

AUTHOR = "A Developer <dev@isolator.example>"
MAKEFILE = "obj-y += a.o\nobj-y += b.o\nobj-y += c.o\n"
HOOK = """diff --git a/kernel/Makefile b/kernel/Makefile
--- a/kernel/Makefile
+++ b/kernel/Makefile
@@ -1,3 +1,4 @@
 obj-y += a.o
+obj-y += isolator/
 obj-y += b.o
 obj-y += c.o
"""


class Place:
    """A kernel/ of two patches, and Debian's source of one file."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.pristine = where / "cache/src"
        self.kernel = where / "project/kernel"
        self._file(self.pristine / "kernel/Makefile", MAKEFILE)
        (self.pristine / ".unpacked").touch()
        self._file(self.kernel / "source.sh", (ROOT / "kernel/source.sh").read_text())
        self._file(self.kernel / "isolator/gate.c", "int gate;\n")
        self._file(self.kernel / "selftests/run.sh", "#!/bin/sh\n").chmod(0o755)
        self.patches = self._file(self.kernel / "patches/6.12/series",
                                  "# The order.\n"
                                  "first.patch\n\tkernel/isolator/gate.c\n"
                                  "hook.patch\n\ttools/testing/selftests/isolator/run.sh\n").parent
        self.patch("cover", "all of it", "")
        self.patch("first", "isolator: Add a gate", "")
        self.patch("hook", "kernel: Build Isolator", HOOK)
        self.made = 0
        self.settle()

    def _file(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def patch(self, name: str, subject: str, diff: str) -> None:
        one = seriesform.Patch(name, AUTHOR, subject, f"Why.\n\nSigned-off-by: {AUTHOR}", "", diff)
        (self.patches / (name if name == "cover" else f"{name}.patch")).write_text(one.text())

    def work(self) -> Path:
        self.made += 1
        return self.where / f"work{self.made}"

    def export(self, name: str = "mails") -> Path:
        mails = self.where / name
        seriesgit.export(seriesform.read(self.kernel), self.pristine, self.work(), mails)
        return mails

    def bring(self, mails: Path) -> list[str]:
        before = seriesform.read(self.kernel)
        return seriesform.write(self.kernel, seriesgit.brought_in(
            mails, self.pristine, self.work(), before, self.kernel))

    def settle(self) -> None:
        """Diffs and their counts as git writes them."""
        self.bring(self.export())

    def shell(self, script: str) -> str:
        """What a script says that reads source.sh as kernel/build does."""
        given = (f"here={self.kernel} line=6.12 stock='' staged='' cache={self.where}/cache "
                 f"checkout=x package=linux version=1 pristine={self.pristine} "
                 f"series={self.patches}/series; die() {{ echo \"$*\"; exit 1; }}; "
                 f"say() {{ :; }}; . {self.kernel}/source.sh; ")
        return subprocess.run(["sh", "-c", given + script], check=True, capture_output=True,
                              text=True).stdout


@pytest.fixture(name="place")
def a_kernel(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_kernel_part() -> None:
    """git am makes of the mails what kernel/build builds, and import of them what is there."""
    done = subprocess.run([ROOT / "tools/series", "check"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_there_and_back_changes_nothing(place: Place) -> None:
    assert place.bring(place.export()) == []


def test_the_same_mails_each_time(place: Place) -> None:
    mails = contents(place.export())
    assert mails == contents(place.export("again"))
    assert sorted(mails) == ["0000-cover-letter.patch", "0001-isolator-Add-a-gate.patch",
                             "0002-kernel-Build-Isolator.patch"]
    assert "Subject: [PATCH 0/2] all of it\n" in mails["0000-cover-letter.patch"]
    assert " 3 files changed" in mails["0000-cover-letter.patch"]
    assert not any("\nDate:" in mail or str(place.where) in mail for mail in mails.values())


def test_the_mails_make_what_is_built(place: Place) -> None:
    series = seriesform.read(place.kernel)
    applied = place.work()
    seriesgit.brought_in(place.export(), place.pristine, applied, series, place.kernel)
    place.shell(f"stage; cp -r $staged/tree {place.where}/staged")
    for name in ("kernel/Makefile", "kernel/isolator/gate.c",
                 "tools/testing/selftests/isolator/run.sh"):
        assert (applied / name).read_bytes() == (place.where / "staged" / name).read_bytes()
    assert "isolator/" in (applied / "kernel/Makefile").read_text()


def test_an_edited_series(place: Place) -> None:
    mails = place.export()
    repository = seriesgit.Repository(place.work(), place.pristine, ["kernel/Makefile"])
    # The second first, under another subject; the first with another file.
    for mail in sorted(mails.glob("000[12]*"), reverse=True):
        text = mail.read_text().replace("kernel: Build Isolator", "kernel: Build it").replace(
            "+int gate;", "+int wider;")
        mail.write_text(text)
        repository.git("am", "-q", str(mail))
        mail.unlink()
    (repository.tree / "kernel/isolator/tick.c").write_text("int tick;\n")
    repository.git("add", "-A")
    repository.git("commit", "-q", "--amend", "--no-edit")
    repository.git("format-patch", "-q", "-o", str(mails), "base..series")
    assert place.bring(mails) == [
        "isolator/gate.c", "isolator/tick.c", "patches/6.12/hook.patch",
        "patches/6.12/kernel-build-it.patch", "patches/6.12/series"]
    assert (place.patches / "series").read_text() == (
        "# The order.\nkernel-build-it.patch\n\ttools/testing/selftests/isolator/run.sh\n"
        "first.patch\n\tkernel/isolator/gate.c\n\tkernel/isolator/tick.c\n")
    assert (place.kernel / "isolator/gate.c").read_text() == "int wider;\n"
    assert not (place.patches / "hook.patch").exists()
    assert place.bring(place.export()) == []


def test_a_program_stays_one(place: Place) -> None:
    script = place.kernel / "selftests/run.sh"
    mails = place.export()
    assert "new file mode 100755" in contents(mails)["0002-kernel-Build-Isolator.patch"]
    script.chmod(0o644)
    assert place.bring(mails) == ["selftests/run.sh"] and script.stat().st_mode & 0o100


def test_a_cover_letter_by_hand(place: Place) -> None:
    mails = place.export()
    cover = mails / seriesgit.COVER
    cover.write_text(cover.read_text().replace("all of it", "a beginning").replace("Why.", "So."))
    assert place.bring(mails) == ["patches/6.12/cover"]
    assert "\n\nSo.\n" in (place.patches / "cover").read_text()
    assert "file changed" not in (place.patches / "cover").read_text()


def test_a_new_file_in_no_patch(place: Place) -> None:
    (place.kernel / "isolator/tick.c").write_text("int tick;\n")
    with pytest.raises(SeriesError, match=r"kernel/isolator/tick.c: name it in .*/series"):
        seriesform.read(place.kernel)


def test_a_listed_file_that_is_not_there(place: Place) -> None:
    (place.kernel / "isolator/gate.c").unlink()
    with pytest.raises(SeriesError, match=r"kernel/isolator/gate.c: .* it is not there"):
        seriesform.read(place.kernel)


def test_a_file_that_two_patches_bring(place: Place) -> None:
    with (place.patches / "series").open("a") as text:
        text.write("\tkernel/isolator/gate.c\n")
    with pytest.raises(SeriesError, match=r"gate.c: two patches bring it"):
        seriesform.read(place.kernel)


def test_a_new_file_that_debian_has(place: Place) -> None:
    (place.pristine / "kernel/isolator").mkdir()
    (place.pristine / "kernel/isolator/gate.c").write_text("int other;\n")
    with pytest.raises(SeriesError, match=r"gate.c: Debian has such a file"):
        place.export()


def test_a_patch_that_does_not_apply(place: Place) -> None:
    (place.pristine / "kernel/Makefile").write_text(MAKEFILE.replace("a.o", "z.o"))
    with pytest.raises(SeriesError, match=r"hook.patch does not apply"):
        place.export()


def test_a_new_file_that_a_later_mail_changes(place: Place) -> None:
    mails = place.export()
    work = place.work()
    seriesgit.brought_in(mails, place.pristine, work, seriesform.read(place.kernel), place.kernel)
    repository = seriesgit.Repository(place.work(), place.pristine, ["kernel/Makefile"])
    repository.git("am", "-q", *(str(mail) for mail in sorted(mails.glob("000[12]*"))))
    (repository.tree / "kernel/isolator/gate.c").write_text("int wider;\n")
    repository.git("commit", "-q", "-a", "-m", "isolator: Widen the gate")
    repository.git("format-patch", "-q", "-o", str(mails), "base..series")
    with pytest.raises(SeriesError, match=r"'isolator: Widen the gate' changes .*gate.c"):
        place.bring(mails)


def test_the_key_of_a_kernel(place: Place) -> None:
    """Neither the cut nor what no build reads makes another kernel; what is compiled does."""
    def key() -> str:
        return place.shell("stage; staged_content")

    before = key()
    assert "int gate;" in before and "#!/bin/sh" not in before
    (place.kernel / "selftests/run.sh").write_text("#!/bin/sh\nexit 1\n")
    place.patch("hook", "kernel: Build it otherwise", HOOK)
    place.settle()
    assert key() == before
    (place.kernel / "isolator/gate.c").write_text("int wider;\n")
    assert key() != before


def test_objects(tmp_path: Path) -> None:
    """One that another includes is compiled with that; what the option brings only with it."""
    for name, text in {"kernel/sched/rt.c": "", "kernel/sched/core.c": "",
                       "kernel/sched/policy.c": '#include "rt.c"\n',
                       "kernel/isolator/gate.c": "", "include/linux/smp.h": ""}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    places = ["kernel/sched/rt.c", "kernel/sched/core.c", "kernel/isolator/gate.c",
              "kernel/isolator/later.c", "include/linux/smp.h"]
    both = ["kernel/sched/core.o", "kernel/sched/policy.o"]
    assert objects(tmp_path, places, option=False) == both
    assert objects(tmp_path, places, option=True) == ["kernel/isolator/gate.o", *both]
