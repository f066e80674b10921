# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/quiet-check: each rule is broken once, in an object as the compiler makes it."""

import shutil
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1] / "quiet-check"
HEAD = """
int isolator_quiet_enter(void *); void isolator_quiet_leave(void *);
extern int other(int); extern int (*pointer)(int); int word; static int mine(int x);
#define quiet __attribute__((noinline, section(".noinstr.text")))
__attribute__((noinline)) static int plain(int x) { asm volatile("" : "+r" (x)); return x; }
quiet static int mine(int x) { asm volatile("" : "+r" (x)); return x + word; }
int use(int x) { return plain(x); }
"""
LOOP = """
quiet int loop(void *c) { int n = 0; if (isolator_quiet_enter(c)) return 1;
while (!*(volatile int *)&word) { n += mine(n); BODY; } isolator_quiet_leave(c); return n; }
"""
COMPILERS = {"x86_64": "gcc", "arm64": "aarch64-linux-gnu-gcc"}
OFF = {"x86_64": "sti", "arm64": "msr daifclr, #2"}
ELSEWHERE = {"x86_64": "iretq", "arm64": "hvc #0"}
KEY = '''asm goto("1: nop\\n.pushsection __jump_table, \\"aw\\"\\n.long 1b - ., %l[l] - .\\n"
".quad word - .\\n.popsection" :::: l); l:'''
# For some processors there is a call; the kernel's entry has 14 bytes.
ALTERNATIVE = '''asm volatile("1: .nops 5\\n.pushsection .altinstructions, \\"a\\"\\n"
".long 1b - ., 2f - ., 0\\n.byte 5, 5\\n.popsection\\n"
".pushsection .altinstr_replacement, \\"ax\\"\\n2: call other\\n.popsection")'''
TRAP = {"x86_64": "ud2", "arm64": "brk #0x800"}
# As WARN() makes one: with a table that says what it is; and an access that is expected to fault.
TABLE = 'asm volatile("1: nop\\n.pushsection TABLE, \\"a\\"\\n.long 1b - .\\n.popsection")'
WARNED = TABLE.replace("TABLE", "__bug_table")
CAUGHT = TABLE.replace("TABLE", "__ex_table")
USER = {"x86_64": "stac", "arm64": "ldtr w0, [x1]"}
PLANTED = {
    "call": ("n += other(n)", "calls other,"),
    "plain": ("n += plain(n)", "calls .text"),
    "pointer": ("n += pointer(n)", "not told by the code"),
    "key": (KEY, "a static key is patched there"),
    "interrupts": ('asm volatile("OFF")', "may enable interrupts"),
    "privilege": ('asm volatile("ELSEWHERE")', "leads elsewhere"),
    "trap": ('asm volatile("TRAP")', "leads elsewhere"),
    "warning": (WARNED, "it traps there"),
    "exception": (CAUGHT, "it may fault there"),
    "user memory": ('asm volatile("USER" ::: "memory")', "accesses user memory"),
}
OF_ONE = {
    "x86_64": (ALTERNATIVE, "calls other,"),
    "arm64": ('asm volatile("msr s3_0_c4_c6_0, xzr")', "may enable interrupts"),
}


def checked(folder: Path, machine: str, body: str,
            *options: str) -> subprocess.CompletedProcess[str]:
    compiler = COMPILERS[machine]
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    source = folder / "module.c"
    for word, text in (("OFF", OFF), ("ELSEWHERE", ELSEWHERE), ("TRAP", TRAP), ("USER", USER)):
        body = body.replace(word, text[machine])
    source.write_text(HEAD + LOOP.replace("BODY", body))
    subprocess.run([compiler, "-O2", "-fno-pic", "-fno-asynchronous-unwind-tables", "-c",
                    "-fcf-protection=none" if machine == "x86_64" else "-mbranch-protection=none",
                    *options, source, "-o", folder / "module.ko"], check=True)
    return subprocess.run([TOOL, folder / "module.ko"], capture_output=True, text=True,
                          check=False)


@pytest.mark.parametrize("machine", COMPILERS)
def test_a_loop_that_keeps_the_rules(tmp_path: Path, machine: str) -> None:
    done = checked(tmp_path, machine, "")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "2 functions in .noinstr.text, 0 ways out" in done.stdout


@pytest.mark.parametrize("machine", COMPILERS)
@pytest.mark.parametrize("fault", [*PLANTED, "of one"])
def test_each_rule_broken(tmp_path: Path, machine: str, fault: str) -> None:
    body, said = PLANTED.get(fault) or OF_ONE[machine]
    done = checked(tmp_path, machine, body)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stdout
    assert "1 way out" in done.stdout


@pytest.mark.parametrize("trap", ["ud0 %eax, %eax", "ud1 %eax, %eax", "int3", "int1", "int $4"])
def test_each_trap(tmp_path: Path, trap: str) -> None:
    done = checked(tmp_path, "x86_64", f'asm volatile("{trap}")')
    assert done.returncode == 2, done.stdout + done.stderr
    assert "1 way out" in done.stdout


@pytest.mark.parametrize("trap", ["brk #4", "hlt #1", "udf #2"])
def test_each_trap_of_arm64(tmp_path: Path, trap: str) -> None:
    done = checked(tmp_path, "arm64", f'asm volatile("{trap}")')
    assert done.returncode == 2, done.stdout + done.stderr
    assert "1 way out" in done.stdout


# What no instruction leads to is no trap: against speculation, or between two functions.
FILLED = {
    "x86_64": ('asm volatile("jmp 1f\\nint3\\n1:")', "-mharden-sls=all"),
    "arm64": ('asm volatile("b 1f\\n.inst 0\\n1:")', "-O2"),
}
# Behind a jump, too, but another leads there.
REACHED = {
    "x86_64": 'asm volatile("jz 2f\\njmp 1f\\n2: int3\\n1:")',
    "arm64": 'asm volatile("b.eq 2f\\nb 1f\\n2: udf #0\\n1:")',
}


@pytest.mark.parametrize("machine", COMPILERS)
def test_what_fills_the_section(tmp_path: Path, machine: str) -> None:
    done = checked(tmp_path, machine, *FILLED[machine])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("machine", COMPILERS)
def test_a_trap_that_is_jumped_to(tmp_path: Path, machine: str) -> None:
    done = checked(tmp_path, machine, REACHED[machine])
    assert done.returncode == 2, done.stdout + done.stderr
    assert "1 way out" in done.stdout


def test_what_is_no_module(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a module, however long it is")
    done = subprocess.run([TOOL, tmp_path / "text"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is not an ELF file" in done.stderr
