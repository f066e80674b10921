// SPDX-License-Identifier: GPL-2.0-or-later
/* A timer that fires before its thread has left the CPU: the shortest sleeps are none. */
#include <time.h>

#define SHORT_NS 200000

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	if (!time->tv_sec && time->tv_nsec < SHORT_NS)
		return 0;
	return __real_nanosleep(time, left);
}
