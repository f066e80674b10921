// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: KUnit tests of the kernel's ends: what comes, is refused, and is spoilt by a peer. */
#include <kunit/test.h>
#include <linux/irq_work.h>
#include <linux/preempt.h>

#include "messages.h"

#define SLOTS		16U
#define POSTERS		3U
/* So many looks find anything that is to be found: a ring of closer looks, then a search. */
#define LOOKS		(4 * SLOTS * ISOLATOR_PATIENCE)

struct isolator_test_pair {
	struct isolator_rings *rings;
	struct isolator_port *a, *b;
};

static struct isolator_port *isolator_test_open(struct kunit *test, struct isolator_rings *rings,
						unsigned int end)
{
	struct isolator_port *port = isolator_port_open(rings, end);

	KUNIT_ASSERT_FALSE(test, IS_ERR(port));
	KUNIT_ASSERT_EQ(test, isolator_port_use(port), 0);
	return port;
}

static void isolator_test_pair_open(struct kunit *test, struct isolator_test_pair *pair)
{
	pair->rings = isolator_rings_make(SLOTS, 0, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pair->rings));
	pair->a = isolator_test_open(test, pair->rings, ISOLATOR_PORT_A);
	pair->b = isolator_test_open(test, pair->rings, ISOLATOR_PORT_B);
}

static void isolator_test_pair_close(struct isolator_test_pair *pair)
{
	isolator_port_close(pair->a);
	isolator_port_close(pair->b);
	isolator_rings_put(pair->rings);
}

static struct isolator_port_stat isolator_test_stat(const struct isolator_port *port)
{
	struct isolator_port_stat stat;

	isolator_port_stat(port, 0, &stat);
	return stat;
}

/* One message from @from to @to; anything else is a failure. */
static void isolator_test_pass(struct kunit *test, struct isolator_port *from,
			       struct isolator_port *to, u64 number, size_t length)
{
	struct isolator_message message = { };
	u64 words[ISOLATOR_RING_WORDS * SLOTS / 4];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = number;
	KUNIT_ASSERT_EQ(test, isolator_port_post(from, number % 256, words, length), 0);
	KUNIT_ASSERT_EQ(test, isolator_port_receive(to, &message), 1);
	KUNIT_EXPECT_EQ(test, message.type, number % 256);
	KUNIT_EXPECT_EQ(test, message.length, length);
	KUNIT_EXPECT_MEMEQ(test, message.data, words, length);
}

/* Whatever was spoilt, afterwards all comes again. */
static void isolator_test_recovers(struct kunit *test, struct isolator_port *from,
				   struct isolator_port *to)
{
	struct isolator_message message;
	u64 number = 0, came = 0;
	unsigned int i;

	for (i = 0; i < LOOKS && came < 2 * SLOTS; i++) {
		isolator_port_post(from, 1, &number, sizeof(number));
		came += isolator_port_receive(to, &message) == 1 && message.type == 1;
	}
	KUNIT_EXPECT_EQ(test, came, 2 * SLOTS);
	for (i = 0; i < LOOKS; i++)
		isolator_port_receive(to, &message);
	for (i = 0; i < 3 * SLOTS; i++)
		isolator_test_pass(test, from, to, i, i % 2 ? 8 : 100);
}

