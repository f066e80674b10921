// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the posting half of the kernel's end.
 *
 * Of the shared memory only what the receiver says is used, and only to learn how much room
 * there is: at most the whole ring, which is our own to write.  What makes no sense frees
 * nothing.
 *
 * All of isolator_port_post() is noinstr and calls nothing out of this file's section: quiet
 * sections call it.  tools/quiet-check is run over this file's object.
 */
#include <linux/instrumentation.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/unaligned.h>

#include <kunit/static_stub.h>

#include <asm/barrier.h>

#include "messages.h"

static __always_inline struct isolator_slot *
isolator_post_slot(struct isolator_poster *tx, u64 number)
{
	return &tx->ring[isolator_ring_index(number, tx->mask)];
}

/* The last @length % 8 bytes of @data, with zeros above them. */
static __always_inline u64 isolator_last_part(const u8 *data, size_t length)
{
	unsigned int rest = length % sizeof(u64), i;
	u64 part = 0;

	/* No memcpy(), which would be a call. */
	for (i = 0; i < rest; i++)
		part |= (u64)data[length - rest + i] << (8 * i);
	return part;
}

static __always_inline void isolator_write_slot(struct isolator_slot *slot, u64 word,
						const u8 *data, size_t length)
{
	size_t at;

	/* Busy: until the word is there, nothing vouches for the payload. */
	WRITE_ONCE(slot->word, word & ISOLATOR_RING_NUMBER);
	/* Pairs with the barrier in isolator_copy_slot(), and the library's. */
	smp_wmb();
	for (at = 0; at + sizeof(u64) <= length; at += sizeof(u64))
		WRITE_ONCE(slot->payload[at / sizeof(u64)],
			   get_unaligned((const u64 *)(data + at)));
	if (at < length)
		WRITE_ONCE(slot->payload[at / sizeof(u64)], isolator_last_part(data, length));
	/*
	 * Release: the payload, and of a long message its other slots, come before.  Pairs with the
	 * acquire in isolator_lane_receive(), and the library's.
	 */
	smp_store_release(&slot->word, word);
}

static __always_inline void isolator_free_until(struct isolator_poster *tx, u64 number)
{
	if (isolator_ring_before(tx->limit, number))
		tx->limit = number;
}

/*
 * The ring seems full: ask the receiver's line again.  Returns whether @next + @slots may be
 * written now.
 */
static noinstr bool isolator_find_room(struct isolator_poster *tx, u64 slots)
{
	u64 whole = isolator_ring_numbers(tx->mask);
	/* Acquire: the receiver has copied what it gives back.  Pairs with its releases. */
	u64 released = smp_load_acquire(&tx->other->released) & ISOLATOR_RING_NUMBER;
	u64 taken;

	if (tx->next - released <= whole) {
		isolator_free_until(tx, released + whole);
		return tx->limit - tx->next >= slots * ISOLATOR_RING_ONE;
	}
	taken = smp_load_acquire(&tx->other->taken) & ISOLATOR_RING_NUMBER; /* as above */
	if (tx->next - taken <= whole) {
		/*
		 * All in order: isolator_post_begin() counted from there, and what was taken is
		 * released up to an eighth of the ring later.
		 */
		isolator_free_until(tx, taken + whole);
	} else if (taken - released <= whole) {
		/*
		 * The receiver waits for numbers that are nowhere near, if both of its lines say
		 * so: follow it.  One number is left out, so that it sees a gap.
		 */
		tx->next = taken + ISOLATOR_RING_ONE;
		tx->limit = taken + whole;
		isolator_port_count(&tx->resyncs, 1);
	}
	return tx->limit - tx->next >= slots * ISOLATOR_RING_ONE;
}

/*
 * The ring has been full for long.  Should what was posted have been overwritten, the receiver
 * waits for it in vain and nothing ever gets free: mark such slots as what they are, so that it
 * passes over them and reports the gap.
 */
static __always_inline void isolator_begin_mending(struct isolator_poster *tx)
{
	/* Acquire: as in isolator_find_room(). */
	u64 number = smp_load_acquire(&tx->other->taken) & ISOLATOR_RING_NUMBER;

	if (tx->next - number > isolator_ring_numbers(tx->mask))
		return;
	tx->mend_at = number;
	tx->mend_until = tx->next;
	tx->mend_first = 0;
}

/* Some slots of it. */
static __always_inline void isolator_mend(struct isolator_poster *tx)
{
	unsigned int i;

	for (i = 0; i < ISOLATOR_SEARCH && tx->mend_at != tx->mend_until; i++) {
		u64 number = tx->mend_at, index = isolator_ring_index(number, tx->mask);
		u64 word = READ_ONCE(tx->ring[index].word);

		tx->mend_at += ISOLATOR_RING_ONE;
		if (tx->mend_first && isolator_ring_continues(word, number, tx->mend_first)) {
			if (!(word & ISOLATOR_RING_MORE))
				tx->mend_first = 0;
			continue;
		}
		tx->mend_first = 0;
		/* No payload belongs to what is written here. */
		if ((word & ISOLATOR_RING_NUMBER) != number ||
		    !isolator_ring_begins(word, index, tx->mask))
			WRITE_ONCE(tx->ring[index].word, number | ISOLATOR_RING_VOID);
		else if (word & ISOLATOR_RING_MORE)
			tx->mend_first = word;
	}
}

static noinstr int isolator_refuse(struct isolator_poster *tx)
{
	isolator_port_count(&tx->full, 1);
	/* There was room meanwhile: nothing is wrong any more. */
	if (tx->mend_until != tx->next)
		tx->mend_at = tx->mend_until;
	if (tx->refused_at != tx->next) {
		tx->refused_at = tx->next;
		tx->refused = 0;
	}
	if (++tx->refused % ISOLATOR_PATIENCE == 0 && tx->mend_at == tx->mend_until)
		isolator_begin_mending(tx);
	isolator_mend(tx);
	return -EAGAIN;
}

