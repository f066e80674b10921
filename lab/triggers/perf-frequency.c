// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: perf-frequency
 * row: 117, 89
 * class: defer
 * kind: program
 * notick: no
 * about: a thread is sampled at a frequency, which asks every CPU that has stopped its tick for it
 */
#include <linux/perf_event.h>
#include "trigger.h"

enum { ROUNDS = 3, PAGE = 4096 };

/* Runs for so many ms of CPU time. */
static void work(int ms)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	for (long end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	     now.tv_sec * 1000 + now.tv_nsec / 1000000 < end;)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = PERF_SAMPLE_IP,
		.freq = 1,
		.sample_freq = 99,
	};
	int sampled = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
		struct perf_event_mmap_page *ring;

		need(fd >= 0);
		ring = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		need(ring != MAP_FAILED);
		work(60);
		sampled += ring->data_head > 0;
		munmap(ring, 2 * PAGE);
		close(fd);
	}
	answer(sampled == ROUNDS, "done", "%d of %d runs were sampled", sampled, ROUNDS);
}
