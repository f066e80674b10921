// SPDX-License-Identifier: GPL-2.0-only
/* /proc/isolator acts on the thread that writes, and shows strangers no more than it may. */
#define _GNU_SOURCE
#include "helpers.h"

#define NOBODY 65534

FIXTURE(proc) {
	struct machine machine;
	char line[64];
};

FIXTURE_SETUP(proc)
{
	const char *reason = machine_get(&self->machine);

	if (reason)
		SKIP(return, "%s", reason);
	ASSERT_EQ(0, pin(self->machine.cpu));
	ASSERT_EQ(0, put_file(FILES "start", "7\n"));
	snprintf(self->line, sizeof(self->line), "\ncpu %d isolated mask 0x7 ",
		 self->machine.cpu);
}

FIXTURE_TEARDOWN(proc)
{
	put_file(FILES "stop", "\n");
	machine_put(&self->machine);
}

TEST_F(proc, start_tick_stop)
{
	EXPECT_TRUE(file_has(FILES "status", self->line));
	EXPECT_EQ(0, put_file(FILES "tick", "7"));
	EXPECT_EQ(-EINVAL, put_file(FILES "tick", "8"));
	EXPECT_EQ(0, put_file(FILES "stop", "\n"));
	EXPECT_EQ(-ESRCH, put_file(FILES "stop", "\n"));
	EXPECT_FALSE(file_has(FILES "status", self->line));
	EXPECT_TRUE(file_has(FILES "status", " ended stop "));
}

TEST_F(proc, bad_masks)
{
	static const char *const bad[] = { "0", "8", "7 7", "x", "-1", "4294967296" };

	EXPECT_EQ(0, put_file(FILES "stop", "\n"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_GT(0, put_file(FILES "start", bad[i]));
}

TEST_F(proc, strangers)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (put_file(FILES "stop", "\n") != -ESRCH)
			_exit(1);
		if (setuid(NOBODY))
			_exit(2);
		/* When it makes system calls, and what for, is not theirs to know. */
		if (!file_has(FILES "status", self->line) || file_has(FILES "status", " user "))
			_exit(3);
		if (!file_has(FILES "stats", " total ") || file_has(FILES "stats", "callback "))
			_exit(4);
		if (put_file(FILES "start", "7") != -EACCES ||
		    put_file(FILES "cpus", "0") != -EACCES)
			_exit(5);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(file_has(FILES "status", " user "));
}

/* An isolation on a CPU that is taken from the list ends. */
TEST_F(proc, cpus)
{
	EXPECT_GT(0, put_file(FILES "cpus", "x"));
	EXPECT_GT(0, put_file(FILES "cpus", "999999"));
	EXPECT_TRUE(file_has(FILES "status", self->line));
	EXPECT_EQ(0, put_file(FILES "cpus", "\n"));
	EXPECT_FALSE(file_has(FILES "status", self->line));
	EXPECT_TRUE(file_has(FILES "status", " ended admin "));
}

TEST_F(proc, limits)
{
	EXPECT_EQ(-ERANGE, put_file(FILES "limits", "deadline_ns 1"));
	EXPECT_EQ(-ERANGE, put_file(FILES "limits", "spin_ns 2000000000"));
	EXPECT_EQ(-EINVAL, put_file(FILES "limits", "perf maybe"));
	EXPECT_EQ(0, put_file(FILES "limits", "deadline_ns 20000000"));
	EXPECT_EQ(0, put_file(FILES "limits", "spin_ns 10000000"));
	EXPECT_EQ(0, put_file(FILES "stop", "\n"));
	EXPECT_EQ(0, put_file(FILES "start", "7"));
	EXPECT_TRUE(file_has(FILES "status", " deadline_ns 20000000 spin_ns 10000000 "));
}

TEST_HARNESS_MAIN
