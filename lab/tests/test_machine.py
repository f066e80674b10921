# SPDX-License-Identifier: GPL-2.0-or-later
"""What differs between the machines: names of entries, vectors, CPUs, boards, tests, triggers."""

import dataclasses
from pathlib import Path

import pytest
from isolab import header, run, suite, term
from isolab.guests import guest, kernel, machine, observer
from isolab.guests.machine import ARM64, X86_64
from isolab.judge import counted

MAP = """ffff800080010800 T vectors
ffff800080012800 T __bp_harden_el1_vectors
ffff800080014400 T __entry_text_end
ffff800080026fb8 t ipi_handler
ffff8000801bb230 T generic_smp_call_function_single_interrupt
ffff800080c1da38 t arch_timer_handler_virt
ffff800080f27000 T el0t_64_sync_handler
ffff800080f27c98 t el0_svc.isra.0
ffff800080f28550 t el0_brk64
ffff800080f28a40 t el0_da
ffff800080f28cf8 t el0_interrupt.constprop.0
ffff800080f29000 t __el0_error_handler_common
ffff800080f29100 t isolator_deliver
"""


def built(tmp_path: Path, arch: str = "aarch64", symbols: str = MAP) -> kernel.Kernel:
    (tmp_path / "System.map").write_text(symbols)
    return kernel.Kernel("arm64-isolator-nort", tmp_path, arch=arch)


