# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent leaves of a command that is over."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from isolab.paths import LAB

AGENT = LAB / "guest" / "agent"
# The agent's own files lie in @argv[1]; what it would report says what came of command @argv[2].
# With @argv[3], a file, it is killed once it has written there.  With @argv[4] SIGKILL ends
# nothing, and time goes by at once.
REST = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include "agent.h"
#include "command.h"
#include "event.h"

FILE *report;
static const char *place;
static double ahead;
static int undying;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, int mode)
{
	char own[4096];

	if (!strcmp(path, "/dev/kmsg"))
		path = "/dev/null";
	if (!strncmp(path, "/run/", 5)) {
		snprintf(own, sizeof(own), "%s/%s", place, path + 5);
		path = own;
	}
	return __real_open(path, flags, mode);
}

int __real_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal)
{
	return undying && signal == SIGKILL ? 0 : __real_kill(pid, signal);
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ahead + (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void sleep_ms(long ms)	/* sleep: what the agent calls */
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	if (undying)
		ahead += (double)ms / 1000;
	else
		nanosleep(&ts, NULL);	/* sleep: the same */
}

void begin_event(const char *event, const char *name) {}
void end_event(void) {}
void put_file(const char *key, const char *path) {}
void problem(const char *fmt, ...) {}

int main(int argc, char **argv)
{
	struct stat st = { 0 };

	report = stdout;
	place = argv[1];
	prctl(PR_SET_CHILD_SUBREAPER, 1);	/* process 1 */
	if (argc == 3) {
		command_run("x", argv[2]);
		return 0;
	}
	command_start("x", argv[2]);
	if (!strcmp(argv[3], "ended?")) {
		char text[256] = "";

		printf("%d ", command_ended("x", text, sizeof(text)));
		while (!command_ended("x", text, sizeof(text))) {
			sleep_ms(5);	/* sleep: until the command has ended */
			command_reap();
		}
		printf("%d %s\n", command_ended("y", text, sizeof(text)), text);
		return 0;
	}
	while (stat(argv[3], &st) || !st.st_size)
		sleep_ms(5);	/* sleep: until the command has written */
	undying = argc > 4;
	command_kill("x", "20000");
	return 0;
}
"""


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    place = tmp_path_factory.mktemp("agent")
    (place / "rest.c").write_text(REST)
    subprocess.run(
        ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", f"-I{AGENT}", "-Wl,--wrap=open,--wrap=kill",
         "-o", place / "run", AGENT / "command.c", place / "rest.c"], check=True)
    return [str(place / "run"), str(place)]


def lives(left: Path) -> bool:
    """Does the process whose number is in this file?"""
    stat = Path(f"/proc/{left.read_text().strip()}/stat")
    return stat.exists() and not stat.read_text().rpartition(") ")[2].startswith("Z")


@pytest.fixture(name="left")
def _left(tmp_path: Path) -> Iterator[Path]:
    """A file for the number of a process, which does not outlive the test."""
    left = tmp_path / "left"
    yield left
    if lives(left):
        os.kill(int(left.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("returned", [True, False])
def test_nothing_of_a_command_outlives_it(run: list[str], left: Path, returned: bool) -> None:
    waits = "" if returned else "; wait"
    script = f"sleep 600 & echo $! >{left}; while ! [ -s {left} ]; do :; done{waits}"
    done = subprocess.run([*run, f"{20000 if returned else 10000} {script}"], capture_output=True,
                          text=True, check=True)
    assert f'"returned": {str(returned).lower()}' in done.stdout
    assert '"left"' not in done.stdout and not lives(left)


@pytest.mark.parametrize("behind", ["wait", "exit 0"])
@pytest.mark.parametrize("undying", [False, True])
def test_nothing_of_a_background_command_outlives_its_kill(
    run: list[str], left: Path, behind: str, undying: bool
) -> None:
    """SIGTERM ends the shell at once, but not what it has started."""
    script = f"trap '' TERM; sleep 600 & trap - TERM; echo $! >{left}; {behind}"
    done = subprocess.run([*run, script, left, *["undying"] * undying], capture_output=True,
                          text=True, check=True)
    assert '"returned": true' in done.stdout
    assert ('"left": true' in done.stdout) == lives(left) == undying


@pytest.mark.parametrize(("script", "said"), [
    ("echo why >&2; exit 3", "0 0 it ended by exit status 3: why"),
    ("kill -9 $$", "0 0 it ended by signal 9: "),
])
def test_how_a_background_command_ended_is_told(run: list[str], script: str, said: str) -> None:
    done = subprocess.run([*run, script, "ended?"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == said.strip()
