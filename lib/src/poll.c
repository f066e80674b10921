// SPDX-License-Identifier: LGPL-2.1-or-later
/* The receiving half of a side. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "channel.h"

/* How many slots a closer look looks at. */
#define LOOK_SLOTS	4U

static inline struct isolator_slot *next_slot(struct receiver *rx)
{
	return &rx->ring[isolator_ring_index(rx->next, rx->mask)];
}

/* Does @word say that a message begins in the slot that is next? */
static inline bool is_here(const struct receiver *rx, uint64_t word)
{
	return (word & (NUMBER_MASK | WORD_FIRST)) == (rx->next | WORD_FIRST);
}

/* The same, and that it is one of a single slot?  Of a lawful length, which is for one look. */
static inline bool is_short(const struct receiver *rx, uint64_t word)
{
	return (word & ~(WORD_TYPE | WORD_LENGTH)) == (rx->next | WORD_FIRST) &&
	       (word & WORD_LENGTH) <= ISOLATOR_SLOT_BYTES;
}

/* Make the next poll look at the slot that is next now. */
static inline void set_view(struct isolator_channel *channel, uint64_t idle)
{
	channel->view.word = (const uint64_t *)&next_slot(&channel->rx)->word;
	channel->view.idle = idle;
}

/* Precondition: all before @rx->next has been copied, or is given up. */
static void release_slots(struct receiver *rx)
{
	/* Release: the copies come before.  Pairs with find_room(). */
	atomic_store_explicit(&rx->own->released, rx->next, memory_order_release);
	rx->release_at = rx->next + ring_numbers(rx->mask) / 8;
}

/* Pass over @slots, whose callback is about to be called. */
static inline void take(struct receiver *rx, uint64_t slots)
{
	uint64_t next = rx->next + slots * NUMBER_ONE;

	rx->next = next;
	/* Release: the copies come before.  Pairs with isolator_post_begin(). */
	atomic_store_explicit(&rx->own->taken, next | slots, memory_order_release);
	if (__builtin_expect(!number_before(next, rx->release_at), 0))
		release_slots(rx);
}

/* The callback has returned: who opens this side next need not ask about it. */
static inline void taken(struct receiver *rx)
{
	/* Release: what the callback did comes before.  Pairs with isolator_poll_begin(). */
	atomic_store_explicit(&rx->own->taken, rx->next, memory_order_release);
}

static inline void hand_out(struct isolator_channel *channel, unsigned int type,
			    const void *data, size_t length)
{
	const struct handler *handler = &channel->handlers[type];

	if (__builtin_expect(handler->callback != NULL, 1)) {
		handler->callback(handler->context, type, data, length);
		count(&channel->rx.received, 1);
	} else {
		count(&channel->rx.unhandled, 1);
	}
}

static void report_gap(struct isolator_channel *channel, const struct isolator_gap *gap)
{
	const struct handler *handler = &channel->handlers[ISOLATOR_TYPE_GAP];
	struct isolator_gap copy = *gap;

	count(&channel->rx.gaps, 1);
	count(&channel->rx.lost, copy.slots);
	if (handler->callback)
		handler->callback(handler->context, ISOLATOR_TYPE_GAP, &copy, sizeof(copy));
}

/* Go on at @number, which is ahead, and say what was left out. */
static void move_up(struct isolator_channel *channel, uint64_t number)
{
	struct receiver *rx = &channel->rx;
	struct isolator_gap gap = {
		.first = rx->next / NUMBER_ONE,
		.slots = (number - rx->next) / NUMBER_ONE,
	};

	rx->next = number;
	count(&rx->resyncs, 1);
	/* Before taken(): killed here, the next one finds and reports it again. */
	report_gap(channel, &gap);
	taken(rx);
	release_slots(rx);
}

/* A slot that holds no message although its word says so: the other side lies. */
static void pass_over(struct isolator_channel *channel)
{
	struct receiver *rx = &channel->rx;
	struct isolator_gap gap = { .first = rx->next / NUMBER_ONE, .slots = 1 };

	take(rx, 1);
	count(&rx->invalid, 1);
	report_gap(channel, &gap);
	taken(rx);
}

/* Copy @slot's payload, then see whether @word still vouched for it. */
static inline bool copy_slot(struct isolator_slot *slot, uint64_t word,
			     uint64_t payload[SLOT_WORDS])
{
	load_payload(slot, payload);
	payload_before_check();
	/* Relaxed: the fence orders it. */
	return atomic_load_explicit(&slot->word, memory_order_relaxed) == word;
}

/*
 * Put the message that @word begins together in @rx->message.  Returns how many
 * slots it takes, 0 when it is not one; @length is that of the whole.
 */
