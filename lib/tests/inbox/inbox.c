// SPDX-License-Identifier: LGPL-2.1-or-later
/* The inbox with posters that behave, and its errors. */
#include "check.h"
#include "inbox.h"

#define SLOTS	16U

static void many_to_one(void)
{
	struct isolator_channel *posters[POSTERS];
	int before = descriptors();
	struct ears ears = { 0 };
	int fd = inbox_make(SLOTS);

	ears_open(&ears, fd);
	CHECK_EQUAL(isolator_inbox_poll(ears.inbox, 8), 0);
	for (unsigned int i = 0; i < POSTERS; i++)
		posters[i] = inbox_join(fd, i);
	close(fd);
	for (unsigned int number = 1; number <= 5 * SLOTS; number++) {
		for (unsigned int i = 0; i < POSTERS; i++)
			CHECK_EQUAL(letter_post(posters[i], i, number), 0);
		CHECK_EQUAL(isolator_inbox_poll(ears.inbox, 2 * POSTERS), POSTERS);
		CHECK_EQUAL(isolator_inbox_poll(ears.inbox, 2 * POSTERS), 0);
	}
	for (unsigned int i = 0; i < POSTERS; i++) {
		struct isolator_channel_counters counters = ISOLATOR_CHANNEL_COUNTERS_INIT;

		CHECK_EQUAL(ears.came[i], 5 * SLOTS);
		CHECK_EQUAL(ears.gaps[i], 0);
		CHECK_EQUAL(isolator_inbox_stats(ears.inbox, i, &counters), 0);
		CHECK_EQUAL(counters.received, 5 * SLOTS);
		CHECK_EQUAL(isolator_channel_stats(posters[i], &counters), 0);
		CHECK_EQUAL(counters.posted, 5 * SLOTS);
		CHECK_EQUAL(isolator_channel_close(posters[i]), 0);
	}
	CHECK_EQUAL(isolator_inbox_close(ears.inbox), 0);
	CHECK_EQUAL(isolator_inbox_close(NULL), 0);
	CHECK_EQUAL(descriptors(), before);
}

/* One that fills its lane again and again does not keep the others from being heard. */
static void nobody_is_kept_waiting(void)
{
	struct isolator_channel *loud, *quiet;
	struct ears ears = { 0 };
	int fd = inbox_make(SLOTS);
	uint64_t number = 0;

	ears_open(&ears, fd);
	loud = inbox_join(fd, 2);
	quiet = inbox_join(fd, 5);
	CHECK_EQUAL(letter_post(quiet, 5, 1), 0);
	for (unsigned int polls = 0; polls < 2; polls++) {
		while (letter_post(loud, 2, number + 1) == 0)
			number++;
		CHECK_EQUAL(isolator_inbox_poll(ears.inbox, 3), 3);
	}
	CHECK_EQUAL(ears.came[5], 1);
	CHECK(ears.came[2] >= 3);
	isolator_channel_close(loud);
	isolator_channel_close(quiet);
	isolator_inbox_close(ears.inbox);
	close(fd);
}

/* What a lane holds is bounded, and what was refused is not there. */
static void full(void)
{
	struct isolator_channel *channel;
	struct ears ears = { 0 };
	int fd = inbox_make(SLOTS);
	uint64_t number = 0;

	ears_open(&ears, fd);
	channel = inbox_join(fd, 0);
	while (letter_post(channel, 0, number + 1) == 0 && number <= SLOTS)
		number++;
	CHECK(number > 0 && number < SLOTS);
	CHECK_EQUAL(letter_post(channel, 0, number + 1), -EAGAIN);
	CHECK_EQUAL(isolator_inbox_poll(ears.inbox, 2 * SLOTS), number);
	CHECK_EQUAL(letter_post(channel, 0, number + 1), 0);
	CHECK_EQUAL(isolator_inbox_poll(ears.inbox, 1), 1);
	isolator_channel_close(channel);
	isolator_inbox_close(ears.inbox);
	close(fd);
}

