// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: delayed-work
 * cpus: 4
 * kernel: isolator
 * timeout: 60
 * append: nohz_full=3
 * about: delayed work that an isolated CPU queues is bound to none, that of others to no isolated one
 */
#include "caller.h"

#define WAITS	"lab_waits"
#define WORK	"/sys/module/" WAITS "/parameters/work"

/* The CPU on which the work's timer waits; -1: it does not. */
static int waits_on(void)
{
	return (int)(long long)caller_get(WAITS, "work_cpu");
}

/* What the isolated task is to write: it queues the work by a system call on its own CPU. */
static struct orders {
	const char *_Atomic ms;
	_Atomic int error;
} *orders;

static void queue_work(struct worker *w)
{
	const char *ms = orders->ms;

	(void)w;
	if (!ms)
		return;
	orders->error = put_file(WORK, ms);
	orders->ms = NULL;
}

static void order(const char *ms)
{
	orders->ms = ms;
	until(!orders->ms);
	if (orders->error)
		bail_out("the isolated task cannot queue work");
}

int main(void)
{
	struct worker *w = worker_new(1), *next;
	unsigned long long ran;
	int cpu;

	iso_require(4);
	put_file("/proc/isolator/cpus", "0-3");
	if (!module_load(WAITS))
		bail_out("no module lab_waits: it comes with kernel/build");
	orders = shared_memory(sizeof(*orders));
	w->each = queue_work;
	w->deadline_ns = 60 * SEC;
	need_worker(worker_process(w));

	ran = caller_get(WAITS, "work");
	order("100");
	ok(comes(caller_get(WAITS, "work") > ran, 10000), "delayed work of the isolated CPU runs");

	order("600000");
	worker_tells(w);
	cpu = waits_on();
	ok(cpu >= 0 && cpu != 1, "that of ten minutes waits on CPU %d", cpu);
	if (cpu == 2 || cpu == 3)
		bail_out("that is not the first that boot parameters do not keep free");
	iso_pin(2);
	next = worker_new(cpu);
	next->deadline_ns = 60 * SEC;
	need_worker(worker_process(next));
	ok(comes(waits_on() != cpu, 5000), "and on another once that is isolated: %d",
	   waits_on());

	/* What stock does for a CPU of nohz_full=: the first other one, isolated or not. */
	iso_pin(3);
	if (put_file(WORK, "600000"))
		bail_out("CPU 3 cannot queue work");
	ok(waits_on() == 2, "that of CPU 3 waits on the only one left: %d",
	   waits_on());
	worker_end(next);
	worker_end(w);
	ok(module_unload(WAITS), "the module goes");
	return done_testing();
}
