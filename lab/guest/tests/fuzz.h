/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hostile use of /dev/isolator and /proc/isolator: all requests with sizes, flags and
 * pointers that are right, nearly right and not at all, beside tasks that are isolated
 * and stopped, traced, killed and replaced by others, cpuset changes, hot-plug, and what
 * fuzz-beside.h has.
 *
 * It begins from a seed that it prints; SEED repeats the choices, though not how the
 * threads meet.  It counts what was asked, and with what answer.
 */
#ifndef LAB_FUZZ_H
#define LAB_FUZZ_H

#include <sys/ptrace.h>
#include "../machine.h"
#include "fuzz-beside.h"

static _Atomic bool fuzz_stop;
static _Atomic int victims[VICTIMS], fuzzer_tid[FUZZERS], fuzzers_left;
static pid_t fuzz_guard;
static int device;

/* Mostly what is nearly right, sometimes what is not at all. */
static inline void fill(void *buf, size_t size)
{
	static const uint32_t words[] = { 0, 1, 7, 8, 24, 32, 56, 64, ~0U, 0x80000000 };
	uint32_t *w = buf;

	for (size_t i = 0; i < size / 4; i++)
		w[i] = pick(4) ? words[pick(10)] : pick(~0U);
}

static inline pid_t any_task(void)
{
	switch (pick(4)) {
	case 0:
		return 0;
	case 1:
		return fuzzer_tid[pick(FUZZERS)];
	case 2:
		return victims[pick(VICTIMS)];
	}
	return (pid_t)pick(300);
}

static inline unsigned long any_command(void)
{
	static const unsigned long commands[] = {
		ISOLATOR_IOC_START, ISOLATOR_IOC_TICK, ISOLATOR_IOC_STOP,
		ISOLATOR_IOC_START_TASK, ISOLATOR_IOC_STOP_TASK,
	};
	unsigned long command = commands[pick(5)];

	switch (pick(8)) {
	case 0:
		return pick(~0U);
	case 1:	/* of a caller that knows more, or less */
		command &= ~((unsigned long)IOCSIZE_MASK);
		return command | (unsigned long)pick(128) << IOCSIZE_SHIFT;
	}
	return command;
}

/* A start that can succeed: then harm can come of it. */
static inline void good_start(struct isolator_start_args *start)
{
	static const uint64_t times[] = { 0, 1000000, 20000000, 300000000, SEC, ~0ULL };

	start->mask = 1 + pick(7);
	start->flags = pick(2) ? ISOLATOR_START_QUARANTINE * pick(2) :
		pick(ISOLATOR_START_FLAGS + 1);
	start->deadline_ns = times[pick(6)];
	start->spin_ns = times[pick(3)];
	start->batch_ns = pick(4) ? 0 : times[pick(4)];
}

static inline void any_ioctl(char *edge)
{
	union {
		struct isolator_start_args start;
		struct isolator_task_args task;
		char bytes[128];
	} args = { 0 };
	unsigned long command = any_command();
	unsigned int nr = _IOC_NR(command), size = _IOC_SIZE(command);
	bool ours = _IOC_TYPE(command) == _IOC_TYPE(ISOLATOR_IOC_START) && nr >= 1 && nr <= 5;
	void *where = &args;

	fill(&args, sizeof(args));
	if (pick(2))
		args.start.size = size;
	if (pick(2)) {
		memset(&args, 0, sizeof(args));
		args.start.size = size;
		if (nr >= _IOC_NR(ISOLATOR_IOC_START_TASK)) {
			args.task.tid = any_task();
			args.task.flags = nr == _IOC_NR(ISOLATOR_IOC_START_TASK) ? pick(4) : 0;
			args.task.start.size = size - offsetof(struct isolator_task_args, start);
			good_start(&args.task.start);
		} else if (nr == _IOC_NR(ISOLATOR_IOC_START)) {
			good_start(&args.start);
		}
	}
	switch (pick(12)) {
	case 0:
		where = NULL;
		break;
	case 1:
		where = (void *)0xffff888000000000UL;
		break;
	case 2:	/* runs over the end of what is mapped */
		where = edge + 4096 - pick(60);
		break;
	case 3:
		where = (char *)&args + 1;
		break;
	}
	answered(ours ? FIRST_IOCTL + (int)nr - 1 : NO_IOCTL, ioctl(device, command, where));
}

