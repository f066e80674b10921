# SPDX-License-Identifier: GPL-2.0-or-later
"""Build the documentation as a site: Sphinx's pages, in out/site, and check every link.

What has not changed is not built again.  The site needs no server and no network: open its
index.html.
"""

import argparse
import functools
import hashlib
import http.server
import json
import re
import runpy
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import sitecheck
import sitepages
from sphinx.cmd import build as sphinx
from steps import ROOT, Parser, end_on_sigterm

CONFIGURATION = ROOT / "docs/site"
PORT = 8360
EXAMPLES = """examples:
  tools/site                  build what changed; out/site/index.html is the first page
  tools/site --serve          build, and show it on http://127.0.0.1:8360/ until Ctrl-C
  tools/site --fresh          build everything again

Exit codes: 0 built and checked, 1 a link, an anchor or a page is wrong, or the build failed.
"""


def write_changed(place: Path, pages: dict[str, bytes]) -> int:
    """Let `place` hold these files only; how many changed: Sphinx goes by the time of files."""
    changed = 0
    for path in sorted(place.rglob("*"), reverse=True):
        if path.is_file() and str(path.relative_to(place)) not in pages:
            path.unlink()
    for name, content in pages.items():
        path = place / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            changed += 1
    return changed


def frame(pages: dict[str, bytes]) -> str:
    """What every page shows of the others, and what makes it, as one number.

    Sphinx writes again what changed, but not the navigation beside everything else.
    """
    titles = {name: re.search(rb"^# .*", content, re.MULTILINE)
              for name, content in pages.items() if name.endswith(".md")}
    parts = [f"{name} {title and title[0]!r}" for name, title in sorted(titles.items())]
    files = [ROOT / "tools/requirements.txt", Path(__file__), Path(sitepages.__file__),
             *CONFIGURATION.iterdir()]
    parts += [hashlib.sha256(path.read_bytes()).hexdigest()
              for path in sorted(files) if path.is_file()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def build(root: Path, output: Path, work: Path, navigation: sitepages.Navigation,
          say: Callable[[str], None] = print) -> int:
    """Make `output` the site of the tree `root`; 0 if nothing is wrong with it.

    `work` keeps what makes the next time faster.
    """
    start = time.monotonic()
    say(f"site: reading {root}")
    pages = sitepages.pages(root, navigation)
    source, stamp = work / "source", work / "built"
    changed = write_changed(source, pages)
    now = frame(pages)
    if not stamp.is_file() or stamp.read_text() != now:
        for place in (output, work / "doctrees"):
            shutil.rmtree(place, ignore_errors=True)
        changed = len(pages)
    # A warning comes once, for the page that is read: after a failure all are read again.
    stamp.unlink(missing_ok=True)
    say(f"site: {len(pages)} files, {changed} of them to be built")
    status = sphinx.main(["-b", "html", "-W", "--keep-going", "-n", "-c", str(CONFIGURATION),
                          "-d", str(work / "doctrees"),
                          *([] if sys.stdout.isatty() else ["-q"]), str(source), str(output)])
    found = sitecheck.problems(output) if output.is_dir() else []
    for line in found:
        say(f"site: {line}")
    if status or found:
        say(f"site: FAILED: {len(found)} wrong in what was built" + (
            ", and Sphinx's warnings above" if status else ""))
        return 1
    stamp.write_text(now)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    say(f"site: {output / 'index.html'}: {len(list(output.rglob('*.html')))} pages, "
        f"{size / 1e6:.1f} MB, {time.monotonic() - start:.0f} s")
    return 0


def serve(place: Path, port: int) -> int:
    """Show the site to this machine only, until Ctrl-C or SIGTERM."""
    end_on_sigterm()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(place))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        print(f"site: port {port}: {error.strerror}; another one: --serve PORT", file=sys.stderr)
        return 1
    with server:
        print(f"site: http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


def main() -> int:
    """Parse the command line and build."""
    parser = Parser(prog="tools/site", description=__doc__, epilog=EXAMPLES,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "out/site", metavar="DIRECTORY",
                        help="directory of the site, which is replaced (default out/site)")
    parser.add_argument("--work", type=Path, default=ROOT / "build/site", metavar="DIRECTORY",
                        help="directory of intermediate files (default build/site)")
    parser.add_argument("--fresh", action="store_true", help="build everything again")
    parser.add_argument("--serve", type=int, nargs="?", const=PORT, metavar="PORT",
                        help=f"then show it on 127.0.0.1 (port {PORT}; 0: any that is free)")
    arguments = parser.parse_args()
    if arguments.serve is not None and not 0 <= arguments.serve < 65536:
        parser.error(f"--serve {arguments.serve}: a port is 0 to 65535")
    if arguments.fresh:
        shutil.rmtree(arguments.work, ignore_errors=True)
    navigation = runpy.run_path(str(CONFIGURATION / "conf.py"))["NAVIGATION"]
    status = build(ROOT, arguments.output, arguments.work, navigation)
    if status or arguments.serve is None:
        return status
    return serve(arguments.output, arguments.serve)


if __name__ == "__main__":
    sys.exit(main())
