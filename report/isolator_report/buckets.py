# SPDX-License-Identifier: GPL-2.0-or-later
"""HdrHistogram's buckets by arithmetic: `bits` says that a factor of 2 has 2^bits of them.

Values below 2^(bits + 1) have a bucket each.
"""


def bits_of(digits: int) -> int:
    """For so many decimal digits."""
    return (2 * 10**digits - 1).bit_length() - 1


def shift(value: int, bits: int) -> int:
    """The bucket that holds a value is 2^shift wide."""
    return max(value.bit_length() - bits - 1, 0)


def bucket(value: int, bits: int) -> int:
    """The number of the bucket that holds a value."""
    wide = shift(value, bits)
    return (wide << bits) + (value >> wide)


def lowest(index: int, bits: int) -> int:
    """The lowest value of a bucket."""
    wide = max((index >> bits) - 1, 0)
    return (index - (wide << bits)) << wide
