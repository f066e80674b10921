// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: quarantine-cgroup
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 300
 * dmesg: Call Trace:
 * about: a full cgroup gets back what its own quarantine holds before it kills, or lets wait
 */
#include "quarantine.h"

#define TOP	"/sys/fs/cgroup/"
#define OWN	TOP "lab-quarantine"
#define HIGH	TOP "lab-quarantine-high"
#define OTHER	TOP "lab-quarantine-other"

enum { LIMIT_MB = 128, HELD = 64 << 20, MORE = 96 << 20 };

static struct shared {
	_Atomic bool removed, more;
	_Atomic uint64_t held, left, waited;
} *shared;

static bool set(const char *group, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return !put_file(path, text);
}

static void make(const char *group, const char *limit, const char *bytes)
{
	if ((mkdir(group, 0755) && errno != EEXIST) || !set(group, limit, bytes))
		bail_out("no group with a limit: cgroup v2 and CONFIG_MEMCG");
	set(group, "memory.swap.max", "0");
}

/* Isolated, with most of its group's memory in the quarantine; and then it needs more. */
static _Noreturn void member(const char *group)
{
	struct worker *w;
	uint64_t waited;
	char *p;

	if (!set(group, "cgroup.procs", "0"))
		_exit(2);
	w = reader(0);
	p = map_watched(HELD, 1);
	munmap(p, HELD);
	shared->held = quarantined();
	shared->removed = true;
	until(shared->more);
	waited = waits();
	p = map(MORE);
	fill(p, MORE, 2);
	shared->waited = waits() - waited;
	shared->left = quarantined();
	worker_end(w);
	_exit(0);
}

/* A process that wants more than its group has. */
static bool killed_in_other(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (!set(OTHER, "cgroup.procs", "0"))
			_exit(2);
		fill_other(map(MORE), MORE);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* A member, once it has removed most of what its group may have; 0: it has not. */
static pid_t begin(const char *group)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (!pid)
		member(group);
	if (ok(comes(shared->removed, 120000) && shared->held >= HELD, "%lu MiB of its group wait",
	       shared->held >> 20))
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void gets_more(pid_t pid)
{
	int status;

	shared->more = true;
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status),
	   "a process that needs more gets it: %#x", status);
	ok(shared->waited && shared->left < HELD, "as what waits is freed, for an interruption");
}

int main(void)
{
	char text[32];
	uint64_t waited;
	pid_t pid;

	iso_require(2);
	if (put_file(TOP "cgroup.subtree_control", "+memory"))
		bail_out("no cgroup v2 with the controller memory");
	snprintf(text, sizeof(text), "%dM", LIMIT_MB);
	make(OWN, "memory.max", text);
	make(HIGH, "memory.high", text);
	make(OTHER, "memory.max", "16M");
	shared = shared_memory(sizeof(*shared));
	pid = begin(OWN);
	if (!pid)
		return done_testing();
	waited = waits();
	ok(killed_in_other(), "another group that is full kills");
	ok(quarantined() == shared->held && waits() == waited, "and interrupts nobody of this one");
	gets_more(pid);
	ok(file_has(OWN "/memory.events", "oom_kill 0", NULL), "nobody of the group was killed");
	/* No kill there, but whoever takes more sleeps: up to 2 s, each time. */
	pid = begin(HIGH);
	if (pid)
		gets_more(pid);
	ok(comes(!rmdir(OWN), 5000) && comes(!rmdir(HIGH), 5000) && comes(!rmdir(OTHER), 5000),
	   "nothing keeps the groups");
	return done_testing();
}
