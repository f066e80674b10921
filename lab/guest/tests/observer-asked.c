// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: observer-asked
 * cpus: 2
 * kernel: any
 * timeout: 20
 * once: yes
 * alone: yes
 * about: windows that another CPU marks hold what the observed one did between, exactly
 * observe: 1 syscalls 1000
 * observe: 2 syscalls 0
 * observe: 3 syscalls 7
 */
#include "../machine.h"
#include "../marker.h"
#include "../test.h"

MARK_ASK_TABLE();
extern const char mark_ask_begin_table[], mark_ask_end_table[];

enum { WAIT_US = 20000, ROUNDS = 3 };

static const int calls[ROUNDS] = { 1000, 0, 7 };
static atomic_int asked, done;

/* Between two requests it makes no system call. */
static void *observed(void *unused)
{
	const struct sched_param param = { .sched_priority = 1 };
	/* What is counted is the CPU's: no other task may make a system call there. */
	bool pinned = !iso_pin(1) && !sched_setscheduler(0, SCHED_FIFO, &param);

	mark_target();
	mark_probe();
	enter_kernel();
	atomic_store(&done, pinned ? 0 : -1);
	for (int round = 1; pinned && round <= ROUNDS; round++) {
		while (atomic_load(&asked) != round)
			;
		for (int i = 0; i < calls[round - 1]; i++)
			enter_kernel();
		atomic_store(&done, round);
	}
	while (pinned && atomic_load(&asked) <= ROUNDS)
		;
	return unused;
}

int main(void)
{
	pthread_t thread;

	atomic_store(&done, -2);
	if (iso_pin(0))
		bail_out("no second CPU");
	mlockall(MCL_CURRENT | MCL_FUTURE);
	/* Nor be let in because the observed one has had its share. */
	if (put_file("/proc/sys/kernel/sched_rt_runtime_us", "-1"))
		bail_out("real-time throttling stays on");
	if (pthread_create(&thread, NULL, observed, NULL))
		bail_out("pthread_create");
	while (atomic_load(&done) == -2)
		usleep(WAIT_US);	/* sleep: marks and looks keep their distance */
	ok(!atomic_load(&done), "the other thread is pinned, and alone there");
	for (unsigned int round = 1; round <= ROUNDS; round++) {
		mark_window(mark_ask_begin_table, round);
		usleep(WAIT_US);	/* sleep: marks and looks keep their distance */
		atomic_store(&asked, (int)round);
		while (atomic_load(&done) >= 0 && atomic_load(&done) != (int)round)
			usleep(WAIT_US);	/* sleep: marks and looks keep their distance */
		mark_window(mark_ask_end_table, round);
		usleep(WAIT_US);	/* sleep: marks and looks keep their distance */
	}
	ok(atomic_load(&done) == ROUNDS, "all windows were walked through");
	atomic_store(&asked, ROUNDS + 1);
	pthread_join(thread, NULL);
	return done_testing();
}
