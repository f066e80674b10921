// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/root.h"
#include "base/text.h"
#include "machine/affinity.h"
#include "machine/instance.h"
#include "measure/timerlat.h"

#define OSNOISE INSTANCE_TRACEFS "/osnoise/"
#define US 1000

enum { TIMERLAT_IRQ, TIMERLAT_THREAD, TIMERLAT_USER };

/* The thread that waits, beside the one that reads what it found. */
struct waiter {
	void *reader;
	struct worker *worker;
	pthread_t thread;
	sem_t ready;
	int file;		/* timerlat_fd; -1: it could not begin */
	bool stop, ended;
};

static void take(struct worker *worker, const struct tracer_line *line)
{
	switch (line->what) {
	case TRACER_TIMER_IRQ:
		tracer_record(worker, TIMERLAT_IRQ, line);
		break;
	case TRACER_TIMER_THREAD:
		tracer_record(worker, TIMERLAT_THREAD, line);
		break;
	case TRACER_TIMER_USER:
		tracer_record(worker, TIMERLAT_USER, line);
		break;
	default:
		break;
	}
}

/* On its CPU, of its policy, with its file open; false: said why in the failure. */
static bool settle(struct waiter *waiter)
{
	struct worker *worker = waiter->worker;
	const struct timerlat_options *options = worker->options;
	struct cpulist here = { .given = true };
	char *path;
	int error;

	cpulist_add(&here, worker->cpu);
	error = affinity_set(0, &here);
	if (error) {
		snprintf(worker->failure, sizeof(worker->failure), "CPU %d cannot be used: %s",
			 worker->cpu, strerror(error));
		return false;
	}
	if (!policy_set(&options->policy, worker->cpu, options->got, worker->failure,
			sizeof(worker->failure)))
		return false;
	path = text_format(OSNOISE "per_cpu/cpu%d/timerlat_fd", worker->cpu);
	waiter->file = root_open(options->root, path, O_RDONLY);
	if (waiter->file < 0)
		snprintf(worker->failure, sizeof(worker->failure), "%s: %s", path, strerror(errno));
	free(path);
	return waiter->file >= 0;
}

/* Each read() returns at the next period; nothing is told by it. */
static void *wait_often(void *argument)
{
	struct waiter *waiter = argument;
	bool good = settle(waiter);
	char byte;

	sem_post(&waiter->ready);
	while (good && !__atomic_load_n(&waiter->stop, __ATOMIC_RELAXED))
		good = read(waiter->file, &byte, sizeof(byte)) >= 0 || errno == EINTR;
	__atomic_store_n(&waiter->ended, !good, __ATOMIC_RELAXED);
	if (waiter->file >= 0)
		close(waiter->file);
	return NULL;
}

static void end(struct waiter *waiter)
{
	__atomic_store_n(&waiter->stop, true, __ATOMIC_RELAXED);
	pthread_join(waiter->thread, NULL);
}

static bool open_waiter(struct worker *worker)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		error_no_memory();
	if (!tracer_open(worker)) {
		free(waiter);
		return false;
	}
	*waiter = (struct waiter){ .reader = worker->own, .worker = worker, .file = -1 };
	sem_init(&waiter->ready, 0, 0);
	if (pthread_create(&waiter->thread, NULL, wait_often, waiter)) {
		snprintf(worker->failure, sizeof(worker->failure), "no thread for CPU %d",
			 worker->cpu);
		tracer_close(worker);
		free(waiter);
		return false;
	}
	while (sem_wait(&waiter->ready) && errno == EINTR)
		;
	if (waiter->file < 0) {
		end(waiter);
		tracer_close(worker);
		free(waiter);
		return false;
	}
	worker->own = waiter;
	return true;
}

static void run(struct worker *worker)
{
	struct waiter *waiter = worker->own;

	worker->own = waiter->reader;
	tracer_run(worker);
	/* The kernel ends it if it was moved to another CPU: what came then is not known. */
	if (__atomic_load_n(&waiter->ended, __ATOMIC_RELAXED))
		tracer_lose(worker, 1);
	worker->own = waiter;
}

static void close_waiter(struct worker *worker)
{
	struct waiter *waiter = worker->own;

	end(waiter);
	worker->own = waiter->reader;
	tracer_close(worker);
	sem_destroy(&waiter->ready);
	free(waiter);
}

void timerlat_set(struct timerlat_options *options, const struct cpulist *cpus,
		  uint64_t period_ns)
{
	options->tracer = (struct tracer_options){
		.tracer = "timerlat", .config = "CONFIG_TIMERLAT_TRACER",
		.settings = {
			{ "workload", OSNOISE "options", SETTING_SWITCH,
			  text_format("NO_OSNOISE_WORKLOAD"), true },
			{ "timerlat_period_us", OSNOISE "timerlat_period_us", SETTING_TEXT,
			  text_format("%" PRIu64, period_ns / US), true },
			{ "cpus", OSNOISE "cpus", SETTING_LIST, cpulist_text(cpus), true },
			/* Others may have asked it to stop by itself. */
			{ "stop_tracing_us", OSNOISE "stop_tracing_us", SETTING_TEXT,
			  text_format("0"), true },
			{ "stop_tracing_total_us", OSNOISE "stop_tracing_total_us", SETTING_TEXT,
			  text_format("0"), true },
		},
	};
}

static bool disarm(struct result *result, const void *data)
{
	const struct timerlat_options *options = data;

	if (options->got->kind != POLICY_UNKNOWN)
		asked_add(&result->settings, "policy", policy_names[options->policy.kind],
			  policy_names[options->got->kind],
			  options->policy.kind == options->got->kind, options->policy.insisted,
			  NULL);
	return tracer_disarm(result, data);
}

const struct tracer_method timerlat_method = {
	.method = {
		.name = "timerlat",
		.series = { "irq", "thread", "user" },
		.beside = true,
		.arm = tracer_arm,
		.disarm = disarm,
		.open = open_waiter,
		.run = run,
		.close = close_waiter,
	},
	.take = take,
};
