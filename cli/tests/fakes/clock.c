// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A clock that follows a list of latencies, each a word of 64 bits in ns: a thread that
 * sleeps until a time wakes that much later at once, by its own clock.  Linked into the
 * command with --wrap=clock_gettime and --wrap=clock_nanosleep, or preloaded into
 * another program, compiled with -DPRELOAD.
 *
 * $CLOCKWORK is the list.  With $CLOCKWORK_RECORD time is real, and the latencies that
 * were seen are written to that file.  All clocks begin at a whole ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef PRELOAD
#define NAME(function) function
#else
#define NAME(function) __wrap_ ## function
#endif

#define SECOND INT64_C(1000000000)
#define MS 1000000

int NAME(clock_gettime)(clockid_t clock, struct timespec *now);
int NAME(clock_nanosleep)(clockid_t clock, int flags, const struct timespec *until,
			  struct timespec *left);

static __thread bool asleep, woken;
static __thread int list = -1;
static __thread int64_t now_ns;

static int64_t ns_of(const struct timespec *time)
{
	return (int64_t)time->tv_sec * SECOND + time->tv_nsec;
}

int NAME(clock_gettime)(clockid_t clock, struct timespec *now)
{
	const char *record = getenv("CLOCKWORK_RECORD");
	int64_t latency;

	if (syscall(SYS_clock_gettime, clock, now))
		return -1;
	if (clock != CLOCK_MONOTONIC)
		return 0;
	if (!record) {
		if (woken)
			*now = (struct timespec){ now_ns / SECOND, now_ns % SECOND };
		else
			now->tv_nsec -= now->tv_nsec % MS;
	} else if (asleep) {
		latency = ns_of(now) - now_ns;
		asleep = false;
		if (list < 0)
			list = open(record, O_WRONLY | O_CREAT | O_APPEND, 0666);
		if (write(list, &latency, sizeof(latency)) != sizeof(latency))
			abort();
	}
	return 0;
}

int NAME(clock_nanosleep)(clockid_t clock, int flags, const struct timespec *until,
			  struct timespec *left)
{
	int64_t latency;

	if (clock != CLOCK_MONOTONIC || !(flags & TIMER_ABSTIME))
		return syscall(SYS_clock_nanosleep, clock, flags, until, left) ? errno : 0;
	if (getenv("CLOCKWORK_RECORD")) {
		now_ns = ns_of(until);
		asleep = true;
		return syscall(SYS_clock_nanosleep, clock, flags, until, left) ? errno : 0;
	}
	if (list < 0)
		list = open(getenv("CLOCKWORK"), O_RDONLY);
	/* Behind the end of the list every wake-up is in time. */
	if (read(list, &latency, sizeof(latency)) != sizeof(latency))
		latency = 0;
	now_ns = ns_of(until) + latency;
	woken = true;
	return 0;
}
