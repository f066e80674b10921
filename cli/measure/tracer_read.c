// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader's part of a tracer: a thread that takes what one CPU's tracer writes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "machine/instance.h"
#include "measure/tracer.h"

#define ROOM 65536
#define PART 1024	/* of a line whose names have line ends in them: more than it can have */
#define NAP_NS 20000000
/* An event is written when what it tells of is over: by then it can be read. */
#define LAST_NS UINT64_C(50000000)
/* Longer than a full ring takes; what is unread then is lost. */
#define DRAIN_NS (5 * WAIT_SECOND)

/* What a thread has. */
struct reader {
	int file;
	size_t length;		/* of what is there of lines */
	uint64_t last_ns;	/* of an event: rings are in order, but for whole us */
	uint64_t seen_ns;	/* the same, also of events that are not of the run */
	char part[PART];	/* of a line that is not whole yet; "": none */
	char text[ROOM];
};

void tracer_record(struct worker *worker, unsigned int index, const struct tracer_line *line)
{
	struct series *series = worker->series[index];
	uint64_t trigger = series->triggers;

	series_begin(series);
	series_due(series, trigger);
	series_record(series, trigger, line->ns, line->at_ns);
	series_end(series);
}

/* Nobody knows which they were. */
void tracer_lose(struct worker *worker, uint64_t count)
{
	for (size_t i = 0; worker->series[i]; i++) {
		struct series *series = worker->series[i];

		series_begin(series);
		series->triggers += count;
		series_miss(series, count);
		series_end(series);
	}
}

static void take(struct worker *worker, struct reader *reader, struct tracer_line *line)
{
	const struct tracer_method *method = (const struct tracer_method *)worker->method;

	if (line->what == TRACER_OTHER || line->what == TRACER_PART)
		return;
	if (line->what == TRACER_LOST) {
		tracer_lose(worker, line->count);
		return;
	}
	reader->seen_ns = line->at_ns;
	if (line->at_ns < worker->begin_ns || line->at_ns > worker->end_ns)
		return;
	if (line->at_ns < reader->last_ns)
		line->at_ns = reader->last_ns;
	reader->last_ns = line->at_ns;
	method->take(worker, line);
}

/*
 * As a task's name may have line ends in it, what is not whole waits for what follows.  What
 * comes instead of that makes it a loss: it may have been a value.
 */
static void take_text(struct worker *worker, struct reader *reader, const char *text)
{
	size_t length = strlen(reader->part), room = PART - length;
	bool begun = length && tracer_line(reader->part).at_ns;
	struct tracer_line line = tracer_line(text), whole;
	bool more = line.what == TRACER_PART || line.what == TRACER_OTHER;
	bool fits = (size_t)snprintf(reader->part + length, room, length ? "\n%s" : "%s",
				     text) < room;

	whole = tracer_line(reader->part);
	if (fits && more && whole.what == TRACER_PART)
		return;
	*reader->part = '\0';
	/* The end of an event is no event; the begin of its task's name may look like one. */
	if (fits && whole.what != TRACER_PART && (more || !begun)) {
		take(worker, reader, &whole);
		return;
	}
	tracer_lose(worker, 1);
	take(worker, reader, &line);
}

/* All whole lines; what is left of one stays. */
static void take_lines(struct worker *worker, struct reader *reader)
{
	char *from = reader->text, *end;

	while ((end = memchr(from, '\n', reader->length - (size_t)(from - reader->text)))) {
		*end = '\0';
		take_text(worker, reader, from);
		from = end + 1;
	}
	reader->length -= (size_t)(from - reader->text);
	/* A line that fills the room is none of a tracer's. */
	if (reader->length == ROOM)
		reader->length = 0;
	memmove(reader->text, from, reader->length);
}

/*
 * What happened until now; false: it cannot be read.  A tracer may write faster than this
 * reads: then there is always more.
 */
static bool drain(struct worker *worker, struct reader *reader)
{
	uint64_t until_ns = wait_clock_ns(), now_ns = until_ns;

	for (; reader->seen_ns <= until_ns && now_ns <= until_ns + DRAIN_NS; now_ns = wait_clock_ns()) {
		ssize_t got = read(reader->file, reader->text + reader->length,
				   ROOM - reader->length);

		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (got <= 0)
			return true;
		reader->length += (size_t)got;
		take_lines(worker, reader);
	}
	return reader->seen_ns > until_ns;
}

bool tracer_open(struct worker *worker)
{
	struct reader *reader = malloc(sizeof(*reader));

	if (!reader)
		error_no_memory();
	reader->length = 0;
	*reader->part = '\0';
	reader->last_ns = reader->seen_ns = 0;
	reader->file = tracer_pipe(worker->cpu);
	if (reader->file < 0) {
		snprintf(worker->failure, sizeof(worker->failure),
			 "the trace of CPU %d cannot be read: %s", worker->cpu, strerror(errno));
		free(reader);
		return false;
	}
	worker->own = reader;
	return true;
}

void tracer_run(struct worker *worker)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct reader *reader = worker->own;

	while (!worker_over(worker) && wait_clock_ns() < worker->end_ns + LAST_NS &&
	       !(worker->samples && worker->series[0]->triggers >= worker->samples)) {
		if (!drain(worker, reader)) {
			/* How much it would have been is not known: one that is missing says so. */
			tracer_lose(worker, 1);
			return;
		}
		nanosleep(&nap, NULL);
	}
	if (!drain(worker, reader))
		tracer_lose(worker, 1);
	if (*reader->part)
		tracer_lose(worker, 1);
}

void tracer_close(struct worker *worker)
{
	struct reader *reader = worker->own;

	close(reader->file);
	free(reader);
}
