# SPDX-License-Identifier: GPL-2.0-or-later
"""Text for people: all that is printed for them goes through here.

What a file, a host or a device named may have what steers a terminal.  It is replaced as the
command does it (cli/base/term.c): a ? for each such character.  A line is one line, whatever
is cited in it.
"""

import re
import sys
from collections.abc import Iterable
from typing import TextIO

# C0, DEL and C1; what turns the direction of the text beside it; halves of characters.
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_ESCAPED = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # of JSON, which has the others so
ERASE = "\x1b[K"  # to the end of the line


def clean(words: object) -> str:
    """Such that it cannot steer a terminal, nor end its line."""
    return _STEERING.sub("?", str(words))


def escaped(json: str) -> str:
    r"""JSON text that says the same and steers nothing: \u009b."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json)


def _put(words: str, out: TextIO, end: str = "\n") -> None:
    """What the coding of the locale does not have is no reason to say nothing."""
    coding = out.encoding or "utf-8"
    out.write(words.encode(coding, "replace").decode(coding, "replace") + end)
    out.flush()


def say(program: str, words: object) -> None:
    """An error or a warning: one line of standard error."""
    _put(f"{program}: {clean(words)}", sys.stderr)


def show(lines: Iterable[object]) -> None:
    """What was asked for: lines of standard output."""
    _put("\n".join(map(clean, lines)), sys.stdout)


def progress(words: object) -> None:
    """How far it is, in a line of the terminal that is written over; empty: it is gone."""
    _put(f"\r{clean(words)}{ERASE}", sys.stderr, end="")
