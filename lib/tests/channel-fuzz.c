// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Random scribbles all over the shared memory, between and during calls.  No access
 * leaves its bounds (guard pages, AddressSanitizer), no call hangs, and when the
 * scribbling ends the channel works again.   channel-fuzz [ROUNDS [SEED]]
 */
#include "check.h"
#include "pair.h"
#include "hostile.h"

#define OPERATIONS	300U

static unsigned long rounds = 1500;
static uint64_t seed = 0x9e3779b97f4a7c15;

/* A value that one side might believe. */
static uint64_t lie(uint64_t *state, const struct traffic *traffic)
{
	uint64_t near = traffic->pair.b->rx.next +
			(draw(state) % 64 - 32) * NUMBER_ONE;

	switch (draw(state) % 6) {
	case 0:
		return draw(state);
	case 1:
		return near;
	case 2:
		return near | (draw(state) & 0xffff);
	case 3:
		return near | WORD_FIRST | (draw(state) & 0x7f);
	case 4:
		return traffic->pair.a->tx.next + (draw(state) % 5 - 2) * NUMBER_ONE;
	default:
		return draw(state) % 3 - 1;
	}
}

static _Atomic uint64_t *somewhere(uint64_t *state, const struct traffic *traffic)
{
	_Atomic uint64_t *words = (void *)traffic->pair.a->shared;
	uint64_t count = traffic->pair.a->bytes / 8;

	switch (draw(state) % 4) {
	case 0:
		return words + draw(state) % count;
	case 1:
		return &traffic->pair.a->shared->receiver[draw(state) % 2].taken;
	case 2:
		return &traffic->pair.a->shared->receiver[draw(state) % 2].released;
	default:
		return &traffic->pair.a->tx.ring[draw(state) &
						 traffic->pair.a->tx.mask].word;
	}
}

static void scribble(uint64_t *state, const struct traffic *traffic)
{
	atomic_store_explicit(somewhere(state, traffic), lie(state, traffic),
			      memory_order_relaxed);
}

/* The header is checked by another test; a new side needs a sound one to open. */
static void mend_header(const struct traffic *traffic, const struct isolator_ring_header *header)
{
	if (pwrite(traffic->pair.fd, header, sizeof(*header), 0) != sizeof(*header))
		CHECK(!"header");
}

static void random_operations(void)
{
	uint64_t state = seed;

	for (unsigned long round = 0; round < rounds && !check_failed; round++) {
		struct isolator_ring_header header;
		struct traffic traffic;

		traffic_begin(&traffic, 8U << draw(&state) % 3);
		header = traffic.pair.a->shared->header;
		for (unsigned int i = 0; i < OPERATIONS; i++) {
			switch (draw(&state) % 16) {
			case 0:
			case 1:
			case 2:
				scribble(&state, &traffic);
				break;
			case 3:
				mend_header(&traffic, &header);
				traffic_reopen(&traffic, draw(&state) % 2);
				break;
			case 4:
			case 5:
			case 6:
			case 7:
			case 8:
				traffic_post(&traffic, draw(&state) % 230);
				break;
			default:
				CHECK(isolator_poll(traffic.pair.b, draw(&state) % 9) >= 0);
			}
		}
		mend_header(&traffic, &header);
		traffic_recovers(&traffic);
		pair_drop(&traffic.pair);
		if (check_failed)
			printf("# round %lu of seed %#llx\n", round, (unsigned long long)seed);
	}
}

struct both {
	struct traffic traffic;
	_Atomic bool stop;
};

static void *keep_scribbling(void *context)
{
	struct both *both = context;
	uint64_t state = seed;
	_Atomic uint64_t *words = (void *)both->traffic.pair.a->shared;
	uint64_t count = both->traffic.pair.a->bytes / 8;

	/* What another process could: it does not see our private places. */
	while (!atomic_load(&both->stop)) {
		uint64_t at = draw(&state) % count;

		if (at >= sizeof(struct isolator_ring_header) / 8)
			atomic_store_explicit(&words[at],
				draw(&state) % 4 ? words[draw(&state) % count] + draw(&state) % 9
						 : draw(&state), memory_order_relaxed);
	}
	return NULL;
}

static void *keep_posting(void *context)
{
	struct both *both = context;
	uint64_t state = seed + 1;

	while (!atomic_load(&both->stop))
		traffic_post(&both->traffic, draw(&state) % 230);
	return NULL;
}

static void while_others_run(void)
{
	static struct both both;
	pthread_t scribbler, poster;

	for (unsigned int round = 0; round < 5; round++) {
		traffic_begin(&both.traffic, 64);
		atomic_store(&both.stop, false);
		CHECK_EQUAL(pthread_create(&scribbler, NULL, keep_scribbling, &both), 0);
		CHECK_EQUAL(pthread_create(&poster, NULL, keep_posting, &both), 0);
		for (unsigned long i = 0; i < 200 * rounds; i++)
			CHECK(isolator_poll(both.traffic.pair.b, 16) >= 0);
		atomic_store(&both.stop, true);
		pthread_join(scribbler, NULL);
		pthread_join(poster, NULL);
		traffic_recovers(&both.traffic);
		pair_drop(&both.traffic.pair);
	}
}

static const struct test tests[] = {
	{ "scribbles between calls", random_operations },
	{ "scribbles during calls", while_others_run },
};

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0);
	isolator_sys.mmap = guarded_mmap;
	isolator_sys.munmap = guarded_munmap;
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
