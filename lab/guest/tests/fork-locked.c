// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fork-locked
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: a sibling that forks all the time leaves no page fault to a start that locks the memory
 */
#include "../test.h"

enum { PAGES = 256, ROUNDS = 5 };

static _Atomic bool over;
static _Atomic unsigned long forks;

static void *forker(void *unused)
{
	while (!over) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		if (pid < 0)
			break;
		waitpid(pid, NULL, 0);
		forks++;
	}
	return unused;
}

static long faults(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		bail_out("getrusage");
	return usage.ru_minflt + usage.ru_majflt;
}

static long write_all(volatile char *memory)
{
	long before = faults();

	for (size_t i = 0; i < PAGES; i++)
		memory[i * 4096]++;
	return faults() - before;
}

int main(void)
{
	const struct isolator_start_args asked = {
		.mask = ISOLATOR_MASK_ALL, .flags = ISOLATOR_START_LOCK, .deadline_ns = SEC,
	};
	unsigned long before;
	pthread_t thread;
	char *memory;

	iso_require(2);
	memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED || pthread_create(&thread, NULL, forker, NULL) || iso_pin(1))
		bail_out("no memory, thread or CPU");
	ok(write_all(memory) >= PAGES, "what is new or shared with a child faults, and is counted");
	for (int round = 1; round <= ROUNDS; round++) {
		struct iso iso = { .fd = -1 };
		int error = iso_start_as(&iso, asked);
		long seen;

		if (!ok(!error, "start %d: %s", round, strerror(-error)))
			break;
		seen = write_all(memory);
		ok(!seen, "%ld page faults in %d pages", seen, PAGES);
		before = forks;
		while (forks < before + 3)
			iso_tick(&iso, NULL);
		seen = write_all(memory);
		ok(!seen, "%ld after three more forks", seen);
		ok(!iso_stop(&iso), "stop");
		iso_close(&iso);
	}
	over = true;
	pthread_join(thread, NULL);
	return done_testing();
}
