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

uint64_t isolator_message_end(struct slot *ring, uint64_t mask, uint64_t word)
{
	uint64_t first = word;
	uint64_t number = (word & NUMBER_MASK) + NUMBER_ONE;

	for (uint64_t slots = 1; (word & WORD_MORE) && slots <= mask; slots++) {
		/* Acquire: pairs with the release in write_slot(). */
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
	uint64_t furthest = 0;

	for (uint64_t index = 0; index <= mask; index++) {
		/* Acquire: pairs with the release in write_slot(). */
		uint64_t word = atomic_load_explicit(&ring[index].word, memory_order_acquire);

		if (isolator_word_begins(word, index, mask)) {
			uint64_t ahead = isolator_message_end(ring, mask, word) - from;

			if (ahead <= ring_numbers(mask) && ahead > furthest)
				furthest = ahead;
		}
	}
	return from + furthest;
}

void isolator_ring_search(struct slot *ring, uint64_t mask, struct search *search)
{
	for (unsigned int i = 0; i < SEARCH_SLOTS && search->left; i++) {
		uint64_t index = --search->left;
		/* Acquire: who sees a message sees all before it; see closer_look(). */
		uint64_t word = atomic_load_explicit(&ring[index].word, memory_order_acquire);
		uint64_t ahead = (word & NUMBER_MASK) - search->from;

		if (isolator_word_begins(word, index, mask) && ahead < search->nearest)
			search->nearest = ahead;
	}
}
