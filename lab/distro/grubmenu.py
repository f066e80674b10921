# SPDX-License-Identifier: GPL-2.0-or-later
"""What GRUB would start: its configuration and its environment, read as it reads them.

A reading of its own, without the scripts that it is to be held against.
"""

import re
from dataclasses import dataclass, field

_BLOCK = re.compile(r"^\s*(submenu|menuentry)\s+'((?:[^']|'\\'')*)'.*?"
                    r"(?:\$menuentry_id_option\s+'([^']*)')?\s*\{\s*$")
_OPEN = re.compile(r"\{\s*$")
_CLOSE = re.compile(r"^\s*\}\s*$")
_DEFAULT = re.compile(r"^\s*set default=\"([^\"$][^\"]*)\"\s*$", re.MULTILINE)


@dataclass
class Entry:
    """A line of the menu; with entries of its own it is a submenu."""

    title: str
    id: str
    kernel: str = ""
    command: str = ""
    initrd: str = ""
    entries: list["Entry"] = field(default_factory=list)

    @property
    def release(self) -> str:
        return self.kernel.rpartition("/vmlinuz-")[2]


def menu(text: str) -> list[Entry]:
    """The entries of a grub.cfg."""
    top = Entry("", "")
    stack: list[Entry | None] = [top]
    for line in text.splitlines():
        if block := _BLOCK.match(line):
            entry = Entry(block[2], block[3] or "")
            above = next(e for e in reversed(stack) if e)
            above.entries.append(entry)
            stack.append(entry)
        elif _OPEN.search(line):
            stack.append(None)
        elif _CLOSE.match(line):
            stack.pop()
        elif stack[-1] and (words := line.split(None, 2)):
            if words[0] == "linux":
                stack[-1].kernel = words[1]
                stack[-1].command = words[2].strip() if len(words) > 2 else ""
            elif words[0] == "initrd":
                stack[-1].initrd = " ".join(words[1:])
    return top.entries


def default(text: str) -> str:
    """What `set default` says, where no environment speaks against it."""
    found = _DEFAULT.findall(text)
    if len(found) != 1:
        raise ValueError(f"not one default but {found}")
    return str(found[0])


def find(entries: list[Entry], path: str) -> Entry | None:
    """The entry of that number, identifier or title, through submenus by `>`."""
    name, _, rest = path.partition(">")
    for number, entry in enumerate(entries):
        if name in (str(number), entry.id, entry.title):
            if rest:
                return find(entry.entries, rest)
            # A submenu's own first entry, as for a menu without a default.
            return entry.entries[0] if entry.entries else entry
    return None


def boots(text: str, environment: dict[str, str] | None = None) -> Entry | None:
    """The entry that the next boot begins with; None: there is none of that name."""
    entries = menu(text)
    return find(entries, (environment or {}).get("next_entry") or default(text))


def environment(text: str) -> dict[str, str]:
    """Of a grubenv, as grub-editenv lists it."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
