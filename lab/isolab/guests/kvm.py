# SPDX-License-Identifier: GPL-2.0-or-later
"""Is KVM usable?  Where it is nested badly, it works and is unusably slow."""

import ctypes
import fcntl
import mmap
import multiprocessing
import os
import struct
import time

KVM_CREATE_VM = 0xAE01
KVM_GET_VCPU_MMAP_SIZE = 0xAE04
KVM_CREATE_VCPU = 0xAE41
KVM_SET_USER_MEMORY_REGION = 0x4020AE46
KVM_RUN = 0xAE80
KVM_SET_REGS = 0x4090AE82
KVM_GET_SREGS = 0x8138AE83
KVM_SET_SREGS = 0x4138AE84

LOOPS = 1_000_000
# Real hardware does a billion; an emulated VMX a million.
LOOPS_PER_S = 50_000_000
PATIENCE_S = 3.0
# mov ecx, LOOPS; dec ecx; jnz; hlt -- in 16-bit real mode
CODE = b"\x66\xb9" + struct.pack("<I", LOOPS) + b"\x66\x49\x75\xfc\xf4"


def _time_loop(result: "multiprocessing.Queue[float]") -> None:
    try:
        kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
        vm = fcntl.ioctl(kvm, KVM_CREATE_VM, 0)
        memory = mmap.mmap(-1, 0x1000)
        memory[: len(CODE)] = CODE
        where = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        fcntl.ioctl(vm, KVM_SET_USER_MEMORY_REGION, struct.pack("<IIQQQ", 0, 0, 0, 0x1000, where))
        vcpu = fcntl.ioctl(vm, KVM_CREATE_VCPU, 0)
        mmap.mmap(vcpu, fcntl.ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0))
        sregs = bytearray(312)
        fcntl.ioctl(vcpu, KVM_GET_SREGS, sregs)
        # the code segment comes first: base (8 bytes), limit (4), selector (2)
        sregs[0:8] = bytes(8)
        sregs[12:14] = bytes(2)
        fcntl.ioctl(vcpu, KVM_SET_SREGS, bytes(sregs))
        fcntl.ioctl(vcpu, KVM_SET_REGS, bytes(16 * 8) + struct.pack("<QQ", 0, 2))
        begin = time.monotonic()
        fcntl.ioctl(vcpu, KVM_RUN, 0)
        result.put(LOOPS / (time.monotonic() - begin))
    except OSError:
        result.put(0.0)


def usable() -> bool:
    """Runs a loop in a guest, in a child that is killed when it takes too long."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    context = multiprocessing.get_context("fork")
    result: multiprocessing.Queue[float] = context.Queue()
    child = context.Process(target=_time_loop, args=(result,), daemon=True)
    child.start()
    child.join(PATIENCE_S)
    if child.is_alive():
        child.kill()
        child.join()
        return False
    return not result.empty() and result.get() >= LOOPS_PER_S
