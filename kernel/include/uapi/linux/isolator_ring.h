/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Isolator: the shared memory of channels and inboxes, which pass messages between two sides
 * without a system call, a lock or an interrupt.  A side is user mode or code of the kernel.
 *
 * A channel is a header and two rings: ring 0 is posted to by side A, ring 1 by side B.  An inbox
 * is a header and a lane for each poster: lines of the receiver on a page of their own, then the
 * ring.  The memory is a memfd whose size is sealed.
 *
 * Positions.  A ring's slots are numbered from 0 on, modulo 2^48; slot n lies at index n modulo
 * the ring's size, a power of two.  A number is kept in the upper 48 bits of a word: it wraps by
 * itself and a signed difference compares two.
 *
 * The word of a slot: its number, type and length.  The poster marks a slot busy (number, no
 * length), writes the payload, then the word.  Of a message in several slots the first word is
 * written last: a message is there as a whole or not at all.  The receiver reads the word, the
 * payload, and the word again: only if both are the same does it vouch for what is between.
 *
 * Neither side trusts what it reads here: the other one may write anything at any time.
 */
#ifndef _UAPI_LINUX_ISOLATOR_RING_H
#define _UAPI_LINUX_ISOLATOR_RING_H

#include <linux/stddef.h>
#include <linux/types.h>

/* Who accesses the words as atomics of its language has another type of this size for them. */
#ifndef ISOLATOR_RING_WORD
#define ISOLATOR_RING_WORD	__u64
#endif

#define ISOLATOR_RING_CHANNEL	0x6c656e6e61686349ULL	/* isolator_ring_header.magic */
#define ISOLATOR_RING_INBOX	0x786f626e49697369ULL
#define ISOLATOR_RING_VERSION	1U

#define ISOLATOR_RING_HEADER	4096U	/* bytes in front of the rings, or of each ring */
#define ISOLATOR_RING_LINE	64U	/* bytes of a slot */
#define ISOLATOR_RING_WORDS	7U	/* of payload in it */
#define ISOLATOR_RING_PAYLOAD	56U	/* the same in bytes */
#define ISOLATOR_RING_SLOTS_MIN	8U
#define ISOLATOR_RING_SLOTS_MAX	(1U << 20)
#define ISOLATOR_RING_MESSAGE_SLOTS	65535U	/* the most slots of a message */
#define ISOLATOR_RING_POSTERS	256U	/* the most lanes of an inbox */

/* The word of a slot. */
#define ISOLATOR_RING_ONE	(1ULL << 16)	/* one number further */
#define ISOLATOR_RING_NUMBER	(~0ULL << 16)
#define ISOLATOR_RING_TYPE_SHIFT	8
#define ISOLATOR_RING_TYPE	(0xffULL << ISOLATOR_RING_TYPE_SHIFT)
#define ISOLATOR_RING_FIRST	(1ULL << 7)	/* a message begins here */
#define ISOLATOR_RING_MORE	(1ULL << 6)	/* and goes on in the next slot */
#define ISOLATOR_RING_LENGTH	0x3fULL		/* of the payload in this slot, 0..56 */
/* With a number: what was posted there is gone.  No message has such a length. */
#define ISOLATOR_RING_VOID	(ISOLATOR_RING_FIRST | ISOLATOR_RING_LENGTH)
/*
 * A number so far ahead is not believed.  Of all numbers it is so small a part that what is left
 * in a ring cannot lead round in a circle.
 */
#define ISOLATOR_RING_FAR	(ISOLATOR_RING_ONE << 32)

/* With isolator_receiver_line.taken: slots before it whose message is still being handled. */
#define ISOLATOR_RING_DOUBT	0xffffULL

/**
 * struct isolator_slot - a line of a ring
 * @word: ISOLATOR_RING_*; written last
 * @payload: of the message
 */
struct isolator_slot {
	ISOLATOR_RING_WORD	word;
	ISOLATOR_RING_WORD	payload[ISOLATOR_RING_WORDS];
};

/**
 * struct isolator_receiver_line - what the receiver of a ring says
 * @taken: number of the next slot to take, for whoever opens this side next; the lower 16 bits:
 *	ISOLATOR_RING_DOUBT
 * @pad_taken: nothing
 * @released: the same, written only every eighth of a ring: what the poster reads
 * @pad_released: nothing
 *
 * Two lines apart each: lines are fetched in pairs.
 */
