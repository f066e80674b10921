// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/error.h"
#include "proc/device.h"
#include "proc/isolate.h"

struct isolate *isolate_new(int device, pid_t tid, int cpu, const char *found,
			    const struct isolate_wish *wish)
{
	struct isolate *isolate = calloc(1, sizeof(*isolate));

	if (!isolate)
		error_no_memory();
	isolate->tid = tid;
	isolate->cpu = cpu;
	isolate->found = found;
	isolate->device = device;
	isolate->asked = (struct isolator_start_args){
		.size = sizeof(isolate->asked),
		.mask = ISOLATOR_MASK_ALL,
		.flags = ISOLATOR_START_AUTO_TICK | ISOLATOR_START_LOCK |
			 (wish->quarantine ? ISOLATOR_START_QUARANTINE : 0),
		.deadline_ns = wish->deadline_ns,
		.spin_ns = wish->spin_ns,
		.yield_ns = wish->yield_ns,
		.batch_ns = wish->batch_ns,
	};
	return isolate;
}

static void fill(struct isolate *isolate, uint32_t flags)
{
	isolate->args = (struct isolator_task_args){
		.size = sizeof(isolate->args),
		.flags = flags,
		.tid = isolate->tid,
		.start = isolate->asked,
	};
}

int isolate_arm(struct isolate *isolate)
{
	fill(isolate, ISOLATOR_TASK_EXEC);
	return device_start(isolate->device, &isolate->args);
}

int isolate_now(struct isolate *isolate)
{
	fill(isolate, ISOLATOR_TASK_WAIT);
	isolate->error = device_start(isolate->device, &isolate->args);
	isolate->state = isolate->error ? ISOLATE_REFUSED : ISOLATE_ON;
	if (!isolate->error)
		isolate->asked = isolate->args.start;
	return isolate->error;
}

static void *wait_for_start(void *data)
{
	struct isolate *isolate = data;

	isolate->answer = device_start(isolate->device, &isolate->args);
	if (!isolate->answer && isolate->starts)
		__atomic_fetch_add(isolate->starts, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&isolate->done, true, __ATOMIC_RELEASE);
	return NULL;
}

int isolate_ask(struct isolate *isolate)
{
	sigset_t all, before;
	int error;

	fill(isolate, ISOLATOR_TASK_WAIT);
	/* Signals are for who looks after the program; one here would take the start back. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&isolate->thread, NULL, wait_for_start, isolate);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	isolate->waits = !error;
	return error;
}

bool isolate_answered(struct isolate *isolate)
{
	if (!isolate->waits || !__atomic_load_n(&isolate->done, __ATOMIC_ACQUIRE))
		return false;
	pthread_join(isolate->thread, NULL);
	isolate->waits = false;
	isolate->error = isolate->answer;
	/*
	 * What is asked was checked when it was armed.  It is wrong now because the armed
	 * start has come first after all, and another within it must ask for nothing.
	 */
	if (!isolate->start && isolate->error == EINVAL)
		isolate->error = 0;
	isolate->state = !isolate->error ? ISOLATE_ON :
		isolate->error == ESRCH ? ISOLATE_GONE : ISOLATE_REFUSED;
	return true;
}

void isolate_free(struct isolate *isolate)
{
	if (isolate->waits)
		pthread_join(isolate->thread, NULL);
	free(isolate->start);
	free(isolate);
}
