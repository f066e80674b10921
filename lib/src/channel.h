/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A side's private part of a channel.  What is shared, and what its words mean, is in
 * <linux/isolator_ring.h>, which the kernel's end has as well.
 *
 * What is trusted: nothing of that, but the own private part.  When the two sides are at
 * numbers that do not fit together, the receiver moves up to the nearest message that
 * is not too far ahead, never back, so that nothing comes twice; and the poster that
 * finds no room follows the receiver wherever that is.
 */
#ifndef ISOLATOR_SRC_CHANNEL_H
#define ISOLATOR_SRC_CHANNEL_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* The words are atomic here. */
#define ISOLATOR_RING_WORD	_Atomic uint64_t
#include <linux/isolator_ring.h>

#include "internal.h"

/* Short names. */
#define LINE		ISOLATOR_RING_LINE
#define SLOT_WORDS	ISOLATOR_RING_WORDS
#define HEADER_BYTES	ISOLATOR_RING_HEADER
#define NUMBER_ONE	ISOLATOR_RING_ONE
#define NUMBER_MASK	ISOLATOR_RING_NUMBER
#define NUMBERS_FAR	ISOLATOR_RING_FAR
#define WORD_TYPE_SHIFT	ISOLATOR_RING_TYPE_SHIFT
#define WORD_TYPE	ISOLATOR_RING_TYPE
#define WORD_FIRST	ISOLATOR_RING_FIRST
#define WORD_MORE	ISOLATOR_RING_MORE
#define WORD_LENGTH	ISOLATOR_RING_LENGTH
#define WORD_VOID	ISOLATOR_RING_VOID

/* No slot holds it: the length is too much. */
#define WORD_NEVER	(~0ULL)

/* Idle polls until a closer look at the ring, and refused posts. */
#define PATIENCE	1024U

/* How many slots of a ring one call looks at when something is wrong there. */
#define SEARCH_SLOTS	64U

_Static_assert(sizeof(struct isolator_slot) == LINE, "a message of one slot is one line");
_Static_assert(SLOT_WORDS * 8 == ISOLATOR_SLOT_BYTES &&
	       ISOLATOR_RING_PAYLOAD == ISOLATOR_SLOT_BYTES,
	       "what the header promises");
_Static_assert(sizeof(struct isolator_ring_shared) == HEADER_BYTES, "rings begin behind it");
_Static_assert(ISOLATOR_RING_POSTERS == ISOLATOR_POSTERS, "what the header of inboxes promises");

struct handler {
	isolator_callback callback;
	void *context;
};

struct poster {
	struct isolator_slot *ring;
	uint64_t mask;
	uint64_t next;		/* number of the next slot to write */
	struct isolator_slot *slot;	/* that slot, found out while nobody waits for it */
	uint64_t limit;		/* number of the first slot that is not known free */
	uint64_t refused;	/* posts that found no room at @refused_at */
	uint64_t refused_at;
	/* What mend() goes through, from the one number to the other. */
	uint64_t mend_at, mend_until;
	uint64_t mend_first;	/* the message that goes on at @mend_at; 0: none does */
	struct isolator_receiver_line *other;
	uint64_t message_bytes;
	_Atomic uint64_t posted, full, resyncs;
};

/* Goes on from call to call: a ring may be large. */
struct search {
	uint64_t from;		/* the slot that was next; another one is: it is over */
	uint64_t left;		/* slots that were not looked at; 0: none is under way */
	uint64_t nearest;	/* how far from there, or NUMBERS_FAR */
};

/* One word for all that a poll must know before it takes a message. */
enum receiver_state {
	RECEIVER_READY,
	RECEIVER_GAP,		/* @gap must be reported first */
	RECEIVER_BUSY,		/* a callback runs */
	RECEIVER_NONE,		/* this handle only posts */
};

struct receiver {
	struct isolator_slot *ring;
	uint64_t mask;
	uint64_t next;		/* number of the next slot to take */
	uint64_t release_at;	/* number at which to write released again */
	struct isolator_receiver_line *own;
	uint64_t looked;	/* index at which the next closer look begins */
	struct search search;	/* for the nearest message */
	struct isolator_gap gap;	/* found at open, to be reported by a poll */
	unsigned char *message;	/* a message of several slots is put together here */
	uint64_t message_bytes;
	uint64_t answered;	/* where the poster was when a message was received last */
	enum receiver_state state;
	_Atomic uint64_t received, unhandled, gaps, lost, invalid, resyncs;
	/* Laid out as a slot is, so that pairs of words are aligned here too. */
	struct {
		_Alignas(LINE) uint64_t unused;
		uint64_t payload[SLOT_WORDS];
	} copy;
};

struct isolator_channel {
	_Alignas(LINE) struct isolator_channel_view view;
	struct receiver rx;
	struct poster tx;
	struct handler handlers[ISOLATOR_TYPES + 1];
	struct isolator_ring_shared *shared;
	size_t bytes;
	int fd;			/* holds the lock of this side */
};

/* Is number @a behind @b?  Half of all numbers are. */
static inline bool number_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

