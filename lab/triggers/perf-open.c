// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: perf-open
 * row: 69
 * class: refuse
 * kind: program
 * notick: no
 * in: run check
 * about: a perf event is opened on the isolated CPU and read
 */
#include <linux/perf_event.h>
#include "trigger.h"

enum { ROUNDS = 3 };

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
	};
	int cpu = env_number("ISO_CPU");
	int counted = 0, refused = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
		uint64_t value = 0;

		if (fd < 0 && errno == EBUSY) {
			refused++;
			continue;
		}
		need(fd >= 0);
		need(!ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
		usleep(10000);
		need(read(fd, &value, sizeof(value)) == sizeof(value));
		counted += value > 0;
		close(fd);
	}
	if (refused)
		answer(refused == ROUNDS, "refused", "EBUSY %d times of %d",
		       refused, ROUNDS);
	answer(counted == ROUNDS, "done", "%d of %d events counted", counted, ROUNDS);
}
