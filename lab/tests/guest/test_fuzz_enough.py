# SPDX-License-Identifier: GPL-2.0-or-later
"""What an hour of fuzz must have asked, and been given, to count as one."""

import ctypes
import subprocess

import pytest
from isolab.paths import LAB, TOP

# What may be refused each time.
REFUSED = ("no ioctl", "perf", "msr", "clocksource")
PROGRAM = """
#include "../test.h"
#include "fuzz-common.h"

const int columns = ANSWERS;

const char *name(int row)
{
	return row < ROWS ? fuzz_names[row] : NULL;
}

bool judged(const uint64_t (*given)[ANSWERS], unsigned int seconds)
{
	answers = (void *)given;
	return enough(seconds);
}
"""


@pytest.fixture(name="fuzz", scope="module")
def _fuzz(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    where = tmp_path_factory.mktemp("fuzz")
    (where / "enough.c").write_text(PROGRAM)
    subprocess.run(
        ["gcc", "-D_GNU_SOURCE", "-std=gnu11", "-shared", "-fPIC", "-pthread", "-w", "-O2",
         f"-I{LAB / 'guest' / 'tests'}", f"-I{TOP / 'kernel' / 'include' / 'uapi'}",
         f"-I{TOP / 'lib' / 'include'}",
         "-o", where / "enough.so", where / "enough.c"],
        check=True)
    library = ctypes.CDLL(str(where / "enough.so"))
    library.name.restype = ctypes.c_char_p
    library.judged.restype = ctypes.c_bool
    return library


def names(fuzz: ctypes.CDLL) -> list[str]:
    found: list[str] = []
    while one := fuzz.name(len(found)):
        found.append(one.decode())
    return found


def judged(fuzz: ctypes.CDLL, taken: dict[str, int], refused: int, seconds: int) -> bool:
    rows = names(fuzz)
    columns = ctypes.c_int.in_dll(fuzz, "columns").value
    table = ((ctypes.c_uint64 * columns) * len(rows))()
    for row, one in enumerate(rows):
        table[row][0] = taken.get(one, 0)
    table[0][11] = refused
    result: bool = fuzz.judged(table, seconds)
    return result


def of_all(fuzz: ctypes.CDLL, *, but: tuple[str, ...] = ()) -> dict[str, int]:
    return {one: 1 for one in names(fuzz) if one not in but}


IOCTLS = ("START", "TICK", "STOP", "START_TASK", "STOP_TASK")


@pytest.mark.parametrize(("seconds", "refused", "expected"), [
    (5, 250, False),
    (5, 400, True),
    (3600, 400, False),
    (3600, 100_000, False),
])
def test_the_requests_of_the_device_alone(fuzz: ctypes.CDLL, seconds: int, refused: int,
                                          expected: bool) -> None:
    assert judged(fuzz, dict.fromkeys(IOCTLS, 1), refused, seconds) == expected


@pytest.mark.parametrize("missing", IOCTLS)
def test_each_request_of_the_device_is_taken(fuzz: ctypes.CDLL, missing: str) -> None:
    assert not judged(fuzz, of_all(fuzz, but=(missing,)), 1000, 5)


def test_in_an_hour_everything_was_taken(fuzz: ctypes.CDLL) -> None:
    assert judged(fuzz, of_all(fuzz, but=REFUSED), 100_000, 3600)
    for one in names(fuzz):
        if one not in REFUSED:
            assert not judged(fuzz, of_all(fuzz, but=(one,)), 100_000, 3600), one


def test_an_hour_has_some_requests_a_second(fuzz: ctypes.CDLL) -> None:
    assert not judged(fuzz, of_all(fuzz), 50_000, 3600)
