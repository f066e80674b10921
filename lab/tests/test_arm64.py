# SPDX-License-Identifier: GPL-2.0-or-later
"""The arm64 guest: what it is made of, how it is booted, which tests it has."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from isolab import header, suite, term
from isolab.guests import arm64, guest, packages, qemu
from isolab.guests.kernel import Kernel
from isolab.guests.machine import ARM64
from isolab.paths import LAB, TOP
from newc import unpack

CONFIG = "config-6.12.1-arm64"


@pytest.fixture(name="fetched")
def _fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of the archive, which has it."""
    asked = []

    def fetch(
        name: str, suite: str, wanted: tuple[str, ...], instead: str = "", options: object = ()
    ) -> Path:
        asked.append(f"{suite} {wanted[0]} {options}")
        tree = tmp_path / "cache" / name
        for path in (
            *(f"boot/{CONFIG}", "boot/vmlinuz-6.12.1-arm64", "bin/busybox", ".packages"),
            f"usr/src/{wanted[0]}/Makefile",
        ):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(f"{path}\n")
        return tree

    monkeypatch.setenv("ISOLATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(packages, "unpack", fetch)
    return asked


def test_kernel_is_fetched_once_for_a_recipe(
    fetched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = arm64.kernel()
    assert first.arch == "aarch64" and first.image.read_text() == "boot/vmlinuz-6.12.1-arm64\n"
    assert arm64.kernel() == first
    assert len(fetched) == 5 and all("--alone" in one for one in fetched)
    # The tools that modules are built with run here.
    assert [one for one in fetched if "arm64" not in one.split(" ", 2)[2]] == [
        "bookworm-security linux-kbuild-6.12.1 ('--alone',)"
    ]
    # What else the packages had is not kept.
    assert {path.name for path in first.path.iterdir()} == {
        *("Image", CONFIG, "busybox", "packages", "headers")
    }
    # All of one kernel, whichever it is today.
    assert {path.name for path in (first.path / "headers" / "src").iterdir()} >= {
        "linux-headers-6.12.1-arm64",
        "linux-headers-6.12.1-common",
    }
    assert [path.name for path in first.path.parent.iterdir() if path.is_dir()] == [first.path.name]
    monkeypatch.setattr(arm64, "KERNEL", ("bookworm", "linux-image-arm64"))
    assert arm64.kernel().path != first.path
    assert len(fetched) == 10


def test_what_the_fetched_tools_need_is_installed() -> None:
    # linux-kbuild comes alone; on a machine without what it depends on no module is linked.
    group = (TOP / "tools" / "packages" / "arm64").read_text()
    assert "pahole" in {line.split("#")[0].strip() for line in group.splitlines()}


def test_half_a_fetch_is_no_kernel(fetched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = packages.unpack

    def fails(name: str, *others: object, **more: object) -> Path:
        if "busybox" in name:
            raise term.LabError("no busybox")
        return whole(name, *others, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(packages, "unpack", fails)
    with pytest.raises(term.LabError, match="no busybox"):
        arm64.kernel()
    monkeypatch.setattr(packages, "unpack", whole)
    assert (arm64.kernel().path / "busybox").exists()


@pytest.mark.parametrize(("code", "raised"), [(1, term.ERROR), (2, term.ERROR), (77, term.SKIPPED)])
def test_only_what_the_archive_has_not_is_a_skip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, raised: int
) -> None:
    def run(*_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(arm64, "BUILD", tmp_path)
    monkeypatch.setenv("ISOLATOR_CACHE", str(tmp_path))
    with pytest.raises(term.LabError) as fetch:
        packages.unpack("x", "bookworm", ("y",))
    with pytest.raises(term.LabError) as build:
        arm64.build()
    assert fetch.value.code == build.value.code == raised


def _lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Everything that goes into the guest, and the kernel."""
    for name, at in (
        *(("BUILT", "built"), ("AGENT", "agent"), ("GUEST", "guest")),
        ("DRIVER", "driver"),
    ):
        monkeypatch.setattr(arm64, name, tmp_path / at)
    monkeypatch.setattr(arm64, "LIBRARIES", tmp_path / "libraries")
    for path in (
        "agent/agent", "built/isolator", f"driver/{arm64.MODULE}", f"kernel/{CONFIG}",
        "kernel/busybox", "guest/root/lab/tests/smoke",
        *(f"libraries/{name}" for name in arm64.SHARED),
        *(f"built/lib/{name}" for name in arm64.PARTS),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    return Kernel("arm64", tmp_path / "kernel", arch="aarch64")


def test_what_comes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    which = _lay(tmp_path, monkeypatch)
    found = unpack(arm64.with_job(which, "true\n", tmp_path / "initrd").read_bytes())
    assert found["init"] == (0o100755, b"agent/agent")
    assert found["bin/sh"] == (0o120777, b"/bin/busybox")
    assert found["lab/bin/isolator"] == (0o100755, b"built/isolator")
    assert found["lab/built/libisolator.so.0"][0] == 0o100755
    assert found["lib/ld-linux-aarch64.so.1"][0] == 0o100755
    assert found[f"boot/{CONFIG}"][1].endswith(CONFIG.encode())
    assert "lab/tests/smoke" in found and f"lab/{arm64.MODULE}" in found
    # The shell's commands are there before the job begins.
    assert found["job/job"][1].decode().splitlines() == [
        "run applets 10000 busybox --install -s /bin",
        "true",
    ]


@pytest.mark.parametrize("icount", [False, True])
def test_how_it_is_booted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, icount: bool) -> None:
    emulator = qemu.Emulator("trixie", ("qemu-system-aarch64",), "10.0", "multi", "cortex-a72")
    asked = []

    def pick(target: str) -> qemu.Emulator:
        asked.append(target)
        return emulator

    monkeypatch.setattr(qemu, "pick", pick)
    monkeypatch.setattr(qemu, "kvm_usable", lambda: True)
    which = _lay(tmp_path, monkeypatch)
    what = guest.Guest(which, "", append="nohz_full=1", observe=False, want_kvm=True, icount=icount,
                       resets=icount)
    command, accel = guest._command(what, tmp_path)
    line = " ".join(command)
    assert asked == ["aarch64"]
    assert "-machine virt,gic-version=3" in line and "-cpu cortex-a72" in line
    # This machine's KVM runs no arm64.
    assert "kvm" not in accel and "tcg" in line
    assert ("-icount shift=0,sleep=off" in line) == ("-d cpu_reset" in line) == icount
    assert "console=ttyAMA0" in line and "console=ttyS0" not in line
    assert command.count("-serial") == 1
    assert "pci-serial,chardev=report" in line
    assert f"{ARM64.parameters} nohz_full=1" in command


def test_every_test_is_in_the_suite_and_nowhere_else() -> None:
    known = {test.name for test in header.tests(header.ARM64_TESTS)}
    ((spec, tests),) = suite._choose([], [], suite.SUITES["arm64"])
    assert spec == arm64.NAME and known == {test.name for test in tests}
    assert {"smoke", "library", "counters", "prove-pmu", "prove-no-pmu"} <= known
    for name in set(suite.SUITES) - {"arm64"}:
        for _, others in suite._choose([], [], suite.SUITES[name]):
            assert not any(test.kernel == "arm64" for test in others), name


def test_clock_and_parameters_part_the_guests() -> None:
    tests = header.tests(header.ARM64_TESTS)
    batches = suite._batches(tests)
    assert sorted(test.name for batch in batches for test in batch) == sorted(
        test.name for test in tests
    )
    for batch in batches:
        assert len({(test.icount, test.append, test.wires) for test in batch}) == 1
    assert ["counters", "prove-pmu"] in [[test.name for test in batch] for batch in batches]


def test_other_tests_with_parameters_stay_alone() -> None:
    for test in header.tests():
        assert test.alone or not test.append, test.name


FETCH = """#!/bin/sh
echo "$(basename "$0") $*" >>{log}
case "$(basename "$0") $*" in
*"show y") [ {has} = yes ] ;;
*"download y") exit 100 ;;
esac
"""


@pytest.mark.parametrize(("has", "code"), [("yes", 1), ("no", 77)])
def test_fetch_tells_what_the_archive_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has: str, code: int
) -> None:
    """With an apt that cannot download: 77 only where the lists name no such package."""
    for name in ("apt-get", "apt-cache"):
        (tmp_path / name).write_text(FETCH.format(log=tmp_path / "log", has=has))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    done = subprocess.run(
        [
            LAB / "host" / "fetch-deb",
            *("--suite", "bookworm", "--into", tmp_path / "into", "--arch", "arm64", "--alone"),
            "y",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert ("has no package y" in done.stderr) == (has == "no")
    assert "APT::Architectures=arm64" in (tmp_path / "log").read_text()


def test_an_archive_out_of_reach_lacks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With apt itself, and no server where the archive should be: an error, no skip."""
    (tmp_path / "apt-get").write_text(
        "#!/bin/sh\n"
        f"sed -i 's,^URIs:.*,URIs: http://127.0.0.1:9/,' {tmp_path}/into.apt/debian.sources\n"
        'exec /usr/bin/apt-get "$@"\n')
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    done = subprocess.run(
        [LAB / "host" / "fetch-deb", "--suite", "bookworm", "--into", tmp_path / "into", "bash"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no package lists of bookworm" in done.stderr


def test_wires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a guest whose test wants them has them; the tree is the board's own with one device."""
    emulator = qemu.Emulator("trixie", ("qemu-system-aarch64",), "10.0", "multi", "cortex-a72")
    ran: list[list[str]] = []

    def run(command: list[object], **_: object) -> SimpleNamespace:
        ran.append([str(word) for word in command])
        return SimpleNamespace(stdout="32771\n")

    monkeypatch.setattr(qemu, "pick", lambda target: emulator)
    which = _lay(tmp_path, monkeypatch)
    lines = []
    for kind in ("", "bare", "tree"):
        monkeypatch.setattr(subprocess, "run", run)
        what = guest.Guest(which, "", observe=False, wires=kind)
        lines.append(" ".join(guest._command(what, tmp_path)[0]))
    assert "qtest" not in lines[0] and "chardev=wires" not in lines[0]
    assert "-qtest unix:" in lines[1] and "pci-serial,chardev=wires" in lines[1]
    assert lines[1].index("chardev=report") < lines[1].index("chardev=wires")
    assert "-dtb" not in lines[1] and f"-dtb {tmp_path}/tree.dtb" in lines[2]
    assert f"virt,gic-version=3,dumpdtb={tmp_path}/tree.dtb" in ran[0]
    assert any("trigger-gpios 32771 0 0" in " ".join(one) for one in ran)
    assert any("line-gpios 32771 1 0 32771 2 0" in " ".join(one) for one in ran)


def test_only_known_wires(tmp_path: Path) -> None:
    test = tmp_path / "x.sh"
    test.write_text("#!/bin/sh\n# name: x\n# kernel: arm64\n# about: x\n# wires: loose\n")
    with pytest.raises(term.LabError, match="loose is none of"):
        header.tests(tmp_path)
