// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the receiving half of the kernel's end.
 *
 * The poster may write anything at any time.  So a word is read once and judged as read; the
 * payload is copied before it is believed; an index is cut by a mask of our own; a length is
 * bounded before it is used; and each call looks at a bounded number of slots.  What a poster
 * spoils is reported as a gap of its own ring, and no other.
 *
 * All of isolator_port_receive() is noinstr and calls nothing out of this file's section:
 * quiet sections call it.  tools/quiet-check is run over this file's object.
 */
#include <linux/instrumentation.h>
#include <linux/module.h>

#include <asm/barrier.h>

#include "messages.h"

/* How many slots a closer look looks at. */
#define ISOLATOR_LOOK		4U

static __always_inline struct isolator_slot *
isolator_lane_slot(struct isolator_lane *rx, u64 number)
{
	return &rx->ring[isolator_ring_index(number, rx->mask)];
}

/* Does @word say that a message begins in the slot that is next? */
static __always_inline bool isolator_lane_here(const struct isolator_lane *rx, u64 word)
{
	return (word & (ISOLATOR_RING_NUMBER | ISOLATOR_RING_FIRST)) ==
	       (rx->next | ISOLATOR_RING_FIRST);
}

/* Precondition: all before @rx->next has been copied, or is given up. */
static __always_inline void isolator_lane_release(struct isolator_lane *rx)
{
	/* Release: the copies come before.  Pairs with the acquire in isolator_find_room(). */
	smp_store_release(&rx->own->released, rx->next);
	rx->release_at = rx->next + isolator_ring_numbers(rx->mask) / 8;
}

/* Pass over @slots.  What the library's receiver leaves in doubt meanwhile is never so here. */
static __always_inline void isolator_lane_take(struct isolator_lane *rx, u64 slots)
{
	rx->next += slots * ISOLATOR_RING_ONE;
	/* Release: the copies come before.  Pairs with the acquire in isolator_post_begin(). */
	smp_store_release(&rx->own->taken, rx->next);
	if (unlikely(!isolator_ring_before(rx->next, rx->release_at)))
		isolator_lane_release(rx);
	rx->idle = ISOLATOR_WORD_NEVER;
	rx->patience = ISOLATOR_PATIENCE;
	rx->looked = isolator_ring_index(rx->next, rx->mask);
}

static __always_inline int isolator_lane_gap(struct isolator_lane *rx,
					     struct isolator_message *message, u64 first, u64 slots)
{
	*message = (struct isolator_message) {
		.type	= ISOLATOR_MESSAGE_GAP,
		.first	= first,
		.slots	= slots,
	};
	isolator_port_count(&rx->gaps, 1);
	isolator_port_count(&rx->lost, slots);
	return 1;
}

/* Go on at @number, which is ahead, and say what was left out. */
static noinstr int isolator_move_up(struct isolator_lane *rx, struct isolator_message *message,
				    u64 number)
{
	u64 slots = (number - rx->next) / ISOLATOR_RING_ONE;
	u64 first = rx->next / ISOLATOR_RING_ONE;

	isolator_port_count(&rx->resyncs, 1);
	isolator_lane_take(rx, slots);
	isolator_lane_release(rx);
	return isolator_lane_gap(rx, message, first, slots);
}

/* A slot that holds no message although its word says so: the poster lies. */
static noinstr int isolator_pass_over(struct isolator_lane *rx, struct isolator_message *message)
{
	u64 first = rx->next / ISOLATOR_RING_ONE;

	isolator_lane_take(rx, 1);
	isolator_port_count(&rx->invalid, 1);
	return isolator_lane_gap(rx, message, first, 1);
}

/* Copy @slot's payload, then see whether @word still vouched for it. */
static __always_inline bool isolator_copy_slot(struct isolator_slot *slot, u64 word, u64 *copy)
{
	unsigned int i;

	for (i = 0; i < ISOLATOR_RING_WORDS; i++)
		copy[i] = READ_ONCE(slot->payload[i]);
	/* Pairs with the barrier in isolator_write_slot(), and the library's. */
	smp_rmb();
	return READ_ONCE(slot->word) == word;
}

/* A word too long is that of no poster of the library's: what it says is never used. */
static __always_inline bool isolator_length_is_sound(u64 word)
{
	return (word & ISOLATOR_RING_LENGTH) <= ISOLATOR_RING_PAYLOAD ||
	       isolator_fault(ISOLATOR_FAULT_TRUST_WORD);
}

/*
 * Put the message that @word begins together.  Returns how many slots it takes, 0 when it is
 * not one; @length is that of the whole.
 */
