/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Channels: messages between two processes or threads, without a system call, a
 * lock or an interrupt.
 *
 * A channel is shared memory with two sides, A and B, and a ring in each
 * direction.  A side belongs to one thread at a time.  A post never waits: a ring
 * that is full is a return value.  A message of up to ISOLATOR_SLOT_BYTES moves
 * one cache line from core to core.
 *
 * Neither side trusts what is in the shared memory: the other one may crash,
 * start again or write anything anywhere.
 */
#ifndef ISOLATOR_CHANNEL_H
#define ISOLATOR_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Payload of one slot; a longer message takes several. */
#define ISOLATOR_SLOT_BYTES	56
/* A message's type is below it. */
#define ISOLATOR_TYPES		256U
/* The type whose callback is told of gaps; its data is a struct isolator_gap. */
#define ISOLATOR_TYPE_GAP	ISOLATOR_TYPES

#define ISOLATOR_SIDE_A		0U
#define ISOLATOR_SIDE_B		1U
/* With a side: take it although another process still holds it. */
#define ISOLATOR_SIDE_TAKE	(1U << 8)

/**
 * struct isolator_channel_options - what isolator_channel_create() is asked for
 * @size: sizeof(struct isolator_channel_options); ISOLATOR_CHANNEL_OPTIONS_INIT sets it
 * @slots: of each ring, a power of two from 8 to 1048576
 * @message_bytes: the longest message, up to half a ring and 65535 slots; 0 for
 *	4096 or a quarter of a ring, whichever is less
 * @flags: 0
 */
struct isolator_channel_options {
	uint32_t size;
	uint32_t slots;
	uint32_t message_bytes;
	uint32_t flags;
};

#define ISOLATOR_CHANNEL_OPTIONS_INIT \
	{ sizeof(struct isolator_channel_options), 1024, 0, 0 }

/**
 * struct isolator_gap - slots of the other side that were not handled here
 * @first: number of the first of them; the other side's first slot ever is 0, the
 *	number wraps at 2^48
 * @slots: how many; a message of up to ISOLATOR_SLOT_BYTES is one
 */
struct isolator_gap {
	uint64_t first;
	uint64_t slots;
};

/**
 * struct isolator_channel_counters - what one side did since it was opened
 * @size: in: sizeof(struct isolator_channel_counters)
 * @reserved: 0
 * @posted: messages posted
 * @full: posts that found the ring full
 * @received: messages given to callbacks
 * @unhandled: messages of a type that has no callback
 * @gaps: gaps reported
 * @lost: slots in these gaps
 * @invalid: slots passed over because what they held was no message
 * @resyncs: how often this side took another number because the other side, or
 *	what was left in the shared memory, was ahead
 */
struct isolator_channel_counters {
	uint32_t size;
	uint32_t reserved;
	uint64_t posted;
	uint64_t full;
	uint64_t received;
	uint64_t unhandled;
	uint64_t gaps;
	uint64_t lost;
	uint64_t invalid;
	uint64_t resyncs;
};

#define ISOLATOR_CHANNEL_COUNTERS_INIT \
	{ sizeof(struct isolator_channel_counters), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* One side of a channel. */
struct isolator_channel;

/*
 * A message has come.  @data is a private copy, aligned to 8 bytes, good until
 * the callback returns.  It may post, also on the same channel, but neither poll
 * nor close the channel that it was called from.
 */
typedef void (*isolator_callback)(void *context, unsigned int type,
				  const void *data, size_t length);

/* Make a channel.  Returns its descriptor, to be passed to the other side. */
int isolator_channel_create(const struct isolator_channel_options *options);

/*
 * Open a side of the channel behind @fd, which stays the caller's and may be
 * closed at once.  Goes on where the last one who had this side left off.
 */
int isolator_channel_open(int fd, unsigned int side, struct isolator_channel **channel);

/* Give a side back.  NULL is fine. */
int isolator_channel_close(struct isolator_channel *channel);

/* Have @callback called for messages of @type, or for gaps; NULL: nobody. */
int isolator_channel_register(struct isolator_channel *channel, unsigned int type,
			      isolator_callback callback, void *context);

/* What this side did; any thread of the process may ask. */
int isolator_channel_stats(const struct isolator_channel *channel,
			   struct isolator_channel_counters *stats);

/* Post a message.  0, or -EAGAIN when the ring is full; never waits. */
int isolator_post(struct isolator_channel *channel, unsigned int type,
		  const void *data, size_t length);

/* Look for messages, whether the slot that is next has changed or not. */
int isolator_poll_now(struct isolator_channel *channel, unsigned int max);

/*
 * What struct isolator_channel begins with, so that a poll that finds nothing is
 * one load of shared memory and no call.  Use isolator_poll().
 */
struct isolator_channel_view {
	const uint64_t *word;	/* of the slot that is next */
	uint64_t idle;		/* what it holds while nothing has come */
	uint64_t patience;	/* polls until a closer look */
};

/*
 * Call the callbacks of up to @max messages.  Returns how many there were, 0 when
 * none has come.
 */
static inline int isolator_poll(struct isolator_channel *channel, unsigned int max)
{
	struct isolator_channel_view *view = (struct isolator_channel_view *)channel;

	/* Relaxed: isolator_poll_now() loads the word again before it believes it. */
	if (__builtin_expect(__atomic_load_n(view->word, __ATOMIC_RELAXED) == view->idle, 1) &&
	    __builtin_expect(--view->patience != 0, 1))
		return 0;
	return isolator_poll_now(channel, max);
}

#ifdef __cplusplus
}
#endif

#endif /* ISOLATOR_CHANNEL_H */