static inline void any_file(void)
{
	static const char *const texts[] = {
		"", "7", "1", "-1", "0x7", "1-", "\n", "99999999999", "1-3",
		"deadline_ns 5000000000", "spin_ns 20000000", "perf queue", "msr queue", "perf",
		"reset longest", "deadline_ns x",
	};
	int row = FIRST_FILE + (int)pick(CPUSET - FIRST_FILE);
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/isolator/%s", fuzz_names[row]);
	if (pick(4)) {
		snprintf(text, sizeof(text), "%s", texts[pick(16)]);
	} else {
		size_t n = pick(300);

		for (size_t i = 0; i < n; i++)
			text[i] = (char)(1 + pick(255));
		text[n] = 0;
	}
	answered(row, pick(3) ? put_file(path, text) : get_file(path, text, sizeof(text)));
	if (pick(2)) {
		snprintf(text, sizeof(text), "1-%d", fuzz_cpus - 1);
		put_file("/proc/isolator/cpus", text);
	}
}

static inline void any_map(void)
{
	void *p = mmap(NULL, 4096UL * pick(3), (int)pick(8), pick(2) ? MAP_SHARED : MAP_PRIVATE,
		       device, 4096 * pick(2));

	if (answered(MMAP, p == MAP_FAILED ? -1 : 0))
		return;
	/* Not what destroys: MADV_NORMAL to WILLNEED, DONTFORK to NOHUGEPAGE, DODUMP. */
	answered(MADVISE, madvise(p, 4096, pick(2) ? (int)pick(4) : 10 + (int)pick(8)));
	munmap(p, 4096);
}

static inline void *fuzzer(void *arg)
{
	char *edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int number = (int)(intptr_t)arg;

	seeded((uint64_t)number);
	fuzzer_tid[number] = (pid_t)syscall(SYS_gettid);
	if (edge == MAP_FAILED || munmap(edge + 4096, 4096))
		bail_out("no memory");
	while (!fuzz_stop) {
		if (pick(30) == 0)
			answered(PIN, iso_pin((int)pick((uint32_t)fuzz_cpus)));
		switch (pick(8)) {
		case 0:
		case 1:
			any_file();
			break;
		case 2:
			any_map();
			break;
		default:
			any_ioctl(edge);
		}
	}
	fuzzers_left--;
	return NULL;
}

/* A child's life: isolated, in user mode for a while, and an end of its choice. */
static inline void __attribute__((noreturn)) victim(uint64_t stream)
{
	struct isolator_start_args start = { .size = sizeof(start) };
	struct isolator_stop_args stop = { .size = sizeof(stop) };
	char self[16];

	seeded(stream);
	good_start(&start);
	snprintf(self, sizeof(self), "%ld", syscall(SYS_getpid));
	if (pick(2))
		begin_neighbour(stream);
	if (pick(4))
		put_file(GROUP "/cgroup.procs", self);
	if (!iso_pin(1 + (int)pick((uint32_t)fuzz_cpus - 1)) && pick(4))
		answered(FIRST_IOCTL, ioctl(device, ISOLATOR_IOC_START, &start));
	for (int rounds = (int)pick(5); rounds >= 0; rounds--) {
		spin_ms(pick(30));
		if (pick(2))
			syscall(SYS_getpid);
	}
	switch (pick(5)) {
	case 0:
		ioctl(device, ISOLATOR_IOC_STOP, &stop);
		break;
	case 1:
		execl("/bin/busybox", "busybox", "true", (char *)NULL);
		break;
	case 2:
		syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
		break;
	case 3:	/* until somebody ends it */
		for (;;)
			;
	}
	_exit(0);
}

