# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/deb-kernel, but for building a kernel: its errors, its packages, their scripts."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "deb-kernel"
PACKAGING = ROOT / "packaging" / "kernel"
RELEASE = "6.12.9-isolator-test"
EFIVAR = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def sh(script: str, **how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=False,
                          env={**os.environ, **how})


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--config", "/nowhere/config"], "cannot read the configuration /nowhere/config"),
        (["--sign", "/nowhere/key", "/nowhere/cert"], "cannot read /nowhere/key"),
        (["--name", "My_Kernel"], "small letters, digits and dots"),
        (["--flavour", "server"], "--flavour server: cloud or generic"),
        (["--flavour", "cloud", "--config", "/dev/null"], "give one of them"),
        (["--arch", "riscv"], "--arch riscv: x86_64 or arm64"),
        (["--maybe"], "usage: tools/deb-kernel"),
    ],
)
def test_errors(arguments: list[str], error: str) -> None:
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and error in done.stderr


def test_an_option_that_did_not_take_is_named(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text('CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="x"\nCONFIG_D=y\n')
    ask = f'. {ROOT}/kernel/source.sh; options_took "{config}"'
    good = subprocess.run(["sh", "-ec", ask], input='CONFIG_A=y\nCONFIG_B=n\nCONFIG_C="x"\n',
                          capture_output=True, text=True, check=False)
    assert good.returncode == 0 and not good.stderr
    bad = subprocess.run(["sh", "-ec", ask], text=True, capture_output=True, check=False,
                         input="CONFIG_A=y\nCONFIG_D=n\nCONFIG_ISOLATOR=y\nCONFIG_B=y\n")
    assert bad.returncode == 1
    assert sorted(bad.stderr.splitlines()) == [
        "  CONFIG_B=y (is: not set)",
        "  CONFIG_D=n (is: CONFIG_D=y)",
        "  CONFIG_ISOLATOR=y (is: not set)",
    ]


def test_progress_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "deb").mkdir()
    (tmp_path / "deb/objects-test").write_text("100\n")
    script = f'''
        say() {{ echo "$*"; }}
        objects={tmp_path} name=test cache={tmp_path}
        . {PACKAGING}/progress.sh
        progress'''
    lines = "".join(f"  CC      a/{n}.o\n" for n in range(30))
    first = subprocess.run(["sh", "-euc", script], input=lines, capture_output=True, text=True,
                           check=True)
    assert first.stdout.splitlines()[0] == "test: 1 of about 100 objects"
    lines = "  CC [M]  b/1.o\nx.c:1: error: no such thing\nmake: *** Error 2\n"
    again = subprocess.run(["sh", "-euc", script], input=lines, capture_output=True, text=True,
                           check=True)
    assert again.stdout.splitlines() == [
        "test: 31 of about 100 objects", "x.c:1: error: no such thing", "make: *** Error 2"]
    (tmp_path / "deb/objects-test").write_text("10\n")
    more = subprocess.run(["sh", "-euc", script], input="  CC      c/1.o\n", capture_output=True,
                          text=True, check=True)
    assert more.stdout == "test: 32 objects\n"


def test_programs_do_not_tell_where_they_were_built(tmp_path: Path) -> None:
    """As objtool does, which is compiled with debug information; and they are not the weaker."""
    option = re.search(r"HOSTLDFLAGS=(\S+)", TOOL.read_text())
    assert option
    made = []
    for place in ("a", "b/longer"):
        where = tmp_path / place
        where.mkdir(parents=True)
        (where / "main.c").write_text("int main(void) { return 0; }\n")
        built = sh(f"cd '{where}' && gcc -g -Wl,--build-id {option[1]} -o program main.c")
        assert not built.returncode, built.stderr
        made.append(where / "program")
    assert made[0].read_bytes() != made[1].read_bytes()
    for program in made:
        done = sh(f". '{PACKAGING}/pack.sh'; strip_programs '{program.parent}'")
        assert not done.returncode, done.stderr
        assert subprocess.run([program], check=False).returncode == 0
        headers = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True,
                                 check=True).stdout
        assert "GNU_RELRO" in headers
    assert made[0].read_bytes() == made[1].read_bytes()


