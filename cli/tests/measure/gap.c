// SPDX-License-Identifier: GPL-2.0-or-later
/* The gap detector of isolator measure noise, by a clock that says what it is told to. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "check.h"
#include "measure/gap.h"

#define S UINT64_C(1000000000)
#define STEP 1000			/* between two looks, where nothing else is */
#define THRESHOLD 10000
#define BEGIN UINT64_C(5000000000)
#define DIGITS 2
#define MOST 100000

/* Steps that are not STEP: at the look with this number there was so much more. */
static struct {
	uint64_t now, looks;
	uint64_t (*step)(void);
	int noting;		/* looks that are part of noting a gap */
	uint64_t rested;
} fake;

static uint64_t fake_look(const struct timebase *timebase)
{
	(void)timebase;
	fake.looks++;
	if (fake.noting) {
		fake.noting--;
		fake.now += STEP;
	} else {
		fake.now += fake.step();
	}
	return fake.now;
}

static uint64_t fake_clock(void)
{
	fake.noting = 2;
	return fake.now;
}

static void fake_rest(const struct worker *worker, uint64_t ns)
{
	(void)worker;
	fake.now += ns;
	fake.rested += ns;
	fake.noting = 1;
}

static const struct gap_clock clock_told = { fake_look, fake_clock, fake_rest };
static const struct timebase timebase = { .kind = TIMEBASE_MONOTONIC, .per_ns = 1 };

static struct gap_options options = { .threshold_ns = THRESHOLD };
static struct outlier_ring ring;
static struct worker worker;

static uint64_t quiet(void)
{
	return STEP;
}

static void begin(uint64_t seconds)
{
	memset(&fake, 0, sizeof(fake));
	memset(&ring, 0, sizeof(ring));
	fake.now = BEGIN - S;
	fake.step = quiet;
	worker = (struct worker){
		.method = &gap_method, .options = &options, .timebase = &timebase, .cpu = 3,
		.begin_ns = BEGIN, .end_ns = BEGIN + seconds * S,
	};
	for (size_t i = 0; i < GAP_SERIES; i++) {
		void *memory = malloc(series_size(DIGITS));

		if (!memory)
			error_no_memory();
		worker.series[i] = series_init(memory, gap_method.series[i], 3, DIGITS);
		worker.series[i]->ring = &ring;
		worker.series[i]->threshold_ns = 50000;
		series_start(worker.series[i], BEGIN);
	}
	gap_open(&worker, &clock_told);
	fake.now = BEGIN - 5 * STEP;
	fake.noting = 0;
}

static void watch(uint64_t (*step)(void))
{
	fake.step = step;
	gap_watch(&worker, &clock_told);
	gap_method.close(&worker);
	for (size_t i = 0; i < GAP_SERIES; i++)
		CHECK(series_complete(worker.series[i]));
}

static void end(void)
{
	for (size_t i = 0; i < GAP_SERIES; i++)
		free(worker.series[i]);
}

static uint64_t sum(enum gap_series which)
{
	return worker.series[which]->sum;
}

/* A gap each time that its turn comes, and what they are together. */
static struct {
	uint64_t values[MOST];
	size_t count, all;
	uint64_t sum, longest;
} made;

static uint64_t (*kind)(void);

static uint64_t now_and_then(void)
{
	uint64_t value;

	if (fake.now < BEGIN || random() % 1000 || fake.now > BEGIN + 10 * S)
		return STEP;
	value = kind();
	if (value > THRESHOLD && made.count < MOST) {
		made.values[made.count++] = value;
		made.sum += value;
		if (value > made.longest)
			made.longest = value;
	}
	return value;
}

/* Of any magnitude, many below the threshold. */
static uint64_t any(void)
{
	return 1 + ((uint64_t)random() % 300000000 >> (unsigned int)random() % 20);
}

static uint64_t around(void)
{
	return THRESHOLD - 2 + (uint64_t)random() % 5;
}

static int larger_first(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a < *b) - (*a > *b);
}

