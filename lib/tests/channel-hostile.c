// SPDX-License-Identifier: LGPL-2.1-or-later
/* A peer that lies: each thing that a side reads, made wrong on purpose. */
#include "check.h"
#include "pair.h"
#include "hostile.h"

#define SLOTS	16U

static struct traffic traffic;

/* What lies between A and B; word @i of a slot. */
static struct isolator_ring_shared *shared(void)
{
	return traffic.pair.a->shared;
}

static struct isolator_slot *slot(unsigned int index)
{
	return &traffic.pair.a->tx.ring[index % SLOTS];
}

static struct isolator_slot *next_slot(void)
{
	return &traffic.pair.b->rx.ring[isolator_ring_index(traffic.pair.b->rx.next, SLOTS - 1)];
}

static void some_traffic(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		CHECK(traffic_post(&traffic, 8));
		CHECK_EQUAL(isolator_poll_now(traffic.pair.b, 1), 1);
	}
}

static void begin(void)
{
	traffic_begin(&traffic, SLOTS);
	traffic.strict = true;
	some_traffic(2 * SLOTS + 3);
}

static void end(void)
{
	traffic_recovers(&traffic);
	pair_drop(&traffic.pair);
}

static void header_is_overwritten(void)
{
	begin();
	memset(&shared()->header, 0xff, sizeof(shared()->header));
	some_traffic(3 * SLOTS);
	CHECK_EQUAL(traffic.gaps, 0);
	end();
}

static const uint64_t numbers[] = {
	0, 1, NUMBER_ONE, 5 * NUMBER_ONE, SLOTS * NUMBER_ONE, 1000 * NUMBER_ONE,
	1ULL << 40, 1ULL << 62, 1ULL << 63, ~0ULL, NUMBER_MASK, 0x5555555555555555,
};

/* Both of the receiver's words, alone and together, as such and relative to the truth. */
static void receiver_lines_are_garbage(void)
{
	for (size_t i = 0; i < 2 * sizeof(numbers) / sizeof(numbers[0]); i++) {
		for (unsigned int which = 1; which < 4; which++) {
			for (unsigned int again = 0; again < 4; again++) {
				uint64_t value = numbers[i / 2];

				begin();
				if (i % 2)
					value += traffic.pair.a->tx.next;
				if (which & 1)
					shared()->receiver[0].released = value;
				if (which & 2)
					shared()->receiver[0].taken = value;
				/* With some on the way, and full. */
				for (unsigned int n = 0; n < (i % 3) * SLOTS; n++)
					traffic_post(&traffic, 8);
				if (again & 1)
					traffic_reopen(&traffic, ISOLATOR_SIDE_A);
				if (again & 2)
					traffic_reopen(&traffic, ISOLATOR_SIDE_B);
				end();
			}
		}
	}
}

/* The word of the slot that is next, and of one later, with messages there or not. */
static void words_are_garbage(void)
{
	for (unsigned int value = 0; value < 65536; value += 1 + value % 5) {
		unsigned int waiting = value % 3;
		uint64_t number;

		begin();
		number = traffic.pair.b->rx.next;
		for (unsigned int i = 0; i < waiting; i++)
			CHECK(traffic_post(&traffic, 8));
		traffic.strict = false;
		next_slot()->word = number + (uint64_t)((int)(value % 7) - 3) *
				    (value % 2 ? SLOTS : 1) * NUMBER_ONE + value;
		isolator_poll(traffic.pair.b, 4);
		if (value % 4 == 1)
			traffic_reopen(&traffic, ISOLATOR_SIDE_A);
		if (value % 4 == 2)
			traffic_reopen(&traffic, ISOLATOR_SIDE_B);
		if (value % 64 < 5)
			traffic_recovers(&traffic);
		pair_drop(&traffic.pair);
		if (check_failed)
			break;
	}
}

/* A message whose parts go on and on, or are those of others. */
static void long_message_without_end(void)
{
	uint64_t number;

	begin();
	number = traffic.pair.b->rx.next;
	traffic.strict = false;
	for (unsigned int i = 0; i < SLOTS; i++)
		slot((unsigned int)(number / NUMBER_ONE) + i)->word =
			(number + i * NUMBER_ONE) | WORD_MORE | ISOLATOR_SLOT_BYTES |
			(i ? 0 : WORD_FIRST);
	CHECK_EQUAL(isolator_poll_now(traffic.pair.b, 1), 0);
	CHECK_EQUAL(traffic.gaps, 1);
	CHECK_EQUAL(pair_stats(traffic.pair.b).invalid, 1);
	CHECK_EQUAL(traffic.pair.b->rx.next, number + NUMBER_ONE);
	end();
}

