# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/install-packages, with a faked package manager."""

import os
import subprocess
from pathlib import Path

import pytest
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


UNREACHED = """#!/bin/sh
# As apt-get where a source does not answer.
case " $* " in
*" update "*" APT::Update::Error-Mode=any "*) exit 100 ;;
*" update "*) ;;
*) echo "E: Unable to locate package" >&2; exit 100 ;;
esac
"""


@pytest.mark.parametrize(("apt", "code"), [(UNREACHED, 1), ("#!/bin/sh\n", 77)])
def test_a_source_out_of_reach_lacks_nothing(tmp_path: Path, apt: str, code: int) -> None:
    """Optional packages that the archive has not are a skip, unless nobody could ask it."""
    for name, text in (("apt-get", apt), ("sudo", '#!/bin/sh\n"$@"\n'),
                       ("apt-cache", "#!/bin/sh\nexit 100\n"),
                       ("dpkg-query", "#!/bin/sh\nexit 1\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [ROOT / "tools/install-packages", "--optional", "arm64"], text=True, check=False,
        capture_output=True, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}",
                                  "ISOLATOR_CACHE": str(tmp_path / "cache")})
    assert done.returncode == code, done.stdout + done.stderr