/* Each gap that the clock made is one, as long as it was, and there is no other. */
static void every_gap(void)
{
	static uint64_t (*const kinds[])(void) = { any, around };

	for (unsigned int seed = 0; seed < 40; seed++) {
		const struct series *gaps;
		struct worst worst;

		srandom(seed);
		kind = kinds[seed % 2];
		made.count = 0;
		made.sum = made.longest = 0;
		begin(seed % 2 ? 1 : 11);
		if (seed % 2)
			worker.end_ns = BEGIN + S / 5;
		watch(now_and_then);
		gaps = worker.series[GAP_LENGTH];
		worst = gaps->worst;
		worst_sort(&worst);
		CHECK(made.count > 10 && gaps->triggers == made.count && !gaps->missing);
		CHECK(gaps->sum == made.sum && gaps->max == made.longest);
		qsort(made.values, made.count, sizeof(*made.values), larger_first);
		for (unsigned int i = 0; i < worst.count; i++)
			CHECK(worst.values[i].value_ns == made.values[i]);
		/* All of them are in the seconds, but for those that did not end. */
		CHECK(sum(GAP_LOST) <= made.sum);
		if (!(seed % 2)) {
			CHECK(worker.series[GAP_LOST]->triggers >= 11);
			CHECK(sum(GAP_LOST) == made.sum);
			CHECK(worker.series[GAP_LOST]->max <= S);
		}
		end();
	}
}

static uint64_t at_ns, length_ns;

static uint64_t once(void)
{
	if (!length_ns || fake.now < at_ns)
		return STEP;
	fake.now = at_ns;
	at_ns = UINT64_MAX;
	return length_ns;
}

static void one(uint64_t from_ns, uint64_t ns, uint64_t seconds)
{
	begin(seconds);
	at_ns = BEGIN + from_ns;
	length_ns = ns;
	watch(once);
}

/* oslat folds what is above its last bucket into that. */
static void tail(void)
{
	one(S / 2, 90 * S, 95);
	CHECK(worker.series[GAP_LENGTH]->max == 90 * S && !worker.series[GAP_LENGTH]->overflow);
	CHECK(worker.series[GAP_LENGTH]->min == 90 * S);
	end();
	one(S / 2, 150 * S, 1);
	CHECK(worker.series[GAP_LENGTH]->max == 150 * S && worker.series[GAP_LENGTH]->overflow == 1);
	CHECK(worker.series[GAP_LENGTH]->worst.values[0].value_ns == 150 * S);
	end();
}

/* What is lost is lost in the seconds that it lies in, none of which is longer than one. */
static void seconds(void)
{
	const struct series *lost;

	one(S / 2, 3 * S, 5);
	lost = worker.series[GAP_LOST];
	CHECK(lost->triggers == 5 && lost->sum == 3 * S && lost->max == S);
	CHECK(lost->min == 0 && lost->hist->counts[0] == 1);
	CHECK(lost->worst.values[0].at_ns > BEGIN);
	CHECK(worker.series[GAP_UNSEEN]->triggers == 5);
	/* One gap, and each end of a second, was noted in two looks. */
	CHECK(sum(GAP_UNSEEN) > 0 && sum(GAP_UNSEEN) <= 6 * 2 * STEP);
	end();
}

/* It begins before the end, or before the begin: it is not cut. */
static void edges(void)
{
	one(S - 5 * STEP, 5 * S, 1);
	CHECK(worker.series[GAP_LENGTH]->triggers == 1 && sum(GAP_LENGTH) == 5 * S);
	end();
	begin(1);
	at_ns = BEGIN - 2 * STEP;
	length_ns = S / 10;
	watch(once);
	CHECK(worker.series[GAP_LENGTH]->triggers == 1 && sum(GAP_LENGTH) == S / 10);
	end();
	begin(1);
	at_ns = BEGIN - 3 * STEP;
	length_ns = 2 * STEP;
	watch(once);
	CHECK(worker.series[GAP_LENGTH]->triggers == 0);
	end();
}

