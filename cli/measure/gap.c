// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "measure/gap.h"
#include "statistics/gaps.h"

#define CALIBRATION_NS UINT64_C(20000000)
#define NOTES 200	/* that are tried, to know what one takes */
#define DIGITS HIST_DIGITS_MIN

/* What one thread knows; in the unit of the clock but for what says ns. */
struct gap_watch {
	struct worker *worker;
	const struct gap_clock *clock;
	struct gaps_scale scale;
	struct gaps gaps;
	uint64_t noting;	/* the least that it took to note a gap */
	uint64_t second;	/* how long one is */
	uint64_t second_end;
	uint64_t lost, unseen;	/* in this second */
	uint64_t triggers, seconds;
};

uint64_t gap_threshold(double least_ns, double resolution_ns)
{
	double least = least_ns > resolution_ns ? least_ns : resolution_ns;
	uint64_t threshold = (uint64_t)(least * GAP_TIMES);

	return threshold > GAP_FLOOR_NS ? threshold : GAP_FLOOR_NS;
}

static uint64_t span(const struct timebase *timebase, uint64_t ns)
{
	return (uint64_t)((double)ns * timebase->per_ns);
}

/* When it is @ns of CLOCK_MONOTONIC. */
static uint64_t look_at(const struct timebase *timebase, uint64_t ns)
{
	return timebase->base + (uint64_t)(int64_t)
		((double)(int64_t)(ns - timebase->base_ns) * timebase->per_ns);
}

uint64_t gap_calibrate(const struct timebase *timebase)
{
	struct gaps gaps = { 0 };
	struct gaps_scale scale;
	uint64_t before = timebase_look(timebase), now;
	uint64_t end = before + span(timebase, CALIBRATION_NS);

	gaps_scale_set(&scale, timebase->per_ns, CALIBRATION_NS);
	for (; (int64_t)(before - end) < 0; before = now) {
		now = timebase_look(timebase);
		gaps_look(&gaps, &scale, before, now);
	}
	return gap_threshold((double)gaps.least / timebase->per_ns, timebase->resolution_ns);
}

static void record(struct series *series, uint64_t value_ns, uint64_t at_ns)
{
	uint64_t trigger = series->triggers;

	series_begin(series);
	series_due(series, trigger);
	series_record(series, trigger, value_ns, at_ns);
	series_end(series);
}

/* @sum is of the second that ends: of @from to @to, what lies in it is added first. */
static void add(uint64_t *sum, uint64_t *from, uint64_t to, uint64_t end)
{
	uint64_t until = (int64_t)(to - end) < 0 ? to : end;

	if ((int64_t)(until - *from) <= 0)
		return;
	*sum += until - *from;
	*from = until;
}

/* Shares out @from to @to, of which @now_ns is the end, among the seconds that it is in. */
static void share(struct gap_watch *watched, bool gap, uint64_t from, uint64_t to, uint64_t now_ns)
{
	const struct timebase *timebase = watched->worker->timebase;
	uint64_t *sum = gap ? &watched->lost : &watched->unseen;

	while ((int64_t)(to - watched->second_end) >= 0) {
		uint64_t at_ns = now_ns - timebase_ns(timebase, to - watched->second_end);

		add(sum, &from, to, watched->second_end);
		record(watched->worker->series[GAP_LOST],
		       timebase_ns(timebase, watched->lost), at_ns);
		record(watched->worker->series[GAP_UNSEEN],
		       timebase_ns(timebase, watched->unseen), at_ns);
		watched->lost = watched->unseen = 0;
		watched->second_end += watched->second;
	}
	add(sum, &from, to, watched->second_end);
}

/*
 * Not inline: there is a gap from @before to @now, or a second has ended.  To note it takes
 * time too, in which nothing is seen; what is much longer than that is a gap.
 */
static uint64_t __attribute__((noinline)) note(struct gap_watch *watched, uint64_t before, uint64_t now,
					       bool gap)
{
	const struct timebase *timebase = watched->worker->timebase;

	for (;;) {
		uint64_t now_ns = watched->clock->monotonic_ns(), later;

		/* As it was at @now, also if this thread was interrupted since. */
		now_ns -= timebase_ns(timebase, watched->clock->look(timebase) - now);
		share(watched, gap, gap ? before : now, now, now_ns);
		if (gap)
			record(watched->worker->series[GAP_LENGTH],
			       timebase_ns(timebase, now - before), now_ns);
		later = watched->clock->look(timebase);
		if (later - now < watched->noting)
			watched->noting = later - now;
		before = now;
		now = later;
		gap = now - before > watched->scale.threshold + GAP_TIMES * watched->noting;
		if (!gap) {
			now_ns = watched->clock->monotonic_ns();
			share(watched, false, before, now, now_ns);
			return now;
		}
	}
}

