// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An inbox: a lane for each poster, which is half a channel.  The lane's receiving half is a
 * struct isolator_channel of the receiver that never posts, its posting half one of the poster
 * that never polls: what post.c and poll.c promise of a ring holds for each lane.
 *
 * The segment: the header, then the lanes.  A lane begins on a page, so that a poster need not
 * have those of the others in its memory: first the receiver's lines, then the ring.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "segment.h"

/* The first version's size: a smaller one was never initialised. */
#define OPTIONS_FIRST	sizeof(struct isolator_inbox_options)

struct isolator_inbox {
	struct isolator_channel *lanes;
	unsigned int posters;
	unsigned int turn;	/* the lane that is looked at next */
	unsigned int sender;	/* the one that is looked at, or was last */
	bool busy;		/* a poll runs */
	unsigned char *memory;
	size_t bytes;
	int fd;			/* holds the receiver's lock, the byte behind the posters' */
};

static struct isolator_slot *lane_ring(unsigned char *lane)
{
	return (void *)(lane + HEADER_BYTES);
}

static int check_options(const struct isolator_inbox_options *options)
{
	if (!options || options->size < OPTIONS_FIRST || options->flags)
		return isolator_failed(STEP_INBOX, EINVAL);
	if (!options_end(options, sizeof(*options), options->size))
		return isolator_failed(STEP_CREATE, E2BIG);
	if (options->posters < 1 || options->posters > ISOLATOR_POSTERS ||
	    !isolator_ring_is_sound(options->slots, options->message_bytes))
		return isolator_failed(STEP_INBOX, EINVAL);
	return 0;
}

EXPORT int isolator_inbox_create(const struct isolator_inbox_options *options)
{
	struct isolator_ring_header header = { .magic = ISOLATOR_RING_INBOX };
	int error = check_options(options);

	if (error)
		return error;
	header.posters = options->posters;
	header.slots = options->slots;
	header.message_bytes = options->message_bytes;
	header.bytes = isolator_ring_inbox_bytes(header.posters, header.slots);
	return isolator_segment_create("isolator-inbox", &header);
}

static int read_header(int fd, struct isolator_ring_header *header)
{
	int error = isolator_segment_read(fd, header);

	if (error)
		return error;
	if (header->magic != ISOLATOR_RING_INBOX || header->posters < 1 ||
	    header->posters > ISOLATOR_POSTERS ||
	    header->bytes != isolator_ring_inbox_bytes(header->posters, header->slots))
		return isolator_failed(STEP_SIDE, EPROTO);
	return 0;
}

static void free_inbox(struct isolator_inbox *inbox)
{
	for (unsigned int i = 0; i < inbox->posters; i++)
		free(inbox->lanes[i].rx.message);
	free(inbox->lanes);
	free(inbox);
}

/* With room for its lanes, and nothing in them; NULL: there is no memory. */
static struct isolator_inbox *new_inbox(const struct isolator_ring_header *header)
{
	struct isolator_inbox *inbox = calloc(1, sizeof(*inbox));

	if (!inbox)
		return NULL;
	inbox->lanes = isolator_new_channels(header->posters);
	if (!inbox->lanes) {
		free(inbox);
		return NULL;
	}
	inbox->posters = header->posters;
	inbox->bytes = header->bytes;
	for (unsigned int i = 0; i < inbox->posters; i++) {
		inbox->lanes[i].rx.message = calloc(1, header->message_bytes);
		if (!inbox->lanes[i].rx.message) {
			free_inbox(inbox);
			return NULL;
		}
	}
	return inbox;
}

static void set_up(struct isolator_inbox *inbox, const struct isolator_ring_header *header)
{
	for (unsigned int i = 0; i < inbox->posters; i++) {
		unsigned char *lane = inbox->memory + HEADER_BYTES +
				      i * isolator_ring_lane_bytes(header->slots);
		struct receiver *rx = &inbox->lanes[i].rx;

		rx->own = (void *)lane;
		rx->ring = lane_ring(lane);
		rx->mask = header->slots - 1;
		rx->message_bytes = header->message_bytes;
		isolator_poll_begin(&inbox->lanes[i]);
	}
}

EXPORT int isolator_inbox_open(int fd, unsigned int flags, struct isolator_inbox **inbox)
{
	struct isolator_ring_header header;
	struct isolator_inbox *new;
	void *memory;
	int error;

	if (!inbox || (flags & ~ISOLATOR_SIDE_TAKE))
		return isolator_failed(STEP_INBOX, EINVAL);
	*inbox = NULL;
	error = read_header(fd, &header);
	if (error)
		return error;
	new = new_inbox(&header);
	if (!new)
		return isolator_failed(STEP_SIDE, ENOMEM);
	new->fd = isolator_segment_hold(fd, header.posters, flags & ISOLATOR_SIDE_TAKE);
	if (new->fd < 0) {
		error = new->fd;
		goto out_memory;
	}
	error = isolator_segment_map(new->fd, 0, new->bytes, &memory);
	if (error)
		goto out_descriptor;
	new->memory = memory;
	set_up(new, &header);
	*inbox = new;
	return 0;

out_descriptor:
	isolator_sys.close(new->fd);
out_memory:
	free_inbox(new);
	return error;
}