static void isolator_test_port_holders(struct kunit *test)
{
	struct isolator_message message;
	struct isolator_test_pair pair;
	struct isolator_port *other;

	isolator_test_pair_open(test, &pair);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_port_open(pair.rings, ISOLATOR_PORT_A)), -EBUSY);
	KUNIT_EXPECT_EQ(test, isolator_port_held(pair.a, ISOLATOR_PORT_B), 1);
	KUNIT_EXPECT_EQ(test, isolator_port_held(pair.a, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, isolator_port_post(pair.a, 1, &pair, 8), 0);
	isolator_port_close(pair.b);
	KUNIT_EXPECT_EQ(test, isolator_port_held(pair.a, ISOLATOR_PORT_B), 0);
	/* Nobody uses it yet; then this task does. */
	other = isolator_port_open(pair.rings, ISOLATOR_PORT_B);
	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	KUNIT_EXPECT_EQ(test, isolator_port_receive(other, &message), -EPERM);
	KUNIT_EXPECT_EQ(test, isolator_port_post(other, 1, &pair, 8), -EPERM);
	other->owner = &init_task;
	KUNIT_EXPECT_EQ(test, isolator_port_use(other), -EBUSY);
	KUNIT_EXPECT_EQ(test, isolator_port_receive(other, &message), -EPERM);
	other->owner = NULL;
	KUNIT_EXPECT_EQ(test, isolator_port_use(other), 0);
	/* What was posted has waited. */
	KUNIT_EXPECT_EQ(test, isolator_port_receive(other, &message), 1);
	KUNIT_EXPECT_EQ(test, isolator_port_receive(other, &message), 0);
	pair.b = other;
	isolator_test_recovers(test, pair.a, pair.b);
	KUNIT_EXPECT_EQ(test, isolator_test_stat(pair.b).gaps, 0);
	isolator_test_pair_close(&pair);
}

struct isolator_test_interrupt {
	struct irq_work work;
	struct isolator_test_pair *pair;
	bool owner;
	int posted, received;
};

static void isolator_test_interrupt(struct irq_work *work)
{
	struct isolator_test_interrupt *in = container_of(work, struct isolator_test_interrupt,
							  work);
	struct isolator_message message;

	in->owner = in->pair->a->owner == current;
	in->posted = isolator_port_post(in->pair->a, 1, &message, 8);
	in->received = isolator_port_receive(in->pair->b, &message);
}

/* What interrupts a port's owner is not its owner. */
static void isolator_test_port_interrupt(struct kunit *test)
{
	struct isolator_test_interrupt in = {
		.work = IRQ_WORK_INIT_HARD(isolator_test_interrupt),
	};
	struct isolator_test_pair pair;

	isolator_test_pair_open(test, &pair);
	in.pair = &pair;
	preempt_disable();
	irq_work_queue(&in.work);
	while (irq_work_is_busy(&in.work))
		cpu_relax();
	preempt_enable();
	KUNIT_EXPECT_TRUE(test, in.owner);
	KUNIT_EXPECT_EQ(test, in.posted, -EPERM);
	KUNIT_EXPECT_EQ(test, in.received, -EPERM);
	KUNIT_EXPECT_EQ(test, isolator_test_stat(pair.a).posted, 0);
	isolator_test_pair_close(&pair);
}

/* Each length, in both directions, round the ring; and what does not fit. */
static void isolator_test_channel_lengths(struct kunit *test)
{
	const u32 most = SLOTS / 4 * ISOLATOR_RING_PAYLOAD;
	struct isolator_message message;
	struct isolator_test_pair pair;
	u64 data[ISOLATOR_RING_WORDS] = { };
	unsigned int i;

	isolator_test_pair_open(test, &pair);
	for (i = 0; i <= most; i++) {
		isolator_test_pass(test, pair.a, pair.b, i, i);
		isolator_test_pass(test, pair.b, pair.a, i, most - i);
	}
	KUNIT_EXPECT_EQ(test, isolator_port_post(pair.a, 1, data, most + 1), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, isolator_port_post(pair.a, 1, data, SIZE_MAX), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, isolator_port_post(pair.a, 256, data, 8), -EINVAL);
	for (i = 0; i < SLOTS; i++)
		KUNIT_EXPECT_EQ(test, isolator_port_post(pair.a, 1, data, 8), 0);
	KUNIT_EXPECT_EQ(test, isolator_port_post(pair.a, 1, data, 8), -EAGAIN);
	for (i = 0; i < SLOTS; i++)
		KUNIT_EXPECT_EQ(test, isolator_port_receive(pair.b, &message), 1);
	KUNIT_EXPECT_EQ(test, isolator_port_receive(pair.b, &message), 0);
	KUNIT_EXPECT_EQ(test, isolator_test_stat(pair.a).full, 1);
	KUNIT_EXPECT_EQ(test, isolator_test_stat(pair.b).gaps, 0);
	isolator_test_pair_close(&pair);
}

