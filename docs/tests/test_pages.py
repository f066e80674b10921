# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents: pictures are fresh, links lead somewhere, commands exist."""

import re
import subprocess
from pathlib import Path

import pytest
import script
from isolab import header
from steps import ROOT

README, TRANSCRIPTS = ROOT / "README.md", ROOT / "docs/transcripts.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)")


def test_drawings_are_what_the_script_draws() -> None:
    """The SVG files are not edited by hand and stay small."""
    subprocess.run([ROOT / "docs/drawings/draw", "--check"], check=True)
    assert sum(path.stat().st_size for path in (ROOT / "docs/drawings").glob("*.svg")) < 200_000


def test_no_picture_is_heavy() -> None:
    """Whoever reads a page waits for its pictures."""
    pictures = [path for path in (ROOT / "docs").rglob("*.*") if path.suffix in (".png", ".svg")]
    assert len(pictures) > 10
    assert not [path.name for path in pictures if path.stat().st_size >= 200_000]


def anchors(page: Path) -> set[str]:
    """Of its headings, as a forge makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    """Relative links lead to a file of this tree, and to a heading that it has."""
    for target, anchor in LINK.findall(page.read_text()):
        file = page.parent / target if target else page
        assert file.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(file), f"{page.name}: {target}#{anchor}"


def test_pages_are_linked() -> None:
    """From README.md each page can be reached by links."""
    reached, waiting = {README}, [README]
    while waiting:
        page = waiting.pop()
        linked = {(page.parent / target).resolve() for target, _ in LINK.findall(page.read_text())}
        waiting += (linked & set(PAGES)) - reached
        reached |= linked
    assert set(PAGES) <= reached


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets(page: Path) -> None:
    """Every `make TARGET` that a page names is one."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)|^make ([a-z-]+)", page.read_text(), re.MULTILINE))
    assert {first or second for first, second in named} <= targets


def test_model_faults_are_named() -> None:
    """The faults that the text speaks of are cases of the model."""
    listed = subprocess.run([ROOT / "kernel/model/check", "--list"], check=True,
                            capture_output=True, text=True).stdout
    text = (ROOT / "docs/how-it-works.md").read_text()
    for case in re.findall(r"`((?:fault|limit|kick)-[a-z_-]+)`", text):
        assert re.search(rf"^{re.escape(case)}\s", listed, re.MULTILINE), case


def filled(page: Path, mark: str) -> str:
    """What stands between the marks of that name, of which there is one pair."""
    found = re.findall(rf"<!-- {mark}: begin [^\n]*-->\n(.*?)<!-- {mark}: end -->",
                       page.read_text(), re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def test_the_figures_are_those_of_the_transcript() -> None:
    """README's table, written by tools/transcripts, is of the run that the page shows."""
    shown = re.findall(r"^(?:stock|tuned|isolator) +(\d+) interruptions in (\d+) s",
                       filled(TRANSCRIPTS, "run"), re.MULTILINE)
    table = re.findall(r" (\d+) in (\d+) s \|$", filled(README, "figures"), re.MULTILINE)
    assert len(shown) == 3 and shown == table


def test_transcripts_are_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    """Each between its marks, and a page without a place for it is an error."""
    tool = script.load("transcripts")
    config = {"kernel_entries": 7, "window_s": 13.6}
    page, readme = tmp_path / "page", tmp_path / "readme"
    page.write_text("<!-- run: begin x -->\nold\n<!-- run: end -->\n")
    readme.write_text("<!-- figures: begin x -->\n<!-- figures: end -->\n")
    for name, value in {
        "PAGE": page, "README": readme, "check_text": lambda: "",
        "run_report": lambda: {"configs": dict.fromkeys(tool.NAMES, config)},
        "run_text": lambda document: "a table  \n",
    }.items():
        monkeypatch.setattr(tool, name, value)
    monkeypatch.setattr("sys.argv", ["transcripts"])
    assert tool.main() == 0 and "filled: make run" in capsys.readouterr().out
    assert page.read_text() == \
        "<!-- run: begin x -->\n```\n$ make run\na table\n```\n<!-- run: end -->\n"
    assert readme.read_text().count("| 7 in 14 s |\n") == 3
    monkeypatch.setattr(tool, "check_text", lambda: "ok x\n")
    with pytest.raises(SystemExit, match="check: begin"):
        tool.main()


def test_the_steps_of_the_transcript_are_those_of_check() -> None:
    """None is kept that shows other steps: it is recorded anew, or says that it is not."""
    shown = filled(TRANSCRIPTS, "check")
    if "No whole `make check` has been recorded" in shown:
        pytest.skip("make check is not recorded: run it, then tools/transcripts")
    listed = subprocess.run([ROOT / "tools/check", "--list"], check=True,
                            capture_output=True, text=True).stdout
    steps = [line.split()[1] for line in listed.splitlines() if line.strip()]
    ok = re.findall(r"^ok      (\S+)", shown, re.MULTILINE)
    assert sorted(ok) == sorted(steps)


def test_the_triggers_of_the_transcript_are_those_of_the_lab() -> None:
    """And their classes."""
    triggers = {t.name: t.cls for t in header.triggers() if "run" in t.used_in}
    rows = re.findall(r"^(\S+) +(\S+) ", filled(TRANSCRIPTS, "run"), re.MULTILINE)
    assert {name: cls for name, cls in rows if cls in header.CLASSES} == triggers


@pytest.mark.parametrize("page,lines", [("README.md", 90), ("docs/STATUS.md", 120)])
def test_length(page: str, lines: int) -> None:
    """The first page is one page, and status two."""
    assert len((ROOT / page).read_text().splitlines()) <= lines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_placeholder(page: Path) -> None:
    """Nothing is left to be filled in."""
    assert not re.findall(r"@[A-Z]+@", page.read_text())


def test_the_glossary_has_the_words_of_the_code() -> None:
    """Each class of the lab and each count of the kernel, in a row of a table; no row twice."""
    page = (ROOT / "docs/glossary.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    counts = re.findall(r"ISOLATOR_COUNT_([A-Z]+),",
                        (ROOT / "kernel/include/linux/isolator.h").read_text())
    assert len(counts) == 7
    for word in [*header.CLASSES, *map(str.lower, counts)]:
        word = {"missed": "miss"}.get(word, word)
        assert any(re.search(rf"\b{word}\b", row) for row in rows), word
    for part in page.split("\n## ")[1:]:
        terms = re.findall(r"^\| ([^|]+) \|", part, re.MULTILINE)
        assert len(terms) == len(set(terms)), part
