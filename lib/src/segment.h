/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Segments: the shared memory of channels and of inboxes.  A header that says how it is laid out,
 * and a size that can never change again.
 */
#ifndef ISOLATOR_SRC_SEGMENT_H
#define ISOLATOR_SRC_SEGMENT_H

#include "channel.h"

/*
 * Make a segment named @name, all of its pages there, that begins with @header.  The caller sets
 * magic, slots, message_bytes (0: a default), posters and bytes.  Returns the descriptor.
 */
HIDDEN int isolator_segment_create(const char *name, struct isolator_ring_header *header);

/*
 * Copy the header out of @fd, and believe nothing that does not fit together and with the size,
 * which is sealed.  The caller checks magic, posters and bytes.
 */
HIDDEN int isolator_segment_read(int fd, struct isolator_ring_header *header);

/*
 * A descriptor of our own, with the lock of @holder.  -EBUSY: somebody else has it; with @take
 * that is no matter.
 */
HIDDEN int isolator_segment_hold(int fd, unsigned int holder, bool take);

/* @count handles, all zeros, for free(); NULL: there is no memory. */
HIDDEN struct isolator_channel *isolator_new_channels(size_t count);

/* Map @bytes of it from @offset on, and make every page writable here and now. */
HIDDEN int isolator_segment_map(int fd, uint64_t offset, size_t bytes, void **memory);

#endif
