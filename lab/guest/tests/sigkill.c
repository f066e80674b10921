// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sigkill
 * cpus: 2
 * kernel: isolator
 * timeout: 120
 * about: SIGKILL ends a task that never ticks: median of 20 at most 100 ms, none near the deadline
 */
#include "../test.h"

enum { ROUNDS = 20 };

/* By then it has not waited for the deadline, however long a host held the guest. */
#define DEADLINE	(60 * SEC)
#define LATE		(DEADLINE / 3)

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct worker *fresh(void)
{
	struct worker *w = worker_new(1);

	w->deadline_ns = DEADLINE;
	need_worker(worker_process(w));
	worker_tells(w);
	return w;
}

/* Time from the signal to the death, ns. */
static uint64_t reap(struct worker *w, uint64_t start, int *status)
{
	if (waitpid(w->tid, status, 0) != w->tid)
		bail_out("waitpid");
	return now_ns() - start;
}

/* A kernel with a sanitizer in it is given three times as long. */
static uint64_t bound(void)
{
	const char *sanitizer = getenv("SANITIZER");

	return sanitizer && *sanitizer ? 300 * MS : 100 * MS;
}

static const char *volatile how;

static void *end_all_later(void *arg)
{
	iso_pin(0);
	until(file_has("/proc/isolator/status", "cpu 1 isolated", NULL));
	if (!strcmp(how, "exec"))
		execl("/bin/busybox", "busybox", "true", (char *)NULL);
	_exit(0);
	return arg;
}

/* A sibling of the isolated thread ends the process, which has to kill it. */
static void by_sibling(const char *what)
{
	uint64_t start;
	int status;
	pid_t pid;

	how = what;
	pid = fork();
	if (!pid) {
		struct worker *w = worker_new(1);
		pthread_t thread;

		pthread_create(&thread, NULL, end_all_later, NULL);
		w->deadline_ns = DEADLINE;
		worker_thread(w);
		pthread_join(thread, NULL);
		_exit(1);
	}
	start = now_ns();
	if (waitpid(pid, &status, 0) != pid)
		bail_out("waitpid");
	ok(!status && now_ns() - start < LATE, "a sibling's %s: over after %lu ms", what,
	   (now_ns() - start) / MS);
}

int main(void)
{
	uint64_t took[ROUNDS], start;
	int killed = 0, status;
	struct worker *w;

	iso_require(2);
	for (int i = 0; i < ROUNDS; i++) {
		w = fresh();
		start = now_ns();
		kill(w->tid, SIGKILL);
		took[i] = reap(w, start, &status);
		killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	}
	qsort(took, ROUNDS, sizeof(*took), compare);
	ok(killed == ROUNDS, "%d of %d died of it", killed, ROUNDS);
	ok(took[ROUNDS / 2] <= bound(), "median %lu us, bound %lu ms",
	   took[ROUNDS / 2] / 1000, bound() / MS);
	ok(took[ROUNDS - 1] <= LATE, "longest %lu us", took[ROUNDS - 1] / 1000);
	diag("shortest %lu us", took[0] / 1000);
	ok(file_has("/proc/isolator/status", "cpu 1 ended exit", NULL), "the status says exit");

	by_sibling("exit_group");
	by_sibling("exec");

	/* cgroup.kill, where there is cgroup v2. */
	if (!access("/sys/fs/cgroup/cgroup.procs", W_OK) &&
	    (!mkdir("/sys/fs/cgroup/lab-kill", 0755) || !access("/sys/fs/cgroup/lab-kill", F_OK))) {
		char text[16];

		w = fresh();
		snprintf(text, sizeof(text), "%d", w->tid);
		put_file("/sys/fs/cgroup/lab-kill/cgroup.procs", text);
		start = now_ns();
		put_file("/sys/fs/cgroup/lab-kill/cgroup.kill", "1");
		ok(reap(w, start, &status) < LATE && WIFSIGNALED(status),
		   "cgroup.kill: over after %lu us", (now_ns() - start) / 1000);
		rmdir("/sys/fs/cgroup/lab-kill");
	} else {
		ok(false, "cgroup v2, for cgroup.kill");
	}
	return done_testing();
}