/* A message of three slots, whose second or third is not of it. */
static void long_message_with_a_wrong_part(void)
{
	static const uint64_t changes[] = {
		SLOTS * NUMBER_ONE, NUMBER_ONE, 1ULL << WORD_TYPE_SHIFT, WORD_FIRST,
		ISOLATOR_SLOT_BYTES ^ 63, ISOLATOR_SLOT_BYTES, ISOLATOR_SLOT_BYTES ^ 55, ~0ULL,
	};

	for (unsigned int i = 0; i < 2 * sizeof(changes) / sizeof(changes[0]); i++) {
		unsigned int index;

		begin();
		index = (unsigned int)isolator_ring_index(traffic.pair.b->rx.next, SLOTS - 1);
		CHECK(traffic_post(&traffic, 3 * ISOLATOR_SLOT_BYTES));
		/* One that is shorter than a slot is all right as the last only. */
		slot(index + 1 + i % 2)->word ^= changes[i / 2];
		if (i % 2 && changes[i / 2] == (ISOLATOR_SLOT_BYTES ^ 55)) {
			CHECK_EQUAL(isolator_poll_now(traffic.pair.b, 1), 1);
		} else {
			CHECK_EQUAL(isolator_poll_now(traffic.pair.b, 1), 0);
			CHECK_EQUAL(pair_stats(traffic.pair.b).invalid, 1);
			CHECK_EQUAL(traffic.gaps, 1);
		}
		end();
	}
}

/* A poster that writes invalid slots for ever does not keep a poll for ever. */
static void invalid_for_ever(void)
{
	begin();
	traffic.strict = false;
	for (unsigned int i = 0; i < 1000; i++) {
		for (unsigned int s = 0; s < SLOTS; s++) {
			uint64_t at = traffic.pair.b->rx.next + s * NUMBER_ONE;

			slot((unsigned int)(at / NUMBER_ONE))->word = at | WORD_FIRST | 63;
		}
		CHECK_EQUAL(isolator_poll_now(traffic.pair.b, 8), 0);
	}
	CHECK_EQUAL(pair_stats(traffic.pair.b).invalid, 8 * 1000);
	end();
}

/* A message is taken out again, and so that the slot looks as before it came. */
static void message_disappears(void)
{
	uint64_t before;

	begin();
	before = next_slot()->word;
	CHECK(traffic_post(&traffic, 8));
	CHECK(traffic_post(&traffic, 8));
	next_slot()->word = before;
	for (unsigned int i = 0; i < 2048 * SLOTS; i++)
		isolator_poll(traffic.pair.b, 4);
	CHECK_EQUAL(traffic.gaps, 1);
	CHECK_EQUAL(pair_stats(traffic.pair.b).lost, 1);
	CHECK_EQUAL(traffic.received, 2 * SLOTS + 4);
	end();
}

/* What was posted and is lost with all memory of it is reported, if not all is. */
static void ring_is_wiped(void)
{
	for (unsigned int again = 0; again < 4; again++) {
		begin();
		for (unsigned int i = 0; i < 5; i++)
			CHECK(traffic_post(&traffic, 8));
		memset(slot(0), 0, SLOTS * sizeof(struct isolator_slot));
		if (again & 1)
			traffic_reopen(&traffic, ISOLATOR_SIDE_A);
		if (again & 2)
			traffic_reopen(&traffic, ISOLATOR_SIDE_B);
		end();
	}
}

/*
 * A word that is all ones, which the view uses for "look": isolator_poll() takes it
 * for idle, and must not go on doing so.
 */
static void word_of_all_ones(void)
{
	begin();
	CHECK(traffic_post(&traffic, 8));
	next_slot()->word = WORD_NEVER;
	for (unsigned int i = 0; i < 3 * PATIENCE; i++)
		CHECK_EQUAL(isolator_poll(traffic.pair.b, 4), 0);
	CHECK(traffic_post(&traffic, 8));
	for (unsigned int i = 0; i < SLOTS; i++)
		isolator_poll(traffic.pair.b, 4);
	CHECK_EQUAL(traffic.gaps, 1);
	CHECK_EQUAL(pair_stats(traffic.pair.b).lost, 1);
	end();
}

/* What would be a message elsewhere is none: nobody goes where it says. */
static void word_in_the_wrong_slot(void)
{
	uint64_t next;

	begin();
	next = traffic.pair.b->rx.next;
	slot((unsigned int)(next / NUMBER_ONE) + 1)->word = (next + 5 * NUMBER_ONE) | WORD_FIRST | 8;
	for (unsigned int i = 0; i < 4 * PATIENCE; i++)
		CHECK_EQUAL(isolator_poll(traffic.pair.b, 4), 0);
	CHECK_EQUAL(traffic.gaps, 0);
	traffic_reopen(&traffic, ISOLATOR_SIDE_A);
	CHECK_EQUAL(traffic.pair.a->tx.next, next);
	some_traffic(3 * SLOTS);
	CHECK_EQUAL(traffic.gaps, 0);
	end();
}

