# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel's image holds at an address: the ELF file that is packed into bzImage."""

import functools
import lzma
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from .. import term
from ..guests import machine
from ..guests.kernel import Kernel

_MAGICS = {b"\x1f\x8b": "gzip", b"\xfd7zX": "xz", b"]\0\0": "lzma"}


def unpack(image: bytes) -> bytes:
    """The ELF file in a bzImage: where the boot protocol says it is."""
    begin = (image[0x1F1] + 1) * 512
    offset, length = struct.unpack_from("<II", image, 0x248)
    packed = image[begin + offset : begin + offset + length]
    how = next((name for magic, name in _MAGICS.items() if packed.startswith(magic)), None)
    if how == "gzip":
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed)
    if how in ("xz", "lzma"):
        return lzma.LZMADecompressor().decompress(packed)
    raise term.LabError(f"the kernel's image is packed in a way that is not known: {packed[:6]!r}")


class Image:
    """An ELF file of 64 bits by its segments, and the symbols of System.map, data too."""

    def __init__(self, elf: bytes, symbols: dict[str, int]) -> None:
        self.symbols = symbols
        self.segments = []
        (at,) = struct.unpack_from("<Q", elf, 32)
        size, count = struct.unpack_from("<HH", elf, 54)
        for i in range(count):
            kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", elf, at + i * size)
            if kind == 1:
                self.segments.append((address, elf[offset : offset + length]))

    def read(self, address: int, size: int) -> bytes:
        for begin, data in self.segments:
            if begin <= address and address + size <= begin + len(data):
                return data[address - begin : address - begin + size]
        raise term.LabError(f"the kernel's image holds nothing at {address:#x}")

    def table(self, name: str) -> tuple[int, bytes]:
        """What lies between __start_NAME and __stop_NAME, and where."""
        begin, end = (self.symbols[f"__{which}_{name}"] for which in ("start", "stop"))
        return begin, self.read(begin, end - begin)

    def end_of(self, name: str) -> int:
        """Where the next symbol begins."""
        begin = self.symbols[name]
        return min(a for a in self.symbols.values() if a > begin)

    def function(self, name: str) -> tuple[int, int]:
        return self.symbols[name], self.end_of(name)


class RawImage(Image):
    """The same of an image that is no ELF file: arm64's, which is text and data as in memory."""

    def __init__(self, data: bytes, symbols: dict[str, int]) -> None:
        self.symbols = symbols
        self.segments = [(symbols["_text"], data)]


def symbols(path: Path) -> dict[str, int]:
    found = {}
    for line in path.read_text().splitlines():
        address, _, name = line.split()
        found[name] = int(address, 16)
    return found


@functools.cache
def read(kernel: Kernel) -> Image:
    data, by_name = kernel.image.read_bytes(), symbols(kernel.path / "System.map")
    if kernel.machine is machine.ARM64:
        return RawImage(data, by_name)
    return Image(unpack(data), by_name)


# smp_mb() on x86-64: lock addl $0, -4(%rsp).
_BARRIER = bytes.fromhex("f0834424fc00")
# What sends an interrupt: an indirect call, relative to the instruction pointer.
_SENDS = bytes.fromhex("ff15")


def _only(image: Image, name: str, code: bytes, what: str) -> int:
    begin, end = image.function(name)
    text = image.read(begin, end - begin)
    if text.count(code) != 1:
        raise term.LabError(f"{name} has {text.count(code)} {what}, not one")
    return begin + text.index(code)


def behind_barrier(image: Image, name: str) -> int:
    """The instruction behind the only full barrier of a function: ahead of its look."""
    return _only(image, name, _BARRIER, "full barriers") + len(_BARRIER)


def at_send(image: Image, name: str) -> int:
    """The only indirect call of a function."""
    return _only(image, name, _SENDS, "indirect calls")


def words(data: bytes, layout: str) -> Iterator[tuple[int, ...]]:
    yield from struct.iter_unpack(layout, data[: len(data) - len(data) % struct.calcsize(layout)])
