// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A hostile poster writes anything anywhere in its lane, or in all of the inbox, between and
 * during polls.  The receiver stays within its bounds (guard pages, AddressSanitizer), no poll
 * hangs, what others post in lanes of their own comes as it was posted, and a lane whose
 * scribbler is gone works again.   inbox-hostile [ROUNDS [SEED]]
 */
#include "check.h"
#include "inbox.h"
#include "../pair.h"
#include "../hostile.h"

#define SLOTS		16U
#define OPERATIONS	300U
#define LIAR		3U

static unsigned long rounds = 150;
static uint64_t seed = 0x9e3779b97f4a7c15;

/* What the liar's lane said is anybody's guess; every byte of it can be read. */
static void hear(void *context, unsigned int type, const void *data, size_t length)
{
	struct ears *ears = context;
	unsigned int sum = 0;

	if (isolator_inbox_sender(ears->inbox) != LIAR) {
		letter_hear(context, type, data, length);
		return;
	}
	CHECK(type <= ISOLATOR_TYPE_GAP);
	CHECK(type == ISOLATOR_TYPE_GAP || length <= LETTER_LONG);
	for (size_t i = 0; i < length; i++)
		sum += ((const volatile unsigned char *)data)[i];
	(void)sum;
	ears->came[LIAR]++;
}

/* What the liar can reach is what its handle has mapped. */
static void scribble(struct isolator_channel *channel, uint64_t *state)
{
	_Atomic uint64_t *words = (void *)channel->shared;
	uint64_t at = draw(state) % (channel->bytes / 8);
	uint64_t near = channel->tx.next + (draw(state) % 64 - 32) * NUMBER_ONE;

	switch (draw(state) % 4) {
	case 0:
		atomic_store_explicit(&words[at], draw(state), memory_order_relaxed);
		break;
	case 1:
		atomic_store_explicit(&words[at], near, memory_order_relaxed);
		break;
	case 2:
		atomic_store_explicit(&channel->tx.other->taken, near, memory_order_relaxed);
		break;
	default:
		atomic_store_explicit(&channel->tx.ring[draw(state) % SLOTS].word,
				      near | WORD_FIRST | (draw(state) & 0x7f),
				      memory_order_relaxed);
	}
}

/* After its end: the lane goes on within a bounded number of polls, then nothing is lost. */
static void lane_recovers(struct ears *ears, int fd)
{
	struct isolator_channel *channel = inbox_join(fd, LIAR);
	unsigned int before, came = 0;

	for (unsigned int polls = 0; came < 4 * SLOTS; polls++) {
		letter_post(channel, LIAR, 2);
		came += (unsigned int)isolator_inbox_poll(ears->inbox, 2);
		if (polls > 16 * PATIENCE * SLOTS) {
			CHECK(!"the lane is wedged");
			break;
		}
	}
	for (unsigned int idle = 0; idle < PATIENCE * SLOTS; idle++)
		if (isolator_inbox_poll(ears->inbox, 2) > 0)
			idle = 0;
	before = ears->came[LIAR];
	for (unsigned int i = 0; i < 3 * SLOTS; i++) {
		CHECK_EQUAL(letter_post(channel, LIAR, i), 0);
		CHECK_EQUAL(isolator_inbox_poll(ears->inbox, 2), 1);
	}
	CHECK_EQUAL(ears->came[LIAR] - before, 3 * SLOTS);
	isolator_channel_close(channel);
}

