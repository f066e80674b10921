// SPDX-License-Identifier: LGPL-2.1-or-later
/* A channel: made, opened by each side, asked, given back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "segment.h"

/* The first version's sizes: smaller ones were never initialised. */
#define OPTIONS_FIRST	sizeof(struct isolator_channel_options)
#define STATS_FIRST	sizeof(struct isolator_channel_counters)

static int check_options(const struct isolator_channel_options *options)
{
	if (!options || options->size < OPTIONS_FIRST || options->flags)
		return isolator_failed(STEP_CREATE, EINVAL);
	if (!options_end(options, sizeof(*options), options->size))
		return isolator_failed(STEP_CREATE, E2BIG);
	if (!isolator_ring_is_sound(options->slots, options->message_bytes))
		return isolator_failed(STEP_CREATE, EINVAL);
	return 0;
}

EXPORT int isolator_channel_create(const struct isolator_channel_options *options)
{
	struct isolator_ring_header header = { .magic = ISOLATOR_RING_CHANNEL };
	int error = check_options(options);

	if (error)
		return error;
	header.slots = options->slots;
	header.message_bytes = options->message_bytes;
	header.bytes = isolator_ring_channel_bytes(header.slots);
	return isolator_segment_create("isolator-channel", &header);
}

static int read_header(int fd, struct isolator_ring_header *header)
{
	int error = isolator_segment_read(fd, header);

	if (error)
		return error;
	if (header->magic != ISOLATOR_RING_CHANNEL || header->posters ||
	    header->bytes != isolator_ring_channel_bytes(header->slots))
		return isolator_failed(STEP_SIDE, EPROTO);
	return 0;
}

static void set_up(struct isolator_channel *channel, const struct isolator_ring_header *header,
		   unsigned int side)
{
	struct isolator_slot *rings = (void *)(channel->shared + 1);
	struct poster *tx = &channel->tx;
	struct receiver *rx = &channel->rx;

	/* Ring 0 is posted to by A. */
	tx->ring = rings + (side == ISOLATOR_SIDE_A ? 0 : header->slots);
	tx->other = &channel->shared->receiver[side == ISOLATOR_SIDE_A ? 0 : 1];
	tx->mask = header->slots - 1;
	tx->message_bytes = header->message_bytes;
	rx->ring = rings + (side == ISOLATOR_SIDE_A ? header->slots : 0);
	rx->own = &channel->shared->receiver[side == ISOLATOR_SIDE_A ? 1 : 0];
	rx->mask = header->slots - 1;
	rx->message_bytes = header->message_bytes;
	isolator_post_begin(channel);
	isolator_poll_begin(channel);
}

EXPORT int isolator_channel_open(int fd, unsigned int side, struct isolator_channel **channel)
{
	struct isolator_channel *new;
	struct isolator_ring_header header;
	void *memory;
	int error;

	if (!channel || (side & ~ISOLATOR_SIDE_TAKE) > ISOLATOR_SIDE_B)
		return isolator_failed(STEP_SIDE, EINVAL);
	*channel = NULL;
	error = read_header(fd, &header);
	if (error)
		return error;
	new = isolator_new_channels(1);
	if (!new)
		return isolator_failed(STEP_SIDE, ENOMEM);
	new->bytes = header.bytes;
	new->rx.message = calloc(1, header.message_bytes);
	if (!new->rx.message) {
		error = isolator_failed(STEP_SIDE, ENOMEM);
		goto out_memory;
	}
	new->fd = isolator_segment_hold(fd, side & ~ISOLATOR_SIDE_TAKE, side & ISOLATOR_SIDE_TAKE);
	if (new->fd < 0) {
		error = new->fd;
		goto out_memory;
	}
	error = isolator_segment_map(new->fd, 0, new->bytes, &memory);
	if (error)
		goto out_descriptor;
	new->shared = memory;
	set_up(new, &header, side & ~ISOLATOR_SIDE_TAKE);
	*channel = new;
	return 0;

out_descriptor:
	isolator_sys.close(new->fd);
out_memory:
	free(new->rx.message);
	free(new);
	return error;
}

EXPORT int isolator_channel_close(struct isolator_channel *channel)
{
	if (!channel)
		return 0;
	if (channel->rx.state == RECEIVER_BUSY)
		return isolator_failed(STEP_CLOSE, EDEADLK);
	isolator_sys.munmap(channel->shared, channel->bytes);
	isolator_sys.close(channel->fd);
	free(channel->rx.message);
	free(channel);
	return 0;
}

EXPORT int isolator_channel_register(struct isolator_channel *channel, unsigned int type,
				     isolator_callback callback, void *context)
{
	if (type > ISOLATOR_TYPE_GAP)
		return isolator_failed(STEP_REGISTER, EINVAL);
	channel->handlers[type].callback = callback;
	channel->handlers[type].context = context;
	return 0;
}

/* Counters are read one by one, without order: each is right for some moment. */
static uint64_t counter(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

EXPORT int isolator_channel_stats(const struct isolator_channel *channel,
				  struct isolator_channel_counters *stats)
{
	const struct receiver *rx = &channel->rx;
	const struct poster *tx = &channel->tx;
	struct isolator_channel_counters full = {
		.posted = counter(&tx->posted),
		.full = counter(&tx->full),
		.received = counter(&rx->received),
		.unhandled = counter(&rx->unhandled),
		.gaps = counter(&rx->gaps),
		.lost = counter(&rx->lost),
		.invalid = counter(&rx->invalid),
		.resyncs = counter(&tx->resyncs) + counter(&rx->resyncs),
	};

	if (stats->size < STATS_FIRST)
		return isolator_failed(STEP_STATS, EINVAL);
	full.size = stats->size;
	memcpy(stats, &full, sizeof(full));
	return 0;
}
