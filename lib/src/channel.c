// SPDX-License-Identifier: LGPL-2.1-or-later
/* A channel's shared memory: made, checked, mapped, given back. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel.h"

/* The size can never change again: no access is beyond the end, whatever the other side does. */
#define SEALS		(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define MESSAGE_DEFAULT	4096U
/* The first version's sizes: smaller ones were never initialised. */
#define OPTIONS_FIRST	sizeof(struct isolator_channel_options)
#define STATS_FIRST	sizeof(struct isolator_channel_counters)

/* The longest message that a ring of @slots may be asked for. */
static uint64_t message_limit(uint64_t slots)
{
	uint64_t half = slots / 2;

	return (half < MESSAGE_SLOTS ? half : MESSAGE_SLOTS) * ISOLATOR_SLOT_BYTES;
}

static bool geometry_is_sound(uint64_t slots, uint64_t message_bytes)
{
	return slots >= SLOTS_MIN && slots <= SLOTS_MAX && !(slots & (slots - 1)) &&
	       message_bytes > 0 && message_bytes <= message_limit(slots);
}

static uint64_t channel_bytes(uint64_t slots)
{
	return HEADER_BYTES + 2 * slots * sizeof(struct slot);
}

static int check_options(const struct isolator_channel_options *options)
{
	const unsigned char *bytes = (const unsigned char *)options;

	if (!options || options->size < OPTIONS_FIRST || options->flags)
		return isolator_failed(STEP_CREATE, EINVAL);
	for (size_t at = sizeof(*options); at < options->size; at++)
		if (bytes[at])
			return isolator_failed(STEP_CREATE, E2BIG);
	if (!geometry_is_sound(options->slots, options->message_bytes ? options->message_bytes : 1))
		return isolator_failed(STEP_CREATE, EINVAL);
	return 0;
}

EXPORT int isolator_channel_create(const struct isolator_channel_options *options)
{
	struct channel_header header = {
		.magic = CHANNEL_MAGIC,
		.version = CHANNEL_VERSION,
		.header_bytes = HEADER_BYTES,
		.slot_bytes = sizeof(struct slot),
	};
	int error = check_options(options);
	int fd;

	if (error)
		return error;
	header.slots = options->slots;
	header.message_bytes = options->message_bytes;
	if (!header.message_bytes) {
		header.message_bytes = header.slots / 4 * ISOLATOR_SLOT_BYTES;
		if (header.message_bytes > MESSAGE_DEFAULT)
			header.message_bytes = MESSAGE_DEFAULT;
	}
	header.bytes = channel_bytes(header.slots);

	fd = memfd_create("isolator-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return isolator_failed(STEP_CREATE, errno);
	/* All pages now: a page that is not there later is a fault, or a SIGBUS. */
	if (fallocate(fd, 0, 0, (off_t)header.bytes) < 0 ||
	    pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
		error = isolator_failed(STEP_CREATE, errno);
		close(fd);
		return error;
	}
	return fd;
}

/*
 * Copy the header out of @fd and believe nothing that does not fit together and
 * with the size, which is sealed.
 */
static int read_header(int fd, struct channel_header *header)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat status;

	/* EINVAL: a file of another kind. */
	if (seals < 0 && errno == EBADF)
		return isolator_failed(STEP_SIDE, EBADF);
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &status) < 0)
		return isolator_failed(STEP_SIDE, ENOTTY);
	if (pread(fd, header, sizeof(*header), 0) != sizeof(*header) ||
	    header->magic != CHANNEL_MAGIC || header->version != CHANNEL_VERSION ||
	    header->header_bytes != HEADER_BYTES || header->slot_bytes != sizeof(struct slot) ||
	    header->reserved || !geometry_is_sound(header->slots, header->message_bytes) ||
	    header->bytes != channel_bytes(header->slots) ||
	    status.st_size < 0 || (uint64_t)status.st_size != header->bytes)
		return isolator_failed(STEP_SIDE, EPROTO);
	return 0;
}

/*
 * A descriptor of our own, with the lock of the side.  The lock belongs to the open
 * file: it needs a new one, not a copy of the caller's, and goes when the process
 * does.
 */
static int hold_side(int fd, unsigned int side, bool take)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)side,
		.l_len = 1,
	};
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = isolator_sys.open(path, O_RDWR | O_CLOEXEC);
	if (own < 0)
		return isolator_failed(STEP_SIDE, errno);
	if (fcntl(own, F_OFD_SETLK, &lock) < 0 && !take) {
		int error = errno == EAGAIN || errno == EACCES ? EBUSY : errno;

		isolator_sys.close(own);
		return isolator_failed(STEP_SIDE, error);
	}
	return own;
}

static int map_shared(struct isolator_channel *channel)
{
	unsigned char *bytes;

	bytes = isolator_sys.mmap(NULL, channel->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				  channel->fd, 0);
	if (bytes == MAP_FAILED)
		return isolator_failed(STEP_SIDE, errno);
	/* Make every page writable here and now.  Adding 0 changes nothing that the
	 * other side writes meanwhile.
	 */
	for (size_t at = 0; at < channel->bytes; at += HEADER_BYTES)
		atomic_fetch_add_explicit((_Atomic uint64_t *)(void *)(bytes + at), 0,
					  memory_order_relaxed);
	channel->shared = (void *)bytes;
	return 0;
}

static void set_up(struct isolator_channel *channel, const struct channel_header *header,
		   unsigned int side)
{
	struct slot *rings = (void *)(channel->shared + 1);
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
	struct channel_header header;
	int error;

	if (!channel || (side & ~ISOLATOR_SIDE_TAKE) > ISOLATOR_SIDE_B)
		return isolator_failed(STEP_SIDE, EINVAL);
	*channel = NULL;
	error = read_header(fd, &header);
	if (error)
		return error;
	new = aligned_alloc(_Alignof(struct isolator_channel), sizeof(*new));
	if (!new)
		return isolator_failed(STEP_SIDE, ENOMEM);
	memset(new, 0, sizeof(*new));
	new->bytes = header.bytes;
	new->rx.message = calloc(1, header.message_bytes);
	if (!new->rx.message) {
		error = isolator_failed(STEP_SIDE, ENOMEM);
		goto out_memory;
	}
	new->fd = hold_side(fd, side & ~ISOLATOR_SIDE_TAKE, side & ISOLATOR_SIDE_TAKE);
	if (new->fd < 0) {
		error = new->fd;
		goto out_memory;
	}
	error = map_shared(new);
	if (error)
		goto out_descriptor;
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