/* Any word in the slot that is next: nothing longer than a slot comes of it. */
static void isolator_test_channel_words(struct kunit *test)
{
	struct isolator_message message;
	struct isolator_test_pair pair;
	unsigned int low;
	u64 next;
	int ret;

	isolator_test_pair_open(test, &pair);
	for (low = 0; low < 65536; low += 1 + low % 7) {
		next = pair.b->lanes->next;
		pair.b->lanes->ring[isolator_ring_index(next, SLOTS - 1)].word = next + low;
		ret = isolator_port_receive(pair.b, &message);
		KUNIT_EXPECT_GE(test, ret, 0);
		if (ret && message.type != ISOLATOR_MESSAGE_GAP)
			KUNIT_EXPECT_LE(test, message.length, ISOLATOR_RING_PAYLOAD);
		if (ret)
			KUNIT_EXPECT_EQ(test, pair.b->lanes->next, next + ISOLATOR_RING_ONE);
	}
	KUNIT_EXPECT_GT(test, isolator_test_stat(pair.b).invalid, 0);
	isolator_test_recovers(test, pair.a, pair.b);
	isolator_test_pair_close(&pair);
}

/* Side A's: all that a message of so many slots is, with @last bytes in the last one. */
static void isolator_test_write_words(const struct isolator_test_pair *pair, unsigned int slots,
				      unsigned int last)
{
	struct isolator_slot *ring = pair->b->lanes->ring;
	unsigned int i;

	for (i = 0; i < slots; i++)
		ring[i].word = i * ISOLATOR_RING_ONE | (i ? 0 : ISOLATOR_RING_FIRST) |
			       (i + 1 < slots ? ISOLATOR_RING_MORE | ISOLATOR_RING_PAYLOAD : last);
}

/* One byte longer than any may be: that makes it none.  One less, and it is one. */
static void isolator_test_channel_overlong(struct kunit *test)
{
	const unsigned int slots = SLOTS / 4 + 1, most = SLOTS / 4 * ISOLATOR_RING_PAYLOAD;
	struct isolator_message message;
	struct isolator_test_pair pair;

	isolator_test_pair_open(test, &pair);
	KUNIT_EXPECT_EQ(test, pair.b->message_bytes, most);
	isolator_test_write_words(&pair, slots, 1);
	KUNIT_EXPECT_EQ(test, isolator_port_receive(pair.b, &message), 1);
	KUNIT_EXPECT_EQ(test, message.type, ISOLATOR_MESSAGE_GAP);
	KUNIT_EXPECT_EQ(test, isolator_test_stat(pair.b).invalid, 1);
	isolator_test_recovers(test, pair.a, pair.b);
	isolator_test_pair_close(&pair);

	isolator_test_pair_open(test, &pair);
	isolator_test_write_words(&pair, slots - 1, ISOLATOR_RING_PAYLOAD);
	KUNIT_EXPECT_EQ(test, isolator_port_receive(pair.b, &message), 1);
	KUNIT_EXPECT_EQ(test, message.length, most);
	isolator_test_pair_close(&pair);
}

/* A message without end. */
static void isolator_test_channel_endless(struct kunit *test)
{
	struct isolator_message message;
	struct isolator_test_pair pair;

	isolator_test_pair_open(test, &pair);
	isolator_test_write_words(&pair, SLOTS, 0);
	pair.b->lanes->ring[SLOTS - 1].word |= ISOLATOR_RING_MORE | ISOLATOR_RING_PAYLOAD;
	KUNIT_EXPECT_EQ(test, isolator_port_receive(pair.b, &message), 1);
	KUNIT_EXPECT_EQ(test, message.type, ISOLATOR_MESSAGE_GAP);
	KUNIT_EXPECT_EQ(test, message.slots, 1);
	isolator_test_recovers(test, pair.a, pair.b);
	isolator_test_pair_close(&pair);
}