def options(which: kernel.Kernel, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    monkeypatch.setattr(observer, "_built", lambda: Path("/plugins"))
    _, text = observer.arguments(which, Path("/out"), heavy=False)
    pairs = (word.partition("=") for word in text.split(",")[1:])
    return {name: value.split(":") for name, _, value in pairs}


def test_observer_is_told_where_what_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = options(built(tmp_path), monkeypatch)
    assert said["vectors"] == [
        *("0xffff800080010800", "0xffff800080012800", "0xffff800080013000", "0xffff800080013800")
    ]
    assert said["syscall"] == ["0xffff800080f27c98"]
    assert said["interrupt"] == ["0xffff800080f28cf8"]
    assert said["source"] == ["0xffff800080026fb8"]
    assert said["handler"] == ["0xffff8000801bb230", "0xffff800080c1da38"]
    # What all exceptions of user mode go through says nothing, what only some do does.
    assert said["cause"] == [
        *("0xffff800080f27c98", "0xffff800080f28550", "0xffff800080f28a40", "0xffff800080f29000")
    ]
    assert said["kick"] == ["0xffff8000801bb230"] and said["deliver"] == ["0xffff800080f29100"]


def test_a_table_that_the_configuration_lacks_is_none(tmp_path: Path) -> None:
    """Behind its name comes other text, of which an address may look like a slot's."""
    less = MAP.replace("ffff800080014400 T __entry_text_end", "ffff800080012938 T __entry_text_end")
    assert built(tmp_path, symbols=less).vectors() == [0xFFFF800080010800]


def test_entry_is_named_without_the_compilers_suffix(tmp_path: Path) -> None:
    which = built(tmp_path)
    assert which.symbol_at(0xFFFF800080F27C98) == "el0_svc"
    assert which.symbol_at(0xFFFF800080010C00) == "vectors+0x400"


def test_x86_is_told_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    symbols = (
        "ffffffff81600000 T entry_SYSCALL_64\n"
        "ffffffff81600800 T vectors\n"
        "ffffffff81601000 T asm_sysvec_call_function_single\n"
        "ffffffff81602000 t el0_svc\n"
    )
    said = options(built(tmp_path, "x86_64", symbols), monkeypatch)
    assert set(said) == {"out", "syscall", "log", "kick"}
    assert said["syscall"] == ["0xffffffff81600000"] and said["kick"] == ["0xffffffff81601000"]


def test_every_kind_has_names_on_both_and_no_name_two_kinds() -> None:
    for of in (X86_64, ARM64):
        assert set(of.kinds) == set(machine.KINDS) and all(of.kinds.values())
    names = [name for kind in machine.KINDS.values() for name in kind]
    assert len(set(names)) == len(names)


def test_counts_by_kind() -> None:
    by_vector = {"el0_da": 3, "el0_ia": 2, "el0_svc": 7, "vectors+0x480": 1, "el0_sys": 4}
    assert machine.count(by_vector, "page_faults") == 5
    assert machine.count(by_vector, "syscalls") == 7
    assert machine.count(by_vector, machine.UNKNOWN) == 5
    window = {"kernel_entries": 17, "kicks_of_others": None, "entries_by_vector": by_vector}
    assert [counted.of(window, what) for what in ("any", "others", "el0_sys", "syscalls")] == [
        *(17, counted.NOT_COUNTED, 4, 7)
    ]


def test_a_way_that_is_no_slot_fails() -> None:
    assert counted.misplaced(None) == counted.misplaced({"misplaced": 0}) == []
    assert counted.misplaced({}) == []
    assert "2 ways" in counted.misplaced({"misplaced": 2})[0]


def test_cpu_and_board_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISOLAB_CPU", raising=False)
    monkeypatch.delenv("ISOLAB_GIC", raising=False)
    assert ARM64.cpu == "cortex-a72" and ARM64.board == "virt,gic-version=3"
    monkeypatch.setenv("ISOLAB_CPU", "max")
    monkeypatch.setenv("ISOLAB_GIC", "2")
    assert ARM64.cpu == "max,pauth-impdef=on" and ARM64.board == "virt,gic-version=2"
    # The other machine has one of each.
    assert X86_64.cpu == "max" and X86_64.board == "pc"
    monkeypatch.setenv("ISOLAB_CPU", "pentium")
    monkeypatch.setenv("ISOLAB_GIC", "4")
    with pytest.raises(term.LabError, match="ISOLAB_CPU"):
        assert ARM64.cpu
    with pytest.raises(term.LabError, match="ISOLAB_GIC"):
        assert ARM64.board


def test_kernel_is_asked_for_by_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ISOLAB_KERNEL_ARM64_STOCK_NORT", str(tmp_path))
    with pytest.raises(term.LabError, match="ISOLAB_KERNEL_ARM64_STOCK_NORT: there is no .*Image"):
        suite._kernel("arm64-stock-nort")
    (tmp_path / "Image").touch()
    which = suite._kernel("arm64-stock-nort")
    assert which.name == "arm64-stock-nort" and which.machine is ARM64
    assert which.image == tmp_path / "Image"
    assert suite._machine("stock-nort") is X86_64 and suite._machine("arm64") is ARM64


def test_kernels_of_both_machines_have_the_same_tests() -> None:
    for spec in ("rt", "nort", "stock-rt", "debug"):
        ((_, ours),) = suite._choose([spec], [], suite.SUITES["check"])
        ((_, foreign),) = suite._choose([f"arm64-{spec}"], [], suite.SUITES["check"])
        assert [t.name for t in ours] == [t.name for t in foreign]


def test_of_another_machine_is_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite, "OUT", tmp_path)
    assert suite.main("check", ["nort"], ["observer-high"], False) == term.SKIPPED
    assert "it is for arm64 only" in capsys.readouterr().out


def test_triggers_that_a_machine_cannot_have_are_named() -> None:
    fired, left_out = run._pick(["msr-read", "static-keys"], ARM64)
    assert [t.name for t in fired] == ["static-keys"]
    assert [(t.name, t.arch) for t in left_out] == [("msr-read", ("x86_64",))]
    assert run._pick(["msr-read"], X86_64)[1] == []
    assert all(set(t.arch) <= set(machine.NAMES) for t in header.triggers())


def test_board_without_a_place_says_so(tmp_path: Path) -> None:
    which = dataclasses.replace(built(tmp_path), name="arm64-stock-nort")
    with pytest.raises(term.LabError):
        guest._command(guest.Guest(which, "", spare_port=True, observe=False), tmp_path)
