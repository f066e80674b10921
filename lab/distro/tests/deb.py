#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# name: deb
# cpus: 3
# kernel: distro-deb
# timeout: 3000
# alone: yes
# windows: 2
# about: packages: a kernel beside the stock one, booted when asked, quiet; purged, nothing is left
#
# GRUB itself does not run here: what it was told is read by grubmenu.py, and kexec starts that.
import ctypes
import json
import os
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import Any, NoReturn

INSTALLED = "/usr/bin/isolator"
if os.path.exists(INSTALLED):
    os.environ["ISOLATOR"] = INSTALLED

import grubmenu  # noqa: E402
import inventory  # noqa: E402
from counting import (  # noqa: E402
    CPU,
    HOUSEKEEPING,
    PRELOAD,
    PROGRAMS,
    Trigger,
    counts,
    grown,
    interrupts,
    mark,
    owner,
)
from machine import ISOLATOR, carry_on, check, done, isolator, note, put_aside, until  # noqa: E402

# On the disk, which outlives a reboot.
STATE = Path("/var/lib/isolab.deb")
MENU = Path("/boot/grub/grub.cfg")
DEBS = sorted(Path("/lab/debs").glob("*.deb"))
RELEASE = os.uname().release
KEXEC, KEXEC_FILE_LOAD = Path("/lab/kexec/kexec"), 320
WINDOW_S, SETTLE_S = float(os.environ.get("WINDOW_S", "8")), 0.3
LEAST_USER = 1_000_000  # instructions a second: the program did run
MOST_FAULTS = 20
LEAST_PER_S = 20  # interrupts of a CPU that has its tick
# Of the triggers those that need nothing but what every Debian kernel has.
TRIGGERS = ("bpf-load", "compact-memory", "drop-caches", "rcu-sync", "static-keys",
            "thread-churn", "timerfd-storm", "vmalloc-churn")
# What becomes of the requests of who patches kernel text: on arm64 they ask for nothing but that
# the CPU was out of the kernel once, as it is in user mode.
PATCHED = "deferred" if os.uname().machine == "x86_64" else "excluded"
CONF, ALLOWED = Path("/etc/isolator.conf"), Path("/proc/isolator/cpus")
METRICS = Path("/run/isolab.prom")
MODULE = Path("/usr/src/isolab-1.0")
SOURCE = """#include <linux/module.h>
static int answer = 42;
module_param(answer, int, 0444);
static int __init isolab_init(void) { pr_info("isolab: built by DKMS\\n"); return 0; }
static void __exit isolab_exit(void) { }
module_init(isolab_init);
module_exit(isolab_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("what DKMS builds");
"""
DKMS = """PACKAGE_NAME="isolab"
PACKAGE_VERSION="1.0"
BUILT_MODULE_NAME[0]="isolab"
DEST_MODULE_LOCATION[0]="/updates/dkms"
AUTOINSTALL="yes"
"""


def keep(name: str, value: Any) -> None:
    (STATE / name).write_text(json.dumps(value))


def kept(name: str) -> Any:
    return json.loads((STATE / name).read_text())


def run(*command: str, what: str = "", wanted: int = 0) -> str:
    """A command that must succeed; else the test ends, with what it said."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False,
                           env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    said = ended.stdout + ended.stderr
    if not check(ended.returncode == wanted, what or " ".join(command), said[-2500:]):
        done()
    return said


def environment() -> dict[str, str]:
    listed = subprocess.run(["grub-editenv", "/boot/grub/grubenv", "list"], capture_output=True,
                            text=True, check=True)
    return grubmenu.environment(listed.stdout)


def next_boot() -> grubmenu.Entry:
    entry = grubmenu.boots(MENU.read_text(), environment())
    if not check(entry, "GRUB has the entry that it is told to start", MENU.read_text()[-3000:]):
        done()
    assert entry
    return entry


def load(entry: grubmenu.Entry) -> str:
    """Has the kernel read it; why it could not."""
    with open(entry.kernel, "rb") as image, open(entry.initrd, "rb") as initrd:
        line = entry.command.encode() + b"\0"
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.syscall(KEXEC_FILE_LOAD, image.fileno(), initrd.fileno(),
                              ctypes.c_ulong(len(line)), line, ctypes.c_ulong(0))
        return os.strerror(ctypes.get_errno()) if failed else ""


def load_by_command(entry: grubmenu.Entry) -> str:
    """The same where the kernel cannot read it: Debian's for arm64 has no CONFIG_KEXEC_FILE."""
    ended = subprocess.run(
        [str(KEXEC), "-c", "-l", entry.kernel, f"--initrd={entry.initrd}",
         f"--command-line={entry.command}"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "LD_LIBRARY_PATH": str(KEXEC.parent)},
    )
    return f"exit {ended.returncode}: {ended.stdout}{ended.stderr}" if ended.returncode else ""


