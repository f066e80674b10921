// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/term.h"
#include "base/wait.h"
#include "machine/affinity.h"
#include "prove/watcher.h"

#define STEP_PATIENCE_NS (30 * WAIT_SECOND)
#define NAP_NS 1000000
#define LOOK_NS (WAIT_SECOND / 5)		/* whether the spinner is still there */
#define PROGRESS_NS WAIT_SECOND

static pid_t child;	/* 0: it has ended */

/* It spins above all ordinary tasks: the one that ends it must run elsewhere. */
static int leave(int cpu)
{
	struct cpulist cpus, here = { 0 };
	int error;

	if (affinity_read(&cpus))
		return -1;
	if (!cpulist_has(&cpus, cpu))
		return 0;
	cpulist_add(&here, cpu);
	cpulist_minus(&cpus, &here);
	if (cpulist_empty(&cpus)) {
		error_say("this process may run on CPU %d only, but must watch from another: run it without taskset, on a machine with at least two CPUs",
			  cpu);
		return -1;
	}
	error = affinity_set(0, &cpus);
	if (error) {
		error_say("this process cannot leave CPU %d: %s", cpu, strerror(error));
		return -1;
	}
	return 0;
}

/* Has the spinner ended before its time?  Then it was said why. */
static bool lost(const struct spin *spin)
{
	int status;

	if (!child)
		return true;
	if (waitpid(child, &status, WNOHANG) != child)
		return false;
	child = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return false;
	if (*spin->failure)
		error_say("%s", spin->failure);
	else if (WIFSIGNALED(status))
		error_say("the measuring process was killed by signal %d", WTERMSIG(status));
	else
		error_say("the measuring process ended early: try again");
	return true;
}

static enum spin_step reached(const struct spin *spin)
{
	return __atomic_load_n(&spin->at, __ATOMIC_ACQUIRE);
}

static void let_go(struct spin *spin, enum spin_step step)
{
	__atomic_store_n(&spin->go, step, __ATOMIC_RELEASE);
}

/* Not by wait_until(), which a signal has ended for good.  0, or -1, said why. */
static int await(const struct spin *spin, enum spin_step step)
{
	const struct timespec nap = { 0, NAP_NS };
	uint64_t limit = wait_clock_ns() + STEP_PATIENCE_NS;

	while (reached(spin) < step) {
		if (lost(spin))
			return -1;
		if (wait_clock_ns() > limit) {
			error_say("the measuring process does not get CPU %d: does another real-time task run there?",
				  spin->cpu);
			return -1;
		}
		nanosleep(&nap, NULL);
	}
	return 0;
}

static void sample(struct spin *spin, enum point point)
{
	for (unsigned int i = 0; i < spin->nr_instruments; i++) {
		struct instrument *instrument = &spin->instruments[i];

		if (instrument->type->reader == READ_BY_WATCHER && !*instrument->absent)
			instrument->type->sample(instrument, point, spin);
	}
}

/* The entries around which all has to move; this side sends the signal. */
static int probe(struct spin *spin, enum point from, enum spin_step step)
{
	if (await(spin, step))
		return -1;
	sample(spin, from);
	let_go(spin, step);
	if (await(spin, step + 1))
		return -1;
	kill(child, SIGUSR1);
	if (await(spin, step + 2))
		return -1;
	sample(spin, from + 1);
	let_go(spin, step + 2);
	return 0;
}

static void show_progress(const struct spin *spin, uint64_t passed_ns)
{
	fprintf(stderr, "\rCPU %d: %.0f of %.0f s\033[K", spin->cpu,
		(double)passed_ns / WAIT_SECOND, (double)spin->window_ns / WAIT_SECOND);
}

/* Until the time is over, a signal comes or the spinner is gone. */
static int window(struct watch *watch, bool progress)
{
	struct spin *spin = watch->spin;
	uint64_t from, end, shown, next;

	if (await(spin, SPIN_WINDOW))
		return -1;
	from = shown = next = wait_clock_ns();
	end = from + spin->window_ns;
	watch->begun = true;
	sample(spin, WINDOW_FROM);
	while (next < end && reached(spin) == SPIN_WINDOW) {
		next = next + LOOK_NS < end ? next + LOOK_NS : end;
		if (!wait_until(next)) {
			watch->early = true;
			break;
		}
		if (lost(spin))
			return -1;
		if (progress && next - shown >= PROGRESS_NS) {
			shown = next;
			show_progress(spin, next - from);
		}
	}
	sample(spin, WINDOW_TO);
	let_go(spin, SPIN_WINDOW);
	if (progress && shown != from)
		fputs("\r\033[K", stderr);
	return 0;
}

static int watch_all(struct watch *watch, bool progress)
{
	struct spin *spin = watch->spin;

	if (probe(spin, BEFORE_FROM, SPIN_BEFORE_FROM) || window(watch, progress) ||
	    probe(spin, AFTER_FROM, SPIN_AFTER_FROM) || await(spin, SPIN_DONE))
		return -1;
	watch->seconds = (double)spin->window_cycles / spin->scale.per_ns / WAIT_SECOND;
	return 0;
}

/* Whatever happened: the CPU is free again when this returns. */
static void end_child(void)
{
	if (!child)
		return;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	child = 0;
}

int watch_run(const struct watch_order *order, struct watch *watch)
{
	struct spin *spin = mmap(NULL, sizeof(*spin), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int error;

	*watch = (struct watch){ 0 };
	if (spin == MAP_FAILED)
		return error_say(ERROR_NO_MEMORY), -1;
	watch->spin = spin;
	spin->cpu = order->cpu;
	spin->isolate = order->isolate;
	spin->window_ns = order->window_ns;
	spin->threshold_ns = order->threshold_ns;
	spin->strict = order->strict;
	spin->directory = order->directory;
	spin->watcher = getpid();
	for (; order->instruments[spin->nr_instruments]; spin->nr_instruments++) {
		struct instrument *instrument = &spin->instruments[spin->nr_instruments];

		instrument->type = order->instruments[spin->nr_instruments];
		if (instrument->type->reader == READ_BY_WATCHER && instrument->type->open)
			instrument->type->open(instrument, spin);
	}
	if (leave(order->cpu))
		return -1;
	fflush(NULL);
	child = fork();
	if (child < 0) {
		child = 0;
		error_say("no process for CPU %d: %s: end some, or raise the limit (ulimit -u)",
			  order->cpu, strerror(errno));
		return -1;
	}
	if (!child)
		spin_run(spin);
	error = watch_all(watch, order->progress);
	end_child();
	return error;
}

void watch_free(struct watch *watch)
{
	if (watch->spin)
		munmap(watch->spin, sizeof(*watch->spin));
	watch->spin = NULL;
}
