/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics as text, in one of two formats: OpenMetrics 1.0, or the older one of Prometheus
 * (version 0.0.4), which is what node_exporter's textfile collector reads.  Each begins as
 * { .out, .format }.
 */
#ifndef EXPOSITION_H
#define EXPOSITION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum exposition_format { EXPOSITION_OPENMETRICS, EXPOSITION_PROMETHEUS };

enum exposition_type {
	EXPOSITION_GAUGE, EXPOSITION_COUNTER, EXPOSITION_INFO, EXPOSITION_HISTOGRAM,
};

/* All samples of one name stand together, below what is said of them. */
struct exposition {
	FILE *out;
	enum exposition_format format;
	char *name;		/* of this family, without a suffix; NULL: none yet */
	enum exposition_type type;
	const char *unit, *about;
	bool headed;		/* what is said of it stands there */
	bool labels;		/* of this sample one stands there */
};

/*
 * Begins a family: its name without "_total" or "_info", but with the unit at its end; NULL is
 * no unit.  Without a sample nothing of it is written.
 */
void exposition_family(struct exposition *to, enum exposition_type type, const char *unit,
		       const char *about, const char *name, ...)
	__attribute__((format(printf, 5, 6)));

/* A sample: begun, its labels, its value. */
void exposition_sample(struct exposition *to);

/* The same of a histogram, @suffix: "_bucket", "_count" or "_sum". */
void exposition_part(struct exposition *to, const char *suffix);

/* @value as exposition_text() makes it. */
void exposition_label(struct exposition *to, const char *name, const char *value);
void exposition_label_number(struct exposition *to, const char *name, int value);

/* Times: @ns in seconds with all digits; UINT64_MAX is +Inf. */
void exposition_label_ns(struct exposition *to, const char *name, uint64_t ns);

void exposition_number(struct exposition *to, uint64_t value);
void exposition_ns(struct exposition *to, uint64_t ns);
void exposition_seconds(struct exposition *to, double seconds);

/* With the time when it was, since 1970; as OpenMetrics has it. */
void exposition_ns_at(struct exposition *to, uint64_t ns, uint64_t at_ns);

void exposition_end(struct exposition *to);

/*
 * @text as a label may have it: control characters, and bytes that are no UTF-8, as \ooo, which
 * is how the kernel writes them.  To be freed.
 */
char *exposition_text(const char *text);

#endif