def reboot(stage: int) -> NoReturn:
    """As GRUB would: it forgets what was for one boot, and starts that entry."""
    entry = next_boot()
    subprocess.run(["grub-editenv", "/boot/grub/grubenv", "unset", "next_entry"], check=True)
    why = load_by_command(entry) if KEXEC.exists() else load(entry)
    if not check(not why, f"{entry.release} is loaded, with its initramfs", why):
        done()
    keep("stage", stage)
    put_aside(STATE / "said")
    subprocess.run(["systemctl", "kexec"], check=True)
    time.sleep(600)  # sleep: the machine ends meanwhile
    raise SystemExit(1)


def no_difference(name: str, now: inventory.Inventory, what: str) -> None:
    left = inventory.differences(kept(name), now)
    check(not left, what, *left[:40])


def fresh() -> None:
    """Debian with GRUB as its installer leaves it, but for the parameters of this boot."""
    STATE.mkdir()
    keep("stock", RELEASE)
    Path("/etc/fstab").write_text("/dev/vda / ext2 errors=remount-ro 0 1\n")
    text = Path("/usr/share/grub/default/grub").read_text().replace('"quiet"', '""')
    Path("/etc/default/grub").write_text(text.replace(
        'GRUB_CMDLINE_LINUX=""',
        f'GRUB_CMDLINE_LINUX="{Path("/proc/cmdline").read_text().strip()}"'))
    MENU.parent.mkdir(exist_ok=True)
    # It was made when there was no fstab, and would go without fsck.
    run("update-initramfs", "-u", "-k", RELEASE)
    run("grub-editenv", "/boot/grub/grubenv", "create")
    run("update-grub")
    check(next_boot().release == RELEASE, f"GRUB starts the stock kernel, {RELEASE}")
    reboot(1)


def stock_once() -> None:
    check(kept("stock") == RELEASE, f"the stock kernel runs: {RELEASE}")
    keep("settings", inventory.settings())
    reboot(2)


def install() -> None:
    """On the second boot of the stock kernel: what differs from the first differs by itself."""
    first, now = kept("settings"), inventory.settings()
    own = [k for k in {*first, *now} if first.get(k) != now.get(k)]
    note(f"{len(own)} settings of {len(now)} differ from boot to boot by themselves")
    keep("own", own)
    keep("before", inventory.take())
    keep("menu", MENU.read_text())
    said = run("apt-get", "install", "-y", "-q", *map(str, DEBS),
               what=f"apt install of {len(DEBS)} packages")
    note("\n".join(line for line in said.splitlines() if "isolator" in line)[-1500:])
    image = next(d.name for d in DEBS if d.name.startswith("linux-image-"))
    ours = image.removeprefix("linux-image-").partition("_")[0]
    keep("ours", ours)
    for file in ("vmlinuz", "initrd.img", "config", "System.map"):
        check(Path(f"/boot/{file}-{ours}").exists(), f"/boot/{file}-{ours}")
    check(ours in [e.release for m in grubmenu.menu(MENU.read_text()) for e in m.entries],
          f"GRUB's menu has {ours}")
    check(next_boot().release == RELEASE, "the stock kernel is the default still",
          next_boot().release)
    note(run("isolator-kernel-default", "once"))
    if not check(next_boot().release == ours, f"the next boot is {ours}", next_boot().release):
        done()
    reboot(3)


