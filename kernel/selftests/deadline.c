// SPDX-License-Identifier: GPL-2.0-only
/*
 * What waits for an isolated CPU gets it at a tick; without a tick, at the deadline, by an
 * interrupt that is counted as a deadline miss.
 */
#define _GNU_SOURCE
#include <sys/prctl.h>

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
	self->worker = worker_new(self->machine.cpu);
	ASSERT_NE(NULL, self->worker);
}

FIXTURE_TEARDOWN(deadline)
{
	machine_put(&self->machine);
}

/* Has to be flushed on the worker's CPU, which shares the memory, before this returns. */
static bool flush(void)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	p[0] = 1;
	return !munmap(p, 4096);
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
	for (int i = 0; i < ROUNDS; i++)
		EXPECT_TRUE(flush());
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
	EXPECT_TRUE(flush());
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
