// SPDX-License-Identifier: GPL-2.0-only
/* Start, tick and stop answer what the interface says, nested too. */
#define _GNU_SOURCE
#include "helpers.h"

FIXTURE(isolation) {
	struct machine machine;
	struct isolator_start_args args;
	struct isolator_page *page;
	int fd;
};

FIXTURE_SETUP(isolation)
{
	const char *reason = machine_get(&self->machine);

	if (reason)
		SKIP(return, "%s", reason);
	self->fd = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, pin(self->machine.cpu));
	self->args.mask = ISOLATOR_MASK_ALL;
	ASSERT_EQ(0, start(self->fd, &self->args));
	self->page = map_page(self->fd);
	ASSERT_NE(NULL, self->page);
}

FIXTURE_TEARDOWN(isolation)
{
	while (stop(self->fd) > 0)
		;
	close(self->fd);
	machine_put(&self->machine);
}

TEST_F(isolation, start_answers)
{
	const __u32 wanted = ISOLATOR_GOT_TIMEKEEPER | ISOLATOR_GOT_TASKS;

	EXPECT_EQ(ISOLATOR_MASK_ALL, self->args.achieved);
	EXPECT_EQ(self->machine.cpu, self->args.cpu);
	EXPECT_EQ(1, self->args.depth);
	EXPECT_EQ(wanted, self->args.got & wanted);
	EXPECT_NE(0, self->args.deadline_ns);
	EXPECT_NE(0, self->args.spin_ns);
	EXPECT_NE(0, self->args.yield_ns);
}

TEST_F(isolation, page_says_so)
{
	EXPECT_EQ(ISOLATOR_PAGE_MAGIC, seen(self->page->magic));
	EXPECT_EQ(ISOLATOR_PAGE_VERSION, seen(self->page->version));
	EXPECT_EQ(ISOLATOR_STATE_ON, seen(self->page->state));
	EXPECT_EQ(self->machine.cpu, seen(self->page->cpu));
	EXPECT_EQ(0, tick(self->fd));
	EXPECT_EQ(1, seen(self->page->ticks));
}

TEST_F(isolation, stop_ends)
{
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(ISOLATOR_STATE_ENDED, seen(self->page->state));
	EXPECT_EQ(ISOLATOR_END_STOP, seen(self->page->end));
	EXPECT_EQ(-ESRCH, stop(self->fd));
	EXPECT_EQ(-ESRCH, tick(self->fd));
}

TEST_F(isolation, nested)
{
	struct isolator_start_args again = { .mask = ISOLATOR_MASK_ALL };

	EXPECT_EQ(0, start(self->fd, &again));
	EXPECT_EQ(2, again.depth);
	again = (struct isolator_start_args){ .mask = ISOLATOR_MASK_ALL, .yield_ns = 1 };
	EXPECT_EQ(-EINVAL, start(self->fd, &again));
	EXPECT_EQ(1, stop(self->fd));
	EXPECT_EQ(ISOLATOR_STATE_ON, seen(self->page->state));
	EXPECT_EQ(0, stop(self->fd));
}

TEST_F(isolation, nested_start_adds)
{
	struct isolator_start_args again = { .mask = ISOLATOR_MASK_CLOCK };

	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, start(self->fd, &again));
	EXPECT_EQ(ISOLATOR_MASK_CLOCK, again.achieved);
	again = (struct isolator_start_args){ .mask = ISOLATOR_MASK_IPI };
	EXPECT_EQ(0, start(self->fd, &again));
	EXPECT_EQ(ISOLATOR_MASK_CLOCK | ISOLATOR_MASK_IPI, again.achieved);
	EXPECT_EQ(1, stop(self->fd));
}

TEST_F(isolation, owner_stays)
{
	EXPECT_EQ(-EBUSY, pin(0));
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, pin(0));
}

TEST_F(isolation, child_is_not_isolated)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(stop(self->fd) == -ESRCH && sched_getcpu() != self->machine.cpu ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(ISOLATOR_STATE_ON, seen(self->page->state));
}

TEST_HARNESS_MAIN
