# SPDX-License-Identifier: GPL-2.0-or-later
"""Check a site of HTML files as a browser would see it: every link leads somewhere, every page
is found, nothing comes from another host.
"""

import posixpath
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FIRST = "index.html"
# Pages that no text leads to: the form and the script do.
APART = {"search.html"}
# What a browser loads by itself, or shows inside of a page.
LOADED = {
    ("audio", "src"), ("embed", "src"), ("iframe", "src"), ("image", "href"), ("img", "src"),
    ("img", "srcset"), ("input", "src"), ("link", "href"), ("object", "data"), ("script", "src"),
    ("source", "src"), ("source", "srcset"), ("track", "src"), ("use", "href"),
    ("use", "xlink:href"), ("video", "poster"), ("video", "src"),
}
STYLE_URL = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


@dataclass
class Page:
    """What one page holds."""

    anchors: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    """... to be clicked, anywhere"""
    text_links: list[str] = field(default_factory=list)
    """... of them those in its own text"""
    navigation: list[str] = field(default_factory=list)
    """... and those in the site's navigation"""
    loads: list[str] = field(default_factory=list)


class Reader(HTMLParser):
    """Reads one page."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.inside = {"article": 0, "style": 0}
        self.divisions: list[bool] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag in self.inside:
            self.inside[tag] += 1
        if tag == "div":
            tree = "sidebar-tree" in named.get("class", "").split()
            self.divisions.append(tree)
        self.page.anchors += [named["id"]] if "id" in named else []
        if tag == "a" and "href" in named:
            self.page.links.append(named["href"])
            if self.inside["article"]:
                self.page.text_links.append(named["href"])
            if any(self.divisions):
                self.page.navigation.append(named["href"])
        for name, value in named.items():
            if (tag, name) in LOADED:
                addresses = value.split(",") if name == "srcset" else [value]
                self.page.loads += [one.split()[0] for one in addresses if one.strip()]
        self.page.loads += style_urls(named.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        if self.inside.get(tag):
            self.inside[tag] -= 1
        if tag == "div" and self.divisions:
            self.divisions.pop()

    def handle_data(self, data: str) -> None:
        if self.inside["style"]:
            self.page.loads += style_urls(data)


def style_urls(style: str) -> list[str]:
    """The addresses that a style sheet loads."""
    return [first or second for first, second in STYLE_URL.findall(style)]


def read(path: Path) -> Page:
    """One page, read."""
    reader = Reader()
    reader.feed(path.read_text())
    reader.close()
    return reader.page


def elsewhere(address: str) -> bool:
    """Whether an address names another host, or a scheme that does."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def target(name: str, address: str) -> tuple[str, str]:
    """The file of the site and the anchor that `address` means on page `name`."""
    parts = urlsplit(address)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path)))
    return path if parts.path else name, unquote(parts.fragment)


class Site:
    """All pages of a site."""

    def __init__(self, place: Path) -> None:
        self.files = {str(path.relative_to(place)): path
                      for path in sorted(place.rglob("*")) if path.is_file()}
        self.pages = {name: read(path) for name, path in self.files.items()
                      if name.endswith(".html")}
        self.loads = {name: page.loads for name, page in self.pages.items()}
        self.loads |= {name: style_urls(path.read_text()) for name, path in self.files.items()
                       if name.endswith(".css")}

    def dead(self, name: str, address: str) -> str:
        """Why an address on page `name` leads nowhere; empty if it leads somewhere."""
        if address.startswith("data:"):
            return ""
        path, anchor = target(name, address)
        if path not in self.files:
            return f"{name}: broken link: {address}"
        if anchor and path in self.pages and anchor not in self.pages[path].anchors:
            return f"{name}: missing anchor: {address}"
        return ""

    def dead_links(self) -> list[str]:
        """Links, pictures and parts that are not there."""
        links = {name: page.links for name, page in self.pages.items()}
        return [reason for name, loads in self.loads.items()
                for address in dict.fromkeys(links.get(name, []) + loads)
                if not elsewhere(address) and (reason := self.dead(name, address))]

    def foreign(self) -> list[str]:
        """What would be loaded from another host."""
        return [f"{name}: loaded from elsewhere: {address}" for name, loads in self.loads.items()
                for address in dict.fromkeys(loads) if elsewhere(address)]

    def twice(self) -> list[str]:
        """Anchors that a page has more than once: a link leads to the first only."""
        return [f"{name}: anchor twice: {anchor}" for name, page in self.pages.items()
                for anchor in sorted(set(page.anchors)) if page.anchors.count(anchor) > 1]

    def outside_navigation(self) -> list[str]:
        """Pages that the first page's navigation does not have."""
        listed = {target(FIRST, address)[0] for address in self.pages[FIRST].navigation}
        return [f"{name}: not in the navigation" for name in self.pages
                if name not in listed | APART | {FIRST}]

    def unreached(self) -> list[str]:
        """Pages that no chain of links in the texts leads to from the first one."""
        reached = {FIRST}
        waiting = [FIRST]
        while waiting:
            name = waiting.pop()
            for address in self.pages[name].text_links:
                path = target(name, address)[0]
                if not elsewhere(address) and path in self.pages and path not in reached:
                    reached.add(path)
                    waiting.append(path)
        return [f"{name}: no text links to it" for name in self.pages
                if name not in reached | APART]


def problems(place: Path) -> list[str]:
    """One line for each thing that is wrong with the site in directory `place`."""
    site = Site(place)
    if FIRST not in site.pages:
        return [f"{place}: no {FIRST}"]
    return [*site.dead_links(), *site.foreign(), *site.twice(), *site.outside_navigation(),
            *site.unreached()]
