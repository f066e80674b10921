# SPDX-License-Identifier: GPL-2.0-or-later
"""The shell of every page that is written to a file: it needs nothing but itself."""

import json
from html import escape
from pathlib import Path

ASSETS = Path(__file__).with_name("assets")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src blob:"


def shell(title: str, body: str, *, heading: str | None = None, style: str = "",
          script: str = "", data: tuple[str, object] | None = None) -> str:
    """A page of HTML: the common style and keys, then those of this page.

    `title` and `heading` (the title again where it is not given) are text, `body` is HTML.
    `data` is an element's id and a document that the page carries as JSON, for its own script
    and for whoever wants the figures.
    """
    palette, common, alike, keys = ((ASSETS / name).read_text() for name in (
        "palette.css", "page.css", "common.js", "page.js"))
    carried = ""
    if data is not None:
        # No tag, and no comment in which the element would not end.
        text = json.dumps(data[1]).replace("<", "\\u003c")
        carried = f'<script type="application/json" id="{data[0]}">{text}</script>'
    return ("<!doctype html>\n<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
            '<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            f"<title>{escape(title)}</title><style>{palette}{common}{style}</style></head><body>"
            f"<header><h1>{escape(title if heading is None else heading)}</h1>"
            '<button id="theme" title="key d">light / dark</button></header>'
            f"<main>{body}</main>{carried}<script>{alike}</script><script>{keys}</script>"
            + (f"<script>{script}</script>" if script else "") + "</body></html>\n")
