// SPDX-License-Identifier: GPL-2.0-only
/* A start refuses who and what it must, each with its own error. */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <sys/syscall.h>

#include "helpers.h"

/* What a caller has who knows a field more than this kernel. */
struct longer_start {
	struct isolator_start_args known;
	__u64 later;
};

static int drop_caps(unsigned int keep)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	data[0].effective = keep;
	data[0].permitted = keep;
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

/* A start that is undone at once; 0 or -errno. */
static int try_start(int fd, struct isolator_start_args args)
{
	int error = start(fd, &args);

	if (!error)
		stop(fd);
	return error;
}

static int try_longer(int fd, struct longer_start *args)
{
	unsigned long request = _IOC(_IOC_READ | _IOC_WRITE, 0xB9, _IOC_NR(ISOLATOR_IOC_START),
				     sizeof(*args));

	args->known.size = sizeof(*args);
	if (ioctl(fd, request, args))
		return -errno;
	stop(fd);
	return 0;
}

FIXTURE(refusals) {
	struct machine machine;
	struct isolator_start_args good;
	int fd;
};

FIXTURE_SETUP(refusals)
{
	const char *reason = machine_get(&self->machine);

	if (reason)
		SKIP(return, "%s", reason);
	self->fd = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, pin(self->machine.cpu));
	self->good.mask = ISOLATOR_MASK_ALL;
	ASSERT_EQ(0, try_start(self->fd, self->good));
}

FIXTURE_TEARDOWN(refusals)
{
	close(self->fd);
	machine_put(&self->machine);
}

TEST_F(refusals, unpinned)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	CPU_SET(self->machine.cpu, &set);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(set), &set));
	EXPECT_EQ(-ENOTUNIQ, try_start(self->fd, self->good));
}

TEST_F(refusals, cpu_not_allowed)
{
	ASSERT_EQ(0, put_file(FILES "cpus", "\n"));
	EXPECT_EQ(-EACCES, try_start(self->fd, self->good));
}

/* The rights go with a child: what is to be put back needs them. */
TEST_F(refusals, unprivileged)
{
	struct isolator_start_args strict = self->good;
	int status;
	pid_t pid = fork();

	strict.deadline_ns = ISOLATOR_DEADLINE_NEVER;
	if (!pid) {
		if (drop_caps(1U << CAP_SYS_NICE) || try_start(self->fd, self->good))
			_exit(1);
		if (try_start(self->fd, strict) != -EPERM)
			_exit(2);
		if (drop_caps(0) || try_start(self->fd, self->good) != -EPERM)
			_exit(3);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(refusals, user_namespace)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWUSER))
			_exit(KSFT_SKIP);
		_exit(try_start(self->fd, self->good) == -EPERM ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		SKIP(return, "no user namespaces");
	EXPECT_EQ(0, status);
}

TEST_F(refusals, arguments)
{
	static const struct {
		int error;
		struct isolator_start_args args;
	} cases[] = {
		{ -EINVAL, { .mask = 0 } },
		{ -EINVAL, { .mask = ISOLATOR_MASK_ALL + 1 } },
		{ -EINVAL, { .mask = ISOLATOR_MASK_ALL, .flags = ISOLATOR_START_FLAGS + 1 } },
		{ -EINVAL, { .mask = ISOLATOR_MASK_ALL, .reserved = 1 } },
		{ -ERANGE, { .mask = ISOLATOR_MASK_ALL, .deadline_ns = 1 } },
		{ -ERANGE, { .mask = ISOLATOR_MASK_ALL, .spin_ns = 2 * SEC } },
		{ -ERANGE, { .mask = ISOLATOR_MASK_ALL, .yield_ns = 2 * SEC } },
		{ -ERANGE, { .mask = ISOLATOR_MASK_ALL, .batch_ns = 1 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(cases[i].error, try_start(self->fd, cases[i].args)) {
			TH_LOG("case %zu", i);
		}
	}
	EXPECT_EQ(-1, ioctl(self->fd, _IO(0xB9, 0x77)));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, ISOLATOR_IOC_START, NULL));
	EXPECT_EQ(EFAULT, errno);
}

/* Structures grow at their end: what is not known has to be 0. */
TEST_F(refusals, longer)
{
	struct longer_start args = { .known = self->good };

	EXPECT_EQ(0, try_longer(self->fd, &args));
	EXPECT_EQ(sizeof(args), args.known.size);
	EXPECT_EQ(1, args.known.depth);
	args = (struct longer_start){ .known = self->good, .later = 1 };
	EXPECT_EQ(-E2BIG, try_longer(self->fd, &args));
}

TEST_HARNESS_MAIN
