# SPDX-License-Identifier: GPL-2.0-or-later
"""The packages: versions agree, and what is built is in one of them."""

import re
import shutil
import subprocess
from importlib.metadata import version as installed
from pathlib import Path

import pytest
from steps import ROOT

DEBIAN = ROOT / "packaging/debian"


def _changelog() -> str:
    match = re.match(r"isolator \(([^)]+)\)", (DEBIAN / "changelog").read_text())
    assert match
    return match[1]


def test_versions() -> None:
    """One number for the library, the command, their pages and the packages."""
    assert f"  version: '{_changelog()}'," in (ROOT / "meson.build").read_text()
    assert f'"{_changelog()}"' in (ROOT / "cli/base/version.h").read_text()


def test_parts() -> None:
    """isolator-report is shipped with what its tests run with, each by its content."""
    lines = [line for line in (ROOT / "packaging/parts").read_text().splitlines()
             if "==" in line]
    assert len(lines) == 3
    for line in lines:
        match = re.fullmatch(r"(\w+)==(\S+) --hash=sha256:[0-9a-f]{64}", line)
        assert match and installed(match[1]) == match[2], line
        # As debian/copyright has it, with its licence.
        text = (DEBIAN / "copyright").read_text()
        assert f"Files: parts/{match[1]}/*" in text
        assert re.search(rf" {re.escape(match[2])}[ ,]", text), line


def test_build_packages() -> None:
    """What debian/control asks for is what tools/install-packages installs."""
    control = (DEBIAN / "control").read_text()
    match = re.search(r"^Build-Depends: (.*?)^\S", control, re.MULTILINE | re.DOTALL)
    assert match
    asked = {re.split(r"[ :(]", word.strip())[0] for word in match[1].split(",")}
    asked = {"debhelper" if word == "debhelper-compat" else word for word in asked}
    asked.add("build-essential")  # dpkg-buildpackage refuses to build without it
    group = {line.split("#")[0].strip()
             for line in (ROOT / "tools/packages/deb").read_text().splitlines()} - {""}
    assert asked <= group, asked - group


def test_changed_source_is_built(tmp_path: Path) -> None:
    """Each file counts, committed or not; without a change nothing is built again."""
    functions = re.findall(r"^(?:sources|present|key)\(\) \{.*?^\}",
                           (ROOT / "tools/deb").read_text(), re.MULTILINE | re.DOTALL)
    script = "\n".join([*functions, "version= SOURCE_DATE_EPOCH=0; key"])
    for program in ("dpkg", "dpkg-query"):
        (tmp_path / program).symlink_to("/bin/true")
    for place in ("cli", "lib", "tools"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "deb").write_text(place)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)

    def key() -> str:
        return subprocess.run(["sh", "-euc", script], cwd=tmp_path, capture_output=True, text=True,
                              check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}).stdout

    keys = [key()]
    assert key() == keys[0]
    (tmp_path / "cli/deb").write_text("changed")
    keys.append(key())
    (tmp_path / "cli/new").write_text("new")
    keys.append(key())
    (tmp_path / "lib/deb").unlink()
    keys.append(key())
    (tmp_path / "tools/deb").write_text("changed")
    keys.append(key())
    assert len(set(keys)) == len(keys), keys


def test_version_of_python() -> None:
    """isolator-report has a module for one version of Python, and installs with no other."""
    control = (DEBIAN / "control").read_text()
    assert "${report:Depends}" in control.split("Package: isolator-report\n")[1]
    rules = (DEBIAN / "rules").read_text()
    assert "-p isolator-report -- '-Vreport:Depends=$(versions)'" in rules
    match = re.search(r"^versions = \$\(shell (.*)\)$", rules, re.MULTILINE)
    assert match
    said = subprocess.run(["sh", "-c", match[1]], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"python3 \(>= 3\.(\d+)~\), python3 \(<< 3\.\d+~\)\n", said.stdout)
    low, high = (int(word) for word in re.findall(r"3\.(\d+)~", said.stdout))
    assert high == low + 1