static noinstr u64 isolator_copy_long(struct isolator_port *port, struct isolator_lane *rx,
				      u64 word, u32 *length)
{
	u64 first = word, number = rx->next, slots;
	u32 at = 0, part, i;

	for (slots = 1; slots <= rx->mask; slots++) {
		part = word & ISOLATOR_RING_LENGTH;
		if (part > ISOLATOR_RING_PAYLOAD || part > port->message_bytes - at ||
		    !isolator_copy_slot(isolator_lane_slot(rx, number), word, port->copy))
			return 0;
		/* No memcpy(), which would be a call; what is behind a message has room. */
		for (i = 0; i < DIV_ROUND_UP(part, sizeof(u64)); i++)
			WRITE_ONCE(((u64 *)(port->message + at))[i], port->copy[i]);
		at += part;
		*length = at;
		if (!(word & ISOLATOR_RING_MORE))
			return slots;
		number += ISOLATOR_RING_ONE;
		/* Acquire: pairs with the release in isolator_write_slot(), and the library's. */
		word = smp_load_acquire(&isolator_lane_slot(rx, number)->word);
		if (!isolator_ring_continues(word, number, first))
			return 0;
	}
	return 0;
}

static __always_inline int isolator_hand_out(struct isolator_lane *rx,
					     struct isolator_message *message, u64 word,
					     const void *data, u32 length, u64 slots)
{
	*message = (struct isolator_message) {
		.data	= data,
		.length	= length,
		.type	= (word & ISOLATOR_RING_TYPE) >> ISOLATOR_RING_TYPE_SHIFT,
	};
	isolator_lane_take(rx, slots);
	isolator_port_count(&rx->received, 1);
	return 1;
}

static noinstr int isolator_receive_long(struct isolator_port *port, struct isolator_lane *rx,
					 struct isolator_message *message, u64 word)
{
	u64 slots = 0;
	u32 length = 0;

	if ((word & ISOLATOR_RING_LENGTH) == ISOLATOR_RING_PAYLOAD)
		slots = isolator_copy_long(port, rx, word, &length);
	if (!slots)
		return isolator_pass_over(rx, message);
	return isolator_hand_out(rx, message, word, port->message, length, slots);
}

/*
 * The slot that is next holds no message with its number; @word is what it holds.  Is that how it
 * should be: the word of the round before, or the mark of a poster at work?
 */
static __always_inline bool isolator_word_is_lawful(const struct isolator_lane *rx, u64 word)
{
	u64 numbers = isolator_ring_numbers(rx->mask);

	return (word & ISOLATOR_RING_NUMBER) == rx->next - numbers || word == rx->next ||
	       (!word && rx->next < numbers);
}

static __always_inline bool isolator_is_searching(const struct isolator_lane *rx)
{
	return rx->search.left && rx->search.from == rx->next;
}

/*
 * Look for the nearest message in some more slots.  What was seen there may be gone by the end:
 * then that slot is none to be taken, and another search begins there, further on.
 */
static noinstr int isolator_search_on(struct isolator_lane *rx, struct isolator_message *message)
{
	struct isolator_search *search = &rx->search;
	unsigned int i;

	for (i = 0; i < ISOLATOR_SEARCH && search->left; i++) {
		u64 index = --search->left;
		/* Acquire: who sees a message sees all before it. */
		u64 word = smp_load_acquire(&rx->ring[index].word);
		u64 ahead = (word & ISOLATOR_RING_NUMBER) - search->from;

		if (isolator_ring_begins(word, index, rx->mask) && ahead < search->nearest)
			search->nearest = ahead;
	}
	if (search->left || !search->nearest || search->nearest >= ISOLATOR_RING_FAR)
		return 0;
	return isolator_move_up(rx, message, search->from + search->nearest);
}

/*
 * Nothing has come.  See whether the poster is ahead of us, in a few slots at a time, and put
 * right what we say about ourselves should somebody have changed it.
 */
static noinstr int isolator_closer_look(struct isolator_lane *rx,
					struct isolator_message *message, u64 word)
{
	u64 index = isolator_ring_index(rx->next, rx->mask);
	bool ahead = false;
	unsigned int i;

	if (READ_ONCE(rx->own->taken) != rx->next)
		smp_store_release(&rx->own->taken, rx->next); /* as isolator_lane_take() */
	if (rx->next - READ_ONCE(rx->own->released) >= isolator_ring_numbers(rx->mask) / 8)
		isolator_lane_release(rx);
	if (isolator_is_searching(rx))
		return isolator_search_on(rx, message);
	for (i = 0; i <= ISOLATOR_LOOK && !ahead; i++) {
		ahead = isolator_ring_begins(word, index, rx->mask) &&
			(word & ISOLATOR_RING_NUMBER) - rx->next < ISOLATOR_RING_FAR;
		index = ++rx->looked & rx->mask;
		/* Acquire: who sees a message sees all before it. */
		word = smp_load_acquire(&rx->ring[index].word);
	}
	if (!ahead)
		return 0;
	/*
	 * All that was posted before the one seen above is there by now, also in our own slot:
	 * that is then for the next look.  Acquire: as there.
	 */
	word = smp_load_acquire(&isolator_lane_slot(rx, rx->next)->word);
	if (isolator_lane_here(rx, word))
		return 0;
	rx->search = (struct isolator_search) {
		.from		= rx->next,
		.left		= rx->mask + 1,
		.nearest	= ISOLATOR_RING_FAR,
	};
	return isolator_search_on(rx, message);
}