struct isolator_receiver_line {
	ISOLATOR_RING_WORD	taken;
	__u64			pad_taken[15];
	ISOLATOR_RING_WORD	released;
	__u64			pad_released[15];
};

/**
 * struct isolator_ring_header - what the memory begins with; read once, by who opens it
 * @magic: ISOLATOR_RING_CHANNEL or ISOLATOR_RING_INBOX
 * @version: ISOLATOR_RING_VERSION
 * @header_bytes: ISOLATOR_RING_HEADER
 * @slot_bytes: ISOLATOR_RING_LINE
 * @slots: of each ring, a power of two
 * @message_bytes: the longest message
 * @posters: of an inbox; 0 in a channel
 * @bytes: the size of the whole
 */
struct isolator_ring_header {
	__u64	magic;
	__u32	version;
	__u32	header_bytes;
	__u32	slot_bytes;
	__u32	slots;
	__u32	message_bytes;
	__u32	posters;
	__u64	bytes;
};

/**
 * struct isolator_ring_shared - the beginning of a channel; its two rings follow
 * @header: what it is
 * @pad: up to half of the page's lines
 * @receiver: of ring 0 and of ring 1
 * @rest: of the page
 */
struct isolator_ring_shared {
	struct isolator_ring_header	header;
	__u8				pad[128 - sizeof(struct isolator_ring_header)];
	struct isolator_receiver_line	receiver[2];
	__u8				rest[ISOLATOR_RING_HEADER - 128 -
					     2 * sizeof(struct isolator_receiver_line)];
};

/* May a ring have @slots, and messages @message_bytes (0: a default)? */
static __always_inline int isolator_ring_is_sound(__u64 slots, __u64 message_bytes)
{
	__u64 most = slots / 2 < ISOLATOR_RING_MESSAGE_SLOTS ? slots / 2
							      : ISOLATOR_RING_MESSAGE_SLOTS;

	return slots >= ISOLATOR_RING_SLOTS_MIN && slots <= ISOLATOR_RING_SLOTS_MAX &&
	       !(slots & (slots - 1)) && message_bytes <= most * ISOLATOR_RING_PAYLOAD;
}

/* All of a channel. */
static __always_inline __u64 isolator_ring_channel_bytes(__u64 slots)
{
	return ISOLATOR_RING_HEADER + 2 * slots * ISOLATOR_RING_LINE;
}

/* All of a lane, in whole pages of ISOLATOR_RING_HEADER: it begins on one. */
static __always_inline __u64 isolator_ring_lane_bytes(__u64 slots)
{
	return ISOLATOR_RING_HEADER + (slots * ISOLATOR_RING_LINE + ISOLATOR_RING_HEADER - 1) /
				      ISOLATOR_RING_HEADER * ISOLATOR_RING_HEADER;
}

/* All of an inbox. */
static __always_inline __u64 isolator_ring_inbox_bytes(__u64 posters, __u64 slots)
{
	return ISOLATOR_RING_HEADER + posters * isolator_ring_lane_bytes(slots);
}

/* Where slot @number lies in a ring of @mask + 1 slots. */
static __always_inline __u64 isolator_ring_index(__u64 number, __u64 mask)
{
	return (number / ISOLATOR_RING_ONE) & mask;
}

/* Does @word say that a message begins in the slot at @index? */
static __always_inline int isolator_ring_begins(__u64 word, __u64 index, __u64 mask)
{
	__u64 length = word & ISOLATOR_RING_LENGTH;

	return (word & ISOLATOR_RING_FIRST) && length <= ISOLATOR_RING_PAYLOAD &&
	       isolator_ring_index(word, mask) == index &&
	       (!(word & ISOLATOR_RING_MORE) || length == ISOLATOR_RING_PAYLOAD);
}

/*
 * Does @word belong to the slot @number as part of the message that @first began?  Only the last
 * part may be shorter than a slot.
 */
static __always_inline int isolator_ring_continues(__u64 word, __u64 number, __u64 first)
{
	__u64 length = word & ISOLATOR_RING_LENGTH;

	return (word & ISOLATOR_RING_NUMBER) == number && !(word & ISOLATOR_RING_FIRST) &&
	       (word & ISOLATOR_RING_TYPE) == (first & ISOLATOR_RING_TYPE) &&
	       length > 0 && length <= ISOLATOR_RING_PAYLOAD &&
	       (!(word & ISOLATOR_RING_MORE) || length == ISOLATOR_RING_PAYLOAD);
}

#endif /* _UAPI_LINUX_ISOLATOR_RING_H */
