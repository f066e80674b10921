# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers of triggers and tests, and how the lab reads kernels' addresses."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from isolab import header, suite, term
from isolab.guests import distro, observer
from isolab.guests.kernel import Kernel
from isolab.judge import jobs
from isolab.paths import LAB, TOP


def test_every_trigger_describes_itself() -> None:
    triggers = header.triggers()
    assert len(triggers) >= 16
    assert len({t.name for t in triggers}) == len(triggers)
    assert len({t.cls for t in triggers}) >= 5
    assert any(t.notick for t in triggers)


@pytest.mark.parametrize(
    ("lines", "good"),
    [
        (["arch: x86_64", "needs: a facility"], True),
        ([], True),
        (["arch: x86_64 arm64"], True),
        (["arch: x86_64"], False),
        (["needs: a facility"], False),
    ],
)
def test_what_a_machine_lacks_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], good: bool
) -> None:
    path = tmp_path / "triggers" / "x.sh"
    path.parent.mkdir()
    head = ["name: x", "row: 1", "class: defer", "kind: script", "about: x", *lines]
    path.write_text("#!/bin/sh\n" + "".join(f"# {line}\n" for line in head))
    monkeypatch.setattr(header, "LAB", tmp_path)
    if good:
        (trigger,) = header.triggers()
        assert bool(trigger.needs) == (len(trigger.arch) == 1)
    else:
        with pytest.raises(term.LabError, match="needs:"):
            header.triggers()


def test_nobody_keeps_the_kernel_log_from_the_console() -> None:
    """It is what is judged; what is kept from it meanwhile nobody sees."""
    quiets = re.compile(r"dmesg -[a-zA-Z]*[nDE]|sys/kernel/printk\b|SYSLOG_ACTION_CONSOLE")
    sources = [p for p in (LAB / "triggers").iterdir() if p.suffix in (".c", ".sh")]
    sources += [*(LAB / "guest" / "tests").glob("*.sh"), *(LAB / "guest" / "tests").glob("*.c")]
    assert [p.name for p in sources if quiets.search(p.read_text())] == []


def test_only_defer_exclude_and_quiesce_run_while_nobody_ticks() -> None:
    for trigger in header.triggers():
        if trigger.notick:
            assert trigger.cls in ("defer", "exclude", "quiesce"), trigger.name


def test_every_test_describes_itself_and_is_in_a_suite() -> None:
    known = {t.name for t in header.tests()}
    assert "observer-counts" in known
    chosen = {
        t.name for _, tests in suite._choose([], [], suite.SUITES["full-debug"]) for t in tests
    }
    hours = {t.name for t in header.tests() if t.long == "hour"}
    assert known == chosen | hours and not chosen & hours
    steps = subprocess.run(
        [TOP / "tools/campaign", "--list"], capture_output=True, text=True, check=True
    ).stdout
    assert all(re.search(rf"^{name}-", steps, re.MULTILINE) for name in hours)


