// SPDX-License-Identifier: LGPL-2.1-or-later
/* The posting half of a side. */
#include <errno.h>
#include <string.h>

#include "channel.h"

static inline void go_on_at(struct poster *tx, uint64_t number)
{
	tx->next = number;
	tx->slot = &tx->ring[isolator_ring_index(number, tx->mask)];
}

/* The last @length % 8 bytes of @data, with zeros above them. */
static inline uint64_t last_part(const unsigned char *data, size_t length)
{
	unsigned int rest = length % 8;
	uint64_t part = 0;

	if (length >= 8) {
		/* Not a call of memcpy(), which has no constant size here. */
		memcpy(&part, data + length - 8, 8);
		return part >> (64 - 8 * rest);
	}
	for (unsigned int i = 0; i < rest; i++)
		part |= (uint64_t)data[i] << (8 * i);
	return part;
}

/* Copy in: @length bytes, less than a slot's.  The rest of the slot keeps what it had. */
static inline void write_part(struct isolator_slot *slot, const unsigned char *data, size_t length)
{
	uint64_t part;
	size_t at = 0;

	for (; at + 8 <= length; at += 8) {
		memcpy(&part, data + at, 8);
		atomic_store_explicit(&slot->payload[at / 8], part, PAYLOAD_STORE);
	}
	if (at < length)
		atomic_store_explicit(&slot->payload[at / 8], last_part(data, length),
				      PAYLOAD_STORE);
}

static inline void write_slot(struct isolator_slot *slot, uint64_t word, const void *data,
			      size_t length)
{
	/* Busy: whoever is killed from here on leaves no word that vouches for the
	 * payload.  Relaxed: the fence orders it.
	 */
	atomic_store_explicit(&slot->word, word & NUMBER_MASK, memory_order_relaxed);
	busy_before_payload();
	if (length == ISOLATOR_SLOT_BYTES)
		store_payload(slot, data);
	else
		write_part(slot, data, length);
	/* Release: the payload, and of a long message its other slots, come before.
	 * Pairs with the acquire of the word in isolator_poll_now() and ring.c.
	 */
	atomic_store_explicit(&slot->word, word, memory_order_release);
}

static inline void free_until(struct poster *tx, uint64_t number)
{
	if (number_before(tx->limit, number))
		tx->limit = number;
}

/*
 * The ring seems full: ask the receiver's line again.  Afterwards @next + @slots
 * may be written, or it returns false.  What the line says is bounded: it can free
 * at most the whole ring, and what makes no sense frees nothing.
 */
static bool __attribute__((noinline)) find_room(struct poster *tx, uint64_t slots)
{
	uint64_t whole = ring_numbers(tx->mask);
	/* Acquire: the receiver has copied what was in a slot before it gives it
	 * back.  Pairs with the releases in release_slots().
	 */
	uint64_t released = atomic_load_explicit(&tx->other->released, memory_order_acquire) &
			    NUMBER_MASK;
	uint64_t taken;

	if (tx->next - released <= whole) {
		free_until(tx, released + whole);
		return tx->limit - tx->next >= slots * NUMBER_ONE;
	}
	/* Acquire: as above; pairs with take() and taken(). */
	taken = atomic_load_explicit(&tx->other->taken, memory_order_acquire) & NUMBER_MASK;
	if (tx->next - taken <= whole) {
		/* All in order: isolator_post_begin() counted from there, and what was taken is
		 * released up to an eighth of the ring later.
		 */
		free_until(tx, taken + whole);
	} else if (taken - released <= whole) {
		/* The receiver waits for numbers that are nowhere near, if both of its lines say
		 * so: follow it.  One number is left out, so that it sees a gap.
		 */
		go_on_at(tx, taken + NUMBER_ONE);
		tx->limit = taken + whole;
		count(&tx->resyncs, 1);
	}
	return tx->limit - tx->next >= slots * NUMBER_ONE;
}

/*
 * The ring has been full for long.  Should what was posted have been overwritten, the
 * receiver waits for it in vain and nothing ever gets free: mark such slots as what
 * they are, so that it passes over them and reports the gap.  Of the slots that it has
 * taken meanwhile it sees nothing.
 */
static void begin_mending(struct poster *tx)
{
	/* Acquire: as in find_room(). */
	uint64_t number = atomic_load_explicit(&tx->other->taken, memory_order_acquire) &
			  NUMBER_MASK;

	if (tx->next - number > ring_numbers(tx->mask))
		return;
	tx->mend_at = number;
	tx->mend_until = tx->next;
	tx->mend_first = 0;
}

