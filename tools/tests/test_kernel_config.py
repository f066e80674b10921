# SPDX-License-Identifier: GPL-2.0-or-later
"""What CONFIG_ISOLATOR cannot be had with, by the kernel's own configuration program."""

import os
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("ISOLATOR_CACHE") or pathlib.Path.home() / ".cache/isolator")
NEEDED = ["SMP", "HIGH_RES_TIMERS", "NO_HZ_FULL", "PROC_FS", "STACKTRACE", "HOTPLUG_CPU",
          "POSIX_TIMERS"]
ARCHITECTURES = ["X86_64", "ARM64"]
HARMFUL = {"STACKLEAK_RUNTIME_DISABLE": "security/Kconfig.hardening"}


@pytest.fixture(scope="module", name="source")
def kernel_source() -> pathlib.Path:
    found = sorted(path.parent for path in CACHE.glob("kernel/src/*/.unpacked"))
    if not found:
        pytest.skip("no kernel source in the cache: kernel/build unpacks it")
    return found[-1]


@pytest.fixture(scope="module", name="conf")
def configuration_program(
    source: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> pathlib.Path:
    out = tmp_path_factory.mktemp("kconfig")
    subprocess.run(["make", "-s", "-C", source, f"O={out}", "ARCH=x86_64", "allnoconfig"],
                   check=True, stdout=subprocess.DEVNULL)
    return out / "scripts/kconfig/conf"


def has_isolator(conf: pathlib.Path, where: pathlib.Path, options: list[str]) -> bool:
    kconfig = where / "Kconfig"
    symbols = [*ARCHITECTURES, *NEEDED, *HARMFUL, "DEBUG_KERNEL", "KUNIT", "KUNIT_ALL_TESTS"]
    kconfig.write_text(
        "".join(f'config {name}\n\tbool "{name}"\n' for name in symbols)
        + f'source "{TOP}/kernel/isolator/Kconfig"\n'
    )
    wanted = where / ".config"
    wanted.write_text("".join(f"CONFIG_{name}=y\n" for name in [*options, "ISOLATOR"]))
    subprocess.run([conf, "-s", "--olddefconfig", kconfig], check=True, cwd=where,
                   env={**os.environ, "KCONFIG_CONFIG": str(wanted), "srctree": str(where)})
    return "CONFIG_ISOLATOR=y" in wanted.read_text().splitlines()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_isolator_with_what_it_needs(
    architecture: str, conf: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    assert has_isolator(conf, tmp_path, [architecture, *NEEDED])


def test_no_isolator_elsewhere(conf: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert not has_isolator(conf, tmp_path, NEEDED)


@pytest.mark.parametrize("option", HARMFUL)
def test_no_isolator_with(
    option: str, source: pathlib.Path, conf: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    assert f"config {option}\n" in (source / HARMFUL[option]).read_text()
    assert not has_isolator(conf, tmp_path, ["X86_64", *NEEDED, option])


def test_what_the_machine_and_its_user_have_changes_no_kernel(
    source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """kernel/make: each version would be in the configuration, and so in every object's key.

    Its arguments name the architecture, whatever MAKEFLAGS, ARCH and CROSS_COMPILE say.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, version in (("pahole", "v1.99"), ("rustc", "rustc 1.99.0 (0 2026-01-01)")):
        (programs / name).write_text(f"#!/bin/sh\necho '{version}'\n")
        (programs / name).chmod(0o755)
    out = tmp_path / "out"
    subprocess.run(
        [TOP / "kernel/make", "x86_64", "", "-s", "-C", source, f"O={out}", "allnoconfig"],
        check=True, stdout=subprocess.DEVNULL,
        env={**os.environ, "MAKEFLAGS": " -- ARCH=arm64", "ARCH": "arm64",
             "CROSS_COMPILE": "isolator-none-", "PATH": f"{programs}:{os.environ['PATH']}"})
    made = (out / ".config").read_text().splitlines()
    assert {"CONFIG_PAHOLE_VERSION=0", "CONFIG_RUSTC_VERSION=0", "CONFIG_X86=y"} <= set(made)
