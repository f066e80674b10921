// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "measure/wakeup.h"
#include "sampling/schedule.h"

#define MONOTONIC "timers use this clock, so lateness is measured with it"

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / WAIT_SECOND), (long)(ns % WAIT_SECOND) };
}

/* Either sleeps until @due_ns; false: something else woke it. */
static bool sleep_nanosleep(const struct worker *worker, uint64_t due_ns)
{
	const struct timespec due = timespec_of(due_ns);

	(void)worker;
	return !clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

static bool sleep_timerfd(const struct worker *worker, uint64_t due_ns)
{
	const struct itimerspec due = { .it_value = timespec_of(due_ns) };
	int file = (int)(intptr_t)worker->own;
	uint64_t expired;

	return !timerfd_settime(file, TFD_TIMER_ABSTIME, &due, NULL) &&
		read(file, &expired, sizeof(expired)) == (ssize_t)sizeof(expired);
}

/* Triggers that were due by @now_ns and will not be measured. */
static void miss_due(struct worker *worker, struct schedule *schedule, uint64_t now_ns)
{
	struct series *series = worker->series[0];

	series_begin(series);
	while (schedule->due_ns <= now_ns && schedule->due_ns < worker->end_ns &&
	       !(worker->samples && schedule->trigger >= worker->samples)) {
		series_due(series, schedule->trigger);
		series_miss(series, 1);
		schedule_next(schedule);
	}
	series_end(series);
}

/*
 * One trigger after the other in the order of the schedule.  One that is due already
 * when its turn comes is not slept for: it is as late as the thread is.
 */
static inline void __attribute__((always_inline))
wake(struct worker *worker, bool (*sleep_until)(const struct worker *worker, uint64_t due_ns))
{
	const struct wakeup_options *options = worker->options;
	struct schedule schedule = schedule_begin(worker->begin_ns, worker->period_ns,
						  worker->phase == PHASE_RANDOM, worker->seed);
	struct series *series = worker->series[0];
	uint64_t now_ns = 0, last = worker->samples ? worker->samples : UINT64_MAX;

	while (schedule.due_ns < worker->end_ns && schedule.trigger < last) {
		bool woken = schedule.due_ns <= now_ns || sleep_until(worker, schedule.due_ns);

		now_ns = wait_clock_ns();
		if (worker_over(worker)) {
			miss_due(worker, &schedule, now_ns);
			return;
		}
		if (!woken && now_ns < schedule.due_ns)
			continue;
		series_begin(series);
		series_due(series, schedule.trigger);
		/* Before its time, which no timer may: that is no lateness of a century. */
		if (now_ns < schedule.due_ns)
			series_miss(series, 1);
		else
			series_record(series, schedule.trigger, now_ns - schedule.due_ns, now_ns);
		series_end(series);
		schedule_next(&schedule);
		if (options->late_missing)
			miss_due(worker, &schedule, now_ns);
	}
}

static void run_nanosleep(struct worker *worker)
{
	wake(worker, sleep_nanosleep);
}

static void run_timerfd(struct worker *worker)
{
	wake(worker, sleep_timerfd);
}

static bool open_timerfd(struct worker *worker)
{
	int file = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (file < 0) {
		snprintf(worker->failure, sizeof(worker->failure),
			 "no timer: %s; --method nanosleep does without a file", strerror(errno));
		return false;
	}
	worker->own = (void *)(intptr_t)file;
	return true;
}

static void close_timerfd(struct worker *worker)
{
	close((int)(intptr_t)worker->own);
}

const struct method wakeup_nanosleep = {
	.name = "nanosleep",
	.series = { "latency" },
	.monotonic = MONOTONIC,
	.run = run_nanosleep,
}, wakeup_timerfd = {
	.name = "timerfd",
	.series = { "latency" },
	.monotonic = MONOTONIC,
	.open = open_timerfd,
	.run = run_timerfd,
	.close = close_timerfd,
};
