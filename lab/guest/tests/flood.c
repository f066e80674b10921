// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: flood
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 240
 * once: yes
 * alone: yes
 * about: a million deferred requests leave no more behind than ten thousand, and cost no more
 * observe: 11 entry_SYSCALL_64 1
 * observe: 12 entry_SYSCALL_64 1
 * equal: 11,13,15 12,14,16 kernel_instructions 25
 */
#include "windows.h"

#define FLOOD	"/proc/isolator/flood"
enum { FEW = 10000, MANY = 1000000, READY = 1 };

MARK_WINDOW_TABLE();

/* After each flood one system call in a window of its own; a probe stands before the first. */
static void each(struct worker *w)
{
	unsigned int now = wanted;

	(void)w;
	if (now == window)
		return;
	if (now == READY) {
		mark_target();
		mark_probe();
		syscall(SYS_getpid);
		window = now;
		return;
	}
	mark_window_begin(now);
	syscall(SYS_getpid);
	mark_window_end(now);
	window = now;
}

static long memory_kb(const char *key)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long kb = -1;

	while (f && kb < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			sscanf(line + strlen(key), ": %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

/* Makes @n requests and has the CPU enter; the last thousand's least time over the first's. */
static double flood(struct worker *w, int n, unsigned int number, uint64_t *deferred)
{
	unsigned long long requests, first, last;
	char text[256];

	*deferred = w->iso.page->deferred;
	snprintf(text, sizeof(text), "%d", n);
	if (put_file(FLOOD, text) || get_file(FLOOD, text, sizeof(text)) ||
	    sscanf(text, "requests %llu batch %*d first_ns %llu last_ns %llu", &requests, &first,
		   &last) != 3)
		bail_out("no flood");
	*deferred = w->iso.page->deferred - *deferred;
	window_go(number);
	diag("%d requests: %s", n, text);
	return (double)last / (double)first;
}

int main(void)
{
	uint64_t few, many;
	struct worker *w;
	double growth;
	long before;

	iso_require(2);
	if (access(FLOOD, F_OK))
		bail_out("no " FLOOD ": wants CONFIG_ISOLATOR_FLOOD");
	w = worker_new(1);
	w->each = each;
	w->deadline_ns = 120 * SEC;
	w->life_s = 300;	/* more than the test may take */
	need_worker(worker_thread(w));
	window_go(READY);
	flood(w, FEW, 11, &few);
	before = memory_kb("Slab") + memory_kb("VmallocUsed");
	growth = flood(w, MANY, 12, &many);
	before = memory_kb("Slab") + memory_kb("VmallocUsed") - before;
	/*
	 * Twice more: a window that something else came into is not the least.  And the
	 * host may slow down in a flood, but not at the same place in all of them.
	 */
	for (unsigned int number = 13; number <= 15; number += 2) {
		uint64_t again;
		double grown;

		flood(w, FEW, number, &again);
		grown = flood(w, MANY, number + 1, &again);
		growth = grown < growth ? grown : growth;
	}
	ok(few == FEW && many == MANY, "%lu and %lu requests were deferred", few, many);
	ok(before < 256, "kernel memory grew by %ld KiB: nothing for each request", before);
	ok(growth < 1.5, "the last thousand took %.2f times the first, in the best flood", growth);
	ok(!w->iso.page->due && !w->iso.page->queued, "nothing is due, nothing was queued");
	ok(!w->iso.page->missed, "no deadline miss");
	worker_end(w);
	return done_testing();
}
