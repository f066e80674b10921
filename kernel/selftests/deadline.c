// SPDX-License-Identifier: GPL-2.0-only
/*
 * What waits for an isolated CPU gets it at a tick; without a tick, at the deadline, by an
 * interrupt that is counted as a deadline miss.
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "helpers.h"

#define ROUNDS	5
#define PERIOD	(50 * MSEC)
#define SPIN	(20 * MSEC)

FIXTURE(deadline) {
	struct machine machine;
	struct worker *worker;
};

FIXTURE_SETUP(deadline)
{
	const char *reason = machine_get(&self->machine);

	if (reason)
		SKIP(return, "%s", reason);
	/* It calls all CPUs itself, so before a worker runs. */
	ASSERT_EQ(0, syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
	self->worker = worker_new(self->machine.cpu);
	ASSERT_NE(NULL, self->worker);
}

FIXTURE_TEARDOWN(deadline)
{
	machine_put(&self->machine);
}

/*
 * The worker's CPU, which shares the memory, has to be called before this returns.  A flush is
 * no such call everywhere: arm64 broadcasts it.
 */
static bool call(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* Cross-calls of this program that were queued; others' ones need not wait for a whole tick. */
static __u64 queued_calls(void)
{
	static char text[65536];
	char comm[16], own[24], *at;
	__u64 sum = 0;

	prctl(PR_GET_NAME, comm);
	snprintf(own, sizeof(own), " comm %s", comm);
	if (get_file(FILES "senders", text, sizeof(text)))
		return 0;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		at = strstr(line, " queued ");
		if (at && strstr(line, " kind call ") && strstr(line, own))
			sum += strtoull(at + strlen(" queued "), NULL, 10);
	}
	return sum;
}

TEST_F(deadline, queued_until_a_tick)
{
	struct worker *w = self->worker;
	__u64 begin, queued;

	w->tick_ns = PERIOD;
	/* A virtual CPU's turn may come late: that is not what is tested. */
	w->asked.spin_ns = SEC;
	ASSERT_EQ(0, worker_thread(w));
	queued = queued_calls();
	begin = now_ns();
	for (int i = 0; i < ROUNDS; i++) {
		worker_spins(w);
		EXPECT_TRUE(call());
	}
	queued = queued_calls() - queued;
	/*
	 * One that finds the task in the kernel does not wait. Of the others the first may
	 * find a tick that is about to come, each other waits for one.
	 */
	EXPECT_LE(1, queued);
	EXPECT_GE(now_ns() - begin + 2 * PERIOD, queued * PERIOD);
	EXPECT_EQ(0, seen(w->page->missed));
	worker_end(w);
}

TEST_F(deadline, delivered_without_a_tick)
{
	struct worker *w = self->worker;
	__u64 begin;

	w->asked.spin_ns = SPIN;
	ASSERT_EQ(0, worker_thread(w));
	begin = now_ns();
	EXPECT_TRUE(call());
	EXPECT_GE(now_ns() - begin, SPIN);
	EXPECT_LE(1, seen(w->page->missed));
	EXPECT_TRUE(file_has(FILES "deliveries", " deadline_miss kind call "));
	worker_end(w);
}

/* What must not wait does not: the task is gone before its deadline. */
TEST_F(deadline, sigkill)
{
	struct worker *w = self->worker;
	__u64 begin;
	int status;

	ASSERT_EQ(0, worker_process(w));
	begin = now_ns();
	ASSERT_EQ(0, kill(w->pid, SIGKILL));
	ASSERT_EQ(w->pid, waitpid(w->pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_LT(now_ns() - begin, w->asked.deadline_ns);
	/* The CPU can be isolated again once it is restored. */
	for (int i = 0; i < 200 && !file_has(FILES "status", " ended exit "); i++)
		usleep(10000);
	EXPECT_TRUE(file_has(FILES "status", " ended exit "));
}

TEST_HARNESS_MAIN