/* A lane has one holder; the first that is free; taken from one that hangs. */
static void lanes_are_held(void)
{
	struct isolator_channel *channels[POSTERS], *more;
	int fd = inbox_make(SLOTS);

	for (unsigned int i = 0; i < POSTERS; i++)
		CHECK_EQUAL(isolator_inbox_join(fd, ISOLATOR_POSTER_ANY, &channels[i]), i);
	CHECK_EQUAL(isolator_inbox_join(fd, ISOLATOR_POSTER_ANY, &more), -EBUSY);
	CHECK(more == NULL);
	CHECK(strstr(isolator_strerror(EBUSY), "lane") != NULL);
	CHECK_EQUAL(isolator_inbox_join(fd, 3, &more), -EBUSY);
	CHECK_EQUAL(isolator_inbox_join(fd, 3 | ISOLATOR_SIDE_TAKE, &more), 3);
	isolator_channel_close(more);
	isolator_channel_close(channels[3]);
	isolator_channel_close(channels[6]);
	CHECK_EQUAL(isolator_inbox_join(fd, ISOLATOR_POSTER_ANY, &channels[3]), 3);
	CHECK_EQUAL(isolator_inbox_join(fd, 6, &channels[6]), 6);
	for (unsigned int i = 0; i < POSTERS; i++)
		isolator_channel_close(channels[i]);
	close(fd);
}

/* The next receiver goes on where the last one was, and there is one at a time. */
static void receivers_follow(void)
{
	struct isolator_channel *channel;
	struct isolator_inbox *second;
	struct ears ears = { 0 };
	int fd = inbox_make(SLOTS);

	ears_open(&ears, fd);
	channel = inbox_join(fd, 7);
	for (unsigned int number = 1; number <= 4; number++)
		CHECK_EQUAL(letter_post(channel, 7, number), 0);
	CHECK_EQUAL(isolator_inbox_poll(ears.inbox, 2), 2);
	CHECK_EQUAL(isolator_inbox_open(fd, 0, &second), -EBUSY);
	CHECK_EQUAL(isolator_inbox_open(fd, ISOLATOR_SIDE_TAKE, &second), 0);
	isolator_inbox_close(second);
	isolator_inbox_close(ears.inbox);
	ears_open(&ears, fd);
	CHECK_EQUAL(isolator_inbox_poll(ears.inbox, 8), 2);
	CHECK_EQUAL(ears.last[7], 4);
	CHECK_EQUAL(ears.gaps[7], 0);
	isolator_channel_close(channel);
	isolator_inbox_close(ears.inbox);
	close(fd);
}

static void call_back(void *context, unsigned int type, const void *data, size_t length)
{
	struct ears *ears = context;

	(void)type, (void)data, (void)length;
	CHECK_EQUAL(isolator_inbox_poll(ears->inbox, 1), -EDEADLK);
	CHECK_EQUAL(isolator_inbox_close(ears->inbox), -EDEADLK);
	CHECK_EQUAL(isolator_inbox_sender(ears->inbox), 4);
	ears->came[4]++;
}

static void callbacks_neither_poll_nor_close(void)
{
	struct isolator_channel *channel, *other;
	struct ears ears = { 0 };
	int fd = inbox_make(SLOTS);

	ears_open(&ears, fd);
	isolator_inbox_register(ears.inbox, 1, call_back, &ears);
	channel = inbox_join(fd, 4);
	/* What a poll in the callback would find. */
	other = inbox_join(fd, 5);
	CHECK_EQUAL(letter_post(channel, 4, 2), 0);
	CHECK_EQUAL(letter_post(other, 5, 2), 0);
	CHECK_EQUAL(isolator_inbox_poll(ears.inbox, 1), 1);
	CHECK_EQUAL(ears.came[4], 1);
	isolator_channel_close(channel);
	isolator_channel_close(other);
	isolator_inbox_close(ears.inbox);
	close(fd);
}