/* Where the time of a gap is known to: outliers say from when to when. */
static void outlier(void)
{
	struct outlier taken = { 0 };

	one(S / 2, 60000, 1);
	CHECK(outlier_take(&ring, &taken) && taken.value_ns == 60000 && taken.cpu == 3);
	CHECK(taken.from_ns <= BEGIN + S / 2 && taken.from_ns >= BEGIN + S / 2 - 2 * STEP);
	CHECK(taken.to_ns == taken.from_ns + 60000);
	/* Sums of seconds are none. */
	CHECK(!outlier_take(&ring, &taken));
	end();
	one(S / 2, 50000, 1);
	CHECK(!outlier_take(&ring, &taken));
	end();
}

static uint64_t noting_looks;

/* The first look after a gap was noted takes long, which fake_look() does not do by itself. */
static uint64_t slow_look(const struct timebase *unused)
{
	bool noting = fake.noting == 1;
	uint64_t now = fake_look(unused);

	if (noting && at_ns == UINT64_MAX && !noting_looks++)
		fake.now = now += 70000;
	return now;
}

/* A gap that comes while another one is noted. */
static void while_noting(void)
{
	static const struct gap_clock slow = { slow_look, fake_clock, fake_rest };
	const struct series *gaps;

	begin(1);
	noting_looks = 0;
	at_ns = BEGIN + S / 2;
	length_ns = 60000;
	fake.step = once;
	gap_watch(&worker, &slow);
	gap_method.close(&worker);
	gaps = worker.series[GAP_LENGTH];
	CHECK(noting_looks && gaps->triggers == 2 && gaps->max == 70000 + 2 * STEP);
	CHECK(sum(GAP_LENGTH) == 130000 + 2 * STEP);
	end();
}

/* A clock that goes back, as that of a guest can, makes no gap of centuries. */
static void backwards(void)
{
	begin(1);
	at_ns = BEGIN + S / 2;
	length_ns = (uint64_t)-50000;
	watch(once);
	CHECK(worker.series[GAP_LENGTH]->triggers == 0);
	end();
}

/* It sleeps, which is no gap, is counted, and is no more than it shall be. */
static void rests(void)
{
	options.rests = true;
	begin(3);
	watch(quiet);
	options.rests = false;
	CHECK(worker.series[GAP_LENGTH]->triggers == 0 && sum(GAP_LOST) == 0);
	CHECK(fake.rested >= 29 * GAP_REST_NS && fake.rested <= 30 * GAP_REST_NS);
	CHECK(sum(GAP_UNSEEN) >= fake.rested - GAP_REST_NS);
	CHECK(worker.series[GAP_UNSEEN]->max <= 12 * GAP_REST_NS);
	end();
}

static void samples(void)
{
	srandom(1);
	kind = any;
	made.count = 0;
	begin(10);
	worker.samples = 7;
	watch(now_and_then);
	CHECK(worker.series[GAP_LENGTH]->triggers == 7);
	end();
}

static void thresholds(void)
{
	struct timebase real;
	uint64_t threshold;

	CHECK(gap_threshold(10, 1) == GAP_FLOOR_NS);
	CHECK(gap_threshold(25, 1) == 200);
	/* A counter of 25 MHz has looks without a step. */
	CHECK(gap_threshold(0, 40) == 320);
	timebase_open(&real, "/");
	threshold = gap_calibrate(&real);
	printf("# %s: threshold %" PRIu64 " ns\n", timebase_names[real.kind], threshold);
	CHECK(threshold >= GAP_FLOOR_NS && threshold < 100000);
	CHECK((double)threshold >= GAP_TIMES * real.resolution_ns - 1);
}

int main(void)
{
	static const struct test tests[] = {
		{ "each gap that there is, and no other", every_gap },
		{ "a long gap stays as long as it is", tail },
		{ "what is lost of each second", seconds },
		{ "a gap at the begin and at the end", edges },
		{ "from when to when", outlier },
		{ "a gap while one is noted", while_noting },
		{ "a clock that goes back", backwards },
		{ "rests", rests },
		{ "so many samples", samples },
		{ "the threshold", thresholds },
	};

	return check_run(tests, ARRAY_SIZE(tests));
}
