// SPDX-License-Identifier: LGPL-2.1-or-later
/* Blocks: sizes, alignment, exhaustion, and every wrong free. */
#include <sys/time.h>

#include "check.h"
#include "pools.h"

#define BYTES	(1U << 20)

static struct isolator_pool *pool;

static void sound(void)
{
	const char *wrong = pools_wrong(pool);

	if (wrong) {
		printf("# %s\n", wrong);
		CHECK(!"the pool is sound");
	}
}

static void before(void)
{
	if (pool)
		isolator_pool_destroy(pool);
	pool = pools_take(BYTES);
}

#define STAT(member)	(pools_stat(pool).member)

/* The error of the last failed call has a text that names @word. */
static bool names(int error, const char *word)
{
	return strstr(isolator_strerror(error), word) != NULL;
}

static void every_size(void)
{
	for (size_t bytes = 0; bytes <= 3 * RUN_BYTES; bytes++) {
		char *block = isolator_alloc(bytes);
		uintptr_t address = (uintptr_t)block;
		uint64_t used = pool->used_bytes;

		CHECK(block != NULL);
		if (!block)
			return;
		memset(block, 1, bytes);
		CHECK(address % ISOLATOR_ALLOC_ALIGN == 0);
		CHECK(bytes < ISOLATOR_ALLOC_LINE || address % ISOLATOR_ALLOC_LINE == 0);
		if (bytes && !(bytes & (bytes - 1)) && bytes <= RUN_BYTES)
			CHECK(address % bytes == 0);
		CHECK(used >= bytes && (used <= 64 || used < bytes * 2));
		CHECK_EQUAL(isolator_free(block), 0);
		if (check_failed)
			return;
	}
	sound();
	CHECK_EQUAL(STAT(used_bytes), 0);
	CHECK_EQUAL(STAT(allocs), 3 * RUN_BYTES + 1);
	CHECK_EQUAL(STAT(allocs), STAT(frees));
}

static void exhaustion_and_all_of_it_again(void)
{
	static void *blocks[BYTES / 16 + 4096];
	size_t sizes[] = { 16, 48, 1000, 5000, 8192, 20000, 100000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t exhausted = STAT(exhausted);
		size_t count = 0;

		while ((blocks[count] = isolator_alloc(sizes[i])) != NULL)
			count++;
		CHECK_EQUAL(errno, ENOMEM);
		CHECK(names(ENOMEM, "exhausted"));
		CHECK_EQUAL(STAT(exhausted), exhausted + 1);
		CHECK(count * sizes[i] >= BYTES / 2);
		CHECK(STAT(peak_bytes) >= count * sizes[i]);
		sound();
		for (size_t block = 0; block < count; block++)
			CHECK_EQUAL(isolator_free(blocks[block]), 0);
		sound();
		CHECK_EQUAL(STAT(used_bytes), 0);
		CHECK_EQUAL(STAT(largest_bytes), STAT(bytes));
	}
}

static void the_whole_pool_is_one_block(void)
{
	void *all = isolator_alloc((size_t)STAT(largest_bytes));

	CHECK(all != NULL);
	CHECK_EQUAL(STAT(largest_bytes), 0);
	CHECK(isolator_alloc(1) == NULL);
	CHECK_EQUAL(isolator_free(all), 0);
	CHECK(isolator_alloc((size_t)pool->bytes + 1) == NULL);
	CHECK_EQUAL(errno, E2BIG);
	CHECK(names(E2BIG, "larger than the whole pool"));
	/* 2^32 runs and one: it must not pass for one. */
	CHECK(isolator_alloc(((size_t)RUN_BYTES << 32) + 1) == NULL);
	CHECK(isolator_alloc(PTRDIFF_MAX) == NULL);
	CHECK_EQUAL(errno, E2BIG);
	CHECK_EQUAL(STAT(exhausted), 4);
	sound();
}

/* A run that a class keeps is there for another one that needs it. */
static void kept_runs_are_given_up(void)
{
	size_t all = (size_t)STAT(bytes);
	void *block;

	for (size_t bytes = 16; bytes <= SMALL_MAX; bytes *= 2)
		CHECK_EQUAL(isolator_free(isolator_alloc(bytes)), 0);
	CHECK(pool->empties != 0);
	sound();
	block = isolator_alloc(all);
	CHECK(block != NULL);
	CHECK_EQUAL(isolator_free(block), 0);
	sound();
}