/* @word, of the slot that is next, begins no message there. */
static noinstr int isolator_lane_idle(struct isolator_lane *rx, struct isolator_message *message,
				      u64 word)
{
	int ret;

	if (isolator_word_is_lawful(rx, word) && !isolator_is_searching(rx)) {
		/* 0 where isolator_lane_receive() has counted it down. */
		if (rx->patience && --rx->patience) {
			rx->idle = word;
			return 0;
		}
		rx->patience = ISOLATOR_PATIENCE;
	}
	ret = isolator_closer_look(rx, message, word);
	if (!ret && isolator_is_searching(rx))
		rx->idle = ISOLATOR_WORD_NEVER; /* it goes on in the next look */
	return ret;
}

static __always_inline int isolator_lane_receive(struct isolator_port *port,
						 struct isolator_lane *rx,
						 struct isolator_message *message)
{
	struct isolator_slot *slot = isolator_lane_slot(rx, rx->next);
	/* Acquire: the payload comes after.  Pairs with isolator_write_slot(), the library's. */
	u64 word = smp_load_acquire(&slot->word);

	if (likely(word == rx->idle) && likely(rx->patience) && likely(--rx->patience))
		return 0;
	if (unlikely(rx->gap_slots)) {
		u64 slots = rx->gap_slots;

		rx->gap_slots = 0;
		isolator_lane_take(rx, 0);
		isolator_lane_release(rx);
		return isolator_lane_gap(rx, message, rx->gap_first, slots);
	}
	if (!isolator_lane_here(rx, word))
		return isolator_lane_idle(rx, message, word);
	if (word & ISOLATOR_RING_MORE)
		return isolator_receive_long(port, rx, message, word);
	if (unlikely(!isolator_length_is_sound(word)) ||
	    unlikely(!isolator_copy_slot(slot, word, port->copy)))
		return isolator_pass_over(rx, message);
	return isolator_hand_out(rx, message, word, port->copy, word & ISOLATOR_RING_LENGTH, 1);
}

/**
 * isolator_port_receive - look for a message
 * @port: that the current task uses (isolator_port_use()); a side of a channel, or an inbox's
 *	receiver
 * @message: what was found
 *
 * Looks at the one ring of a channel, or at each lane of an inbox in turn, until one has
 * something; what it finds there it copies.  With nothing there it is a load, and a comparison
 * with a word of its own, a ring.  The time is bounded by the lanes and the longest message,
 * whatever the posters write.
 *
 * The content of a message is as trustworthy as its poster, who may also post any type.  None is
 * delivered twice.  Never waits, and nobody is woken up.
 *
 * Context: the port's user, in a quiet section or out of it; not an interrupt.
 * Return: 1: @message is a message, or a gap in what a poster has posted; 0: nothing has come;
 * -EPERM: the current task does not use the port; -EOPNOTSUPP: it only posts.
 */
noinstr int isolator_port_receive(struct isolator_port *port, struct isolator_message *message)
{
	unsigned int lanes, sender;

	if (unlikely(!isolator_port_mine(port)))
		return -EPERM;
	if (unlikely(!port->nr_lanes))
		return -EOPNOTSUPP;
	for (lanes = port->nr_lanes; lanes; lanes--) {
		/* Next time behind this one: a poster that never stops has one message a turn. */
		sender = port->turn;
		port->turn = sender + 1 < port->nr_lanes ? sender + 1 : 0;
		if (isolator_lane_receive(port, &port->lanes[sender], message)) {
			message->sender = sender;
			return 1;
		}
	}
	return 0;
}
EXPORT_SYMBOL_GPL(isolator_port_receive);

/**
 * isolator_receive_begin - go on where the last receiver of this ring was
 * @rx: with its ring, its mask and its lines
 *
 * If that died while it handled something (as only one in user mode does), nobody knows how far
 * it came: that is reported as a gap.  Context: process.
 */
void isolator_receive_begin(struct isolator_lane *rx)
{
	/* Acquire: pairs with the releases of the one before. */
	u64 taken = smp_load_acquire(&rx->own->taken);
	u64 doubt = taken & ISOLATOR_RING_DOUBT;

	rx->next = taken & ISOLATOR_RING_NUMBER;
	rx->idle = ISOLATOR_WORD_NEVER;
	rx->patience = ISOLATOR_PATIENCE;
	rx->release_at = rx->next + isolator_ring_numbers(rx->mask) / 8;
	rx->looked = isolator_ring_index(rx->next, rx->mask);
	if (doubt) {
		rx->gap_first = (rx->next / ISOLATOR_RING_ONE - doubt) &
				(ISOLATOR_RING_NUMBER / ISOLATOR_RING_ONE);
		rx->gap_slots = doubt;
	} else {
		smp_store_release(&rx->own->taken, rx->next); /* as isolator_lane_take() */
		isolator_lane_release(rx);
	}
}
