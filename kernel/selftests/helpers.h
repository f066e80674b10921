/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests share: /dev/isolator by its requests, files of /proc/isolator, and a
 * worker that isolates a CPU and stays in user mode.
 */
#ifndef SELFTESTS_ISOLATOR_H
#define SELFTESTS_ISOLATOR_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/isolator.h>

#include "../kselftest_harness.h"

#define FILES	"/proc/isolator/"
#define MSEC	((__u64)1000000)
#define SEC	((__u64)1000000000)

/* The CPU that a test isolates, and what the administrator had allowed before it. */
struct machine {
	int cpu;
	char cpus[256];
	char limits[256];
};

static inline int put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		error = -errno;
	close(fd);
	return error;
}

static inline int get_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t got = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (got < size - 1 && (n = read(fd, text + got, size - 1 - got)) > 0)
		got += n;
	text[got] = '\0';
	close(fd);
	return 0;
}

static inline bool file_has(const char *path, const char *words)
{
	static char text[65536];

	return !get_file(path, text, sizeof(text)) && strstr(text, words);
}

static inline int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/*
 * Why a test cannot run here, or NULL: then it may isolate the last CPU, with any
 * deadline. Who is isolated on the machine would be ended by that.
 */
static inline const char *machine_get(struct machine *m)
{
	char list[16];
	cpu_set_t set;

	if (access("/dev/isolator", F_OK))
		return "no /dev/isolator";
	if (geteuid())
		return "not root";
	if (file_has(FILES "status", " isolated mask "))
		return "a CPU is isolated, which these tests would end";
	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2 || !CPU_ISSET(0, &set))
		return "not CPU 0 and another";
	for (m->cpu = CPU_SETSIZE - 1; !CPU_ISSET(m->cpu, &set); m->cpu--)
		;
	if (get_file(FILES "cpus", m->cpus, sizeof(m->cpus)) ||
	    get_file(FILES "limits", m->limits, sizeof(m->limits)))
		return "cannot read " FILES;
	snprintf(list, sizeof(list), "%d", m->cpu);
	if (put_file(FILES "cpus", list) || put_file(FILES "limits", "spin_ns 1000000000") ||
	    pin(0))
		return "cannot write " FILES;
	return NULL;
}

static inline void machine_put(struct machine *m)
{
	char *rest = m->limits, *line;

	put_file(FILES "cpus", m->cpus);
	while ((line = strsep(&rest, "\n")) && *line)
		put_file(FILES "limits", line);
}

static inline int start(int fd, struct isolator_start_args *args)
{
	args->size = sizeof(*args);
	return ioctl(fd, ISOLATOR_IOC_START, args) ? -errno : 0;
}

static inline int tick(int fd)
{
	struct isolator_tick_args args = { .size = sizeof(args), .flags = ISOLATOR_TICK_ALL };

	return ioctl(fd, ISOLATOR_IOC_TICK, &args) ? -errno : 0;
}

/* The starts that are left, or -errno. */
static inline int stop(int fd)
{
	struct isolator_stop_args args = { .size = sizeof(args) };

	return ioctl(fd, ISOLATOR_IOC_STOP, &args) ? -errno : (int)args.depth;
}

/* A word of the page, which the kernel writes. */
#define seen(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)

static inline struct isolator_page *map_page(int fd)
{
	void *page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);

	return page == MAP_FAILED ? NULL : page;
}

/* By the vDSO: no system call. */
static inline __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SEC + now.tv_nsec;
}

enum worker_state { WORKER_NEW, WORKER_RUNS, WORKER_FAILED, WORKER_OVER };

/*
 * Spins on a CPU until it is told to stop, for 20 s at most; isolated, unless it is
 * plain, and with a tick each tick_ns, unless that is 0.
 */
struct worker {
	int cpu;
	bool plain;
	__u64 tick_ns;
	struct isolator_start_args asked;
	struct isolator_page *page;
	int error;
	__u64 missed;
	/* Between the worker and who waits for it. */
	bool stop;
	__u64 rounds;
	int state;
	pthread_t thread;
	pid_t pid;
};

static inline void *worker_run(void *data)
{
	int fd = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	__u64 now = now_ns(), end = now + 20 * SEC, last = now;
	struct worker *w = data;

	w->error = fd < 0 ? -errno : pin(w->cpu);
	if (!w->error && !w->plain) {
		w->error = start(fd, &w->asked);
		if (!w->error) {
			w->page = map_page(fd);
			if (!w->page)
				w->error = -errno;
		}
	}
	__atomic_store_n(&w->state, w->error ? WORKER_FAILED : WORKER_RUNS, __ATOMIC_RELEASE);
	while (!w->error && !__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE) && now < end) {
		now = now_ns();
		if (!w->plain && w->tick_ns && now - last >= w->tick_ns) {
			tick(fd);
			last = now;
		}
		__atomic_fetch_add(&w->rounds, 1, __ATOMIC_RELAXED);
	}
	if (w->page)
		w->missed = seen(w->page->missed);
	/* Closing does not end it, its thread does. */
	if (fd >= 0) {
		stop(fd);
		close(fd);
	}
	__atomic_store_n(&w->state, w->error ? WORKER_FAILED : WORKER_OVER, __ATOMIC_RELEASE);
	return NULL;
}

static inline struct worker *worker_new(int cpu)
{
	struct worker *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (w == MAP_FAILED)
		return NULL;
	w->cpu = cpu;
	w->asked.mask = ISOLATOR_MASK_ALL;
	return w;
}

/* Until it spins; 0 or -errno. */
static inline int worker_wait(struct worker *w)
{
	for (int i = 0; i < 1000 && __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == WORKER_NEW; i++)
		usleep(10000);
	return __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == WORKER_RUNS ? 0 : w->error ?: -ETIME;
}

/* Until it is in user mode, behind whatever tick it may be in. */
static inline void worker_spins(struct worker *w)
{
	__u64 begin = seen(w->rounds);

	while (seen(w->rounds) < begin + 2 &&
	       __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == WORKER_RUNS)
		sched_yield();
}

static inline int worker_thread(struct worker *w)
{
	int error = pthread_create(&w->thread, NULL, worker_run, w);

	return error ? -error : worker_wait(w);
}

static inline int worker_process(struct worker *w)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		worker_run(w);
		_exit(0);
	}
	/* Shared with the child, whose fork() returned 0. */
	w->pid = pid;
	return worker_wait(w);
}

static inline void worker_end(struct worker *w)
{
	__atomic_store_n(&w->stop, true, __ATOMIC_RELEASE);
	if (w->pid > 0)
		waitpid(w->pid, NULL, 0);
	else
		pthread_join(w->thread, NULL);
}

#endif
