/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A channel whose shared memory somebody else writes to.  Each mapping lies between
 * pages that nobody may touch, so that an index that was believed crashes.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#define GUARD	65536UL

static void *guarded_mmap(void *address, size_t length, int protection, int flags, int fd,
			  off_t offset)
{
	unsigned char *room = mmap(address, length + 2 * GUARD, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		return MAP_FAILED;
	return mmap(room + GUARD, length, protection, flags | MAP_FIXED, fd, offset);
}

static int guarded_munmap(void *address, size_t length)
{
	return munmap((unsigned char *)address - GUARD, length + 2 * GUARD);
}

/* A generator of numbers; the same seed gives the same run. */
static inline uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Fresh messages carry numbers that only grow. */
struct traffic {
	struct pair pair;
	uint64_t posted;	/* the number of the last post that returned 0 */
	uint64_t seen;		/* the greatest number received */
	unsigned int received, gaps;
	bool strict;		/* nothing scribbles: what comes is what was posted */
};

static void traffic_hear(void *context, unsigned int type, const void *data, size_t length)
{
	struct traffic *traffic = context;
	uint64_t number = 0;

	if (type == ISOLATOR_TYPE_GAP) {
		CHECK_EQUAL(length, sizeof(struct isolator_gap));
		traffic->gaps++;
		return;
	}
	CHECK(type < ISOLATOR_TYPES);
	CHECK(length <= traffic->pair.b->rx.message_bytes);
	/* Every byte is there to be read: AddressSanitizer looks at this. */
	for (size_t i = 0; i < length; i++)
		number += ((const volatile unsigned char *)data)[i];
	if (!traffic->strict)
		return;
	CHECK(length >= sizeof(number));
	memcpy(&number, data, sizeof(number));
	CHECK(number > traffic->seen && number <= traffic->posted + 1);
	traffic->seen = number;
	traffic->received++;
}

static bool traffic_post(struct traffic *traffic, size_t length)
{
	unsigned char data[16 * ISOLATOR_SLOT_BYTES] = { 0 };
	uint64_t number = traffic->posted + 1;

	memcpy(data, &number, sizeof(number));
	if (isolator_post(traffic->pair.a, 1, data, length) < 0)
		return false;
	traffic->posted++;
	return true;
}

static struct isolator_channel *traffic_open(struct traffic *traffic, unsigned int side)
{
	struct isolator_channel *channel = NULL;

	CHECK_EQUAL(isolator_channel_open(traffic->pair.fd, side, &channel), 0);
	for (unsigned int type = 0; channel && type <= ISOLATOR_TYPE_GAP; type++)
		isolator_channel_register(channel, type, traffic_hear, traffic);
	return channel;
}

/* Let one side crash and start again. */
static inline void traffic_reopen(struct traffic *traffic, unsigned int side)
{
	struct isolator_channel **channel =
		side == ISOLATOR_SIDE_A ? &traffic->pair.a : &traffic->pair.b;

	isolator_channel_close(*channel);
	*channel = traffic_open(traffic, side);
	if (!*channel)
		exit(1);
}

static inline void traffic_begin(struct traffic *traffic, uint32_t slots)
{
	memset(traffic, 0, sizeof(*traffic));
	CHECK(pair_make(&traffic->pair, slots, 4 * ISOLATOR_SLOT_BYTES));
	for (unsigned int type = 0; type <= ISOLATOR_TYPE_GAP; type++)
		isolator_channel_register(traffic->pair.b, type, traffic_hear, traffic);
}

/*
 * The scribbling is over.  However things are, posting and polling go on until the
 * ring has been gone round, within a bounded number of polls; from then on nothing is
 * lost, doubled, out of order or reported as a gap.
 */
static inline void traffic_recovers(struct traffic *traffic)
{
	uint64_t slots = traffic->pair.a->tx.mask + 1;
	uint64_t bound = 16 * 1024 * slots;
	unsigned int gaps, received;
	uint64_t came = 0;

	traffic->strict = false;
	for (uint64_t polls = 0; came < 4 * slots; polls++) {
		int got;

		traffic_post(traffic, 8);
		got = isolator_poll(traffic->pair.b, 4);
		CHECK(got >= 0);
		came += got > 0 ? (uint64_t)got : 0;
		if (polls > bound) {
			CHECK(!"the channel is wedged");
			return;
		}
	}
	for (uint64_t idle = 0; idle < 1024 * slots; idle++)
		if (isolator_poll(traffic->pair.b, 4) > 0)
			idle = 0;
	traffic->strict = true;
	traffic->seen = traffic->posted;
	gaps = traffic->gaps;
	received = traffic->received;
	for (unsigned int i = 0; i < 3 * slots; i++) {
		CHECK(traffic_post(traffic, i % 3 ? 8 : 3 * ISOLATOR_SLOT_BYTES));
		CHECK_EQUAL(isolator_poll_now(traffic->pair.b, 1), 1);
	}
	CHECK_EQUAL(traffic->received - received, 3 * slots);
	CHECK_EQUAL(traffic->gaps, gaps);
}

#endif
