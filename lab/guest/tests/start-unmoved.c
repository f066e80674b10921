// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: start-unmoved
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: a start says that a task stays which sleeps on the CPU where it may not be moved
 */
#include "caller.h"

static bool sleeps(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return file_has(path, "State:\tD", NULL);
}

/* A task that sleeps in the kernel for 4 s, and may be moved off CPU 1 only after that. */
static pid_t sleeper(void)
{
	cpu_set_t both;
	pid_t pid = fork();

	if (!pid)
		_exit(iso_pin(1) || put_file("/dev/lab_caller", "sleep 4000") ? 1 : 0);
	until(sleeps(pid));
	CPU_ZERO(&both);
	CPU_SET(0, &both);
	CPU_SET(1, &both);
	if (sched_setaffinity(pid, sizeof(both), &both))
		bail_out("an affinity");
	return pid;
}

/* What a start got, ISOLATOR_GOT_TASKS or 0; beside @pid, if there is one, which sleeps. */
static uint32_t start(pid_t pid)
{
	uint32_t got;
	struct iso iso;

	if (iso_start(&iso, 10 * SEC, SEC) || iso_stop(&iso))
		bail_out("no isolation");
	got = iso.start.got & ISOLATOR_GOT_TASKS;
	iso_close(&iso);
	if (pid && !sleeps(pid))
		bail_out("it sleeps no more");
	return got;
}

int main(void)
{
	int status = -1;
	pid_t pid;

	iso_require(2);
	caller_load(CALLER, "cpu=-1");
	pid = sleeper();
	if (iso_pin(1))
		bail_out("CPU 1");
	ok(!start(pid), "beside a task that sleeps and stays: a start says so");
	ok(waitpid(pid, &status, 0) == pid && !status, "which goes on after that");
	ok(start(0), "without it the CPU has no other task");
	return done_testing();
}
