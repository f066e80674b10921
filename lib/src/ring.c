// SPDX-License-Identifier: LGPL-2.1-or-later
/* What the words of a ring tell: read when a side is opened or has lost its place. */
#include "channel.h"

uint64_t isolator_message_end(struct isolator_slot *ring, uint64_t mask, uint64_t word)
{
	uint64_t first = word;
	uint64_t number = (word & NUMBER_MASK) + NUMBER_ONE;

	for (uint64_t slots = 1; (word & WORD_MORE) && slots <= mask; slots++) {
		/* Acquire: pairs with the release in write_slot(). */
		word = atomic_load_explicit(&ring[isolator_ring_index(number, mask)].word,
					    memory_order_acquire);
		if (!isolator_ring_continues(word, number, first))
			break;
		number += NUMBER_ONE;
	}
	return number;
}

uint64_t isolator_ring_end(struct isolator_slot *ring, uint64_t mask, uint64_t from)
{
	uint64_t furthest = 0;

	for (uint64_t index = 0; index <= mask; index++) {
		/* Acquire: pairs with the release in write_slot(). */
		uint64_t word = atomic_load_explicit(&ring[index].word, memory_order_acquire);

		if (isolator_ring_begins(word, index, mask)) {
			uint64_t ahead = isolator_message_end(ring, mask, word) - from;

			if (ahead <= ring_numbers(mask) && ahead > furthest)
				furthest = ahead;
		}
	}
	return from + furthest;
}

void isolator_ring_search(struct isolator_slot *ring, uint64_t mask, struct search *search)
{
	for (unsigned int i = 0; i < SEARCH_SLOTS && search->left; i++) {
		uint64_t index = --search->left;
		/* Acquire: who sees a message sees all before it; see closer_look(). */
		uint64_t word = atomic_load_explicit(&ring[index].word, memory_order_acquire);
		uint64_t ahead = (word & NUMBER_MASK) - search->from;

		if (isolator_ring_begins(word, index, mask) && ahead < search->nearest)
			search->nearest = ahead;
	}
}
