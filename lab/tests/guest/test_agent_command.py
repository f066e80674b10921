# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent leaves of a command that is over."""

import subprocess
from pathlib import Path

import pytest
from isolab.paths import LAB

AGENT = LAB / "guest" / "agent"
# The agent's own files lie in @argv[1]; what it would report says whether the command returned.
REST = r"""
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "agent.h"
#include "command.h"
#include "event.h"

FILE *report;
static const char *place;

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

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void sleep_ms(long ms)	/* sleep: what the agent calls */
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);	/* sleep: the same */
}

void begin_event(const char *event, const char *name) {}
void end_event(void) {}
void put_file(const char *key, const char *path) {}
void problem(const char *fmt, ...) {}

int main(int argc, char **argv)
{
	report = stdout;
	place = argv[1];
	command_run("x", argv[2]);
	return 0;
}
"""


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    place = tmp_path_factory.mktemp("agent")
    (place / "rest.c").write_text(REST)
    subprocess.run(
        ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", f"-I{AGENT}", "-Wl,--wrap=open",
         "-o", place / "run", AGENT / "command.c", place / "rest.c"], check=True)
    return [str(place / "run"), str(place)]


@pytest.mark.parametrize("returned", [True, False])
def test_nothing_of_a_command_outlives_it(run: list[str], tmp_path: Path, returned: bool) -> None:
    left = tmp_path / "left"
    waits = "" if returned else "; wait"
    script = f"sleep 600 & echo $! >{left}; while ! [ -s {left} ]; do :; done{waits}"
    done = subprocess.run([*run, f"{20000 if returned else 300} {script}"], capture_output=True,
                          text=True, check=True)
    assert f'"returned": {str(returned).lower()}' in done.stdout
    stat = Path(f"/proc/{left.read_text().strip()}/stat")
    assert not stat.exists() or stat.read_text().rpartition(") ")[2].startswith("Z")