@pytest.mark.parametrize(("library", "said", "wanted"), [
    ("", "libc6 (>= 2.", 0),
    ("-lcrypto", "libc6 (>= 2.17), libssl3 (>= 3.0.0)", 0),
    ("-lother", "which package has libother.so?", 1),
])
def test_what_programs_of_another_machine_need(tmp_path: Path, library: str, said: str,
                                               wanted: int) -> None:
    """Nothing of that architecture is installed where its packages are built."""
    compiler = "aarch64-linux-gnu-gcc"
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is missing: tools/install-packages arm64")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "script").write_text("#!/bin/sh\n")
    (programs / "script").chmod(0o755)
    done = sh(f"""
        cd '{tmp_path}'
        echo 'int f(void) {{ return 0; }}' >lib.c
        {compiler} -shared -Wl,-soname,libcrypto.so.3 -o libcrypto.so lib.c
        {compiler} -shared -Wl,-soname,libother.so -o libother.so lib.c
        echo 'int puts(const char *); int f(void); int main(void) {{ return puts("") + f(); }}' >m.c
        [ -n '{library}' ] || echo 'int f(void) {{ return 0; }}' >>m.c
        {compiler} -nostartfiles -Wl,-e,main -o programs/p m.c -L. {library}
        die() {{ echo "$*" >&2; exit 1; }}
        cross=aarch64-linux-gnu- work=.
        . {PACKAGING}/pack.sh
        headers_depends programs""")
    assert done.returncode == wanted and said in done.stdout + done.stderr


def pack_headers(folder: Path, more: str = "") -> tuple[subprocess.CompletedProcess[str], Path]:
    """For arm64, of a tree that has only what is looked at; @more: what else makes the headers."""
    compiler = "aarch64-linux-gnu-gcc"
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is missing: tools/install-packages arm64")
    extmod = folder / "tree/scripts/package/install-extmod-build"
    extmod.parent.mkdir(parents=True)
    # As Linux's: bison names its header's guard for where it is.
    extmod.write_text(f"""
        mkdir -p "$1/scripts/genksyms" "$1/tools/bpf/resolve_btfids"
        echo "#ifndef YY_$1" >"$1/scripts/genksyms/parse.tab.h"
        echo "int yyparse(void);" >"$1/scripts/genksyms/parse.tab.c"
        echo "int main(void) {{ return 0; }}" >"$1/main.c"
        "$CC" -o "$1/scripts/sign-file" "$1/main.c"
        "$HOSTCC" -o "$1/tools/bpf/resolve_btfids/resolve_btfids" "$1/main.c"
        {more}""")
    parser = folder / "objects/scripts/genksyms"
    parser.mkdir(parents=True)
    (parser / "parse.tab.h").write_text("#ifndef YY_SCRIPTS\n")
    (parser / "parse.tab.c").write_text("int yyparse(void);\n")
    (folder / "objects/.config").write_text("")
    done = sh(f"""
        cd '{folder}'
        mkdir work
        die() {{ echo "$*" >&2; exit 1; }}
        say() {{ :; }}
        foreign() {{ beside=/nowhere; }}
        top='{ROOT}' tree='{folder}/tree' objects='{folder}/objects' work='{folder}/work'
        release={RELEASE} name=test line=6.12 package=linux-source-6.12 version=1 deb_version=1-1
        arch=arm64 deb_arch=arm64 machine=183 cross=aarch64-linux-gnu- source_arch=arm64 signed=no
        . {PACKAGING}/pack.sh
        pack_headers '{folder}'""", SOURCE_DATE_EPOCH="1700000000")
    return done, folder / f"linux-headers-{RELEASE}_1-1_arm64.deb"


