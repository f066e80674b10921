// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: barrier-all
 * cpus: 2
 * kernel: isolator
 * timeout: 120
 * about: membarrier() of all CPUs, which any user may call, waits for a tick asleep, and can be killed
 */
#include <linux/membarrier.h>
#include "probe.h"

#define WAKING	TRACING "/events/sched/sched_waking"

enum { CALLERS = 8, NOBODY = 65534 };

static struct shared {
	_Atomic uint64_t returned;
} *shared;

/* A user without any right asks for a barrier. */
static pid_t caller(void)
{
	pid_t pid = fork();

	if (pid < 0)
		bail_out("fork");
	if (!pid) {
		if (setuid(NOBODY) || syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
			_exit(1);
		shared->returned++;
		_exit(0);
	}
	return pid;
}

/* Asleep for isolated CPUs, no longer for the grace period before. */
static bool sleeps(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/wchan", pid);
	return file_has(path, "membarrier", NULL);
}

static bool all_sleep(const pid_t *pids)
{
	for (int i = 0; i < CALLERS; i++) {
		if (!sleeps(pids[i]))
			return false;
	}
	return true;
}

static bool is_caller(const pid_t *pids, pid_t pid)
{
	for (int i = 0; i < CALLERS; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

/* How often they were woken on any CPU, and @there, on the isolated one. */
static int woken(const pid_t *pids, int *there)
{
	FILE *f = fopen(TRACING "/trace", "re");
	const char *what;
	char line[256];
	int all = 0;

	while (f && fgets(line, sizeof(line), f)) {
		what = strstr(line, "sched_waking:");
		what = what ? strstr(what, "pid=") : NULL;
		if (!what || !is_caller(pids, atoi(what + strlen("pid="))))
			continue;
		all++;
		*there += !!strstr(line, "[001]");
	}
	if (f)
		fclose(f);
	return all;
}

static struct worker *isolated(uint64_t deadline_ns)
{
	struct worker *w = worker_new(1);

	w->deadline_ns = deadline_ns;
	/* Far less than it stays away: nobody has it interrupted for a call that spins. */
	w->spin_ns = MS;
	/* What a tick of an emulated CPU needs for the naps of other threads is no matter here. */
	w->yield_ns = 100 * MS;
	w->life_s = 100;
	need_worker(worker_process(w));
	return w;
}

static void many_at_once(void)
{
	int ticks = 0, failed = 0, there = 0, status, all;
	pid_t pids[CALLERS];
	struct worker *w;

	/* Ahead of the isolation: the first event makes the buffers grow, on each CPU. */
	if (put_file(WAKING "/filter", "comm == \"barrier-all\"") ||
	    put_file(WAKING "/enable", "1"))
		bail_out("no event " WAKING);
	w = isolated(60 * SEC);
	for (int i = 0; i < CALLERS; i++)
		pids[i] = caller();
	ok(comes(all_sleep(pids), 20000), "%d callers sleep", CALLERS);
	ok(comes(w->due & ISOLATOR_DUE_RESCHED, 5000),
	   "a tick of the isolated task is due (%#x)", w->due);
	ok(!shared->returned, "none returns before it");
	while (ticks < CALLERS && shared->returned < CALLERS) {
		if (!worker_tick(w, 10000))
			bail_out("no tick");
		ticks++;
		worker_tells(w);
		/* The round is through, and the next has begun. */
		comes_within(shared->returned == CALLERS || w->due & ISOLATOR_DUE_RESCHED, 10000);
	}
	ok(shared->returned == CALLERS, "%lu of %d returned", (unsigned long)shared->returned,
	   CALLERS);
	/*
	 * The first alone, or some with it; all who came meanwhile; one for a yield that was too
	 * short.
	 */
	ok(ticks <= 4, "after %d ticks", ticks);
	for (int i = 0; i < CALLERS; i++) {
		waitpid(pids[i], &status, 0);
		failed += !!status;
	}
	ok(!failed, "%d failed", failed);
	worker_tells(w);
	if (!ok(!w->missed, "nobody interrupted the task"))
		show_deliveries();
	worker_end(w);
	put_file(WAKING "/enable", "0");
	all = woken(pids, &there);
	ok(all >= CALLERS && !there, "woken %d times, %d times on the isolated CPU", all, there);
}

/* In strict mode a caller may wait without end. */
static void killed(void)
{
	struct worker *w = isolated(ISOLATOR_DEADLINE_NEVER);
	pid_t pid = caller();
	int status;

	ok(comes(sleeps(pid), 20000), "a caller waits for a task that need not tick");
	kill(pid, SIGKILL);
	ok(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "and can be killed");
	shared->returned = 0;
	pid = caller();
	ok(comes(sleeps(pid), 20000) && !shared->returned, "the next one waits as well");
	for (int i = 0; i < CALLERS && !shared->returned; i++) {
		worker_tick(w, 10000);
		comes_within(shared->returned, 2000);
	}
	waitpid(pid, &status, 0);
	ok(!status && shared->returned, "and returns after a tick");
	worker_tells(w);
	if (!ok(!w->missed, "nobody interrupted the task"))
		show_deliveries();
	worker_end(w);
}

int main(void)
{
	iso_require(2);
	shared = shared_memory(sizeof(*shared));
	many_at_once();
	killed();
	return done_testing();
}
