# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation's site: built, whole, and each thing that can be wrong with it is seen."""

import posixpath
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import sitecheck
import sitepages
from scope_browser import browser
from steps import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 400, "height": 800}

# A site in which nothing is wrong: a first page, a document, and a script.
WHOLE = {
    "index.html": '<div class="sidebar-tree"><a href="a.html">A</a></div>'
                  '<script src="s.js"></script><article><h1 id="top">One</h1>'
                  '<a href="a.html#there">A</a> '
                  '<a href="https://e.org/">elsewhere</a></article>',
    "a.html": '<article><h1 id="there">A</h1><img src="a.png" srcset="a.png 2x">'
              '<a href="index.html">back</a><a href="#there">up</a></article>',
    "search.html": '<link rel="stylesheet" href="s.css"><article></article>',
    "s.css": "p { background: url(a.png), url('data:image/png,x') }",
    "s.js": "",
    "a.png": "",
}
# What is said of one thing more in one of its files.
WRONG = {
    "broken link: b.html": ("a.html", '<a href="b.html">B</a>'),
    "broken link: b.png": ("a.html", '<img src="b.png">'),
    "broken link: c.png": ("s.css", "h1 { background: url(c.png) }"),
    "missing anchor: #nowhere": ("a.html", '<a href="#nowhere">down</a>'),
    "missing anchor: a.html#gone": ("index.html", '<a href="a.html#gone">A</a>'),
    "not in the navigation": ("c.html", '<article></article>'),
    "no text links to it": ("c.html", '<article><a href="a.html">A</a></article>'),
    "anchor twice: there": ("a.html", '<p id="there">again</p>'),
    "elsewhere: https://e.org/s.js": ("a.html", '<script src="https://e.org/s.js"></script>'),
    "elsewhere: //e.org/s.css": ("a.html", '<link rel="stylesheet" href="//e.org/s.css">'),
    "elsewhere: http://e.org/b.png": ("a.html", '<img srcset="a.png, http://e.org/b.png 2x">'),
    "elsewhere: https://e.org/i": ("a.html", '<iframe src="https://e.org/i"></iframe>'),
    "elsewhere: https://e.org/f": ("s.css", "@font-face { src: url(https://e.org/f) }"),
    "elsewhere: https://e.org/f2": ("s.css", '@import "https://e.org/f2";'),
    "elsewhere: https://e.org/t": ("a.html", "<style>@import 'https://e.org/t';</style>"),
    "elsewhere: https://e.org/b": ("a.html", '<p style="background: url(https://e.org/b)">'),
}
# A small repository with each kind of page.
README = """# Project

[A document](docs/a.md), [its end](docs/a.md#the-end), [a program](lib/p.c), [all](lib),
[pages](cli/man).
"""
DOCUMENT = "# A document\n\n## The end\n\n[back](../README.md#project), [page](../cli/man/p.1).\n"
MANUAL = '.TH P 1\n.SH NAME\np \\- a page\n.SH SEE ALSO\n.BR q (1),\n.BR cpuset (7)\n'


