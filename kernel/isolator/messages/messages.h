/* SPDX-License-Identifier: GPL-2.0-only */
/* Isolator: what the files of the kernel's end of a channel or an inbox share. */
#ifndef _ISOLATOR_MESSAGES_H
#define _ISOLATOR_MESSAGES_H

#include <linux/cache.h>
#include <linux/isolator_fault.h>
#include <linux/isolator_messages.h>
#include <linux/kref.h>
#include <linux/preempt.h>
#include <linux/sched.h>

struct file;
struct folio;

/* Looks that find nothing until a closer one, and refused posts. */
#define ISOLATOR_PATIENCE	1024U
/* How many slots of a ring one call looks at when something is wrong there. */
#define ISOLATOR_SEARCH		64U
/* No slot holds it: the length is too much. */
#define ISOLATOR_WORD_NEVER	(~0ULL)

/**
 * struct isolator_rings - a channel's or an inbox's memory, as the kernel holds it
 * @ref: each port has one
 * @file: an open file of our own
 * @folios: pinned, for as long as this is; a hole that is punched takes none of them away
 * @nr_folios: how many
 * @memory: where they are mapped for the kernel
 * @bytes: @slots, @message_bytes, @posters: of the header, which was read once and is sound
 */
struct isolator_rings {
	struct kref	ref;
	struct file	*file;
	struct folio	**folios;
	long		nr_folios;
	void		*memory;
	u64		bytes;
	u32		slots;
	u32		message_bytes;
	u32		posters;
};

/**
 * struct isolator_search - for the nearest message; it goes on from call to call
 * @from: the slot that was next; another one is: it is over
 * @left: slots that were not looked at; 0: none is under way
 * @nearest: how far from there, or ISOLATOR_RING_FAR
 */
struct isolator_search {
	u64	from;
	u64	left;
	u64	nearest;
};

/**
 * struct isolator_lane - the receiving half of a ring: all private
 * @ring: the slots, @mask + 1 of them; shared
 * @own: what this side says; shared
 * @next: number of the next slot to take
 * @idle: the word there while nothing has come
 * @patience: looks until a closer one
 * @release_at: number at which to write released again
 * @looked: index at which the next closer look begins
 * @gap_first: @gap_slots: found at open, to be reported first
 */
struct isolator_lane {
	struct isolator_slot	*ring;
	u64			mask;
	struct isolator_receiver_line *own;
	u64			next;
	u64			idle;
	u64			patience;
	u64			release_at;
	u64			looked;
	struct isolator_search	search;
	u64			gap_first;
	u64			gap_slots;
	u64			received;
	u64			gaps;
	u64			lost;
	u64			invalid;
	u64			resyncs;
};

/**
 * struct isolator_poster - the posting half of a ring: all private
 * @ring: the slots, @mask + 1 of them; shared; NULL: this end does not post
 * @other: what the receiver says; shared
 * @next: number of the next slot to write
 * @limit: number of the first slot that is not known free
 * @refused: posts that found no room at @refused_at
 * @mend_at: @mend_until: what is gone through, from the one number to the other
 * @mend_first: the message that goes on at @mend_at; 0: none does
 */
struct isolator_poster {
	struct isolator_slot	*ring;
	u64			mask;
	struct isolator_receiver_line *other;
	u64			next;
	u64			limit;
	u64			refused;
	u64			refused_at;
	u64			mend_at;
	u64			mend_until;
	u64			mend_first;
	u64			posted;
	u64			full;
	u64			resyncs;
};

/**
 * struct isolator_port - one end: lanes that it receives from, and a ring that it posts to
 * @rings: the memory
 * @file: an open file of its own, which holds the lock of this end
 * @owner: the task that posts and receives; NULL: none yet
 * @nr_lanes: of a channel 1, of an inbox's receiver as many as posters, of a poster 0
 * @turn: the lane that is looked at first
 * @message_bytes: the longest message of several slots
 * @message: one of several slots is put together here
 * @copy: one of one slot; of a whole line, so that no length that a word can have leads out of it
 */
struct isolator_port {
	struct isolator_rings	*rings;
	struct file		*file;
	const struct task_struct *owner;
	unsigned int		nr_lanes;
	unsigned int		turn;
	u64			message_bytes;
	u8			*message;
	struct isolator_lane	*lanes;
	struct isolator_poster	poster;
	u64			copy[ISOLATOR_RING_LINE / sizeof(u64)] ____cacheline_aligned;
};

static __always_inline u64 isolator_ring_numbers(u64 mask)
{
	return (mask + 1) * ISOLATOR_RING_ONE;
}

/* Is number @a behind @b?  Half of all numbers are. */
static __always_inline bool isolator_ring_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* Only the port's owner counts; any may read. */
static __always_inline void isolator_port_count(u64 *count, u64 more)
{
	WRITE_ONCE(*count, *count + more);
}

/* Only the owner, and not what interrupts it: it may be in the middle of a call. */
static __always_inline bool isolator_port_mine(const struct isolator_port *port)
{
	return READ_ONCE(port->owner) == current && in_task();
}

/* rings.c */
struct isolator_rings *isolator_rings_of(struct file *file, u64 max_bytes, bool sealed);
struct file *isolator_reopen(struct file *file);

/* post.c */
int isolator_post_begin(struct isolator_poster *tx);
u64 isolator_message_slots(struct isolator_poster *tx, u64 word);

/* receive.c */
void isolator_receive_begin(struct isolator_lane *rx);

#endif /* _ISOLATOR_MESSAGES_H */
