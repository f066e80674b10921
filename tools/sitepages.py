# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of the documentation's site, as Sphinx reads them.

README.md, CONTRIBUTING.md and docs/*.md are taken as they are, with the pictures beside them.
Each man page of the tree becomes a page by mandoc, filled in by the command as its build does;
so does each other file, or directory, that one of them links to: there is no public repository
that such a link could lead to.
"""

from __future__ import annotations

import html
import posixpath
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers import get_lexer_for_filename, guess_lexer
from pygments.util import ClassNotFound

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

# As tools/site has it built.
ISOLATOR = Path(__file__).resolve().parent.parent / "build/host/cli/isolator"
DOCUMENT = re.compile(r"(?:README|CONTRIBUTING)\.md|docs/[^/]+\.md")
PICTURES = {".svg", ".png"}
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)")
MANUAL = re.compile(r"(?:.*/)?([^/]+\.[1-8])")
SECTIONS = {
    "1": "Commands",
    "3": "Calls of the library",
    "4": "The device",
    "5": "Files",
    "7": "Concepts",
    "8": "For the administrator",
}
ORIGIN = "As it is in the repository, like [these](/sources/index.md)."
Navigation = dict[str, list[str]]


def page_of(path: str) -> str:
    """The page that the file `path` of the repository is shown on, without a suffix."""
    if path == "README.md":
        return "index"
    if DOCUMENT.fullmatch(path):
        return path.removesuffix(".md")
    if re.fullmatch(r"(?:.*/)?man", path):
        return "man/index"
    manual = MANUAL.fullmatch(path)
    return f"man/{manual[1]}" if manual else f"sources/{path}"


def redirect_links(app: Sphinx, tree: nodes.document) -> None:
    """Let links to files of the repository lead to the pages that show them.

    What is a page of that name already MyST has found; what leads nowhere is left, and MyST
    will say so.
    """
    from sphinx.addnodes import pending_xref

    page = app.env.docname
    place = "" if page == app.config.root_doc else posixpath.dirname(page)
    for node in tree.findall(pending_xref):
        if node["reftype"] != "myst" or node["refdomain"] is not None:
            continue
        path, _, anchor = node["reftarget"].partition("#")
        target = page_of(posixpath.normpath(posixpath.join(place, path)))
        if path and target in app.env.found_docs:
            node["refdomain"], node["reftarget"] = "doc", target
            node["reftargetid"] = anchor or None


@dataclass
class Tree:
    """A repository, and the pages that are made of it: name of the file and content."""

    root: Path
    pages: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, check=True, capture_output=True, text=True).stdout
        self.files = [path for path in sorted(set(listing.split("\0")))
                      if (self.root / path).is_file()]
        self.directories = {str(parent) for path in self.files for parent in Path(path).parents}

    def text(self, path: str) -> str:
        """A file's text."""
        return (self.root / path).read_text()

    def add(self, page: str, text: str) -> None:
        """One page."""
        self.pages[f"{page}.md"] = text.encode()


