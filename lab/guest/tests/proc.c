// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: proc
 * cpus: 2
 * kernel: isolator
 * timeout: 30
 * about: /proc/isolator starts, ticks and stops the thread that writes; others read
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../iso.h"
#include "../tap.h"

#define P "/proc/isolator/"

static int stranger(void)
{
	char text[4096];

	if (put_file(P "stop", "\n") != -ESRCH || put_file(P "tick", "7") != -ESRCH)
		return 1;
	if (setuid(65534))
		return 2;
	if (get_file(P "status", text, sizeof(text)) || !strstr(text, "cpu 1 isolated"))
		return 3;
	if (get_file(P "stats", text, sizeof(text)) || strstr(text, "callback "))
		return 4;
	return put_file(P "start", "7") == -EACCES ? 0 : 5;
}

int main(void)
{
	static const char *const bad[] = { "0", "8", "7 7", "x", "-1", "4294967296" };
	int status;
	pid_t pid;

	iso_require(2);
	ok(put_file(P "stop", "\n") == -ESRCH, "stop before start: ESRCH");
	ok(put_file(P "start", "7") == -EACCES, "start on a CPU outside the mask: EACCES");
	iso_pin(1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int error = put_file(P "start", bad[i]);

		ok(error < 0, "start with \"%s\": %s", bad[i], strerror(-error));
	}
	ok(!put_file(P "start", "7\n"), "start 7");
	ok(file_has(P "status", "cpu 1 isolated", "mask 0x7", "depth 1", NULL),
	   "the status says so");
	ok(file_has(P "stats", "cpu 1 total", "held", "deferred", "breached", NULL),
	   "statistics per CPU");
	pid = fork();
	if (!pid)
		_exit(stranger());
	waitpid(pid, &status, 0);
	ok(!status, "a stranger reads, but neither ticks nor stops (status %#x)", status);
	ok(!put_file(P "tick", "7"), "tick 7");
	ok(put_file(P "tick", "8") == -EINVAL, "tick 8: EINVAL");
	ok(!put_file(P "stop", "\n"), "stop");
	ok(file_has(P "status", "cpu 1 ended stop", NULL), "the status says why it ended");
	ok(put_file(P "cpus", "9999") < 0, "a CPU that cannot be: refused");
	ok(put_file(P "cpus", "x") < 0, "no list: refused");
	ok(!put_file(P "cpus", "1") && file_has(P "cpus", "1\n", NULL), "CPU 1 alone may be isolated");
	return done_testing();
}
