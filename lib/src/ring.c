// SPDX-License-Identifier: LGPL-2.1-or-later
/* What the words of a ring tell: read when a side is opened or has lost its place. */
#include "channel.h"

bool isolator_word_begins(uint64_t word, uint64_t index, uint64_t mask)
{
	return (word & WORD_FIRST) && (word & WORD_LENGTH) <= ISOLATOR_SLOT_BYTES &&
	       number_index(word, mask) == index &&
	       (!(word & WORD_MORE) || (word & WORD_LENGTH) == ISOLATOR_SLOT_BYTES);
}

bool isolator_word_continues(uint64_t word, uint64_t number, uint64_t first)
{
	uint64_t length = word & WORD_LENGTH;

	return (word & NUMBER_MASK) == number && !(word & WORD_FIRST) &&
	       (word & WORD_TYPE) == (first & WORD_TYPE) &&
	       length > 0 && length <= ISOLATOR_SLOT_BYTES &&
	       (!(word & WORD_MORE) || length == ISOLATOR_SLOT_BYTES);
}

/* The number behind the message that @word begins, as far as its parts are there. */
static uint64_t message_end(struct slot *ring, uint64_t mask, uint64_t word)
{
	uint64_t first = word;
	uint64_t number = (word & NUMBER_MASK) + NUMBER_ONE;

	for (uint64_t slots = 1; (word & WORD_MORE) && slots <= mask; slots++) {
		/* Acquire: pairs with the release in isolator_post(). */
		word = atomic_load_explicit(&ring[number_index(number, mask)].word,
					    memory_order_acquire);
		if (!isolator_word_continues(word, number, first))
			break;
		number += NUMBER_ONE;
	}
	return number;
}

uint64_t isolator_ring_end(struct slot *ring, uint64_t mask, uint64_t from)
{
	uint64_t end = from;

	for (uint64_t index = 0; index <= mask; index++) {
		/* Acquire: pairs with the release in isolator_post(). */
		uint64_t word = atomic_load_explicit(&ring[index].word, memory_order_acquire);

		if (isolator_word_begins(word, index, mask)) {
			uint64_t behind = message_end(ring, mask, word);

			if (number_before(end, behind))
				end = behind;
		}
	}
	return end;
}

uint64_t isolator_ring_nearest(struct slot *ring, uint64_t mask, uint64_t from)
{
	uint64_t nearest = from;

	for (uint64_t index = 0; index <= mask; index++) {
		/* Acquire: who sees a message sees all before it; see closer_look(). */
		uint64_t word = atomic_load_explicit(&ring[index].word, memory_order_acquire);
		uint64_t number = word & NUMBER_MASK;

		if (!isolator_word_begins(word, index, mask) || number_before(number, from))
			continue;
		if (nearest == from || number_before(number, nearest))
			nearest = number;
	}
	return nearest;
}
