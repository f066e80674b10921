# SPDX-License-Identifier: GPL-2.0-or-later
"""What is laid over a guest's base archive."""

from pathlib import Path

from isolab.guests import initramfs
from newc import unpack


def _selftests(root: Path) -> Path:
    (root / "bin").mkdir(parents=True)
    for name, text in {"futex": "ELF", "net": "#!/bin/sh\n", "bin/net": "ELF"}.items():
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    (root / "readme").write_text("odd")
    (root / "readme").chmod(0o644)
    (root / "link").symlink_to("futex")
    return root


def test_a_job_alone_brings_no_selftests() -> None:
    found = unpack(initramfs.overlay("true\n", Path("none")))
    assert found["job/job"][1] == b"true\n"
    assert set(found) == {"job", "job/job"}


def test_selftests_lie_where_a_hunt_runs_them(tmp_path: Path) -> None:
    found = unpack(initramfs.overlay("true\n", Path("none"), _selftests(tmp_path / "tests")))
    assert found["job/job"][1] == b"true\n"
    assert found["lab/selftests/futex"] == (0o100755, b"ELF")
    assert found["lab/selftests/net"] == (0o100755, b"#!/bin/sh\n")
    assert found["lab/selftests/bin/net"] == (0o100755, b"ELF")
    assert found["lab/selftests/readme"] == (0o100644, b"odd")
    assert found["lab/selftests/link"] == (0o120777, b"futex")


def test_directories_come_once_and_before_what_lies_in_them(tmp_path: Path) -> None:
    data = initramfs.overlay("", Path("none"), _selftests(tmp_path / "tests"))
    names = list(unpack(data))
    assert names.index("lab") < names.index("lab/selftests") < names.index("lab/selftests/bin")
    assert names.index("lab/selftests/bin") < names.index("lab/selftests/bin/net")
    assert data.count(b"lab/selftests/bin\0") == 1
    # The kernel looks for the next archive at a multiple of four bytes.
    assert len(data) % 512 == 0


def test_a_boot_has_the_programs_that_its_job_names_and_no_others(tmp_path: Path) -> None:
    for name, text in {"tests/page": "ELF", "tests/page-sizes": "ELF",
                       "tests/all": "/lab/triggers/%s",
                       "tests/one": "exec /lab/triggers/perf-open", "triggers/perf-open": "ELF",
                       "triggers/rps": ". /lab/lib/trigger.sh"}.items():
        path = tmp_path / "lab" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def has(job: str) -> set[str]:
        return {n.removeprefix("lab/") for n, (mode, _) in unpack(
            initramfs.overlay(job, tmp_path)).items() if mode == 0o100755}

    assert has("run page 5000 exec /lab/tests/page\n") == {"tests/page"}
    assert has("run x 5 exec /lab/tests/one\n") == {"tests/one", "triggers/perf-open"}
    assert has("run x 5 exec /lab/tests/all\n") == {
        "tests/all", "triggers/perf-open", "triggers/rps"}
    assert has("sh -c '/lab/triggers/rps & /lab/triggers/perf-open & wait'\n") == {
        "triggers/rps", "triggers/perf-open"}
    assert has("run x 5 exec /lab/tests/gone /lab/bin/spinner\n") == set()


def test_a_base_has_none_of_them(tmp_path: Path) -> None:
    for name in ("lab/bin/iso", "lab/tests/page", "lab/triggers/rps", "lab/lib/trigger.sh"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    archive = initramfs.Archive()
    archive.tree(tmp_path, "", initramfs.CHOSEN)
    assert {n for n, (mode, _) in unpack(archive.bytes()).items() if mode & 0o100000} == {
        "lab/bin/iso", "lab/lib/trigger.sh"}
