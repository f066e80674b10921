// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Constant time, counted and not timed: each call is made in the state that gives it
 * the most to do, a debugger counts its instructions, and the count is the same in a
 * pool that is 256 times as large and as full of blocks.
 */
#include <sys/ptrace.h>

#include "check.h"
#include "pools.h"

#define SMALL_POOL	(1U << 20)
#define LARGE_POOL	(256U << 20)
/* Instructions of the whole test beyond which something hangs. */
#define STEPS_MAX	200000
/* Nothing may need more: each class may have to give up a run that it keeps. */
#define BOUND		6000

enum call {
	ALLOC_CUTS,		/* a run must be cut for it */
	ALLOC_HOT,
	FREE_HOT,
	FREE_EMPTIES,		/* the last block of a run, which goes back */
	LARGE_SPLITS,
	LARGE_MERGES,		/* a free with free spans on both sides */
	ALLOC_RECLAIMS,		/* each class gives up the run that it keeps */
	ALLOC_FAILS,
	FREE_TWICE,
	FREE_INSIDE,
	CALLS,
};

static const char *const names[CALLS] = {
	"alloc, a run is cut", "alloc", "free", "free, a run goes back",
	"large alloc, a span is split", "large free, merged on both sides",
	"alloc, all classes give up a run", "alloc, no room", "double free", "free within a block",
};

/* Which call the child is in, CALLS: none; the parent looks before each step. */
static volatile unsigned int *now;

static void *timed_alloc(enum call call, size_t bytes)
{
	void *block;

	*now = call;
	block = isolator_alloc(bytes);
	*now = CALLS;
	return block;
}

static int timed_free(enum call call, void *block)
{
	int result;

	*now = call;
	result = isolator_free(block);
	*now = CALLS;
	return result;
}

/* Traced from here on; what comes before is not counted and costs no steps. */
static void be_traced(void)
{
	raise(SIGSTOP);
}

/* Every second run of the pool is a block, but for those that are left over. */
static unsigned int fill_with_holes(struct isolator_pool *pool, void **blocks)
{
	unsigned int count = 0;

	while ((blocks[count] = isolator_alloc(RUN_BYTES)) != NULL)
		count++;
	for (unsigned int i = 0; i < count; i += 2)
		isolator_free(blocks[i]);
	(void)pool;
	return count;
}

/* In the child: each call in its worst state.  Returns what went another way. */
static int calls(struct isolator_pool *pool, void **blocks)
{
	size_t class_sizes[CLASSES];
	void *kept[CLASSES];
	unsigned int count = fill_with_holes(pool, blocks);
	void *first, *second;
	int wrong = 0;

	for (unsigned int class = 0; class < CLASSES; class++)
		class_sizes[class] = pool->classes[class].bytes;
	be_traced();
	first = timed_alloc(ALLOC_CUTS, 16);
	second = timed_alloc(ALLOC_HOT, 16);
	wrong += timed_free(FREE_HOT, second) != 0;
	wrong += timed_free(FREE_TWICE, second) != -EALREADY;
	wrong += timed_free(FREE_INSIDE, (char *)first + 1) != -EINVAL;
	wrong += isolator_free(first) != 0;
	/* The second run of a class that already keeps one goes back. */
	first = isolator_alloc(8192);
	second = isolator_alloc(8192);
	second = isolator_alloc(8192);
	wrong += timed_free(FREE_EMPTIES, second) != 0;
	/* A block between two holes, and the span of three that they become. */
	wrong += timed_free(LARGE_MERGES, blocks[count / 2 | 1]) != 0;
	wrong += timed_alloc(LARGE_SPLITS, 2 * RUN_BYTES) == NULL;
	raise(SIGSTOP);
	/* Untraced: every class keeps a run, and there is no other left. */
	for (unsigned int class = 0; class < CLASSES; class++)
		kept[class] = isolator_alloc(class_sizes[class]);
	while (isolator_alloc(RUN_BYTES))
		;
	for (unsigned int class = 0; class < CLASSES; class++)
		wrong += isolator_free(kept[class]) != 0;
	wrong += pool->empties < (1U << (CLASSES - 1)) - 1;
	be_traced();
	wrong += timed_alloc(ALLOC_RECLAIMS, RUN_BYTES) == NULL;
	wrong += timed_alloc(ALLOC_FAILS, 40 * RUN_BYTES) != NULL;
	raise(SIGSTOP);
	return wrong;
}

/* Let the child run, one instruction at a time while @stepping; false: it has ended. */
static bool follow(pid_t child, bool stepping, unsigned int *counts, int *status)
{
	unsigned int steps = 0;

	for (;;) {
		unsigned int call = *now;

		ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, child, NULL, NULL);
		if (waitpid(child, status, 0) != child || !WIFSTOPPED(*status))
			return false;
		if (WSTOPSIG(*status) == SIGSTOP)
			return true;
		if (WSTOPSIG(*status) != SIGTRAP || ++steps > STEPS_MAX) {
			kill(child, SIGKILL);
			waitpid(child, status, 0);
			return false;
		}
		if (call < CALLS)
			counts[call]++;
	}
}

/* Counts for a pool of @bytes; false when the child could not be followed. */
static bool count(uint64_t bytes, unsigned int *counts)
{
	void **blocks = mmap(NULL, LARGE_POOL / RUN_BYTES * 2 * sizeof(*blocks),
			     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool stepping = false;
	int status = 0;
	pid_t child;

	memset(counts, 0, CALLS * sizeof(*counts));
	*now = CALLS;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct isolator_pool *pool = pools_take(bytes);

		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		_exit(calls(pool, blocks) ? 1 : 0);
	}
	/* It stops where it begins and where it ends to be counted. */
	waitpid(child, &status, 0);
	while (WIFSTOPPED(status)) {
		stepping = !stepping;
		if (!follow(child, stepping, counts, &status))
			break;
	}
	munmap(blocks, LARGE_POOL / RUN_BYTES * 2 * sizeof(*blocks));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		printf("# the child ended with status %#x\n", (unsigned int)status);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void same_in_a_large_pool(void)
{
	unsigned int small[CALLS], large[CALLS];

	CHECK(count(SMALL_POOL, small));
	CHECK(count(LARGE_POOL, large));
	for (int call = 0; call < CALLS; call++) {
		unsigned int more = small[call] > large[call] ? small[call] - large[call] :
								large[call] - small[call];

		printf("# %-36s %5u instructions, %5u in the large pool\n", names[call],
		       small[call], large[call]);
		CHECK(small[call] > 10);
		/* Longer spans are in other lists, by a few shifts. */
		CHECK(more <= 20 + small[call] / 10);
		CHECK(large[call] < BOUND);
	}
}

static const struct test tests[] = {
	{ "the same number of instructions, however large the pool", same_in_a_large_pool },
};

int main(void)
{
	now = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pools_pin(pools_cpu(0));
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
