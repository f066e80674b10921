// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure/fed.h"
#include "sampling/schedule.h"

#define BLOCK 4096
/* Nothing is measured here, so there is time to let a copy be taken. */
#define BREATH_EVERY_NS UINT64_C(5000000)
#define BREATH_NS 500000

struct feed {
	int file;
	uint64_t block[BLOCK];
};

static bool open_feed(struct worker *worker)
{
	struct feed *feed = malloc(sizeof(*feed));

	if (!feed) {
		snprintf(worker->failure, sizeof(worker->failure), "no memory");
		return false;
	}
	feed->file = open(worker->options, O_RDONLY | O_CLOEXEC);
	if (feed->file < 0) {
		snprintf(worker->failure, sizeof(worker->failure), "%.400s: %s",
			 (const char *)worker->options, strerror(errno));
		free(feed);
		return false;
	}
	worker->own = feed;
	return true;
}

/* Whole words of the file; 0: there are no more. */
static size_t fill(struct feed *feed)
{
	size_t have = 0;

	while (have < sizeof(feed->block)) {
		ssize_t n = read(feed->file, (char *)feed->block + have,
				 sizeof(feed->block) - have);

		if (n <= 0)
			break;
		have += (size_t)n;
		if (!(have % sizeof(uint64_t)))
			break;
	}
	return have / sizeof(uint64_t);
}

static void run_feed(struct worker *worker)
{
	const struct timespec breath = { 0, BREATH_NS };
	struct feed *feed = worker->own;
	struct series *series = worker->series[0];
	struct schedule schedule = schedule_begin(worker->begin_ns, worker->period_ns, false, 0);
	uint64_t last_ns = worker->begin_ns, breathed_ns = wait_clock_ns();
	size_t count;

	while (!worker_over(worker) && (count = fill(feed))) {
		uint64_t now_ns = wait_clock_ns();

		if (now_ns - breathed_ns > BREATH_EVERY_NS) {
			nanosleep(&breath, NULL);
			breathed_ns = now_ns;
		}
		series_begin(series);
		for (size_t i = 0; i < count; i++, schedule_next(&schedule)) {
			uint64_t value = feed->block[i];

			series_due(series, schedule.trigger);
			if (value == UINT64_MAX) {
				series_miss(series, 1);
				continue;
			}
			if (schedule.due_ns + value > last_ns)
				last_ns = schedule.due_ns + value;
			series_record(series, schedule.trigger, value, last_ns);
		}
		series_end(series);
	}
}

static void close_feed(struct worker *worker)
{
	struct feed *feed = worker->own;

	close(feed->file);
	free(feed);
}

const struct method fed_method = {
	.name = "fed",
	.series = { "latency" },
	.monotonic = "nothing is measured: the values are from a file",
	.open = open_feed,
	.run = run_feed,
	.close = close_feed,
};
