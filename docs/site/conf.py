# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation as a site: Sphinx's settings and the navigation; tools/site builds it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import sitepages  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What a reader does, in that order; README.md is the first page.  man/ and sources/ are
# written by tools/sitepages.py.
NAVIGATION = {
    "Begin": ["docs/README", "docs/how-it-works", "docs/install", "docs/kernel-package",
              "docs/first-hour", "docs/commands", "docs/application", "docs/programs"],
    "Measure": ["docs/measure", "docs/report", "docs/metrics"],
    "Measure from outside": ["docs/scope", "docs/scope-protocol"],
    "Look after it": ["docs/security", "docs/containers", "docs/troubleshooting"],
    "The evidence": ["docs/lab", "docs/catalogue", "docs/review", "docs/STATUS", "docs/evidence",
                     "docs/transcripts", "docs/bench-channel", "docs/bench-alloc",
                     "docs/bench-measure"],
    "Contribute": ["docs/architecture", "CONTRIBUTING", "docs/writing"],
    "Look up": ["docs/glossary", "man/index", "sources/index"],
}

project = "Isolator"
html_title = "Isolator"
language = "en"
extensions = ["myst_parser"]
root_doc = "index"

# A page says on the site what it says on a forge: none of MyST's own syntax, no other quotes
# or dashes, and anchors of the same names.
myst_disable_syntax = ["myst_block_break", "myst_line_comment", "myst_role", "myst_target"]
myst_heading_anchors = 6
smartquotes = False
highlight_language = "text"

html_theme = "furo"
# The summaries are fetched, which a browser refuses where the pages are files.
html_show_search_summary = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_use_index = False
html_domain_indices = False


def setup(app: Sphinx) -> None:
    """Links to files that are no pages in docs/ lead to the pages made of these."""
    app.connect("doctree-read", sitepages.redirect_links)
