/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Both sides of one channel in one process, and what its callbacks were told. */
#ifndef PAIR_H
#define PAIR_H

#include <string.h>
#include <unistd.h>

#include "../src/channel.h"

struct heard {
	unsigned int calls;
	unsigned int type;
	size_t length;
	unsigned char data[8192];
	unsigned int gaps;
	struct isolator_gap gap;
};

struct pair {
	int fd;
	struct isolator_channel *a, *b;
	struct heard at_a, at_b;
};

static inline void pair_hear(void *context, unsigned int type, const void *data, size_t length)
{
	struct heard *heard = context;

	if (type == ISOLATOR_TYPE_GAP) {
		heard->gaps++;
		memcpy(&heard->gap, data, sizeof(heard->gap));
		return;
	}
	heard->calls++;
	heard->type = type;
	heard->length = length;
	memcpy(heard->data, data, length < sizeof(heard->data) ? length : sizeof(heard->data));
}

static inline struct isolator_channel *pair_open(int fd, unsigned int side, struct heard *heard)
{
	struct isolator_channel *channel;

	if (isolator_channel_open(fd, side, &channel) < 0)
		return NULL;
	for (unsigned int type = 0; type <= ISOLATOR_TYPE_GAP; type++)
		isolator_channel_register(channel, type, pair_hear, heard);
	return channel;
}

/* False, with nothing left open, when it did not work. */
static inline bool pair_make(struct pair *pair, uint32_t slots, uint32_t message_bytes)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;

	memset(pair, 0, sizeof(*pair));
	options.slots = slots;
	options.message_bytes = message_bytes;
	pair->fd = isolator_channel_create(&options);
	if (pair->fd < 0)
		return false;
	pair->a = pair_open(pair->fd, ISOLATOR_SIDE_A, &pair->at_a);
	pair->b = pair_open(pair->fd, ISOLATOR_SIDE_B, &pair->at_b);
	return pair->a && pair->b;
}

static inline void pair_drop(struct pair *pair)
{
	isolator_channel_close(pair->a);
	isolator_channel_close(pair->b);
	close(pair->fd);
}

static inline struct isolator_channel_counters pair_stats(const struct isolator_channel *channel)
{
	struct isolator_channel_counters counters = ISOLATOR_CHANNEL_COUNTERS_INIT;

	isolator_channel_stats(channel, &counters);
	return counters;
}

#endif
