// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: end-spinner
 * cpus: 4
 * kernel: isolator
 * timeout: 200
 * alone: yes
 * about: a task that spins on after its end, where nothing else gets to run, holds up nobody
 */
#include "../test.h"

#define SERVER	"/sys/kernel/debug/sched/fair_server/cpu1/runtime"
#define RUNTIME	"/proc/sys/kernel/sched_rt_runtime_us"
#define THRESH	"/proc/sys/kernel/watchdog_thresh"

/* Longer than anything here takes on a busy host, far shorter than the spinner's life. */
enum { PATIENCE_S = 20, LIFE_S = 150 };

/* Does a write come back? */
static bool writes(const char *path, const char *text)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(put_file(path, text) ? 1 : 0);
	if (comes(waitpid(pid, &status, WNOHANG) == pid, PATIENCE_S * 1000))
		return WIFEXITED(status) && !WEXITSTATUS(status);
	kill(pid, SIGKILL);
	return false;
}

static bool over(struct worker *w)
{
	return comes(w->state == WORKER_OVER, PATIENCE_S * 1000);
}

int main(void)
{
	struct worker *spins = worker_new(1), *other = worker_new(2);
	char server[32], runtime[32];
	uint64_t rounds;

	iso_require(4);
	if (get_file(SERVER, server, sizeof(server)) || get_file(RUNTIME, runtime, sizeof(runtime)))
		bail_out("no fair server, or no real-time throttling");
	if (put_file(RUNTIME, "-1") || put_file(SERVER, "0"))
		bail_out("the CPU cannot be left to the real-time task alone");
	spins->life_s = LIFE_S;
	spins->deadline_ns = 60 * SEC;
	other->tick_ms = 10;
	if (!worker_process(spins) || !worker_process(other))
		bail_out("no isolated workers");

	ok(writes("/proc/isolator/cpus", "2-3"), "the end of its isolation comes back");
	rounds = spins->rounds;
	ok(worker_runs_on(spins) && spins->end == ISOLATOR_END_ADMIN,
	   "it spins on, isolated no longer");
	other->stop = true;
	ok(over(other), "another's stop comes back");
	ok(writes(THRESH, "11") && writes(THRESH, "10"), "so do settings of the lockup detector");
	ok(spins->state == WORKER_RUNS && spins->rounds > rounds, "it spun all the time");

	kill(spins->tid, SIGKILL);
	worker_end(spins);
	worker_end(other);
	ok(!put_file(SERVER, server) && !put_file(RUNTIME, runtime), "the settings are as before");
	return done_testing();
}
