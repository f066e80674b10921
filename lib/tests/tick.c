// SPDX-License-Identifier: LGPL-2.1-or-later
/* The tick: no kernel entry when nothing is due, and never a silent end. */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "check.h"
#include "fake.h"

#define MANY 1000000

static void nothing_due(void)
{
	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	for (int i = 0; i < MANY; i++)
		if (isolator_tick(TICK_ALL) != 0)
			CHECK(!"a tick with nothing due returned something");
	CHECK_EQUAL(fake.ticks, 0);
	isolator_stop();
}

/* The kernel itself is the judge: any system call but exit kills the child. */
static void nothing_due_no_system_call(void)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		if (isolator_start(ISOLATOR_MASK_ALL) <= 0)
			syscall(SYS_exit, 3);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		for (int i = 0; i < MANY; i++)
			if (isolator_tick(TICK_ALL) != 0 || isolator_due() != 0)
				syscall(SYS_exit, 2);
		syscall(SYS_exit, 0);
	}
	CHECK(child > 0);
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK_EQUAL(status, 0);
}

/* The same child, with something due: shows that the judge sees a kernel entry. */
static void judge_sees_an_entry(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		if (isolator_start(ISOLATOR_MASK_ALL) <= 0)
			syscall(SYS_exit, 3);
		fake_due(ISOLATOR_DUE_CALL);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		isolator_tick(TICK_ALL);
		syscall(SYS_exit, 0);
	}
	CHECK(child > 0);
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
}

static void something_due(void)
{
	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	CHECK_EQUAL(isolator_due(), 0);
	fake_due(ISOLATOR_DUE_CALL | ISOLATOR_DUE_TIMER);
	CHECK_EQUAL(isolator_due(), ISOLATOR_DUE_CALL | ISOLATOR_DUE_TIMER);
	CHECK_EQUAL(isolator_tick(TICK_SCHED | TICK_YIELD), 0);
	CHECK_EQUAL(fake.ticks, 1);
	CHECK_EQUAL(fake.tick.flags, TICK_SCHED | TICK_YIELD);
	CHECK_EQUAL(isolator_due(), 0);
	isolator_tick(TICK_ALL);
	CHECK_EQUAL(fake.ticks, 1);
	isolator_stop();
}

static void what_remains_is_told(void)
{
	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	fake_due(ISOLATOR_DUE_CALL | ISOLATOR_DUE_RESCHED);
	fake.cannot_do = ISOLATOR_DUE_RESCHED;
	CHECK_EQUAL(isolator_tick(TICK_ALL), ISOLATOR_DUE_RESCHED);
	CHECK_EQUAL(isolator_due(), ISOLATOR_DUE_RESCHED);
	isolator_stop();
}

static void budget_and_result(void)
{
	struct isolator_tick_result result;

	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	fake_due(ISOLATOR_DUE_RESCHED);
	CHECK_EQUAL(isolator_tick_opts(TICK_YIELD, 250000, &result), 0);
	CHECK_EQUAL(fake.tick.yield_ns, 250000);
	CHECK_EQUAL(result.due, ISOLATOR_DUE_RESCHED);
	CHECK_EQUAL(result.left, 0);
	CHECK_EQUAL(result.yielded_ns, 250000);
	/* Asked for explicitly, a tick enters the kernel with nothing due too. */
	CHECK_EQUAL(isolator_tick_now(TICK_SCHED), 0);
	CHECK_EQUAL(fake.ticks, 2);
	isolator_stop();
}

/* An end clears nothing that a tick looks at: it must still be noticed. */
static void end_is_not_taken_for_idle(void)
{
	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	fake_end(ISOLATOR_END_AFFINITY);
	CHECK_EQUAL(fake.page->due, 0);
	CHECK_EQUAL(isolator_due(), 0);
	CHECK_EQUAL(isolator_tick(TICK_ALL), -ECANCELED);
	CHECK(strstr(isolator_strerror(-ECANCELED), "isolator_page()->end") != NULL);
	CHECK(strstr(isolator_strend(isolator_page()->end), "affinity") != NULL);
}

static void *stranger_ticks(void *unused)
{
	(void)unused;
	CHECK(isolator_page() == NULL);
	CHECK_EQUAL(isolator_tick(TICK_ALL), -ESRCH);
	CHECK_EQUAL(isolator_due(), 0);
	return NULL;
}

static void another_thread_is_not_isolated(void)
{
	pthread_t thread;

	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	CHECK_EQUAL(pthread_create(&thread, NULL, stranger_ticks, NULL), 0);
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(fake.ticks, 0);
	isolator_stop();
}

static void stopped_thread_ticks(void)
{
	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	CHECK_EQUAL(isolator_stop(), 0);
	CHECK_EQUAL(isolator_tick(TICK_ALL), -ESRCH);
}

static const struct test tests[] = {
	{ "never started: -ESRCH", another_thread_is_not_isolated },
	{ "nothing due: the device is not called", nothing_due },
	{ "nothing due: no system call at all, under strict seccomp", nothing_due_no_system_call },
	{ "something due: strict seccomp sees the kernel entry", judge_sees_an_entry },
	{ "something due: one tick does it", something_due },
	{ "what remains is told", what_remains_is_told },
	{ "budget and result of a tick", budget_and_result },
	{ "an end is not taken for nothing due", end_is_not_taken_for_idle },
	{ "after stop: -ESRCH", stopped_thread_ticks },
};

int main(void)
{
	return check_run_each(tests, sizeof(tests) / sizeof(tests[0]), fake_reset);
}
