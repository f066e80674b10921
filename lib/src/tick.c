// SPDX-License-Identifier: LGPL-2.1-or-later
/* The tick that enters the kernel; the one that need not is in isolator.h. */
#include <errno.h>

#include "internal.h"

EXPORT int isolator_tick_opts(unsigned int flags, uint64_t yield_ns,
			      struct isolator_tick_result *result)
{
	struct isolator_tick_args arguments = {
		.size = sizeof(arguments),
		.flags = flags,
		.yield_ns = yield_ns,
	};
	int fd = isolator_descriptor();

	if (fd < 0)
		return isolator_failed(STEP_TICK, ESRCH);
	if (isolator_sys.ioctl(fd, ISOLATOR_IOC_TICK, &arguments) < 0)
		return isolator_failed(STEP_TICK, errno);
	if (result) {
		result->due = arguments.due;
		result->left = arguments.left;
		result->yielded_ns = arguments.yielded_ns;
	}
	return (int)arguments.left;
}

EXPORT int isolator_tick_now(unsigned int flags)
{
	return isolator_tick_opts(flags, 0, NULL);
}
