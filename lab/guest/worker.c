// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "marker.h"
#include "tap.h"
#include "worker.h"

struct worker *worker_new(int cpu)
{
	struct worker *w = shared_memory(sizeof(*w));

	w->cpu = cpu;
	return w;
}

static void copy_page(struct worker *w)
{
	const volatile struct isolator_page *p = w->iso.page;

	if (!p)
		return;
	w->due = p->due;
	w->end = p->end;
	w->queued = p->queued;
	w->missed = p->missed;
	w->yields = p->yields;
}

static void worker_loop(struct worker *w)
{
	uint64_t end = now_ns() + (w->life_s ? w->life_s : 60) * guest_slower() * SEC;
	uint64_t next = now_ns() + w->tick_ms * MS;

	while (!w->stop) {
		uint64_t now = now_ns();
		bool asked = w->tick_now != w->ticked;

		w->rounds++;
		copy_page(w);
		if (w->each)
			w->each(w);
		if (now > end)
			break;
		if (!asked && (!w->tick_ms || now < next))
			continue;
		next = now + w->tick_ms * MS;
		if (asked || w->due) {
			w->due_seen++;
			mark_tick_begin();
			w->error = w->plain ? 0 : iso_tick(&w->iso, &w->last);
			mark_tick_end();
			if (w->error)
				break;
		}
		w->ticks++;
		if (asked)
			w->ticked++;
	}
}

/*
 * Threads that a start finds on its CPU have 10 ms there, and else wait for a tick or for the
 * deadline.  One that tests use to tell never from late is a minute: a thread that on a slow host
 * was stopped amid an RCU reader would hold up each grace period for so long.
 */
static uint64_t yields_ns(const struct worker *w)
{
	return w->yield_ns || w->deadline_ns < 10 * SEC ? w->yield_ns : SEC;
}

static void *worker_body(void *arg)
{
	struct sched_param param = { .sched_priority = 50 };
	struct worker *w = arg;
	volatile char stack[32768];

	for (size_t i = 0; i < sizeof(stack); i += 4096)
		stack[i] = 1;
	w->tid = (pid_t)syscall(SYS_gettid);
	w->error = iso_pin(w->cpu);
	if (!w->error && !w->other && sched_setscheduler(0, SCHED_FIFO, &param))
		w->error = -errno;
	if (!w->error && mlockall(MCL_CURRENT | MCL_FUTURE))
		w->error = -errno;
	if (!w->error && !w->plain)
		w->error = iso_start_as(&w->iso, (struct isolator_start_args){
			.mask = ISOLATOR_MASK_ALL, .flags = w->flags,
			.deadline_ns = w->deadline_ns, .spin_ns = w->spin_ns,
			.yield_ns = yields_ns(w),
		});
	if (w->error) {
		w->state = WORKER_FAILED;
		return NULL;
	}
	w->state = WORKER_RUNS;
	worker_loop(w);
	if (!w->plain && w->iso.page->state == ISOLATOR_STATE_ON)
		iso_stop(&w->iso);
	copy_page(w);
	w->state = WORKER_OVER;
	return NULL;
}

static bool worker_runs(struct worker *w)
{
	comes(w->state != WORKER_NEW, 15000);
	if (w->state == WORKER_FAILED)
		diag("worker on CPU %d: %s", w->cpu, strerror(-w->error));
	if (w->state == WORKER_NEW)
		diag("worker on CPU %d does not come up", w->cpu);
	return w->state == WORKER_RUNS;
}

bool worker_thread(struct worker *w)
{
	pthread_attr_t attr;

	/* Locked memory is populated whole: a stack of 8 MiB takes its time. */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	errno = pthread_create(&w->thread, &attr, worker_body, w);
	if (errno)
		bail_out("pthread_create");
	return worker_runs(w);
}

bool worker_process(struct worker *w)
{
	pid_t pid = fork();

	if (pid < 0)
		bail_out("fork");
	if (!pid) {
		worker_body(w);
		_exit(w->error ? 1 : 0);
	}
	w->tid = pid;
	return worker_runs(w);
}

void need_worker(bool started)
{
	if (!started)
		bail_out("no worker");
}

void worker_end(struct worker *w)
{
	/* A worker that ends before it is told to has a reason. */
	if (w->state == WORKER_OVER && w->error)
		diag("worker on CPU %d ended early: %s", w->cpu, strerror(-w->error));
	w->stop = true;
	if (w->thread)
		pthread_join(w->thread, NULL);
	else if (w->tid)
		waitpid(w->tid, NULL, 0);
	w->thread = 0;
	w->tid = 0;
}

bool worker_tick(struct worker *w, unsigned int ms)
{
	unsigned int want = ++w->tick_now;

	return comes(w->ticked == want, ms);
}

void worker_tells(const struct worker *w)
{
	uint64_t rounds = w->rounds;

	until(w->rounds >= rounds + 2 || w->state == WORKER_OVER);
}

bool worker_runs_on(const struct worker *w)
{
	uint64_t rounds = w->rounds;

	return comes_within(w->rounds >= rounds + 1000, 60000);
}
