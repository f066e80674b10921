// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: confine
 * cpus: 3
 * kernel: isolator
 * timeout: 60
 * about: no thread of a user's is confined to isolated CPUs, in none of the ways there are
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include "uring.h"

#define ONLINE	"/sys/devices/system/cpu/cpu2/online"

static cpu_set_t cpus(size_t first, size_t second)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(first, &set);
	CPU_SET(second, &set);
	return set;
}

static int affinity(cpu_set_t set)
{
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* A ring, with a polling thread on @cpu unless that is negative. */
static int ring(int cpu)
{
	struct io_uring_params p = { .sq_thread_idle = 1 };
	long fd;

	if (cpu >= 0) {
		p.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF;
		p.sq_thread_cpu = (unsigned int)cpu;
	}
	fd = syscall(SYS_io_uring_setup, 4, &p);
	return fd < 0 ? -errno : (int)fd;
}

/* The workers' CPU was granted before it was isolated, and the first of them is made since. */
static void by_time(int fd, const struct io_uring_params *params)
{
	cpu_set_t set;
	pid_t tid;

	uring_wait(fd, params);
	ok(comes((tid = uring_worker()), 20000),
	   "a ring whose workers had the CPU before gets one");
	ok(!sched_getaffinity(tid, sizeof(set), &set) && CPU_ISSET(0, &set),
	   "which may run on others");
}

static void by_rings(void)
{
	int fd = ring(1);

	ok(fd == -EBUSY, "a ring's polling thread on the isolated CPU: %s", strerror(-fd));
	fd = ring(0);
	ok(fd >= 0, "on another: %s", strerror(fd < 0 ? -fd : 0));
	close(fd);
	fd = ring(-1);
	if (fd < 0)
		bail_out("io_uring");
	ok(uring_workers(fd, cpus(1, 1)) == -EBUSY, "a ring's workers on the isolated CPU: EBUSY");
	ok(uring_workers(fd, cpus(1, 2)) == -EBUSY, "or on that and one that is offline: EBUSY");
	ok(!uring_workers(fd, cpus(0, 1)), "on that and another one: granted");
	close(fd);
}

static _Atomic pid_t filtered_tid;
static _Atomic bool over;

/* All of its time passes in a system call whose filter is long, amid which it cannot be moved. */
static void *filtered(void *unused)
{
	static struct sock_filter filter[BPF_MAXINSNS];
	struct sock_fprog program = { .len = BPF_MAXINSNS, .filter = filter };

	(void)unused;
	/* What looks at an argument is run for each call. */
	filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, args));
	for (int i = 1; i < BPF_MAXINSNS - 1; i++)
		filter[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1);
	filter[BPF_MAXINSNS - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
								SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		bail_out("a filter of system calls");
	filtered_tid = gettid();
	while (!over)
		syscall(SYS_getppid);
	return NULL;
}

/* Where a thread of this process was last, by its file stat. */
static int cpu_of(pid_t tid)
{
	char path[64], text[512], *at;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	if (get_file(path, text, sizeof(text)))
		bail_out(path);
	at = strrchr(text, ')');
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? atoi(at) : -1;
}

/* An affinity that changes as its task may not be moved: it moves once it may, and where to? */
static void by_filter(void)
{
	const cpu_set_t there = cpus(0, 0), away = cpus(1, 2);
	int confined = 0, elsewhere = 0;

	for (int i = 0; i < 200; i++) {
		int cpu;

		if (sched_setaffinity(filtered_tid, sizeof(there), &there) ||
		    sched_setaffinity(filtered_tid, sizeof(away), &away))
			bail_out("an affinity");
		cpu = cpu_of(filtered_tid);
		confined += cpu == 1;
		elsewhere += cpu == 2;
	}
	ok(!confined && elsewhere,
	   "amid its filter a thread goes to the isolated CPU %d times, to another %d",
	   confined, elsewhere);
}

int main(void)
{
	struct io_uring_params params = { 0 };
	struct worker *w = worker_new(1);
	int before = (int)syscall(SYS_io_uring_setup, 1, &params);
	pthread_t thread;

	iso_require(3);
	/* The kernel compiles the filter, and asks all CPUs for that. */
	if (pthread_create(&thread, NULL, filtered, NULL))
		bail_out("no thread");
	until(filtered_tid);
	if (before < 0 || uring_workers(before, cpus(1, 1)))
		bail_out("io_uring");
	need_worker(worker_process(w));
	ok(!put_file(ONLINE, "0"), "CPU 2 goes offline");
	ok(affinity(cpus(1, 1)) == -EBUSY, "an affinity of the isolated CPU: EBUSY");
	ok(affinity(cpus(1, 2)) == -EBUSY, "of that and one that is offline: EBUSY");
	ok(affinity(cpus(2, 2)) == -EINVAL, "of that one alone: EINVAL, as ever");
	ok(!affinity(cpus(0, 1)), "of the isolated and another one: granted");
	/* Workers are the task's, whichever ring they were asked for by. */
	by_time(before, &params);
	by_rings();
	put_file(ONLINE, "1");
	ok(!affinity(cpus(1, 2)), "and with the one that was offline, once it is back");
	if (affinity(cpus(0, 0)))
		bail_out("CPU 0");
	by_filter();
	over = true;
	pthread_join(thread, NULL);
	worker_tells(w);
	/* The kernel's own threads of that CPU may miss it: the worker does not tick. */
	if (w->missed)
		show_deliveries();
	ok(!file_has("/proc/isolator/deliveries", "kind thread", " comm confine", NULL) &&
	   !file_has("/proc/isolator/deliveries", "kind thread", " comm iou-", NULL),
	   "no thread that was confined waited for its deadline");
	worker_end(w);
	return done_testing();
}
