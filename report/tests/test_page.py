# SPDX-License-Identifier: GPL-2.0-or-later
"""The page: whole, alone, and with everything that is in the document."""

import json
import re
from html import unescape
from html.parser import HTMLParser

import report_documents as documents
from isolator_report.page import page

VOID = {"meta", "br", "path", "rect", "link", "img"}


class Reader(HTMLParser):
    """Checks that what is opened is closed; keeps texts, ids and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.sources: list[str] = []
        self.focus = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            assert given["id"] not in self.ids
            self.ids.add(given["id"] or "")
        if tag == "a":
            self.links.add((given["href"] or "").removeprefix("#"))
        self.sources += [value or "" for name, value in attrs if name in ("src", "srcset")]
        self.focus += "tabindex" in given and tag == "svg"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)


def read(text: str) -> Reader:
    """Parsed to its end."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return reader


def test_it_is_whole_and_alone() -> None:
    """Nothing is loaded, each link leads to a place of the page, tags are closed."""
    values = documents.lognormal(3000, 1)
    values[100] = 400_000
    text = page([documents.attributed(values),
                 documents.result(values, loaded=documents.lognormal(3000, 2, 9000, 0.5))])
    reader = read(text)
    assert not re.search(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z]", text.split("<script>")[0])
    assert "url(" not in text and "@import" not in text and not reader.sources
    assert reader.links <= reader.ids and len(reader.links) == 8
    assert "default-src 'none'" in text
    assert reader.focus == 2  # each histogram takes the keys
    assert "prefers-color-scheme:dark" in text and "[data-theme=dark]" in text


def test_everything_is_in_it() -> None:
    """Settings that did not hold, findings, the floor, causes with sender and stack."""
    values = [*documents.lognormal(3000, 1), 400_000]
    text = page([documents.attributed(values)])
    words = " ".join(read(text).words)
    for said in ("400 us", "nvme0q1", "flush_tlb_func", "from gcc on CPU 0", "smp_call",
                 "not explained", "cannot be read", "not permitted: <C-states> add to it",
                 "powersave", "A & B <CPU>", "p50 22 ns", "p99.9999", "takes 2,995,731 samples",
                 "nine of ten values", "stands alone", "seed 1", "5.2 us with, 5 us without",
                 "root=/dev/vda quiet"):
        assert said in words, said


def test_quiet_and_loaded_are_overlaid() -> None:
    """One chart with both curves, a timeline each."""
    text = page([documents.result([5000] * 600, loaded=[9000] * 600)])
    charts = re.findall(r'<svg[^>]*class="chart".*?</svg>', text)
    assert len(charts) == 1
    data = re.search(r'data-bins="([^"]*)"', charts[0])
    assert data is not None
    assert [name for name, _ in json.loads(unescape(data[1]))] == ["quiet", "loaded (memory)"]
    assert len(re.findall("intervals of", text)) == 2


def test_histogram_holds_all_samples() -> None:
    """The counts that the cursor reads add up."""
    text = page([documents.result(documents.lognormal(4321, 3))])
    data = re.search(r'data-bins="([^"]*)"', text)
    assert data is not None
    (_, bins), = json.loads(unescape(data[1]))
    assert sum(count for _, count in bins) == 4321


def test_names_cannot_break_out() -> None:
    """Text of a document is text."""
    result = documents.result([5000] * 600, words="</script><script>alert(1)</script>")
    result.data["machine"]["cmdline"] = '"><img src=x onerror=alert(1)>'
    result.data["parts"][0]["series"][0]["name"] = '"><b>'
    text = page([result])
    assert "<script>alert" not in text and "<img" not in text and "<b>&quot;" not in text
    read(text)


def test_empty() -> None:
    """No sample: a page all the same."""
    assert "no sample in it" in page([documents.result([])])
