# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/install-packages, with a faked package manager."""

import os
import subprocess
from pathlib import Path

from steps import ROOT
from waiting import PATIENCE_S, until

APT = """#!/bin/sh
# As apt-get: a second one beside it fails.  The first stays until the other step waits for it,
# or has come here.
mkdir "$FAKE/lists.lock" || {
	touch "$FAKE/second"
	echo 'E: Could not get lock /var/lib/apt/lists/lock' >&2
	exit 100
}
if [ "$1" = update ]; then
	touch "$FAKE/updates"
	lock=$(stat -c %i "$FAKE/cache/packages.lock")
	until [ -e "$FAKE/second" ] || grep -q -e "-> FLOCK .*:$lock " /proc/locks; do sleep 0.01; done
else
	echo installed >>"$FAKE/installed"
fi
rmdir "$FAKE/lists.lock"
"""

# A package is there once apt-get has installed it.
DPKG_QUERY = """#!/bin/sh
[ -e "$FAKE/installed" ] || exit 1
printf installed
"""


def test_two_at_once_wait_for_each_other(tmp_path: Path) -> None:
    """On a fresh machine two steps of make check need packages at once."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("apt-get", APT), ("dpkg-query", DPKG_QUERY), ("sudo", '#!/bin/sh\n"$@"\n')):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "FAKE": str(tmp_path),
                   "ISOLATOR_CACHE": str(tmp_path / "cache")}
    both = []
    for _ in range(2):
        both.append(subprocess.Popen(
            [ROOT / "tools/install-packages", "--names", "a-package"], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        until((tmp_path / "updates").exists, both[0].poll)
    said = [one.communicate(timeout=PATIENCE_S)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert (tmp_path / "installed").read_text() == "installed\n"