def measured(name: str, command: list[str], number: int, isolated: bool) -> None:
    """One program under load, with a window that the observer judges."""
    mark("target", cpu=CPU)
    runs = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert runs.stdout
    good = not isolated or (until(lambda: owner() or runs.poll() is not None) and owner())
    if not check(good, f"{name}: CPU {CPU} is its own") or runs.stdout.readline() != "ready\n":
        runs.kill()
        check(False, f"{name}: it is ready", *runs.communicate())
        done()
    time.sleep(1)  # sleep: it sets up memory and threads, and tells nobody
    those = [Trigger(n) for n in TRIGGERS]
    tid = owner() if isolated else runs.pid
    time.sleep(SETTLE_S)  # sleep: a batch may fall between a mark and a look
    mark("begin", str(number))
    own, total, irqs, began = counts("own"), counts("total"), interrupts(), time.monotonic()
    while time.monotonic() < began + WINDOW_S:
        min(those, key=lambda t: t.fired).fire(tid)
    time.sleep(SETTLE_S)  # sleep: a batch may fall between a mark and a look
    own, total = grown(counts("own"), own), grown(counts("total"), total)
    irqs, took = grown(interrupts(), irqs), time.monotonic() - began
    mark("end", str(number))
    runs.send_signal(signal.SIGTERM)
    out, error = runs.communicate(timeout=60)
    check(runs.returncode == 0, f"{name}: it ended as it should: {runs.returncode}", out, error)
    fired = [t for t in those if t.fired]
    check(len(fired) >= 5 and not any(t.bad for t in fired),
          f"{name}: {sum(t.fired for t in fired)} loads of {len(fired)} kinds worked",
          *(f"{t.name}: {t.bad}" for t in fired if t.bad))
    if isolated:
        check(not total.get("missed") and not total.get("immediate") and not own.get("planned"),
              f"{name}: no deadline miss, no immediate delivery, none planned", own, total)
        check(own.get("ticks", 0) > 0, f"{name}: {own.get('ticks', 0)} ticks", own)
    else:
        check(sum(irqs.values()) >= LEAST_PER_S * took,
              f"{name}: at least {LEAST_PER_S} interrupts a second: {irqs}")
    claim = {"window": number, "name": name, "ticked_by": "preload" if isolated else "-",
             "least": 0 if isolated else int(LEAST_PER_S * took),
             "most": 0 if isolated else None, "least_user": LEAST_USER,
             # It has locked its memory: what it touches first may fault, nothing again and again.
             "most_faults": MOST_FAULTS if isolated else None,
             "planned": own.get("planned", 0), "missed": total.get("missed", 0),
             "immediate": total.get("immediate", 0), "ticks": own.get("ticks", 0),
             "irqs": sum(irqs.values()),
             "requests": " ".join(f"{k} {total[k]}" for k in ("deferred", "excluded", "queued")
                                  if total.get(k))}
    note(f"window {json.dumps(claim)}")


def configured() -> None:
    """The service has given the kernel what the file says, and does so again when it is changed."""
    state = run("systemctl", "show", "-p", "ActiveState", "-p", "Result", "isolator")
    check("ActiveState=active" in state and "Result=success" in state, "isolator.service", state)
    device = os.stat("/dev/isolator")
    group = run("getent", "group", "isolator").split(":")[2]
    check((stat.S_IMODE(device.st_mode), device.st_gid) == (0o660, int(group)),
          f"udev gave /dev/isolator to the group: {device.st_mode:o} {device.st_gid}")
    check(not ALLOWED.read_text().strip(), "as delivered no CPU may be isolated")
    before = CONF.read_text()
    CONF.write_text(before.replace("cpus = none", f"cpus = {CPU}"))
    run(ISOLATOR, "configure", "--show", what="isolator configure --show: not so yet", wanted=2)
    run("systemctl", "reload", "isolator")
    check(ALLOWED.read_text().strip() == str(CPU), "after a reload the kernel has the change",
          ALLOWED.read_text())
    note(run(ISOLATOR, "configure", "--show"))
    CONF.write_text(before)
    run("systemctl", "restart", "isolator")
    check(not ALLOWED.read_text().strip(), "and none again")


def metrics(text: str) -> dict[str, float]:
    return {name: float(value) for name, _, value in
            (line.rpartition(" ") for line in text.splitlines() if line and line[0] != "#")}


