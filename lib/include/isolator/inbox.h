/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inboxes: messages from many posters to one receiver, without a system call, a lock
 * or an interrupt.
 *
 * An inbox is shared memory with a lane for each poster: a ring of its own, as a channel
 * has.  Posters do not meet, so one that dies between any two instructions, or writes
 * anything into its lane, takes no other's message and holds up nobody.  The messages of
 * one poster come in their order; between posters there is none.  A post never waits: a
 * lane that is full is a return value.
 */
#ifndef ISOLATOR_INBOX_H
#define ISOLATOR_INBOX_H

#include <stdint.h>

#include <isolator/channel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most posters that an inbox can have. */
#define ISOLATOR_POSTERS	256U
/* In place of a poster's number: the first lane that nobody holds. */
#define ISOLATOR_POSTER_ANY	(1U << 9)

/**
 * struct isolator_inbox_options - what isolator_inbox_create() is asked for
 * @size: sizeof(struct isolator_inbox_options); ISOLATOR_INBOX_OPTIONS_INIT sets it
 * @posters: lanes, from 1 to ISOLATOR_POSTERS
 * @slots: of each lane, a power of two from 8 to 1048576
 * @message_bytes: the longest message, up to half a lane and 65535 slots; 0 for
 *	4096 or a quarter of a lane, whichever is less
 * @flags: 0
 */
struct isolator_inbox_options {
	uint32_t size;
	uint32_t posters;
	uint32_t slots;
	uint32_t message_bytes;
	uint32_t flags;
};

#define ISOLATOR_INBOX_OPTIONS_INIT \
	{ sizeof(struct isolator_inbox_options), 8, 1024, 0, 0 }

/* The receiver's handle. */
struct isolator_inbox;

/* Make an inbox.  Returns its descriptor, to be passed to receiver and posters. */
int isolator_inbox_create(const struct isolator_inbox_options *options);

/*
 * Open the inbox behind @fd to receive.  @flags: 0, or ISOLATOR_SIDE_TAKE to take it
 * although another process still receives.  Goes on where the last receiver left off.
 */
int isolator_inbox_open(int fd, unsigned int flags, struct isolator_inbox **inbox);

/*
 * Open lane @poster of the inbox behind @fd to post: a number below the inbox's posters, which
 * may be combined with ISOLATOR_SIDE_TAKE, or ISOLATOR_POSTER_ANY.  Returns the number.
 * @channel is for isolator_post(), isolator_channel_stats() and isolator_channel_close().
 */
int isolator_inbox_join(int fd, unsigned int poster, struct isolator_channel **channel);

/* Stop receiving.  NULL is fine. */
int isolator_inbox_close(struct isolator_inbox *inbox);

/* Have @callback called for messages of @type, or for gaps; NULL: nobody. */
int isolator_inbox_register(struct isolator_inbox *inbox, unsigned int type,
			    isolator_callback callback, void *context);

/*
 * Call the callbacks of up to @max messages, of the posters in turn.  Returns how many
 * there were, 0 when none has come.
 */
int isolator_inbox_poll(struct isolator_inbox *inbox, unsigned int max);

/* In a callback: the poster whose message, or gap, it is called for. */
unsigned int isolator_inbox_sender(const struct isolator_inbox *inbox);

/* What came from @poster since the inbox was opened; any thread of the process may ask. */
int isolator_inbox_stats(const struct isolator_inbox *inbox, unsigned int poster,
			 struct isolator_channel_counters *stats);

#ifdef __cplusplus
}
#endif

#endif /* ISOLATOR_INBOX_H */