static uint64_t copy_long(struct receiver *rx, uint64_t word, size_t *length)
{
	uint64_t number = rx->next;
	uint64_t first = word;
	size_t at = 0;

	for (uint64_t slots = 1; slots <= rx->mask; slots++) {
		struct isolator_slot *slot = &rx->ring[isolator_ring_index(number, rx->mask)];
		size_t part = word & WORD_LENGTH;

		if (part > rx->message_bytes - at || !copy_slot(slot, word, rx->copy.payload))
			return 0;
		memcpy(rx->message + at, rx->copy.payload, part);
		at += part;
		*length = at;
		if (!(word & WORD_MORE))
			return slots;
		number += NUMBER_ONE;
		/* Acquire: pairs with the release in write_slot(). */
		word = atomic_load_explicit(&rx->ring[isolator_ring_index(number, rx->mask)].word,
					    memory_order_acquire);
		if (!isolator_ring_continues(word, number, first))
			return 0;
	}
	return 0;
}

static int __attribute__((noinline)) receive_long(struct isolator_channel *channel,
						  uint64_t word)
{
	struct receiver *rx = &channel->rx;
	unsigned int type = (word & WORD_TYPE) >> WORD_TYPE_SHIFT;
	size_t length = 0;
	uint64_t slots = 0;

	if ((word & WORD_LENGTH) == ISOLATOR_SLOT_BYTES)
		slots = copy_long(rx, word, &length);
	if (!slots) {
		pass_over(channel);
		return 0;
	}
	take(rx, slots);
	hand_out(channel, type, rx->message, length);
	taken(rx);
	return 1;
}

/*
 * The slot that is next holds no message with its number; @word is what it holds.
 * Returns whether that is how it should be: the word of the round before, or the
 * mark of a poster at work.
 */
static bool word_is_lawful(const struct receiver *rx, uint64_t word)
{
	uint64_t before = rx->next - ring_numbers(rx->mask);

	return (word & NUMBER_MASK) == before || word == rx->next ||
	       (word == 0 && rx->next < ring_numbers(rx->mask));
}

/* Is a search under way for what comes after the slot that is next? */
static inline bool is_searching(const struct receiver *rx)
{
	return rx->search.left && rx->search.from == rx->next;
}

/*
 * Look for the nearest message in some more slots.  What was seen there may be gone by the end:
 * then that slot is none to be taken, and another search begins there, further on.
 * Returns whether it has moved up to something.
 */
static bool search_on(struct isolator_channel *channel)
{
	struct search *search = &channel->rx.search;

	isolator_ring_search(channel->rx.ring, channel->rx.mask, search);
	if (search->left || !search->nearest || search->nearest >= NUMBERS_FAR)
		return false;
	move_up(channel, search->from + search->nearest);
	return true;
}

/*
 * Nothing has come.  See whether the other side is ahead of us, in a few slots at
 * a time, and put right what we say about ourselves should somebody have changed
 * it.  Returns whether it has moved up to something.
 */
static bool __attribute__((noinline)) closer_look(struct isolator_channel *channel,
						  uint64_t word)
{
	struct receiver *rx = &channel->rx;
	uint64_t index = isolator_ring_index(rx->next, rx->mask);
	bool ahead = false;

	/* Relaxed: nothing was copied since take() and release_slots() said it. */
	if (atomic_load_explicit(&rx->own->taken, memory_order_relaxed) != rx->next)
		taken(rx);
	if (rx->next - atomic_load_explicit(&rx->own->released, memory_order_relaxed) >=
	    ring_numbers(rx->mask) / 8)
		release_slots(rx);
	if (is_searching(rx))
		return search_on(channel);

	for (unsigned int i = 0; i <= LOOK_SLOTS && !ahead; i++) {
		ahead = isolator_ring_begins(word, index, rx->mask) &&
			(word & NUMBER_MASK) - rx->next < NUMBERS_FAR;
		index = ++rx->looked & rx->mask;
		/* Acquire: who sees a message sees all before it.  Pairs with the
		 * release in write_slot().
		 */
		word = atomic_load_explicit(&rx->ring[index].word, memory_order_acquire);
	}
	/* All that was posted before the one seen above is there by now, also in our own
	 * slot: that is then for the next poll.  Acquire: as there.
	 */
	if (!ahead || is_here(rx, atomic_load_explicit(&next_slot(rx)->word,
						       memory_order_acquire)))
		return false;
	rx->search = (struct search){
		.from = rx->next, .left = rx->mask + 1, .nearest = NUMBERS_FAR,
	};
	return search_on(channel);
}

/*
 * Where one message after the other was answered, this one will be too: have the
 * answer's slot fetched while the message is copied and handed out.
 */
static inline void expect_answer(struct isolator_channel *channel)
{
	const struct poster *tx = &channel->tx;

	if (tx->next != channel->rx.answered)
		expect_write(tx->slot);
	channel->rx.answered = tx->next;
}

/* A message of one slot, whose word has been looked at. */
static inline __attribute__((always_inline)) int
receive_short(struct isolator_channel *channel, struct isolator_slot *slot, uint64_t word)
{
	struct receiver *rx = &channel->rx;

	if (__builtin_expect(!copy_slot(slot, word, rx->copy.payload), 0)) {
		pass_over(channel);
		return 0;
	}
	take(rx, 1);
	hand_out(channel, (word & WORD_TYPE) >> WORD_TYPE_SHIFT, rx->copy.payload, word & WORD_LENGTH);
	taken(rx);
	return 1;
}

