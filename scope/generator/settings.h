/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a host may set, and within which bounds (docs/scope-protocol.md). */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message;

struct settings {
	uint64_t millihertz;
	uint64_t seed;
	uint64_t mask;		/* 0: the lines that are offered at START */
	uint64_t gap_ns;
	uint64_t patience_ns;
	uint32_t duty_ppm;
	uint16_t records;	/* per packet */
	uint16_t burst;
	bool random;
};

/* What a generator begins with: 100 Hz. */
#define SETTINGS_DEFAULT { \
	.millihertz = 100000, .seed = 1, .patience_ns = 100000000, .duty_ppm = 500000, \
	.records = 64, .burst = 1, \
}

uint64_t settings_period_ns(const struct settings *settings);

/*
 * Puts what a SET_ message says into @settings.  False: it is not allowed, nothing was
 * changed, and @why, of @size bytes, says what would be.
 */
bool settings_take(struct settings *settings, const struct message *message, char *why,
		   size_t size);

#endif
