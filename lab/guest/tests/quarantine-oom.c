// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: quarantine-oom
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 120
 * dmesg: Call Trace:
 * about: for some seconds after the machine ran out of memory no quarantine takes any
 */
#include "quarantine.h"

enum { SIZE = 4 << 20, TRIES = 5, SHUT_S = 5 };

/* What the machine lacks memory for, by SysRq: it is killed after the quarantines gave theirs. */
static bool out_of_memory(void)
{
	pid_t pid = fork();
	char path[64];
	int status;

	if (!pid) {
		if (put_file("/proc/self/oom_score_adj", "1000"))
			_exit(1);
		for (;;)
			pause();
	}
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	until(file_has(path, "1000", NULL) && !file_has(path, "-", NULL));
	if (put_file("/proc/sysrq-trigger", "f"))
		bail_out("no SysRq");
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* What a removal leaves in the quarantine. */
static uint64_t held_of_one(uint64_t number)
{
	char *p = map_watched(SIZE, number);

	unmap_ns(p, SIZE);
	return quarantined();
}

int main(void)
{
	uint64_t number = 0, began, held;
	struct worker *w;
	int i;

	iso_require(2);
	if (put_file("/proc/self/oom_score_adj", "-1000"))
		bail_out("this process cannot be kept from being killed");
	w = reader(0);
	held = held_of_one(++number);
	ok(held >= SIZE, "%lu KiB wait", held >> 10);
	for (i = 0; i < TRIES; i++) {
		began = now_ns();
		if (!ok(out_of_memory(), "out of memory, a process is killed"))
			break;
		held = held_of_one(++number);
		/* In a slow guest it may be open again. */
		if (!held || now_ns() - began < (SHUT_S - 1) * SEC)
			break;
		diag("try %d took %lu s", i + 1, (now_ns() - began) / SEC);
	}
	ok(i < TRIES && !held, "nothing waits, nor of what is unmapped next: %lu KiB", held >> 10);
	ok(comes(held_of_one(++number) >= SIZE, 60000), "later it does again");
	worker_end(w);
	return done_testing();
}