def exported(command: list[str]) -> None:
    """What is exported of an isolated CPU is what the kernel counts."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as runs:
        check(until(lambda: owner() or runs.poll() is not None) and owner(), "it is isolated")
        load = Trigger("static-keys")
        load.fire(owner())
        before = counts("total")
        run(ISOLATOR, "export", "-o", str(METRICS))
        after = counts("total")
        runs.terminate()
    found = metrics(METRICS.read_text())
    METRICS.unlink()
    label = f'{{cpu="{CPU}"}}'
    check(found.get("isolator_available") == 1
          and found.get(f"isolator_cpu_isolated{label}") == 1,
          f"isolator export: CPU {CPU} is isolated", *found)
    for kind in ("deferred", "excluded", "queued"):
        least, most = before.get(kind, 0), after.get(kind, 0)
        said = found.get(f"isolator_{kind}_total{label}", -1)
        check(least <= said <= most, f"isolator export: {least} <= {said:.0f} <= {most} {kind}")
    check(before.get(PATCHED, 0) > 0, f"patched kernel text was {PATCHED}", load.bad, before)


def dkms() -> None:
    MODULE.mkdir()
    (MODULE / "isolab.c").write_text(SOURCE)
    (MODULE / "Makefile").write_text("obj-m := isolab.o\n")
    (MODULE / "dkms.conf").write_text(DKMS)
    run("dkms", "add", "isolab/1.0")
    run("dkms", "install", "isolab/1.0", "-k", RELEASE, what=f"DKMS builds a module for {RELEASE}")
    run("modprobe", "isolab")
    check(Path("/sys/module/isolab/parameters/answer").read_text() == "42\n", "and it is loaded")
    run("modprobe", "-r", "isolab")


def ours() -> None:
    if not check(kept("ours") == RELEASE, f"the kernel with Isolator runs: {RELEASE}"):
        done()
    check(Path("/proc/isolator/stats").exists(), "it has /proc/isolator")
    for words in (("audit",), ("status",)):
        said = isolator(*words)
        # 2: the audit has findings, as any machine that nobody has set up.
        check(said.returncode in (0, 2), f"isolator {words[0]}: exit {said.returncode}",
              said.stdout, said.stderr)
        note("\n".join(said.stdout.splitlines()[:6]))
    if str(ISOLATOR) == INSTALLED:
        configured()
    else:
        note("library and command are not packed for this machine: the lab's own are used")
    os.sched_setaffinity(0, {HOUSEKEEPING})
    program = f"{PROGRAMS}/control-dynamic"
    isolated = [ISOLATOR, "run", "-c", str(CPU), "--preload", PRELOAD, "--", program]
    exported(isolated)
    measured("isolator run", isolated, 1, isolated=True)
    measured("pinned only", ["taskset", "-c", str(CPU), program], 2, isolated=False)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    dkms()
    check(next_boot().release == kept("stock"), "once was once: the stock kernel is next",
          next_boot().release)
    reboot(4)


def purge() -> None:
    check(kept("stock") == RELEASE, f"the stock kernel runs again: {RELEASE}")
    said = isolator("status")
    check(said.returncode == 1 and "has no Isolator" in said.stderr
          and kept("ours") in said.stderr, "isolator status says so, and which kernel has",
          said.returncode, said.stdout, said.stderr)
    names = [d.name.partition("_")[0] for d in DEBS]
    run("apt-get", "purge", "-y", "-q", *names, what="apt purge of them")
    check(not Path(f"/lib/modules/{kept('ours')}").exists(), "no module is left, nor DKMS's",
          *map(str, Path(f"/lib/modules/{kept('ours')}").rglob("*")))
    subprocess.run(["dkms", "remove", "isolab/1.0", "--all"], capture_output=True, check=False)
    shutil.rmtree(MODULE)
    shutil.rmtree("/var/lib/dkms/isolab", ignore_errors=True)
    check(MENU.read_text() == kept("menu"), "GRUB's menu is as before, to the byte")
    no_difference("before", inventory.take(), "packages, files, groups and units are as before")
    reboot(5)


def after() -> None:
    check(kept("stock") == RELEASE, f"the stock kernel runs: {RELEASE}")
    no_difference("before", inventory.take(), "packages, files, groups and units still are")
    before, now = kept("settings"), inventory.settings()
    own = set(kept("own"))
    left = [line for line in inventory.differences(before, now)
            if line.split(": was ")[0] not in own]
    check(not left, f"{len(now)} settings are as before", *left[:40])


STAGES = (fresh, stock_once, install, ours, purge, after)
number = kept("stage") if STATE.exists() else 0
if number:
    carry_on(STATE / "said")
STAGES[number]()
done()
