// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * After a thread has taken its pool: no system call, no page fault, no touch of
 * what other threads write.  Each instrument is first seen to notice what it is for.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "check.h"
#include "pools.h"

#define BYTES	(8U << 20)
#define ROUNDS	200000
#define HELD	512

/* Kill at any system call but the one that ends the process. */
static int forbid_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/*
 * Every kind of call, the whole pool over, and each failure that is the pool's own.
 * Returns the calls that went another way than they should.
 */
static int work(void)
{
	static void *held[HELD];
	uint32_t random = 1;
	int wrong = 0;

	for (int round = 0; round < ROUNDS; round++) {
		unsigned int at = random % HELD;

		random = random * 1664525 + 1013904223;
		wrong += isolator_free(held[at]) != 0;
		held[at] = isolator_alloc(random >> (8 + random % 20));
		if (held[at])
			memset(held[at], round, 16);
	}
	for (int at = 0; at < HELD; at++) {
		wrong += isolator_free(held[at]) != 0;
		wrong += held[at] && isolator_free(held[at]) != -EALREADY &&
			 isolator_free(held[at]) != -EINVAL;
		held[at] = NULL;
	}
	wrong += isolator_alloc(BYTES * 4) != NULL;
	wrong += isolator_free((char *)isolator_alloc(100) + 1) != -EINVAL;
	return wrong;
}

/* In a child with a pool of its own; returns how it ended, as wait tells it. */
static int in_child(void (*run)(struct isolator_pool *pool))
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		run(pools_take(BYTES));
		_exit(99);
	}
	waitpid(child, &status, 0);
	return status;
}

static void forbidden_work(struct isolator_pool *pool)
{
	(void)pool;
	/* What the test itself needs is there: its array and its code. */
	if (work())
		_exit(1);
	if (forbid_system_calls() < 0)
		_exit(2);
	syscall(SYS_exit_group, work() ? 1 : 0);
}

static void forbidden_call(struct isolator_pool *pool)
{
	(void)pool;
	if (forbid_system_calls() < 0)
		_exit(2);
	getppid();
}

static void no_system_call(void)
{
	int status = in_child(forbidden_call);

	/* The instrument: a call that is made is noticed. */
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	status = in_child(forbidden_work);
	CHECK(WIFEXITED(status));
	CHECK_EQUAL(WEXITSTATUS(status), 0);
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* All of a pool that nobody has used yet: the first touch of each page is in here. */
static void faultless_work(struct isolator_pool *pool)
{
	static void *blocks[BYTES / 4096];
	long first;
	size_t count = 0;

	memset(blocks, 0, sizeof(blocks));
	faults();
	first = faults();
	while (count < BYTES / 4096 && (blocks[count] = isolator_alloc(4096)) != NULL)
		memset(blocks[count++], 1, 4096);
	while (count)
		isolator_free(blocks[--count]);
	work();
	first = faults() - first;
	/* What remains of it is this test's own array and code, seen in a second round. */
	if (first > 4) {
		printf("# %ld faults\n", first);
		_exit(1);
	}
	first = faults();
	work();
	_exit(faults() != first || pool->peak_bytes < pool->bytes / 2 ? 2 : 0);
}

static void no_page_fault(void)
{
	size_t bytes = 64 * 4096;
	char *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	long before = faults();
	int status;

	/* The instrument: a first touch is counted. */
	madvise(fresh, bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < bytes; at += 4096)
		fresh[at] = 1;
	CHECK(faults() - before >= (long)(bytes / 4096) / 2);
	munmap(fresh, bytes);
	status = in_child(faultless_work);
	CHECK(WIFEXITED(status));
	CHECK_EQUAL(WEXITSTATUS(status), 0);
}

/* The table of pools is the one place that other threads write to: keep it shut. */
static void shut_work(struct isolator_pool *pool)
{
	(void)pool;
	if (mprotect(isolator_pools, sizeof(isolator_pools), PROT_NONE) < 0)
		_exit(2);
	_exit(work() ? 1 : 0);
}

/* The one call that may look there: a free of what is not in the pool. */
static void shut_stray(struct isolator_pool *pool)
{
	if (mprotect(isolator_pools, sizeof(isolator_pools), PROT_NONE) < 0)
		_exit(2);
	isolator_free(pool);
}

static void no_line_of_others(void)
{
	int status = in_child(shut_stray);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	status = in_child(shut_work);
	CHECK(WIFEXITED(status));
	CHECK_EQUAL(WEXITSTATUS(status), 0);
	/* Nor does another's slot, or a pool, share a line with anything else. */
	CHECK_EQUAL(sizeof(struct pool_slot), 64);
	CHECK_EQUAL((uintptr_t)isolator_pools % 4096, 0);
	CHECK_EQUAL(sizeof(isolator_pools) % 4096, 0);
}

static const struct test tests[] = {
	{ "no system call", no_system_call },
	{ "no page fault", no_page_fault },
	{ "no line that others write", no_line_of_others },
};

int main(void)
{
	pools_pin(pools_cpu(0));
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
