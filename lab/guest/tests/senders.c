// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: senders
 * cpus: 2
 * kernel: isolator
 * timeout: 30
 * about: a sender that takes ever new names leaves room for the others
 */
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include "../test.h"
#include "counted.h"

#define SENDERS	"/proc/isolator/senders"
enum { NAMES = 2000, LATE = 10 };

/* Asks for a counter on the isolated CPU: refused, and counted by the caller's name. */
static bool ask(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == EBUSY;
}

/* Wants to run on the isolated CPU only: refused, and counted as another request. */
static bool want(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	return sched_setaffinity(0, sizeof(set), &set) && errno == EBUSY;
}

int main(void)
{
	unsigned long long rows, total;
	struct worker *w;
	char name[16];
	int refused = 0;

	iso_require(2);
	w = worker_new(1);
	w->deadline_ns = 20 * SEC;
	w->tick_ms = 10;
	need_worker(worker_thread(w));
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		prctl(PR_SET_NAME, name);
		refused += ask();
	}
	ok(refused == NAMES, "%d of %d requests were refused", refused, NAMES);
	prctl(PR_SET_NAME, "late");
	refused = 0;
	for (int i = 0; i < LATE; i++)
		refused += want();
	ok(refused == LATE, "%d of %d others were refused", refused, LATE);
	/* Of a kernel in which two callbacks share their room by chance, the next has its own. */
	ask_flush();
	ok(file_has(SENDERS, " comm late", NULL),
	   "another request of a late comer has a row of its own");
	ok(file_has(SENDERS, " kind others ", NULL), "the names that found no place are others");
	rows = counted_in(SENDERS, "cpu 1 sender", " refused ");
	total = counted("cpu 1 total", " refused ");
	ok(total == NAMES + LATE && rows == total,
	   "the rows add up to %llu, the total is %llu", rows, total);
	worker_end(w);
	return done_testing();
}