static void wrong_options(void)
{
	struct isolator_inbox_options good = ISOLATOR_INBOX_OPTIONS_INIT;
	struct { struct isolator_inbox_options options; uint32_t more; } later = { good, 1 };
	const struct isolator_inbox_options wrong[] = {
		{ 8, 8, 1024, 0, 0 }, { sizeof(good), 0, 1024, 0, 0 },
		{ sizeof(good), 257, 1024, 0, 0 }, { sizeof(good), 8, 24, 0, 0 },
		{ sizeof(good), 8, 4, 0, 0 }, { sizeof(good), 8, 16, 9 * 56, 0 },
		{ sizeof(good), 8, 1024, 0, 1 },
	};

	CHECK_EQUAL(isolator_inbox_create(NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_EQUAL(isolator_inbox_create(&wrong[i]), -EINVAL);
	CHECK(strstr(isolator_strerror(EINVAL), "ISOLATOR_INBOX_OPTIONS_INIT") != NULL);
	later.options.size = sizeof(later);
	CHECK_EQUAL(isolator_inbox_create(&later.options), -E2BIG);
	later.more = 0;
	close(isolator_inbox_create(&later.options));
}

static void wrong_calls(void)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct isolator_channel_counters counters = ISOLATOR_CHANNEL_COUNTERS_INIT;
	struct isolator_channel *channel;
	struct ears ears = { 0 };
	int before = descriptors();
	int fd = inbox_make(SLOTS);
	int other = isolator_channel_create(&options);

	CHECK_EQUAL(isolator_inbox_open(fd, 0, NULL), -EINVAL);
	CHECK_EQUAL(isolator_inbox_open(fd, 1, &ears.inbox), -EINVAL);
	CHECK_EQUAL(isolator_inbox_open(-1, 0, &ears.inbox), -EBADF);
	CHECK_EQUAL(isolator_inbox_open(other, 0, &ears.inbox), -EPROTO);
	CHECK_EQUAL(isolator_inbox_join(other, 0, &channel), -EPROTO);
	CHECK_EQUAL(isolator_channel_open(fd, 0, &channel), -EPROTO);
	CHECK_EQUAL(isolator_inbox_join(fd, 0, NULL), -EINVAL);
	CHECK_EQUAL(isolator_inbox_join(fd, POSTERS, &channel), -EINVAL);
	CHECK_EQUAL(isolator_inbox_join(fd, ISOLATOR_POSTER_ANY | ISOLATOR_SIDE_TAKE, &channel),
		    -EINVAL);
	CHECK(channel == NULL);
	ears_open(&ears, fd);
	CHECK_EQUAL(isolator_inbox_register(ears.inbox, 257, NULL, NULL), -EINVAL);
	CHECK_EQUAL(isolator_inbox_stats(ears.inbox, POSTERS, &counters), -EINVAL);
	channel = inbox_join(fd, 0);
	/* More than it takes until a poll looks closer. */
	for (unsigned int i = 0; i < 3 * PATIENCE; i++)
		CHECK_EQUAL(isolator_poll(channel, 1), -EOPNOTSUPP);
	CHECK(strstr(isolator_strerror(EOPNOTSUPP), "only posts") != NULL);
	isolator_channel_close(channel);
	isolator_inbox_close(ears.inbox);
	close(other);
	close(fd);
	CHECK_EQUAL(descriptors(), before);
}

static const struct test tests[] = {
	{ "many posters, one receiver", many_to_one },
	{ "a loud poster keeps nobody waiting", nobody_is_kept_waiting },
	{ "a lane is bounded", full },
	{ "a lane has one holder", lanes_are_held },
	{ "a receiver goes on after the last one", receivers_follow },
	{ "a callback neither polls nor closes", callbacks_neither_poll_nor_close },
	{ "wrong options", wrong_options },
	{ "wrong calls", wrong_calls },
};

int main(void)
{
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