static inline uint64_t ring_numbers(uint64_t mask)
{
	return (mask + 1) * NUMBER_ONE;
}

/* The thread that counts is the only one that writes; any may read. */
static inline void count(_Atomic uint64_t *counter, uint64_t more)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

/*
 * Orders of a slot's payload.  On the poster's side the busy mark comes before the
 * payload, on the receiver's the payload before the second look at the word: a
 * receiver that read any of the new payload then sees the mark, or what follows.
 * One fence each does it; ThreadSanitizer knows no fences, there every access has
 * the order.
 */
#ifdef __SANITIZE_THREAD__
#define PAYLOAD_STORE	memory_order_release
#define PAYLOAD_LOAD	memory_order_acquire
static inline void busy_before_payload(void) {}
static inline void payload_before_check(void) {}
#else
#define PAYLOAD_STORE	memory_order_relaxed
#define PAYLOAD_LOAD	memory_order_relaxed
static inline void busy_before_payload(void)
{
	/* Pairs with payload_before_check(). */
	atomic_thread_fence(memory_order_release);
}

static inline void payload_before_check(void)
{
	/* Pairs with busy_before_payload(). */
	atomic_thread_fence(memory_order_acquire);
}
#endif

/*
 * A slot's payload, out and in.  Stores leave a CPU one by one and in order, so that each of them
 * is time between a message that arrives and its answer: after the first word, whose neighbour is
 * the slot's own, two words at once.  To the other side each is an access of its own: the CPU
 * makes those of aligned 8 bytes whole.  They are loaded from the caller one by one, because two
 * that it has just stored cannot be forwarded to one load.
 */
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
typedef uint64_t word_pair __attribute__((vector_size(16), may_alias));
typedef uint64_t unaligned_word __attribute__((aligned(1), may_alias));

static inline void load_payload(const struct isolator_slot *slot, uint64_t to[SLOT_WORDS])
{
	to[0] = atomic_load_explicit(&slot->payload[0], memory_order_relaxed);
#pragma GCC unroll 3
	for (unsigned int i = 1; i < SLOT_WORDS; i += 2)
		*(word_pair *)(void *)&to[i] =
			*(const volatile word_pair *)(const void *)&slot->payload[i];
}

static inline void store_payload(struct isolator_slot *slot, const unsigned char *from)
{
	uint64_t first;
	word_pair pair;

	memcpy(&first, from, 8);
	atomic_store_explicit(&slot->payload[0], first, memory_order_relaxed);
#pragma GCC unroll 3
	for (unsigned int i = 1; i < SLOT_WORDS; i += 2) {
		/* In C the compiler makes it the one load that it must not be. */
		__asm__("movq %1, %0\n\tmovhps %2, %0"
			: "=&x"(pair)
			: "m"(*(const unaligned_word *)(const void *)(from + 8 * i)),
			  "m"(*(const unaligned_word *)(const void *)(from + 8 * i + 8)));
		*(volatile word_pair *)(void *)&slot->payload[i] = pair;
	}
}
#else
static inline void load_payload(const struct isolator_slot *slot, uint64_t to[SLOT_WORDS])
{
#pragma GCC unroll 7
	for (unsigned int i = 0; i < SLOT_WORDS; i++)
		to[i] = atomic_load_explicit(&slot->payload[i], PAYLOAD_LOAD);
}

static inline void store_payload(struct isolator_slot *slot, const unsigned char *from)
{
	uint64_t words[SLOT_WORDS];

	memcpy(words, from, sizeof(words));
#pragma GCC unroll 7
	for (unsigned int i = 0; i < SLOT_WORDS; i++)
		atomic_store_explicit(&slot->payload[i], words[i], PAYLOAD_STORE);
}
#endif

/*
 * A hint: this line is about to be written.  Asking for it takes as long as all that
 * is done until then, so that the two overlap.
 */
static inline void expect_write(const struct isolator_slot *slot)
{
#ifdef __x86_64__
	/* The compiler's own needs a CPU newer than the oldest, which take this for a
	 * nop.
	 */
	__asm__ volatile("prefetchw %0" : : "m"(*slot));
#else
	__builtin_prefetch(slot, 1);
#endif
}

/* The number behind the message that @word begins, as far as its parts are there. */
HIDDEN uint64_t isolator_message_end(struct isolator_slot *ring, uint64_t mask, uint64_t word);

/*
 * The number behind the last message of those in @ring from @from on, at most a whole
 * ring further; @from when there is none.
 */
HIDDEN uint64_t isolator_ring_end(struct isolator_slot *ring, uint64_t mask, uint64_t from);

/*
 * Look for the nearest message in @ring from @search->from on, in some more slots.  Afterwards,
 * if none is left, it is that far away, unless none is near.
 */
HIDDEN void isolator_ring_search(struct isolator_slot *ring, uint64_t mask, struct search *search);

/* Find where this side goes on, from what is in the shared memory. */
HIDDEN void isolator_post_begin(struct isolator_channel *channel);
HIDDEN void isolator_poll_begin(struct isolator_channel *channel);

#endif
