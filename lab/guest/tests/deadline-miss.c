// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: deadline-miss
 * cpus: 2
 * kernel: isolator
 * timeout: 90
 * about: what misses a deadline is delivered, counted and named: callback, CPU, task, stack
 */
#include <linux/membarrier.h>
#include "../test.h"

#define D	(800 * MS)
#define D_SPIN	(300 * MS)
/* By so much a busy host may hold the CPU whose timer it is. */
#define LATE	(15 * SEC)
/* Where the other bound counts: so much later that it cannot be taken for that. */
#define D_LATE	(D_SPIN + 2 * LATE)
#define DELIVERIES "/proc/isolator/deliveries"

static struct worker *fresh(uint64_t deadline_ns)
{
	struct worker *w = worker_new(1);

	w->deadline_ns = deadline_ns;
	w->spin_ns = D_SPIN;
	need_worker(worker_thread(w));
	/* A thread that the start woke would be delivered at its deadline, and all else with it. */
	for (int i = 0; i < 10 && w->iso.page->due; i++)
		worker_tick(w, 1000);
	return w;
}

/* How long the last request of this kind had waited, in ns, by the kernel's record. */
static uint64_t waited(const char *kind)
{
	char text[8192], *at = text, *line;
	uint64_t found = 0;

	if (get_file(DELIVERIES, text, sizeof(text)))
		return 0;
	while ((line = strsep(&at, "\n"))) {
		char *value = strstr(line, "waited_ns ");

		if (strstr(line, "cpu 1 deadline_miss") && strstr(line, kind) && value)
			found = strtoull(value + strlen("waited_ns "), NULL, 10);
	}
	return found;
}

/*
 * The deadline's interrupt came in time and says who it was.  Not before the bound by the
 * clock here; how much later is for the kernel to say, as a busy host holds this CPU, too.
 */
static void named(struct worker *w, const char *what, uint64_t took, uint64_t bound,
		  const char *kind, const char *callback)
{
	uint64_t missed = w->iso.page->missed, wait = waited(kind);

	ok(missed >= 1, "%s: %lu deadline misses counted", what, missed);
	ok(took >= bound * 9 / 10 && wait >= bound && wait < bound + LATE,
	   "%s: delivered after %lu ms, waited %lu ms, bound %lu ms", what, took / MS,
	   wait / MS, bound / MS);
	ok(file_has(DELIVERIES, "cpu 1 deadline_miss", kind, callback, NULL),
	   "%s: named as %s, %s", what, kind, callback);
	show_deliveries();
}

static void by_munmap(void)
{
	struct worker *w = fresh(D_LATE);
	uint64_t start = now_ns();

	ask_flush();
	named(w, "munmap", now_ns() - start, D_SPIN, "kind call", "callback " FLUSH_CALLBACK);
	ok(file_has(DELIVERIES, "sender_cpu 0", "comm deadline-miss", NULL),
	   "munmap: the sender's CPU and name");
	ok(file_has(DELIVERIES, "  ", FLUSH_SYSCALL, NULL), "munmap: the waiting sender's stack");
	worker_end(w);
}

static void by_membarrier(void)
{
	struct worker *w = fresh(D_LATE);
	uint64_t start = now_ns();

	ok(!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0),
	   "membarrier returns");
	named(w, "membarrier", now_ns() - start, D_SPIN, "kind call", "callback ipi_mb");
	worker_end(w);
}

static void by_kworker(void)
{
	struct worker *w = fresh(D);
	uint64_t start, yields;

	if (!ok(can_ask_kworker(), "tracing, to ask for a kworker by")) {
		worker_end(w);
		return;
	}
	yields = w->iso.page->yields;
	start = now_ns();
	ask_kworker();
	named(w, "kworker", now_ns() - start, D, "kind thread", "comm kworker/1");
	/* Counted by the task that yielded it, when that has woken. */
	ok(comes(w->iso.page->yields > yields, 20000),
	   "kworker: the CPU was yielded at the deadline");
	worker_end(w);
}

static void by_signal(void)
{
	struct worker *w = fresh(D);
	uint64_t start = now_ns();

	handled = 0;
	syscall(SYS_tgkill, getpid(), w->tid, SIGUSR1);
	wait_for(&handled, 1, 20000);
	ok(handled == 1, "signal: the handler ran");
	named(w, "signal", now_ns() - start, D, "kind signal", "comm deadline-miss");
	ok(file_has(DELIVERIES, "kind signal", "caller kick_process", NULL),
	   "signal: where it was asked from, as its sender does not wait");
	worker_end(w);
}

static int reads_deliveries(void)
{
	char text[8192];

	if (setuid(65534))
		return 254;
	if (get_file(DELIVERIES, text, sizeof(text)))
		return 0;
	return strstr(text, "comm") || strstr(text, "callback") ? 1 : 0;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = count_signal };
	int status;
	pid_t pid;

	iso_require(2);
	sigaction(SIGUSR1, &sa, NULL);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		bail_out("membarrier registration");
	by_munmap();
	by_membarrier();
	by_kworker();
	by_signal();
	pid = fork();
	if (!pid)
		_exit(reads_deliveries());
	waitpid(pid, &status, 0);
	ok(!status, "names are for the administrator only");
	return done_testing();
}
