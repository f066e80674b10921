// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: yield
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: a thread of the CPU that waited for the deadline gets what it needs, up to the deadline
 */
#include "../test.h"

#define D	(200 * MS)

/* A thread that is bound to the isolated CPU, under the FIFO task that never ticks. */
static struct {
	pthread_t thread;
	int wake[2];
	_Atomic uint64_t need_ns;	/* of CPU time: work() */
	_Atomic uint64_t done;
} bound;

/* By the kernel's own account. */
static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SEC + (uint64_t)t.tv_nsec;
}

/*
 * Until its turns add up.  In a slow guest what the kernel does meanwhile counts, whose own checks
 * may need most of a turn; a gap of half a deadline is none: there it waits for the next one.
 */
static void work(uint64_t need_ns)
{
	uint64_t had = 0, last = now_ns(), end = cpu_time() + need_ns;

	if (guest_slower() == 1) {
		while (cpu_time() < end)
			;
		return;
	}
	while (had < need_ns) {
		uint64_t now = now_ns();

		had += now - last < D / 2 ? now - last : 0;
		last = now;
	}
}

static void *bound_body(void *arg)
{
	char byte;

	(void)arg;
	if (iso_pin(1))
		bail_out("a thread cannot be bound to CPU 1");
	bound.done++;
	while (read(bound.wake[0], &byte, 1) == 1) {
		work(bound.need_ns);
		bound.done++;
	}
	return NULL;
}

/* How many deadline misses it takes until the thread has had so much of the CPU. */
static uint64_t misses_for(struct worker *w, uint64_t need_ns, bool signals)
{
	uint64_t before = w->iso.page->missed, done = bound.done, start = now_ns(), seen = handled;

	bound.need_ns = need_ns;
	if (write(bound.wake[1], "x", 1) != 1)
		bail_out("pipe");
	while (bound.done == done && now_ns() - start < 15 * SEC * guest_slower()) {
		/*
		 * One at a time, and only while the CPU is yielded: one that waits would be a
		 * deadline miss.
		 */
		if (signals && w->iso.page->missed > before && handled - seen < 5)
			syscall(SYS_tgkill, getpid(), w->tid, SIGUSR1);
		sleep_ms(10);	/* sleep: between two looks */
	}
	if (bound.done == done)
		diag("it did not come to an end");
	diag("%lu ms of work took %lu ms and %lu deadline misses", need_ns / MS,
	     (now_ns() - start) / MS, (uint64_t)w->iso.page->missed - before);
	/* The way out of the last yield: nothing may be left of it in the next count. */
	for (int i = 0; i < 100 && w->iso.page->due; i++)
		worker_tick(w, 100);
	return bound.done == done ? UINT64_MAX : w->iso.page->missed - before;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = count_signal };
	struct worker *w = worker_new(1);
	uint64_t n;

	iso_require(2);
	sigaction(SIGUSR1, &sa, NULL);
	if (pipe(bound.wake) || pthread_create(&bound.thread, NULL, bound_body, NULL) ||
	    !wait_for(&bound.done, 1, 5000))
		bail_out("no thread on CPU 1");
	w->deadline_ns = D;
	w->spin_ns = D;	/* a busy host holds its CPU for longer than the usual D_spin */
	need_worker(worker_thread(w));
	for (int i = 0; i < 10 && w->iso.page->due; i++)
		worker_tick(w, 1000);
	/*
	 * On a slow host the way into each turn takes time of it, and another thread of this CPU
	 * may miss its deadline, too.  Without a yield each lend would be a miss: dozens.
	 */
	n = misses_for(w, D / 4, false);
	ok(n >= 1 && n <= 2,
	   "a quarter of a deadline of work: one deadline miss yields it all (%lu)", n);
	n = misses_for(w, 3 * D, false);
	ok(n >= 2 && n <= 8, "three deadlines of work: one deadline miss for each (%lu)", n);
	n = misses_for(w, D / 4, true);
	ok(handled > 0, "%lu signals woke the task meanwhile", (uint64_t)handled);
	ok(n >= 1 && n <= 3, "they do not cost the thread its turn (%lu)", n);
	if (n > 3)
		show_deliveries();
	worker_end(w);
	close(bound.wake[1]);
	pthread_join(bound.thread, NULL);
	return done_testing();
}
