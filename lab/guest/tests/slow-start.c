// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: slow-start
 * cpus: 2
 * kernel: isolator-faults
 * timeout: 60
 * about: what comes amid a start that takes its time: the last other CPU goes, an end, a stop
 */
#include "fault.h"

enum { SLOW_MS = 1000 };	/* of each stage, as the kernel has it */

#define ONLINE	"/sys/devices/system/cpu/cpu1/online"
#define STATUS	"/proc/isolator/status"

struct start {
	_Atomic int stage;	/* 1: about to start, 2: came back, 3: isolated, goes on */
	_Atomic int error, nested;
	_Atomic uint64_t took;
};

/* A child that starts on @cpu and, if it may, nests once more when told to. */
static pid_t starter(struct start *s, int cpu)
{
	struct iso iso = { .fd = -1 };
	pid_t pid = fork();
	uint64_t began;

	if (pid)
		return pid;
	s->error = iso_pin(cpu);
	began = now_ns();
	s->stage = 1;
	if (!s->error)
		s->error = iso_start(&iso, 0, 0);
	s->took = now_ns() - began;
	s->stage = 2;
	while (!s->error && s->stage == 2)
		sleep_ms(1);	/* sleep: between two looks */
	if (!s->error) {
		struct iso again = { .fd = -1 };

		s->nested = iso_start(&again, 0, 0);
		s->stage = 4;
	}
	_exit(0);
}

static bool reaches(struct start *s, int stage)
{
	return comes(s->stage >= stage, 20000);
}

static struct start *start_new(void)
{
	return (struct start *)worker_new(0);
}

/* Both CPUs may be isolated, but not both at once; one of them goes amid the start. */
static void last_other_goes(void)
{
	struct start *s = start_new();
	pid_t pid;

	if (put_file("/proc/isolator/cpus", "0-1"))
		bail_out("cannot write /proc/isolator/cpus");
	pid = starter(s, 0);
	if (!reaches(s, 1))
		bail_out("no start");
	sleep_ms(SLOW_MS / 4);	/* sleep: it is amid its start, which takes SLOW_MS */
	ok(!put_file(ONLINE, "0"), "the only other CPU goes offline amid a start");
	ok(reaches(s, 2) && s->error == -EBUSY, "the start says EBUSY: %s", strerror(-s->error));
	ok(s->took >= SLOW_MS * MS, "which saw that CPU first: it took %lu ms", s->took / MS);
	waitpid(pid, NULL, 0);
	ok(file_has(STATUS, "isolated \n", NULL), "no CPU is isolated");
	ok(!put_file(ONLINE, "1"), "the CPU comes back");
}

/* An end amid a start inside a start: that one adds to nothing. */
static void nested_ends(void)
{
	struct start *s = start_new();
	pid_t pid = starter(s, 1);

	if (!reaches(s, 2) || s->error)
		bail_out("no isolation");
	ok(!put_file(FAULT, "slow_start"), "starts are slow again");
	s->stage = 3;
	sleep_ms(SLOW_MS / 4);	/* sleep: it is amid its start, which takes SLOW_MS */
	/* The administrator's mask would wait for the start. */
	ok(!put_file(ONLINE, "0"), "the CPU goes offline amid a start within its isolation");
	ok(reaches(s, 4) && s->nested == -EBUSY, "the start says EBUSY: %s", strerror(-s->nested));
	waitpid(pid, NULL, 0);
	ok(file_has(STATUS, "isolated \n", NULL), "no CPU is isolated");
	ok(!put_file(ONLINE, "1"), "the CPU comes back");
}

struct asked {
	pid_t tid;
	_Atomic bool answered;
	_Atomic int error;
};

static int task(unsigned long what, pid_t tid, uint32_t flags)
{
	struct isolator_task_args args = {
		.size = sizeof(args), .flags = flags, .tid = tid,
		.start = { .size = sizeof(args.start), .mask = ISOLATOR_MASK_ALL },
	};
	int fd = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	int ret = fd < 0 || ioctl(fd, what, &args) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

static void *asks(void *data)
{
	struct asked *asked = data;

	asked->error = task(ISOLATOR_IOC_START_TASK, asked->tid, ISOLATOR_TASK_WAIT);
	asked->answered = true;
	return NULL;
}

static bool pinned(pid_t pid)
{
	cpu_set_t set;

	return !sched_getaffinity(pid, sizeof(set), &set) && CPU_COUNT(&set) == 1 &&
	       CPU_ISSET(1, &set);
}

/* One that only spins is in the kernel for its start, which sleeps. */
static bool begun(pid_t pid)
{
	char path[64], line[512], *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (get_file(path, line, sizeof(line)))
		return false;
	state = strrchr(line, ')');
	return state && state[1] && state[2] == 'D';
}

/* A start for another task that has begun is taken back as one that waits. */
static void stopped_amid(void)
{
	struct asked asked = { .tid = fork() };
	pthread_t thread;

	if (!asked.tid) {
		if (iso_pin(1))
			_exit(1);
		for (;;)
			;
	}
	until(pinned(asked.tid));
	if (pthread_create(&thread, NULL, asks, &asked))
		bail_out("pthread_create");
	until(begun(asked.tid) || asked.answered);
	ok(!file_has(STATUS, "cpu 1 isolated", NULL), "a start for a task has not come far");
	ok(!task(ISOLATOR_IOC_STOP_TASK, asked.tid, 0), "and is stopped");
	pthread_join(thread, NULL);
	ok(asked.error == -ECANCELED, "who asked for it hears ECANCELED: %s",
	   strerror(-asked.error));
	ok(file_has(STATUS, "isolated \n", NULL), "no CPU is isolated");
	ok(task(ISOLATOR_IOC_STOP_TASK, asked.tid, 0) == -ESRCH, "and there is nothing to stop");
	kill(asked.tid, SIGKILL);
	waitpid(asked.tid, NULL, 0);
}

int main(void)
{
	iso_require(2);
	need_faults();
	if (!ok(!put_file(FAULT, "slow_start"), "starts are slow"))
		return done_testing();
	last_other_goes();
	put_file(FAULT, "none");
	nested_ends();
	ok(!put_file(FAULT, "slow_start"), "starts are slow");
	stopped_amid();
	put_file(FAULT, "none");
	return done_testing();
}
