# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of a kernel is of that kernel: one that is given may be built anew in place."""

from pathlib import Path
from typing import Any

import pytest
from isolab.guests import initramfs, kernel
from isolab.guests.kernel import Kernel
from isolab.guests.machine import X86_64
from isolab.header import Trigger
from isolab.instants import module
from isolab.matrix import matrix

RELEASE = "6.12.117-isolator"
FILES = ("bzImage", "System.map", "config", f"modules/lib/modules/{RELEASE}/kernel/veth.ko")


def _lay(place: Path) -> Path:
    for name in FILES:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("0 T x\n")
    return place


@pytest.fixture(name="place")
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ISOLAB_KERNEL_ISOLATOR_RT", str(tmp_path / "mine"))
    return _lay(tmp_path / "mine")


def given() -> Kernel:
    return kernel.build("rt")


def test_one_by_its_content_is_known_by_its_folder(tmp_path: Path) -> None:
    assert Kernel("isolator-rt", _lay(tmp_path / "rt-1")).key == "rt-1"


@pytest.mark.parametrize("file", FILES)
def test_one_that_is_given_is_known_by_what_lies_there(place: Path, file: str) -> None:
    before = given().key
    assert before.startswith("mine-") and before == given().key
    (place / file).write_text("1 T x\n")
    assert given().key != before


def test_the_base_is_of_the_same_kernel(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(initramfs, "TOP", tmp_path)
    monkeypatch.setattr(initramfs, "BUILD", tmp_path / "build")
    for name in ("make", "cross_compiler"):
        monkeypatch.setattr(initramfs, name, lambda *_, **__: None)
    monkeypatch.setattr(initramfs, "busybox", lambda _: Path("/bin/true"))
    monkeypatch.setattr(initramfs, "load_tree", lambda _: tmp_path / "load")
    monkeypatch.setattr(initramfs, "libraries", lambda *_: [])
    loader = Path(X86_64.loader).name
    for name in ("build/lab/agent/agent", "load/.packages", f"load/lib/{X86_64.triplet}/{loader}",
                 *(f"load/{program}" for program in initramfs.LOAD_PROGRAMS)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    first = initramfs.base(given())
    assert initramfs.base(given()) == first and b"0 T x\n" in first.read_bytes()
    (place / FILES[-1]).write_text("another module\n")
    data = initramfs.base(given()).read_bytes()
    assert b"another module\n" in data and b"0 T x\n" not in data
    assert f"lib/modules/{RELEASE}/kernel/veth.ko\0".encode() in data


def test_the_labs_module_is_of_the_same_kernel(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def make(tree: Path, objects: Path, folder: str, *_: str) -> None:
        made.append(folder)
        (Path(folder.removeprefix("M=")) / module.NAME).write_text(str(len(made)))

    (tmp_path / "cache" / "instants").mkdir(parents=True)
    monkeypatch.setattr(module, "cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(module, "_run", lambda *_: f"{tmp_path}\n")
    monkeypatch.setattr(module, "_objects", lambda *_: tmp_path)
    monkeypatch.setattr(module, "_make", make)
    assert [module.build(given(), "rt").read_text() for _ in range(2)] == ["1", "1"]
    (place / "System.map").write_text("1 T x\n")
    assert module.build(given(), "rt").read_text() == "2"


def test_a_cell_is_of_the_same_kernel(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trigger: Any = Trigger("t", "1", "defer", "script", "a", False, 20)
    monkeypatch.setattr(matrix, "_source", lambda _: "s")
    monkeypatch.setattr(matrix, "instrument", lambda of: f"of {of.name}")
    column = matrix.columns(["isolator"], ["rt"])[0]
    measured = matrix.Matrix(tmp_path / "matrix.json")
    measured.cells["t", column.name] = {
        "kernel": given().key, "trigger": "s", "instrument": "of x86_64", "returned": True,
        "worked": True}
    assert measured.has(trigger, column, given())
    # By another observer or program of the guests, or on another machine.
    with monkeypatch.context() as patch:
        patch.setattr(matrix, "instrument", lambda of: "another")
        assert not measured.has(trigger, column, given())
    assert measured.has(trigger, column, given())
    (place / "config").write_text("CONFIG_X=y\n")
    assert not measured.has(trigger, column, given())


@pytest.mark.parametrize(("by", "stay"), [("of x86_64", True), ("another", False)])
def test_attempts_of_another_instrument_are_forgotten(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, stay: bool
) -> None:
    assert place.is_dir()
    monkeypatch.setattr(matrix, "instrument", lambda of: f"of {of.name}")
    column = matrix.columns(["isolator"], ["rt"])[0]
    measured = matrix.Matrix(tmp_path / "matrix.json")
    measured.cells["t", column.name] = {}
    measured.columns[column.name] = {
        "kernel": {"build": given().key}, "instrument": by, "attempts": [{"ended": "x"}]}
    matrix._measure(measured, column, [], True, lambda: None)
    assert bool(measured.columns[column.name]["attempts"]) == stay
