/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values above a threshold, on their way from the thread that measures to whoever looks
 * for causes.  One thread puts them in, one takes them out, nobody waits.
 */
#ifndef OUTLIER_H
#define OUTLIER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* from_ns to to_ns, CLOCK_MONOTONIC: the time between which the cause lies. */
struct outlier {
	int cpu;
	pid_t tid;		/* of the thread that measured */
	uint64_t trigger;	/* which one, from 0 */
	uint64_t from_ns, to_ns;
	uint64_t value_ns;
};

/* A power of two.  With one outlier in 10 us, the looking thread may come 20 ms late. */
#define OUTLIER_ROOM 2048

/* All 0 is an empty one. */
struct outlier_ring {
	uint32_t put, taken;	/* how many; they wrap */
	uint64_t lost;		/* it was full */
	struct outlier slots[OUTLIER_ROOM];
};

/* By the one that measures.  A full ring loses @outlier, and counts that. */
static inline void outlier_put(struct outlier_ring *ring, const struct outlier *outlier)
{
	/* Pairs with the release in outlier_take(): the slot was read before it is reused. */
	uint32_t taken = __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE);

	if (ring->put - taken == OUTLIER_ROOM) {
		__atomic_store_n(&ring->lost, ring->lost + 1, __ATOMIC_RELAXED);
		return;
	}
	ring->slots[ring->put % OUTLIER_ROOM] = *outlier;
	/* Pairs with the acquire in outlier_take(): the slot is whole before it is seen. */
	__atomic_store_n(&ring->put, ring->put + 1, __ATOMIC_RELEASE);
}

/* By the one that looks for causes.  False: there is none now. */
static inline bool outlier_take(struct outlier_ring *ring, struct outlier *outlier)
{
	if (__atomic_load_n(&ring->put, __ATOMIC_ACQUIRE) == ring->taken)
		return false;
	*outlier = ring->slots[ring->taken % OUTLIER_ROOM];
	__atomic_store_n(&ring->taken, ring->taken + 1, __ATOMIC_RELEASE);
	return true;
}

/* How many were lost so far. */
static inline uint64_t outlier_lost(const struct outlier_ring *ring)
{
	return __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
}

#endif
