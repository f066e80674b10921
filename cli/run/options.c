// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.h"
#include "run/options.h"

#define PRIORITY_MAX 99
#define PRIORITY_DEFAULT 50

int run_options_priority(struct run *run, bool real_time)
{
	if (!real_time && run->priority) {
		error_say("--priority needs --policy fifo or rr");
		return -1;
	}
	if (run->priority > PRIORITY_MAX) {
		error_say("--priority: %u is not from 1 to %d", run->priority,
			  PRIORITY_MAX);
		return -1;
	}
	if (real_time && !run->priority)
		run->priority = PRIORITY_DEFAULT;
	return 0;
}
