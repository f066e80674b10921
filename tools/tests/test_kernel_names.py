# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters, kinds and reasons are named by the kernel; who repeats the names repeats them all."""

import re
from pathlib import Path

import pytest
from isolab.matrix import cells
from steps import ROOT

KERNEL = ROOT / "kernel/isolator"
UAPI = ROOT / "kernel/include/uapi/linux/isolator.h"


def table(path: Path, name: str) -> list[str]:
    """The strings of a C array @name, in the order in which they are written."""
    body = re.search(rf"\b{name}\[[^=]*= \{{(.*?)\n\}};", path.read_text(), re.DOTALL)
    assert body, f"{path}: no table {name}"
    found = re.findall(r'^\s*\[\w+\]\s*= "([^"]*)"|^\s*\{ "([^"]*)",', body.group(1), re.MULTILINE)
    assert found, f"{path}: {name} is empty"
    return [one or other for one, other in found]


def members(path: Path, pattern: str) -> list[str]:
    """The members of an enumeration that begin as in @pattern, without that, in lower case."""
    return [word.lower() for word in re.findall(rf"^\t{pattern}(\w+)(?: = 0)?,", path.read_text(),
                                                re.MULTILINE)]


COUNTS = table(KERNEL / "stats.c", "isolator_count_names")
KINDS = table(KERNEL / "stats.c", "isolator_kind_names")
ENDS = table(KERNEL / "proc.c", "isolator_end_names")


def test_tables_are_in_the_order_of_their_enumerations() -> None:
    """The tables say nothing of order, but those who repeat them do."""
    assert members(ROOT / "kernel/include/linux/isolator.h", "ISOLATOR_COUNT_") == COUNTS
    assert members(KERNEL / "internal.h", "ISOLATOR_KIND_") == KINDS
    assert members(UAPI, "ISOLATOR_END_") == ENDS


def test_trace_events_name_the_kinds() -> None:
    text = (ROOT / "kernel/include/trace/events/isolator.h").read_text()
    pairs = re.findall(r'\{ (\d+), "(\w+)" \}', text)
    assert [(int(number), name) for number, name in pairs] == list(enumerate(KINDS))


def test_command_names_the_counts() -> None:
    assert table(ROOT / "cli/proc/counts.c", "count_names") == COUNTS


def test_command_explains_kinds_and_ends() -> None:
    """A call is explained by its callback; no reason to end needs no explanation."""
    explained = table(ROOT / "cli/proc/hint.c", "kinds")
    assert set(explained) == {*KINDS, "others"} - {"call"}
    text = (ROOT / "cli/proc/text.c").read_text()
    ends = re.search(r"\} ends\[\] = \{(.*?)\};", text, re.DOTALL)
    assert ends and re.findall(r'\{ "(\w+)",', ends.group(1)) == ENDS[1:]


def test_library_explains_ends() -> None:
    text = (ROOT / "lib/src/error.c").read_text()
    assert [word.lower() for word in re.findall(r"^\t\[ISOLATOR_END_(\w+)\] =", text,
                                                re.MULTILINE)] == ENDS


def test_lab_accounts_for_all_counts() -> None:
    assert list(cells.COUNTS) == COUNTS


@pytest.mark.parametrize("path", ["lab/isolab/matrix/markdown.py", "lab/isolab/matrix/page.js"])
def test_pages_show_counts(path: str) -> None:
    """They show what a request that nobody missed came to."""
    shown = re.search(r'[(\[]("deferred"[^)\]]*)[)\]]', (ROOT / path).read_text())
    assert shown and set(re.findall(r'"(\w+)"', shown.group(1))) < set(COUNTS)


def test_spinner_tells_what_the_page_has() -> None:
    page = re.search(r"struct isolator_page \{(.*?)\};", UAPI.read_text(), re.DOTALL)
    assert page
    counters = set(re.findall(r"__u64 (\w+);", page.group(1)))
    text = (ROOT / "lab/guest/spinner.c").read_text()
    told = re.search(r"names\[\] = \{(.*?)\};", text, re.DOTALL)
    assert told and set(re.findall(r'"(\w+)"', told.group(1))) - {"page_ticks"} < counters


def test_command_explains_functions_that_are_there() -> None:
    """Of Isolator's own functions; others are Linux's."""
    text = (ROOT / "cli/proc/hint.c").read_text()
    own = re.findall(r'\{ "(_*isolator_\w+)"', text)
    sources = "".join(path.read_text() for path in [
        *KERNEL.glob("*.[ch]"), *(ROOT / "kernel/patches").rglob("*.patch")])
    assert own and [name for name in own if not re.search(rf"\b{name}\(", sources)] == []
