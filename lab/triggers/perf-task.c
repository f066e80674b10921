// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: perf-task
 * row: 69
 * class: refuse
 * kind: program
 * notick: no
 * about: another process counts the CPU time of the task with a perf event
 */
#include <linux/perf_event.h>
#include "trigger.h"

enum { ROUNDS = 3 };

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.disabled = 1,
	};
	int tid = env_number("TASK_TID"), counted = 0, refused = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, 0);
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