@pytest.mark.parametrize("words", [(), ("--only", "memory")])
def test_a_list_may_be_read_in_part(words: tuple[str, ...]) -> None:
    """As by head: no traceback, whoever closes the pipe."""
    read, write = os.pipe()
    os.close(read)
    told = subprocess.run([sys.executable, "-m", "isolab", "test", "--list", *words],
                          cwd=TOP, env={**os.environ, "PYTHONPATH": "lab:scope:report"},
                          stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (told.returncode, told.stderr) == (1, "")


def test_what_may_be_skipped_is_skipped_somewhere() -> None:
    """Each reason that a header allows is one that the test has, and each that it has is allowed.

    None is that Isolator, or what comes with a kernel that has it, is not there.
    """
    every = (*header.tests(), *header.tests(header.DISTRO_TESTS), *header.tests(header.ARM64_TESTS))
    may = {t.name: t.skips for t in every if t.skips}
    assert may and all(len(reason) > 8 for skips in may.values() for reason in skips)
    reasons = {
        path: re.findall(r'skip_all\(?\s*"([^"]*)"', path.read_text())
        for path in sorted(header.TESTS.glob("*.*"))
    }
    for path, said in reasons.items():
        assert path.read_text().count("skip_all") == len(said), path
        for reason in said:
            assert any(part in reason for skips in may.values() for part in skips), (path, reason)
            assert "isolator" not in reason.lower() and "kunit" not in reason.lower(), path
    for skips in may.values():
        for part in skips:
            assert any(part in reason for said in reasons.values() for reason in said), part


def _chosen(name: str) -> dict[str, set[str]]:
    """The tests of a suite, by its kernels."""
    found = suite._choose([], [], suite.SUITES[name])
    return {spec: {t.name for t in tests} for spec, tests in found}


def test_every_test_of_the_distribution_guest_is_in_a_suite() -> None:
    known = {t.name for t in header.tests(header.DISTRO_TESTS)}
    assert "killed" in known
    found = {name: _chosen(name) for name in suite.SUITES
             if "distro" in name or name in ("deb", "deb-rt")}
    assert all(spec.startswith(distro.PREFIX) for one in found.values() for spec in one)
    assert set().union(*found["full-distro"].values()) == known - {"deb"}
    assert found["deb"] == {"distro-deb-cloud": {"deb"}}
    assert found["deb-rt"] == {"distro-deb-cloud-rt": {"deb"}}
    assert found["distro"]["distro-plain"] == known - {"programs", "deb"}
    assert found["distro-check"] == {"distro-isolator-nort": {"programs"}}
    # And nowhere else: they need systemd.
    for tests in _chosen("full-debug").values():
        assert not known & tests


def test_a_wrong_header_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "triggers").mkdir()
    (tmp_path / "triggers" / "x.sh").write_text("# name: x\n# row: 1\n# class: nonsense\n")
    monkeypatch.setattr(header, "LAB", tmp_path)
    with pytest.raises(term.LabError, match=r"x\.sh: nonsense is none of"):
        header.triggers()


HEAD = "name: x", "kernel: any", "about: x"


def _header(path: Path, lines: tuple[str, ...], behind: str = "") -> list[header.GuestTest]:
    """A test in C with these lines in its header; @behind: one of the comment that follows it."""
    more = f" *\n * {behind}\n" if behind else ""
    path.write_text("/* SPDX-License-Identifier: x */\n/*\n"
                    + "".join(f" * {line}\n" for line in lines) + more + " */\n// no: key\n")
    return header.tests(path.parent)


def test_a_line_of_a_header_is_never_ignored(tmp_path: Path) -> None:
    path = tmp_path / "x.c"
    (test,) = _header(path, ("skips: a", *HEAD, "dmesg: b", "dmesg: c"), "that: some words")
    assert test.skips == ("a",) and test.allows == ("b", "c")
    for wrong in ("dmseg: b", "Dmesg: b", "dmesg b", "row: 1", "alone: true", "once: Yes"):
        for lines in ((*HEAD, wrong), (wrong, *HEAD)):
            with pytest.raises(term.LabError, match=r"x\.c: "):
                _header(path, lines)
    for wrong, why in (
        ("dmesg:", "says nothing"), ("skips: ", "says nothing"),
        ("observe: 1 syscals 0", "vector: syscals"),
        ("observe: 1 any 0", "needs alone"), ("equal: 1 2 kernel_instructions 1", "needs alone"),
    ):
        with pytest.raises(term.LabError, match=why):
            _header(path, (*HEAD, wrong))
    (test,) = _header(path, (*HEAD, "alone: yes", "observe: 1 unknown 0"))
    assert test.expects
    with pytest.raises(term.LabError, match="2 times"):
        _header(path, (*HEAD, "append: a", "append: b"))
    with pytest.raises(term.LabError, match="behind"):
        _header(path, HEAD, "dmesg: b")
    with pytest.raises(term.LabError, match="name:"):
        _header(path, HEAD[1:])


@pytest.mark.parametrize(
    ("kernel", "alone", "good"),
    [
        ("isolator-faults", "yes", True), ("isolator-faults", "no", False),
        ("isolator", "yes", False),
    ],
)
def test_only_a_planted_fault_in_a_guest_of_its_own_leaves_a_process(
    tmp_path: Path, kernel: str, alone: str, good: bool
) -> None:
    path = tmp_path / "x.c"
    lines = ("name: x", "about: x", "leaves: yes", f"kernel: {kernel}", f"alone: {alone}")
    if good:
        assert _header(path, lines)[0].leaves
        return
    with pytest.raises(term.LabError, match="leaves: needs"):
        _header(path, lines)