def test_headers_of_another_machine_do_not_tell_where_they_were_built(tmp_path: Path) -> None:
    sums = set()
    for place in ("a", "b/longer"):
        (tmp_path / place).mkdir(parents=True)
        done, deb = pack_headers(tmp_path / place)
        assert not done.returncode, done.stderr
        sums.add(hashlib.sha256(deb.read_bytes()).hexdigest())
    listed = subprocess.run(["dpkg-deb", "-c", deb], capture_output=True, text=True, check=True)
    assert "scripts/genksyms/parse.tab.h" in listed.stdout
    assert "scripts/sign-file" in listed.stdout and "resolve_btfids" not in listed.stdout
    assert len(sums) == 1


def test_a_program_that_would_not_run_there_is_named(tmp_path: Path) -> None:
    done, deb = pack_headers(tmp_path, '"$HOSTCC" -o "$1/scripts/left" "$1/main.c"')
    assert done.returncode == 1 and not deb.exists()
    assert "these do not run on arm64: scripts/left;" in done.stderr


def test_packed_twice_is_the_same(tmp_path: Path) -> None:
    """Whatever the directory, the times, the rights and the order in which files were made."""
    sums = set()
    for number, mask in enumerate(("022", "077")):
        root = tmp_path / str(number) / "root"
        names = ["usr/bin/b", "usr/bin/a", "usr/share/doc/p/c"]
        done = sh(f'''
            umask {mask}
            mkdir -p "{root}/usr/bin" "{root}/usr/share/doc/p"
            for f in {" ".join(names if number else reversed(names))}; do
                echo text >"{root}/$f"
            done
            chmod u+x "{root}/usr/bin/a"
            ln -s a "{root}/usr/bin/l"
            say() {{ :; }}
            die() {{ echo "$*"; exit 1; }}
            deb_version=1-1
            . {PACKAGING}/pack.sh
            printf 'Section: admin\\nDescription: a package\\n' | finish "{root}" p all "{root}/.."
        ''', SOURCE_DATE_EPOCH="1700000000")
        assert done.returncode == 0, done.stdout + done.stderr
        deb = root.parent / "p_1-1_all.deb"
        sums.add(hashlib.sha256(deb.read_bytes()).hexdigest())
    assert len(sums) == 1
    listed = subprocess.run(["dpkg-deb", "-c", deb], capture_output=True, text=True, check=True,
                            env={**os.environ, "TZ": "UTC"}).stdout
    assert "-rwxr-xr-x root/root         5 2023-11-14 22:13 ./usr/bin/a\n" in listed
    assert "-rw-r--r-- root/root         5 2023-11-14 22:13 ./usr/bin/b\n" in listed


