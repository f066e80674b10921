// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/tracer_line.h"

#define NAME_COLUMNS 16		/* of the task's name, which may look like what follows */
#define US 1000
#define STACK " => "		/* begins each line of what "<stack trace>" stands above */

/* Behind the last @word of @text; NULL: it has none. */
static const char *behind_last(const char *text, const char *word)
{
	const char *found = NULL;

	for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
		found = at + strlen(word);
	return found;
}

/* "CPU:3 [LOST 12 EVENTS]" */
static bool is_loss(const char *text, uint64_t *count)
{
	const char *lost = behind_last(text, " [LOST ");

	/* A name of a task has no room for all of it. */
	if (strncmp(text, "CPU:", 4) || !lost || strcmp(lost + strcspn(lost, "E"), "EVENTS]"))
		return false;
	/* Where it is not known how many, it says so: [LOST EVENTS]. */
	*count = strtoull(lost, NULL, 10);
	*count += !*count;
	return true;
}

/* What begins behind task, CPU, flags and time; NULL: that is no such line. */
static const char *message(const char *text, uint64_t *at_ns)
{
	uint64_t seconds, us;
	const char *at;
	int length = 0;

	if (strnlen(text, NAME_COLUMNS) < NAME_COLUMNS)
		return NULL;
	at = strstr(text + NAME_COLUMNS, "] ");
	if (!at || sscanf(at + 2, "%*s %" SCNu64 ".%6" SCNu64 ": %n", &seconds, &us, &length) != 2 ||
	    !length)
		return NULL;
	*at_ns = (seconds * 1000000 + us) * US;
	return at + 2 + length;
}

/*
 * "... start 12.000000001 duration 1573 ns", and maybe " interference 3".  Names stand before
 * that, and have no room for it: where it is, the line is whole.
 */
static bool duration(const char *text, uint64_t *ns)
{
	const char *at = behind_last(text, "start ");
	int length = 0;

	return at && sscanf(at, "%*u.%*u duration %" SCNu64 " ns%n", ns, &length) == 1 && length &&
		(!at[length] || !strncmp(at + length, " interference", 13));
}

/* "     ls:4711 start 12.000000001 ..." */
static bool pid_of(const char *text, pid_t *pid)
{
	const char *start = behind_last(text, " start ");
	int found, length = 0;

	if (!start)
		return false;
	for (start -= strlen(" start "); start > text && start[-1] != ':'; start--)
		;
	if (sscanf(start, "%d%n", &found, &length) != 1 || strncmp(start + length, " start ", 7))
		return false;
	*pid = found;
	return true;
}

/* Is it one of osnoise's events?  One that is not whole is a part. */
static bool is_event(struct tracer_line *line, const char *text)
{
	static const struct {
		const char *name;
		enum tracer_what what;
	} events[] = {
		{ "sample_threshold: ", TRACER_GAP }, { "nmi_noise: ", TRACER_NMI },
		{ "irq_noise: ", TRACER_IRQ }, { "softirq_noise: ", TRACER_SOFTIRQ },
		{ "thread_noise: ", TRACER_THREAD },
	};
	const char *count;
	uint64_t ns;

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		if (strncmp(text, events[i].name, strlen(events[i].name)))
			continue;
		text += strlen(events[i].name);
		line->what = TRACER_PART;
		if (!duration(text, &ns) ||
		    (events[i].what == TRACER_THREAD && !pid_of(text, &line->pid)))
			return true;
		line->ns = ns;
		line->what = events[i].what;
		count = behind_last(text, " interference ");
		if (!count)	/* Linux 5.14 */
			count = behind_last(text, " interferences ");
		line->count = count ? strtoull(count, NULL, 10) : 0;
		return true;
	}
	return false;
}

/* "#12 context thread timer_latency 4711 ns" */
static bool is_timerlat(struct tracer_line *line, const char *text)
{
	static const struct {
		const char *name;
		enum tracer_what what;
	} contexts[] = {
		{ "irq", TRACER_TIMER_IRQ }, { "thread", TRACER_TIMER_THREAD },
		{ "user-ret", TRACER_TIMER_USER },
	};
	const char *value = behind_last(text, " timer_latency ");
	char context[16];

	if (!value || sscanf(value, "%" SCNu64 " ns", &line->ns) != 1 ||
	    sscanf(text, "#%" SCNu64 " context %15s", &line->count, context) != 2)
		return false;
	for (size_t i = 0; i < sizeof(contexts) / sizeof(*contexts); i++)
		if (!strcmp(context, contexts[i].name))
			line->what = contexts[i].what;
	return line->what != TRACER_OTHER;
}

/* "#1 inner/outer(us): 12/13 ts:1.000000001 count:1 nmi-total:3 nmi-count:1" */
static bool is_hwlat(struct tracer_line *line, const char *text)
{
	uint64_t inner, outer;
	const char *nmis;

	if (sscanf(text, "#%*u inner/outer(us): %" SCNu64 "/%" SCNu64, &inner, &outer) != 2)
		return false;
	nmis = behind_last(text, " nmi-count:");
	line->what = TRACER_HWLAT;
	line->ns = (inner > outer ? inner : outer) * US;
	line->count = nmis ? strtoull(nmis, NULL, 10) : 0;
	return true;
}

/* "1000000 190 99.98100 9 18 0 1007 18 1": of so many us, us lost. */
static bool is_period(struct tracer_line *line, const char *text)
{
	uint64_t noise;
	int length = 0;

	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %*u.%*u %*u %*u %*u %*u %*u %*u%n", &line->count,
		   &noise, &length) != 2 || !length)
		return false;
	line->what = TRACER_PERIOD;
	line->ns = noise * US;
	return true;
}

static struct tracer_line only(enum tracer_what what)
{
	return (struct tracer_line){ .what = what, .pid = -1 };
}

struct tracer_line tracer_line(const char *text)
{
	struct tracer_line line = only(TRACER_OTHER);

	if (is_loss(text, &line.count)) {
		line.what = TRACER_LOST;
		return line;
	}
	if (!strncmp(text, STACK, strlen(STACK)))
		return only(TRACER_OTHER);
	text = message(text, &line.at_ns);
	if (!text)
		return only(TRACER_PART);
	if (is_event(&line, text) || is_timerlat(&line, text) || is_hwlat(&line, text) ||
	    is_period(&line, text))
		return line;
	return only(TRACER_OTHER);
}