/* A class that keeps a run and has others: the one that is kept is the one given up. */
static void the_kept_run_is_the_empty_one(void)
{
	enum { EACH = RUN_BYTES / 4096 };
	char *first[EACH], *second[EACH];
	void *block;

	for (int i = 0; i < EACH; i++)
		first[i] = isolator_alloc(4096);
	for (int i = 0; i < EACH; i++)
		second[i] = isolator_alloc(4096);
	for (int i = 0; i < EACH; i++)
		CHECK_EQUAL(isolator_free(second[i]), 0);
	CHECK(pool->empties != 0);
	CHECK_EQUAL(isolator_free(first[0]), 0);
	memset(first[1], 0x5a, 4096);
	sound();
	while ((block = isolator_alloc(RUN_BYTES)) != NULL)
		memset(block, 0xff, RUN_BYTES);
	CHECK_EQUAL(first[1][4095], 0x5a);
	sound();
}

static void double_free(void)
{
	size_t sizes[] = { 16, 8192, 16384, 50000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		void *block = isolator_alloc(sizes[i]);
		void *other = isolator_alloc(sizes[i]);

		CHECK_EQUAL(isolator_free(block), 0);
		CHECK_EQUAL(isolator_free(block), -EALREADY);
		CHECK(names(-EALREADY, "double free"));
		sound();
		CHECK_EQUAL(isolator_free(other), 0);
		CHECK_EQUAL(isolator_free(other), -EALREADY);
		CHECK_EQUAL(isolator_free(block), -EALREADY);
		CHECK_EQUAL(STAT(double_frees), 3 * (i + 1));
		CHECK_EQUAL(STAT(used_bytes), 0);
		sound();
	}
}

static void not_a_beginning(void)
{
	size_t sizes[] = { 16, 48, 5376, 8192, 16384, 50000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *block = isolator_alloc(sizes[i]);

		memset(block, 7, sizes[i]);
		CHECK_EQUAL(isolator_free(block + 1), -EINVAL);
		CHECK(names(EINVAL, "beginning"));
		CHECK_EQUAL(isolator_free(block + sizes[i] - 1), -EINVAL);
		CHECK_EQUAL(STAT(bad_frees), 2 * (i + 1));
		CHECK_EQUAL(block[sizes[i] - 1], 7);
		sound();
	}
	/* What is left over at the end of a run belongs to no block. */
	CHECK_EQUAL(isolator_free((char *)((uintptr_t)isolator_alloc(5376) & ~(RUN_BYTES - 1UL)) +
				  3 * 5376), -EINVAL);
	sound();
}

/* Within a large block, where runs begin and end. */
static void within_a_large_block(void)
{
	char *block = isolator_alloc(5 * RUN_BYTES);
	char *other = isolator_alloc(2 * RUN_BYTES);

	for (unsigned int run = 1; run < 5; run++)
		CHECK(isolator_free(block + run * RUN_BYTES) < 0);
	sound();
	CHECK_EQUAL(isolator_free(other), 0);
	CHECK_EQUAL(isolator_free(block), 0);
	CHECK_EQUAL(STAT(bad_frees) + STAT(double_frees), 4);
	sound();
}

static void foreign(void)
{
	char on_stack[64];
	void *theirs = malloc(64);

	CHECK_EQUAL(isolator_free(theirs), -EFAULT);
	CHECK(names(EFAULT, "free(3)"));
	CHECK_EQUAL(isolator_free(on_stack), -EFAULT);
	CHECK_EQUAL(isolator_free((void *)(uintptr_t)-16), -EFAULT);
	CHECK_EQUAL(isolator_free((char *)pool->base - 16), -EFAULT);
	CHECK_EQUAL(isolator_free((char *)pool->base + pool->bytes), -EFAULT);
	CHECK_EQUAL(STAT(foreign_frees), 5);
	CHECK_EQUAL(isolator_free(NULL), 0);
	free(theirs);
	sound();
}

/* Overwritten blocks spoil no bookkeeping: it is elsewhere. */
static void overrun(void)
{
	void *blocks[64];

	for (int i = 0; i < 64; i++)
		blocks[i] = isolator_alloc(100);
	/* As if each had run over its end; and all that is free is written to as well. */
	memset((void *)pool->base, 0xff, (size_t)pool->bytes);
	for (int i = 0; i < 64; i++)
		CHECK_EQUAL(isolator_free(blocks[i]), 0);
	memset((void *)pool->base, 0xa5, (size_t)pool->bytes);
	sound();
	CHECK(isolator_alloc((size_t)STAT(largest_bytes)) != NULL);
}

struct other {
	void *given;
	void *taken;
	struct isolator_pool *pool;
	int without, with, strange, back;
	uint64_t foreign;
};