/* What a note takes, of series that nobody reads. */
static uint64_t measure_notes(const struct worker *worker, const struct gap_clock *clock)
{
	const struct timebase *timebase = worker->timebase;
	struct worker stand_in = *worker;
	struct gap_watch watched = { .worker = &stand_in, .clock = clock, .noting = UINT64_MAX / 64 };
	uint64_t now = clock->look(timebase);
	size_t size = series_size(DIGITS);
	char *memory = calloc(GAP_SERIES, size);

	if (!memory)
		error_no_memory();
	for (int i = 0; i < GAP_SERIES; i++) {
		stand_in.series[i] = series_init(memory + (size_t)i * size, "", worker->cpu, DIGITS);
		series_start(stand_in.series[i], clock->monotonic_ns());
	}
	watched.second_end = now + INT64_MAX / 2;
	watched.scale.threshold = INT64_MAX / 4;
	for (int i = 0; i < NOTES; i++)
		now = note(&watched, now - 1, now, true);
	free(memory);
	return watched.noting;
}

/* Until @end, or another reason to end; the last look. */
static inline uint64_t __attribute__((always_inline))
spin(struct gap_watch *watched, uint64_t before, uint64_t end, const struct gap_clock *clock)
{
	const struct worker *worker = watched->worker;
	const struct series *gaps = worker->series[GAP_LENGTH];

	while ((int64_t)(before - end) < 0 && !worker_over(worker)) {
		uint64_t now = clock->look(worker->timebase);
		bool gap = gaps_look(&watched->gaps, &watched->scale, before, now);

		if (__builtin_expect(gap || (int64_t)(now - watched->second_end) >= 0, 0)) {
			now = note(watched, before, now, gap);
			if (worker->samples && gaps->triggers >= worker->samples)
				return now;
		}
		before = now;
	}
	return before;
}

void gap_open(struct worker *worker, const struct gap_clock *clock)
{
	const struct gap_options *options = worker->options;
	struct gap_watch *watched = calloc(1, sizeof(*watched));

	if (!watched)
		error_no_memory();
	*watched = (struct gap_watch){ .worker = worker, .clock = clock,
				 .second = span(worker->timebase, WAIT_SECOND),
				 .noting = measure_notes(worker, clock) };
	gaps_scale_set(&watched->scale, worker->timebase->per_ns, options->threshold_ns);
	for (int i = GAP_LOST; i < GAP_SERIES; i++) {
		worker->series[i]->per_second = true;
		worker->series[i]->ring = NULL;
	}
	worker->series[GAP_LENGTH]->above_ns = options->threshold_ns;
	worker->own = watched;
}

static inline void __attribute__((always_inline))
watch(struct worker *worker, const struct gap_clock *clock)
{
	const struct gap_options *options = worker->options;
	const struct timebase *timebase = worker->timebase;
	struct gap_watch watched = *(const struct gap_watch *)worker->own;
	uint64_t begin = look_at(timebase, worker->begin_ns), before, now, end, spell_end;

	watched.clock = clock;
	watched.second_end = begin + watched.second;
	/* In user mode before it begins: what keeps it from its first look is a gap as well. */
	before = now = clock->look(timebase);
	while ((int64_t)(now - begin) < 0) {
		before = now;
		now = clock->look(timebase);
	}
	if (gaps_look(&watched.gaps, &watched.scale, before, now))
		now = note(&watched, before, now, true);
	before = now;
	end = worker->end_ns == UINT64_MAX ? begin + INT64_MAX / 2 :
		look_at(timebase, worker->end_ns);
	while ((int64_t)(before - end) < 0 && !worker_over(worker) &&
	       !(worker->samples && worker->series[GAP_LENGTH]->triggers >= worker->samples)) {
		spell_end = before + span(timebase, GAP_SPELL_NS);
		if (!options->rests || (int64_t)(spell_end - end) > 0)
			spell_end = end;
		before = spin(&watched, before, spell_end, clock);
		if (!options->rests || (int64_t)(before - end) >= 0)
			continue;
		clock->rest(worker, GAP_REST_NS);
		now = clock->look(timebase);
		share(&watched, false, before, now, clock->monotonic_ns());
		before = now;
	}
}

void gap_watch(struct worker *worker, const struct gap_clock *clock)
{
	watch(worker, clock);
}

static inline uint64_t look(const struct timebase *timebase)
{
	return timebase_look(timebase);
}

static void rest(const struct worker *worker, uint64_t ns)
{
	const struct timespec nap = { .tv_nsec = (long)ns };

	(void)worker;
	/* If a signal ends it, it shall end. */
	nanosleep(&nap, NULL);
}

static const struct gap_clock real = { look, wait_clock_ns, rest };

static bool open_real(struct worker *worker)
{
	gap_open(worker, &real);
	return true;
}

static void run(struct worker *worker)
{
	watch(worker, &real);
}

static void close_any(struct worker *worker)
{
	free(worker->own);
}

const struct method gap_method = {
	.name = "spin",
	.series = { "gap", "lost", "unseen" },
	.open = open_real,
	.run = run,
	.close = close_any,
};