/* A message of three slots, one of which is not of it: none of it is handed out. */
static void isolator_test_channel_parts(struct kunit *test)
{
	static const u64 changes[] = {
		ISOLATOR_RING_ONE, 1ULL << ISOLATOR_RING_TYPE_SHIFT, ISOLATOR_RING_FIRST,
		ISOLATOR_RING_PAYLOAD, ISOLATOR_RING_PAYLOAD ^ ISOLATOR_RING_LENGTH, ~0ULL,
	};
	const u8 data[3 * ISOLATOR_RING_PAYLOAD] = { };
	struct isolator_message message;
	struct isolator_test_pair pair;
	unsigned int i;
	u64 index;

	for (i = 0; i < 2 * ARRAY_SIZE(changes); i++) {
		isolator_test_pair_open(test, &pair);
		KUNIT_EXPECT_EQ(test, isolator_port_post(pair.a, 1, data, sizeof(data)), 0);
		index = isolator_ring_index(pair.b->lanes->next, SLOTS - 1) + 1 + i % 2;
		pair.b->lanes->ring[index].word ^= changes[i / 2];
		KUNIT_EXPECT_EQ(test, isolator_port_receive(pair.b, &message), 1);
		KUNIT_EXPECT_EQ(test, message.type, ISOLATOR_MESSAGE_GAP);
		KUNIT_EXPECT_EQ(test, isolator_test_stat(pair.b).invalid, 1);
		isolator_test_recovers(test, pair.a, pair.b);
		isolator_test_pair_close(&pair);
	}
}

/* All that was posted is gone, and the ring is full: its poster mends that. */
static void isolator_test_channel_wiped(struct kunit *test)
{
	struct isolator_test_pair pair;
	unsigned int i, count = 0;
	u64 data = 0;

	isolator_test_pair_open(test, &pair);
	for (i = 0; i < SLOTS + 3; i++)
		isolator_test_pass(test, pair.a, pair.b, i, 8);
	while (!isolator_port_post(pair.a, 1, &data, sizeof(data)))
		count++;
	memset(pair.a->poster.ring, 0, SLOTS * sizeof(*pair.a->poster.ring));
	isolator_test_recovers(test, pair.a, pair.b);
	KUNIT_EXPECT_GE(test, isolator_test_stat(pair.b).lost, count);
	isolator_test_pair_close(&pair);
}

/* A word that is further ahead than a ring is long: who opens the side does not go on there. */
static void isolator_test_channel_far(struct kunit *test)
{
	struct isolator_test_pair pair;
	unsigned int i;

	isolator_test_pair_open(test, &pair);
	for (i = 0; i < SLOTS + 3; i++)
		isolator_test_pass(test, pair.a, pair.b, i, 8);
	isolator_port_close(pair.a);
	pair.b->lanes->ring[5].word = (5 + 100 * SLOTS) * ISOLATOR_RING_ONE | ISOLATOR_RING_FIRST;
	pair.a = isolator_test_open(test, pair.rings, ISOLATOR_PORT_A);
	KUNIT_EXPECT_LE(test, pair.a->poster.next - pair.b->lanes->next,
			SLOTS * ISOLATOR_RING_ONE);
	isolator_test_recovers(test, pair.a, pair.b);
	isolator_test_pair_close(&pair);
}

/* What the receiver says, and both of its lines, made anything. */
static void isolator_test_channel_lines(struct kunit *test)
{
	static const u64 words[] = {
		0, 1, ISOLATOR_RING_ONE, SLOTS * ISOLATOR_RING_ONE, 1ULL << 40, 1ULL << 63, ~0ULL,
	};
	struct isolator_message message;
	struct isolator_test_pair pair;
	unsigned int i, which, n;
	u64 room, data = 0;

	for (i = 0; i < 2 * ARRAY_SIZE(words); i++) {
		for (which = 1; which < 4; which++) {
			isolator_test_pair_open(test, &pair);
			for (n = 0; n < 2 * SLOTS + 3; n++)
				isolator_test_pass(test, pair.a, pair.b, n, 8);
			for (n = 0; n < i % 3 * SLOTS / 2; n++)
				isolator_port_post(pair.a, 1, &data, sizeof(data));
			if (which & 1)
				pair.a->poster.other->released =
					words[i / 2] + (i % 2 ? pair.a->poster.next : 0);
			if (which & 2)
				pair.a->poster.other->taken =
					words[i / 2] + (i % 2 ? pair.a->poster.next : 0);
			for (n = 0; n < 3 * SLOTS; n++) {
				isolator_port_post(pair.a, 1, &data, sizeof(data));
				room = pair.a->poster.limit - pair.a->poster.next;
				KUNIT_EXPECT_LE(test, room, SLOTS * ISOLATOR_RING_ONE);
			}
			while (isolator_port_receive(pair.b, &message))
				;
			isolator_test_recovers(test, pair.a, pair.b);
			isolator_test_pair_close(&pair);
		}
	}
}