/* Hold lane @poster, or for ISOLATOR_POSTER_ANY the first that is free.  Returns its number. */
static int hold_lane(int fd, unsigned int poster, unsigned int posters, int *own)
{
	unsigned int lane = poster & ~ISOLATOR_SIDE_TAKE;

	if (poster != ISOLATOR_POSTER_ANY) {
		if (lane >= posters)
			return isolator_failed(STEP_INBOX, EINVAL);
		*own = isolator_segment_hold(fd, lane, poster & ISOLATOR_SIDE_TAKE);
		return *own < 0 ? *own : (int)lane;
	}
	*own = -EBUSY;
	for (lane = 0; lane < posters && *own == -EBUSY; lane++)
		*own = isolator_segment_hold(fd, lane, false);
	return *own < 0 ? *own : (int)lane - 1;
}

EXPORT int isolator_inbox_join(int fd, unsigned int poster, struct isolator_channel **channel)
{
	struct isolator_ring_header header;
	struct isolator_channel *new;
	unsigned char *lane;
	uint64_t offset;
	void *memory;
	int error, number;

	if (!channel)
		return isolator_failed(STEP_INBOX, EINVAL);
	*channel = NULL;
	error = read_header(fd, &header);
	if (error)
		return error;
	new = isolator_new_channels(1);
	if (!new)
		return isolator_failed(STEP_SIDE, ENOMEM);
	number = hold_lane(fd, poster, header.posters, &new->fd);
	if (number < 0) {
		error = number;
		goto out_memory;
	}
	/* From where a page begins, which may be larger. */
	offset = HEADER_BYTES + (uint64_t)number * isolator_ring_lane_bytes(header.slots);
	new->bytes = isolator_ring_lane_bytes(header.slots) + offset % page_size();
	error = isolator_segment_map(new->fd, offset - offset % page_size(), new->bytes, &memory);
	if (error)
		goto out_descriptor;
	new->shared = memory;
	lane = (unsigned char *)memory + offset % page_size();
	new->tx.other = (void *)lane;
	new->tx.ring = lane_ring(lane);
	new->tx.mask = header.slots - 1;
	new->tx.message_bytes = header.message_bytes;
	isolator_post_begin(new);
	/* A poll of it finds out. */
	new->rx.state = RECEIVER_NONE;
	new->view.word = &new->rx.copy.unused;
	new->view.idle = WORD_NEVER;
	*channel = new;
	return number;

out_descriptor:
	isolator_sys.close(new->fd);
out_memory:
	free(new);
	return error;
}

EXPORT int isolator_inbox_close(struct isolator_inbox *inbox)
{
	if (!inbox)
		return 0;
	if (inbox->busy)
		return isolator_failed(STEP_CLOSE, EDEADLK);
	isolator_sys.munmap(inbox->memory, inbox->bytes);
	isolator_sys.close(inbox->fd);
	free_inbox(inbox);
	return 0;
}

EXPORT int isolator_inbox_register(struct isolator_inbox *inbox, unsigned int type,
				   isolator_callback callback, void *context)
{
	for (unsigned int i = 0; i < inbox->posters; i++) {
		int error = isolator_channel_register(&inbox->lanes[i], type, callback, context);

		if (error)
			return error;
	}
	return 0;
}

EXPORT int isolator_inbox_poll(struct isolator_inbox *inbox, unsigned int max)
{
	unsigned int received = 0;

	if (inbox->busy)
		return isolator_failed(STEP_POLL, EDEADLK);
	if (max > INT_MAX)
		max = INT_MAX;
	inbox->busy = true;
	/* The next poll begins behind the last lane that this one looked at: a poster that never
	 * stops has @max messages, and then the others have their turn.
	 */
	for (unsigned int lanes = inbox->posters; lanes > 0; lanes--) {
		inbox->sender = inbox->turn;
		inbox->turn = inbox->turn + 1 < inbox->posters ? inbox->turn + 1 : 0;
		received += (unsigned int)isolator_poll(&inbox->lanes[inbox->sender],
							max - received);
		if (received == max)
			break;
	}
	inbox->busy = false;
	return (int)received;
}

EXPORT unsigned int isolator_inbox_sender(const struct isolator_inbox *inbox)
{
	return inbox->sender;
}

EXPORT int isolator_inbox_stats(const struct isolator_inbox *inbox, unsigned int poster,
				struct isolator_channel_counters *stats)
{
	if (poster >= inbox->posters)
		return isolator_failed(STEP_INBOX, EINVAL);
	return isolator_channel_stats(&inbox->lanes[poster], stats);
}