def test_a_trigger_has_its_own_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "triggers" / "x.sh"
    path.parent.mkdir()
    head = ["name: x", "row: 1", "class: defer", "kind: script", "about: x"]
    monkeypatch.setattr(header, "LAB", tmp_path)
    for more, good in (("user: yes", True), ("dmesg: b", False), ("usr: yes", False)):
        path.write_text("#!/bin/sh\n" + "".join(f"# {line}\n" for line in [*head, more]))
        if good:
            assert header.triggers()[0].user
        else:
            with pytest.raises(term.LabError, match="of a header"):
                header.triggers()


def test_every_key_is_in_the_description() -> None:
    said = (TOP / "docs" / "lab.md").read_text()
    for keys, mark in ((header.TRIGGER_KEYS, "# "), (header.TEST_KEYS, " * ")):
        for key in keys:
            known = re.search(rf"^{re.escape(mark)}{key}:", said, re.MULTILINE)
            assert known or f"`{key}: 8` says" in said, key


def test_a_job_closes_every_window() -> None:
    for config in jobs.CONFIGS:
        lines = jobs.job(config, header.triggers(), 30).splitlines()
        opened = [line.split()[1][6:] for line in lines if line.startswith("ctl begin.")]
        closed = [line.split()[1][4:] for line in lines if line.startswith("ctl end.")]
        assert opened == closed
        assert ("no-tick" in opened) == config.isolates


def test_vectors_have_names(tmp_path: Path) -> None:
    (tmp_path / "System.map").write_text(
        "ffffffff81600000 T entry_SYSCALL_64\n"
        "ffffffff81601000 T irq_entries_start\n"
        "ffffffff81601700 T spurious_entries_start\n"
        "ffffffff81601800 T asm_sysvec_apic_timer_interrupt\n"
    )
    built = Kernel("k", tmp_path)
    assert built.symbol_at(0xFFFFFFFF81601800) == "sysvec_apic_timer_interrupt"
    assert built.symbol_at(0xFFFFFFFF81601000 + 3 * 8) == "irq_0x23"
    assert built.symbol_at(0xFFFFFFFF81600004) == "entry_SYSCALL_64+0x4"
    assert built.syscall_entries() == [0xFFFFFFFF81600000]


def test_what_the_observer_is_told_of_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer, "_built", lambda: tmp_path)
    table = (
        "ffffffff81600000 T entry_SYSCALL_64\n"
        "ffffffff81700000 T asm_sysvec_call_function_single\n"
    )
    stock, ours = Kernel("stock", tmp_path / "stock"), Kernel("ours", tmp_path / "ours")
    for built, more in ((stock, ""), (ours, "ffffffff81800000 T isolator_deliver\n")):
        built.path.mkdir()
        (built.path / "System.map").write_text(table + more)
    out = tmp_path / "out"
    said = f"{tmp_path}/observer.so,out={out},syscall=0xffffffff81600000,log=64"
    said += ",kick=0xffffffff81700000"
    assert observer.arguments(stock, out, heavy=False) == ["-plugin", said]
    said += ",deliver=0xffffffff81800000"
    assert observer.arguments(ours, out, heavy=False) == ["-plugin", said]
    assert observer.arguments(ours, out, heavy=True) == ["-plugin", f"{said},heavy=on"]


def test_a_test_that_is_run_once_is_in_every_full_suite() -> None:
    once = {t.name for t in header.tests() if t.once}

    def chosen(name: str) -> dict[str, set[str]]:
        return {spec: tests & once for spec, tests in _chosen(name).items()}

    assert chosen("check") == {"nort": once} and chosen("check-arm64") == {"arm64-rt": set()}
    assert chosen("full-rt") == {"rt": once} and chosen("full-nort") == {"nort": once}


def test_make_check_runs_the_other_tests_on_both_its_kernels() -> None:
    once = {t.name for t in header.tests() if t.once}
    faults = {t.name for t in header.tests() if t.kernel == "isolator-faults"}
    first, second = _chosen("check")["nort"], _chosen("check-arm64")["arm64-rt"]
    assert first - second == faults | once
    assert "quiet" in second <= first