def put(place: Path, files: dict[str, str]) -> None:
    """Write files below a directory."""
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def build(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """tools/site, as this environment has it."""
    return subprocess.run([sys.executable, ROOT / "tools/sitebuild.py", *words],
                          capture_output=True, text=True)


def build_tree(tree: Path, place: Path, *documents: str) -> subprocess.CompletedProcess[str]:
    """The site of another tree, with these documents in the navigation."""
    call = ("import sys, pathlib, sitebuild; tree, place = map(pathlib.Path, sys.argv[1:3]); "
            "sys.exit(sitebuild.build(tree, place / 'site', place / 'work', "
            "{'All': [*sys.argv[3:], 'man/index', 'sources/index']}))")
    return subprocess.run([sys.executable, "-c", call, tree, place, *documents],
                          cwd=ROOT / "tools", capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this tree, built from nothing, with nothing wrong in it."""
    subprocess.run([ROOT / "tools/build", "cli/isolator"], check=True, stdout=subprocess.DEVNULL)
    place = tmp_path_factory.mktemp("site")
    done = build("--output", place / "site", "--work", place / "work")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"index.html: \d+ pages, ", done.stdout)
    return place / "site"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small repository that can be made a site of."""
    place = tmp_path / "tree"
    put(place, {"README.md": README, "docs/a.md": DOCUMENT, "lib/p.c": "int p;\n",
                "lib/q": "#!/bin/sh\ntrue\n", "cli/man/p.1": MANUAL,
                "cli/man/q.1": MANUAL.replace("p \\-", "q \\-")})
    subprocess.run(["git", "init", "-q", place], check=True)
    return place


def test_all_is_there(site: Path) -> None:
    """Each document and each man page of this tree, with its text."""
    listed = subprocess.run(["git", "ls-files", "*.[1-8]"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split()
    assert len(listed) > 50
    for path in [*listed, *(str(page.relative_to(ROOT)) for page in DOCUMENTS)]:
        assert (site / f"{sitepages.page_of(path)}.html").is_file(), path
    run = (site / "man/isolator-run.1.html").read_text()
    assert "--best-effort" in run and "<h1>isolator-run(1)" in run
    assert '<a href="isolator-audit.1.html"><b>isolator-audit</b>(1)</a>' in run
    assert "int main(" in re.sub("<[^>]+>", "", (site / "sources/lib/examples/control.c.html")
                                 .read_text())
    assert (site / "searchindex.js").stat().st_size > 10_000


def test_documents_are_linked() -> None:
    """From README.md each document can be reached by links, on a forge too."""
    reached, waiting = {"README.md"}, ["README.md"]
    while waiting:
        path = waiting.pop()
        for link in sitepages.LINK.findall((ROOT / path).read_text()):
            found = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
            if found.endswith(".md") and (ROOT / found).is_file() and found not in reached:
                reached.add(found)
                waiting.append(found)
    assert {str(page.relative_to(ROOT)) for page in DOCUMENTS} <= reached


def test_small_tree(tree: Path, tmp_path: Path) -> None:
    """Links between all kinds of pages lead where they should; only what changed is built anew,
    and a warning stays one.
    """
    done = build_tree(tree, tmp_path, "docs/a")
    assert done.returncode == 0, done.stdout + done.stderr
    first = (tmp_path / "site/index.html").read_text()
    for link in ("docs/a.html", "docs/a.html#the-end", "sources/lib/p.c.html", "sources/lib.html"):
        assert f'href="{link}"' in first, link
    document = (tmp_path / "site/docs/a.html").read_text()
    assert 'href="../index.html#project"' in document and 'href="../man/p.1.html"' in document
    manual = (tmp_path / "site/man/p.1.html").read_text()
    assert 'href="q.1.html"' in manual and "cpuset.7.html" not in manual
    assert "files, 0 of them to be built" in build_tree(tree, tmp_path, "docs/a").stdout
    put(tree, {"docs/a.md": DOCUMENT + "#### Deep\n"})
    for _ in range(2):  # what is wrong is in no page that was built: Sphinx alone says it
        done = build_tree(tree, tmp_path, "docs/a")
        assert done.returncode == 1 and "Non-consecutive header" in done.stderr


def test_strict(tree: Path, tmp_path: Path) -> None:
    """Each fault in a document is named, until it is mended."""
    put(tree, {"docs/a.md": DOCUMENT + "[x](gone.md) [y](../README.md#gone) ![z](gone.png)\n",
               "docs/b.md": "# Forgotten\n\n[a](a.md)\n"})
    done = build_tree(tree, tmp_path, "docs/a")
    assert done.returncode == 1
    for fault in ("a.md.*gone.md", "a.md.*local id not found in doc 'index': 'gone'",
                  "a.md.*gone.png", "b.md.*toctree", "docs/b.html: not in the navigation",
                  "docs/b.html: no text links to it"):
        assert re.search(fault, done.stdout + done.stderr), fault
    (tree / "docs/b.md").unlink()
    put(tree, {"docs/a.md": DOCUMENT})
    assert build_tree(tree, tmp_path, "docs/a").returncode == 0
    assert not (tmp_path / "site/docs/b.html").exists()


def test_whole_site_passes(tmp_path: Path) -> None:
    """The check finds nothing where nothing is wrong."""
    put(tmp_path, WHOLE)
    assert sitecheck.problems(tmp_path) == []


@pytest.mark.parametrize("reason", WRONG)
def test_fault_is_found(reason: str, tmp_path: Path) -> None:
    """What is planted is said, with the page that it is on."""
    name, text = WRONG[reason]
    put(tmp_path, {**WHOLE, name: WHOLE.get(name, "") + text})
    found = sitecheck.problems(tmp_path)
    assert [line for line in found if line.startswith(f"{name}: ") and line.endswith(reason)]
    assert {line.split(":")[0] for line in found} == {name}


def test_no_site(tmp_path: Path) -> None:
    """A directory without a first page is none."""
    assert "no index.html" in sitecheck.problems(tmp_path)[0]


def test_wrong_words() -> None:
    """They are an error that says what would be right."""
    done = build("--serve", "70000")
    assert done.returncode == 1 and "0 to 65535" in done.stderr
    assert "examples:" in build("--help").stdout


def test_served(tmp_path: Path) -> None:
    """On this machine's own address only, until it is ended."""
    put(tmp_path, {"index.html": "here"})
    call = ("import sys, pathlib, sitebuild; "
            "sys.exit(sitebuild.serve(pathlib.Path(sys.argv[1]), 0))")
    with subprocess.Popen([sys.executable, "-c", call, tmp_path], cwd=ROOT / "tools",
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
            assert address
            with urllib.request.urlopen(address[0], timeout=10) as answer:
                assert answer.read() == b"here"
            process.terminate()
            assert process.wait(10) == 128 + signal.SIGTERM
        finally:
            process.kill()


def test_in_a_browser(site: Path) -> None:
    """Without a server: nothing comes from elsewhere, light and dark, wide and narrow, search."""
    with browser(home=f"file://{site}") as page:
        for name in ("index", "docs/catalogue", "docs/scope", "man/isolator-run.1"):
            for size in (WIDE, NARROW):
                page.set_viewport_size(size)
                page.goto(f"file://{site}/{name}.html")
                over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                assert over <= 0, f"{name} is wider than {size['width']} by {over}"
        shades = []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            shades.append(sum(map(int, re.findall(r"\d+", colour)[:3])))
        assert shades[0] > 600 and shades[1] < 150
        page.goto(f"file://{site}/search.html?q=membarrier")
        page.wait_for_selector("#search-results li a")
        assert page.locator("#search-results li a[href*='catalogue']").count() > 0