class Installed:
    """A root directory, and maintainer scripts that run for it; what they call is noted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "tools"
        self.bin.mkdir(parents=True)
        self.log = root / "log"
        for name in ("depmod", "linux-check-removal"):
            tool = self.bin / name
            tool.write_text(f'#!/bin/sh\necho "{name} $*" >>{self.log}\n')
            tool.chmod(0o755)
        for kind in ("postinst", "prerm", "postrm", "header_postinst"):
            hook = root / f"etc/kernel/{kind}.d/hook"
            hook.parent.mkdir(parents=True)
            hook.write_text(f'#!/bin/sh\necho "{kind} $* for $DEB_MAINT_PARAMS" >>{self.log}\n')
            hook.chmod(0o755)

    def script(self, name: str, *arguments: str, signed: str = "no",
               wanted: int = 0) -> list[str]:
        text = (PACKAGING / name).read_text()
        made = self.root / name
        made.write_text(text.replace("@RELEASE@", RELEASE).replace("@SIGNED@", signed))
        self.log.write_text("")
        done = subprocess.run(
            ["sh", made, *arguments], capture_output=True, text=True, check=False,
            env={"PATH": f"{self.bin}:{os.environ['PATH']}", "DPKG_ROOT": str(self.root)})
        assert done.returncode == wanted, done.stderr
        self.said = done.stdout
        return self.log.read_text().splitlines()


@pytest.fixture(name="installed")
def _installed(tmp_path: Path) -> Iterator[Installed]:
    yield Installed(tmp_path / "root")


def test_hooks_of_the_machine_are_run(installed: Installed) -> None:
    image = f"{installed.root}/boot/vmlinuz-{RELEASE}"
    assert installed.script("image.postinst", "configure", "") == [
        f"depmod -b {installed.root} {RELEASE}",
        f"postinst {RELEASE} {image} for configure "]
    assert installed.said == ""
    assert installed.script("headers.postinst", "configure") == [
        f"header_postinst {RELEASE} for configure"]
    assert installed.script("image.prerm", "remove") == [
        f"linux-check-removal {RELEASE}", f"prerm {RELEASE} {image} for remove"]
    assert installed.script("image.postrm", "purge") == [f"postrm {RELEASE} {image} for purge"]
    for script, action in (("image.postinst", "abort-upgrade"), ("image.prerm", "upgrade"),
                           ("image.postrm", "upgrade"), ("headers.postinst", "triggered")):
        assert installed.script(script, action) == []


def test_a_hook_that_fails_fails_the_installation(installed: Installed) -> None:
    (installed.root / "etc/kernel/postinst.d/hook").write_text("#!/bin/sh\nexit 3\n")
    installed.script("image.postinst", "configure", wanted=1)


@pytest.mark.parametrize(
    ("state", "signed", "word"),
    [(1, "no", "NOT signed"), (1, "yes", "mokutil --import"), (0, "no", ""), (None, "no", "")],
)
def test_secure_boot_is_named(
    installed: Installed, state: int | None, signed: str, word: str
) -> None:
    if state is not None:
        variable = installed.root / EFIVAR
        variable.parent.mkdir(parents=True)
        variable.write_bytes(bytes([6, 0, 0, 0, state]))
    installed.script("image.postinst", "configure", signed=signed)
    assert word in installed.said
    assert bool(word) == bool(installed.said)
    assert (signed == "no") == ("--sign" in installed.said) or not word


def test_purge_leaves_nothing(installed: Installed) -> None:
    modules = installed.root / "lib/modules" / RELEASE
    (modules / "updates/dkms").mkdir(parents=True)
    for name in ("dep", "dep.bin", "alias", "alias.bin", "builtin.bin", "builtin.alias.bin",
                 "devname", "softdep", "symbols", "symbols.bin"):
        (modules / f"modules.{name}").write_text("made by depmod")
    installed.script("image.postrm", "remove")
    assert not modules.exists()
    (modules / "extra").mkdir(parents=True)
    (modules / "extra/own.ko").write_text("somebody's")
    installed.script("image.postrm", "purge")
    assert [p.name for p in modules.rglob("*")] == ["extra", "own.ko"]


def test_purge_of_the_choice(installed: Installed) -> None:
    state = installed.root / "var/lib/isolator-boot/default"
    state.parent.mkdir(parents=True)
    state.write_text("")
    installed.script("boot.postrm", "remove")
    assert state.exists()
    installed.script("boot.postrm", "purge")
    assert not state.parent.exists()


def test_every_list_of_depmod_is_known(tmp_path: Path) -> None:
    """What this machine's depmod makes is what is removed."""
    if not shutil.which("depmod"):
        pytest.skip("depmod is missing: apt-get install kmod")
    modules = tmp_path / "lib/modules" / RELEASE
    modules.mkdir(parents=True)
    for name in ("order", "builtin", "builtin.modinfo"):
        (modules / f"modules.{name}").write_text("")
    subprocess.run(["depmod", "-b", tmp_path, RELEASE], check=True)
    made = {p.name for p in modules.iterdir()} - {"modules.order", "modules.builtin",
                                                  "modules.builtin.modinfo"}
    text = (PACKAGING / "image.postrm").read_text()
    listed = text[text.index("for name in"):text.index("; do")].replace("\\\n", " ").split()[3:]
    assert made <= {f"modules.{name}" for name in listed}
