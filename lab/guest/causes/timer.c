// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Timers of the measured CPU that expire all at once.  Each wakes many who wait for it, in
 * the interrupt; on PREEMPT_RT in a thread of the kernel.  Only to arm them something has
 * to run on that CPU; and where its timers would be given to another, they may not be.
 */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include "cause.h"

#define MIGRATION "/proc/sys/kernel/timer_migration"
enum { TIMERS = 8, WAITERS_MAX = 8192, PATIENCE_NS = 500000000, AHEAD_NS = 300000000 };

static int timer[TIMERS], waiter[WAITERS_MAX];
static long waiters;
static uint64_t due_ns;
static int arm_error;
static long migration = -1;

static void *arm(void *arg)
{
	const struct aim *aim = arg;
	struct itimerspec spec = { 0 };

	arm_error = pin(0, aim->cpu);
	due_ns = now_ns() + AHEAD_NS;
	spec.it_value.tv_sec = (time_t)(due_ns / 1000000000u);
	spec.it_value.tv_nsec = (long)(due_ns % 1000000000u);
	for (int i = 0; !arm_error && i < TIMERS; i++)
		if (timerfd_settime(timer[i], TFD_TIMER_ABSTIME, &spec, NULL))
			arm_error = -errno;
	return NULL;
}

static int prepare(const struct aim *aim, long size)
{
	struct rlimit limit = { WAITERS_MAX + 64, WAITERS_MAX + 64 };
	struct epoll_event event = { .events = EPOLLIN };
	pthread_t thread;

	int error;

	if (size < 1 || size > WAITERS_MAX || setrlimit(RLIMIT_NOFILE, &limit))
		return -EINVAL;
	migration = file_number(MIGRATION);
	error = file_put(MIGRATION, "0");
	if (error)
		return error;
	for (int i = 0; i < TIMERS; i++) {
		timer[i] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		if (timer[i] < 0)
			return -errno;
	}
	for (waiters = 0; waiters < size; waiters++) {
		waiter[waiters] = epoll_create1(EPOLL_CLOEXEC);
		if (waiter[waiters] < 0 ||
		    epoll_ctl(waiter[waiters], EPOLL_CTL_ADD, timer[waiters % TIMERS], &event))
			return -errno;
	}
	if (pthread_create(&thread, NULL, arm, (void *)aim))
		return -EAGAIN;
	pthread_join(thread, NULL);
	return arm_error;
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	uint64_t expired;
	int fired = 0;

	if (now_ns() >= due_ns)
		return -ETIME;
	sleep_until(due_ns);
	truth->from_ns = due_ns;
	for (int i = 0; i < TIMERS; i++) {
		while (now_ns() < due_ns + PATIENCE_NS) {
			if (read(timer[i], &expired, sizeof(expired)) == sizeof(expired)) {
				fired++;
				break;
			}
			sleep_until(now_ns() + 100000);
		}
	}
	truth->to_ns = now_ns();
	truth->happened = fired == TIMERS;
	snprintf(truth->evidence, sizeof(truth->evidence), "\"timers\":%d", fired);
	return 0;
}

static void restore(const struct aim *aim)
{
	if (migration > 0)
		file_put(MIGRATION, "1");
	while (waiters)
		close(waiter[--waiters]);
	for (int i = 0; i < TIMERS; i++)
		close(timer[i]);
}

CAUSE(timer, "timer", "waiters", prepare, inject, restore);
