/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records within a packet (docs/scope-protocol.md, Records). */
#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_LINES 64		/* bits of a mask */
#define RECORD_HEAD 30		/* bytes of a trigger's record before its answers */
#define RECORD_ANSWER 10	/* of each */
#define RECORD_MAX (RECORD_HEAD + RECORD_LINES * RECORD_ANSWER)

enum record_kind {
	RECORD_TRIGGER = 1,
	RECORD_AFTERTHOUGHT = 2,
	RECORD_STRAY = 3,
	RECORD_GAP = 4,
};

enum answer_flag {
	ANSWER_LATE = 1,	/* it came after the next trigger */
	ANSWER_UNSURE = 2,	/* too large by up to a pause of the generator's own */
};

struct answer {
	uint64_t ns;		/* after the trigger */
	uint8_t line;
	uint8_t flags;
};

struct record {
	uint8_t kind;
	uint8_t line;		/* afterthought, stray */
	uint8_t nr_answers;	/* trigger */
	uint32_t jitter_ns;	/* trigger */
	uint32_t sequence;	/* stray */
	uint64_t trigger;	/* trigger, afterthought; gap: the first */
	uint64_t last;		/* gap: the last */
	uint64_t at_ns;		/* trigger, stray; afterthought: ns after the trigger */
	uint64_t mask;		/* trigger */
	struct answer answers[RECORD_LINES];
};

/* Into @buffer of at least RECORD_MAX bytes.  Returns how many; 0: @record is none. */
size_t record_write(uint8_t *buffer, const struct record *record);

/*
 * Out of the first of @size bytes.  Returns how many they are; 0: they are no record.  Of
 * @record only what its kind has is set.
 */
size_t record_read(const uint8_t *data, size_t size, struct record *record);

#endif
