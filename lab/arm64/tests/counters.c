// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: counters
 * cpus: 2
 * kernel: arm64
 * append: nohz_full=1 isolcpus=nohz,domain,managed_irq,1 rcu_nocbs=1 rcu_nocb_poll irqaffinity=0 nosoftlockup
 * alone: no
 * icount: yes
 * timeout: 120
 * about: the command's counters count what is executed, read by the kernel and in user mode
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "machine/counter.h"
#include "tap.h"

#define CPU 1		/* the isolated one: what came there would count too */
#define EXC_TAKEN 0x09
#define ROUNDS 5
#define CALLS 1000
#define LOOP 1000000UL
#define USER_ACCESS "/proc/sys/kernel/perf_user_access"

static uint64_t by_kernel(const struct counter *counter)
{
	uint64_t count = 0;

	if (!counter_read(counter->file, &count))
		bail_out("counter_read() failed");
	return count;
}

static uint64_t by_user(const struct counter *counter)
{
	uint64_t count = 0;

	if (!counter_read_user(counter->page, &count))
		bail_out("counter_read_user() failed");
	return count;
}

typedef uint64_t reader(const struct counter *counter);

static void call(unsigned long times)
{
	while (times--)
		syscall(SYS_getppid);
}

static void loop(unsigned long times)
{
	while (times--)
		__asm__ volatile("");
}

/* The least of some rounds: what else happened only adds. */
static uint64_t least(const struct counter *counter, reader *read_it,
		      void (*what)(unsigned long times), unsigned long times)
{
	uint64_t found = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t from = read_it(counter), count;

		what(times);
		count = read_it(counter) - from;
		found = count < found ? count : found;
	}
	return found;
}

static bool near(uint64_t count, uint64_t wanted, unsigned int percent)
{
	uint64_t off = count > wanted ? count - wanted : wanted - count;

	return off * 100 <= wanted * percent;
}

/* Returns what a system call takes of the kernel's instructions. */
static uint64_t kernel_only(reader *read_it, const char *how)
{
	struct counter counter;
	uint64_t idle, once, twice, looped;
	int error = counter_open_instructions(&counter, CPU);

	if (error)
		bail_out(counter_error(error));
	idle = least(&counter, read_it, loop, 1);
	looped = least(&counter, read_it, loop, LOOP);
	once = least(&counter, read_it, call, CALLS) - idle;
	twice = least(&counter, read_it, call, 2 * CALLS) - idle;
	diag("%s: reading %" PRIu64 ", %d calls %" PRIu64 ", %d calls %" PRIu64 ", a loop %" PRIu64,
	     how, idle, CALLS, once, 2 * CALLS, twice, looped);
	ok(once > 50 * CALLS && once < 2000 * CALLS, "%s: a call takes some instructions", how);
	ok(near(twice, 2 * once, 1), "%s: twice the calls, twice the instructions", how);
	/* Reading by the kernel is not the same path each time. */
	ok(looped < idle + LOOP / 1000, "%s: a loop in user mode takes none of the kernel's", how);
	counter_close(&counter);
	return once / CALLS;
}

/* Here an instruction takes a nanosecond, by the lab's word: the clock is the yardstick. */
static void as_the_clock(void)
{
	struct timespec from, to;
	struct counter counter;
	uint64_t count, ns;

	if (counter_open(&counter, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false))
		bail_out("the counter of all instructions");
	clock_gettime(CLOCK_MONOTONIC, &from);
	count = by_kernel(&counter);
	loop(100 * LOOP);
	count = by_kernel(&counter) - count;
	clock_gettime(CLOCK_MONOTONIC, &to);
	ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 + (uint64_t)to.tv_nsec -
		(uint64_t)from.tv_nsec;
	diag("%" PRIu64 " instructions in %" PRIu64 " ns", count, ns);
	ok(count > 100 * LOOP && near(count, ns, 1), "as many instructions as nanoseconds");
	counter_close(&counter);
}

static void dead(void)
{
	struct counter counter;
	uint64_t from;

	if (counter_open(&counter, counter_pmu(CPU), EXC_TAKEN, false))
		bail_out("exceptions taken does not open: is this another emulator?");
	from = by_kernel(&counter);
	call(CALLS);
	ok(by_kernel(&counter) == from, "exceptions taken opens and stays: %" PRIu64, from);
	counter_close(&counter);
}

/* Returns what was there. */
static char allow_user(char value)
{
	int fd = open(USER_ACCESS, O_RDWR | O_CLOEXEC);
	char old = 0;

	if (fd < 0 || read(fd, &old, 1) != 1 || pwrite(fd, &value, 1, 0) != 1)
		bail_out(USER_ACCESS " cannot be written");
	close(fd);
	return old;
}

int main(void)
{
	struct counter counter;
	uint64_t count, each, each_user;
	cpu_set_t here;
	char old;

	CPU_ZERO(&here);
	CPU_SET(CPU, &here);
	if (sched_setaffinity(0, sizeof(here), &here))
		bail_out("the CPU cannot be used");
	ok(counter_pmu(CPU) != PERF_TYPE_RAW, "the PMU of this CPU is found");
	each = kernel_only(by_kernel, "by the kernel");
	as_the_clock();
	dead();
	old = allow_user('0');
	if (counter_open_instructions(&counter, CPU))
		bail_out("the counter of instructions");
	ok(!counter_read_user(counter.page, &count), "user mode may not read it by itself");
	counter_close(&counter);
	allow_user('1');
	each_user = kernel_only(by_user, "in user mode");
	/* What else the kernel does meanwhile is not the same: 911 and 914 were seen. */
	ok(near(each, each_user, 1), "a call takes as much either way: %" PRIu64 ", %" PRIu64,
	   each, each_user);
	allow_user(old);
	return done_testing();
}