def escaped(text: str) -> str:
    """Text that Markdown takes as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|&])", r"\\\1", text)


def toctree(pages: list[str], caption: str = "") -> str:
    """A part of the navigation."""
    options = f":caption: {caption}\n" if caption else ""
    entries = "\n".join(f"/{page}" for page in pages)
    return f"```{{toctree}}\n:hidden:\n{options}\n{entries}\n```\n"


def add_documents(tree: Tree, navigation: Navigation) -> list[str]:
    """README.md with the navigation, other documents and pictures; gives what they link to."""
    linked = set()
    for path in tree.files:
        if DOCUMENT.fullmatch(path):
            text = tree.text(path)
            tree.add(page_of(path), text)
            place = posixpath.dirname(path)
            linked |= {posixpath.normpath(posixpath.join(place, link))
                       for link in LINK.findall(text)}
        elif path.startswith("docs/") and Path(path).suffix in PICTURES:
            tree.pages[path] = (tree.root / path).read_bytes()
    tree.pages["index.md"] += "\n".join(
        ["", *(toctree(pages, caption) for caption, pages in navigation.items())]).encode()
    return sorted(linked)


def manual(path: Path, known: set[str]) -> tuple[str, str]:
    """A man page as Markdown with its paragraphs as HTML, and what its NAME says."""
    page = path.read_text()
    if re.search(r'^\.\\" options$', page, re.MULTILINE):
        page = subprocess.run([ISOLATOR, "manual", *path.stem.split("-")[1:]], input=page,
                              check=True, capture_output=True, text=True).stdout
    text = subprocess.run(["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html"],
                          input=page, check=True, capture_output=True, text=True).stdout
    text = re.sub(r'<table class="(?:head|foot)">.*?</table>', "", text, flags=re.DOTALL)
    text = re.sub(r"</?(?:section|div class=\"manual-text\")[^>]*>", "", text)
    text = text.rstrip().removesuffix("</div>")
    # Headings get anchors and links of their own; those of other terms could be the same ones.
    text = re.sub(r'<a class="permalink"[^>]*>(.*?)</a>', r"\1", text, flags=re.DOTALL)
    text = re.sub(r'(<[^>]*) id="[^"]*"', r"\1", text)

    def reference(match: re.Match[str]) -> str:
        page = f"{html.unescape(match[1])}.{match[2]}"
        return f'<a href="{page}.html">{match[0]}</a>' if page in known else match[0]

    text = re.sub(r'<a class="Xr" href="[^"]*">([^<(]*)\((\d)\)</a>', r"<b>\1</b>(\2)", text)
    text = re.sub(r"<b>([^<>\s]+)</b>\((\d)\)", reference, text)
    pieces = re.split(r"<h([12])[^>]*>(.*?)</h\1>", text, flags=re.DOTALL)
    lines = [f"# {escaped(path.stem)}({path.suffix[1:]})"]
    about = ""
    for level, title, body in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        title = html.unescape(" ".join(re.sub(r"<[^>]+>", "", title).split()))
        if title == "NAME":
            name = html.unescape(" ".join(re.sub(r"<[^>]+>", "", body).split()))
            about = re.split(r" [-—] ", name, maxsplit=1)[-1]
        title = title.capitalize() if title.isupper() else title
        lines.append(f"{'#' * (int(level) + 1)} {escaped(title)}")
        if body.strip():
            lines.append(f'```{{raw}} html\n<div class="manual">\n{body.strip()}\n</div>\n```')
    return "\n\n".join(lines) + "\n", about


def add_manuals(tree: Tree) -> None:
    """The man pages, and one that lists them by section."""
    paths = {Path(path).name: path for path in tree.files if MANUAL.fullmatch(path)}
    lines = ["# Manual pages\n\nWhat `man` shows, too.\n"]
    for section, title in SECTIONS.items():
        names = sorted((name for name in paths if name.endswith(f".{section}")),
                       key=lambda name: Path(name).stem)
        if not names:
            continue
        lines.append(f"## {title}\n")
        for name in names:
            text, about = manual(tree.root / paths[name], set(paths))
            tree.add(f"man/{name}", text)
            lines.append(f"- [{escaped(name[:-2])}({section})](/man/{name}.md): {escaped(about)}")
        lines.append("\n" + toctree([f"man/{name}" for name in names]))
    tree.add("man/index", "\n".join(lines))


def language_of(path: str, text: str) -> str:
    """The language that a file is coloured as."""
    try:
        lexer = get_lexer_for_filename(path)
    except ClassNotFound:
        lexer = guess_lexer(text) if text.startswith("#!") else None
    return lexer.aliases[0] if lexer and lexer.aliases else "text"


def add_sources(tree: Tree, linked: list[str]) -> None:
    """Files that are linked to and are no documents, directories, and one page that lists them."""
    shown = {path for path in tree.files if page_of(path).startswith("sources/")
             and Path(path).suffix not in PICTURES}
    directories = [path for path in linked
                   if path in tree.directories and page_of(path).startswith("sources/")]
    files = shown & set(linked)
    for directory in directories:
        inside = sorted(path for path in shown if posixpath.dirname(path) == directory)
        files |= set(inside)
        entries = "\n".join(f"- [{escaped(Path(path).name)}](/{page_of(path)}.md)"
                            for path in inside)
        tree.add(page_of(directory), f"# {escaped(directory)}/\n\n{ORIGIN}\n\n{entries}\n")
    for path in sorted(files):
        text = tree.text(path)
        fence = "`" * max(4, 1 + max(map(len, re.findall("`+", text)), default=0))
        tree.add(page_of(path), f"# {escaped(path)}\n\n{ORIGIN}\n\n"
                 f"{fence}{language_of(path, text)}\n{text.rstrip()}\n{fence}\n")
    listed = sorted([*directories, *files])
    lines = ["# Sources\n", "Files of the repository that these pages speak of.\n",
             *(f"- [{escaped(path)}](/{page_of(path)}.md)" for path in listed),
             "", toctree([page_of(path) for path in listed])]
    tree.add("sources/index", "\n".join(lines))


def pages(root: Path, navigation: Navigation) -> dict[str, bytes]:
    """All that Sphinx is to read: the names of the files, and what is in them."""
    tree = Tree(root)
    linked = add_documents(tree, navigation)
    add_manuals(tree)
    add_sources(tree, linked)
    return tree.pages