/* From the last slot to the first, whose word makes all of them a message. */
static noinstr void isolator_post_long(struct isolator_poster *tx, unsigned int type,
				       const u8 *data, size_t length, u64 slots)
{
	u64 slot, number, word;
	size_t begin, part;

	for (slot = slots; slot-- > 0;) {
		begin = slot * ISOLATOR_RING_PAYLOAD;
		part = length - begin;
		word = (u64)type << ISOLATOR_RING_TYPE_SHIFT;
		number = tx->next + slot * ISOLATOR_RING_ONE;
		if (!slot)
			word |= ISOLATOR_RING_FIRST;
		if (slot + 1 < slots) {
			word |= ISOLATOR_RING_MORE;
			part = ISOLATOR_RING_PAYLOAD;
		}
		isolator_write_slot(isolator_post_slot(tx, number), number | word | part,
				    data + begin, part);
	}
}

/**
 * isolator_port_post - post a message
 * @port: that the current task uses (isolator_port_use()); a side of a channel, or a poster of an
 *	inbox
 * @type: 0 to 255
 * @data: what is copied
 * @length: of it in bytes, 0 to isolator_rings_message_bytes(); up to 56 take one slot
 *
 * Never waits, and wakes nobody up.  The time is bounded by the length.
 *
 * Context: the port's user, in a quiet section or out of it; not an interrupt.
 * Return: 0; -EAGAIN: the ring is full, the other side has not looked; -EMSGSIZE: @length is too
 * much; -EINVAL: so is @type; -EPERM: the current task does not use the port; -EOPNOTSUPP: it
 * only receives.
 */
noinstr int isolator_port_post(struct isolator_port *port, unsigned int type, const void *data,
			       size_t length)
{
	struct isolator_poster *tx = &port->poster;
	u64 slots = 1;

	if (unlikely(!isolator_port_mine(port)))
		return -EPERM;
	if (unlikely(!tx->ring))
		return -EOPNOTSUPP;
	if (unlikely(type >= ISOLATOR_MESSAGE_GAP))
		return -EINVAL;
	if (unlikely(length > ISOLATOR_RING_PAYLOAD)) {
		if (length > port->message_bytes)
			return -EMSGSIZE;
		slots = ((u32)length + ISOLATOR_RING_PAYLOAD - 1) / ISOLATOR_RING_PAYLOAD;
	}
	if (unlikely(tx->limit - tx->next < slots * ISOLATOR_RING_ONE) &&
	    !isolator_find_room(tx, slots))
		return isolator_refuse(tx);
	if (likely(slots == 1))
		isolator_write_slot(isolator_post_slot(tx, tx->next),
				    tx->next | ISOLATOR_RING_FIRST |
				    (u64)type << ISOLATOR_RING_TYPE_SHIFT | length, data, length);
	else
		isolator_post_long(tx, type, data, length, slots);
	tx->next += slots * ISOLATOR_RING_ONE;
	isolator_port_count(&tx->posted, 1);
	return 0;
}
EXPORT_SYMBOL_GPL(isolator_port_post);

/**
 * isolator_message_slots - how many slots the message that @word begins has, as far as they are
 * there
 * @tx: whose ring it is in
 * @word: of the first of them
 *
 * Context: process, may sleep.
 */
u64 isolator_message_slots(struct isolator_poster *tx, u64 word)
{
	u64 first = word, number = word & ISOLATOR_RING_NUMBER, slots;

	KUNIT_STATIC_STUB_REDIRECT(isolator_message_slots, tx, word);
	for (slots = 1; (word & ISOLATOR_RING_MORE) && slots <= tx->mask; slots++) {
		number += ISOLATOR_RING_ONE;
		/* Acquire: pairs with the release of whoever has posted it. */
		word = smp_load_acquire(&isolator_post_slot(tx, number)->word);
		if (!isolator_ring_continues(word, number, first))
			break;
		cond_resched();
	}
	return slots;
}

/**
 * isolator_post_begin - go on behind the last message, counted from where the receiver is
 * @tx: with its ring, its mask and the receiver's lines
 *
 * A whole ring is looked through; what lies about there leads at most one ring further.  Of a
 * message each slot is looked at once: whoever makes another begin there meanwhile makes this
 * take no longer.
 *
 * Context: process, may sleep.
 * Return: 0; -EINTR: the task is being killed.
 */
int isolator_post_begin(struct isolator_poster *tx)
{
	u64 whole = isolator_ring_numbers(tx->mask), furthest = 0, index, slots, word, ahead;
	/* Acquire: as in isolator_find_room(). */
	u64 taken = smp_load_acquire(&tx->other->taken) & ISOLATOR_RING_NUMBER;

	for (index = 0; index <= tx->mask; index += slots) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		slots = 1;
		/* Acquire: pairs with the release of whoever has posted it. */
		word = smp_load_acquire(&tx->ring[index].word);
		if (!isolator_ring_begins(word, index, tx->mask))
			continue;
		slots = isolator_message_slots(tx, word);
		ahead = (word & ISOLATOR_RING_NUMBER) + slots * ISOLATOR_RING_ONE - taken;
		if (ahead <= whole && ahead > furthest)
			furthest = ahead;
	}
	tx->next = taken + furthest;
	tx->limit = taken + whole;
	tx->refused_at = tx->next;
	tx->mend_at = tx->next;
	tx->mend_until = tx->next;
	return 0;
}
