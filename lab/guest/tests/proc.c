// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: proc
 * cpus: 2
 * kernel: isolator
 * timeout: 30
 * about: /proc/isolator starts, ticks and stops the thread that writes; others read
 */
#include "../test.h"

#define P "/proc/isolator/"

static int stranger(void)
{
	char text[4096];

	if (put_file(P "stop", "\n") != -ESRCH || put_file(P "tick", "7") != -ESRCH)
		return 1;
	if (setuid(65534))
		return 2;
	if (get_file(P "status", text, sizeof(text)) || !strstr(text, "cpu 1 isolated") ||
	    strstr(text, " user "))
		return 3;
	if (get_file(P "stats", text, sizeof(text)) || strstr(text, "callback "))
		return 4;
	return put_file(P "start", "7") == -EACCES ? 0 : 5;
}

/* Does what was opened show a line with this word?  From its beginning. */
static bool shows(int fd, const char *word)
{
	char text[8192];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	return strstr(text, word);
}

/*
 * Who opened a file counts: a descriptor shows a privileged reader no more than the
 * one who opened it, and one without privilege, who was handed it, no less.
 */
static void by_who_opened(void)
{
	int own = open(P "status", O_RDONLY | O_CLOEXEC), strange, status;
	pid_t pid;

	if (own < 0)
		bail_out("set-up");
	ok(shows(own, " user "), "root sees whether the task is in user mode");
	pid = fork();
	if (!pid)
		_exit(setuid(65534) || !shows(own, " user "));
	waitpid(pid, &status, 0);
	ok(!status, "and so does who was handed root's descriptor (status %#x)", status);
	/* The thread alone changes, and comes back. */
	if (syscall(SYS_setresuid, -1, 65534, -1))
		bail_out("setresuid");
	strange = open(P "status", O_RDONLY | O_CLOEXEC);
	if (syscall(SYS_setresuid, -1, 0, -1) || strange < 0)
		bail_out("the way back");
	ok(shows(strange, "cpu 1 isolated") && !shows(strange, " user "),
	   "root sees no more through a stranger's descriptor");
	close(strange);
	close(own);
}

/* As long as that of a large machine. */
static const char *long_list(void)
{
	static char text[1024];

	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "1,", 2);
	text[sizeof(text) - 2] = '1';
	return text;
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
	ok(file_has(P "stats", "cpu 1 total", "queued", "deferred", "missed", NULL),
	   "statistics per CPU");
	pid = fork();
	if (!pid)
		_exit(stranger());
	waitpid(pid, &status, 0);
	by_who_opened();
	ok(!status, "a stranger reads, but neither ticks nor stops (status %#x)", status);
	ok(!put_file(P "tick", "7"), "tick 7");
	ok(put_file(P "tick", "8") == -EINVAL, "tick 8: EINVAL");
	ok(!put_file(P "stop", "") && file_has(P "status", "cpu 1 isolated", NULL),
	   "a write of nothing stops nothing");
	ok(!put_file(P "stop", "\n"), "stop");
	ok(file_has(P "status", "cpu 1 ended stop", NULL), "the status says why it ended");
	ok(put_file(P "cpus", "9999") < 0, "a CPU that cannot be: refused");
	ok(put_file(P "cpus", "x") < 0, "no list: refused");
	ok(!put_file(P "cpus", long_list()), "a list of 1023 characters");
	ok(!put_file(P "cpus", "1") && file_has(P "cpus", "1\n", NULL),
	   "CPU 1 alone may be isolated");
	return done_testing();
}
