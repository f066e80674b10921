// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: timerfd-left
 * cpus: 4
 * kernel: isolator
 * timeout: 120
 * about: a timer that Isolator moves to another CPU says how much time it has left, by its own clock
 */
#include <sys/timerfd.h>
#include "../test.h"

enum { ROUNDS = 300, READERS = 2, TIMERS = 200, DUE_S = 1000 };

static int timers[TIMERS];
static _Atomic bool over;
static _Atomic uint64_t asked;
static _Atomic long long most;

/* On other CPUs: how much is left is at most what the timer was given. */
static void *reader(void *cpu)
{
	struct itimerspec left;

	if (iso_pin(*(int *)cpu))
		return "no such CPU";
	while (!over)
		for (int i = 0; i < TIMERS && !over; i++) {
			if (timerfd_gettime(timers[i], &left))
				return strerror(errno);
			if (left.it_value.tv_sec > most)
				most = left.it_value.tv_sec;
			asked++;
		}
	return NULL;
}

/* Armed here, on CPU 1, which is busy: so they stay until the start moves them. */
static int one(void)
{
	const struct itimerspec due = { .it_value.tv_sec = DUE_S };
	struct iso iso;
	int error;

	for (int i = 0; i < TIMERS; i++)
		if (timerfd_settime(timers[i], 0, &due, NULL))
			return -errno;
	error = iso_start(&iso, SEC, SEC / 10);
	if (error)
		return error;
	error = iso_stop(&iso);
	iso_close(&iso);
	return error;
}

int main(void)
{
	int cpus[READERS] = { 2, 3 };
	pthread_t threads[READERS];
	int round, error = 0;
	void *failed;

	iso_require(4);
	for (int i = 0; i < TIMERS; i++)
		if ((timers[i] = timerfd_create(CLOCK_REALTIME, 0)) < 0)
			bail_out("timerfd_create");
	for (int i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, reader, &cpus[i]))
			bail_out("no thread");
	if (iso_pin(1))
		bail_out("CPU 1");
	for (round = 0; round < ROUNDS && !error && most <= DUE_S; round++)
		error = one();
	over = true;
	ok(!error, "timers moved away in %d starts: %s", round, error ? strerror(-error) : "each");
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], &failed);
		ok(!failed, "CPU %d has read to the end: %s", cpus[i], failed ? (char *)failed : "yes");
	}
	ok(asked > ROUNDS && most <= DUE_S, "asked %lu times: at most %lld s are left of %d",
	   (uint64_t)asked, (long long)most, DUE_S);
	return done_testing();
}