/* Stopped, looked at and let go, if it comes to a stop in time; else killed. */
static inline void trace(pid_t pid)
{
	int status;

	if (answered(PTRACE, ptrace(PTRACE_SEIZE, pid, NULL, NULL)))
		return;
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	for (int i = 0; i < 300; i++) {
		if (waitpid(pid, &status, WNOHANG | __WALL) == pid) {
			if (WIFSTOPPED(status)) {
				ptrace(PTRACE_PEEKUSER, pid, NULL, NULL);
				ptrace(PTRACE_DETACH, pid, NULL, NULL);
			} else {
				gone(pid, status);
				for (int k = 0; k < VICTIMS; k++)
					victims[k] = victims[k] == pid ? 0 : victims[k];
			}
			return;
		}
		sleep_ms(1);	/* sleep: between two looks */
	}
	kill(pid, SIGKILL);
}

/* The world around them, one thing at a time. */
static inline void any_event(uint64_t *stream)
{
	static const char *const sets[] = { "0-3", "0-1", "0,2", "0", "1", "2-3" };
	int k = (int)pick(VICTIMS), status;
	pid_t pid = victims[k];
	char path[64];

	if (pid && waitpid(pid, &status, WNOHANG) == pid &&
	    (WIFEXITED(status) || WIFSIGNALED(status))) {
		gone(pid, status);
		victims[k] = pid = 0;
	}
	if (!pid) {
		fflush(stdout);
		pid = fork();
		if (!pid)
			victim(++*stream);
		++*stream;
		answered(FORK, pid);
		victims[k] = pid > 0 ? pid : 0;
		return;
	}
	switch (pick(40)) {
	case 0: case 1: case 2: case 3: case 4:
		answered(SIGNAL, kill(pid, SIGSTOP));
		break;
	case 5: case 6: case 7: case 8: case 9: case 10: case 11:
		answered(SIGNAL, kill(pid, SIGCONT));
		break;
	case 12: case 13: case 14:
		answered(SIGNAL, kill(pid, SIGKILL));
		break;
	case 15: case 16: case 17:
		trace(pid);
		break;
	case 18: case 19: case 20:
		answered(CPUSET, put_file(GROUP "/cpuset.cpus", sets[pick(6)]));
		break;
	case 21:
		if (fuzz_cpus < 3)
			break;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online",
			 2 + pick((uint32_t)fuzz_cpus - 2));
		answered(HOTPLUG, put_file(path, pick(2) ? "1" : "0"));
		break;
	case 22: case 23: case 24: case 25:
		any_request(pid);
		break;
	default:	/* who waits for a start is woken */
		answered(SIGNAL, syscall(SYS_tgkill, getpid(), fuzzer_tid[pick(FUZZERS)], SIGUSR1));
	}
	sleep_ms(pick(10));	/* sleep: at any moments */
}

static void on_signal(int sig)
{
	(void)sig;
}

/*
 * A process that no lock of theirs holds up ends all isolations every few seconds.  One that
 * is never interrupted keeps its CPU from a thread that can be nowhere else, as the others
 * are offline; with that thread all wait that share its memory, and who would end it too.
 */
static inline pid_t guard(void)
{
	pid_t parent = getpid(), pid = fork();
	char all[16];

	if (pid)
		return pid;
	snprintf(all, sizeof(all), "1-%d\n", fuzz_cpus - 1);
	while (getppid() == parent) {
		sleep_ms(5000);	/* sleep: what no event gets out of */
		put_file("/proc/isolator/cpus", "\n");
		put_file("/proc/isolator/cpus", all);
	}
	_exit(0);
}