/* Some slots of it. */
static void mend(struct poster *tx)
{
	for (unsigned int i = 0; i < SEARCH_SLOTS && tx->mend_at != tx->mend_until; i++) {
		uint64_t number = tx->mend_at;
		uint64_t index = isolator_ring_index(number, tx->mask);
		uint64_t word = atomic_load_explicit(&tx->ring[index].word, memory_order_relaxed);

		tx->mend_at += NUMBER_ONE;
		if (tx->mend_first && isolator_ring_continues(word, number, tx->mend_first)) {
			if (!(word & WORD_MORE))
				tx->mend_first = 0;
			continue;
		}
		tx->mend_first = 0;
		if ((word & NUMBER_MASK) != number ||
		    !isolator_ring_begins(word, index, tx->mask))
			/* Relaxed: no payload belongs to it. */
			atomic_store_explicit(&tx->ring[index].word, number | WORD_VOID,
					      memory_order_relaxed);
		else if (word & WORD_MORE)
			tx->mend_first = word;
	}
}

static int __attribute__((noinline)) refuse(struct poster *tx)
{
	count(&tx->full, 1);
	/* There was room meanwhile: nothing is wrong any more. */
	if (tx->mend_until != tx->next)
		tx->mend_at = tx->mend_until;
	if (tx->refused_at != tx->next) {
		tx->refused_at = tx->next;
		tx->refused = 0;
	}
	if (++tx->refused % PATIENCE == 0 && tx->mend_at == tx->mend_until)
		begin_mending(tx);
	mend(tx);
	return isolator_failed(STEP_POST, EAGAIN);
}

static int __attribute__((noinline)) post_long(struct poster *tx, unsigned int type,
					       const unsigned char *data, size_t length)
{
	uint64_t slots = (length + ISOLATOR_SLOT_BYTES - 1) / ISOLATOR_SLOT_BYTES;
	uint64_t number;

	if (length > tx->message_bytes)
		return isolator_failed(STEP_POST, EMSGSIZE);
	if (tx->limit - tx->next < slots * NUMBER_ONE && !find_room(tx, slots))
		return refuse(tx);
	/* From the last slot to the first, whose word makes all of them a message. */
	for (uint64_t slot = slots; slot-- > 0;) {
		size_t begin = slot * ISOLATOR_SLOT_BYTES;
		size_t part = length - begin;
		uint64_t word = (uint64_t)type << WORD_TYPE_SHIFT;

		number = tx->next + slot * NUMBER_ONE;
		if (slot == 0)
			word |= WORD_FIRST;
		if (slot + 1 < slots) {
			word |= WORD_MORE;
			part = ISOLATOR_SLOT_BYTES;
		}
		write_slot(&tx->ring[isolator_ring_index(number, tx->mask)], number | word | part,
			   data + begin, part);
	}
	go_on_at(tx, tx->next + slots * NUMBER_ONE);
	count(&tx->posted, 1);
	return 0;
}

/* Anything but a short message and a slot that is known to be free. */
static int __attribute__((noinline)) post_rest(struct isolator_channel *channel, unsigned int type,
					       const void *data, size_t length)
{
	struct poster *tx = &channel->tx;

	if (type >= ISOLATOR_TYPES)
		return isolator_failed(STEP_POST, EINVAL);
	if (length > ISOLATOR_SLOT_BYTES)
		return post_long(tx, type, data, length);
	if (!find_room(tx, 1))
		return refuse(tx);
	return isolator_post(channel, type, data, length);
}

EXPORT int isolator_post(struct isolator_channel *channel, unsigned int type,
			 const void *data, size_t length)
{
	struct poster *tx = &channel->tx;
	uint64_t number = tx->next;
	struct isolator_slot *slot = tx->slot;

	expect_write(slot);
	if (__builtin_expect(type >= ISOLATOR_TYPES, 0) ||
	    __builtin_expect(length > ISOLATOR_SLOT_BYTES, 0) ||
	    __builtin_expect(tx->limit == number, 0))
		return post_rest(channel, type, data, length);
	write_slot(slot, number | WORD_FIRST | (uint64_t)type << WORD_TYPE_SHIFT | length,
		   data, length);
	go_on_at(tx, number + NUMBER_ONE);
	count(&tx->posted, 1);
	return 0;
}

/* Go on behind the last message, counted from where the receiver is. */
void isolator_post_begin(struct isolator_channel *channel)
{
	struct poster *tx = &channel->tx;
	/* Acquire: as in find_room(). */
	uint64_t taken = atomic_load_explicit(&tx->other->taken, memory_order_acquire) &
			 NUMBER_MASK;

	go_on_at(tx, isolator_ring_end(tx->ring, tx->mask, taken));
	tx->limit = taken + ring_numbers(tx->mask);
}
