# SPDX-License-Identifier: GPL-2.0-or-later
"""What the observer tells from an instruction of each machine."""

import ctypes
import subprocess
from pathlib import Path

import pytest
from isolab.paths import LAB

_BYTES, _SIZE = ctypes.c_char_p, ctypes.c_size_t


class Machine(ctypes.Structure):
    """As lab/observer/machine.h has it."""

    _fields_ = (
        ("target", ctypes.c_char_p),
        ("slots", ctypes.c_bool),
        ("mark", ctypes.CFUNCTYPE(ctypes.c_bool, _BYTES, _SIZE, ctypes.POINTER(ctypes.c_uint32))),
        ("swaps", ctypes.c_void_p),
        ("returns", ctypes.c_void_p),
        ("heavy_kind", ctypes.CFUNCTYPE(ctypes.c_int, _BYTES, _SIZE)),
        ("syncs", ctypes.CFUNCTYPE(ctypes.c_bool, _BYTES, _BYTES)),
    )


@pytest.fixture(name="machine_of", scope="module")
def _machine_of(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    built = tmp_path_factory.mktemp("observer") / "machine.so"
    source = LAB / "observer" / "machine.c"
    subprocess.run(["gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", built, source], check=True)
    library = ctypes.CDLL(str(built))
    library.machine_of.restype = ctypes.POINTER(Machine)
    return library


def machine(library: ctypes.CDLL, target: str) -> Machine:
    found: Machine = library.machine_of(target.encode()).contents
    return found


def mark(of: Machine, code: bytes) -> int | None:
    payload = ctypes.c_uint32(0)
    seen = of.mark(code, len(code), ctypes.byref(payload))
    return payload.value & 0xFFFFFF if seen else None


def assembled(tmp_path: Path, text: str) -> list[bytes]:
    """The instructions of @text, each of four bytes."""
    source, built, raw = (tmp_path / f"x.{kind}" for kind in ("s", "o", "bin"))
    source.write_text(text + "\n")
    try:
        subprocess.run(["aarch64-linux-gnu-gcc", "-march=armv8.4-a", "-c", source, "-o", built],
                       check=True)
    except FileNotFoundError:
        pytest.skip("no compiler for arm64")
    subprocess.run(["aarch64-linux-gnu-objcopy", "-O", "binary", built, raw], check=True)
    data = raw.read_bytes()
    return [data[i : i + 4] for i in range(0, len(data), 4)]


def test_marks_of_arm64(machine_of: ctypes.CDLL) -> None:
    of = machine(machine_of, "aarch64")
    for op, number in ((1, 0), (7, 4095), (10, 6)):
        code = (0xD2E0001F | (op << 12 | number) << 5).to_bytes(4, "little")
        assert mark(of, code) == op << 20 | number
    # Of another register, without the shift, or longer, it is none.
    for other in (0xD2E00001, 0xD280001F, 0xF2E0001F):
        assert mark(of, other.to_bytes(4, "little")) is None
    assert of.slots


def test_marks_of_x86(machine_of: ctypes.CDLL) -> None:
    of = machine(machine_of, "x86_64")
    assert mark(of, bytes.fromhex("0f1f840002005015")) == 5 << 20 | 2
    assert mark(of, bytes.fromhex("0f1f840002005016")) is None
    assert not of.slots
    assert not machine_of.machine_of(b"riscv64")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("stxr w0, x1, [x2]\nstlxp w0, x1, x3, [x2]\ncas x0, x1, [x2]", 0),
        ("casp x0, x1, x2, x3, [x4]\ncaspal w0, w1, w2, w3, [x4]", 0),
        ("ldadd x0, x1, [x2]\nswpal x0, x1, [x2]\nldset w0, w1, [x2]", 0),
        ("isb\ntlbi vmalle1is\nmsr tpidr_el0, x0\neret\nic ialluis", 1),
        ("dsb ish\ndmb ishst", 2),
        ("ldxr x1, [x2]\nldar x1, [x2]\nstlr x1, [x2]\nldapr x0, [x1]", -1),
        ("mrs x0, cntvct_el0\nnop\nldaxp x0, x1, [x2]", -1),
        ("ldr x0, [x1, x2]\nstr x0, [x1]\nadd x0, x1, x2\nret", -1),
    ],
)
def test_costly_instructions_of_arm64(
    machine_of: ctypes.CDLL, tmp_path: Path, text: str, kind: int
) -> None:
    of = machine(machine_of, "aarch64")
    codes = assembled(tmp_path, text)
    assert len(codes) == len(text.splitlines())
    found = {t: of.heavy_kind(c, 4) for t, c in zip(text.splitlines(), codes, strict=True)}
    assert found == dict.fromkeys(found, kind)


def test_only_this_pair_of_arm64_synchronises_text(machine_of: ctypes.CDLL, tmp_path: Path) -> None:
    of = machine(machine_of, "aarch64")
    text = "dsb ishst\nisb\ndsb nshst\ndsb ish\ndmb ishst\nnop"
    dsb, isb, *others = assembled(tmp_path, text)
    assert of.syncs(dsb, isb)
    assert not of.syncs(isb, dsb) and not of.syncs(isb, isb)
    assert not any(of.syncs(other, isb) or of.syncs(dsb, other) for other in others)
    assert not machine(machine_of, "x86_64").syncs