static void *other_thread(void *argument)
{
	struct other *other = argument;

	pools_pin(pools_cpu(1));
	other->without = isolator_free(other->given);
	if (isolator_alloc(16) || errno != ESRCH || !names(ESRCH, "isolator_pool_use"))
		other->without = 1;
	other->strange = isolator_free(&other);
	other->pool = pools_take(BYTES);
	other->with = isolator_free(other->given);
	other->taken = isolator_alloc(100);
	other->foreign = pools_stat(other->pool).foreign_frees;
	return NULL;
}

/* From another thread, with a pool and without: refused, counted, harmless. */
static void remote(void)
{
	struct other other = { .given = isolator_alloc(100) };
	pthread_t thread;

	memset(other.given, 3, 100);
	CHECK_EQUAL(pthread_create(&thread, NULL, other_thread, &other), 0);
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(other.without, -EXDEV);
	CHECK_EQUAL(other.strange, -EFAULT);
	CHECK_EQUAL(other.with, -EXDEV);
	CHECK_EQUAL(other.foreign, 1);
	CHECK_EQUAL(STAT(remote_frees), 2);
	CHECK_EQUAL(isolator_free(other.taken), -EXDEV);
	CHECK(names(EXDEV, "not this thread's"));
	CHECK_EQUAL(STAT(foreign_frees), 1);
	/* Its user has gone: anybody may look, and take the memory back. */
	CHECK_EQUAL(pools_stat(other.pool).remote_frees, 1);
	CHECK_EQUAL(isolator_pool_destroy(other.pool), 1);
	CHECK_EQUAL(isolator_free(other.given), 0);
	sound();
}

static void moved(void)
{
	uint32_t elsewhere = pool->cpu + 1;
	const volatile uint32_t *here = pool->cpu_now;
	void *block = isolator_alloc(16);

	pool->cpu_now = &elsewhere;
	CHECK(isolator_alloc(16) == NULL);
	CHECK_EQUAL(errno, ENOTUNIQ);
	CHECK(names(ENOTUNIQ, "pin it there"));
	CHECK_EQUAL(isolator_free(block), -ENOTUNIQ);
	pool->cpu_now = here;
	CHECK_EQUAL(STAT(moved), 2);
	CHECK_EQUAL(isolator_free(block), 0);
	sound();
}

/* The same with a thread that really moves, where calls can see it. */
static void really_moved(void)
{
	void *block = isolator_alloc(16);

	if (!(STAT(got) & ISOLATOR_POOL_GOT_CPU_CHECK) || !pools_two_cpus()) {
		printf("# one CPU, or no restartable sequences: not seen\n");
		return;
	}
	pools_pin(pools_cpu(1));
	CHECK_EQUAL(isolator_free(block), -ENOTUNIQ);
	pools_pin(pools_cpu(0));
	CHECK_EQUAL(isolator_free(block), 0);
	CHECK_EQUAL(STAT(moved), 1);
}

static volatile sig_atomic_t in_handler, handled;

static void handler(int number)
{
	(void)number;
	handled++;
	/* Within a call, and only then, the handler is refused. */
	if (isolator_free(isolator_alloc(16)) < 0)
		in_handler++;
	else if (errno == EBUSY)
		in_handler++;
}

static void reentered(void)
{
	struct sigaction action = { .sa_handler = handler };
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	time_t end = time(NULL) + 10;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	/* Until it was seen; a machine on which it is not in 10 s fails. */
	while (pool->reentered < 20 && time(NULL) < end)
		for (int i = 0; i < 1000; i++) {
			void *small = isolator_alloc(64);
			void *large = isolator_alloc(20000);

			CHECK(small && large);
			CHECK_EQUAL(isolator_free(small), 0);
			CHECK_EQUAL(isolator_free(large), 0);
		}
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(handled > 0);
	CHECK(STAT(reentered) >= 20);
	sound();
}

static const struct test tests[] = {
	{ "every size, aligned", every_size },
	{ "exhausted, and all of it again", exhaustion_and_all_of_it_again },
	{ "the whole pool is one block", the_whole_pool_is_one_block },
	{ "kept runs are given up", kept_runs_are_given_up },
	{ "the kept run is the empty one", the_kept_run_is_the_empty_one },
	{ "double free", double_free },
	{ "an address that is not a block's beginning", not_a_beginning },
	{ "an address within a large block", within_a_large_block },
	{ "a foreign address", foreign },
	{ "blocks that were overrun", overrun },
	{ "another thread frees", remote },
	{ "a thread that was moved", moved },
	{ "a thread that is really moved", really_moved },
	{ "a signal handler within a call", reentered },
};

int main(void)
{
	pools_pin(pools_cpu(0));
	return check_run_each(tests, sizeof(tests) / sizeof(tests[0]), before);
}