static int receive(struct isolator_channel *channel, uint64_t word)
{
	if (word & WORD_MORE)
		return receive_long(channel, word);
	if ((word & WORD_LENGTH) > ISOLATOR_SLOT_BYTES) {
		pass_over(channel);
		return 0;
	}
	return receive_short(channel, next_slot(&channel->rx), word);
}

/* All that is not the one short message of isolator_poll_now(), which @received counts. */
static int __attribute__((noinline)) poll_more(struct isolator_channel *channel, unsigned int max,
					       int received)
{
	struct receiver *rx = &channel->rx;
	uint64_t idle = WORD_NEVER;
	bool looked = false;

	if (__builtin_expect(rx->state == RECEIVER_NONE, 0))
		return isolator_failed(STEP_POLL, EOPNOTSUPP);
	if (max > INT_MAX)
		max = INT_MAX;
	rx->state = RECEIVER_BUSY;
	if (__builtin_expect(rx->gap.slots != 0, 0)) {
		report_gap(channel, &rx->gap);
		rx->gap.slots = 0;
		taken(rx);
		release_slots(rx);
	}
	/* Every round passes a slot or ends, and one looks closer: the other side cannot keep us
	 * here.
	 */
	for (unsigned int rounds = (unsigned int)received;; rounds++) {
		/* Acquire: the payload comes after.  Pairs with the release in
		 * write_slot().
		 */
		uint64_t word = atomic_load_explicit(&next_slot(rx)->word, memory_order_acquire);
		bool here = is_here(rx, word);

		if (here && rounds < max) {
			received += receive(channel, word);
			continue;
		}
		if (here)
			break;
		if (word_is_lawful(rx, word) && !is_searching(rx)) {
			idle = word;
			/* The first look since a message came. */
			if (channel->view.idle == WORD_NEVER) {
				channel->view.patience = PATIENCE;
				rx->looked = isolator_ring_index(rx->next, rx->mask);
				break;
			}
			/* 0 when isolator_poll() has counted it down. */
			if (channel->view.patience && --channel->view.patience)
				break;
			channel->view.patience = PATIENCE;
		}
		if (rounds >= max || looked)
			break;
		looked = true;
		if (!closer_look(channel, word))
			break;
		idle = WORD_NEVER;
	}
	/* It goes on in the next poll, and not after so many. */
	if (is_searching(rx))
		idle = WORD_NEVER;
	rx->state = RECEIVER_READY;
	if (received) {
		channel->view.patience = PATIENCE;
		rx->looked = isolator_ring_index(rx->next, rx->mask);
	} else if (!channel->view.patience) {
		/* The word is unlawful, and by chance WORD_NEVER: look each time. */
		channel->view.patience = 1;
	}
	set_view(channel, idle);
	return received;
}

EXPORT int isolator_poll_now(struct isolator_channel *channel, unsigned int max)
{
	struct receiver *rx = &channel->rx;
	/* The slot that is next; of shared memory only the pointer is our own. */
	struct isolator_slot *slot = (struct isolator_slot *)(uintptr_t)channel->view.word;
	/* Acquire: the payload comes after.  Pairs with the release in write_slot(). */
	uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
	int received;

	if (__builtin_expect(rx->state == RECEIVER_BUSY, 0))
		return isolator_failed(STEP_POLL, EDEADLK);
	if (__builtin_expect(!is_short(rx, word) || rx->state != RECEIVER_READY || !max, 0))
		return poll_more(channel, max, 0);
	/* First of all, as it takes the longest. */
	expect_answer(channel);
	rx->state = RECEIVER_BUSY;
	received = receive_short(channel, slot, word);
	if (__builtin_expect(!received, 0) || max > 1)
		return poll_more(channel, max, received);
	rx->state = RECEIVER_READY;
	/* The caller's answer comes before the look at the slot that is next: it is the next
	 * poll's.
	 */
	set_view(channel, WORD_NEVER);
	return 1;
}

/* Go on where the last receiver of this side was. */
void isolator_poll_begin(struct isolator_channel *channel)
{
	struct receiver *rx = &channel->rx;
	/* Acquire: pairs with the releases in take() and taken(). */
	uint64_t word = atomic_load_explicit(&rx->own->taken, memory_order_acquire);
	uint64_t doubt = word & ~NUMBER_MASK;

	rx->next = word & NUMBER_MASK;
	rx->release_at = rx->next + ring_numbers(rx->mask) / 8;
	if (doubt) {
		/* The last one died in a callback: nobody knows how far it came.  The
		 * poll that reports it takes it back: who is killed before leaves it to
		 * the next one.
		 */
		rx->gap.first = (rx->next / NUMBER_ONE - doubt) & (NUMBER_MASK / NUMBER_ONE);
		rx->gap.slots = doubt;
		rx->state = RECEIVER_GAP;
	} else {
		taken(rx);
		release_slots(rx);
	}
	channel->view.patience = PATIENCE;
	set_view(channel, WORD_NEVER);
}
