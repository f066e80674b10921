// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "machine/affinity.h"
#include "sampling/seat.h"

#define STACK (256 * 1024)
#define PATIENCE_NS (30 * WAIT_SECOND)
#define NAP_NS 1000000

static void wake_only(int signal)
{
	(void)signal;
}

void seat_prepare(void)
{
	/* Not restarted: a sleep ends by it. */
	struct sigaction action = { .sa_handler = wake_only };

	sigaction(SIGUSR1, &action, NULL);
}

enum seat_state seat_state(const struct seat *seat)
{
	return __atomic_load_n(&seat->state, __ATOMIC_ACQUIRE);
}

static void reach(struct seat *seat, enum seat_state state)
{
	__atomic_store_n(&seat->state, state, __ATOMIC_RELEASE);
}

/* Binds the thread; false: said why in its failure. */
static bool bind(struct seat *seat)
{
	struct worker *worker = &seat->worker;
	struct cpulist here = { .given = true }, now;
	int error = affinity_pin(worker->cpu);

	cpulist_add(&here, worker->cpu);
	if (!error)
		error = affinity_get(&now);
	if (error) {
		snprintf(worker->failure, sizeof(worker->failure),
			 "CPU %d cannot be used: %s: is it online (/sys/devices/system/cpu/online), and in the cpuset of this shell (/proc/self/status, Cpus_allowed_list)?",
			 worker->cpu, strerror(error));
		return false;
	}
	seat->bound = cpulist_same(&here, &now);
	return true;
}

static bool prepare(struct seat *seat)
{
	struct worker *worker = &seat->worker;

	worker->tid = (pid_t)syscall(SYS_gettid);
	for (size_t i = 0; worker->series[i]; i++)
		worker->series[i]->tid = worker->tid;
	if (worker->method->beside)
		return !worker->method->open || worker->method->open(worker);
	if (!bind(seat))
		return false;
	/* Else the kernel lets timers of ordinary threads be 50 us late, to save power. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	seat->slack_ns = prctl(PR_GET_TIMERSLACK);
	if (!policy_set(&seat->policy, worker->cpu, &seat->got, worker->failure,
			sizeof(worker->failure)))
		return false;
	return !worker->method->open || worker->method->open(worker);
}

static void *run(void *argument)
{
	const uint64_t one = 1;
	struct seat *seat = argument;
	struct worker *worker = &seat->worker;

	if (!prepare(seat)) {
		reach(seat, SEAT_FAILED);
		return NULL;
	}
	reach(seat, SEAT_READY);
	while (sem_wait(&seat->go) && errno == EINTR)
		;
	if (!worker_over(worker))
		worker->method->run(worker);
	if (worker->method->close)
		worker->method->close(worker);
	reach(seat, SEAT_DONE);
	/* It can only fail when nobody has read for very long. */
	if (write(seat->event, &one, sizeof(one)) < 0)
		return NULL;
	return NULL;
}

bool seat_start(struct seat *seat)
{
	pthread_attr_t attr;
	int error;

	seat->state = SEAT_STARTING;
	sem_init(&seat->go, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	error = pthread_create(&seat->thread, &attr, run, seat);
	pthread_attr_destroy(&attr);
	if (error)
		error_say("no thread for CPU %d: %s: raise the limits (ulimit -u, ulimit -v), or name fewer CPUs",
			  seat->worker.cpu, strerror(error));
	seat->started = !error;
	return seat->started;
}

bool seat_await(struct seat *seats, size_t count)
{
	const struct timespec nap = { 0, NAP_NS };
	uint64_t limit = wait_clock_ns() + PATIENCE_NS;

	for (size_t i = 0; i < count; i++) {
		while (seat_state(&seats[i]) == SEAT_STARTING && wait_clock_ns() < limit)
			nanosleep(&nap, NULL);
		if (seat_state(&seats[i]) == SEAT_READY)
			continue;
		if (seat_state(&seats[i]) == SEAT_FAILED)
			error_say("%s", seats[i].worker.failure);
		else
			error_say("the thread on CPU %d does not start: does another real-time task occupy that CPU?",
				  seats[i].worker.cpu);
		return false;
	}
	return true;
}

void seat_go(struct seat *seat)
{
	sem_post(&seat->go);
}

bool seat_end(struct seat *seats, size_t count)
{
	const struct timespec nap = { 0, NAP_NS };
	uint64_t limit = wait_clock_ns() + PATIENCE_NS;

	for (size_t i = 0; i < count; i++) {
		__atomic_store_n(&seats[i].worker.stop, true, __ATOMIC_RELAXED);
		if (seats[i].started)
			seat_go(&seats[i]);
	}
	for (size_t i = 0; i < count; i++) {
		if (!seats[i].started)
			continue;
		/* It may be about to sleep when the first signal comes. */
		while (seat_state(&seats[i]) < SEAT_FAILED && wait_clock_ns() < limit) {
			pthread_kill(seats[i].thread, SIGUSR1);
			nanosleep(&nap, NULL);
		}
		if (seat_state(&seats[i]) < SEAT_FAILED) {
			error_say("the thread on CPU %d does not end: is that CPU taken by another task of a real-time class?",
				  seats[i].worker.cpu);
			return false;
		}
		pthread_join(seats[i].thread, NULL);
		sem_destroy(&seats[i].go);
		seats[i].started = false;
	}
	return true;
}
