// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interfere/work.h"
#include "machine/affinity.h"

void work_fail(struct work *work, const char *format, ...)
{
	struct work_shared *shared = work->shared;
	va_list arguments;

	/* The first one is the cause, what follows may be its effect. */
	if (!__atomic_exchange_n(&shared->failed, true, __ATOMIC_ACQ_REL)) {
		va_start(arguments, format);
		vsnprintf(shared->failure, sizeof(shared->failure), format, arguments);
		va_end(arguments);
		__atomic_store_n(&shared->said, true, __ATOMIC_RELEASE);
	}
	_exit(1);
}

void work_ready(struct work *work)
{
	__atomic_fetch_add(&work->shared->ready, 1, __ATOMIC_RELEASE);
}

void work_pin(struct work *work, int cpu)
{
	int error = affinity_pin(cpu);

	if (error)
		work_fail(work, "CPU %d cannot be used: %s: is it online, and in the cpuset of this shell (/proc/self/status, Cpus_allowed_list)?",
			  cpu, strerror(error));
}
