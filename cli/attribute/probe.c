// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attribute/parts.h"
#include "attribute/probe.h"
#include "base/text.h"
#include "base/wait.h"
#include "machine/affinity.h"

#define PATIENCE_NS WAIT_SECOND
#define NAP_NS 1000000
#define MARK "isolator was here"

/* In the child: it has nothing that another thread of the parent's might hold. */
static void visit(const struct attribute *attribute, int cpu)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (affinity_pin(cpu))
		_exit(2);
	_exit(tracefs_mark(&attribute->fs, MARK) ? 1 : 0);
}

static void note(struct attribute *attribute, int cpu, const char *why)
{
	char *before = attribute->fs.notes;

	attribute->fs.notes = text_format("%sthe trace of CPU %d was not tried: %s\n",
					  before ? before : "", cpu, why);
	free(before);
}

/* Waits for @child no longer than it may take on a CPU that others have too. */
static bool ended(pid_t child, int *status)
{
	const struct timespec nap = { 0, NAP_NS };
	uint64_t limit = wait_clock_ns() + PATIENCE_NS;

	while (waitpid(child, status, WNOHANG) != child) {
		if (wait_clock_ns() > limit) {
			/* It ends when it runs, and the CPU's own task lets it. */
			kill(child, SIGKILL);
			return false;
		}
		nanosleep(&nap, NULL);
	}
	return true;
}

/* Is the mark in what was read of the CPU, between @from and @to? */
static bool marked(const struct attribute *attribute, const struct trace_store *store,
		   uint64_t from, uint64_t to)
{
	struct trace_event event;
	struct trace_walk walk;

	trace_walk_begin(&walk, store, &attribute->readers, from);
	while (trace_walk_next(&walk, &event))
		if (event.type == TRACE_MARK && event.ns >= from && event.ns <= to &&
		    !strncmp(event.text[0], MARK, strlen(MARK)))
			return true;
	return false;
}

static int probe_cpu(struct attribute *attribute, struct trace_store *store)
{
	uint64_t from = wait_clock_ns(), to;
	int status = 0;
	pid_t child;

	child = fork();
	if (!child)
		visit(attribute, store->cpu);
	if (child < 0 || !ended(child, &status)) {
		note(attribute, store->cpu, "another task keeps it for itself");
		return 0;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		note(attribute, store->cpu, WIFEXITED(status) && WEXITSTATUS(status) == 2 ?
		     "this process may not run there" : "no mark could be made");
		return 0;
	}
	to = wait_clock_ns();
	trace_store_read(store, &attribute->readers, &attribute->names, to);
	if (marked(attribute, store, from, to))
		return 0;
	free(attribute->fs.why);
	attribute->fs.why = text_format("the trace of CPU %d does not tell what happened there, or its clock is not CLOCK_MONOTONIC",
					store->cpu);
	return -1;
}

int probe(struct attribute *attribute)
{
	struct timeline *timeline = &attribute->timeline;

	for (size_t i = 0; i < timeline->count; i++)
		if (timeline->stores[i].follows && probe_cpu(attribute, &timeline->stores[i]))
			return -1;
	return 0;
}
