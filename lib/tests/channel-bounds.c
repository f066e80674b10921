// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How much a call looks at, whatever the other side writes: a thread with a deadline calls it.
 * Counted are the pages that it touches, so that a busy machine does not matter.
 */
#include "check.h"
#include "pair.h"

#define SLOTS		(1U << 20)
/* A fault brings its neighbours, and what a call needs of its own memory may fault, too. */
#define FEW		12
#define MANY		40

static struct pair pair;

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* The next access to each page of @channel is a fault. */
static void forget(const struct isolator_channel *channel)
{
	CHECK_EQUAL(madvise(channel->shared, channel->bytes, MADV_DONTNEED), 0);
}

static void begin(void)
{
	CHECK(pair_make(&pair, SLOTS, 4096));
}

static void counting_works(void)
{
	long before;
	uint64_t sum = 0;

	begin();
	forget(pair.b);
	before = faults();
	for (unsigned int i = 0; i < SLOTS; i++)
		sum += pair.b->rx.ring[i].word;
	CHECK_EQUAL(sum, 0);
	CHECK(faults() - before >= MANY);
	pair_drop(&pair);
}

/* After each message one that is missing, and nothing tells where the next is but a search. */
static void polls(void)
{
	struct isolator_slot *ring;
	long worst = 0;
	int received = 0;

	begin();
	ring = pair.a->tx.ring;
	for (uint64_t i = 0; i < SLOTS; i++)
		ring[i].word = i % 2 ? 0x7777ULL << 32 : i * NUMBER_ONE | WORD_FIRST | 8;
	for (unsigned int i = 0; received < 3; i++) {
		long before, spent;

		forget(pair.b);
		before = faults();
		received += isolator_poll_now(pair.b, 64);
		spent = faults() - before;
		worst = spent > worst ? spent : worst;
		if (i == SLOTS) {
			CHECK(!"the next message is never found");
			break;
		}
	}
	CHECK(worst <= FEW);
	CHECK_EQUAL(pair_stats(pair.b).lost, 2);
	pair_drop(&pair);
}

/*
 * The receiver's line says that all is full, and no slot holds what was posted: so that the
 * receiver is not stuck, the poster marks each.  Afterwards each of them is a gap.
 */
static void posts(void)
{
	const uint64_t waiting = SLOTS - SLOTS / 8;
	struct isolator_slot *ring;
	long worst = 0;

	begin();
	ring = pair.a->tx.ring;
	for (uint64_t i = 0; i < waiting; i++)
		CHECK_EQUAL(isolator_post(pair.a, 1, "12345678", 8), 0);
	for (uint64_t i = 0; i < SLOTS; i++)
		ring[i].word = 0x123456789abcdef0;
	pair.a->tx.limit = pair.a->tx.next;
	for (unsigned int i = 0; i < SLOTS; i++) {
		long before, spent;

		pair.a->shared->receiver[0].released = pair.a->tx.next - ring_numbers(SLOTS - 1);
		forget(pair.a);
		before = faults();
		CHECK_EQUAL(isolator_post(pair.a, 1, "12345678", 8), -EAGAIN);
		spent = faults() - before;
		worst = spent > worst ? spent : worst;
		if ((ring[waiting - 1].word & WORD_VOID) == WORD_VOID)
			break;
	}
	CHECK(worst <= FEW);
	for (uint64_t i = 0; i < waiting && !check_failed; i++)
		CHECK_EQUAL(ring[i].word, i * NUMBER_ONE | WORD_VOID);
	CHECK_EQUAL(isolator_poll_now(pair.b, 8), 0);
	CHECK_EQUAL(pair_stats(pair.b).invalid, 8);
	pair_drop(&pair);
}

/* What isolator_channel_create(3) says of the size, and of holes. */
static void holes(void)
{
	long before;

	begin();
	CHECK_EQUAL(ftruncate(pair.fd, 4096), -1);
	CHECK_EQUAL(errno, EPERM);
	CHECK_EQUAL(mlock(pair.a->shared, 64 * 4096), 0);
	for (unsigned int i = 0; i < 1000; i++) {
		CHECK_EQUAL(isolator_post(pair.a, 1, "12345678", 8), 0);
		CHECK_EQUAL(isolator_poll_now(pair.b, 8), 1);
	}
	before = faults();
	for (unsigned int i = 0; i < 1000; i++) {
		CHECK_EQUAL(isolator_post(pair.a, 1, "12345678", 8), 0);
		CHECK_EQUAL(isolator_poll_now(pair.b, 8), 1);
	}
	CHECK_EQUAL(faults() - before, 0);
	CHECK_EQUAL(fallocate(pair.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
			      (off_t)pair.a->bytes - 4096), 0);
	before = faults();
	for (unsigned int i = 0; i < 1000; i++) {
		CHECK_EQUAL(isolator_post(pair.a, 1, "12345678", 8), 0);
		CHECK_EQUAL(isolator_poll_now(pair.b, 8), 1);
	}
	CHECK(faults() - before > 0);
	pair_drop(&pair);
}

/* A gap that a dead receiver left is reported before the next message, even to a poll of one. */
static void gap_comes_first(void)
{
	CHECK(pair_make(&pair, SLOTS, 0));
	CHECK_EQUAL(isolator_post(pair.a, 1, "a", 1), 0);
	CHECK_EQUAL(isolator_post(pair.a, 1, "b", 1), 0);
	CHECK_EQUAL(isolator_poll(pair.b, 1), 1);
	/* As if it had died in the callback of the first. */
	pair.b->rx.own->taken = pair.b->rx.next | 1;
	isolator_channel_close(pair.b);
	pair.b = pair_open(pair.fd, ISOLATOR_SIDE_B, &pair.at_b);
	CHECK(pair.b != NULL);
	CHECK_EQUAL(isolator_poll(pair.b, 1), 1);
	CHECK_EQUAL(pair.at_b.gaps, 1);
	CHECK_EQUAL(pair.at_b.gap.first, 0);
	CHECK_EQUAL(pair.at_b.data[0], 'b');
	pair_drop(&pair);
}

static const struct test tests[] = {
	{ "a gap comes before the next message", gap_comes_first },
	{ "a look at all of a ring is counted", counting_works },
	{ "a poll looks at few slots, however many gaps there are", polls },
	{ "a post that is refused looks at few slots", posts },
	{ "holes are faulted in again, also in locked memory", holes },
};

int main(void)
{
	alarm(300);
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
