// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Random allocations and frees, right and wrong ones, against a model that knows
 * of each 16 bytes of the pool which block they belong to.
 *
 *	shadow [OPERATIONS [SEED]]
 */
#include <inttypes.h>

#include "check.h"
#include "pools.h"

#define BYTES		(1U << 20)
#define GRAINS_MAX	(2 * BYTES / 16)
#define LIVE_MAX	20000

struct live {
	unsigned char *block;
	size_t bytes;
	unsigned char fill;
};

static struct isolator_pool *pool;
static struct live live[LIVE_MAX];
static size_t live_count;
/* Which live block each grain belongs to, 0: none; numbers are never used again. */
static uint32_t grains[GRAINS_MAX];
static uint32_t numbers[LIVE_MAX];
static uint32_t next_number = 1;
static uint64_t state;
static unsigned long operation;
static uint64_t bad, doubles, exhausted;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL;
}

static uint64_t below(uint64_t bound)
{
	return random64() % bound;
}

static void fail(const char *what)
{
	printf("# operation %lu: %s\n", operation, what);
	check_failed = true;
}

/* Few large, many small; 0 and more than there is come too. */
static size_t random_size(void)
{
	uint64_t kind = below(100);

	if (kind < 1)
		return (size_t)below(2 * BYTES);
	if (kind < 10)
		return (size_t)below(100000);
	return (size_t)below(kind < 40 ? 9000 : 300);
}

static size_t grain(const void *block)
{
	return ((uintptr_t)block - pool->base) / 16;
}

static void allocate(void)
{
	size_t bytes = random_size();
	size_t first, last;
	unsigned char *block;

	if (live_count == LIVE_MAX)
		return;
	block = isolator_alloc(bytes);
	if (!block) {
		uint32_t runs = (uint32_t)((bytes + RUN_BYTES - 1) / RUN_BYTES);
		uint32_t longest = pools_longest_span(pool);

		exhausted++;
		if (errno != (bytes > pool->bytes ? E2BIG : ENOMEM))
			fail("another error than that of exhaustion");
		/* Spans are found by lengths rounded down to a sixteenth. */
		if (bytes <= SMALL_MAX ? longest != 0 : longest >= runs + runs / 16 + 1)
			fail("refused though there is room");
		return;
	}
	first = grain(block);
	last = grain(block + (bytes ? bytes - 1 : 0));
	if ((uintptr_t)block < pool->base || last >= pool->bytes / 16) {
		fail("a block outside the pool");
		return;
	}
	for (size_t at = first; at <= last; at++) {
		if (grains[at]) {
			fail("a block overlaps another");
			return;
		}
		grains[at] = next_number;
	}
	live[live_count] = (struct live){ block, bytes, (unsigned char)random64() };
	memset(block, live[live_count].fill, bytes);
	numbers[live_count++] = next_number++;
}

static void release(void)
{
	size_t which, first, last;
	struct live *gone;

	if (!live_count)
		return;
	which = (size_t)below(live_count);
	gone = &live[which];
	for (size_t at = 0; at < gone->bytes; at++)
		if (gone->block[at] != gone->fill) {
			fail("a block has changed");
			break;
		}
	if (isolator_free(gone->block) != 0)
		fail("a block cannot be freed");
	first = grain(gone->block);
	last = grain(gone->block + (gone->bytes ? gone->bytes - 1 : 0));
	for (size_t at = first; at <= last; at++)
		grains[at] = 0;
	numbers[which] = numbers[--live_count];
	*gone = live[live_count];
}

/* Any address in the pool, most of them where blocks could begin. */
static void release_wrongly(void)
{
	uint64_t offset = below(pool->bytes);
	int result;

	if (below(4))
		offset &= ~(uint64_t)15;
	else if (below(4))
		offset &= ~(uint64_t)(RUN_BYTES - 1);
	for (size_t i = 0; grains[offset / 16] && i < live_count; i++)
		if ((uintptr_t)live[i].block == pool->base + offset)
			return;
	result = isolator_free((void *)(pool->base + (uintptr_t)offset));
	if (result == -EALREADY)
		doubles++;
	else if (result == -EINVAL)
		bad++;
	else
		fail("a wrong address was taken for a block");
}

static void compare(void)
{
	struct isolator_pool_stats stat = pools_stat(pool);
	const char *wrong = pools_wrong(pool);

	if (wrong)
		fail(wrong);
	if (stat.allocs - stat.frees != live_count || stat.exhausted != exhausted ||
	    stat.double_frees != doubles || stat.bad_frees != bad)
		fail("the statistics are not what was done");
}

int main(int argc, char **argv)
{
	unsigned long operations = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;

	state = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	printf("1..1\n# shadow %lu %" PRIu64 "\n", operations, state);
	state = state * 2 + 1;
	pools_pin(pools_cpu(0));
	pool = pools_take(BYTES);
	for (; operation < operations && !check_failed; operation++) {
		/* Fills and drains in waves. */
		bool filling = operation / 5000 % 2;
		uint64_t what = below(100);

		if (what < 10)
			release_wrongly();
		else if (what < (filling ? 70 : 45))
			allocate();
		else
			release();
		if (operation % 1000 == 0)
			compare();
	}
	while (live_count && !check_failed)
		release();
	compare();
	if (pools_stat(pool).used_bytes || pools_stat(pool).largest_bytes != pool->bytes)
		fail("not all of it is there again");
	if (operations >= 10000 && (!exhausted || !doubles || !bad))
		fail("it was never exhausted, or never freed wrongly: it proves little");
	printf("# %" PRIu64 " exhausted, %" PRIu64 " double, %" PRIu64 " bad\n",
	       exhausted, doubles, bad);
	isolator_pool_destroy(pool);
	printf("%sok 1 - as the model\n", check_failed ? "not " : "");
	return check_failed;
}
