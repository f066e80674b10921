// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: observer-counts
 * cpus: 2
 * kernel: any
 * timeout: 20
 * alone: yes
 * about: a known number of entries of each kind is counted exactly
 * observe: 1 syscalls 1000
 * observe: 1 page_faults 0
 * observe: 1 breakpoints 0
 * observe: 1 unknown 0
 * observe: 2 page_faults 500
 * observe: 2 syscalls 0
 * observe: 2 breakpoints 0
 * observe: 2 unknown 0
 * observe: 3 syscalls 3
 * observe: 3 unknown 0
 * observe: 4 breakpoints 25
 * observe: 4 syscalls 25
 * observe: 4 page_faults 0
 * observe: 4 unknown 0
 * observe: 5 syscalls 0
 * observe: 5 page_faults 0
 * observe: 5 breakpoints 0
 * observe: 5 unknown 0
 * observe: 6 calls 20
 * observe: 6 others 20
 */
#include <linux/membarrier.h>
#include "../test.h"
#include "../machine.h"
#include "../marker.h"

MARK_WINDOW_TABLE();

enum { PAGES = 500, IPIS = 20, BEATS = 1000, PAUSE_US = 5 };

static volatile unsigned long spins;

static volatile bool over;
static volatile unsigned long beats, pauses;
static int asked;

static void await_beats(void)
{
	unsigned long begin = beats;

	while (beats < begin + BEATS)
		;
}

/*
 * Interrupts the CPU of the other thread by a call of its own each time, and waits for it.  A call
 * that finds the other one in the kernel enters nothing: so that has come back from a tick, and
 * goes on, before each.
 */
static void *interrupt(void *arg)
{
	for (int i = 0; i < IPIS; i++) {
		unsigned long begin;

		/* What the last call has taken is no tick. */
		await_beats();
		begin = pauses;
		while (pauses == begin)
			;
		await_beats();
		asked += !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	}
	over = true;
	return NULL;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	breakpoint_over(context);
}

int main(void)
{
	struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct sched_param fifo = { .sched_priority = 1 };
	uint64_t pause = cycles_hz() / 1000000 * PAUSE_US;
	pthread_t other;
	cpu_set_t set;
	char *pages;
	int i;

	/* Of the other thread, before this one moves away. */
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	/*
	 * And the agent, the only other program of this guest: on PREEMPT_RT a fault may sleep for
	 * a lock, and what the agent does meanwhile would be counted.
	 */
	sched_setaffinity(1, sizeof(set), &set);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	    pthread_create(&other, NULL, interrupt, NULL)) {
		puts("not ok 1 - a thread that interrupts");
		return 1;
	}
	CPU_ZERO(&set);
	CPU_SET(1, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		puts("not ok 1 - a second CPU");
		return 1;
	}
	/* Nobody else enters the kernel there meanwhile, nor keeps an interrupt from it. */
	put_file("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	if (sched_setscheduler(0, SCHED_FIFO, &fifo)) {
		puts("not ok 1 - a thread that others do not preempt");
		return 1;
	}
	pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, PAGES * 4096, MADV_NOHUGEPAGE);
	sigaction(SIGTRAP, &trap, NULL);
	mlockall(MCL_CURRENT);	/* no faults but those below */
	munmap(pages, PAGES * 4096);
	pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, PAGES * 4096, MADV_NOHUGEPAGE);

	mark_target();
	mark_probe();
	enter_kernel();

	mark_window_begin(1);
	for (i = 0; i < 1000; i++)
		enter_kernel();
	mark_window_end(1);

	mark_window_begin(2);
	for (i = 0; i < PAGES; i++)
		pages[i * 4096L] = 1;
	mark_window_end(2);

	mark_window_begin(3);
	for (i = 0; i < 50; i++) {
		mark_tick_begin();
		enter_kernel();
		mark_tick_end();
	}
	for (i = 0; i < 3; i++)
		enter_kernel();
	mark_window_end(3);

	mark_window_begin(4);
	for (i = 0; i < 25; i++)
		breakpoint();
	mark_window_end(4);

	mark_window_begin(5);
	for (spins = 0; spins < 1000000; spins++)
		;
	mark_window_end(5);

	mark_window_begin(6);
	for (uint64_t last = cycles(), now; !over; last = now) {
		now = cycles();
		pauses += now - last > pause;
		beats++;
	}
	mark_window_end(6);

	mark_probe();
	enter_kernel();
	pthread_join(other, NULL);
	printf("%sok 1 - all windows were walked through, %d interrupts asked for\n",
	       asked == IPIS ? "" : "not ", asked);
	puts("1..1");
	return asked != IPIS;
}