/* Full, and nothing of what waits is left: what was lost is reported, none for ever. */
static void all_that_waits_is_overwritten(void)
{
	begin();
	while (traffic_post(&traffic, 8))
		;
	for (unsigned int i = 0; i < SLOTS; i++)
		slot(i)->word = 0x123456789abcdef0 + i;
	for (unsigned int i = 0; i < 2 * PATIENCE; i++) {
		CHECK(!traffic_post(&traffic, 8) || traffic.gaps);
		isolator_poll(traffic.pair.b, 4);
	}
	/* The rest of them was posted afterwards. */
	CHECK(pair_stats(traffic.pair.b).lost >= SLOTS - SLOTS / 8);
	CHECK_EQUAL(traffic.posted - traffic.received -
		    (traffic.pair.a->tx.next - traffic.pair.b->rx.next) / NUMBER_ONE,
		    pair_stats(traffic.pair.b).lost);
	end();
}

/* Holes: zeros in place of everything, header too, and new pages behind. */
static void memory_is_punched_out(void)
{
	begin();
	CHECK_EQUAL(fallocate(traffic.pair.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			      (off_t)traffic.pair.a->bytes), 0);
	end();
}

/* The poster overruns the receiver because the line between them lied. */
static void overrun_is_a_gap(void)
{
	uint64_t waiting;

	begin();
	while (traffic_post(&traffic, 8))
		;
	waiting = traffic.posted - traffic.received;
	shared()->receiver[0].released = traffic.pair.a->tx.next;
	for (unsigned int i = 0; i < 3; i++)
		CHECK(traffic_post(&traffic, 8));
	for (unsigned int i = 0; i < 10; i++)
		isolator_poll(traffic.pair.b, 4);
	CHECK_EQUAL(traffic.gaps, 1);
	/* Slots that were free were not overwritten. */
	CHECK_EQUAL(pair_stats(traffic.pair.b).lost, 3 - (SLOTS - waiting));
	CHECK_EQUAL(traffic.posted - traffic.received, pair_stats(traffic.pair.b).lost);
	end();
}

/* Number 2^48 - 1 is followed by 0: restart both sides right before. */
static void numbers_wrap(void)
{
	uint64_t near = NUMBER_MASK - 5 * NUMBER_ONE;
	uint64_t index;

	begin();
	index = isolator_ring_index(near, SLOTS - 1);
	memset(slot(0), 0, SLOTS * sizeof(struct isolator_slot));
	slot((unsigned int)index)->word = near | WORD_FIRST;
	shared()->receiver[0].taken = near;
	shared()->receiver[0].released = near;
	traffic_reopen(&traffic, ISOLATOR_SIDE_B);
	traffic_reopen(&traffic, ISOLATOR_SIDE_A);
	CHECK_EQUAL(traffic.pair.a->tx.next, near + NUMBER_ONE);
	traffic.strict = false;
	CHECK_EQUAL(isolator_poll_now(traffic.pair.b, 1), 1);
	traffic.strict = true;
	traffic.seen = traffic.posted;
	some_traffic(20 * SLOTS);
	CHECK_EQUAL(traffic.gaps, 0);
	CHECK(traffic.pair.a->tx.next < 1000 * NUMBER_ONE);
	end();
}

static const struct test tests[] = {
	{ "the header is overwritten while running", header_is_overwritten },
	{ "the receiver's lines are garbage", receiver_lines_are_garbage },
	{ "a slot's word is garbage", words_are_garbage },
	{ "a long message without an end", long_message_without_end },
	{ "a long message with a wrong part", long_message_with_a_wrong_part },
	{ "invalid slots for ever", invalid_for_ever },
	{ "a message disappears again", message_disappears },
	{ "the ring is wiped", ring_is_wiped },
	{ "a word of all ones", word_of_all_ones },
	{ "a word in the wrong slot", word_in_the_wrong_slot },
	{ "all that waits is overwritten", all_that_waits_is_overwritten },
	{ "the memory is punched out", memory_is_punched_out },
	{ "an overrun is a gap", overrun_is_a_gap },
	{ "numbers wrap", numbers_wrap },
};

int main(void)
{
	isolator_sys.mmap = guarded_mmap;
	isolator_sys.munmap = guarded_munmap;
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
