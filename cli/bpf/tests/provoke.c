// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does on one CPU what isolator-bpf is to see there, and says how often it did:
 *   provoke CPU OTHER-CPU SECONDS
 * The main thread spins, faults, sends to itself, and has a timer; "hog" takes the CPU from
 * it; "caller" calls it from the other CPU.
 */
#include <linux/membarrier.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PAGES 16
#define MS 1000000

static int cpu, other;
static volatile int over;
static long calls, bursts, hog_switched, hog_named, hog_ns;

static void stay(int where)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(where, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
}

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){ 0, ns }, NULL);
}

/* How often this thread was switched out. */
static long switched(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void *hog(void *unused)
{
	struct sched_param first = { 1 };
	long before;

	stay(cpu);
	pthread_setname_np(pthread_self(), "hog");
	/* It has the name that it was switched in with; a short nap may not switch it out. */
	before = switched();
	while (switched() == before)
		nap(MS / 10);
	before = switched();
	sched_setscheduler(0, SCHED_FIFO, &first);	/* an ordinary one does as well */
	while (!over) {
		uint64_t end = now_ns() + MS;

		while (now_ns() < end)
			;
		bursts++;
		nap(5 * MS);
	}
	hog_ns = (long)read_ns(CLOCK_THREAD_CPUTIME_ID);
	hog_switched = switched();
	hog_named = hog_switched - before;
	return unused;
}

static void *caller(void *unused)
{
	stay(other);
	pthread_setname_np(pthread_self(), "caller");
	while (!over) {
		if (!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
			calls++;
		nap(MS / 2);
	}
	return unused;
}

static int to_itself(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int file = socket(AF_INET, SOCK_DGRAM, 0);

	if (bind(file, (struct sockaddr *)&address, size) ||
	    getsockname(file, (struct sockaddr *)&address, &size) ||
	    connect(file, (struct sockaddr *)&address, size))
		exit(1);
	return file;
}

int main(int argc, char **argv)
{
	struct itimerspec each = { { 0, MS }, { 0, MS } };
	long sent = 0, timer_runs = 0;
	pthread_t threads[2];
	struct rusage before, usage;
	uint64_t end, count;
	long page = sysconf(_SC_PAGESIZE);
	int timer, file;
	char *pages;

	if (argc != 4)
		return 1;
	cpu = atoi(argv[1]);
	other = atoi(argv[2]);
	stay(cpu);
	getrusage(RUSAGE_THREAD, &before);	/* it may have begun on the other CPU */
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	file = to_itself();
	pages = mmap(NULL, (size_t)(PAGES * page), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, (size_t)(PAGES * page), MADV_NOHUGEPAGE);
	pthread_create(&threads[0], NULL, hog, NULL);
	pthread_create(&threads[1], NULL, caller, NULL);
	timerfd_settime(timer, 0, &each, NULL);
	end = now_ns() + (uint64_t)(atof(argv[3]) * 1e9);
	while (now_ns() < end) {
		uint64_t pause = now_ns() + MS / 5;

		for (int i = 0; i < PAGES; i++)
			pages[i * page] = 1;
		madvise(pages, (size_t)(PAGES * page), MADV_DONTNEED);
		if (send(file, "", 1, 0) == 1 && recv(file, &count, 1, 0) == 1)
			sent++;
		if (read(timer, &count, sizeof(count)) == sizeof(count))
			timer_runs++;	/* one run of its function, or one for several */
		while (now_ns() < pause)
			;
	}
	over = 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	getrusage(RUSAGE_THREAD, &usage);
	printf("{\"faults\": %ld, \"involuntary\": %ld, \"sent\": %ld, \"timer_runs\": %ld, \"calls\": %ld, \"bursts\": %ld, \"hog_switched\": %ld, \"hog_named\": %ld, \"hog_ns\": %ld}\n",
	       usage.ru_minflt - before.ru_minflt, usage.ru_nivcsw - before.ru_nivcsw, sent,
	       timer_runs, calls, bursts, hog_switched, hog_named, hog_ns);
	return 0;
}
