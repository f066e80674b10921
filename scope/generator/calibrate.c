// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrate.h"
#include "place.h"
#include "statistics/rank.h"

#define MILLIHERTZ 10000000	/* of the triggers: 10 kHz */
#define LINES 11		/* looked at, as many as there are names for */
#define PASSES 65536		/* of the loop whose duration is kept */
#define LIMIT_NS (20 * NS_PER_S)
#define P50 (PERCENTILE_WHOLE / 2)
#define P99 (PERCENTILE_WHOLE / 100)

struct calibration {
	struct capture capture;
	struct scope_lines *lines;
	struct book *book;
	uint64_t *loopback, *jitter, *passes;
	uint32_t rounds, answered, triggers;
	int cpu;		/* the echo's */
	bool quit;
};

static void note(void *to, const struct record *record)
{
	struct calibration *calibration = to;

	if (record->kind != RECORD_TRIGGER)
		return;
	calibration->jitter[calibration->triggers++] = record->jitter_ns;
	if (record->nr_answers)
		calibration->loopback[calibration->answered++] = record->answers[0].ns;
}

static void *echo(void *argument)
{
	struct calibration *calibration = argument;
	struct scope_lines *lines = calibration->lines;
	uint32_t last = 0, head = 0;

	place_current(calibration->cpu);
	while (!__atomic_load_n(&calibration->quit, __ATOMIC_RELAXED)) {
		uint32_t trigger = __atomic_load_n(&lines->trigger, __ATOMIC_ACQUIRE);

		if (trigger == last)
			continue;
		last = trigger;
		lines->line[0].ring[head % SCOPE_LINES_RING] = trigger;
		__atomic_store_n(&lines->line[0].head, ++head, __ATOMIC_RELEASE);
	}
	return NULL;
}

static int ascending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* By rank; @values become sorted. */
static uint64_t percentile(uint64_t *values, uint32_t count, uint32_t above)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), ascending);
	return values[rank_from_least(count, above) - 1];
}

static void measure(struct calibration *calibration, struct floor_result *result)
{
	struct capture *capture = &calibration->capture;
	struct settings settings = SETTINGS_DEFAULT;
	uint64_t before, limit;
	uint32_t passes = 0;

	settings.millihertz = MILLIHERTZ;
	settings.random = true;
	settings.patience_ns = NS_PER_S;
	settings.mask = 1;
	capture_start(capture, &settings, calibration->rounds);
	before = capture_pass(capture);
	limit = before + LIMIT_NS;
	while ((capture->running || book_waiting(calibration->book)) && before < limit) {
		uint64_t triggers = calibration->book->newest, now = capture_pass(capture);

		/* Between two looks nothing else was to do. */
		if (passes < PASSES && calibration->book->newest == triggers)
			calibration->passes[passes++] = now - before;
		before = now;
	}
	if (!calibration->answered)
		return;
	result->rounds = calibration->triggers;
	result->resolution = percentile(calibration->passes, passes, P99);
	result->loopback_p50 = percentile(calibration->loopback, calibration->answered, P50);
	result->loopback_p99 = percentile(calibration->loopback, calibration->answered, P99);
	result->loopback_max = percentile(calibration->loopback, calibration->answered, 0);
	result->jitter_p50 = percentile(calibration->jitter, calibration->triggers, P50);
	result->jitter_p99 = percentile(calibration->jitter, calibration->triggers, P99);
	result->jitter_max = percentile(calibration->jitter, calibration->triggers, 0);
}

/* With a doorbell on which nobody waits: what ringing costs is part of the floor. */
static void with_echo(struct calibration *calibration, struct floor_result *result)
{
	int doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_t thread;

	if (doorbell < 0)
		return;
	calibration->capture.peers[0].doorbell = doorbell;
	calibration->capture.nr_peers = 1;
	if (!pthread_create(&thread, NULL, echo, calibration)) {
		measure(calibration, result);
		__atomic_store_n(&calibration->quit, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	close(doorbell);
}

void calibrate(uint32_t rounds, int cpu, struct floor_result *result)
{
	struct calibration *calibration = calloc(1, sizeof(*calibration));
	struct book *book = calloc(1, sizeof(*book));
	uint64_t *values = calloc(2 * (size_t)rounds + PASSES, sizeof(*values));
	struct scope_lines *lines = mmap(NULL, SCOPE_LINES_SIZE, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	memset(result, 0, sizeof(*result));
	if (calibration && book && values && lines != MAP_FAILED) {
		calibration->lines = lines;
		calibration->book = book;
		calibration->loopback = values;
		calibration->jitter = values + rounds;
		calibration->passes = values + 2 * (size_t)rounds;
		calibration->rounds = rounds;
		calibration->cpu = place_choose(cpu);
		capture_init(&calibration->capture, lines, book, NULL);
		book->emit = note;
		book->to = calibration;
		lines->offered = (1u << LINES) - 1;
		if (calibration->cpu >= 0)
			with_echo(calibration, result);
	}
	if (lines != MAP_FAILED)
		munmap(lines, SCOPE_LINES_SIZE);
	free(values);
	free(book);
	free(calibration);
}
