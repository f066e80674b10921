/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An inbox whose posters number their messages, and what its receiver heard. */
#ifndef INBOX_H
#define INBOX_H

#include "../../src/channel.h"

#define POSTERS	8U

/* What posters post: any longer message repeats its number to the end. */
struct letter {
	uint64_t poster;
	uint64_t number;	/* from 1 on */
	uint64_t fill[22];
};

#define LETTER_LONG	sizeof(struct letter)
#define LETTER_SHORT	(2 * sizeof(uint64_t))

struct ears {
	struct isolator_inbox *inbox;
	uint64_t last[POSTERS];	/* the number that came last */
	unsigned int came[POSTERS];
	unsigned int gaps[POSTERS];
};

static inline size_t letter_length(uint64_t number)
{
	return number % 3 == 1 ? LETTER_LONG : LETTER_SHORT;
}

static inline int letter_post(struct isolator_channel *channel, uint64_t poster, uint64_t number)
{
	struct letter letter = { poster, number, { 0 } };

	for (size_t i = 0; i < sizeof(letter.fill) / sizeof(letter.fill[0]); i++)
		letter.fill[i] = number;
	return isolator_post(channel, 1, &letter, letter_length(number));
}

/* Each poster's letters come one after the other, whole, and from nobody else. */
static inline void letter_hear(void *context, unsigned int type, const void *data, size_t length)
{
	struct ears *ears = context;
	unsigned int sender = isolator_inbox_sender(ears->inbox);
	const struct letter *letter = data;

	CHECK(sender < POSTERS);
	if (type == ISOLATOR_TYPE_GAP) {
		ears->gaps[sender]++;
		return;
	}
	CHECK_EQUAL(letter->poster, sender);
	CHECK_EQUAL(letter->number, ears->last[sender] + 1);
	CHECK_EQUAL(length, letter_length(letter->number));
	for (size_t i = 0; i < (length - LETTER_SHORT) / sizeof(letter->fill[0]); i++)
		CHECK_EQUAL(letter->fill[i], letter->number);
	ears->last[sender] = letter->number;
	ears->came[sender]++;
}

static inline void ears_open(struct ears *ears, int fd)
{
	CHECK_EQUAL(isolator_inbox_open(fd, 0, &ears->inbox), 0);
	if (!ears->inbox)
		exit(1);
	isolator_inbox_register(ears->inbox, 1, letter_hear, ears);
	isolator_inbox_register(ears->inbox, ISOLATOR_TYPE_GAP, letter_hear, ears);
}

static inline int inbox_make(uint32_t slots)
{
	struct isolator_inbox_options options = ISOLATOR_INBOX_OPTIONS_INIT;
	int fd;

	options.posters = POSTERS;
	options.slots = slots;
	options.message_bytes = LETTER_LONG;
	fd = isolator_inbox_create(&options);
	CHECK(fd >= 0);
	return fd;
}

static inline struct isolator_channel *inbox_join(int fd, unsigned int poster)
{
	struct isolator_channel *channel = NULL;

	CHECK_EQUAL(isolator_inbox_join(fd, poster, &channel), poster & ~ISOLATOR_SIDE_TAKE);
	if (!channel)
		exit(1);
	return channel;
}

#endif
