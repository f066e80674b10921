// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: queued
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: requests that wait really wait: each returns at a tick, none is faked or lost
 */
#include <linux/membarrier.h>
#include "../machine.h"
#include "tries.h"

#define PAT	0x277	/* the memory types, never 0 */

enum { ROUNDS = 8, PERIOD_MS = 200 };

/* Each request that no tick takes waits for so long. */
#define DEADLINE	(5 * SEC)

static bool barrier(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* A grace period that ends without the isolated CPU is not enough. */
static bool global_barrier(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/* A cross-call that nobody told Isolator about, and whose caller sleeps. */
static bool read_register(void)
{
	int fd = open("/dev/cpu/1/msr", O_RDONLY);
	uint64_t types = 0;
	bool done = fd >= 0 && pread(fd, &types, sizeof(types), PAT) == sizeof(types);

	if (fd >= 0)
		close(fd);
	return done && types;
}

/*
 * The sender spins with preemption off, on the CPU where we run: only time and
 * counters can tell.  The worker ticks by its own clock, so that every request
 * but the first one waits for most of a period.
 */
static void check(struct worker *w, const char *what, bool (*request)(void))
{
	uint64_t queued = w->iso.page->queued, start = now_ns(), took;
	int done = 0;

	for (int i = 0; i < ROUNDS; i++) {
		/* It is back in user mode, not still in the tick that answered. */
		worker_runs_on(w);
		done += request();
	}
	took = (now_ns() - start) / MS;
	queued = w->iso.page->queued - queued;
	ok(done == ROUNDS, "%s: %d of %d returned", what, done, ROUNDS);
	ok(queued >= ROUNDS, "%s: %lu counted as queued", what, queued);
	/* A busy host may hold either CPU; by deadlines they would take twice as long. */
	ok(took >= (ROUNDS - 2) * PERIOD_MS && took < ROUNDS * DEADLINE / MS / 2,
	   "%s: %lu ms for %d requests at a tick every %d ms", what, took, ROUNDS,
	   PERIOD_MS);
}

/* Each kind of request, of one worker; its deadline misses. */
static uint64_t all(void)
{
	struct worker *w = worker_new(1);

	w->tick_ms = PERIOD_MS;
	w->deadline_ns = DEADLINE;
	w->spin_ns = SEC;
	/* Under KCSAN the kernel's own naps take the default up, and no thread of CPU 1 gets on. */
	w->yield_ns = 20 * MS;
	need_worker(worker_thread(w));
	check(w, "membarrier", barrier);
	check(w, "membarrier of all", global_barrier);
	check(w, "munmap", ask_flush);
	if (IS_X86)
		check(w, "register", read_register);
	ok(w->due_seen > 0, "the page said when a tick was due, %lu times", w->due_seen);
	worker_end(w);
	return w->missed;
}

int main(void)
{
	iso_require(2);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		bail_out("membarrier registration");
	if (IS_X86)
		ok(!put_file("/proc/isolator/limits", "msr queue"),
		   "registers are read late, not refused");
	ok_in_tries("no deadline miss", all);
	if (IS_X86)
		put_file("/proc/isolator/limits", "msr refuse");
	return done_testing();
}