/* Everything ends, and the machine is as it was. */
static inline void clear_away(pthread_t *threads)
{
	char path[64];
	int status;

	for (int k = 0; k < VICTIMS; k++) {
		if (victims[k] > 0) {
			kill(victims[k], SIGKILL);
			kill(victims[k], SIGCONT);
			if (waitpid(victims[k], &status, __WALL) == victims[k])
				gone(victims[k], status);
		}
	}
	while (fuzzers_left) {
		for (int i = 0; i < FUZZERS; i++)
			syscall(SYS_tgkill, getpid(), fuzzer_tid[i], SIGUSR1);
		sleep_ms(10);	/* sleep: between two looks */
	}
	for (int i = 0; i < FUZZERS; i++)
		pthread_join(threads[i], NULL);
	kill(fuzz_guard, SIGKILL);
	waitpid(fuzz_guard, NULL, 0);
	rmdir(GROUP);
	end_requests();
	for (int cpu = 2; cpu < fuzz_cpus; cpu++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		put_file(path, "1");
	}
	put_file("/proc/isolator/limits", "perf refuse");
	put_file("/proc/isolator/limits", "msr refuse");
	iso_raise_limits();
	put_file("/proc/isolator/cpus", "1");
}

static inline void report(void)
{
	for (int row = 0; row < ROWS; row++) {
		char line[1024];
		int at = 0;

		for (int e = 0; e < ANSWERS && at < (int)sizeof(line) - 40; e++) {
			if (answers[row][e])
				at += snprintf(line + at, sizeof(line) - (size_t)at, " %s %lu",
					       e ? strerrorname_np(e) ?: "other" : "taken",
					       (unsigned long)answers[row][e]);
		}
		if (at)
			diag("%s:%s", fuzz_names[row], line);
	}
}

/* The test: fuzz for so long, and until that was enough; then everything must be as before. */
static inline int fuzz(unsigned int seconds)
{
	const char *given = getenv("SEED");
	struct sigaction sa = { .sa_handler = on_signal };
	struct worker *w = worker_new(1);
	uint64_t end, stream = 1000;
	pthread_t threads[FUZZERS];
	char text[4096];

	iso_require(2);
	answers = shared_memory(sizeof(*answers) * ROWS);
	begin_requests();
	fuzz_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	fuzz_seed = given ? strtoull(given, NULL, 0) : now_ns() ^ cycles();
	diag("seed %lu", fuzz_seed);
	seeded(999);
	sigaction(SIGUSR1, &sa, NULL);	/* without SA_RESTART: it ends a wait */
	device = open("/dev/isolator", O_RDWR);
	if (device < 0)
		bail_out("no /dev/isolator");
	put_file("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset");
	if (mkdir(GROUP, 0755) || access(GROUP "/cpuset.cpus", W_OK))
		diag("no cpuset: that part is left out");
	fuzzers_left = FUZZERS;
	fuzz_guard = guard();
	if (fuzz_guard < 0)
		bail_out("fork");
	/* This thread, which brings everything to its end, stays on CPU 0 and out of the group. */
	for (intptr_t i = 0; i < FUZZERS; i++) {
		if (pthread_create(&threads[i], NULL, fuzzer, (void *)i))
			bail_out("pthread_create");
	}
	end = now_ns() + seconds * SEC;
	while (now_ns() < end || (!enough(seconds) && now_ns() < end + 120 * SEC))
		any_event(&stream);
	fuzz_stop = true;
	clear_away(threads);
	report();
	ok(enough(seconds),
	   "%lu requests, %lu of them taken by ioctl: there was something to survive",
	   taken(NO_IOCTL, ROWS, true), taken(FIRST_IOCTL, MMAP, false));
	for (int row = FIRST_IOCTL; row < MMAP; row++)
		ok(answers[row][0], "%s was taken %lu times", fuzz_names[row],
		   (unsigned long)answers[row][0]);
	ok(!fuzz_harmed, "%d tasks died of a signal that nobody sent", fuzz_harmed);
	get_file("/proc/isolator/status", text, sizeof(text));
	if (!ok(strstr(text, "isolated \n"), "nothing is left isolated"))
		diag("%s", text);
	iso_pin(0);
	w->tick_ms = 10;
	if (ok(worker_process(w), "isolation still works"))
		worker_end(w);
	return done_testing();
}

#endif
