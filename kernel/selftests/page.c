// SPDX-License-Identifier: GPL-2.0-only
/* The shared page is read-only for good, is not inherited, and outlives the end. */
#define _GNU_SOURCE
#include "helpers.h"

FIXTURE(page) {
	struct machine machine;
	struct isolator_page *page;
	size_t size;
	int fd;
};

FIXTURE_SETUP(page)
{
	struct isolator_start_args args = { .mask = ISOLATOR_MASK_ALL };
	const char *reason = machine_get(&self->machine);

	if (reason)
		SKIP(return, "%s", reason);
	self->size = sysconf(_SC_PAGESIZE);
	self->fd = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, pin(self->machine.cpu));
	ASSERT_EQ(0, start(self->fd, &args));
	self->page = map_page(self->fd);
	ASSERT_NE(NULL, self->page);
}

FIXTURE_TEARDOWN(page)
{
	stop(self->fd);
	close(self->fd);
	machine_put(&self->machine);
}

TEST_F(page, stays_read_only)
{
	EXPECT_EQ(-1, mprotect(self->page, self->size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(self->page, self->size, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED,
				   self->fd, 0));
}

TEST_F(page, is_one_page)
{
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * self->size, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, self->size, PROT_READ, MAP_SHARED, self->fd,
				   self->size));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mremap(self->page, self->size, 2 * self->size,
				     MREMAP_MAYMOVE));
}

TEST_F(page, is_not_inherited)
{
	int status;
	pid_t pid;

	EXPECT_EQ(-1, madvise(self->page, self->size, MADV_DOFORK));
	pid = fork();
	if (!pid)
		_exit(seen(self->page->magic) ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST_F(page, outlives_the_end)
{
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(ISOLATOR_STATE_ENDED, seen(self->page->state));
	EXPECT_EQ(NULL, map_page(self->fd));
	EXPECT_EQ(ESRCH, errno);
}

TEST_HARNESS_MAIN