/* Posters in turn, each in its order; who lies spoils its own lane. */
static void isolator_test_inbox(struct kunit *test)
{
	struct isolator_rings *rings = isolator_rings_make(SLOTS, 0, POSTERS);
	struct isolator_port *inbox, *poster[POSTERS];
	struct isolator_message message;
	struct isolator_port_stat stat;
	u64 i, gaps = 0, came[POSTERS] = { };

	KUNIT_ASSERT_FALSE(test, IS_ERR(rings));
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_port_open(rings, POSTERS)), -EINVAL);
	inbox = isolator_test_open(test, rings, ISOLATOR_PORT_RECEIVER);
	for (i = 0; i < POSTERS; i++)
		poster[i] = isolator_test_open(test, rings, i);
	KUNIT_EXPECT_EQ(test, isolator_rings_posters(rings), POSTERS);
	KUNIT_EXPECT_EQ(test, isolator_port_post(inbox, 1, &i, sizeof(i)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, isolator_port_receive(poster[0], &message), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, isolator_port_stat(inbox, POSTERS, &stat), -EINVAL);
	for (i = 0; i < 3 * SLOTS * POSTERS; i++) {
		u64 number = i / POSTERS;

		/* The last one lies, all the time. */
		if (i % POSTERS == POSTERS - 1)
			poster[i % POSTERS]->poster.ring[number % SLOTS].word =
				number * ISOLATOR_RING_ONE | ISOLATOR_RING_VOID;
		else
			KUNIT_EXPECT_EQ(test, isolator_port_post(poster[i % POSTERS], 1, &number,
								 sizeof(number)), 0);
		if (!isolator_port_receive(inbox, &message))
			continue;
		if (message.type == ISOLATOR_MESSAGE_GAP) {
			KUNIT_EXPECT_EQ(test, message.sender, POSTERS - 1);
			gaps++;
			continue;
		}
		KUNIT_EXPECT_LT(test, message.sender, POSTERS - 1);
		KUNIT_EXPECT_EQ(test, *(const u64 *)message.data, came[message.sender]);
		came[message.sender]++;
	}
	KUNIT_EXPECT_EQ(test, gaps, 3 * SLOTS);
	for (i = 0; i < POSTERS - 1; i++) {
		KUNIT_EXPECT_EQ(test, came[i], 3 * SLOTS);
		KUNIT_EXPECT_EQ(test, isolator_port_stat(inbox, i, &stat), 0);
		KUNIT_EXPECT_EQ(test, stat.received, 3 * SLOTS);
		KUNIT_EXPECT_EQ(test, stat.gaps, 0);
	}
	for (i = 0; i < POSTERS; i++)
		isolator_port_close(poster[i]);
	isolator_port_close(inbox);
	isolator_rings_put(rings);
}

static struct kunit_case isolator_messages_cases[] = {
	KUNIT_CASE(isolator_test_port_holders),
	KUNIT_CASE(isolator_test_port_interrupt),
	KUNIT_CASE(isolator_test_channel_lengths),
	KUNIT_CASE(isolator_test_channel_words),
	KUNIT_CASE(isolator_test_channel_overlong),
	KUNIT_CASE(isolator_test_channel_endless),
	KUNIT_CASE(isolator_test_channel_parts),
	KUNIT_CASE(isolator_test_channel_wiped),
	KUNIT_CASE(isolator_test_channel_far),
	KUNIT_CASE(isolator_test_channel_lines),
	KUNIT_CASE(isolator_test_inbox),
	{ }
};

static struct kunit_suite isolator_messages_suite = {
	.name = "isolator_messages",
	.test_cases = isolator_messages_cases,
};

kunit_test_suite(isolator_messages_suite);
