// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-allow-readers
 * cpus: 2
 * kernel: isolator-faults
 * arch: x86_64
 * timeout: 60
 * about: planted fault: counters and registers of an isolated CPU are read all the same
 */
#include <linux/perf_event.h>
#include "fault.h"

static bool counter_refused(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == EBUSY;
}

static bool register_refused(void)
{
	int fd = open("/dev/cpu/1/msr", O_RDONLY);
	bool refused;
	uint64_t value;

	if (fd < 0)
		bail_out("no /dev/cpu/1/msr");
	refused = pread(fd, &value, sizeof(value), 0x10) < 0 && errno == EBUSY;
	close(fd);
	return refused;
}

/* Both are refused; a queued one would come back after a tick. */
static bool check(void)
{
	struct worker *w = worker_new(1);
	bool counter, reg;

	w->tick_ms = 10;
	need_worker(worker_thread(w));
	counter = counter_refused();
	reg = register_refused();
	worker_end(w);
	diag("counter %s, register %s", counter ? "refused" : "read", reg ? "refused" : "read");
	return counter && reg;
}

int main(void)
{
	iso_require(2);
	return with_fault("allow_readers", check);
}