def test_sources_can_be_configured() -> None:
    """What tools/deb lays out for a build has the project's own files, not only its parts'."""
    said = re.search(r"^sources\(\) \{.*? -- \\\n(.*?)^\}", (ROOT / "tools/deb").read_text(),
                     re.MULTILINE | re.DOTALL)
    assert said
    laid = subprocess.run(["git", "ls-files", "--", *said[1].replace("\\\n", " ").split()],
                          cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert {"meson.build", "meson_options.txt", "cli/meson.build", "lib/meson.build"} <= set(laid)


def test_install_packages_by_name() -> None:
    """Packages that no group has, as kernel/source.sh asks for them."""
    def listed(*words: str) -> str:
        return subprocess.run([ROOT / "tools/install-packages", "--list", *words], check=True,
                              capture_output=True, text=True).stdout

    assert listed("--names", "dpkg", "isolator-none", "isolator-none") == "isolator-none\n"
    done = subprocess.run([ROOT / "tools/install-packages", "--list", "isolator-none"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no group 'isolator-none'" in done.stderr


def test_one_maintainer() -> None:
    """Patches and packages name the same one."""
    series = sorted((ROOT / "kernel/patches").rglob("*.patch"))
    match = re.match(r"From: (.*)", series[0].read_text())
    assert match
    for file in ("debian/control", "debian/changelog", "kernel/pack.sh"):
        text = (ROOT / "packaging" / file).read_text()
        assert set(re.findall(r"[A-Z][\w ]+ <\S+@[^>]+>", text)) == {match[1]}, file


def test_symbols() -> None:
    """The package's symbols are those that the library promises."""
    promised = {line.replace("@@", "@") for line in
                (ROOT / "lib/tests/abi.symbols").read_text().splitlines() if line[0] != "#"}
    listed = {line.split()[0] for line in
              (DEBIAN / "libisolator0.symbols").read_text().splitlines()
              if line.startswith(" isolator_")}
    assert listed == promised


def test_every_page_and_schema_is_in_a_package() -> None:
    """One that is new and in none would stop no build."""
    text = "".join(file.read_text() for file in DEBIAN.glob("*.install"))
    patterns = [line.split()[0] for line in text.splitlines() if line.startswith("usr/share/")]
    assert "usr/share/man/man3" in patterns
    cli, man = ((ROOT / name).read_text() for name in ("cli/meson.build", "cli/man/meson.build"))
    for file in [*(ROOT / "cli/man").glob("*.[1-8]"), *(ROOT / "cli/schema").glob("*.json")]:
        command = file.stem.removeprefix("isolator").removeprefix("-")
        assert (f"'{command}'" in man if file.suffix == ".1" else
                f"/{file.name}'" in cli or f"'{file.name}'" in man), file
        place = (f"usr/share/man/man{file.suffix[1:]}/{file.name}" if file.parent.name == "man"
                 else f"usr/share/isolator/schema/{file.name}")
        assert any(Path(place).match(pattern) or place.startswith(f"{pattern}/")
                   for pattern in patterns), place


@pytest.mark.skipif(not shutil.which("systemd-sysusers"), reason="it needs systemd-sysusers")
def test_group(tmp_path: Path) -> None:
    """systemd makes the group of the file, which the udev rule names."""
    (tmp_path / "etc").mkdir()
    subprocess.run(["systemd-sysusers", f"--root={tmp_path}", DEBIAN / "isolator.sysusers"],
                   check=True)
    assert re.search(r"^isolator:", (tmp_path / "etc/group").read_text(), re.MULTILINE)
    assert 'GROUP="isolator", MODE="0660"' in (DEBIAN / "isolator.udev").read_text()


@pytest.mark.parametrize(("path", "asked"), [
    ("run/isolator/journal", True), ("run/isolator/run.1", True), ("var/lib/isolator/boot", True),
    ("run/isolator", False), ("run", False), ("var/lib/isolator", False)])
def test_removal_puts_back(tmp_path: Path, path: str, asked: bool) -> None:
    """All that the command has noted, also what a reboot has left of it."""
    place = tmp_path / "root" / path
    if asked:
        place.parent.mkdir(parents=True)
        place.touch()
    else:
        place.mkdir(parents=True)
    command = tmp_path / "isolator"
    command.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/log\n')
    command.chmod(0o755)
    script = (DEBIAN / "isolator.prerm").read_text()
    for directory in ("/run/", "/var/"):
        assert f" {directory}" in script
        script = script.replace(f" {directory}", f" {tmp_path}/root{directory}")
    for word in ("upgrade", "remove"):
        subprocess.run(["sh", "-c", script, "prerm", word], check=True,
                       env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    log = tmp_path / "log"
    assert (log.read_text() if log.exists() else "") == ("restore\n" if asked else "")


def test_tools_deb_says_what_is_wrong() -> None:
    """Wrong words, and a kernel where nothing makes one."""
    done = subprocess.run([ROOT / "tools/deb", "users"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and "usage: tools/deb" in done.stderr
    assert subprocess.run([ROOT / "tools/deb", "--help"], check=True, capture_output=True,
                          text=True).stdout.startswith("usage: tools/deb")