static void random_lies(void)
{
	uint64_t state = seed;

	for (unsigned long round = 0; round < rounds && !check_failed; round++) {
		struct isolator_channel *liar, *honest[POSTERS] = { NULL };
		struct ears ears = { 0 };
		uint64_t number[POSTERS] = { 0 };
		int fd = inbox_make(SLOTS);

		ears_open(&ears, fd);
		isolator_inbox_register(ears.inbox, 1, hear, &ears);
		isolator_inbox_register(ears.inbox, ISOLATOR_TYPE_GAP, hear, &ears);
		for (unsigned int i = 0; i < POSTERS; i++)
			if (i != LIAR)
				honest[i] = inbox_join(fd, i);
		liar = inbox_join(fd, LIAR);
		for (unsigned int i = 0; i < OPERATIONS; i++) {
			unsigned int who = draw(&state) % POSTERS;

			if (who == LIAR || draw(&state) % 2)
				scribble(liar, &state);
			if (who == LIAR)
				letter_post(liar, LIAR, i);
			else if (letter_post(honest[who], who, number[who] + 1) == 0)
				number[who]++;
			CHECK(isolator_inbox_poll(ears.inbox, draw(&state) % 5) >= 0);
		}
		isolator_channel_close(liar);
		for (unsigned int i = 0; i < 4 * POSTERS; i++)
			isolator_inbox_poll(ears.inbox, SLOTS);
		for (unsigned int i = 0; i < POSTERS; i++)
			CHECK(i == LIAR || (ears.last[i] == number[i] && number[i] && !ears.gaps[i]));
		lane_recovers(&ears, fd);
		for (unsigned int i = 0; i < POSTERS; i++)
			isolator_channel_close(honest[i]);
		isolator_inbox_close(ears.inbox);
		close(fd);
		if (check_failed)
			printf("# round %lu of seed %#llx\n", round, (unsigned long long)seed);
	}
}

struct both {
	struct isolator_channel *liar;
	struct isolator_channel *honest;
	uint64_t posted;
	_Atomic bool stop;
};

static void *keep_scribbling(void *context)
{
	struct both *both = context;
	uint64_t state = seed;

	while (!atomic_load(&both->stop))
		scribble(both->liar, &state);
	return NULL;
}

static void *keep_posting(void *context)
{
	struct both *both = context;

	while (!atomic_load(&both->stop))
		if (letter_post(both->honest, 0, both->posted + 1) == 0)
			both->posted++;
		else
			sched_yield();
	return NULL;
}

static void while_others_run(void)
{
	struct ears ears = { 0 };
	struct both both = { 0 };
	pthread_t scribbler, poster;
	int fd = inbox_make(SLOTS);

	ears_open(&ears, fd);
	isolator_inbox_register(ears.inbox, 1, hear, &ears);
	isolator_inbox_register(ears.inbox, ISOLATOR_TYPE_GAP, hear, &ears);
	both.liar = inbox_join(fd, LIAR);
	both.honest = inbox_join(fd, 0);
	CHECK_EQUAL(pthread_create(&scribbler, NULL, keep_scribbling, &both), 0);
	CHECK_EQUAL(pthread_create(&poster, NULL, keep_posting, &both), 0);
	while (ears.last[0] < 200 * rounds && !check_failed)
		CHECK(isolator_inbox_poll(ears.inbox, 16) >= 0);
	atomic_store(&both.stop, true);
	pthread_join(scribbler, NULL);
	pthread_join(poster, NULL);
	isolator_channel_close(both.liar);
	while (ears.last[0] < both.posted && !check_failed)
		isolator_inbox_poll(ears.inbox, SLOTS);
	lane_recovers(&ears, fd);
	isolator_channel_close(both.honest);
	isolator_inbox_close(ears.inbox);
	close(fd);
}

/* A header that does not fit: neither a receiver nor a poster believes it. */
static void header_lies(void)
{
	static const uint32_t posters[] = { 0, 7, 9, 257, ~0U };
	struct isolator_ring_header good, bad;
	struct isolator_channel *channel;
	struct isolator_inbox *inbox;
	int fd = inbox_make(SLOTS);

	CHECK_EQUAL(pread(fd, &good, sizeof(good), 0), sizeof(good));
	for (size_t i = 0; i < sizeof(posters) / sizeof(posters[0]); i++) {
		bad = good;
		bad.posters = posters[i];
		CHECK_EQUAL(pwrite(fd, &bad, sizeof(bad), 0), sizeof(bad));
		CHECK_EQUAL(isolator_inbox_open(fd, 0, &inbox), -EPROTO);
		CHECK_EQUAL(isolator_inbox_join(fd, 0, &channel), -EPROTO);
	}
	close(fd);
}

static const struct test tests[] = {
	{ "lies between calls", random_lies },
	{ "lies during calls", while_others_run },
	{ "a header that lies", header_lies },
};

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0);
	isolator_sys.mmap = guarded_mmap;
	isolator_sys.munmap = guarded_munmap;
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
