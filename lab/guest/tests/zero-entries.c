// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: zero-entries
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * alone: yes
 * about: seen from outside, nothing enters the kernel on the isolated CPU but its own ticks
 * observe: 1 any 0
 * observe: 2 any 0
 * observe: 3 any 0
 */
#include "grace.h"
#include "tries.h"
#include "windows.h"

MARK_WINDOW_TABLE();

enum { OVER = 99 };

/* Goes from window to window in user mode; the probes stand outside of them. */
static void follow(struct worker *w)
{
	unsigned int now = wanted;

	(void)w;
	if (now == window)
		return;
	if (window)
		mark_window_end(window);
	if (!window)
		mark_target();
	if (!window || now == OVER) {
		mark_probe();
		syscall(SYS_getpid);
	}
	if (now < OVER)
		mark_window_begin(now);
	window = now;
}

static void disturb(void)
{
	for (int i = 0; i < 3; i++) {
		put_file("/proc/sys/kernel/sched_schedstats", "1");
		grace_period();
		put_file("/proc/sys/kernel/sched_schedstats", "0");
	}
}

/* Its deadline misses.  Window 3 is opened in each try: the observer's last counts. */
static uint64_t ticking(void)
{
	struct worker *ticks = worker_new(1);
	int asked = 0, done = 0;

	window = wanted = 0;
	ticks->tick_ms = 10;
	ticks->spin_ns = SEC;
	ticks->each = follow;
	if (!ok(worker_thread(ticks), "isolated, ticking"))
		return 0;
	window_go(3);
	/*
	 * One may find the task in the kernel, and is not queued then; right after a tick has
	 * done the one before it would.
	 */
	for (; asked < 200 && (asked < 10 || ticks->due_seen < 3); asked++) {
		done += ask_flush();
		sleep_ms(3);	/* sleep: the task is in user mode by then, mostly */
	}
	disturb();
	sleep_ms(200);	/* sleep: what comes later would come now */
	window_go(OVER);
	ok(done == asked, "%d of %d flushes were done", done, asked);
	ok(ticks->due_seen >= 3, "%lu ticks had something due", ticks->due_seen);
	worker_end(ticks);
	return ticks->missed;
}

int main(void)
{
	struct worker *never = worker_new(1);

	iso_require(2);
	never->deadline_ns = 60 * SEC;
	never->each = follow;
	if (!ok(worker_thread(never), "isolated, never ticking"))
		return done_testing();
	window_go(1);
	sleep_ms(1000);	/* sleep: nothing comes meanwhile */
	window_go(2);
	disturb();
	sleep_ms(200);	/* sleep: what comes later would come now */
	window_go(OVER);
	worker_end(never);
	/* No host makes one: without ticks a queued call is one on any, and all else has 60 s. */
	ok(!never->missed, "no deadline miss");
	ok_in_tries("no deadline miss, ticking", ticking);
	return done_testing();
}
