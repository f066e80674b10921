// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: avoided
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 60
 * about: what user mode has no need of is never queued, also when it is asked for at a system call
 */
#include "../test.h"

#define FLOOD	"/proc/isolator/flood"
#define STATS	"/proc/isolator/stats"
#define REQUESTS "100000"

/* In and out of the kernel all the time. */
static void each(struct worker *w)
{
	(void)w;
	syscall(SYS_getpid);
}

int main(void)
{
	struct worker *w;
	uint64_t deferred;

	iso_require(2);
	if (access(FLOOD, F_OK))
		bail_out("no " FLOOD ": wants CONFIG_ISOLATOR_FLOOD");
	w = worker_new(1);
	w->each = each;
	w->deadline_ns = 50 * SEC;
	need_worker(worker_thread(w));
	deferred = w->iso.page->deferred;
	if (put_file(FLOOD, REQUESTS))
		bail_out("no flood");
	deferred = w->iso.page->deferred - deferred;
	ok(deferred > 0 && deferred < strtoul(REQUESTS, NULL, 10),
	   "%lu of " REQUESTS " requests found it in user mode", deferred);
	ok(file_has(STATS, "callback do_sync_core", " queued 0 ", NULL), "none was queued");
	ok(!w->iso.page->missed, "no deadline miss");
	worker_end(w);
	return done_testing();
}
