// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: two-isolated
 * cpus: 4
 * kernel: isolator
 * timeout: 60
 * about: two isolated CPUs make requests of each other, which are queued, and both get on
 */
#include <linux/membarrier.h>
#include "tries.h"

enum { ROUNDS = 30 };

/* Both are isolated: the first would be through before the second begins. */
static _Atomic bool both;

struct own {
	_Atomic uint64_t done, failed;
};

/* Each worker asks for flushes and barriers that reach the other. */
static void ask(struct worker *w)
{
	struct own *own = w->data;
	char *p;

	if (!both || own->done >= ROUNDS || w->rounds % 1000)
		return;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		own->failed++;
		return;
	}
	p[0] = 1;
	own->failed += !!munmap(p, 4096);
	own->failed += !!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	own->done++;
}

/* Their deadline misses. */
static uint64_t ask_each_other(void)
{
	struct worker *w[2] = { worker_new(1), worker_new(2) };
	struct own own[2] = { 0 };
	uint64_t start, missed = 0;

	both = false;
	for (int i = 0; i < 2; i++) {
		w[i]->tick_ms = 10;
		w[i]->spin_ns = SEC;
		w[i]->deadline_ns = 5 * SEC;
		w[i]->data = &own[i];
		w[i]->each = ask;
		need_worker(worker_thread(w[i]));
	}
	start = now_ns();
	both = true;
	for (int i = 0; i < 2; i++) {
		wait_for(&own[i].done, ROUNDS, 20000);
		ok(own[i].done == ROUNDS && !own[i].failed,
		   "CPU %d: %lu of %d rounds, %lu failed", i + 1, own[i].done, ROUNDS,
		   own[i].failed);
	}
	diag("%lu ms", (now_ns() - start) / MS);
	for (int i = 0; i < 2; i++) {
		ok(w[i]->iso.page->queued > 0, "CPU %d queued %llu requests", i + 1,
		   w[i]->iso.page->queued);
		missed += w[i]->iso.page->missed;
		ok(w[i]->iso.page->state == ISOLATOR_STATE_ON, "CPU %d is still isolated",
		   i + 1);
	}
	for (int i = 0; i < 2; i++)
		worker_end(w[i]);
	return missed;
}

int main(void)
{
	iso_require(4);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		bail_out("membarrier registration");
	ok_in_tries("neither CPU has a deadline miss", ask_each_other);
	return done_testing();
}
