/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts that a cpuset ends amid: the task is moved, its CPU is left as it was. */
#ifndef LAB_END_AMID_START_H
#define LAB_END_AMID_START_H

#include "residue.h"

#define GROUPS		"/sys/fs/cgroup"
#define GROUP		GROUPS "/lab-amid"
#define WATCHDOG	"/proc/sys/kernel/watchdog"

/* What the starting task and who ends it tell each other. */
struct amid {
	_Atomic uint64_t wanted, begun, back, over;	/* starts */
	_Atomic uint64_t took;			/* ns, by the last start */
	_Atomic int error;			/* of the last start */
	_Atomic bool ended;			/* before it came back */
	_Atomic bool stop;
};

/* Starts on CPU 2 when it is told to, and stops. */
static inline void amid_starter(struct amid *a)
{
	struct isolator_start_args how = { .size = sizeof(how), .mask = ISOLATOR_MASK_ALL };
	struct isolator_stop_args stop = { .size = sizeof(stop) };
	int fd = open("/dev/isolator", O_RDWR | O_CLOEXEC);

	for (; !a->stop; a->over++) {
		struct isolator_start_args args = how;
		uint64_t began;

		while (a->wanted == a->over && !a->stop)
			sleep_ms(1);	/* sleep: between two looks */
		if (a->stop)
			break;
		a->error = iso_pin(2);
		began = now_ns();
		a->begun++;
		if (!a->error && ioctl(fd, ISOLATOR_IOC_START, &args))
			a->error = -errno;
		a->took = now_ns() - began;
		/* Who was moved is not pinned to CPU 2 any more: its end has come. */
		a->ended = !a->error && sched_getcpu() != 2;
		a->back++;
		if (!a->error)
			ioctl(fd, ISOLATOR_IOC_STOP, &stop);
	}
	_exit(0);
}

static inline bool amid_group(void)
{
	char controllers[512];

	if (get_file(GROUPS "/cgroup.controllers", controllers, sizeof(controllers)) ||
	    !strstr(controllers, "cpuset"))
		return false;
	if (put_file(GROUPS "/cgroup.subtree_control", "+cpuset") ||
	    (mkdir(GROUP, 0755) && errno != EEXIST) ||
	    put_file(GROUP "/cpuset.mems", "0") || put_file(GROUP "/cpuset.cpus", "0-3"))
		bail_out("cannot make a group with a cpuset");
	return true;
}

/* One start, and the CPU taken away when @after ns of it have passed; was it amid? */
static inline bool amid_round(struct amid *a, uint64_t after)
{
	uint64_t begun = a->begun, back = a->back, over = a->over, at;
	bool amid;

	a->wanted++;
	while (a->begun == begun)
		;
	at = now_ns() + after;
	while (now_ns() < at && a->back == back)
		;
	amid = a->back == back;
	if (put_file(GROUP "/cpuset.cpus", "0-1"))
		bail_out("cannot take CPU 2 out of the group");
	until(a->over != over);
	if (put_file(GROUP "/cpuset.cpus", "0-3"))
		bail_out("cannot give CPU 2 back to the group");
	return amid;
}

/*
 * How a start may come back that something ended: it was through, or it saw it, be it by
 * the CPU that it was moved to, which is not in the administrator's list.
 */
static inline bool amid_answer(int error)
{
	return !error || error == -ENOTUNIQ || error == -EBUSY || error == -EACCES;
}

static inline int end_amid_starts(int rounds)
{
	struct amid *a = shared_memory(4096);
	struct residue before[2], after[2];
	int amid = 0, ended = 0, odd = 0, last = 0;
	uint64_t longest;
	char pid_text[16];
	pid_t pid;

	iso_require(4);
	if (!amid_group())
		bail_out("no cpuset controller in " GROUPS);
	for (int i = 0; i < 2; i++)
		look(&before[i], i + 1);
	pid = fork();
	if (!pid)
		amid_starter(a);
	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	if (put_file(GROUP "/cgroup.procs", pid_text))
		bail_out("cannot move the task to its group");
	/* The second that nothing ends says how long one takes: the first also patches keys. */
	for (uint64_t i = 0; i < 2; i++) {
		a->wanted++;
		until(a->over != i);
		if (!ok(!a->error, "a start that nothing ends, of %lu ms", a->took / MS))
			diag("%s", strerror(-a->error));
	}
	longest = a->took;
	srand(1);
	for (int i = 0; i < rounds; i++) {
		amid += amid_round(a, longest * (uint64_t)(rand() % 1000) / 1000);
		ended += a->ended;
		if (!amid_answer(a->error)) {
			odd++;
			last = a->error;
		}
		if (i % 100 == 99)
			diag("%d of %d starts, %d ended amid", i + 1, rounds, amid);
	}
	a->stop = true;
	waitpid(pid, NULL, 0);
	rmdir(GROUP);
	ok(amid > rounds / 4, "%d of %d starts had their CPU taken away amid", amid, rounds);
	ok(ended > 0, "%d of them had the CPU already", ended);
	if (!ok(!odd, "each start came back in a way that is documented"))
		diag("%d did not, the last: %s", odd, strerror(-last));
	ok(file_has("/proc/isolator/status", "isolated \n", NULL), "no CPU is isolated");
	/* Who waits for a watchdog that somebody else has stopped waits for ever. */
	ok(!put_file(WATCHDOG, "0") && !put_file(WATCHDOG, "1"),
	   "all watchdogs can be stopped and started");
	for (int i = 0; i < 2; i++) {
		look(&after[i], i + 1);
		compare(&before[i], &after[i], i ? "the CPU" : "the one it was moved to");
	}
	ok(!put_file("/sys/devices/system/cpu/cpu1/online", "0") &&
	   !put_file("/sys/devices/system/cpu/cpu1/online", "1"),
	   "CPU 1 goes offline and comes back");
	return done_testing();
}

#endif
